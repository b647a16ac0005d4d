"""The guard in an application without pages: who is admitted, and where everyone else is sent."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from flask import Flask, Response, appcontext_pushed, g

from portal.config.strong_sign_in import Act, Strength, StrongSignIn
from portal.config.tenants import Side
from portal.services.demand import FRESH, FRESH_AT_WORK, Demand
from portal.services.errors import NotAllowed, NotSignedIn, StepUpNeeded, Unavailable
from portal.services.salvage import Lost
from portal.state.session_records import Person
from portal.web import guard
from portal.web.guard import (
    Access,
    access_of,
    admit,
    is_background,
    is_fresh,
    page_to_return_to,
    signed_in,
    suffices,
    to_sign_in,
)
from tests.support.builders import person
from tests.support.clock import Clock

BOTH = frozenset(Side)
NURSE = person("nora", Side.STAFF, roles=frozenset({"nurse"}))
HOST = "http://riverside.localhost"


class Here:
    """The session of a request."""

    def __init__(self, who: Person | None) -> None:
        self.person = who
        self.uses = 0
        self.lasts = 1800
        self.is_loaded = True
        self.failure: Exception | None = None

    @property
    def tag(self) -> str | None:
        return f"of {self.person.sub}" if self.person else None

    def use(self) -> None:
        self.uses += 1

    def token(self) -> str:
        if self.failure:
            raise self.failure
        return "token"


class CareOf:
    """The care API as a person, with the token of the session."""

    def __init__(self, who: Person, bearer: Here) -> None:
        self.who = who
        self.bearer = bearer

    def __str__(self) -> str:
        return f"care of {self.who.sub}"


@pytest.fixture
def clinic(app: Flask) -> Iterator[SimpleNamespace]:
    """The clinic of each request."""
    made = SimpleNamespace(strong=None)

    def enter(_app: Flask, **_: Any) -> None:
        g.tenant = made

    with appcontext_pushed.connected_to(enter, app):
        yield made


@pytest.fixture
def here(clinic: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> Here:
    made = Here(NURSE)
    monkeypatch.setattr(guard, "session", lambda: made)
    monkeypatch.setattr(guard, "care_of", lambda who: CareOf(who, made))
    return made


@pytest.fixture
def site(app: Flask, here: Here) -> Iterator[Flask]:
    @signed_in(Side.STAFF)
    def index(care: Any, who: Person) -> str:
        return f"{care} for {who.sub}"

    @signed_in(Side.STAFF, background=True)
    def bell(care: Any, who: Person) -> str:
        return "background" if is_background() else "not"

    @signed_in(Side.STAFF)
    def send(care: Any, who: Person) -> str:
        return page_to_return_to()

    app.add_url_rule("/", "index", index)
    app.add_url_rule("/list", "list", index)
    app.add_url_rule("/bell", "bell", bell)
    app.add_url_rule("/send", "send", send, methods=["POST"])
    app.add_url_rule("/unmarked", "unmarked", lambda: "never")
    app.add_url_rule("/signed-out", "sign_in.signed_out", lambda: "public")
    guard.init_app(app)
    app.register_error_handler(NotSignedIn, lambda _: ("sign in", 401))
    app.register_error_handler(NotAllowed, lambda _: ("not for you", 403))
    yield app


@pytest.mark.parametrize(
    ("who", "access", "error"),
    [
        (NURSE, Access(BOTH, None, background=False), None),
        (NURSE, Access(frozenset({Side.STAFF}), frozenset({"nurse", "admin"}), background=False), None),
        (NURSE, Access(frozenset({Side.PATIENT}), None, background=False), NotAllowed),
        (NURSE, Access(BOTH, frozenset({"admin"}), background=False), NotAllowed),
        (NURSE, Access(frozenset({Side.PATIENT}), frozenset({"nurse"}), background=False), NotAllowed),
        (person(), Access(frozenset({Side.STAFF}), None, background=False), NotAllowed),
        (person(), Access(BOTH, frozenset({"nurse"}), background=False), NotAllowed),
        (None, Access(BOTH, None, background=False), NotSignedIn),
        (None, Access(BOTH, None, background=True), NotSignedIn),
    ],
)
def test_sides_and_roles_are_admitted_as_marked(
    app: Flask, here: Here, who: Person | None, access: Access, error: type[Exception] | None
) -> None:
    here.person = who
    with app.test_request_context():
        if error:
            with pytest.raises(error):
                admit(access)
            assert "person" not in g and here.uses == 0
        else:
            assert admit(access) is who
            assert g.person is who and here.uses == 1


STRONG = StrongSignIn(
    acr=("phr",),
    amr=("mfa", "hwk"),
    roles=frozenset({"nurse"}),
    acts=frozenset({Act.EMBRYOS}),
    kinds=frozenset({"LegalParenthood"}),
)


@pytest.mark.parametrize(
    ("changes", "is_admitted"),
    [
        ({}, False), ({"acr": "pwd", "amr": ("pwd", "otp")}, False), ({"acr": "phr"}, True), ({"amr": ("pwd", "mfa")}, True),
        ({"roles": frozenset({"physician"})}, True),
    ],
)  # fmt: skip
def test_roles_that_need_a_strong_sign_in_come_in_with_one_alone(
    app: Flask, here: Here, clinic: SimpleNamespace, changes: dict[str, Any], is_admitted: bool
) -> None:
    clinic.strong = STRONG
    here.person = msgspec.structs.replace(NURSE, **changes)
    with app.test_request_context():
        if is_admitted:
            assert admit(Access(BOTH, None, background=False)) is here.person
            return
        with pytest.raises(StepUpNeeded) as needed:
            admit(Access(BOTH, None, background=False))
        assert needed.value.demand == Demand(strength=Strength(("phr",), ("mfa", "hwk")))
        assert "person" not in g and here.uses == 0


@pytest.mark.parametrize(
    ("demand", "is_needed"),
    [
        (Demand(300), False), (Demand(300, Act.EMBRYOS), True), (Demand(300, Act.MERGING), False),
        (Demand(300, Act.SIGNING, "Storage"), False), (Demand(300, Act.SIGNING, "legal_parenthood"), True),
        (Demand(300, Act.SIGNING, None), True), (Demand(strength=Strength(acr=("x",))), True),
    ],
)  # fmt: skip
def test_acts_need_the_strength_that_the_clinic_asks_for(
    app: Flask,
    clinic: SimpleNamespace,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    demand: Demand,
    is_needed: bool,
) -> None:
    monkeypatch.setattr(guard, "context", lambda: SimpleNamespace(clock=clock))
    weak = person(auth_time=clock.now)
    strong = msgspec.structs.replace(weak, acr="x", amr=("hwk",))
    with app.test_request_context():
        assert suffices(weak, demand) is (demand.strength is None)
        clinic.strong = STRONG
        assert suffices(weak, demand) is not is_needed
        assert suffices(strong, demand)
        old = msgspec.structs.replace(strong, auth_time=clock.now - 301)
        assert suffices(old, demand) is (demand.max_age is None)


def test_how_strong_a_sign_in_has_to_be_is_kept_in_the_session_and_not_in_the_address(
    app: Flask, site: Flask, clinic: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    clinic.strong, held = STRONG, dict[str, Any]()
    monkeypatch.setattr(guard, "session", lambda: held)
    monkeypatch.setattr(guard.audit, "note_refusal", lambda *_: None)
    with site.test_request_context("/list"):
        answer: Response = to_sign_in(demand=Demand(300, Act.MERGING))
        assert (answer.headers["Location"], held) == ("/sign-in?next=%2Flist&fresh=1", {})
        answer = to_sign_in(demand=Demand(300, Act.EMBRYOS))
        assert answer.headers["Location"] == "/sign-in?next=%2Flist&fresh=1"
        assert held == {"strength": {"acr": ("phr",), "amr": ("mfa", "hwk")}}


def test_a_handler_gets_the_care_api_and_the_person(site: Flask, here: Here) -> None:
    answer = site.test_client().get("/")
    assert (answer.status_code, answer.text, here.uses) == (200, "care of nora for nora", 1)
    assert answer.headers["Session-Lasts"] == "1800"
    assert answer.headers["Session-Tag"] == "of nora"
    here.person = None
    answer = site.test_client().get("/")
    assert (answer.status_code, "Session-Lasts" in answer.headers) == (401, False)
    assert answer.headers["Session-Tag"] == "none"
    here.is_loaded = False
    assert "Session-Tag" not in site.test_client().get("/").headers, "nobody looked"


def test_background_requests_do_not_extend_a_session(site: Flask, here: Here) -> None:
    assert site.test_client().get("/bell", headers={"HX-Request": "true"}).text == "background"
    assert here.uses == 0


def test_an_endpoint_without_access_mark_is_not_found_unless_public(site: Flask, here: Here) -> None:
    here.person = None
    assert site.test_client().get("/unmarked").status_code == 404
    assert site.test_client().get("/signed-out").text == "public"
    assert site.test_client().get("/nowhere").status_code == 404
    with site.test_request_context("/signed-out"):
        assert not is_background()
        assert access_of(site.view_functions["index"]) == Access(
            frozenset({Side.STAFF}), None, background=False
        )
        assert access_of(site.view_functions["unmarked"]) is None


@pytest.mark.parametrize(
    ("failure", "status"), [(None, 200), (NotSignedIn(), 401), (Unavailable("identity server"), 200)]
)
def test_a_page_without_a_call_ends_with_a_token_that_cannot_be_renewed(
    site: Flask, here: Here, failure: Exception | None, status: int
) -> None:
    here.failure = failure
    assert site.test_client().get("/").status_code == status


@pytest.mark.parametrize(
    ("age", "fresh"), [(0, True), (FRESH, True), (FRESH + 1, False), (-30, True), (-31, False)]
)
def test_a_sign_in_is_fresh_until_its_maximum_age(
    app: Flask, clock: Clock, monkeypatch: pytest.MonkeyPatch, age: int, fresh: bool
) -> None:
    monkeypatch.setattr(guard, "context", lambda: SimpleNamespace(clock=clock))
    assert is_fresh(person(auth_time=clock.now - age)) is fresh
    assert is_fresh(person(auth_time=clock.now - 60), max_age=60)
    assert not is_fresh(person(auth_time=clock.now - 60), max_age=59)
    longer = person(auth_time=clock.now - FRESH_AT_WORK)
    assert guard.suffices(longer, Demand(FRESH_AT_WORK))
    assert not guard.suffices(longer, Demand(FRESH_AT_WORK - 1))


@pytest.mark.parametrize(
    ("given", "location"),
    [
        ({}, "/sign-in?next=%2Flist%3Fpage%3D2"),
        ({"fresh": True}, "/sign-in?next=%2Flist%3Fpage%3D2&fresh=1"),
        ({"next_path": "/bell", "fresh": True}, "/sign-in?next=%2Fbell&fresh=1"),
    ],
)
def test_signing_in_returns_to_the_requested_page(
    site: Flask, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], location: str
) -> None:
    noted: list[tuple[str, str]] = []
    monkeypatch.setattr(guard.audit, "note_refusal", lambda *line: noted.append(line))
    with site.test_request_context("/list?page=2"):
        answer: Response = to_sign_in(**given)
        assert (answer.status_code, answer.headers["Location"]) == (303, location)
    assert noted == ([("list", "step-up")] if "fresh" in given else [])


@pytest.mark.parametrize(
    ("headers", "page"),
    [
        ({"Referer": f"{HOST}/list?page=2"}, "/list?page=2"),
        ({"Referer": f"{HOST}/list"}, "/list"),
        ({"Referer": "http://elsewhere.test/list"}, "/"),
        ({"Referer": f"{HOST}/nowhere"}, "/"),
        ({"Referer": f"{HOST}//elsewhere.test/list"}, "/"),
        ({"Referer": f"{HOST}/send"}, "/"),
        ({}, "/"),
        ({"HX-Request": "true", "HX-Current-URL": f"{HOST}/list?page=3"}, "/list?page=3"),
        ({"HX-Request": "true", "HX-Current-URL": f"{HOST}/list", "Referer": f"{HOST}/bell"}, "/list"),
        ({"HX-Request": "true", "HX-Current-URL": "http://elsewhere.test/list"}, "/"),
    ],
)
def test_a_form_returns_to_the_page_it_is_on(site: Flask, headers: dict[str, str], page: str) -> None:
    with site.test_request_context("/send", method="POST", headers=headers, base_url=HOST):
        assert page_to_return_to() == page


def test_a_fragment_returns_to_its_page_and_a_page_to_itself(site: Flask) -> None:
    htmx = {"HX-Request": "true", "HX-Current-URL": f"{HOST}/list"}
    with site.test_request_context("/bell", headers=htmx, base_url=HOST):
        assert page_to_return_to() == "/list"
    with site.test_request_context("/bell?x=1", headers={"Referer": f"{HOST}/list"}, base_url=HOST):
        assert page_to_return_to() == "/bell?x=1"


@pytest.mark.parametrize(("who", "location"), [(NURSE, "/list"), (None, "/sign-in?next=%2Flist")])
def test_a_form_sent_after_the_session_ended_is_only_kept(
    site: Flask, here: Here, monkeypatch: pytest.MonkeyPatch, who: Person | None, location: str
) -> None:
    kept: list[bool] = []
    monkeypatch.setattr(guard.unsent, "keep", lambda: kept.append(True))
    here.person = who
    client, headers = site.test_client(), {"Referer": f"{HOST}/list"}
    answer = client.post("/send", data={"only-keep": "1"}, headers=headers, base_url=HOST)
    assert (answer.status_code, answer.headers["Location"], kept) == (303, location, [True])
    assert here.uses == 0
    client.post("/send", data={}, headers=headers, base_url=HOST)
    client.get("/?only-keep=1", base_url=HOST)
    assert kept == [True]


def test_unreadable_records_are_counted_in_total(app: Flask) -> None:
    with app.test_request_context():
        for records in (2, 3):
            guard._count_unreadable(records, ())
        assert g.unreadable == 5


def test_what_was_probably_meant_as_none_is_said_in_its_place_alone(app: Flask) -> None:
    with app.test_request_context():
        for is_none, lacks_details in ((True, False), (False, True), (True, True)):
            guard._count_unreadable(0, (Lost(f"Thing.{is_none}", "$", is_none=is_none),))
            assert g.lacks_details == lacks_details
        assert g.lost_members == {"Thing.True", "Thing.False"}


@pytest.mark.parametrize("is_by_itself", [False, True])
def test_calls_are_made_as_the_person_within_the_pages_deadline(
    app: Flask, clock: Clock, monkeypatch: pytest.MonkeyPatch, is_by_itself: bool
) -> None:
    missing: list[tuple[str, str]] = []
    the = SimpleNamespace(
        clock=clock,
        settings=SimpleNamespace(timeouts=SimpleNamespace(page=10.0)),
        refresher="refresher",
        sign_in=SimpleNamespace(provider=lambda tenant: f"provider of {tenant.key}"),
        references="references",
        capabilities=SimpleNamespace(note_missing=lambda key, endpoint: missing.append((key, endpoint))),
        breakers="breakers",
        answers=SimpleNamespace(of=lambda key: f"answers of {key}"),
        adapters={"riverside": "dialect"},
    )
    session = SimpleNamespace(record=None if is_by_itself else SimpleNamespace(epoch="e1"))
    monkeypatch.setattr(guard, "context", lambda: the)
    monkeypatch.setattr(guard, "session", lambda: session)
    monkeypatch.setattr(guard, "SessionBearer", lambda *parts: SimpleNamespace(parts=parts, prover="prover"))
    monkeypatch.setattr(guard, "is_background", lambda: is_by_itself)
    who = person(auth_time=clock.now) if is_by_itself else NURSE
    tenant = SimpleNamespace(key="riverside", base_url="https://api.test", idempotency=True, strong=None)
    with app.test_request_context():
        g.tenant = tenant
        g.started, g.request_id = 5.0, "r1"
        care = guard.care_of(who)
    assert (care.prover, care.bearer.parts) == (
        "prover",
        (session, "refresher", tenant, "provider of riverside", clock),
    )
    assert (care.base_url, care.correlation_id, care.deadline) == ("https://api.test", "r1", 15.0)
    epoch = "" if is_by_itself else "e1"
    assert care.partition == ("https://id.example", "riverside", who.sub, epoch)
    assert (care.by_patient, care.idempotency, care.suffices(Demand(60))) == (
        is_by_itself,
        True,
        is_by_itself,
    )
    assert (care.observer, care.adapter) == ("answers of riverside", "dialect")
    assert (care.on_read is guard.note_read) is not is_by_itself
    care.on_not_offered("endpoint")  # pyright: ignore[reportArgumentType]
    assert missing == [("riverside", "endpoint")]
