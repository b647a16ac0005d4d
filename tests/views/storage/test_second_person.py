"""Irreversible moves of embryos where the clinic asks for a second person: nothing is sent before both have sent it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from portal.careservice.ids import sample_id
from portal.config.modules import Module
from portal.config.tenants import Side
from portal.http import transport
from portal.http.transfer import TransportError
from portal.services.storage import EmbryoStorage
from portal.state.session_records import Person
from portal.store import StoreDown
from portal.views.storage import pending_moves, second_person
from tests.support.stack import CareService, PortalThread
from tests.support.two_people import second_person_asked, signed_by
from tests.support.visitor import Page, Visitor
from tests.views.storage.embryos import address, change, embryo, send, stored, to_discard
from tests.web.test_call_budget import calls

GO_3 = address("GO-3")
SECOND = address("GO-3", "second-person")
STRAW: dict[str, Any] = {"code": "GO-3", "record_number": "RF-09117"}
FORM = f"/storage/{embryo('GO-3')}/second-person"


@pytest.fixture(autouse=True)
def form(portal: PortalThread, service: CareService) -> Iterator[str]:
    """The clinic asks for two people, and a signed form allows either of them to discard GO-3; its id."""
    id_ = to_discard(service, "GO-3")
    signed_by(service.plan, id_)
    with second_person_asked(portal):
        yield id_
    change(
        service, "embryo_storage",
        "status = 'Stored', notes = NULL, disposition = 'ContinueStorage', hold_reason = NULL", embryo("GO-3"),
    )  # fmt: skip
    change(service, "consent_forms", "status = 'Revoked'", id_)
    with portal.app.test_request_context(base_url=portal.origin()):
        portal.app.preprocess_request()
        pending_moves.forget(embryo("GO-3"))


def begin(visitor: Visitor, **fields: str) -> Page:
    """Send the move as the first person."""
    asked = send(visitor.get(GO_3), GO_3, status="Discarded", **fields)
    return asked.form("/storage/").submit(**STRAW)


def is_unchanged(service: CareService) -> bool:
    return stored(service, "GO-3", "status") == "Stored"


@contextmanager
def before(monkeypatch: pytest.MonkeyPatch, name: str, act: Any) -> Generator[list[Any]]:
    """Let `act` happen just before the second person's request goes on to this step."""
    goes_on, happened = getattr(second_person, name), list[Any]()

    def step(*args: Any, **more: Any) -> Any:
        happened.append(act())
        return goes_on(*args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(second_person, name, step)
        yield happened


def test_a_move_is_made_when_a_second_person_has_sent_it_too(
    elif_: Visitor, victor: Visitor, portal: PortalThread, service: CareService
) -> None:
    asked = send(elif_.get(GO_3), GO_3, status="Discarded", notes="As decided", location_cane="7")
    assert "A second person signs in" in asked.words
    assert "This doesn’t replace witnessing" in asked.words
    with calls() as made:
        waits = asked.form("/storage/").submit(**STRAW)
    assert waits.heading == "A second person checks this too"
    assert "GO-3" not in waits.text and "RF-09117" not in waits.text
    assert is_unchanged(service)
    assert not [call for call in made if call.startswith("PUT")]

    listed = victor.get("/")
    assert "Embryos that wait for a second person" in listed.words
    assert "GO-3" not in listed.text
    assert "Elif" in elif_.get(GO_3).words
    page = listed.follow("Grace")
    for words in (
        "You are the second person",
        "Elif",
        "As decided",
        "Cane 7",
        "This doesn’t replace witnessing",
    ):
        assert words in page.words, words
    for hidden in ("GO-3", "RF-09117"):
        assert hidden not in page.text
    wrong = page.form(FORM).submit(status=422, code="GO-1", record_number="RF-09117")
    assert is_unchanged(service)
    done = wrong.form(FORM).submit(**STRAW)
    assert "Embryo GO-3 · RF-09117 · frozen on" in done.text and "is saved." in done.text
    assert stored(service, "GO-3", "status") == "Discarded"
    notes = stored(service, "GO-3", "notes")
    assert notes.startswith("As decided\n")
    assert "Elif" in notes and "Victor" in notes
    assert '"7"' in stored(service, "GO-3", "location")
    assert "Embryos that wait" not in victor.get("/").words


def test_names_that_the_record_does_not_keep_are_told(
    elif_: Visitor, victor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = second_person.update_embryo_storage

    def without_notes(*args: Any, embryo: EmbryoStorage, before: EmbryoStorage) -> EmbryoStorage | None:
        return update(*args, embryo=msgspec.structs.replace(embryo, notes=before.notes), before=before)

    monkeypatch.setattr(second_person, "update_embryo_storage", without_notes)
    begin(elif_)
    done = victor.get(SECOND).form(FORM).submit(**STRAW)
    assert "the clinic’s system changed or left out: Notes." in done.text


def test_the_audit_line_of_the_act_names_both(elif_: Visitor, victor: Visitor, portal: PortalThread) -> None:
    begin(elif_)
    begun = portal.audited()[-2:]
    victor.get(SECOND).form(FORM).submit(**STRAW)
    (first,) = [line for line in begun if line["audit"] == "embryo.begin"]
    act = [line for line in portal.audited() if line["audit"] == "embryo.update"][-1]
    assert act["outcome"] == "done"
    assert act["also"] == {"first-person": first["actor"]}
    assert act["actor"] != first["actor"]


def test_nobody_is_their_own_second_person(
    elif_: Visitor, victor: Visitor, portal: PortalThread, service: CareService
) -> None:
    begin(elif_)
    token = dict(victor.get(SECOND).form(FORM).fields())["step"]
    again = portal.sign_in("elif")
    assert again.get(SECOND).heading == "A second person checks this too"
    again.post(SECOND, {"step": token, **STRAW})
    assert again.get(SECOND).heading == "A second person checks this too"
    assert begin(again).heading == "A second person checks this too"
    assert is_unchanged(service)


def test_the_same_account_at_another_server_is_the_same_person() -> None:
    step = pending_moves.PendingMove(
        id="1", sub="elif", name="", at=0, embryo_id="", episode_id="", patient="", mark="", values={}
    )
    person = Person(
        sub="elif", issuer="https://another.example", name="", given_name="", side=Side.STAFF,
        roles=frozenset(), auth_time=0,
    )  # fmt: skip
    assert step.is_by(person)
    assert not step.is_by(msgspec.structs.replace(person, sub="victor"))


def test_what_the_second_person_sends_besides_changes_nothing(
    elif_: Visitor, victor: Visitor, service: CareService
) -> None:
    begin(elif_, notes="Hers")
    fields = dict(victor.get(SECOND).form(FORM).fields())
    victor.post(
        SECOND,
        {
            **fields, **STRAW, "status": "Reserved", "notes": "His", "location_tank": "His",
            "keep-status": "now", "opened": "{}",
        },
    )  # fmt: skip
    assert stored(service, "GO-3", "status") == "Discarded"
    assert "His" not in stored(service, "GO-3", "notes") + (stored(service, "GO-3", "location") or "")


def test_what_was_sent_anew_is_checked_anew(elif_: Visitor, victor: Visitor, service: CareService) -> None:
    begin(elif_, notes="First")
    old = victor.get(SECOND)
    begin(elif_, notes="Second")
    new = old.form(FORM).submit(**STRAW)
    assert is_unchanged(service)
    assert "Second" in new.words
    new.form(FORM).submit(**STRAW)
    assert stored(service, "GO-3", "notes").startswith("Second\n")


def test_a_first_step_holds_for_the_version_it_was_taken_over(
    elif_: Visitor, victor: Visitor, service: CareService
) -> None:
    begin(elif_)
    page = victor.get(SECOND)
    send(victor.get(GO_3), GO_3, location_cane="12")
    gone = page.form(FORM).submit(**STRAW)
    assert "Nothing waits for a second person" in gone.text
    assert is_unchanged(service)


@pytest.mark.parametrize("which", ["hold", "form", "wish"])
def test_what_forbids_the_move_meanwhile_stops_it(
    elif_: Visitor, victor: Visitor, service: CareService, form: str, which: str
) -> None:
    begin(elif_)
    page = victor.get(SECOND)
    match which:
        case "hold":
            change(service, "embryo_storage", "hold_reason = 'ConsentWithdrawn'", embryo("GO-3"))
        case "form":
            change(service, "consent_forms", "status = 'Revoked'", form)
        case _:
            change(service, "embryo_storage", "disposition = 'ContinueStorage'", embryo("GO-3"))
    with calls() as made:
        refused = page.form(FORM).submit(**STRAW)
    assert "This can’t be done now." in refused.text
    assert not [call for call in made if call.startswith("PUT")]
    assert is_unchanged(service)


def test_whoever_alone_signed_the_form_is_no_second_person(
    elif_: Visitor, victor: Visitor, service: CareService, form: str
) -> None:
    begin(elif_)
    signed_by(service.plan, form, sample_id("person", "victor"))
    page = victor.get(SECOND)
    assert "A second person’s signature is missing" in page.text
    assert is_unchanged(service)


def test_a_first_step_ends_by_itself(
    elif_: Visitor,
    victor: Visitor,
    portal: PortalThread,
    service: CareService,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert pending_moves._SECONDS == 15 * 60
    monkeypatch.setattr(pending_moves, "_SECONDS", 60)
    begin(elif_)
    page = victor.get(SECOND)
    portal.clock.advance(61)
    try:
        assert "Embryos that wait" not in victor.get("/").words
        assert "Nothing waits for a second person" in page.form(FORM).submit(**STRAW).text
        assert is_unchanged(service)
    finally:
        portal.clock.advance(-61)


@pytest.mark.parametrize("who", ["first", "second"])
def test_either_person_can_stop_it(
    elif_: Visitor, victor: Visitor, portal: PortalThread, service: CareService, who: str
) -> None:
    begin(elif_)
    page = victor.get(SECOND)
    stops = elif_ if who == "first" else victor
    stopped = stops.get(SECOND).form(f"{FORM}/stop").submit()
    assert "nothing was recorded" in stopped.text
    assert "Nothing waits for a second person" in page.form(FORM).submit(**STRAW).text
    assert is_unchanged(service)
    assert [line["audit"] for line in portal.audited() if line["audit"] == "embryo.stop"]


def test_a_move_that_is_stopped_while_the_second_person_sends_it_is_not_sent(
    elif_: Visitor, victor: Visitor, service: CareService, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(elif_)
    page, stop = victor.get(SECOND), elif_.get(SECOND).form(f"{FORM}/stop")
    with before(monkeypatch, "act_once", stop.submit) as (stopped), calls() as made:
        late = page.form(FORM).submit(**STRAW)
    assert "nothing was recorded" in stopped[0].text
    assert "Nothing waits for a second person" in late.text
    assert not [call for call in made if call.startswith("PUT")]
    assert is_unchanged(service)


def test_a_move_that_is_being_sent_cannot_be_stopped(
    elif_: Visitor, victor: Visitor, service: CareService, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(elif_)
    page, stop = victor.get(SECOND), elif_.get(SECOND).form(f"{FORM}/stop")
    with before(monkeypatch, "update_embryo_storage", stop.submit) as stopped:
        page.form(FORM).submit(**STRAW)
    assert "It is too late to stop this" in stopped[0].text
    assert stored(service, "GO-3", "status") == "Discarded"


def test_of_two_posts_one_is_sent_and_both_show_what_became_of_it(
    elif_: Visitor, victor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(elif_)
    page = victor.get(SECOND)
    with ThreadPoolExecutor() as pool:
        second = list[Any]()
        with (
            before(
                monkeypatch,
                "update_embryo_storage",
                lambda: second or second.append(pool.submit(page.form(FORM).submit, **STRAW)),
            ),
            calls() as made,
        ):
            first = page.form(FORM).submit(**STRAW)
            answers = [first, second[0].result()]
    assert len([call for call in made if call.startswith("PUT")]) == 1
    assert all("This status is final" in answer.words for answer in answers)
    replayed = page.form(FORM).submit(**STRAW)
    assert "Nothing waits for a second person" in replayed.text


def test_a_lost_answer_is_said_and_the_same_person_can_send_it_again(
    elif_: Visitor, victor: Visitor, service: CareService, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(elif_)
    page = victor.get(SECOND)
    sends = transport.send

    def lose(call: transport.Call, **more: Any) -> transport.Answer:
        if call.method == "PUT":
            raise TransportError("timed out", sent=True)
        return sends(call, **more)

    with monkeypatch.context() as patch:
        patch.setattr(transport, "send", lose)
        page.form(FORM).submit(status=503, **STRAW)
    assert is_unchanged(service)
    page.form(FORM).submit(**STRAW)
    assert stored(service, "GO-3", "status") == "Discarded"


def test_a_store_that_fails_after_the_act_does_not_hide_that_it_was_done(
    elif_: Visitor, victor: Visitor, service: CareService, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(elif_)
    page = victor.get(SECOND)

    def down(_id: str) -> None:
        raise StoreDown("made for a test")

    with monkeypatch.context() as patch:
        patch.setattr(second_person, "forget", down)
        assert "is saved" in page.form(FORM).submit(**STRAW).text
    assert "Nothing waits for a second person" in victor.get(SECOND).text


def test_both_need_a_recent_sign_in(
    elif_: Visitor, victor: Visitor, portal: PortalThread, service: CareService
) -> None:
    portal.age_sign_in(elif_)
    assert "/sign-in" in begin_asked(elif_).url
    portal.age_sign_in(elif_, -3600)
    begin(elif_)
    page = victor.get(SECOND)
    portal.age_sign_in(victor)
    asked = page.form(FORM).submit(status=None, **STRAW)
    assert asked.tree.select_one("input[name=password]")
    assert is_unchanged(service)
    back = victor.fill_sign_in(asked, "victor")
    back.form(FORM).submit(**STRAW)
    assert stored(service, "GO-3", "status") == "Discarded"


def test_while_the_second_person_signs_in_again_the_move_can_be_stopped(
    elif_: Visitor, victor: Visitor, portal: PortalThread
) -> None:
    begin(elif_)
    page = victor.get(SECOND)
    portal.age_sign_in(victor)
    asked = page.form(FORM).submit(status=None, **STRAW)
    portal.age_sign_in(victor, -3600)
    assert asked.tree.select_one("input[name=password]")
    assert "nothing was recorded" in elif_.get(SECOND).form(f"{FORM}/stop").submit().text


def begin_asked(visitor: Visitor) -> Page:
    asked = send(visitor.get(GO_3), GO_3, status="Discarded")
    return asked.form("/storage/").submit(status=None, **STRAW)


def test_the_second_person_signs_in_on_the_same_device(portal: PortalThread, service: CareService) -> None:
    shared = portal.sign_in("elif")
    waits = begin(shared)
    before_ = {one.name: one.value for one in shared.http.cookies}
    asked = waits.follow("Sign in here as the second person")
    assert asked.tree.select_one("input[name=password]")
    page = shared.fill_sign_in(asked, "victor")
    assert "You are the second person" in page.words
    with portal.app.test_request_context(base_url=portal.origin()):
        gone = portal.context.sessions.load(before_["__Host-sid"], "riverside", portal.origin()[7:])
    assert gone == (None, None)
    page.form(FORM).submit(**STRAW)
    assert stored(service, "GO-3", "status") == "Discarded"
    assert "Elif" in stored(service, "GO-3", "notes")


def test_a_move_of_the_same_embryo_leads_to_the_one_that_waits(
    elif_: Visitor, victor: Visitor, service: CareService
) -> None:
    begin(elif_, notes="Hers")
    led = send(victor.get(GO_3), GO_3, status="Discarded", notes="His")
    assert "Check that one." in led.text
    assert "Hers" in led.words
    assert is_unchanged(service)


def test_notes_leave_room_for_both_names(elif_: Visitor) -> None:
    page = send(elif_.get(GO_3), GO_3, expect=422, status="Discarded", notes="x" * 9_600)
    assert "the names of both people are added" in page.words
    assert "Choose this once more" not in page.words


def test_others_neither_see_nor_send_it(
    elif_: Visitor, nora: Visitor, victor: Visitor, portal: PortalThread
) -> None:
    begin(elif_)
    assert "Embryos that wait" not in nora.get("/").words
    nora.get(SECOND, status=403)
    for where in (SECOND, address("GO-3", "second-person/stop")):
        nora.post(where, STRAW, status=403)
    omar = portal.sign_in("omar")
    omar.get(SECOND, status=403)
    assert "You are the second person" in victor.get(SECOND).words


def test_a_clinic_does_not_know_what_waits_at_another(elif_: Visitor, portal: PortalThread) -> None:
    begin(elif_)
    names = set[str]()
    for clinic in ("riverside", "harbour"):
        with portal.app.test_request_context(base_url=portal.origin(clinic)):
            portal.app.preprocess_request()
            names.add(pending_moves._name(embryo("GO-3")))
    assert len(names) == 2


def test_without_the_setting_or_the_module_nothing_waits(
    elif_: Visitor, victor: Visitor, portal: PortalThread
) -> None:
    begin(elif_)
    tenants = portal.context.settings.tenants
    asks = tenants.by_key["riverside"]
    for changed, status in (
        (replace(asks, second_person_for_embryos=False), 200),
        (replace(asks, modules_off=frozenset({Module.STORAGE})), 404),
    ):
        tenants.by_host.update(dict.fromkeys(asks.hosts, changed))
        try:
            assert "Embryos that wait" not in victor.get("/").words
            assert "You are the second person" not in victor.get(SECOND, status=status).words
        finally:
            tenants.by_host.update(dict.fromkeys(asks.hosts, asks))


def test_no_field_leads_past_the_straw(elif_: Visitor, service: CareService) -> None:
    page = elif_.get(GO_3)
    for more in ({"keep-status": "now"}, {"keep-status": "now", **STRAW}, {"seen": "", "opened": ""}):
        send(page, GO_3, status="Discarded", expect=None, **more)
        assert is_unchanged(service), more
