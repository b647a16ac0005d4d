"""What functions do with an empty answer, and what they leave as it is; what each sends is in `tests/pages/facts/service_calls.txt`."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import msgspec
import pytest
from msgspec.structs import replace

from portal.services import (
    cases,
    directories,
    emr_endpoints,
    episodes,
    patients,
    physicians,
    prospects,
    protocols,
    relationships,
    storage,
)
from portal.services.cases import CareStatus, Case
from portal.services.changes import written
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.conversations import Conversation
from portal.services.decoding import decode
from portal.services.emr_endpoints import DELETE_EMR_ENDPOINT
from portal.services.notifications import Notification
from portal.services.patients import UPDATE_PATIENT, Patient
from portal.services.protocols import UPDATE_PROTOCOL, Medication, ProtocolDraft, ProtocolStatus
from portal.services.relationships import DELETE_RELATIONSHIP
from portal.services.storage import Disposition, EmbryoStatus, EmbryoStorage
from tests.services.calls import EMBRYO, SLOT, only_call

PROTOCOL = {"id": "p", "name": "Antagonist", "status": "Draft", "concurrencyStamp": "s1", "creatorId": "9"}

# protocols


@pytest.mark.parametrize("answer", [PROTOCOL, None])
def test_a_protocol_is_created_from_its_draft(care, answer):
    care.answers.append(answer)
    row = Medication(drug="Gonal-f", start_day=2, dose=225, unit="IU")
    draft = ProtocolDraft(name="Antagonist", status=ProtocolStatus.DRAFT, medications=(row,))
    made = protocols.create_protocol(care, draft, operation="op")
    assert (made and made.id) == (answer and "p")
    assert only_call(care).body["medications"][0]["startDay"] == 2
    assert "id" not in only_call(care).body


@pytest.mark.parametrize(
    "answers", [[{**PROTOCOL, "status": "Active"}], [None, {**PROTOCOL, "status": "Active"}]]
)
def test_updating_a_protocol_sends_its_stamp_and_returns_the_new_state(care, answers):
    care.answers.extend([PROTOCOL, *answers])
    read = protocols.get_protocol(care, "p")
    saved = protocols.update_protocol(care, "p", protocol=replace(read, status=ProtocolStatus.ACTIVE))
    assert saved.status is ProtocolStatus.ACTIVE
    sent = care.calls[1]
    assert (sent.endpoint, sent.ids) == (UPDATE_PROTOCOL, {"id": "p"})
    assert (sent.body["status"], sent.body["concurrencyStamp"]) == ("Active", "s1")
    assert not {"id", "creatorId", "creationTime"} & set(sent.body)


# patients, cases, relationships, storage


@pytest.mark.parametrize("answer", [{"id": "1", "email": "new@example.org"}, None])
def test_a_patients_record_is_sent_whole(care, answer):
    care.answers.append(answer)
    patient = Patient(id="1", first_name="Amelia", email="new@example.org", concurrency_stamp="s")
    saved = patients.update_patient(care, "1", patient=patient)
    assert (saved and saved.email) == (answer and "new@example.org")
    assert only_call(care).endpoint == UPDATE_PATIENT
    assert only_call(care).body["firstName"] == "Amelia"
    assert only_call(care).body["concurrencyStamp"] == "s"
    assert "id" not in only_call(care).body


def test_what_a_record_never_had_is_not_erased_by_a_change(care):
    """A member that this person doesn't get, or that the API has elsewhere, reads as empty: sent so, it would be erased."""
    care.answers.append(None)
    before = Patient(id="1", first_name="Amelia", preferred_name="Amy", email="a@example.org")
    after = msgspec.structs.replace(before, preferred_name=None, language="es")
    patients.update_patient(care, "1", patient=after, before=before)
    body = only_call(care).body
    assert body == {
        "firstName": "Amelia",
        "preferredName": None,
        "email": "a@example.org",
        "language": "es",
        "isActive": True,
    }


def test_what_an_address_never_had_is_not_erased_and_what_it_has_empty_is_sent(care):
    address = {"line1": "Park Row 1", "line2": {"flat": 2}, "city": "", "postalCode": None, "country": "GB"}
    answer = {"id": "1", "firstName": "A", "address": address, "emergencyContact": {"name": None}}
    before = decode(msgspec.json.encode(answer), Patient)
    care.answers.append(None)
    after = msgspec.structs.replace(before, preferred_name="Amy")
    patients.update_patient(care, "1", patient=after, before=before)
    sent = only_call(care).body
    assert sent["address"] == {"line1": "Park Row 1", "city": "", "country": "GB"}
    assert "emergencyContact" not in sent


@pytest.mark.parametrize(
    ("wish", "sent"), [(Disposition.UNDECIDED, {}), (Disposition.DISCARD, {"disposition": "Discard"})]
)
def test_a_wish_that_an_embryo_may_never_have_had_is_not_taken_back_by_a_change(care, wish, sent):
    care.answers.append(None)
    before = EmbryoStorage(
        id="1", embryo_code="A", status=EmbryoStatus.STORED, disposition=wish, notes="cold"
    )
    storage.update_embryo_storage(care, "1", embryo=replace(before, notes=None), before=before)
    assert only_call(care).body == {"status": "Stored", "notes": None, **sent}


@pytest.mark.parametrize("answer", [{"id": "1", "status": 3}, None])
def test_a_case_is_updated(care, answer):
    care.answers.append(answer)
    saved = cases.update_case(
        care,
        "1",
        case=Case(id="1", title="IVF", status=CareStatus.ON_HOLD, physician_id="v", concurrency_stamp="s"),
    )
    assert (saved and saved.status) == (answer and CareStatus.ON_HOLD)
    assert only_call(care).body == {
        "title": "IVF",
        "status": "OnHold",
        "physicianId": "v",
        "coordinatorId": None,
        "diagnosis": None,
        "notes": None,
        "closedReason": None,
        "concurrencyStamp": "s",
    }


@pytest.mark.parametrize(
    ("delete", "endpoint"),
    [
        (relationships.delete_relationship, DELETE_RELATIONSHIP),
        (emr_endpoints.delete_emr_endpoint, DELETE_EMR_ENDPOINT),
    ],
)
@pytest.mark.parametrize("answer", [None, {"id": "1"}, True])
def test_a_delete_succeeds_whatever_the_body(care, delete, endpoint, answer):
    care.answers.append(answer)
    assert delete(care, "1") is None
    assert (only_call(care).endpoint, only_call(care).ids) == (endpoint, {"id": "1"})


# episodes, physicians, directories


def test_an_episode_is_read_with_all_its_parts(care):
    care.answers.append(
        {
            "id": "e",
            "status": "active",
            "stage": 2,
            "patient": {"id": 1},
            "case": None,
            "embryos": [EMBRYO],
            "monitoring": [{"date": "2026-11-27", "follicles": {"left": [12, "13.5"], "right": None}}],
            "documents": {"directories": None, "files": [{"id": "f", "size": "2048"}]},
        }
    )
    episode = episodes.get_episode(care, "e")
    assert only_call(care).ids == {"episodeId": "e"}
    assert episode.monitoring[0].date == date(2026, 11, 27)
    assert episode.monitoring[0].sizes == (13.5, 12.0)
    assert episode.documents.files[0].size == 2048
    assert episode.protocol is episode.case is None


def test_episode_ids_are_distinct_and_in_order():
    forms = [
        ConsentForm(id=str(n), title="", status=ConsentStatus.SIGNED, episode_id=e)
        for n, e in enumerate(["b", None, "a"])
    ]
    threads = [
        Conversation(id="1", episode_id="c"),
        Conversation(id="2", episode_id="a"),
        Conversation(id="3"),
    ]
    notices = [
        Notification(id="1", entity_type="episode", entity_id="d"),
        Notification(id="2", entity_type="Conversation", entity_id="x"),
        Notification(id="3", entity_type="Episode"),
    ]
    assert episodes.episode_ids(forms, threads, notices, claimed=["z", "b"]) == ("z", "b", "a", "c", "d")
    assert episodes.episode_ids() == ()


def test_physicians_are_read_for_a_period(care):
    care.answers.append(
        [
            {
                "id": "v",
                "name": "Dr Victor",
                "workingHours": [{"dayOfWeek": 1, "start": "09:00", "end": "17:00"}],
            }
        ]
    )
    start = datetime(2026, 11, 23, 1, tzinfo=timezone(timedelta(hours=1)))
    reference = physicians.list_physicians(care, start=start, end=SLOT, location_id="l")
    assert reference.value.items[0].working_hours[0].weekday == 0
    assert reference.as_of is None
    assert only_call(care).query["From"] == "2026-11-23T00:00:00Z"
    assert only_call(care).query["To"] == "2026-11-27T09:30:00Z"
    assert only_call(care).query["LocationId"] == "l"


@pytest.mark.parametrize("answer", [{"id": "d", "name": "Scans", "parentId": None}, None])
def test_a_directory_moves_to_the_root(care, answer):
    care.answers.append(answer)
    moved = directories.move_directory(care, "d", new_parent_id=None, stamp="s")
    assert (moved and moved.name) == (answer and "Scans")
    assert only_call(care).body == {"id": "d", "newParentId": None, "concurrencyStamp": "s"}


@pytest.mark.parametrize("answer", [{"bookingId": 7, "start": "2026-11-27T09:30:00"}, None])
def test_a_window_is_booked(care, answer):
    care.answers.append(answer)
    booking = prospects.book_window(
        care,
        "1",
        physician_id="v",
        start=SLOT.astimezone(timezone(timedelta(hours=2))).astimezone(UTC),
        end=SLOT + timedelta(minutes=30),
        time_zone="Europe/London",
        appointment_type="FirstVisit",
        operation="op",
    )
    assert (booking and (booking.booking_id, booking.start)) == (answer and ("7", SLOT))
    assert only_call(care).body == {
        "physicianId": "v",
        "locationId": None,
        "start": "2026-11-27T09:30:00Z",
        "end": "2026-11-27T10:00:00Z",
        "timeZone": "Europe/London",
        "appointmentType": "FirstVisit",
    }


def test_a_confirmation_that_is_known_to_be_missing_is_sent_and_an_unknown_one_is_not() -> None:
    patient = Patient(id="p-1", email_verified=False, phone_number_verified=None)
    sent = written(UPDATE_PATIENT, patient)
    assert isinstance(sent, dict)
    assert sent["emailVerified"] is False and "phoneNumberVerified" not in sent
