"""Nothing that people type or that records hold reaches a log, an error stream or the audit record."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from portal.careservice.sample.people import PEOPLE
from portal.services.errors import Refused
from portal.state.session_records import record_name
from portal.views import consents
from tests.support.signing import consent
from tests.support.stack import SECRETS, CareService, PortalProcess, PortalThread, plan
from tests.support.visitor import SignIn, Visitor
from tests.web.logs_and_audit.output import Stream, audit_text, log_lines
from tests.web.logs_and_audit.typist import TYPED_INTO, UUID, WHO, Typist, by_hand

MEMBERS = {
    "declared",
    "reason",
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
    *("acr", "amr", "key", "mac"),
    "request",
    "chain",
    "line",
    "before",
}
LOG_MEMBERS = {
    *("at", "level", "message", "request", "route", "status", "ms", "tenant"),
    *("group", "reason", "upstream", "error"),
}


@pytest.fixture(scope="module")
def typed(person: SignIn, portal: PortalThread, service: CareService) -> list[str]:
    """Everything that was typed: by everyone on all pages, and by hand where no form leads."""
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


def recorded(data: Path) -> set[str]:
    """Return every text in the care service's records that a person wrote."""
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
    sid = visitor.session_id
    tokens = portal.context.sessions.tokens_of(record_name(sid))
    for token in (tokens.access_token, tokens.refresh_token or "") if tokens else ():
        found += [token, *token.split(".")[1:]]
    return [one for one in found if len(one) > 12]


@pytest.fixture(scope="module")
def everything(typed: list[str], portal: PortalThread, errors: Stream) -> dict[str, str]:
    """Everything that the portal wrote, by place."""
    return {"the log": errors.getvalue(), "the audit record": audit_text(portal)}


def held_by(text: str, wanted: Any) -> list[str]:
    """Return those that occur in the text, each with its surroundings."""
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
    everything: dict[str, str], portal: PortalThread, person: SignIn
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
    lines = portal.audited()
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


def test_the_apis_name_of_a_rule_is_logged_only_if_it_is_one_word(
    person: SignIn, errors: Stream, monkeypatch: pytest.MonkeyPatch
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
