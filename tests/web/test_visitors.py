"""Visitors who aren't signed in: nothing is stored about them, and their forms are still protected."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from portal.web import csrf
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor


def stored(portal: PortalThread) -> list[str]:
    """The kinds of the records in the store."""
    with closing(sqlite3.connect(portal.plan.data / "store.db")) as store:
        return [name.partition(":")[0] for (name,) in store.execute("SELECT name FROM records")]


def choose(visitor: Visitor, token: str, *, status: int = 303, **headers: str) -> None:
    """Send the language form, which visitors have too."""
    data = {csrf.FIELD: token, "language": "es", "next": "/signed-out"}
    visitor.request("POST", "/language", data=data, headers=headers, status=status, follow=False)


def test_public_pages_and_forms_store_nothing(portal: PortalThread) -> None:
    portal.visitor().get("/signed-out")  # the first of all names the portal's own records
    before = stored(portal)
    for _ in range(5):
        visitor = portal.visitor()
        page = visitor.get("/signed-out")
        page.form("/language").submit(language="es")
        assert visitor.get("/signed-out").tree["lang"] == "es"
        visitor.get("/no/such/page", status=404)
        visitor.request("GET", "/", status=303, follow=False)
        visitor.get("/portal.webmanifest")
        assert {one.name for one in visitor.http.cookies} == {csrf.VISITOR_COOKIE, "__Host-language"}
    assert stored(portal) == before


@pytest.mark.asvs("3.3.1", "3.3.2", "3.3.3")
def test_a_visitors_form_cookie_is_host_bound_and_http_only(portal: PortalThread) -> None:
    answer = portal.visitor().get("/signed-out").response
    (cookie,) = answer.raw.headers.getlist("Set-Cookie")
    assert cookie.startswith(f"{csrf.VISITOR_COOKIE}=")
    assert {"Path=/", "Secure", "HttpOnly", "SameSite=Lax"} <= set(cookie.split("; "))
    assert "Domain" not in cookie and "Max-Age" not in cookie


def test_the_form_cookie_is_set_once_and_only_with_forms(portal: PortalThread) -> None:
    visitor = portal.visitor()
    assert "Set-Cookie" not in visitor.get("/healthz").headers
    assert "Set-Cookie" not in visitor.get("/portal.webmanifest").headers
    visitor.get("/signed-out")
    assert "Set-Cookie" not in visitor.get("/signed-out").headers


def test_a_form_token_is_valid_only_in_its_browser(portal: PortalThread) -> None:
    mine, other = portal.visitor(), portal.visitor()
    token = mine.get("/signed-out").tree.select_one(f"input[name={csrf.FIELD}]")["value"]  # type: ignore[index]
    other.get("/signed-out")
    choose(mine, str(token))
    choose(other, str(token), status=400)
    choose(portal.visitor(), str(token), status=400)


@pytest.mark.parametrize("change", ["", "x", "A" * 86 + "==", "é" * 88, "=" * 88, "A" * 5000])
def test_a_forged_token_is_refused(portal: PortalThread, change: str) -> None:
    visitor = portal.visitor()
    visitor.get("/signed-out")
    choose(visitor, change, status=400)


def test_a_changed_form_token_is_refused(portal: PortalThread) -> None:
    visitor = portal.visitor()
    token = str(visitor.get("/signed-out").tree.select_one(f"input[name={csrf.FIELD}]")["value"])  # type: ignore[index]
    for at, status in ((0, 400), (5, 400), (20, 400), (65, 400), (80, 400), (30, 303), (110, 303)):
        changed = "B" if token[at] != "B" else "C"
        damaged = token[:at] + changed + token[at + 1 :]
        # The other two thirds of each part only say of which session, and for whom, the form was made.
        choose(visitor, damaged, status=status)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 303),
        ({"Sec-Fetch-Site": "none"}, 303),
        ({"Sec-Fetch-Site": "same-site"}, 400),
        ({"Sec-Fetch-Site": "cross-site"}, 400),
        ({"Sec-Fetch-Site": "cross-site", "Origin": ""}, 400),
        ({"Sec-Fetch-Site": ""}, 400),
        ({"Origin": "null"}, 400),
        ({"Origin": "http://harbour.localhost"}, 400),
    ],
)
@pytest.mark.asvs("3.5.1")
def test_a_form_of_another_site_is_refused_even_with_a_token(
    portal: PortalThread, headers: dict[str, str], status: int
) -> None:
    visitor = portal.visitor()
    token = visitor.get("/signed-out").tree.select_one(f"input[name={csrf.FIELD}]")["value"]  # type: ignore[index]
    choose(visitor, str(token), status=status, **headers)


def test_another_visitors_form_token_is_refused_in_a_session(portal: PortalThread) -> None:
    """Someone else's visitor cookie and token don't act in a session."""
    attacker, victim = portal.visitor(), portal.sign_in("amelia")
    token = str(attacker.get("/signed-out").tree.select_one(f"input[name={csrf.FIELD}]")["value"])  # type: ignore[index]
    victim.post("/sign-out", {csrf.FIELD: token}, status=400)
    assert victim.get("/").status == 200


def test_form_tokens_survive_a_key_rotation(portal: PortalThread) -> None:
    """`choose` fails where a token is refused."""
    from portal.demo.stack import DemoSetup
    from tests.support.stack import SECRETS, free_port
    from tests.support.stack import PortalThread as Other

    visitor = portal.visitor()
    token = str(visitor.get("/signed-out").tree.select_one(f"input[name={csrf.FIELD}]")["value"])  # type: ignore[index]
    cookie = next(one.value for one in visitor.http.cookies if one.name == csrf.VISITOR_COOKIE)
    secrets = {**SECRETS, "PORTAL_SECRET_KEYS": f"{'n' * 48},{SECRETS['PORTAL_SECRET_KEYS']}"}
    rotated = Other(DemoSetup(free_port(), portal.plan.service_port, portal.plan.data, secrets))
    try:
        choose(rotated.visitor(), token, Cookie=f"{csrf.VISITOR_COOKIE}={cookie}")
    finally:
        rotated.stop()


def test_every_response_to_a_signed_in_person_says_when_the_session_ends(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    answers = [
        visitor.get("/consents"),
        visitor.fragment("/consents", "results", at="/consents"),
        visitor.fragment("/notifications/bell", "bell", status=None),
    ]
    for answer in answers:
        assert 29 * 60 < int(answer.headers["Session-Lasts"]) <= 30 * 60
    assert "Session-Lasts" not in portal.visitor().get("/signed-out").headers


def test_pages_and_answers_say_which_session_they_are_of(portal: PortalThread) -> None:
    visitor, other = portal.sign_in("amelia"), portal.sign_in("amelia")
    page = visitor.get("/consents")
    tag = page.headers["Session-Tag"]
    assert len(tag) == 12 and page.select(f'body[data-session="{tag}"]')
    answers = [
        visitor.fragment("/consents", "results", at="/consents"),
        visitor.fragment("/notifications/bell", "bell", status=None),
        visitor.get("/no/such/page", status=404),
        visitor.post("/notifications/read-all", {"csrf_token": "of another session"}, status=None),
        visitor.get("/session", status=204),
    ]
    assert {answer.headers["Session-Tag"] for answer in answers} == {tag}
    assert other.get("/session", status=204).headers["Session-Tag"] not in (tag, "none")


def test_answers_without_a_session_say_so(portal: PortalThread) -> None:
    visitor = portal.visitor()
    assert visitor.get("/session", status=204).headers["Session-Tag"] == "none"
    bell = visitor.fragment("/notifications/bell", "bell", status=None)
    assert (bell.status, bell.headers["Session-Tag"]) == (204, "none")
    page = visitor.get("/signed-out")
    assert page.headers["Session-Tag"] == "none" and not page.select("body[data-session]")


def test_background_polling_does_not_extend_a_session(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    try:
        lasts = int(visitor.get("/consents").headers["Session-Lasts"])
        for minutes in (5, 10, 15):
            portal.clock.advance(5 * 60)
            bell = visitor.fragment("/notifications/bell", "bell", status=None)
            assert int(bell.headers["Session-Lasts"]) <= lasts - minutes * 60
        assert int(visitor.get("/consents").headers["Session-Lasts"]) == lasts
    finally:
        portal.clock.ahead = 0


@pytest.mark.parametrize("step", [600, -600])
def test_a_ten_minute_clock_step_signs_nobody_out(portal: PortalThread, step: int) -> None:
    visitors = [portal.sign_in(name) for name in ("amelia", "nora")]
    try:
        portal.clock.advance(step)
        for visitor in visitors:
            for path in ("/", "/notifications"):
                assert visitor.request("GET", path, status=200, follow=False)
        portal.clock.advance(-step)
        for visitor in visitors:
            assert int(visitor.get("/").headers["Session-Lasts"]) <= 31 * 60, (
                "the session lasts longer than allowed"
            )
    finally:
        portal.clock.ahead = 0


def test_with_a_full_disk_reading_works_and_other_requests_are_explained(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal.store.sqlite import SqliteStore

    visitor = portal.sign_in("amelia")
    connect = SqliteStore._connect

    def full(self: SqliteStore) -> sqlite3.Connection:
        connection = connect(self)
        connection.execute("PRAGMA max_page_count = 1")  # SQLite then adds no page
        return connection

    monkeypatch.setattr(SqliteStore, "_connect", full)
    statuses = set[int]()
    for _ in range(500):
        newcomer = portal.visitor()
        page = newcomer.request("GET", "/sign-in", status=None, follow=False)
        statuses.add(page.status)
        if page.status == 503:
            break
    assert statuses <= {303, 503} and 503 in statuses
    assert "can’t take in anything new" in page.words
    assert visitor.get("/consents").status == 200
    monkeypatch.undo()
    assert newcomer.request("GET", "/sign-in", status=303, follow=False)
    assert portal.sign_in("amelia").get("/consents").status == 200
