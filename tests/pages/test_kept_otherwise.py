"""A clinic's system that keeps only part of what it is sent, or refuses it with a successful status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from portal.services.consents import CREATE_CONSENT, READ_CONSENT
from portal.services.consents.forms import ConsentKind, Signer, SignerRole, SigningOrder
from portal.services.emr_endpoints import DELETE_EMR_ENDPOINT
from portal.services.episodes import READ_EPISODE
from portal.services.notifications import (
    READ_NOTIFICATION_SETTINGS,
    UPDATE_NOTIFICATION_SETTINGS,
    NotificationSettings,
    QuietHours,
)
from portal.services.physicians import LIST_PHYSICIANS, Physician
from portal.services.protocols import CREATE_PROTOCOL, READ_PROTOCOL, UPDATE_PROTOCOL, Medication
from tests.pages.test_patient_banner import EPISODE, FORM, PLAN
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import SignIn
from tests.views.protocols.plans import press, row

DAILY = Medication(
    id="m", drug="Estradiol", drug_class="Estrogen", dose=2, unit="mg", route="Oral", start_day=1
)
EVERY_2_DAYS = replace(DAILY, every_days=2)
BEFORE = replace(PLAN, medications=(DAILY,))
TYPED = replace(PLAN, description="New", medications=(EVERY_2_DAYS,))
ONLY_SOME = "It is saved, but the clinic’s system changed or left out: {}. Please check it."


@pytest.mark.parametrize(
    ("answered", "kept", "said"),
    [
        (replace(TYPED, medications=(DAILY,)), None, ONLY_SOME.format("Medication: Estradiol")),
        (replace(TYPED, medications=()), TYPED, "The protocol is saved."),
        (TYPED, TYPED, "The protocol is saved."),
    ],
)
def test_what_is_saved_is_compared_with_what_was_typed(
    visitor: SignIn, fake_api: FakeApi, answered: Any, kept: Any, said: str
) -> None:
    def now(_query: object) -> object:
        is_written = any(call.row is UPDATE_PROTOCOL for call in fake_api.calls)
        return msgspec.to_builtins((kept or answered) if is_written else BEFORE)

    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.computes(READ_PROTOCOL, now)
    fake_api.gives(UPDATE_PROTOCOL, answered)
    page = visitor("victor", "physician").get("/protocols/f-1/edit")
    review = press(page, "review", description="New", **row(0, every_days="2"))
    (toast,) = review.form("/protocols/f-1/save").submit().select(".toast p")
    assert toast.words == said


@pytest.mark.parametrize("event", ["protocol.status", "protocol.update"])
def test_an_act_over_an_earlier_version_is_noted_as_a_conflict(
    visitor: SignIn, fake_api: FakeApi, in_process: InProcess, event: str
) -> None:
    is_edit = event == "protocol.update"
    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.gives(READ_PROTOCOL, BEFORE)
    page = visitor("victor", "physician").get("/protocols/f-1/edit" if is_edit else "/protocols/f-1")
    fake_api.gives(READ_PROTOCOL, replace(BEFORE, description="Theirs", concurrency_stamp="another"))
    in_process.audited()
    if is_edit:
        press(page, "review", status=None, description="Mine")
    else:
        page.form("/protocols/f-1/status").submit(status=None)
    assert (event, "conflict") in [(line["audit"], line["outcome"]) for line in in_process.audited()]
    assert not fake_api.sent(UPDATE_PROTOCOL)


def test_what_is_created_is_compared_with_what_was_typed(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.gives(CREATE_PROTOCOL, replace(BEFORE, id="f-2", name="New"))
    fake_api.gives(READ_PROTOCOL, replace(BEFORE, id="f-2", name="New"))
    page = press(visitor("victor", "physician").get("/protocols/new?episode=e-1"), "add-medication")
    typed = {"drug": "Estradiol", "drug_class": "Estrogen", "dose": "2", "unit": "mg", "route": "Oral"}
    page = press(
        page, "review", name="New", type=str(PLAN.type), **row(0, **typed, start_day="1", time="08:00, 20:00")
    )
    made = page.form("/protocols/new/create").submit()
    (toast,) = made.select(".toast p")
    assert toast.words == ONLY_SOME.format("Status; Medication: Estradiol")


SENT = "The form was sent to its signers."


def told_of_a_sent_form(
    visitor: SignIn,
    fake_api: FakeApi,
    start: str,
    keep: Callable[[dict[str, Any]], dict[str, Any]],
    **typed: str,
) -> str:
    """What is said once a form is sent that begins at `/consents/new` so, and of what was sent this is kept."""

    def kept(_query: object) -> object:
        (sent,) = (call.body for call in fake_api.calls if call.row is CREATE_CONSENT)
        return {"id": "c-2", "status": "Pending", **keep(sent)}

    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.computes(CREATE_CONSENT, kept)
    page = visitor("nora", "nurse").get(f"/consents/new?{start}")
    preview = page.form("/consents/new/fill").submit(**typed)
    fake_api.computes(READ_CONSENT, kept)
    (toast,) = preview.form("/consents/new").submit().select(".toast p")
    return toast.words


@pytest.mark.parametrize(
    ("left_out", "said"),
    [
        ({}, SENT),
        ({"episodeId": None, "requiredSigners": []}, ONLY_SOME.format("Treatment; Signers")),
        ({"body": None, "version": "0"}, ONLY_SOME.format("Version; Text")),
        ({"partnerId": None, "language": None}, SENT),
        ({"partnerId": "p-9", "language": "es"}, ONLY_SOME.format("Partner; Language of the text")),
        ({"caseId": "k-9", "language": "EN-gb"}, ONLY_SOME.format("Case")),
    ],
)
def test_a_form_that_is_sent_is_compared_with_what_was_filled_in(
    visitor: SignIn, fake_api: FakeApi, left_out: dict[str, object], said: str
) -> None:
    typed = {"version": "7", "signer-2": "nora"}
    start = "template=treatment&episode=e-1"
    told = told_of_a_sent_form(visitor, fake_api, start, lambda sent: sent | left_out, **typed)
    assert told == said


def test_whatever_is_lost_of_a_form_that_is_sent_is_told(visitor: SignIn, fake_api: FakeApi) -> None:
    def keep(sent: dict[str, Any]) -> dict[str, Any]:
        signers = [{**signer, "personId": "somebody"} for signer in sent["requiredSigners"]]
        body = [{**clause, "text": "As told"} for clause in sent["body"]]
        return {"title": "Decision", "requiredSigners": signers, "body": body}

    typed = {"embryo": "s-1", "disposition": "Discard", "procedure_date": "2100-01-01", "signer-2": "nora"}
    told = told_of_a_sent_form(visitor, fake_api, "template=disposition&episode=e-1", keep, **typed)
    lost = "Title; Kind; Version; Treatment; Embryos; Disposition; Procedure; Signers; Text; Statements"
    assert told == ONLY_SOME.format(f"{lost}; Can be signed until")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (lambda order: order * 10, SENT),
        (lambda order: 9 - order, ONLY_SOME.format("Signing order")),
        (lambda _order: 0, ONLY_SOME.format("Signing order")),
    ],
    ids=["numbered otherwise", "the other way round", "all at once"],
)
def test_who_signs_before_whom_is_compared(
    visitor: SignIn, fake_api: FakeApi, place: Callable[[int], int], said: str
) -> None:
    def keep(sent: dict[str, Any]) -> dict[str, Any]:
        signers = [{**signer, "order": place(signer["order"])} for signer in sent["requiredSigners"]]
        return sent | {"requiredSigners": signers}

    start = "template=genetic-testing&episode=e-1"
    assert told_of_a_sent_form(visitor, fake_api, start, keep, **{"signer-2": "nora"}) == said


def test_that_a_copy_replaces_nothing_after_all_is_told(visitor: SignIn, fake_api: FakeApi) -> None:
    own = Signer(role=SignerRole.PATIENT, person_id="p-1", name="Amelia Hart", order=1)
    old = replace(
        FORM,
        version="1",
        kind=ConsentKind.GENETIC_TESTING,
        signing_order=SigningOrder.SEQUENTIAL,
        required_signers=(own,),
    )
    fake_api.gives(READ_CONSENT, old)
    lost = {"supersedesId": None, "signingOrder": "Any"}
    told = told_of_a_sent_form(visitor, fake_api, "copy=c-1", lambda sent: sent | lost, replaces="c-1")
    assert told == ONLY_SOME.format("Earlier version; Signing order")


@pytest.mark.parametrize(
    ("answer", "heading", "said"),
    [
        ({"error": {"code": "ClientelePortal:SyncRunning"}}, "Remove", "It is exchanging data right now."),
        ({"error": {"code": None, "message": "Not now"}}, "Remove", "Nothing was removed"),
        ({"error": "sync running"}, "Remove", "It was not removed"),
        ({"error": True, "message": "Not now"}, "Remove", "Nothing was removed"),
        (
            {"error": {"code": "0", "message": "Sync is running"}},
            "Remove",
            "We couldn’t confirm that it was removed",
        ),
        ({"errors": ["Sync is running"]}, "Remove", "We couldn’t confirm that it was removed"),
        ({"error": {"code": "", "message": "Success"}}, "The connection is removed", ""),
        ({"error": {"code": "0", "message": "Success"}}, "The connection is removed", ""),
        ({"error": "none"}, "The connection is removed", ""),
        ({"error": None}, "The connection is removed", ""),
        ({"error": {}}, "The connection is removed", ""),
        ({"name": "error", "note": {"error": {"code": "x"}}}, "The connection is removed", ""),
    ],
)
def test_an_error_with_a_successful_status_is_no_success(
    visitor: SignIn, fake_api: FakeApi, answer: Any, heading: str, said: str
) -> None:
    fake_api.gives(DELETE_EMR_ENDPOINT, answer)
    form = visitor("ada", "admin").get("/emr-endpoints/m-1/remove").form("/emr-endpoints/m-1/remove")
    page = form.submit(typed="m-1", status=None)
    assert page.heading.startswith(heading)
    assert said in page.words


def test_hours_that_come_back_with_seconds_are_as_they_were_typed(visitor: SignIn, fake_api: FakeApi) -> None:
    before = NotificationSettings(
        quiet_hours=QuietHours(start="22:00:00", end="06:30:00", time_zone="Europe/London"),
        language="es-MX",
        concurrency_stamp="1",
    )
    after = replace(before, quiet_hours=replace(before.quiet_hours, start="21:15:00"))
    fake_api.gives(READ_NOTIFICATION_SETTINGS, before)
    fake_api.gives(UPDATE_NOTIFICATION_SETTINGS, after)
    form = visitor("amelia").get("/notifications/settings").form("/notifications/settings")
    fake_api.gives(READ_NOTIFICATION_SETTINGS, before)
    (toast,) = form.submit(start="21:15").select(".toast")
    assert "changed or left out" not in toast.words
    sent = fake_api.sent(UPDATE_NOTIFICATION_SETTINGS)[0].body
    assert (sent["quietHours"]["start"], sent["language"]) == ("21:15", "es-MX")


def test_hours_that_the_form_would_refuse_keep_nobody_from_changing_something_else(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    hours = QuietHours(start="22:00", end="22:00", time_zone="Quayside time")
    held = NotificationSettings(quiet_hours=hours, language="en", concurrency_stamp="1")
    fake_api.gives(READ_NOTIFICATION_SETTINGS, held)
    fake_api.gives(UPDATE_NOTIFICATION_SETTINGS, replace(held, language="es"))
    form = visitor("amelia").get("/notifications/settings").form("/notifications/settings")
    assert form.submit(start="21:15", status=422).select('.error-summary a[href="#time_zone"]')
    form.submit(language="es")
    (sent,) = fake_api.sent(UPDATE_NOTIFICATION_SETTINGS)
    assert sent.body["quietHours"] == {"start": "22:00", "end": "22:00", "timeZone": "Quayside time"}


def test_a_location_that_only_some_name_is_offered_once(visitor: SignIn, fake_api: FakeApi) -> None:
    places = ((1, None), (1, "Quayside"), (2, "Annexe"), (1, "Quayside "))
    people = [
        Physician(id=str(number), name="Dr Ng", location_id=f"l-{place}", location_name=name)
        for number, (place, name) in enumerate(places)
    ]
    fake_api.gives(LIST_PHYSICIANS, people)
    offered = visitor("nora", "nurse").get("/care-team").select("#location option")
    assert [one.words for one in offered[1:]] == ["Annexe", "Quayside"]
