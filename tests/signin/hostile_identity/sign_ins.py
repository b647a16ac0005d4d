"""Signing in at the hostile identity server, and the session that results."""

from __future__ import annotations

from typing import Any

from tests.support.builders import person
from tests.support.stack import PortalThread
from tests.support.visitor import Page, Visitor

DISCOVERY = "/.well-known/openid-configuration"
HOUR = 3600
DEEP = "[" * 200_000
PORTALS: dict[str, PortalThread] = {}


def sign_in(visitor: Visitor, *, fresh: bool = False) -> Page:
    """Go to the identity server and back as a browser does; a successful sign-in ends at a public page."""
    return visitor.get(f"/sign-in?next=/signed-out{'&fresh=1' if fresh else ''}", status=None)


def signed_in(page: Page, visitor: Visitor) -> bool:
    return (page.status, page.path) == (200, "/signed-out") and "person-1" in str(person_of(visitor))


def admitted(portal: PortalThread) -> Visitor:
    """Sign in with a new browser, which has to succeed."""
    visitor = portal.visitor()
    assert signed_in(sign_in(visitor), visitor)
    return visitor


def refused(portal: PortalThread, *, status: int = 400) -> None:
    """Assert one clear page with this status, one audit line, and nobody signed in."""
    before = portal.audited()
    visitor = portal.visitor()
    page = sign_in(visitor)
    assert page.status == status, page.words[:400]
    assert page.heading in ("You couldn’t be signed in", "Signing in isn’t possible right now")
    if page.path == "/sign-in/callback":
        assert page.link("Sign in again") == "/"
    assert person_of(visitor) is None
    lines = portal.audited()[len(before) :]
    assert len(lines) == 1, lines
    assert lines[0]["audit"] == "sign-in"
    outcomes = {400: ("refused", "unknown"), 503: ("unavailable",)}
    assert lines[0]["outcome"] in outcomes[status]
    assert lines[0]["reason"], "it says why"


def page_token(page: Page) -> str:
    return str(page.tree.select_one("input[name=csrf_token]")["value"])  # type: ignore[index]


def person_of(visitor: Visitor) -> Any:
    """Return who is signed in with this browser, according to the portal's session."""
    host = visitor.origin.removeprefix("http://")
    cookie = next((one.value for one in visitor.http.cookies if one.name == "__Host-sid"), "none")
    record, _ = PORTALS[host].context.sessions.load(cookie, "riverside", host)
    return record.person if record else None


def tokens_of(visitor: Visitor) -> Any:
    from portal.state.session_records import record_name

    host = visitor.origin.removeprefix("http://")
    cookie = visitor.session_id
    return PORTALS[host].context.sessions.tokens_of(record_name(cookie))


def sessions_of(portal: PortalThread) -> list[Any]:
    """Return this person's sessions, newest first."""
    whose = person("person-1", issuer=portal.plan.service)
    found = portal.context.sessions.of_person(whose, "riverside")
    return sorted(found, key=lambda one: -one[1].created_at)
