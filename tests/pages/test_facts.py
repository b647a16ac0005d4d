"""Every page states each value of the API's answers under its own label: `facts/` has what it states, line by line, and
what the audit record says of opening it.

The samples' values are all distinct, and `tests/support/facts.py` writes the member in a value's place, so a value under
another's label, in another's row or gone is a line that differs. After a change that is meant, WRITE_FACTS=1 writes the
files anew; read the difference, for what stands there is what people are told.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jinja2 import nodes

from portal.services.api import AnyEndpoint
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.endpoints import ALL
from portal.services.episodes import READ_EPISODE
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.pgt_results import READ_PGT_RESULT
from portal.services.protocols import LIST_PROTOCOLS, READ_PROTOCOL
from portal.web import templates
from tests.support.clock import Clock
from tests.support.facts import Answers, calendar_lines, document_lines, lines
from tests.support.fake_api import NOW, ZONE, FakeApi, samples
from tests.support.in_process import InProcess
from tests.web.test_template_rules import parsed

FOLDER = Path(__file__).parent / "facts"
ROLES = {
    "nora": "nurse",
    "victor": "physician",
    "elif": "embryologist",
    "colin": "coordinator",
    "ada": "admin",
}
"""The staff; anybody else is a patient."""


def changed(row: AnyEndpoint, **members: Any) -> Any:
    """The sample of an endpoint with these members instead; of a list, each record."""
    answer = samples(row)
    for record in answer.get("items", [answer]):
        record.update(members)
    return answer


AMELIA_SIGNS = [
    {"role": "Patient", "personId": "amelia", "name": "Amelia 1", "order": 1},
    {"role": "Clinician", "personId": "victor", "name": "Victor 2", "order": 2},
]
UNSIGNED = {
    "status": "Pending",
    "requiredSigners": AMELIA_SIGNS,
    "signatures": [],
    "supersededById": None,
    "revokedAt": None,
    "effectiveAt": None,
    "language": "en",
    "signingOrder": "Any",
}
SIGNED = {
    **UNSIGNED,
    "status": "Signed",
    "effectiveAt": "2026-11-17T07:26:00Z",
    "signatures": [
        {**signature, "role": signer["role"], "personId": signer["personId"], "name": signer["name"]}
        for signature, signer in zip(samples(READ_CONSENT)["signatures"], AMELIA_SIGNS, strict=True)
    ],
}
WITHDRAWN = {
    **SIGNED,
    "status": "Revoked",
    "onBehalfOf": "amelia",
    "revokedAt": samples(READ_CONSENT)["revokedAt"],
}
PENDING: dict[AnyEndpoint, Any] = {
    READ_CONSENT: changed(READ_CONSENT, **UNSIGNED),
    LIST_CONSENTS: changed(LIST_CONSENTS, **UNSIGNED, episodeId="e-1"),
}
IN_FORCE = {READ_CONSENT: changed(READ_CONSENT, **SIGNED), LIST_CONSENTS: changed(LIST_CONSENTS, **SIGNED)}


def active(protocol: dict[str, Any]) -> dict[str, Any]:
    """The plan of these days: medicines for a week, two checks after it."""
    medications = [
        {**medication, "startDay": 3, "endDay": 7 + number, "everyDays": 1, "lastDoseDay": 7 + number}
        for number, medication in enumerate(protocol["medications"])
    ]
    checks = [{**check, "day": 11 + number} for number, check in enumerate(protocol["monitoring"])]
    day_one = {"status": "Active", "startDate": "2026-11-20"}
    return {**protocol, **day_one, "medications": medications, "monitoring": checks}


def hers() -> dict[str, Any]:
    """The sample of an episode as one of Amelia's, in which what belongs together does."""
    episode = samples(READ_EPISODE)
    patient, documents = episode["patient"], episode["documents"]
    episode["id"], patient["userId"] = "e-1", "amelia"
    for relationship in episode["relationships"]:
        relationship["patientId"] = patient["id"]
    episode["relationships"][0]["endDate"] = None
    episode["appointments"][1]["status"] = "Tentative"
    episode["protocol"]["patientId"] = patient["id"]
    documents["files"][0]["directoryId"] = documents["directories"][0]["id"]
    for number, (embryo, result) in enumerate(zip(episode["embryos"], episode["pgtResults"], strict=True)):
        embryo |= {"status": "Stored", "patientId": patient["id"], "disposition": "ContinueStorage", "day": 5}
        result |= {"embryoCode": embryo["embryoCode"], "id": embryo["pgtResultId"], "status": "Released"}
        episode["timeline"][number]["occurredAt"] = f"2026-11-0{number + 1}T12:00:00Z"
    return episode


EPISODE = hers()
HERS = {READ_EPISODE: EPISODE}
ONE_EPISODE = {
    row: changed(row, episodeId="e-1")
    for row in (LIST_CONSENTS, LIST_CONVERSATIONS, LIST_NOTIFICATIONS, LIST_PROTOCOLS)
}
ANOTHER_EPISODE = {LIST_CONVERSATIONS: changed(LIST_CONVERSATIONS, episodeId="e-2")}
UNDER_TREATMENT = {
    READ_EPISODE: {**EPISODE, "protocol": active(EPISODE["protocol"])},
    READ_PROTOCOL: active(
        {**samples(READ_PROTOCOL), "episodeId": "e-1", "patientId": EPISODE["patient"]["id"]}
    ),
}
RELEASED = {READ_PGT_RESULT: changed(READ_PGT_RESULT, status="Released", call="LowMosaic", sexDisclosed=True)}
E1 = "/episodes/e-1"
EMBRYO = f"/storage/{EPISODE['embryos'][0]['id']}"
TALK = f"/conversations/{samples(LIST_CONVERSATIONS)['items'][0]['id']}"


@dataclass(frozen=True)
class Case:
    """A page that somebody opens, and what the API answers with instead of its samples."""

    file: str
    who: str
    path: str
    answers: Mapping[AnyEndpoint, Any] = field(default_factory=dict)
    note: str = ""


CASES = [
    Case("home", "amelia", "/", UNDER_TREATMENT | ONE_EPISODE | PENDING),
    Case("home", "nora", "/", PENDING),
    Case("notifications", "amelia", "/notifications"),
    Case("notifications", "nora", "/notifications/settings"),
    Case("consents", "amelia", "/consents", PENDING),
    Case("consents", "victor", "/consents", PENDING),
    Case("consents", "nora", "/consents?q=a", IN_FORCE),
    Case("consents", "amelia", "/consents/c-1", IN_FORCE, "signed"),
    Case("consents", "victor", "/consents/c-1", PENDING, "to be signed"),
    Case(
        "consents", "nora", "/consents/c-1", {READ_CONSENT: changed(READ_CONSENT, **WITHDRAWN)}, "withdrawn"
    ),
    Case("consents", "amelia", "/consents/c-1/receipt?verify=1", IN_FORCE),
    Case("consents", "amelia", "/consents/c-1/receipt.pdf", IN_FORCE),
    Case(
        "consents",
        "nora",
        "/consents/c-1/receipt",
        {READ_CONSENT: changed(READ_CONSENT, **WITHDRAWN)},
        "withdrawn",
    ),
    Case(
        "consents",
        "amelia",
        "/consents/c-1",
        {READ_CONSENT: changed(READ_CONSENT, status="Superseded")},
        "replaced",
    ),
    Case("consents", "amelia", "/consents/c-1/sign", PENDING),
    Case("consents", "amelia", "/consents/c-1/sign/read", PENDING),
    Case("consents", "victor", "/consents/c-1/sign", PENDING),
    Case("consents", "amelia", "/consents/c-1/revoke", IN_FORCE),
    Case("consents", "nora", "/consents/new"),
    Case("consents", "nora", "/consents/new?template=treatment&episode=e-1"),
    Case("consents", "nora", "/consents/new?copy=c-1"),
    Case("conversations", "amelia", "/conversations"),
    Case("conversations", "nora", "/conversations"),
    Case("conversations", "amelia", TALK),
    Case("conversations", "nora", TALK),
    Case("conversations", "nora", f"{TALK}/archive"),
    Case("episodes", "amelia", "/episodes", ONE_EPISODE | ANOTHER_EPISODE),
    *(
        Case("episodes", who, f"{E1}{tab}", UNDER_TREATMENT)
        for tab in (
            *(
                "",
                "/timeline",
                "/monitoring",
                "/medication",
                "/embryos",
                "/appointments",
                "/documents",
                "/team",
            ),
            "/consents",
        )
        for who in ("amelia", "nora")
    ),
    Case("episodes", "amelia", f"{E1}/appointments.ics", HERS),
    Case("episodes", "amelia", f"{E1}/appointments/{EPISODE['appointments'][0]['id']}.ics", HERS),
    Case("pgt_results", "grace", "/pgt-results/r-1", RELEASED),
    Case("pgt_results", "elif", "/pgt-results/r-1", RELEASED),
    Case("storage", "amelia", "/storage", HERS | ONE_EPISODE),
    *(
        Case("storage", who, f"{EMBRYO}{what}?episode=e-1", HERS)
        for who, what in (("amelia", ""), ("elif", ""), ("amelia", "/keep"), ("amelia", "/end-storage"))
    ),
    Case("papers", "amelia", "/papers", UNDER_TREATMENT | ONE_EPISODE | IN_FORCE),
    Case("questions", "amelia", "/questions"),
    Case("me", "amelia", "/me", HERS | ONE_EPISODE),
    Case("care_team", "amelia", "/care-team", {LIST_CONSENTS: {"totalCount": 0, "items": []}}),
    Case("protocols", "victor", "/protocols"),
    Case("protocols", "amelia", "/protocols/p-1", UNDER_TREATMENT),
    Case("protocols", "victor", "/protocols/p-1", UNDER_TREATMENT),
    Case("protocols", "amelia", "/protocols/p-1/schedule.pdf", UNDER_TREATMENT),
    Case("protocols", "amelia", "/protocols/p-1/schedule.ics", UNDER_TREATMENT),
    Case("protocols", "victor", "/protocols/p-1/end?to=Cancelled", UNDER_TREATMENT),
    Case("protocols", "victor", "/protocols/p-1/edit", UNDER_TREATMENT),
    Case("protocols", "victor", "/protocols/new?copy=p-1"),
    Case("patients", "nora", f"/patients/{EPISODE['patient']['id']}?episode=e-1", UNDER_TREATMENT),
    Case("day_sheet", "nora", "/day-sheet", UNDER_TREATMENT),
    Case("patients", "nora", f"/patients/{EPISODE['patient']['id']}/edit?episode=e-1"),
    Case("cases", "victor", f"/cases/{EPISODE['case']['id']}/edit?episode=e-1"),
    Case(
        "relationships",
        "amelia",
        f"/relationships/{EPISODE['relationships'][0]['id']}/remove?episode=e-1",
        HERS,
    ),
    Case("directories", "nora", "/directories?episode=e-1"),
    Case(
        "directories", "nora", f"/directories/{EPISODE['documents']['directories'][0]['id']}/move?episode=e-1"
    ),
    Case("patients", "nora", "/patients"),
    Case(
        "prospects",
        "colin",
        "/prospects",
        {LIST_NOTIFICATIONS: changed(LIST_NOTIFICATIONS, entityType="Prospect", isRead=False)},
    ),
    Case("prospects", "colin", "/prospects/s-1/book?from=2026-11-30"),
    Case("prospects", "colin", "/prospects/s-1/merge?merge=s-2"),
]


@pytest.fixture(scope="module")
def portal(tmp_path_factory: pytest.TempPathFactory) -> InProcess:
    """The portal on the evening from which the samples are counted."""
    return InProcess(tmp_path_factory.mktemp("portal"), Clock(NOW.timestamp))


@pytest.mark.parametrize("file", sorted({case.file for case in CASES}))
def test_each_value_stands_under_its_label(portal: InProcess, fake_api: FakeApi, file: str) -> None:
    stated: list[str] = []
    for case in CASES:
        if case.file == file:
            stated += [*read(portal, fake_api, case), ""]
    compare(file, stated)


def compare(file: str, stated: list[str]) -> None:
    """Fail where these lines aren't what the file says; with WRITE_FACTS=1 the file says them from now on."""
    path = FOLDER / f"{file}.txt"
    if os.environ.get("WRITE_FACTS"):
        path.write_text("\n".join(stated), encoding="utf-8")
    expected = path.read_text(encoding="utf-8").split("\n")
    difference = "\n".join(difflib.unified_diff(expected, stated, "expected", "shown", lineterm="", n=1))
    assert not difference, f"{difference}\nIf this is meant, run WRITE_FACTS=1 make t F=tests/pages"


def compare_parts(file: str, stated: list[str]) -> None:
    """The same of a file that other tests have parts of too; a part begins with `== ` and its name."""
    path = FOLDER / f"{file}.txt"
    parts, of_file = _parts(stated), _parts(path.read_text(encoding="utf-8").split("\n"))
    if os.environ.get("WRITE_FACTS"):
        of_file |= parts
        text = "\n\n".join("\n".join([name, *told]) for name, told in of_file.items())
        path.write_text(text + "\n", encoding="utf-8")
    for name, told in parts.items():
        difference = "\n".join(
            difflib.unified_diff(of_file.get(name, []), told, "expected", "shown", lineterm="", n=1)
        )
        assert not difference, (
            f"{name}\n{difference}\nIf this is meant, run WRITE_FACTS=1 make t F=tests/pages"
        )


def _parts(text: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text:
        if line.startswith("== "):
            found[line] = []
        elif line:
            found[[*found][-1]].append(line)
    return found


def parts_of(file: str) -> set[str]:
    """The names of a file's parts."""
    return {*_parts((FOLDER / f"{file}.txt").read_text(encoding="utf-8").split("\n"))}


def read(portal: InProcess, fake_api: FakeApi, case: Case) -> Iterator[str]:
    """Yield who opens what, then what it states."""
    fake_api.forget()
    for row, answer in case.answers.items():
        fake_api.gives(row, answer)
    page = portal.visitor(case.who, ROLES.get(case.who, "patient")).get(case.path)
    answers = Answers(fake_api.told, ZONE)
    yield f"== {case.who} {answers.named(case.path)}{case.note and f' ({case.note})'}"
    match page.headers["Content-Type"].partition(";")[0]:
        case "application/pdf":
            yield from document_lines(page.response.content, answers)
        case "text/calendar":
            yield from calendar_lines(page.text, answers)
        case _:
            yield from lines(page.text, answers)
    yield from sorted(audited(portal, answers))


def audited(portal: InProcess, answers: Answers) -> Iterator[str]:
    """What the audit record says of it: the event, how it went, and which records it showed."""
    audit = portal.app.extensions["portal"].audit
    for line in portal.audited():
        ids = [line["id"]] if "id" in line else line.get("ids", [])
        named = ", ".join(answers.named_id(id_, audit.pseudonym) for id_ in ids)
        yield f"Audited: {line['audit']} {line['outcome']} {line.get('kind', '')} {named}".rstrip()


NOT_COMPARED = {
    "busy": "a drawing of the week",
    "concurrency_stamp": "a hidden field",
    "content_hash": "a seal, written in groups",
    "coordinator_id": "the chosen one of a list",
    "items": "a list's, not shown itself",
    "language": "said in words",
    "passkey": "verified before it is told, which no sample's can be",
    "person_id": "the chosen one of a list",
    "signature": "a passkey's, verified before it is told",
    "user_id": "asked about, not shown",
}
"""Members of records that templates name and `facts/` doesn't, and why."""


def test_every_value_that_a_template_shows_is_compared() -> None:
    """Choices apart: they are words, in pairs, rows and tags."""
    kinds = {name: value for row in ALL if row.is_safe for name, value in members(samples(row))}
    values = {
        re.sub("([A-Z])", r"_\1", name).lower(): name
        for name, value in kinds.items()
        if not isinstance(value, bool) and (not isinstance(value, str) or re.search(r"\d|^en$", value))
    }
    files = [FOLDER / f"{file}.txt" for file in {case.file for case in CASES}]
    told = {
        member
        for file in files
        for path in re.findall("{([^}]+)}", file.read_text(encoding="utf-8"))
        for member in re.findall(r"[a-zA-Z]\w*", path)
    }
    shown = {
        named.attr
        for template in templates.FOLDER.rglob("*.html")
        for output in parsed(template).find_all(nodes.Output)
        for named in output.find_all(nodes.Getattr)
    }
    missing = {name for name in shown & values.keys() if values[name] not in told}
    assert missing == NOT_COMPARED.keys(), "let a case show these, or say why not"


def members(answer: Any) -> Iterator[tuple[str, Any]]:
    """Yield every member of an answer with its value, however deep."""
    if isinstance(answer, dict):
        for name, value in answer.items():
            yield name, value
            yield from members(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from members(value)
