"""Each function calls its endpoint with what the API expects, and handles an empty answer."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from msgspec.structs import replace

from portal.services import (
    cases,
    conversations,
    directories,
    emr_endpoints,
    endpoints,
    episodes,
    files,
    notifications,
    patients,
    physicians,
    prospects,
    protocols,
    relationships,
    storage,
)
from portal.services.decoding import Page
from portal.services.endpoints import Content
from portal.services.errors import BadResponse, NotFound
from portal.services.paging import CAP, page_query, read_every_page, requested_page
from portal.services.records.cases import CareStatus
from portal.services.records.consents import ConsentForm, ConsentStatus
from portal.services.records.conversations import Conversation
from portal.services.records.notifications import Notification, NotificationSettings
from portal.services.records.patients import Patient
from portal.services.records.protocols import Medication, ProtocolDraft, ProtocolStatus
from portal.services.records.storage import Disposition, EmbryoStatus, StorageLocation

PROTOCOL = {"id": "p", "name": "Antagonist", "status": "Draft", "concurrencyStamp": "s1", "creatorId": "9"}
SLOT = datetime(2026, 11, 27, 9, 30, tzinfo=UTC)


def only(care):
    (call,) = care.calls
    return call


# protocols


def test_protocols_are_listed_and_read(care):
    care.answers.extend([{"totalCount": 1, "items": [PROTOCOL]}, PROTOCOL])
    assert protocols.list_protocols(care, text="anta", sorting="name").items[0].name == "Antagonist"
    assert protocols.get_protocol(care, "p").id == "p"
    assert [c.endpoint for c in care.calls] == [endpoints.LIST_PROTOCOLS, endpoints.READ_PROTOCOL]
    assert care.calls[0].query["Filter"] == "anta"


@pytest.mark.parametrize("answer", [PROTOCOL, None])
def test_a_protocol_is_created_from_its_draft(care, answer):
    care.answers.append(answer)
    row = Medication(drug="Gonal-f", start_day=2, dose=225, unit="IU")
    draft = ProtocolDraft(name="Antagonist", status=ProtocolStatus.DRAFT, medications=(row,))
    made = protocols.create_protocol(care, draft, operation="op")
    assert (made and made.id) == (answer and "p")
    assert only(care).body["medications"][0]["startDay"] == 2
    assert "id" not in only(care).body


@pytest.mark.parametrize(
    "answers", [[{**PROTOCOL, "status": "Active"}], [None, {**PROTOCOL, "status": "Active"}]]
)
def test_an_update_of_a_protocol_sends_the_stamp_and_ends_with_the_new_state(care, answers):
    care.answers.extend([PROTOCOL, *answers])
    read = protocols.get_protocol(care, "p")
    saved = protocols.update_protocol(care, "p", protocol=replace(read, status=ProtocolStatus.ACTIVE))
    assert saved.status is ProtocolStatus.ACTIVE
    sent = care.calls[1]
    assert (sent.endpoint, sent.ids) == (endpoints.UPDATE_PROTOCOL, {"id": "p"})
    assert (sent.body["status"], sent.body["concurrencyStamp"]) == ("Active", "s1")
    assert not {"id", "creatorId", "creationTime"} & set(sent.body)


# patients, cases, relationships, storage


@pytest.mark.parametrize("answer", [{"id": "1", "email": "new@example.org"}, None])
def test_a_patients_record_goes_back_whole(care, answer):
    care.answers.append(answer)
    patient = Patient(id="1", first_name="Amelia", email="new@example.org", concurrency_stamp="s")
    saved = patients.update_patient(care, "1", patient=patient)
    assert (saved and saved.email) == (answer and "new@example.org")
    assert only(care).endpoint == endpoints.UPDATE_PATIENT
    assert only(care).body["firstName"] == "Amelia"
    assert only(care).body["concurrencyStamp"] == "s"
    assert "id" not in only(care).body


@pytest.mark.parametrize("answer", [{"id": "1", "status": 3}, None])
def test_a_case_is_updated(care, answer):
    care.answers.append(answer)
    saved = cases.update_case(care, "1", title="IVF", status=CareStatus.ON_HOLD, physician_id="v", stamp="s")
    assert (saved and saved.status) == (answer and CareStatus.ON_HOLD)
    assert only(care).body == {
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
        (relationships.delete_relationship, endpoints.DELETE_RELATIONSHIP),
        (emr_endpoints.delete_emr_endpoint, endpoints.DELETE_EMR_ENDPOINT),
    ],
)
@pytest.mark.parametrize("answer", [None, {"id": "1"}, True])
def test_a_delete_succeeds_whatever_the_body(care, delete, endpoint, answer):
    care.answers.append(answer)
    assert delete(care, "1") is None
    assert (only(care).endpoint, only(care).ids) == (endpoint, {"id": "1"})


EMBRYO = {"id": "1", "embryoCode": "E1", "status": "Reserved"}


def test_staff_update_an_embryo_with_its_place(care):
    care.answers.append(EMBRYO)
    saved = storage.update_embryo_storage(
        care,
        "1",
        status=EmbryoStatus.RESERVED,
        location=StorageLocation(facility="Riverside", tank="T2", canister="3", cane="B", position="1"),
        storage_expires_at=SLOT,
        disposition=Disposition.CONTINUE_STORAGE,
        notes=None,
        stamp="s",
    )
    assert saved.status is EmbryoStatus.RESERVED
    assert only(care).body == {
        "status": "Reserved",
        "location": {"facility": "Riverside", "tank": "T2", "canister": "3", "cane": "B", "position": "1"},
        "storageExpiresAt": "2026-11-27T09:30:00Z",
        "disposition": "ContinueStorage",
        "notes": None,
        "concurrencyStamp": "s",
    }


def test_patients_send_their_decision_alone(care):
    care.answers.append(None)
    assert storage.choose_disposition(care, "1", disposition=Disposition.DONATE_RESEARCH, stamp="s") is None
    assert only(care).body == {"disposition": "DonateResearch", "concurrencyStamp": "s"}


# episodes, physicians, directories


def test_an_episode_is_read_with_all_that_is_in_it(care):
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
    assert only(care).ids == {"episodeId": "e"}
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


def test_physicians_are_reference_data_for_a_span_of_time(care):
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
    assert only(care).query["From"] == "2026-11-23T00:00:00Z"
    assert only(care).query["To"] == "2026-11-27T09:30:00Z"
    assert only(care).query["LocationId"] == "l"


@pytest.mark.parametrize("answer", [{"id": "d", "name": "Scans", "parentId": None}, None])
def test_a_directory_moves_to_the_root(care, answer):
    care.answers.append(answer)
    moved = directories.move_directory(care, "d", new_parent_id=None, stamp="s")
    assert (moved and moved.name) == (answer and "Scans")
    assert only(care).body == {"id": "d", "newParentId": None, "concurrencyStamp": "s"}


# files


def content(media_type: str, *chunks: bytes, status: int = 200) -> Content:
    headers = {"ETag": '"1"', "Content-Length": "9", "Accept-Ranges": "bytes"}
    return Content(status, media_type, "scan.pdf", 9, headers, iter(chunks))


def test_a_file_is_passed_through_with_the_browsers_conditions(care):
    care.answers.append(content("application/pdf", b"%PDF", b"-1.7"))
    file = files.open_file(care, "f", range_header="bytes=0-9", if_none_match='"1"')
    assert b"".join(file.chunks) == b"%PDF-1.7"
    assert only(care).query == {"id": "f"}
    assert only(care).body == {"Range": "bytes=0-9", "If-None-Match": '"1"'}


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_base64_in_a_json_string_is_decoded(care, size):
    data = bytes(range(256)) * 9
    wrapped = json.dumps(base64.b64encode(data).decode()).replace("+", "\\u002B").encode()
    care.answers.append(
        content("application/json", *(wrapped[n : n + size] for n in range(0, len(wrapped), size)))
    )
    file = files.open_file(care, "f")
    assert b"".join(file.chunks) == data
    assert (file.media_type, file.size, file.name) == ("application/octet-stream", len(data), "scan.pdf")
    assert file.headers == {"ETag": '"1"'}


def test_a_json_file_stays_a_json_file(care):
    care.answers.append(content("application/json", b'{"a"', b":1}"))
    file = files.open_file(care, "f")
    assert b"".join(file.chunks) == b'{"a":1}'
    assert file.media_type == "application/json"


@pytest.mark.parametrize("wrapped", [b'"not base64!"', b'"YWJj', b'"\xff"'])
def test_a_json_string_that_holds_no_file_is_a_bad_response(care, wrapped):
    care.answers.append(content("application/json", wrapped))
    with pytest.raises(BadResponse):
        files.open_file(care, "f")


def test_a_wrapped_file_beyond_the_cap_is_a_bad_response(care, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_WRAPPED", 10)
    care.answers.append(content("application/json", b'"YWJj', b"YWJjYWJj", b'"'))
    with pytest.raises(BadResponse):
        files.open_file(care, "f")


def test_an_unread_json_file_is_closed(care):
    closed = []

    def chunks() -> Iterator[bytes]:
        try:
            yield b"["
            yield b"]"
        finally:
            closed.append(True)

    care.answers.append(Content(200, "application/json", None, None, {}, chunks()))
    reading = files.open_file(care, "f").chunks
    assert next(reading) == b"["
    reading.close()
    assert closed


# conversations


def test_conversations_are_listed(care):
    care.answers.append({"items": [{"id": 1, "messages": None}]})
    assert conversations.list_conversations(care, text="scan", include_archived=True).items[0].id == "1"
    assert only(care).query["IncludeArchived"] is True
    assert only(care).endpoint == endpoints.LIST_CONVERSATIONS


def test_one_conversation_is_found_by_going_through_the_list(care):
    pages = [[{"id": f"{n}-{m}"} for m in range(200)] for n in range(3)]
    care.answers.extend({"totalCount": 600, "items": page} for page in pages)
    assert conversations.get_conversation(care, "1-7").id == "1-7"
    assert [c.query["SkipCount"] for c in care.calls] == [0, 200]
    assert all(c.query["IncludeArchived"] for c in care.calls)


@pytest.mark.parametrize(
    "answer", [{"totalCount": 1, "items": [{"id": "1"}]}, [], {"totalCount": 5, "items": []}]
)
def test_a_conversation_that_is_not_in_the_list_is_not_found(care, answer):
    care.answers.append(answer)
    with pytest.raises(NotFound):
        conversations.get_conversation(care, "2")


def test_looking_for_a_conversation_ends(care):
    care.answers.extend({"totalCount": 10**9, "items": [{"id": "x"}] * 200} for _ in range(5))
    with pytest.raises(NotFound):
        conversations.get_conversation(care, "2")


@pytest.mark.parametrize(
    ("act", "endpoint"),
    [
        (conversations.archive_message, endpoints.ARCHIVE_MESSAGE),
        (conversations.restore_message, endpoints.RESTORE_MESSAGE),
    ],
)
@pytest.mark.parametrize("answer", [{"id": "m"}, None])
def test_a_message_is_archived_and_restored(care, act, endpoint, answer):
    care.answers.append(answer)
    message = act(care, "m")
    assert (message and message.id) == (answer and "m")
    assert (only(care).endpoint, only(care).ids) == (endpoint, {"messageId": "m"})


@pytest.mark.parametrize(("answer", "count"), [({"archivedCount": 2}, 2), ({}, None), (None, None)])
def test_conversations_are_archived(care, answer, count):
    care.answers.append(answer)
    assert conversations.archive_conversations(care, ["1", "2"]) == count
    assert only(care).body == {"conversationIds": ["1", "2"]}


# notifications


def test_notifications_are_listed_with_their_unread_count(care):
    care.answers.append({"totalCount": 1, "items": [{"id": 1, "severity": "urgent"}], "unreadCount": 3})
    page = notifications.list_notifications(care, is_read=False, type="Consent")
    assert page.unread == 3
    assert (only(care).query["IsRead"], only(care).query["Type"]) == (False, "Consent")


@pytest.mark.parametrize(
    ("answer", "unread"), [({"updatedCount": 2, "unreadCount": 1}, 1), ({}, None), (None, None)]
)
def test_notifications_are_set_read(care, answer, unread):
    care.answers.extend([answer, answer])
    assert notifications.set_read(care, ["1", "2"]).unread_count == unread
    assert notifications.set_all_read(care, is_read=False).unread_count == unread
    assert [c.body for c in care.calls] == [
        {"ids": ["1", "2"], "isRead": True},
        {"all": True, "isRead": False},
    ]


def test_the_notifications_that_announce_a_conversation_are_found():
    def notice(name, entity_id="c", entity_type="Conversation", is_read=False):
        return Notification(id=name, entity_type=entity_type, entity_id=entity_id, is_read=is_read)

    notices = [
        notice("1"),
        notice("2", is_read=True),
        notice("3", "d"),
        notice("4", entity_type="Episode"),
        notice("5"),
    ]
    assert notifications.ids_announcing(notices, "c") == ("1", "5")


SETTINGS = {
    "items": [{"type": "Consent", "email": True, "inApp": True, "locked": True}],
    "concurrencyStamp": "s",
}


@pytest.mark.parametrize("answers", [[SETTINGS], [None, SETTINGS]])
def test_settings_are_read_and_updated(care, answers):
    care.answers.extend([SETTINGS, *answers])
    settings = notifications.get_settings(care)
    assert settings.items[0].in_app
    saved = notifications.update_settings(care, replace(settings, language="es"))
    assert isinstance(saved, NotificationSettings)
    assert care.calls[1].body["language"] == "es"
    assert care.calls[1].body["items"][0]["inApp"] is True
    assert care.calls[1].body["concurrencyStamp"] == "s"


# prospects


@pytest.mark.parametrize("choices", [{"email": "2"}, None])
def test_two_prospects_are_merged(care, choices):
    care.answers.append({"id": "1", "firstName": "Mia", "lastName": "Lund"})
    merged = prospects.merge_prospects(care, "1", merge_id="2", field_choices=choices, operation="op")
    assert merged.full_name == "Mia Lund"
    assert only(care).ids == {"id": "1", "mergeId": "2"}
    assert only(care).body == ({"fieldChoices": choices} if choices else {})
    assert only(care).operation == "op"


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
    assert only(care).body == {
        "physicianId": "v",
        "locationId": None,
        "start": "2026-11-27T09:30:00Z",
        "end": "2026-11-27T10:00:00Z",
        "timeZone": "Europe/London",
        "appointmentType": "FirstVisit",
    }


# paging


def page(count, total=None) -> Page[int]:
    return Page(items=tuple(range(count)), total_count=total)


@pytest.mark.parametrize(
    ("given", "skip", "total", "here"),
    [
        (page(10, 35), 10, 35, 10),
        (page(10), 10, 21, 10),
        (page(4), 10, 14, 4),
        (page(0), 10, 10, 0),
        (page(35), 10, 35, 10),
        (page(35), 30, 35, 5),
    ],
    ids=["counted", "uncounted", "uncounted last", "beyond", "unpaged", "unpaged last"],
)
def test_a_page_has_the_requested_size_however_the_api_pages(given, skip, total, here):
    fit = requested_page(given, skip, 10)
    assert (fit.total, len(fit.items)) == (total, here)


def test_an_unpaged_list_is_cut_where_it_was_asked_for():
    assert requested_page(page(35), 30, 10).items == (30, 31, 32, 33, 34)


def test_a_walk_through_a_list_without_an_end_stops():
    assert len(read_every_page(lambda skip, limit: page(limit, 10**9))) == CAP


def test_a_walk_stops_at_an_empty_page():
    assert read_every_page(lambda skip, limit: page(0, 5)) == ()


def test_unset_parameters_stay_none():
    assert page_query(0, 10, Filter=None) == {"SkipCount": 0, "MaxResultCount": 10, "Filter": None}
