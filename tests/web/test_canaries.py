"""Nothing that people type or that records hold reaches a log, an error stream or the audit record."""

from __future__ import annotations

import io
import json
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, timedelta
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest

from portal.careservice.ids import sample_id
from portal.careservice.sample.people import PEOPLE
from portal.services.errors import Refused
from portal.state.sessions import record_name
from portal.views import consents
from tests.support.signing import consent, fresh_form, to_step
from tests.support.stack import SECRETS, CareService, PortalProcess, PortalThread, plan
from tests.support.visitor import Page, Visitor

MEMBERS = {
    "declared",
    "audit",
    "outcome",
    "at",
    "tenant",
    "actor",
    "role",
    "kind",
    "id",
    "ids",
    "count",
    "request",
    "chain",
    "line",
    "before",
}
LOG_MEMBERS = {
    *("at", "level", "message", "request", "route", "status", "ms", "tenant"),
    *("group", "reason", "upstream", "error"),
}
MOST_PAGES = 24
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
LEFT_ALONE = re.compile(r"/(sign-out|language|static|book/)|/sign-out$")
"""Forms that end the session, and addresses that aren't a signed-in person's pages."""

AMELIAS = sample_id("episode", "amelia-1")
GRACES = sample_id("episode", "grace-2")
WHO = {
    "amelia": ("/",),
    "nora": (
        "/",
        f"/patients/{sample_id('patient', 'amelia')}/edit?episode={AMELIAS}",
        f"/episodes/{AMELIAS}",
        "/open",
    ),
    "grace": ("/", "/storage"),
    "ada": ("/emr-endpoints/{}/remove".format(sample_id("emr-endpoint", "riverside-main")), "/"),
    "victor": (
        f"/cases/{sample_id('case', 'amelia')}/edit?episode={AMELIAS}",
        f"/protocols/{sample_id('protocol', 'amelia')}/edit",
        f"/protocols/new?episode={AMELIAS}",
        f"/consents/new?template=treatment&episode={AMELIAS}",
    ),
    "colin": (
        f"/prospects/{sample_id('prospect', 'tomasz')}/book",
        f"/prospects/{sample_id('prospect', 'ines')}/merge",
    ),
    "elif": (f"/storage/{sample_id('embryo', 'GO-3')}?episode={GRACES}",),
}
"""Who types, and where they begin."""
TYPED_INTO = {
    *(
        "/care-team",
        "/cases/id/edit",
        "/consents",
        "/consents/id/revoke",
        "/consents/new/fill",
        "/conversations",
    ),
    *("/emr-endpoints/id/remove", "/me", "/open", "/patients/id/edit", "/prospects/id/merge", "/protocols"),
    *("/protocols/id/edit", "/protocols/new", "/storage/id"),
}
"""Where forms with free text are sent to; signing is done by hand."""


class Stream(io.StringIO):
    """What the portal writes to its error stream."""


@pytest.fixture(scope="module")
def errors() -> Iterator[Stream]:
    """Everything written to stderr and stdout by this process while these tests run."""
    stream = Stream()
    before = sys.stderr, sys.stdout
    sys.stderr = sys.stdout = stream
    yield stream
    sys.stderr, sys.stdout = before


@pytest.fixture(scope="module")
def portal(service: CareService, errors: Stream) -> Iterator[PortalThread]:
    """The portal with a log in JSON that goes to `errors`, and an audit folder of its own."""
    folder = service.plan.data / "canary-audit"
    running = PortalThread(service.plan, PORTAL_LOG="json", PORTAL_AUDIT=str(folder))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def person(portal: PortalThread) -> Callable[[str], Visitor]:
    """Everyone signs in once for the module."""
    return cache(portal.sign_in)


def audit_text(portal: PortalThread) -> str:
    folder = Path(portal.context.settings.audit)
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jsonl")))


def audit_lines(portal: PortalThread) -> list[dict[str, Any]]:
    return [json.loads(line) for line in audit_text(portal).splitlines()]


def log_lines(errors: Stream) -> list[dict[str, Any]]:
    return [json.loads(line) for line in errors.getvalue().splitlines() if line.startswith("{")]


# ── what is typed ───────────────────────────────────────────────────────────────────────────────────────


class Typist:
    """Opens every page that it finds, and types something unmistakable into every free-text field of each form."""

    TYPED = "input[type=text], input[type=search], input[type=email], input[type=tel], input:not([type]), textarea"

    def __init__(self, visitor: Visitor, numbers: Iterator[int]) -> None:
        self.visitor = visitor
        self.numbers = numbers
        self.canaries: list[str] = []
        self.opened: set[str] = set()
        self.sent: set[tuple[str, ...]] = set()

    def canary(self, kind: str) -> str:
        """A word that stands nowhere else, in the shape of what the field is for."""
        number = next(self.numbers)
        made = {"email": f"kanary{number}@typed.example", "tel": f"+44 20 7946 {number:04}"}
        self.canaries.append(made.get(kind, f"Kanary{number} Zzyzx"))
        return self.canaries[-1]

    def go(self, *starts: str) -> None:
        """Walk through the pages from these, breadth first; lists in another order or narrowed are the same page."""
        waiting = list(starts)
        while waiting and len(self.opened) < MOST_PAGES:
            path = waiting.pop(0)
            kind = UUID.sub("id", re.sub("=[^&]*", "", path))
            if kind in self.opened or LEFT_ALONE.search(path):
                continue
            self.opened.add(kind)
            page = self.visitor.get(path, status=None)
            assert page.status < 500, f"{path}: {page.status}"
            waiting += self.links(page)
            self.fill(page)

    def links(self, page: Page) -> list[str]:
        found = [urlsplit(urljoin(page.url, str(a["href"]))) for a in page.select("a[href]")]
        here = urlsplit(self.visitor.origin).netloc
        return [f"{one.path}{one.query and '?' + one.query}" for one in found if one.netloc == here]

    def fill(self, page: Page, depth: int = 0) -> None:
        for element in page.select("form"):
            form = page.form(element)
            fields = [field for field in element.select(self.TYPED) if field.get("name")]
            kind = (UUID.sub("id", urlsplit(form.action).path), *(str(field["name"]) for field in fields))
            if not fields or kind in self.sent or LEFT_ALONE.search(kind[0]):
                continue
            self.sent.add(kind)
            typed = {str(field["name"]): self.canary(str(field.get("type") or "")) for field in fields}
            answer = form.submit(check_all=True, status=None, **typed)
            assert answer.status < 500, f"{form.action}: {answer.status}"
            if depth < 2 and answer.url.startswith(self.visitor.origin):
                self.fill(answer, depth + 1)


@pytest.fixture(scope="module")
def typed(person: Callable[[str], Visitor], portal: PortalThread, service: CareService) -> list[str]:
    """All that was typed, by everybody on all pages; then by hand what forms don't lead to."""
    numbers = count(1000)
    canaries: list[str] = []
    sent: set[str] = set()
    for name, starts in WHO.items():
        typist = Typist(person(name), numbers)
        typist.go(*starts)
        assert len(typist.opened) > 5, name
        canaries += typist.canaries
        sent |= {action for action, *_ in typist.sent}
    assert sent >= TYPED_INTO, f"not typed into: {TYPED_INTO - sent}"
    return canaries + by_hand(person, portal, service, numbers)


def by_hand(
    person: Callable[[str], Visitor], portal: PortalThread, service: CareService, numbers: Iterator[int]
) -> list[str]:
    amelia, nora, colin, ada = person("amelia"), person("nora"), person("colin"), person("ada")
    canaries: list[str] = []

    def canary(pattern: str = "Kanary{} Zzyzx") -> str:
        canaries.append(pattern.format(next(numbers)))
        return canaries[-1]

    for visitor in (amelia, nora):
        for place in (
            "/episodes",
            "/consents",
            "/conversations",
            "/files",
            "/pgt-results",
            "/storage",
            "/protocols",
        ):
            visitor.get(f"{place}/{canary('kanary{}@typed.example')}", status=None)
        visitor.get(f"/{canary()}?{canary('kanary{}')}={canary()}", status=404)
        for header in ("Referer", "User-Agent", "Accept-Language", "HX-Target", "HX-Current-URL", "Cookie"):
            visitor.get("/consents", status=None, headers={header: canary("kanary{}"), "HX-Request": "true"})
        visitor.post("/language", {"language": canary(), "next": canary()}, status=None)
        visitor.post("/consents", {"csrf_token": canary()}, status=None)
    portal.visitor().get(f"/sign-in?next=/{canary('kanary{}')}", status=None)
    portal.visitor().get(
        f"/sign-in/callback?state={canary('kanary{}')}&code={canary('kanary{}')}", status=None
    )
    portal.visitor().get(
        f"/sign-in/callback?error={canary('kanary{}')}&error_description={canary()}&state=x", status=None
    )
    portal.visitor().get(f"/book/{canary('kanary{}')}", status=None)
    portal.visitor().request("POST", "/sign-out/back-channel", data={"logout_token": canary()}, status=None)

    # An id is typed too, and may be anything.
    for visitor, kind in ((colin, "prospect"), (ada, "emr-endpoint"), (nora, "episode")):
        page = (
            visitor.get("/open")
            .form("/open")
            .submit(id=canary("kanary{}@typed.example"), kind=kind, status=None)
        )
        for element in page.select("main form"):
            form = page.form(element)
            values: dict[str, Any] = {}
            if element.select_one("[name=typed]"):
                values["typed"] = canaries[-1]
            if windows := element.select("input[name=window]"):
                values["window"] = str(windows[0]["value"])
            form.submit(status=None, **values)
    address = f"/prospects/{canary('kanary{}')}/book-link"
    colin.get(address).form(address).submit(days="7", status=None)

    form = fresh_form(service.plan)
    to_step(amelia, form, "Sign this form").form(f"{form}/sign").submit(signature=canary(), status=None)
    to_step(amelia, form, "Sign this form").form(f"{form}/sign").submit(signature="Amelia Hart")
    amelia.get(f"{form}/revoke").form(f"{form}/revoke").submit(reason=canary(), status=None, check_all=True)
    return canaries


# ── what records hold ───────────────────────────────────────────────────────────────────────────────────


def recorded(data: Path) -> set[str]:
    """Every text in the care service's records that only a person could have written."""
    texts: set[str] = set()
    with closing(sqlite3.connect(data / "care.db")) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            for row in database.execute(f'SELECT * FROM "{table}"'):  # noqa: S608
                texts.update(value for value in row if isinstance(value, str))
    is_written = re.compile(r"\S+ \S+|\S+@\S+|\+\d{6,}")
    dated = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d")
    return {text for text in texts if is_written.search(text) and not dated.match(text) and len(text) > 5}


def secrets_of(portal: PortalThread, visitor: Visitor) -> list[str]:
    """The session's cookies, its tokens, and their signatures."""
    found = [str(cookie.value) for cookie in visitor.http.cookies]
    sid = next(cookie.value for cookie in visitor.http.cookies if cookie.name == "__Host-sid")
    tokens = portal.context.sessions.tokens_of(record_name(sid))
    for token in (tokens.access_token, tokens.refresh_token or "") if tokens else ():
        found += [token, *token.split(".")[1:]]
    return [one for one in found if len(one) > 12]


@pytest.fixture(scope="module")
def everything(typed: list[str], portal: PortalThread, errors: Stream) -> dict[str, str]:
    """All that the portal wrote, by where."""
    return {"the log": errors.getvalue(), "the audit record": audit_text(portal)}


def held_by(text: str, wanted: Any) -> list[str]:
    """Those that stand in the text, each with what stands around it."""
    return [
        f"{one!r}: …{text[max(0, text.find(one) - 160) : text.find(one) + 60]}…"
        for one in wanted
        if one in text
    ]


def test_typed_text_is_in_no_log_or_audit(typed: list[str], everything: dict[str, str]) -> None:
    assert len(typed) > 60
    for place, text in everything.items():
        assert len(text) > 1000, place
        assert not (found := held_by(text, typed)), f"{place} holds what was typed: {found[:5]}"
        assert "anary" not in text, f"{place}: {held_by(text, ['anary'])}"
        assert "zzyzx" not in text.lower(), place


@pytest.mark.asvs("14.2.4", "16.2.5")
def test_text_of_records_is_in_no_log_or_audit(everything: dict[str, str], service: CareService) -> None:
    texts = recorded(service.plan.data)
    assert len(texts) > 300
    for place, text in everything.items():
        assert not (found := held_by(text, texts)), f"{place} holds a record's text: {found[:5]}"


def test_names_emails_and_telephone_numbers_are_in_no_log_or_audit(everything: dict[str, str]) -> None:
    names = [name for one in PEOPLE for name in (one.given_name, one.family_name, one.username)]
    for place, text in everything.items():
        found = [name for name in names if re.search(rf"\b{name}\b", text)]
        assert not found, f"{place} names {found}"
        assert not re.search(r"[\w.]+@[\w.]+", text), f"{place} holds an e-mail address"
        assert not re.search(r"\+\d{2} ?\d{2}", text), f"{place} holds a telephone number"


@pytest.mark.asvs("14.2.4", "16.2.5")
def test_tokens_cookies_and_secrets_are_in_no_log_or_audit(
    everything: dict[str, str], portal: PortalThread, person: Callable[[str], Visitor]
) -> None:
    secrets = [secret for name in WHO for secret in secrets_of(portal, person(name))]
    assert len(secrets) > 20
    for place, text in everything.items():
        assert not held_by(text, [*secrets, *SECRETS.values()]), place
        assert "Bearer " not in text and "eyJ" not in text, place


@pytest.mark.asvs("14.2.1")
def test_the_log_carries_routes_and_no_address(
    everything: dict[str, str], portal: PortalThread, errors: Stream
) -> None:
    routes = {rule.rule for rule in portal.app.url_map.iter_rules()} | {"-"}
    lines = log_lines(errors)
    assert len(lines) > 200
    assert len(lines) == len(errors.getvalue().splitlines()), "something else writes to stderr"
    for line in lines:
        assert set(line) <= LOG_MEMBERS, line
        assert line.get("route", "-") in routes, line
        text = json.dumps({name: value for name, value in line.items() if name != "route"})
        assert not UUID.search(text), f"an id stands in the log: {line}"
        assert "?" not in text, f"a query stands in the log: {line}"
        assert "unexpected" not in text, line


@pytest.mark.asvs("16.2.2")
def test_an_audit_line_has_only_the_documented_members(
    everything: dict[str, str], portal: PortalThread
) -> None:
    lines = audit_lines(portal)
    assert len(lines) > 100
    for line in lines:
        assert set(line) <= MEMBERS, line
        assert {"audit", "outcome", "at", "tenant", "request", "before"} <= set(line), line
        assert re.fullmatch(r"[a-z_]+([.-][a-z_]+)*", line["audit"]), line
        assert datetime.fromisoformat(line["at"]).utcoffset() == timedelta(0), line
        assert re.fullmatch(r"[A-Za-z][A-Za-z -]{1,30}|[45]\d\d", line["outcome"]), line
        assert re.fullmatch(r"[0-9a-f]{24}", line.get("actor", "0" * 24)), line
        ids = line.get("ids", [line.get("id", "x")])
        assert all(re.fullmatch(r"[0-9A-Za-z~-]{1,64}", id_) for id_ in ids), line
        assert len(ids) == min(line.get("count", 1), 100), line
        assert line["tenant"] in ("riverside", "harbour", "-"), line


# ── one line for each event ─────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def noted(portal: PortalThread) -> Callable[[], list[tuple[str, str]]]:
    """Event and outcome of the lines that were added since it was last asked."""
    seen = len(audit_lines(portal))

    def added() -> list[tuple[str, str]]:
        nonlocal seen
        lines = audit_lines(portal)[seen:]
        seen += len(lines)
        return [(line["audit"], line["outcome"]) for line in lines]

    return added


Noted = Callable[[], list[tuple[str, str]]]
LETTERS = sample_id("directory", "amelia-letters")


@pytest.mark.parametrize(
    ("name", "path", "event"),
    [
        ("amelia", f"/episodes/{AMELIAS}", "episode.read"),
        ("amelia", f"/episodes/{AMELIAS}/monitoring", "episode.read"),
        ("amelia", f"/episodes/{AMELIAS}/appointments.ics", "appointments.download"),
        ("nora", f"/episodes/{AMELIAS}/embryos", "episode.read"),
        ("amelia", consent("amelia-treatment-2"), "consent.read"),
        ("amelia", f"{consent('amelia-treatment-1')}/receipt", "consent.receipt"),
        ("amelia", f"/conversations/{sample_id('conversation', 'amelia-scan')}", "conversation.read"),
        ("amelia", f"/protocols/{sample_id('protocol', 'amelia')}", "protocol.read"),
        ("amelia", f"/files/{sample_id('file', 'amelia-plan')}", "file.read"),
        ("amelia", f"/files/{sample_id('file', 'amelia-plan')}?download=1", "file.download"),
        ("amelia", f"/files/{sample_id('file', 'amelia-plan')}/preview", "file.preview"),
        ("grace", f"/pgt-results/{sample_id('pgt-result', 'GO-1')}", "pgt-result.read"),
        ("grace", "/storage", "storage.read"),
        ("grace", f"/storage/{sample_id('embryo', 'GO-3')}?episode={GRACES}", "embryo.read"),
        ("amelia", "/me", "patient.read"),
        ("nora", f"/patients/{sample_id('patient', 'amelia')}/edit?episode={AMELIAS}", "patient.read"),
        ("victor", f"/cases/{sample_id('case', 'amelia')}/edit?episode={AMELIAS}", "case.read"),
        ("nora", f"/directories?episode={AMELIAS}", "episode.read"),
    ],
)
def test_looking_at_a_record_leaves_one_line(
    person: Callable[[str], Visitor], noted: Noted, name: str, path: str, event: str
) -> None:
    visitor = person(name)
    noted()
    visitor.get(path)
    assert noted() == [(event, "done")]


@pytest.mark.parametrize(
    ("name", "path", "outcome"),
    [
        ("grace", f"/episodes/{AMELIAS}", "NotFound"),
        ("grace", consent("amelia-treatment-2"), "NotFound"),
        ("grace", f"/files/{sample_id('file', 'amelia-plan')}", "NotFound"),
        ("grace", f"/conversations/{sample_id('conversation', 'amelia-scan')}", "NotFound"),
        ("grace", f"/storage/{sample_id('embryo', 'GO-3')}?episode={AMELIAS}", "NotFound"),
        ("amelia", "/open", "NotAllowed"),
        ("amelia", "/consents/new", "NotAllowed"),
        ("elif", f"/prospects/{sample_id('prospect', 'ines')}/book", "NotAllowed"),
        ("nora", f"/emr-endpoints/{sample_id('emr-endpoint', 'riverside-main')}/remove", "NotAllowed"),
    ],
)
@pytest.mark.asvs("16.3.2")
def test_a_refusal_leaves_one_line(
    person: Callable[[str], Visitor], noted: Noted, name: str, path: str, outcome: str
) -> None:
    visitor = person(name)
    noted()
    visitor.get(path, status=None)
    lines = noted()
    assert [line[1] for line in lines] == [outcome], lines


def test_signing_and_revoking_leave_one_line_each(
    person: Callable[[str], Visitor], service: CareService, noted: Noted
) -> None:
    amelia, form = person("amelia"), fresh_form(service.plan)
    last = to_step(amelia, form, "Sign this form").form(f"{form}/sign")
    fields = [pair for pair in last.fields() if pair[0] != "signature"] + [("signature", "Amelia Hart")]
    noted()
    amelia.request("POST", last.action, data=fields, status=303, follow=False)
    assert noted() == [("consent.sign", "done")]
    page = amelia.get(f"{form}/revoke").form(f"{form}/revoke")
    fields = [pair for pair in page.fields() if pair[0] != "reason"] + [("reason", "Another way")]
    noted()
    amelia.request("POST", page.action, data=[*fields, *page.checkboxes()], status=303, follow=False)
    assert noted() == [("consent.revoke", "done")]


def test_an_act_that_is_refused_leaves_one_line(
    person: Callable[[str], Visitor], portal: PortalThread, noted: Noted
) -> None:
    colin, grace, amelia = person("colin"), person("grace"), person("amelia")
    missing = f"/prospects/{sample_id('prospect', 'nobody')}/book"
    form = colin.get(missing).form(missing)
    window = str(form.page.select("input[name=window]")[0]["value"])
    token = grace.csrf_token()
    noted()
    form.submit(window=window, status=404)
    assert noted() == [("prospect.book", "refused")]
    grace.post(f"{consent('amelia-genetic')}/revoke", {"csrf_token": token, "reason": "x"}, status=404)
    assert [outcome for _, outcome in noted()] == ["NotFound"]
    victor = person("victor")
    token = victor.csrf_token()
    noted()
    victor.post(
        f"/relationships/{sample_id('relationship', 'amelia-contact')}/remove?episode={AMELIAS}",
        {"csrf_token": token},
        status=None,
    )
    assert len(noted()) <= 1
    amelia.post("/me", {"csrf_token": "forged"}, status=400)
    assert len(noted()) == 1


def test_what_the_api_calls_a_rule_is_logged_only_when_it_is_a_word(
    person: Callable[[str], Visitor], errors: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise Refused("Wilhelmina Zzyzx must not see this")

    monkeypatch.setattr(consents, "get_consent", refuses)
    person("amelia").get(consent("amelia-genetic"), status=403)
    assert "Zzyzx" not in errors.getvalue()
    assert '"reason":"another rule"' in errors.getvalue()


def test_the_deployed_portal_logs_no_personal_data(service: CareService, tmp_path: Path) -> None:
    """Under gunicorn, whose own log goes to the same stream."""
    the = plan(tmp_path)
    the = type(the)(the.portal_port, service.plan.service_port, tmp_path, SECRETS)
    running = PortalProcess(the, PORTAL_LOG="json", PORTAL_AUDIT="stderr")
    try:
        visitor = Visitor(running.origin())
        visitor.request("GET", "/consents?q=kanary1", follow=False, status=303)
        visitor.request("GET", "/episodes/kanary2", follow=False, status=303)
        visitor.request("GET", "/kanary3?kanary4=kanary5", headers={"User-Agent": "kanary6"}, status=404)
        visitor.request("GET", "/sign-in/callback?state=kanary7&code=kanary8", status=400)
        visitor.request("GET", "/book/kanary9", status=404)
    finally:
        running.stop()
    text = running.log.read_text(encoding="utf-8")
    assert "/episodes/<record:episode_id>" in text
    assert "kanary" not in text, held_by(text, ["kanary"])
    assert '"audit":"sign-in"' in text
