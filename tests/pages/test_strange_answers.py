"""Pages before an API that answers strangely: they say what it said, or that they don't know."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask import g

from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentForm
from portal.services.conversations import ARCHIVE_CONVERSATIONS, ARCHIVE_MESSAGE, LIST_CONVERSATIONS
from portal.services.episodes import READ_EPISODE, Episode
from portal.services.notifications import LIST_NOTIFICATIONS, UPDATE_NOTIFICATION_SETTINGS
from portal.services.pgt_results import READ_PGT_RESULT, PgtResult
from portal.services.physicians import LIST_PHYSICIANS
from portal.services.prospects import BOOK_WINDOW, Booking
from portal.services.protocols import LIST_PROTOCOLS
from portal.services.relationships import DELETE_RELATIONSHIP
from portal.views.booking import receipt_of
from portal.views.booking.visit import Visit
from tests.support.clock import Clock
from tests.support.fake_api import FakeApi, sample
from tests.support.in_process import InProcess
from tests.support.visitor import Page, SignIn, Visitor

URGENT = {"severity": "Urgent", "text": "Stop aspirin now", "creationTime": None}
SOME_DETAILS = "Some details can’t be shown."


@pytest.fixture(autouse=True)
def _unknown(in_process: InProcess) -> None:
    """The portal knows nothing yet of this API."""
    in_process.forget()


@pytest.fixture
def before(tmp_path: Path, fake_api: FakeApi) -> Callable[[str], SignIn]:
    """Sign in before an API with a dialect: `before('bom = true')("grace")`."""

    def portal(toml: str) -> SignIn:
        return InProcess(tmp_path, Clock(time.time), dialect=toml).visitor

    return portal


def episode(**members: Any) -> dict[str, Any]:
    """A treatment of Grace under way, as JSON; members in the API's spelling."""
    plain: dict[str, Any] = msgspec.to_builtins(sample(Episode, id="e-1", status="Active", outcome=None))
    plain["patient"] |= {"id": "p-1", "userId": "grace"}
    return plain | members


def gives(fake_api: FakeApi, treatment: dict[str, Any]) -> None:
    """Let this be the person's treatment, which a conversation names."""
    fake_api.gives(READ_EPISODE, treatment)
    fake_api.gives(LIST_CONSENTS, [])
    fake_api.gives(LIST_CONVERSATIONS, [{"id": "t-1", "episodeId": "e-1", "subject": "x"}])


@pytest.mark.parametrize("until", ["1970-01-01T00:00:00Z", "0001-01-01T00:00:00", "9999-12-31T23:59:59Z", 0])
@pytest.mark.parametrize("path", ["/", "/episodes/e-1"])
def test_a_warning_whose_end_is_no_date_is_shown(
    visitor: SignIn, fake_api: FakeApi, path: str, until: object
) -> None:
    gives(fake_api, episode(alerts=[{**URGENT, "until": until}]))
    assert "Stop aspirin now" in visitor("grace").get(path).words


def test_a_warning_until_a_day_holds_through_that_day(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("28 22:00")
    gives(fake_api, episode(alerts=[{**URGENT, "until": "2026-11-28"}]))
    assert "Stop aspirin now" in visitor("grace").get("/").words


@pytest.mark.parametrize(
    ("toml", "until"),
    [
        ('[times]\ninstants = "epoch_ms"', 0),
        ('[times]\ninstants = "epoch_ms"\nnone = [0]', 0),
        ('[times]\nnone = ["01.01.0001"]\ninstants = "dd.MM.yyyy HH:mm"', "01.01.0001 00:00"),
        ('[times]\nnone = ["never"]', "NEVER "),
    ],
)
def test_so_it_is_in_a_dialect(
    before: Callable[[str], SignIn], fake_api: FakeApi, toml: str, until: object
) -> None:
    plain = {
        "id": "e-1",
        "status": "Active",
        "patient": {"id": "grace"},
        "alerts": [{**URGENT, "until": until}],
    }
    gives(fake_api, plain)
    page = before(toml)("grace").get("/episodes/e-1")
    assert "Stop aspirin now" in page.words
    assert SOME_DETAILS not in page.words


def test_a_date_that_cannot_be_one_is_not_given_in_its_place(visitor: SignIn, fake_api: FakeApi) -> None:
    embryo = {
        "id": "s-1",
        "embryoCode": "GO-1",
        "status": "Stored",
        "storageExpiresAt": "0001-01-01T00:00:00",
    }
    gives(fake_api, episode(embryos=[embryo]))
    page = visitor("grace").get("/storage")
    assert "Not given by the clinic’s system" in page.words
    assert "1970" not in page.words and SOME_DETAILS not in page.words


def test_an_embryo_of_unknown_state_is_not_told_as_stored_nor_to_be_paid_for(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    stored, other = (
        {"id": f"s-{n}", "embryoCode": f"GO-{n}", "status": status, "storageExpiresAt": f"203{n}-03-03"}
        for n, status in ((1, "Stored"), (0, "Perished"))
    )
    gives(fake_api, episode(embryos=[stored, other]))
    grace = visitor("grace")
    page = grace.get("/storage")
    sections = {part.select("h2")[0].words: part.words for part in page.select("#results > section")}
    assert "GO-0" in sections["State not known"] and "Perished" in sections["State not known"]
    assert "at least 1 embryo in storage. Next date: 3 March 2031" in page.words
    assert "3 March 2030" not in page.words
    for place, is_stored in (("s-1", True), ("s-0", False)):
        words = grace.get(f"/storage/{place}?episode=e-1").words
        assert ("Pay for storage" in words) is is_stored
        assert ("How long it is stored" in words) is is_stored
        assert ("doesn’t know the state of this embryo" in words) is not is_stored


@pytest.mark.parametrize(
    ("members", "is_shown"),
    [
        ({"number": {"no": 7}}, "Stop aspirin now"),
        ({"appointments": [{"id": "a-1", "start": "soon"}]}, "Stop aspirin now"),
        ({"alerts": [URGENT, "Call us"]}, "Stop aspirin now"),
        ({"protocol": {"id": "r", "name": "P", "status": "Active", "startDate": "soon"}}, "Stop aspirin now"),
    ],
)
def test_one_unreadable_value_costs_that_value(
    visitor: SignIn, fake_api: FakeApi, members: dict[str, Any], is_shown: str
) -> None:
    gives(fake_api, episode(alerts=[URGENT]) | members)
    page = visitor("grace").get("/episodes/e-1")
    assert is_shown in page.words
    assert SOME_DETAILS in page.words


def test_lost_warnings_are_not_none(visitor: SignIn, fake_api: FakeApi) -> None:
    gives(fake_api, episode(alerts=["Stop aspirin now"]))
    assert "hasn’t told the portal whether there are warnings" in visitor("grace").get("/episodes/e-1").words


def test_a_plan_with_a_row_that_cannot_be_read_is_not_shown_without_it(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    rows = [
        {"drug": "Gonal-f", "startDay": 1, "endDay": 9},
        {"drug": "Cetrotide", "startDay": 5, "endDay": "?"},
    ]
    plan = {"id": "r-1", "name": "Plan", "status": "Active", "startDate": "2026-11-20", "medications": rows}
    gives(fake_api, episode(protocol=plan))
    page = visitor("grace").get("/episodes/e-1/medication")
    assert "hasn’t given the portal this part" in page.words
    assert "Gonal-f" not in page.words


REFUSED: dict[str, Any] = {"ok": False, "state": "KO", "code": "BK-17"}
SUCCESSES = {
    "by itself": "",
    "named": '[errors]\nsuccess = "ok"\ncode = "code"\n',
    "by value": '[errors]\nsuccess = { path = "state", value = ["OK", "DONE"] }\ncode = "code"\n',
}
success = pytest.mark.parametrize("toml", SUCCESSES.values(), ids=SUCCESSES)
Before = Callable[[str], SignIn]


@success
@pytest.mark.parametrize("answer", [REFUSED, {**REFUSED, "code": None}])
def test_a_refusal_sent_as_success_removes_nobody(
    before: Before, fake_api: FakeApi, toml: str, answer: dict[str, Any]
) -> None:
    fake_api.beside = {"ok": True, "state": "OK"}
    fake_api.gives(DELETE_RELATIONSHIP, answer)
    page = remove_mats(before(toml)("grace"), fake_api)
    assert "Mats Keller was removed" not in page.words
    assert page.status in (403, 503)


def remove_mats(grace: Visitor, fake_api: FakeApi) -> Page:
    mats = {"id": "l-1", "patientId": "p-1", "relatedName": "Mats Keller", "isPortalShared": True}
    gives(fake_api, episode(relationships=[mats]))
    return grace.get("/relationships/l-1/remove").form("/relationships").submit(status=None)


def test_an_empty_answer_without_effect_removes_nobody(visitor: SignIn, fake_api: FakeApi) -> None:
    assert "still shows this person" in remove_mats(visitor("grace"), fake_api).words


def test_an_entry_that_cannot_be_found_and_still_stands_there_was_not_removed(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    """The address of the act may be another."""
    fake_api.refuses(DELETE_RELATIONSHIP, 404)
    grace = visitor("grace")
    words = remove_mats(grace, fake_api).words
    assert "removed already" not in words and "still shows this person" in words


@pytest.mark.parametrize(("busy", "is_told"), [({}, False), ({"busy": []}, True)])
def test_hours_are_called_free_only_where_what_is_taken_is_told(
    visitor: SignIn, fake_api: FakeApi, busy: dict[str, Any], is_told: bool
) -> None:
    hours = [{"dayOfWeek": number, "start": "00:00", "end": "23:59"} for number in range(7)]
    record = {"id": "v-1", "name": "Dr Vega", "isActive": True, "workingHours": hours, **busy}
    fake_api.gives(LIST_PHYSICIANS, {"items": [record], "totalCount": 1})
    nora = visitor("nora", "nurse")
    page = nora.get("/care-team")
    assert ("Next free" in page.words) is is_told
    later = next(link for link in page.select("a[href*='week=']") if "Later" in link.text_content())
    assert "Next free" not in nora.get(str(later["href"])).words, "which week's first is meant?"


@pytest.mark.parametrize(("typed", "is_found"), [("nunez", True), ("JOSÉ vega", False), ("jose núñ", True)])
def test_a_physician_is_found_without_accents(
    visitor: SignIn, fake_api: FakeApi, typed: str, is_found: bool
) -> None:
    fake_api.gives(LIST_PHYSICIANS, [{"id": "v-1", "name": "Dr José Núñez", "isActive": True}])
    assert ("Núñez" in visitor("nora", "nurse").get(f"/care-team?q={typed}").words) is is_found


@pytest.mark.parametrize("path", ["/conversations", "/notifications", "/consents", "/care-team"])
def test_a_list_that_is_not_found_was_not_removed(visitor: SignIn, fake_api: FakeApi, path: str) -> None:
    """Only of a record can the API say that it isn't there."""
    gives(fake_api, episode())
    for row in (LIST_CONSENTS, LIST_CONVERSATIONS, LIST_NOTIFICATIONS, LIST_PHYSICIANS):
        fake_api.refuses(row, 404)
    assert "removed" not in (words := visitor("grace").get(path, status=None).words), words
    fake_api.refuses(READ_CONSENT, 404)
    assert "may have been removed" in visitor("grace").get("/consents/c-1", status=404).words
    assert "removed" not in visitor("grace").get("/no-such-page", status=404).words


def test_a_refusals_code_is_told_in_words(before: Before, fake_api: FakeApi) -> None:
    fake_api.beside = {"ok": True}
    fake_api.gives(DELETE_RELATIONSHIP, REFUSED)
    toml = SUCCESSES["named"] + '[errors.codes]\nBK-17 = "FormRevoked"\n'
    assert "This consent has been withdrawn." in remove_mats(before(toml)("grace"), fake_api).words


@success
def test_a_refusal_sent_as_success_archives_nothing(before: Before, fake_api: FakeApi, toml: str) -> None:
    fake_api.beside = {"ok": True, "state": "OK"}
    fake_api.gives(ARCHIVE_CONVERSATIONS, REFUSED)
    assert "Conversation archived" not in archive(before(toml)("grace"), fake_api).words


@pytest.mark.parametrize("answer", [b"", {}, {"archivedCount": 0}])
def test_an_answer_that_says_nothing_archives_nothing(
    visitor: SignIn, fake_api: FakeApi, answer: object
) -> None:
    fake_api.gives(ARCHIVE_CONVERSATIONS, answer)
    assert "Conversation archived" not in archive(visitor("grace"), fake_api).words


@pytest.mark.parametrize("is_archived", [False, True])
def test_a_message_is_archived_by_an_empty_answer_only_if_its_conversation_says_so(
    visitor: SignIn, fake_api: FakeApi, is_archived: bool
) -> None:
    def now(_query: object) -> object:
        is_sent = any(call.row is ARCHIVE_MESSAGE for call in fake_api.calls)
        message = {"id": "m-1", "side": "Outbound", "body": "Hello", "isArchived": is_sent and is_archived}
        return {"items": [{"id": "t-1", "messages": [message]}], "totalCount": 1}

    gives(fake_api, episode())
    fake_api.computes(LIST_CONVERSATIONS, now)
    fake_api.gives(ARCHIVE_MESSAGE, b"")
    page = visitor("grace").get("/conversations/t-1").form("/conversations/t-1/messages/").submit(status=None)
    assert ("Message archived." in page.text) is is_archived


def archive(grace: Visitor, fake_api: FakeApi) -> Page:
    gives(fake_api, episode())
    return grace.get("/conversations/t-1/archive").form("/conversations/t-1/archive").submit(status=None)


@pytest.mark.parametrize(
    ("toml", "said"),
    [("", {"ok": False}), (SUCCESSES["named"], {"ok": False, "code": "GEN-503"}), (SUCCESSES["named"], {})],
    ids=["says no", "says no by the dialect's word", "doesn't say"],
)
@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/consents", "Nothing to sign right now"),
        ("/conversations", "There are no messages"),
        ("/notifications", "There are no notifications"),
    ],
)
def test_a_failure_sent_as_an_empty_list_is_no_empty_list(
    before: Before, fake_api: FakeApi, toml: str, said: dict[str, object], path: str, words: str
) -> None:
    nothing: dict[str, object] = {"totalCount": 0, "items": [], **said}
    for row in (LIST_CONSENTS, LIST_CONVERSATIONS, LIST_NOTIFICATIONS):
        fake_api.gives(row, nothing)
    assert words not in before(toml)("grace").get(path, status=None).words


@success
def test_a_refused_booking_is_not_booked(before: Before, fake_api: FakeApi, toml: str) -> None:
    fake_api.beside = {"ok": True, "state": "OK"}
    fake_api.gives(BOOK_WINDOW, REFUSED)
    assert "is booked" not in book(before(toml)("nora", "coordinator"), fake_api).words


@pytest.mark.parametrize("answer", [b"", {}, {"status": "Booked"}])
def test_a_booking_that_nothing_shows_is_not_booked(
    visitor: SignIn, fake_api: FakeApi, answer: object
) -> None:
    fake_api.gives(BOOK_WINDOW, answer)
    assert "is booked" not in book(visitor("nora", "coordinator"), fake_api).words


def test_a_physician_whom_the_calendar_does_not_list_any_more_does_not_show_a_booking(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    hours = [{"dayOfWeek": day, "start": "09:00", "end": "17:00"} for day in range(7)]
    both = [
        {"id": id_, "name": id_, "workingHours": hours, "busy": [], "timeZone": "Europe/London"}
        for id_ in ("d-1", "d-2")
    ]
    fake_api.computes(LIST_PHYSICIANS, lambda _query: both[1:] if fake_api.sent(BOOK_WINDOW) else both)
    nora = visitor("nora", "coordinator")
    page = nora.get("/prospects/q-1/book?physician=d-1")
    window = str(page.select("[name=window]")[-1]["value"])
    fake_api.gives(BOOK_WINDOW, b"")
    after = page.form("/prospects/q-1/book").submit(status=None, window=window)
    assert fake_api.sent(BOOK_WINDOW)
    assert "is booked" not in after.words


def test_a_booking_is_told_as_the_clinics_system_made_it(visitor: SignIn, fake_api: FakeApi) -> None:
    """It may be at another time than was asked for, and wait for the clinic's word."""
    booking = {"bookingId": "b-1", "start": "2030-12-24T18:00:00Z", "status": "Tentative"}
    fake_api.gives(BOOK_WINDOW, booking)
    nora = visitor("nora", "coordinator")
    receipt = book(nora, fake_api)
    assert receipt.heading == "The visit isn’t confirmed yet"
    assert "24 Dec 2030, 10:00–10:30" in receipt.words
    assert {"Anna", "Quayside"} <= {*receipt.select("main dl")[0].words.split()}, "as was asked for"
    assert "isn’t confirmed yet. We have noted Tuesday, 24 December 2030" in receipt.words
    (calendar,) = receipt.select("a[href*='appointment.ics']")
    assert "STATUS:TENTATIVE" in nora.get(str(calendar["href"])).text


@pytest.mark.parametrize(
    ("status", "heading"),
    [
        ("Booked", "The visit is booked"),
        ("Unconfirmed", "The visit isn’t confirmed yet"),
        ("AwaitingConfirmation", "The visit isn’t confirmed yet"),
        ("Cancelled", "Book a visit"),
    ],
)
def test_a_status_that_says_nothing_of_a_booking_is_not_told_as_one(
    visitor: SignIn, fake_api: FakeApi, status: str, heading: str
) -> None:
    fake_api.gives(BOOK_WINDOW, {"bookingId": "b-1", "status": status})
    assert book(visitor("nora", "coordinator"), fake_api).heading == heading


def test_a_booking_with_another_physician_names_not_the_one_asked_for(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    fake_api.gives(BOOK_WINDOW, {"bookingId": "b-1", "status": "Booked", "physicianId": "another"})
    receipt = book(visitor("nora", "coordinator"), fake_api)
    assert receipt.heading == "The visit is booked"
    assert not {"Anna", "Quayside"} & {*receipt.select("main dl")[0].words.split()}
    assert "): Riverside. If" in receipt.select(".as-written")[0].words


@pytest.mark.parametrize(
    ("status", "title"), [("Tentative", "Your visit isn’t confirmed yet"), ("", "Your visit is booked")]
)
def test_an_enquirer_reads_whether_the_clinic_still_has_to_confirm(
    in_process: InProcess, status: str, title: str
) -> None:
    begins = datetime(2030, 12, 24, 10, tzinfo=UTC)
    asked = Visit(window="w", start=begins, end=begins, with_whom="Anna", where="", what="FirstConsultation")
    with in_process.app.test_request_context():
        g.language = "en"
        receipt = receipt_of("signed", asked.booked_as(Booking(booking_id="b-1", status=status)))
    assert receipt.title == title


def book(nora: Visitor, fake_api: FakeApi) -> Page:
    hours = [{"dayOfWeek": day, "start": "09:00", "end": "17:00"} for day in range(7)]
    anna = {"id": "d-1", "name": "Anna", "workingHours": hours, "busy": [], "timeZone": "Europe/London"}
    anna["locationName"] = "Quayside"
    fake_api.gives(LIST_PHYSICIANS, [anna])
    page = nora.get("/prospects/q-1/book")
    window = page.select("[name=window]")[-1]["value"]
    booked = page.form("/prospects/q-1/book").submit(status=None, window=str(window))
    assert fake_api.sent(BOOK_WINDOW), booked.words
    return booked


def brief(number: int, **members: Any) -> dict[str, Any]:
    """A form as lists have it: without signers."""
    return {"id": f"c-{number}", "title": f"Form {number}", "status": "Pending", **members}


def test_a_list_of_briefs_never_says_that_nothing_waits(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.gives(LIST_CONSENTS, [brief(1), brief(2)])
    fake_api.gives(READ_CONSENT, sample(ConsentForm, id="c-1", status="Pending"))
    grace = visitor("grace")
    for _look in range(2):  # also after a form came with its signers
        for path in ("/consents", "/"):
            words = grace.get(path).words
            assert "Nothing to sign right now" not in words and "No form waits" not in words, path
        assert "hasn’t given the portal this part" in grace.get("/consents").words
        grace.get("/consents/c-1")


@pytest.mark.parametrize("dialect", ["", "[lists]\nlargest_page = 5\n", '[lists]\npaging = "page"\n'])
def test_a_patient_sees_all_forms_in_whatever_pages_they_come(
    before: Before, fake_api: FakeApi, dialect: str
) -> None:
    signer = {"role": "Patient", "personId": "grace", "name": "Grace"}
    forms = [brief(n, requiredSigners=[signer]) for n in range(13)]

    def page(query: Mapping[str, str]) -> object:
        asked = int(query["MaxResultCount"])
        size, skip = min(asked, 5), int(query["SkipCount"])
        begins = (skip - 1) * size if "page" in dialect.replace("largest_page", "") else skip
        return {"totalCount": 13, "items": forms[begins : begins + size]}

    fake_api.computes(LIST_CONSENTS, page)
    words = before(dialect)("grace").get("/consents").words
    assert [n for n in range(13) if f"Form {n} " not in f"{words} "] == []


def test_no_treatment_found_is_no_word_about_embryos(visitor: SignIn, fake_api: FakeApi) -> None:
    for row in (LIST_CONSENTS, LIST_CONVERSATIONS, LIST_NOTIFICATIONS):
        fake_api.gives(row, [])
    words = visitor("grace").get("/storage").words
    assert "You have no embryo" not in words
    assert "please ask there" in words


@pytest.mark.parametrize("status", ["Signed", "PartiallySigned", "Pending"])
def test_a_form_that_is_signed_and_withdrawn_is_withdrawn(
    visitor: SignIn, fake_api: FakeApi, status: str
) -> None:
    form = msgspec.to_builtins(sample(ConsentForm, id="c-1"))
    fake_api.gives(READ_CONSENT, form | {"status": status, "revokedAt": "2026-11-20T10:00:00Z"})
    page = visitor("grace").get("/consents/c-1")
    assert "Withdrawn" in page.words
    assert SOME_DETAILS in page.words


@pytest.mark.parametrize("is_late", [False, True])
def test_a_form_with_signatures_is_told_by_them_where_its_status_lags(
    visitor: SignIn, fake_api: FakeApi, is_late: bool
) -> None:
    people = [
        {"role": role, "personId": id_, "name": id_.title()}
        for role, id_ in (("Patient", "grace"), ("Clinician", "victor"))
    ]
    ends = (datetime.now(UTC) + timedelta(days=-1 if is_late else 1)).isoformat()
    whole = brief(1, requiredSigners=people, signatures=people, status="Pending", expiresAt=ends)
    partly = brief(2, requiredSigners=people, signatures=people[:1], status="Pending")
    fake_api.gives(LIST_CONSENTS, [whole, partly])
    for form in (whole, partly):
        fake_api.gives(READ_CONSENT, {**form, "body": (), "statements": ()}, id_=form["id"])
    grace = visitor("grace")
    page = grace.get("/consents")
    assert page.select("#others")[0].words.startswith("Waiting for others")
    all_signed = "Everyone has signed. The clinic’s system doesn’t have it in force yet."
    for words in (page.words, visitor("nora", "nurse").get("/consents?list=all").words):
        assert "Partly signed" in words and "Unsigned" not in words.partition("2 forms")[2]
    assert all_signed in page.words
    for who in (grace, visitor("nora", "nurse")):
        words = who.get(f"/consents/{whole['id']}").words
        assert all_signed in words and "Expired" not in words and "too late" not in words
        assert "Can be signed until" not in words and "Signed by everyone" in words


def test_a_plan_whose_rows_never_end_says_so(visitor: SignIn, fake_api: FakeApi) -> None:
    rows = [{"drug": "Cetrotide", "startDay": 5, "durationDays": 5}]
    plan = {"id": "r-1", "name": "Plan", "status": "Active", "startDate": "2026-11-20", "medications": rows}
    gives(fake_api, episode(protocol=plan))
    fake_api.gives(LIST_PROTOCOLS, [])
    words = visitor("grace").get("/episodes/e-1/medication").words
    assert "hasn’t given the portal until when each medicine is taken" in words


def test_no_medicine_today_is_said_only_of_a_plan_that_came_whole(
    in_process: InProcess, fake_api: FakeApi
) -> None:
    begins = (datetime.now(UTC) - timedelta(days=2)).date().isoformat()
    row = {"drug": "Cetrotide", "startDay": 9, "endDay": 12, "time": "20:00"}
    plan = {"id": "r-1", "name": "Plan", "status": "Active", "startDate": begins, "medications": [row]}
    pages = (
        ("nora", "nurse", "/patients/p-1?episode=e-1", "No medicine today"),
        ("grace", "patient", "/episodes/e-1", "This plan has no medicine for today."),
    )
    for members, is_said in (
        ({"protocol": plan}, True),
        ({"protocol": {**plan, "medications": [{**row, "startDay": "?"}]}}, False),
        ({"protocol": {**plan, "medications": "?"}}, False),
        ({"protocol": {**plan, "startDate": "?"}}, False),
        ({"protocol": {**plan, "status": "ZZ-TOP"}}, False),
        ({"protocol": {name: one for name, one in plan.items() if name != "medications"}}, False),
        ({"protocol": {**plan, "medications": [{"drug": "Cetrotide", "startDay": 9}]}}, False),
        ({"protocol": "?"}, False),
    ):
        in_process.forget()
        gives(fake_api, episode(startDate=begins, **members))
        fake_api.gives(LIST_PROTOCOLS, [])
        for who, role, path, told in pages:
            words = in_process.visitor(who, role).get(path).words
            assert (told in words) is is_said, (path, members)


def test_nobody_is_said_to_have_no_account_where_ids_of_accounts_and_records_are_the_same(
    in_process: InProcess, fake_api: FakeApi
) -> None:
    signer = {"role": "Patient", "personId": "grace", "name": "Grace Okafor", "order": 1}
    form = {
        **brief(1),
        "patientId": "grace",
        "requiredSigners": [signer],
        "signatures": [],
        "episodeId": "e-1",
    }
    nora, claim = in_process.visitor("nora", "nurse"), "no account"
    pages = ("/consents", "/consents/c-1", "/", "/consents?list=open&waits=no-account")

    def said(patient: dict[str, Any]) -> list[str]:
        gives(fake_api, episode(patient={"mrn": "M 1", "firstName": "Grace", **patient}))
        fake_api.gives(LIST_CONSENTS, [form])
        fake_api.gives(READ_CONSENT, form)
        return [path for path in pages[:3] if claim in nora.get(path).words]

    for _before_and_after_her_record_was_read in range(2):
        assert said({"id": "grace", "userId": "grace"}) == []
        assert "Nothing waits here" not in nora.get(pages[3]).words
        nora.get("/episodes/e-1")
    in_process.forget()
    nora = in_process.visitor("nora", "nurse")
    other = {"id": "p-2", "userId": "olu", "mrn": "M 2", "firstName": "Olu"}
    gives(fake_api, episode(partner=other))
    nora.get("/episodes/e-1")
    assert said({"id": "grace", "userId": None}) == [*pages[:3]], "ids differ here"


def test_a_form_that_waits_for_nobody_is_not_called_done(in_process: InProcess, fake_api: FakeApi) -> None:
    form = sample(
        ConsentForm, id="c-1", status="Pending", required_signers=(), signatures=(), revoked_at=None
    )
    fake_api.gives(LIST_CONSENTS, [form])
    grace = in_process.visitor("grace")
    assert "Nothing to sign right now" not in grace.get("/consents").words
    assert "No form waits for your signature" not in grace.get("/").words


def test_what_was_sent_and_cannot_be_read_is_not_called_absent(
    in_process: InProcess, fake_api: FakeApi
) -> None:
    result = msgspec.to_builtins(
        sample(PgtResult, id="r-1", status="Released", call="LowMosaic", sex_disclosed=True)
    )
    fake_api.gives(READ_PGT_RESULT, result | {"mosaicPercent": "34,5"})
    grace = in_process.visitor("grace")
    assert "gave no percentage" not in grace.get("/pgt-results/r-1").words
    fake_api.gives(READ_PGT_RESULT, result | {"mosaicPercent": None})
    assert "gave no percentage" in grace.get("/pgt-results/r-1").words


def test_whether_somebody_sees_a_treatment_is_said_only_where_the_api_says_it(
    in_process: InProcess, fake_api: FakeApi
) -> None:
    mats = {"id": "l-1", "patientId": "p-1", "relatedName": "Mats Keller"}
    gives(fake_api, episode(relationships=[mats]))
    grace = in_process.visitor("grace")
    assert "doesn’t say whether they see your treatment" in grace.get("/me").words
    assert "doesn’t see the treatment" not in grace.get("/relationships/l-1/remove?episode=e-1").words
    gives(fake_api, episode(relationships=[mats | {"isPortalShared": False}]))
    assert "Does not see your treatment in the portal." in grace.get("/me").words


@pytest.mark.parametrize("status", [405, 406, 411, 415, 428])
def test_what_an_api_never_takes_is_never_asked_for_again(
    in_process: InProcess, fake_api: FakeApi, status: int
) -> None:
    gives(fake_api, episode(relationships=[{"id": "l-1", "patientId": "p-1", "relatedName": "Mats Keller"}]))
    fake_api.refuses(DELETE_RELATIONSHIP, status)
    fake_api.refuses(UPDATE_NOTIFICATION_SETTINGS, status)
    grace = in_process.visitor("grace")
    removal = grace.get("/relationships/l-1/remove?episode=e-1").form("/relationships/l-1/remove")
    settings = grace.get("/notifications/settings").form("/notifications/settings")
    for page in (removal.submit(status=None), settings.submit(start="21:15", end="06:30", status=None)):
        assert "Sending it again won’t help" in page.words
        assert "send it again" not in page.words.replace("Sending it again", "")
        assert page.response.status_code >= 400


def test_a_list_that_cannot_be_sorted_so_says_only_that(in_process: InProcess, fake_api: FakeApi) -> None:
    fake_api.refuses(LIST_CONSENTS, 400)
    page = in_process.visitor("nora", "nurse").http.get(
        "http://riverside.localhost/consents?list=all&sort=title"
    )
    assert "can’t sort this list in that way" in page.text
    assert "check what you entered" not in page.text
