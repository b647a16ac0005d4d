"""The states that a page can be in: what the API answers instead, or a form of it that is sent.

A state is written in one line, from which it can be made again: `tests/pages/states/` has the states, each with what is
different then. `find_states.py` finds them.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from lxml.html import FormElement, document_fromstring
from msgspec import inspect

from portal.config.table import NOWHERE, settings_of
from portal.config.tenants import Tenant
from portal.services.api import AnyEndpoint
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentForm
from portal.services.decoding import decode
from portal.services.endpoints import ALL
from portal.services.episodes import READ_EPISODE
from portal.services.pgt_results import READ_PGT_RESULT
from portal.services.protocols import READ_PROTOCOL
from portal.services.rules.consent_text import content_hash, seal
from tests.pages.busy_cases import BUSY_CASES
from tests.pages.test_acts import _MADE_BY_CHANCE as _BY_CHANCE
from tests.pages.test_acts import BOTH, PLAN
from tests.pages.test_acts import _lines as lines_of
from tests.pages.test_facts import (
    AMELIA_SIGNS,
    ANOTHER_EPISODE,
    CASES,
    E1,
    EMBRYO,
    EPISODE,
    HERS,
    IN_FORCE,
    ONE_EPISODE,
    PENDING,
    RELEASED,
    ROLES,
    SIGNED,
    TALK,
    UNDER_TREATMENT,
    UNSIGNED,
    WITHDRAWN,
    Case,
    active,
    audited,
    changed,
)
from tests.support.facts import Answers, calendar_lines, document_lines
from tests.support.fake_api import ZONE, FakeApi, Sent, shape_of
from tests.support.in_process import InProcess
from tests.support.visitor import Visitor, fetch_metadata
from tests.support.whole import whole

Place = tuple[str | int, ...]
FIRST, MORE = "the first", "one more"
"""Of a list: its first item alone, or that one once more at the end."""
LEFT_OUT = "left out"
"""Of a member: that the answer doesn't have it."""
CLINIC = "clinic"
STRANGE = "Unheard"
"""Of a choice: a value that it doesn't have, as from a newer API."""
_DAY = 24 * 3600.0
LATER = 3600.0
"""How long ago somebody signed in who has to sign in again to sign."""


@dataclass(frozen=True)
class Change:
    """A member of an endpoint's answer, by its place in it, and what it is instead: JSON, LEFT_OUT, or of a list FIRST or MORE.

    The same of a setting of the clinic: its endpoint is CLINIC.
    """

    endpoint: str
    """Of one record alone with its id: `pgt-results/{id}@r-1`."""
    place: Place
    value: str


@dataclass(frozen=True)
class State:
    """Changes of what is answered, then forms that are sent one after the other, and how the API takes that.

    Of a form: its number on the page, and what is filled in: nothing beside what stands there, "blank", "ticked" or
    `name=value`, with ` & ` between several; or "elsewhere", where it is sent to the address of a button of its own. `refused` is the API's status for what they ask, 1 if it never answers; `naming` the member that it says is wrong.
    """

    changes: tuple[Change, ...] = ()
    forms: tuple[tuple[int, str], ...] = ()
    refused: int = 0
    late: bool = False
    naming: str = ""
    after: str = ""
    """A page that was opened before, from which people and records are known."""
    had: str = ""
    """What was opened or downloaded before, while the API still answered as usual."""
    yesterday: str = ""
    """A page that was opened the day before, while the API still answered as usual."""
    failing: tuple[str, ...] = ()
    """Endpoints that answer each read with a 500."""
    gone: tuple[str, ...] = ()
    """The same with a 404."""
    later: tuple[tuple[int, Change], ...] = ()
    """What changes only after so many forms were sent: written `then …` between them. After the last, the page is opened again."""
    missing: tuple[str, ...] = ()
    """Endpoints that the API doesn't have: they answer with a 501."""
    part: str = ""
    """The part of the page, by its id, that htmx asks for by itself."""
    sought: str = ""
    """What is typed into the search of every page."""

    def __str__(self) -> str:
        parts = [*map(_text_of, self.changes)]
        parts += [f"{endpoint} fails" for endpoint in self.failing]
        parts += [f"{endpoint} is gone" for endpoint in self.gone]
        parts += [f"{endpoint} isn't offered" for endpoint in self.missing]
        parts += [f"after {self.after}"] if self.after else []
        parts += [f"had {self.had}"] if self.had else []
        parts += [f"yesterday {self.yesterday}"] if self.yesterday else []
        parts += [f"part {self.part}"] if self.part else []
        parts += [f"sought {self.sought}"] if self.sought else []
        parts += ["signed in an hour ago"] if self.late else []
        for sent in range(len(self.forms) + 1):
            parts += [f"then {_text_of(change)}" for after, change in self.later if after == sent]
            parts += [f"form {number} {filled}".rstrip() for number, filled in self.forms[sent : sent + 1]]
        naming = f" naming {self.naming}" if self.naming else ""
        parts += [f"refused {self.refused}{naming}"] if self.refused else []
        return " | ".join(parts)

    @classmethod
    def read(cls, text: str) -> State:
        """Return the state that is written like this."""
        changes: list[Change] = []
        forms: list[tuple[int, str]] = []
        failing: list[str] = []
        gone: list[str] = []
        missing: list[str] = []
        later: list[tuple[int, Change]] = []
        refused, late, naming, after, had, yesterday, asked, sought = 0, False, "", "", "", "", "", ""
        for part in text.split(" | ") if text else ():
            if part == "signed in an hour ago":
                late = True
            elif part.startswith("after "):
                after = part.removeprefix("after ")
            elif part.startswith("part "):
                asked = part.removeprefix("part ")
            elif part.startswith("sought "):
                sought = part.removeprefix("sought ")
            elif part.startswith("yesterday "):
                yesterday = part.removeprefix("yesterday ")
            elif part.startswith("had "):
                had = part.removeprefix("had ")
            elif part.endswith(" fails"):
                failing.append(part.removesuffix(" fails"))
            elif part.endswith(" is gone"):
                gone.append(part.removesuffix(" is gone"))
            elif part.endswith(" isn't offered"):
                missing.append(part.removesuffix(" isn't offered"))
            elif found := re.fullmatch(r"form (\d+) ?(.*)", part):
                forms.append((int(found[1]), found[2]))
            elif found := re.fullmatch(r"refused (\d+)(?: naming (\S+))?", part):
                refused, naming = int(found[1]), found[2] or ""
            elif found := re.fullmatch(r"(then )?(\S+) (\S*) = (.*)", part):
                place = tuple(int(step) if step.isdigit() else step for step in found[3].split("."))
                change = Change(found[2], place, found[4])
                if (found[1] or found[2] != CLINIC) and not _is_declared(change):
                    raise ValueError(f"{part}: the API has no such member or value")
                if found[1]:
                    later.append((len(forms), change))
                else:
                    changes.append(change)
            else:
                raise ValueError(text)
        ways = (refused, late, naming, after, had, yesterday, tuple(failing), tuple(gone), tuple(later))
        return cls(tuple(changes), tuple(forms), *ways, tuple(missing), asked, sought)


def _text_of(change: Change) -> str:
    return f"{change.endpoint} {'.'.join(map(str, change.place))} = {change.value}"


def _is_declared(change: Change) -> bool:
    row = _READS.get(change.endpoint.partition("@")[0])
    kinds = list(_kinds_at(shape_of(row.answer), change.place)) if row else []
    choices = {choice.value for one in kinds if isinstance(one, inspect.EnumType) for choice in one.cls}
    is_choice = choices and change.value.startswith('"')
    return bool(kinds) and (not is_choice or json.loads(change.value) in {*choices, STRANGE})


def _kinds_at(kind: inspect.Type, place: Place) -> Iterator[inspect.Type]:
    """What a member of an answer may be."""
    for one in kind.types if isinstance(kind, inspect.UnionType) else (kind,):
        if not place:
            yield one
        elif isinstance(one, inspect.StructType):
            for field in one.fields:
                if field.encode_name == place[0]:
                    yield from _kinds_at(field.type, place[1:])
        elif isinstance(one, inspect.VarTupleType) and isinstance(place[0], int):
            yield from _kinds_at(one.item_type, place[1:])


def title_of(case: Case) -> str:
    return f"{case.who} {case.path}{case.note and f' ({case.note})'}"


_E1 = "?episode=e-1"
UNSIGNED_BY_BOTH = changed(LIST_CONSENTS, **{**UNSIGNED, "requiredSigners": BOTH, "episodeId": "e-1"})
SIGNED_AND_NEXT = {
    READ_CONSENT: {**IN_FORCE[READ_CONSENT], "procedureDate": "2026-11-25"},
    LIST_CONSENTS: changed(LIST_CONSENTS, **UNSIGNED, procedureDate="2026-11-26"),
}
COUPLE = [
    {
        "role": role,
        "personId": EPISODE[one]["userId"],
        "name": f"{EPISODE[one]['firstName']} {EPISODE[one]['lastName']}",
    }
    for role, one in (("Patient", "patient"), ("Partner", "partner"))
]
FOR_TREATMENT = {
    **SIGNED,
    "kind": "Treatment",
    "episodeId": "e-1",
    "patientId": EPISODE["patient"]["id"],
    "embryoStorageIds": [embryo["id"] for embryo in EPISODE["embryos"]],
    "requiredSigners": [*COUPLE, AMELIA_SIGNS[1]],
    "signatures": [
        {**SIGNED["signatures"][0], **COUPLE[0]},
        {**SIGNED["signatures"][0], **COUPLE[1]},
        SIGNED["signatures"][1],
    ],
}
"""A form that the couple and a clinician signed, which allows that the embryos are warmed."""
HER_TREATMENT = changed(
    LIST_CONSENTS,
    **{**SIGNED, "kind": "Treatment", "episodeId": "e-1", "patientId": EPISODE["patient"]["id"]},
    embryoStorageIds=[],
)


HER_CONSENT = {
    **IN_FORCE[READ_CONSENT],
    "kind": "Disposition",
    "episodeId": "e-1",
    "patientId": EPISODE["patient"]["id"],
    "embryoStorageIds": [embryo["id"] for embryo in EPISODE["embryos"]],
}


HER_PLAN = {
    READ_EPISODE: UNDER_TREATMENT[READ_EPISODE],
    READ_PROTOCOL: {**UNDER_TREATMENT[READ_PROTOCOL], "patientId": EPISODE["patient"]["id"]},
}


HER_RESULT = {
    **RELEASED[READ_PGT_RESULT],
    "episodeId": "e-1",
    "embryoCode": EPISODE["embryos"][0]["embryoCode"],
    "call": "Aneuploid",
}


def _sealed(form: dict[str, Any]) -> dict[str, Any]:
    """The form with the hashes and the seal that the portal computes of it."""
    hashed = content_hash(decode(json.dumps(form).encode(), ConsentForm))
    signatures = [{**signature, "contentHash": hashed, "passkey": None} for signature in form["signatures"]]
    form = {**form, "contentHash": hashed, "signatures": signatures}
    return {**form, "seal": seal(decode(json.dumps(form).encode(), ConsentForm))}


SEALED = _sealed(IN_FORCE[READ_CONSENT])
NOT_HELD = {**EPISODE, "embryos": [{**embryo, "holdReason": None} for embryo in EPISODE["embryos"]]}
_FOLLITROPIN, _CETRORELIX = EPISODE["protocol"]["medications"]
_SCAN, _COLLECTION = EPISODE["appointments"]
STIMULATION = {
    **EPISODE,
    "status": "Active",
    "stage": "Stimulation",
    "outcome": None,
    "endDate": None,
    "protocol": {
        **active(EPISODE["protocol"]),
        "medications": [
            {
                **medication,
                "unit": unit,
                "startDay": first,
                "endDay": last,
                "lastDoseDay": last,
                "times": [time],
            }
            | {
                "everyDays": 1,
                "time": None,
                "stopRule": None,
                "isTrigger": is_trigger,
                "drug": drug,
                "dose": dose,
            }
            for medication, drug, dose, unit, first, last, time, is_trigger in (
                (_FOLLITROPIN, "Follitropin", 225, "IU", 1, 6, "20:15", False),
                (_CETRORELIX, "Cetrorelix", 0.25, "mg", 2, 6, "08:00", False),
                ({**_CETRORELIX, "id": "hcg"}, "Choriogonadotropin", 250, "µg", 5, 5, "23:00", True),
            )
        ],
    },
    "appointments": [
        {**_SCAN, "kind": "Monitoring scan", "start": "2026-11-25T17:00:00Z", "end": "2026-11-25T17:30:00Z"}
        | {"location": "Quayside", "status": "Confirmed"},
        {
            **_COLLECTION,
            "kind": "Egg collection",
            "start": "2026-11-26T19:00:00Z",
            "end": "2026-11-26T20:00:00Z",
        },
    ],
    "alerts": [
        {
            **EPISODE["alerts"][0],
            "text": f"{name}: read the new leaflet {number}.",
            "creationTime": "2026-11-24T18:00:00Z",
        }
        for number, name in enumerate(
            ("Follitropin", "Cetrorelix", "Choriogonadotropin", "Progesterone"), 901
        )
    ],
}
"""A treatment in which a dose is due this evening, the trigger tonight, and a scan and the egg collection after it."""
ENDED = {
    **STIMULATION,
    "status": "Finished",
    "stage": "EarlyScan",
    "outcome": "Pregnancy",
    "endDate": "2026-11-23",
}
"""The same treatment after its end, with a plan that may go on."""
_IN_STIMULATION = {
    **PENDING,
    **ONE_EPISODE,
    READ_EPISODE: STIMULATION,
    READ_PROTOCOL: {**STIMULATION["protocol"], "episodeId": "e-1"},
    LIST_CONSENTS: PENDING[LIST_CONSENTS],
}
_PATIENT = f"/patients/{EPISODE['patient']['id']}"
HER_FORMS = changed(LIST_CONSENTS, episodeId="e-1", patientId=EPISODE["patient"]["id"])
OTHER_PAGES = [
    *(Case("other", who, "/help") for who in ("amelia", "nora")),
    *(Case("other", "amelia", f"/help/words{query}") for query in ("", "?q=euploid", "?q=zebra")),
    Case("other", "nora", "/find"),
    Case("other", "nora", "/open"),
    Case("other", "nora", "/nowhere"),
    Case("other", "ada", "/styles"),
    Case("other", "ada", "/emr-endpoints/m-1/remove"),
    *(
        Case("other", who, path)
        for who in ("amelia", "victor")
        for path in ("/me/devices", "/me/devices/sign-out", "/me/passkeys")
    ),
    Case("notifications", "amelia", "/notifications/bell"),
    Case("notifications", "nora", "/notifications?unread=1"),
    *(
        Case("conversations", "amelia", path, HERS | ONE_EPISODE)
        for path in ("/conversations/new?known=x", f"{TALK}/new?known=x")
    ),
    *(Case("episodes", who, "/episodes", HERS | ONE_EPISODE) for who in ("nora", "grace")),
    Case("episodes", "amelia", f"{E1}/consents", HERS | PENDING, "to be signed"),
    Case("consents", "nora", "/consents/new?q=a", HERS),
    *(Case("episodes", "amelia", f"{E1}/doses{query}", UNDER_TREATMENT) for query in ("", "?told=")),
    *(
        Case("episodes", who, path, _IN_STIMULATION, "in stimulation")
        for who, path in (
            *(
                ("amelia", f"{E1}/medication"),
                ("amelia", E1),
                ("amelia", "/episodes"),
                ("amelia", f"{E1}/monitoring"),
            ),
            *(
                ("nora", f"{E1}/medication"),
                ("nora", E1),
                ("nora", f"{E1}/consents"),
                ("nora", "/episodes"),
                ("elif", E1),
            ),
        )
    ),
    Case("episodes", "amelia", "/", _IN_STIMULATION | ANOTHER_EPISODE, "two treatments"),
    Case("episodes", "amelia", E1, _IN_STIMULATION | {READ_EPISODE: ENDED}, "ended"),
    Case(
        "patients",
        "nora",
        f"{_PATIENT}/as-seen{_E1}",
        UNDER_TREATMENT | ONE_EPISODE | {LIST_CONSENTS: HER_FORMS},
    ),
    *(Case("storage", who, "/storage", HERS | ONE_EPISODE) for who in ("elif", "victor", "nora")),
    Case("storage", "elif", f"/storage/read-on{_E1}", HERS | ONE_EPISODE),
    *(Case("storage", "elif", f"{EMBRYO}/second-person{_E1}", HERS) for _ in range(1)),
    Case(
        "storage",
        "elif",
        f"{EMBRYO}{_E1}",
        {READ_EPISODE: NOT_HELD, LIST_CONSENTS: changed(LIST_CONSENTS, **FOR_TREATMENT)},
        "that may be warmed",
    ),
    *(
        Case("storage", "amelia", f"{EMBRYO}/{decision}{_E1}", HERS | answers, note)
        for decision in ("leave-open", "move", "donate-research", "donate-patients", "end-storage")
        for answers, note in (({}, ""), (PENDING, "waiting"))
    ),
    *(
        Case("prospects", "colin", f"/prospects/s-1/{what}")
        for what in ("book-link", "book", "merge", "merge/confirm?merge=s-2")
    ),
    *(
        Case("consents", who, f"/consents/c-1{what}", SIGNED_AND_NEXT, "others wait")
        for who, what in (
            *(("amelia", "/receipt"), ("victor", "/receipt?list=mine"), ("victor", "?list=mine")),
            *(("victor", "/receipt?list=mine&done=1&open_next=1"), ("nora", "/revoke?list=open")),
        )
    ),
    *(
        Case(
            "consents",
            who,
            f"/consents/c-1/revoke{query}",
            {**SIGNED_AND_NEXT, READ_CONSENT: changed(READ_CONSENT, **WITHDRAWN, revokedById=by)},
            f"withdrawn by {by}",
        )
        for who, by, query in (
            *(("amelia", "amelia", ""), ("amelia", "nora", ""), ("nora", "nora", "?list=open&done=2")),
            ("nora", "amelia", "?list=undated"),
        )
    ),
    Case("consents", "nora", "/consents?list=open", HERS | {LIST_CONSENTS: UNSIGNED_BY_BOTH}, "of two"),
    Case("consents", "amelia", "/consents/c-1/receipt?verify=1", {READ_CONSENT: SEALED}, "with its seal"),
    *(Case("consents", who, "/consents/c-1/revoke", PENDING, "to be signed") for who in ("amelia", "nora")),
    Case("consents", "nora", "/consents/new?copy=c-1", HERS | {READ_CONSENT: HER_CONSENT}, "to be replaced"),
    Case("consents", "nora", "/consents?q=a&page=9", IN_FORCE),
    Case("consents", "amelia", "/consents/c-1/sign/statements", PENDING),
    Case(
        "consents",
        "nora",
        "/consents/new?template=treatment&episode=e-1",
        HERS | {LIST_CONSENTS: HER_TREATMENT},
        "sent before",
    ),
    Case("consents", "nora", "/consents/new?episode=e-1", HERS | {LIST_CONSENTS: HER_TREATMENT}, "in force"),
    *(
        Case(
            "consents",
            "nora",
            f"/consents/new?template={template}&episode=e-1",
            HERS | {LIST_CONSENTS: HER_FORMS},
        )
        for template in ("disposition", "legal-parenthood-partner")
    ),
    *(
        Case("consents", "nora", f"/consents/new{what}", HERS)
        for what in ("/bundle?operation=none", "/fill", "/preview", "/look")
    ),
    *(
        Case("protocols", "victor", f"/protocols/{what}", UNDER_TREATMENT)
        for what in ("new", "new/preview", "p-1/end?to=Completed")
    ),
    Case("protocols", "victor", f"/protocols?patient={EPISODE['patient']['id']}"),
    Case("protocols", "victor", "/protocols/p-1", {}, "drafted"),
    *(
        Case("protocols", who, "/protocols/p-1/schedule.pdf", HER_PLAN, "hers")
        for who in ("victor", "amelia")
    ),
    Case("protocols", "victor", "/protocols/p-1/edit", _IN_STIMULATION, "in stimulation"),
    Case("protocols", "victor", "/protocols/p-1", _IN_STIMULATION, "in stimulation"),
    Case("pgt_results", "elif", "/pgt-results/r-1", {READ_PGT_RESULT: HER_RESULT, **HERS}, "of several"),
    Case("protocols", "victor", "/protocols/p-1/edit", PLAN, "without a trigger"),
    Case("consents", "nora", "/consents/new?template=storage&episode=e-1", HERS),
    Case("consents", "nora", "/consents/new?episode=e-1", HERS | {LIST_CONSENTS: HER_FORMS}),
    Case("protocols", "nora", "/protocols/p-1", UNDER_TREATMENT),
    Case("protocols", "amelia", "/protocols/p-1/change", UNDER_TREATMENT),
    Case("other", "amelia", "/files/f-1/preview"),
]
"""More pages, that hold little of the API's, or show it as others do."""
CASE_OF = {title_of(case): case for case in (*CASES, *OTHER_PAGES, *BUSY_CASES)}


@dataclass
class Shown:
    """What somebody got to see, what the API was asked for it, and what the audit record says of it."""

    answer: requests.Response
    calls: Sequence[Sent]
    audited: Sequence[str]
    answers: Answers
    told: Mapping[str, Any]
    """What each endpoint answered first."""

    def lines(self) -> list[str]:
        """Return all of it, as it was told; what is only read in any order."""
        asked = [
            f"{call.row.method} {call.path} {json.dumps(call.query, sort_keys=True)}"
            for call in self.calls
            if call.row.is_safe
        ]
        sent = [line for call in self.calls if not call.row.is_safe for line in lines_of(call, self.answers)]
        status = f"{self.answer.status_code} {self.answer.headers.get('Location', '')}".strip()
        said = [status, *sorted(asked), *sent, *sorted(self.audited)]
        return [*(_BY_CHANCE.sub("…", line) for line in said), *self._page()]

    def _page(self) -> list[str]:
        match self.answer.headers.get("Content-Type", "").partition(";")[0]:
            case "application/pdf" if self.answer.content.startswith(b"%PDF-1.7\n%"):
                return document_lines(self.answer.content, self.answers)
            case "text/calendar":
                return calendar_lines(self.answer.text, self.answers)
            case "text/html":
                return whole(self.answer.text)
            case kind:
                return [kind]


class Opener:
    """Opens pages in states, each as if nobody had seen anything before."""

    def __init__(
        self, portal: InProcess, api: FakeApi, also: Callable[[str, Any], Any] = lambda _, answer: answer
    ) -> None:
        self._portal, self._api, self._also = portal, api, also
        self._changes: Sequence[Change] = ()
        """`also` is what becomes of each answer besides, by its path."""

    def open(self, case: Case, state: State = State()) -> Shown:
        """Open a page; send a form of it, and follow where that leads."""
        self._portal.forget()
        api = self._api
        api.forget()
        for row, answer in case.answers.items():
            api.gives(row, answer)
        told: dict[str, Any] = {}
        self._changes = state.changes
        api.change = self._also
        if state.had:
            self._visited(case, state, state.had)
            api.told.clear()
        if state.yesterday:
            self._portal.clock.advance(-_DAY)
            self._visited(case, state, state.yesterday)
            self._portal.clock.advance(_DAY)
            api.told.clear()
        for status, endpoints in ((500, state.failing), (404, state.gone), (501, state.missing)):
            for endpoint in endpoints:
                name, _, id_ = endpoint.partition("@")
                api.refuses(_READS[name], status, id_=id_ or None)

        def change(path: str, answer: Any) -> Any:
            endpoint = endpoint_of(path)
            names = (endpoint, f"{endpoint}@{path.rpartition('/')[2]}")
            for one in self._changes:
                answer = _with(answer, one.place, one.value) if one.endpoint in names else answer
            told.setdefault(endpoint, answer)
            return self._also(path, answer)

        api.change = change
        with self._portal.clinic(
            **{str(one.place[0]): _setting(one) for one in state.changes if one.endpoint == CLINIC}
        ):
            answer = self._went(case, state)
        answers = Answers(api.told, ZONE)
        return Shown(answer, tuple(api.calls), tuple(audited(self._portal, answers)), answers, told)

    def _visited(self, case: Case, state: State, before: str = "") -> Visitor:
        ago = LATER if state.late else 0.0
        visitor = self._portal.visitor(case.who, ROLES.get(case.who, "patient"), signed_in_ago=ago)
        if before:
            visitor.http.get(visitor.origin + before)
            self._api.calls.clear()
            self._portal.audited()
        return visitor

    def _went(self, case: Case, state: State) -> requests.Response:
        api = self._api
        visitor = self._visited(case, state, state.after)
        url = visitor.origin + case.path
        part = {"HX-Request": "true", "HX-Target": f"div#{state.part}"} if state.part else {}
        answer = visitor.http.get(url, headers=fetch_metadata(url) | part, allow_redirects=False)
        if state.sought:
            form = document_fromstring(answer.text).xpath("//form[@action='/find']")[0]
            answer = _sent(visitor.http, url, form, f"q={state.sought}")
            if answer.status_code == requests.codes.see_other:
                answer = visitor.http.get(urljoin(url, answer.headers["Location"]), allow_redirects=False)
        if state.forms:
            _refuse(api, state.refused, state.naming)
        for sent, (number, filled) in enumerate(state.forms):
            self._changed(state, sent)
            form = forms_of(answer.text)[number]
            answer = _sent(visitor.http, url, form, filled)
            to = urljoin(url, answer.headers.get("Location", ""))
            if answer.status_code in (302, 303) and to.startswith(visitor.origin):
                url = to
                answer = visitor.http.get(url, allow_redirects=False)
        if self._changed(state, len(state.forms)):
            url = visitor.origin + case.path
            answer = visitor.http.get(url, headers=fetch_metadata(url), allow_redirects=False)
        return answer

    def _changed(self, state: State, sent: int) -> bool:
        """Whether something changes after so many forms; from now on it has."""
        changes = [change for after, change in state.later if after == sent]
        self._changes = (*self._changes, *changes)
        return bool(changes)


def _setting(change: Change) -> Any:
    """The value of a clinic's setting, as the portal reads it from its file."""
    value = json.loads(change.value)
    name = str(change.place[0])
    return (
        None
        if value is None
        else settings_of(Tenant)[name].parse(value, replace(NOWHERE, clinic={"country": "GB"}))
    )


def _refuse(api: FakeApi, status: int, naming: str) -> None:
    for row in ALL:
        if not row.is_safe and status == 1:
            api.loses(row)
        elif not row.is_safe and status:
            api.refuses(row, status, naming=naming)


def forms_of(html: str) -> list[FormElement]:
    """The forms in the main part of a page."""
    return document_fromstring(html).xpath("//main//form") if html.strip() else []


def _sent(http: requests.Session, url: str, form: FormElement, filled: str) -> requests.Response:
    fields = [(name, value) for name, value in form.form_values()]
    buttons = form.xpath(".//button[@name]")
    fields += [(buttons[0].get("name"), buttons[0].get("value") or "")] if buttons else []
    if filled == "blank":
        hidden = {one.get("name") for one in form.xpath(".//input[@type='hidden'] | .//button")}
        fields = [(name, given if name in hidden else "") for name, given in fields]
    elif filled == "ticked":
        boxes = form.xpath(".//input[@type='checkbox']")
        fields = [
            *fields,
            *((box.get("name"), box.get("value") or "on") for box in boxes if box.get("checked") is None),
        ]
    elif filled and filled != "elsewhere":
        typed = dict(one.split("=", 1) for one in filled.split(" & "))
        fields = [*((name, given) for name, given in fields if name not in typed), *typed.items()]
    action = form.xpath(".//button/@formaction")[0] if filled == "elsewhere" else form.get("action")
    to = urljoin(url, action or url)
    if (form.get("method") or "get").lower() == "get":
        return http.get(to, params=fields, allow_redirects=False)
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(url))
    headers = {"Origin": origin, "Referer": url}
    return http.post(to, data=fields, headers=headers, allow_redirects=False)


@cache
def endpoint_of(path: str) -> str:
    """The last part of an endpoint's address that is the same for all records: "consent-forms/{id}"."""
    row = next(
        row for row in ALL if row.is_safe and re.fullmatch(re.sub(r"{\w+}", "[^/]+", row.template), path)
    )
    return _name_of(row)


def _name_of(row: AnyEndpoint) -> str:
    return row.template.removeprefix("/api/care/")


_READS = {_name_of(row): row for row in ALL if row.is_safe}


def _with(value: Any, place: Place, new: str) -> Any:
    """The value with another one at this place; where the place is gone, as it was. A list's total follows."""
    first, *rest = place
    there = isinstance(value, list) and isinstance(first, int) and first < len(value)
    if not there and not (isinstance(value, dict) and first in value):
        return value
    changed = copy.copy(value)
    if new == LEFT_OUT and not rest:
        del changed[first]
        return changed
    changed[first] = _with(value[first], tuple(rest), new) if rest else _instead(value[first], new)
    if place == ("items",) and changed.get("totalCount") == len(value["items"]):
        changed["totalCount"] = len(changed["items"] or ())
    return changed


def _instead(value: Any, new: str) -> Any:
    if new == FIRST:
        return value[:1] if isinstance(value, list) else value
    if new == MORE:
        return [*value, *value[:1]] if isinstance(value, list) else value
    return json.loads(new)


def written(text: str) -> Iterator[tuple[str, State, list[str]]]:
    """Yield what a file of states has: a page's title, the state, and the lines that differ."""
    for block in text.split("\n\n"):
        if block.strip():
            head, *lines = block.strip("\n").splitlines()
            title, _, state = head.removeprefix("== ").partition(": ")
            yield title, State.read(state), lines
