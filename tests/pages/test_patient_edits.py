"""A patient's record and case, changed by several people: what is sent of them, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from portal.services.api import AnyEndpoint
from portal.services.cases import CareStatus, Case
from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.conversations import LIST_CONVERSATIONS, Channel
from portal.services.episodes import READ_EPISODE, CareTeamMember, Episode
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.patients import UPDATE_PATIENT, EmergencyContact, Patient
from portal.services.physicians import LIST_PHYSICIANS, Physician
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn

GRACE = Patient(
    id="p-1",
    user_id="amelia",
    first_name="Grace",
    last_name="Okafor",
    mrn="RF-1",
    date_of_birth=date(1990, 5, 2),
    email="old@mail.example",
    email_verified=False,
    phone_number_verified=False,
    language="en",
    concurrency_stamp="s1",
)
EDIT, SAVE = "/patients/p-1/edit?episode=1", "/patients/p-1/edit"


@pytest.fixture
def holds(fake_api: FakeApi) -> Callable[..., Patient]:
    """Make the clinic's record of the patient this one."""
    fake_api.gives(
        LIST_CONSENTS,
        [ConsentForm(id="c", title="T", status=ConsentStatus.PENDING, patient_id="p-1", episode_id="1")],
    )
    fake_api.gives(LIST_CONVERSATIONS, [])
    fake_api.gives(LIST_NOTIFICATIONS, [])

    def hold(**members: object) -> Patient:
        patient = replace(GRACE, **members)
        fake_api.gives(READ_EPISODE, Episode(id="1", status=CareStatus.ACTIVE, patient=patient))
        return patient

    return hold


def test_an_address_that_came_while_another_was_confirmed_is_not_confirmed_with_it(
    visitor: SignIn, fake_api: FakeApi, holds: Callable[..., Patient]
) -> None:
    holds()
    form = visitor("nora", "nurse").get(EDIT).form(SAVE)
    holds(email="new@mail.example", concurrency_stamp="s2")
    page = form.submit(email_verified="yes", status=409).form(SAVE).submit(status=422)
    assert [str(link["href"]) for link in page.select(".error-summary a")] == ["#email_verified"]
    assert dict(page.form(SAVE).fields())["email_verified"] == "no"
    assert fake_api.sent(UPDATE_PATIENT) == []
    page.form(SAVE).submit(email_verified="yes")
    sent = fake_api.sent(UPDATE_PATIENT)[0].body
    assert (sent["email"], sent["emailVerified"]) == ("new@mail.example", True)


def test_staff_who_change_a_confirmed_address_are_told_that_the_new_one_is_not(
    visitor: SignIn, fake_api: FakeApi, holds: Callable[..., Patient]
) -> None:
    patient = holds(email_verified=True)
    form = visitor("nora", "nurse").get(EDIT).form(SAVE)
    fake_api.gives(UPDATE_PATIENT, replace(patient, email="new@mail.example", email_verified=False))
    page = form.submit(email="new@mail.example")
    assert [toast.words for toast in page.select(".toast[data-tone=attention]")] == [
        "What was changed isn’t confirmed any more. Check it with the patient, then confirm it."
    ]
    fake_api.gives(UPDATE_PATIENT, replace(patient, preferred_name="Gracie", email_verified=False))
    assert not form.submit(preferred_name="Gracie", email_verified="no").select(".toast[data-tone=attention]")


def test_what_the_record_holds_against_the_rules_keeps_nobody_from_changing_something_else(
    visitor: SignIn, fake_api: FakeApi, holds: Callable[..., Patient]
) -> None:
    contact = EmergencyContact(name="", phone_number="07700 900123")
    holds(mrn="", email="nowhere", preferred_channel=Channel.SMS, emergency_contact=contact)
    form = visitor("nora", "nurse").get(EDIT).form(SAVE)
    for typed, at in (({"email": "elsewhere"}, "#email"), ({"first_name": ""}, "#first_name")):
        refused = form.submit(**typed, status=422)
        assert [str(link["href"]) for link in refused.select(".error-summary a")] == [at]
    halves = form.submit(
        preferred_channel="Phone", emergency_contact_phone_number="020 7946 0958", status=422
    )
    assert [str(link["href"]) for link in halves.select(".error-summary a")] == [
        *("#phone_number", "#emergency_contact_name")
    ]
    form.submit(preferred_name="Gracie")
    (sent,) = fake_api.sent(UPDATE_PATIENT)
    assert (sent.body["preferredName"], sent.body["email"]) == ("Gracie", "nowhere")


def test_an_account_that_somebody_else_linked_meanwhile_is_told_and_stays(
    visitor: SignIn, fake_api: FakeApi, holds: Callable[..., Patient]
) -> None:
    holds(user_id=None)
    form = visitor("ada", "admin").get(EDIT).form(SAVE)
    holds(user_id="theirs", concurrency_stamp="s2")
    both = form.submit(user_id="mine", status=409)
    assert [part.words for part in both.select("#keep-user_id .as-written")] == ["empty", "mine", "theirs"]
    refused = both.form(SAVE).submit(**{"keep-user_id": "mine"}, status=422)
    assert "This record belongs to an account already; that is set once." in refused.words
    refused.form(SAVE).submit(preferred_name="Gracie")
    assert [call.body["userId"] for call in fake_api.sent(UPDATE_PATIENT)] == ["theirs"]


def test_an_address_that_is_confirmed_by_linking_its_account_is_no_change_to_be_checked(
    visitor: SignIn, fake_api: FakeApi, holds: Callable[..., Patient]
) -> None:
    holds(user_id=None)
    form = visitor("ada", "admin").get(EDIT).form(SAVE)
    fake_api.computes(UPDATE_PATIENT, lambda _query: to_builtins(holds(user_id="grace", email_verified=True)))
    (toast,) = form.submit(user_id="grace").select(".toast")
    assert "The patient’s record is saved." in toast.words


def test_a_patients_new_address_is_not_sent_as_confirmed(
    visitor: SignIn, fake_api: FakeApi, holds: Callable[..., Patient]
) -> None:
    holds(email_verified=True, phone_number="+442079460120", phone_number_verified=True)
    visitor("amelia").get("/me").form("/me").submit(email="new@mail.example")
    sent = fake_api.sent(UPDATE_PATIENT)[0].body
    assert (sent["email"], sent["emailVerified"], sent["phoneNumberVerified"]) == (
        "new@mail.example",
        False,
        True,
    )


@pytest.mark.parametrize(
    ("row", "status", "told"),
    [
        (READ_EPISODE, 503, "The clinic’s system can’t take this right now. Nothing was changed."),
        (READ_EPISODE, 429, "The clinic’s system can’t take this right now. Nothing was changed."),
        (UPDATE_PATIENT, 429, "The clinic’s system can’t take this right now. Nothing was changed."),
    ],
)
def test_what_was_typed_waits_while_the_clinics_system_fails(
    visitor: SignIn,
    fake_api: FakeApi,
    holds: Callable[..., Patient],
    row: AnyEndpoint,
    status: int,
    told: str,
) -> None:
    holds()
    nora = visitor("nora", "nurse")
    form = nora.get(EDIT).form(SAVE)
    fake_api.refuses(row, status)
    failed = form.submit(phone_number="020 7946 0999", status=503)
    assert told in failed.words and "What you typed is kept" in failed.words
    fake_api.forget()
    holds()
    again = nora.get(EDIT)
    assert dict(again.form(SAVE).fields())["phone_number"] == "020 7946 0999"
    assert "Nothing has been sent yet." in again.words


def test_what_may_have_been_saved_is_not_given_back_as_not_sent(
    visitor: SignIn, fake_api: FakeApi, holds: Callable[..., Patient]
) -> None:
    holds()
    nora = visitor("nora", "nurse")
    form = nora.get(EDIT).form(SAVE)
    fake_api.refuses(UPDATE_PATIENT, 500)
    assert "What you typed is kept" not in form.submit(phone_number="020 7946 0999", status=503).words
    assert "Nothing has been sent yet." not in nora.get(EDIT).words


def test_what_was_typed_stays_where_the_clinics_system_refuses_every_stamp(
    visitor: SignIn, fake_api: FakeApi, holds: Callable[..., Patient]
) -> None:
    holds()
    fake_api.refuses(UPDATE_PATIENT, 409)
    form = visitor("ada", "admin").get(EDIT).form(SAVE)
    page = form.submit(preferred_name="Gracie", status=409)
    assert "What you entered is still here" in page.words
    assert page.select("#preferred_name")[0]["value"] == "Gracie"


def test_a_case_names_whom_it_has_and_offers_those_who_are_active(visitor: SignIn, fake_api: FakeApi) -> None:
    case = Case(id="k-1", status=CareStatus.ACTIVE, physician_id="left", coordinator_id="colin")
    colin = CareTeamMember(physician_id="colin", name="Colin", role="Coordinator")
    episode = Episode(id="1", status=CareStatus.ACTIVE, patient=GRACE, case=case, care_team=(colin,))
    fake_api.gives(READ_EPISODE, episode)
    clinics = [
        Physician(id=id_, name=f"Dr {id_.title()}", is_active=id_ == "victor")
        for id_ in ("left", "gone", "victor")
    ]
    fake_api.gives(LIST_PHYSICIANS, clinics)
    page = visitor("nora", "nurse").get("/cases/k-1/edit?episode=1")
    for field, names in (("physician_id", ["Dr Left", "Dr Victor"]), ("coordinator_id", ["Nobody", "Colin"])):
        assert [one.text_content() for one in page.select(f"select[name={field}] option")] == names
    fake_api.refuses(LIST_PHYSICIANS, 501)
    page = visitor("nora", "nurse").get("/cases/k-1/edit?episode=1")
    assert "This clinic has no calendar here that lists its physicians." in page.words
