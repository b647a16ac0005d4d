"""The bell's answer when nothing is new: whatever is asked, and by whom, it is the view's, only sooner."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from flask import Flask
from msgspec import structs

from portal.config.strong_sign_in import StrongSignIn
from portal.config.tenants import Side
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.state.session_records import Tokens
from portal.state.sessions import COOKIE, Sessions
from portal.store import StoreDown
from portal.store.vault import Vault
from portal.web import guard, modules, unchanged_bell
from tests.support.fake_api import FakeApi, samples
from tests.support.in_process import InProcess
from tests.support.visitor import SignIn, Visitor

SCRIPT = {"Sec-Fetch-Dest": "empty", "Sec-Fetch-Site": "same-origin", "HX-Request": "true"}
KNOWN = "/notifications/bell?known=3"


@dataclass
class Seen:
    """What Flask was asked, and what was logged."""

    by_flask: list[str] = field(default_factory=list[str])
    lines: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    noted, through_flask = Seen(), Flask.wsgi_app

    def asked(app: Flask, environ: dict[str, Any], start_response: Any) -> Any:
        noted.by_flask.append(environ["PATH_INFO"])
        return through_flask(app, environ, start_response)

    def told(record: logging.LogRecord) -> bool:
        of_line = ("route", "status", "tenant")
        noted.lines.append((record.getMessage(), *(getattr(record, name, None) for name in of_line)))
        return True

    monkeypatch.setattr(Flask, "wsgi_app", asked)
    logger = logging.getLogger("portal")
    logger.addFilter(told)
    yield noted
    logger.removeFilter(told)


@pytest.fixture
def amelia(visitor: SignIn, fake_api: FakeApi) -> Visitor:
    """Amelia, whose bell has been asked for twice: it counts three, and her session knows what to read along."""
    return with_a_count(visitor("amelia"), fake_api)


def with_a_count(who: Visitor, fake_api: FakeApi) -> Visitor:
    fake_api.gives(LIST_NOTIFICATIONS, {**samples(LIST_NOTIFICATIONS), "unreadCount": 3})
    for _ in range(2):
        ask(who)
    return who


def ask(who: Visitor, path: str = KNOWN, method: str = "GET", **headers: Any) -> Any:
    given: dict[str, Any] = {**SCRIPT, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return who.request(method, path, status=None, follow=False, headers=given)


def test_nothing_new_is_answered_without_flask(amelia: Visitor, seen: Seen) -> None:
    answer = ask(amelia)
    assert (answer.status, answer.text, seen.by_flask) == (204, "", [])
    assert answer.headers["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert "Set-Cookie" not in answer.headers


OTHER_REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("another count", {"path": "/notifications/bell?known=4"}),
    ("no count", {"path": "/notifications/bell"}),
    ("two counts", {"path": "/notifications/bell?known=4&known=3"}),
    ("a count of other digits", {"path": "/notifications/bell?known=%D9%A3"}),
    ("what it doesn't know", {"path": f"{KNOWN}&x=1"}),
    ("as a patient sees it", {"path": "/patients/p-1/as-seen/notifications/bell?known=3"}),
    ("another method", {"method": "POST"}),
    ("a head", {"method": "HEAD"}),
    ("another site", {"Sec_Fetch_Site": "cross-site"}),
    ("a subdomain's site", {"Sec_Fetch_Site": "same-site"}),
    ("a frame", {"Sec_Fetch_Dest": "iframe"}),
    ("a window", {"Sec_Fetch_Dest": "document"}),
    ("no metadata", {"Sec_Fetch_Dest": None, "Sec_Fetch_Site": None}),
    ("no metadata, nor a script", {"Sec_Fetch_Dest": None, "Sec_Fetch_Site": None, "HX_Request": None}),
    ("no host", {"Host": "elsewhere.localhost"}),
    ("the other clinic's host", {"Host": "harbour.localhost"}),
    ("a host that can't be", {"Host": "riverside.localhost:x/"}),
    ("another cookie", {"Cookie": f"{COOKIE}={'x' * 43}"}),
    ("no cookie", {"Cookie": "a=b"}),
    ("another site's cookie, in Latin-1", {"Cookie": "theme=Jos\xe9"}),
]


@pytest.mark.parametrize(
    "asked", [asked for _what, asked in OTHER_REQUESTS], ids=[w for w, _ in OTHER_REQUESTS]
)
def test_any_other_request_is_the_views(amelia: Visitor, seen: Seen, asked: dict[str, Any]) -> None:
    ask(amelia, **asked)
    assert seen.by_flask


def test_the_view_goes_on_with_the_records_that_were_read(
    amelia: Visitor, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, get_many = list[str](), Vault.get_many

    def reading(vault: Vault, names: Sequence[str]) -> Any:
        read.extend(names)
        return get_many(vault, names)

    monkeypatch.setattr(Vault, "get_many", reading)
    assert "3" in ask(amelia, path="/notifications/bell?known=4").text
    assert seen.by_flask and read and len(read) == len(set(read))


def later(seconds: float) -> Callable[[InProcess, pytest.MonkeyPatch], None]:
    return lambda in_process, _patch: in_process.clock.advance(seconds)


def signed_out(in_process: InProcess, _patch: pytest.MonkeyPatch) -> None:
    in_process.forget()


def nothing(*_: object) -> None:
    return None


def with_tokens(make: Callable[[Tokens], Tokens | None]) -> Callable[[InProcess, pytest.MonkeyPatch], None]:
    def change(_in_process: InProcess, patch: pytest.MonkeyPatch) -> None:
        load = Sessions.load

        def loaded(*args: Any, **options: Any) -> tuple[Any, Tokens | None]:
            record, tokens = load(*args, **options)
            return record, tokens and make(tokens)

        patch.setattr(Sessions, "load", loaded)
        patch.setattr(guard, "_renew_token", nothing)

    return change


def store_down(in_process: InProcess, patch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_options: Any) -> None:
        raise StoreDown("test")

    patch.setattr(in_process.app.extensions["portal"].vault.store, "get_many", fail)


def for_staff_alone(in_process: InProcess, patch: pytest.MonkeyPatch) -> None:
    view = in_process.app.view_functions[unchanged_bell.ENDPOINT]
    patch.setattr(view, "access", guard.Access(frozenset({Side.STAFF}), None, background=True))


def undeclared(in_process: InProcess, patch: pytest.MonkeyPatch) -> None:
    patch.delattr(in_process.app.view_functions[unchanged_bell.ENDPOINT], "access")


@pytest.mark.parametrize(
    "change",
    [
        later(16),
        later(31 * 60),
        signed_out,
        with_tokens(lambda _tokens: None),
        with_tokens(lambda tokens: structs.replace(tokens, refresh_at=0.0)),
        store_down,
        for_staff_alone,
        undeclared,
    ],
    ids=[
        "stale",
        "expired",
        "signed out",
        "no tokens",
        "tokens due",
        "store down",
        "staff alone",
        "undeclared",
    ],
)
def test_whoever_may_not_or_whose_count_is_old_gets_the_views_answer(
    amelia: Visitor,
    seen: Seen,
    in_process: InProcess,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[InProcess, pytest.MonkeyPatch], None],
) -> None:
    ahead = in_process.clock.ahead
    try:
        change(in_process, monkeypatch)
        ask(amelia)
    finally:
        in_process.clock.ahead = ahead
    assert seen.by_flask


def test_who_has_to_sign_in_more_strongly_gets_the_views_answer(
    amelia: Visitor, seen: Seen, in_process: InProcess
) -> None:
    with in_process.clinic(strong=StrongSignIn(("strong",), (), frozenset({"patient"}))):
        ask(amelia)
    assert seen.by_flask


def test_the_same_person_at_the_other_clinic_has_another_count(
    amelia: Visitor, seen: Seen, visitor: SignIn, fake_api: FakeApi
) -> None:
    harbour = visitor("amelia", clinic="harbour")
    fake_api.gives(LIST_NOTIFICATIONS, {**samples(LIST_NOTIFICATIONS), "unreadCount": 5})
    for _ in range(2):
        ask(harbour)
    seen.by_flask.clear()
    assert [ask(amelia).status, ask(harbour, path="/notifications/bell?known=5").status] == [204, 204]
    assert not seen.by_flask
    assert "5" in ask(harbour).text and seen.by_flask


@pytest.mark.parametrize("person", [("amelia",), ("nora", "nurse")])
def test_it_says_and_logs_what_the_view_does(
    visitor: SignIn,
    fake_api: FakeApi,
    in_process: InProcess,
    seen: Seen,
    monkeypatch: pytest.MonkeyPatch,
    person: tuple[str, ...],
) -> None:
    who = with_a_count(visitor(*person), fake_api)
    seen.by_flask.clear()
    seen.lines.clear()
    with in_process.clock.stopped():
        short = ask(who)
        assert not seen.by_flask
        monkeypatch.setattr(unchanged_bell, "answer", nothing)
        whole = ask(who)
    assert seen.by_flask and seen.lines[0] == seen.lines[1] and len(seen.lines) == 2
    ours, theirs = ({**answer.headers} for answer in (short, whole))
    for one in ("X-Request-Id", "Content-Security-Policy"):  # each has a random part
        assert ours.pop(one) and theirs.pop(one)
    assert theirs.pop("Content-Type")  # of nothing
    assert (short.status, ours) == (whole.status, theirs)


def test_what_happens_around_every_request_is_known_here(in_process: InProcess) -> None:
    """Whoever adds something decides first what `unchanged_bell.answer` does about it, then names it here."""
    app = in_process.app
    around = [
        *app.before_request_funcs[None],
        *app.after_request_funcs[None],
        *app.teardown_request_funcs[None],
    ]
    functions = [getattr(one, "func", one) for one in around]
    names = {f"{one.__module__}.{one.__qualname__}".removeprefix("portal.") for one in functions}
    assert (
        names
        == {
            "web.routing._begin",  # id and clinic: by the same functions; the deadline is of calls, of which there are none
            "web.routing._end",
            "web.guard._refuse_other_windows",  # only what is plainly the portal's own is answered
            "web.guard.init_app.<locals>.deny_by_default",  # undeclared: left to the view
            "web.guard.init_app.<locals>.keep_only",  # of POST alone, as is the check of tokens
            "flask_wtf.csrf.CSRFProtect.init_app.<locals>.csrf_protect",
            "web.guard._tell_session",  # the same headers
            "web.first_part._expect",  # of pages that are opened
            "web.first_part._rest",
            "web.framework_internals.LimitsOfViews._check_request_limit",  # of views that have one
            "flask_limiter._extension.Limiter.__inject_headers",
            "flask_limiter._extension.Limiter.__release_context",
            "web.modules.init_app.<locals>.refuse",  # the bell is of no module
            "web.as_patient.init_app.<locals>.refuse",  # under another address
            "web.as_patient._without_acts",
            "web.audit._write_shown",  # nothing was read
            "views.find.learn",
            "views.recent.remember",  # of records
            "web.unsent._forget_sent",  # of forms
            "web.csrf._set_cookie",  # no form was shown
            "web.headers.set_for_request",  # of HTML
            "web.compression._compress",  # of a body
            "web.logs._log",  # the same line
        }
    )
    with app.app_context():
        assert modules.module_at(unchanged_bell.ENDPOINT) is None
