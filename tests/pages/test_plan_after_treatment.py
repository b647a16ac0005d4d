"""A plan whose treatment has ended gives no doses that nobody follows: on its page, in print and in calendars."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable
from datetime import date

import icalendar
import pytest
from msgspec.structs import replace
from pypdf import PdfReader

from portal.services.cases import CareStatus
from portal.services.consents.forms import ConsentKind, ConsentStatus
from portal.services.episodes import READ_EPISODE, Alert, ConsentBrief, Outcome
from portal.services.notifications import Severity
from portal.services.protocols import READ_PROTOCOL, Medication, ProtocolStatus
from portal.web import seen_plans
from tests.pages.test_tonight import PLAN, episode, shows
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn, Visitor

LUTEAL = Medication(id="l", drug="Progesterone", dose=400, unit="mg", start_day=2, times=("22:00",))
STIMULATION = Medication(
    id="f", drug="Follitropin", drug_class="Gonadotropin", dose=225, unit="IU", start_day=1, times=("19:00",)
)
BOTH = replace(PLAN, patient_id="amelia-patient", medications=(STIMULATION, LUTEAL))
ACTIVE = episode(BOTH)
STOPPED = replace(ACTIVE, status=CareStatus.FINISHED, outcome=Outcome.CANCELLED, end_date=date(2026, 11, 24))
PREGNANT = replace(STOPPED, outcome=Outcome.PREGNANCY)
PAGE = "/protocols/p-1"
WARNING = Alert(severity=Severity.URGENT, text="Inject nothing until we call")
WITHDRAWN = ConsentBrief(id="c-1", title="ICSI", kind=ConsentKind.TREATMENT, status=ConsentStatus.REVOKED)
NOT_FOLLOWED = "The treatment of this plan has ended."


@pytest.fixture(autouse=True)
def nothing_seen(
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    fake_api: FakeApi,
    visitor: SignIn,
    at: Callable[[str], None],
) -> None:
    """Keep the plans that were seen in each test apart; it is noon on the plan's sixth day."""
    kept = dataclasses.replace(seen_plans._SEEN, kind=f"plans {request.node.name}")
    monkeypatch.setattr(seen_plans, "_SEEN", kept)
    at("25 12:00")
    shows(fake_api, ACTIVE)
    fake_api.gives(READ_PROTOCOL, BOTH)


def printed(visitor: Visitor) -> str:
    answer = visitor.http.get(f"{visitor.origin}{PAGE}/schedule.pdf")
    assert answer.status_code == 200
    pages = PdfReader(io.BytesIO(answer.content)).pages
    return " ".join(" ".join(page.extract_text() for page in pages).split())


def calendar(visitor: Visitor) -> dict[str, str]:
    """What the calendar file says of each event: its name, or that it is cancelled."""
    answer = visitor.http.get(f"{visitor.origin}{PAGE}/schedule.ics?names=1")
    assert answer.status_code == 200
    found = icalendar.Calendar.from_ical(answer.content).walk("VEVENT")
    return {str(one["UID"]).partition(".")[0]: str(one.get("STATUS", one["SUMMARY"])) for one in found}


def test_a_plan_is_followed_while_its_treatment_goes_on(visitor: SignIn) -> None:
    amelia = visitor("amelia")
    page = amelia.get(PAGE)
    assert page.select("figure svg") and "today is day 6" in page.words and NOT_FOLLOWED not in page.words
    assert [tag.words for tag in page.select(".pagehead .tag")] == ["Active"]
    words = printed(amelia)
    assert "Day by day" in words and "Status Active" in words
    assert calendar(amelia) == {
        "f": "Follitropin 225\N{NO-BREAK SPACE}units, 19:00",
        "l": "Progesterone 400\N{NO-BREAK SPACE}mg, 22:00",
    }


def test_none_of_its_doses_stand_once_its_treatment_was_stopped(visitor: SignIn, fake_api: FakeApi) -> None:
    shows(fake_api, STOPPED)
    amelia = visitor("amelia")
    page = amelia.get(PAGE)
    assert NOT_FOLLOWED in page.words and "call the clinic" in page.words
    assert not page.select("figure svg") and "today is day" not in page.words
    for offering in (page, amelia.get("/papers")):
        assert not offering.select("a[href$='schedule.ics']")
    assert not page.select("h1 ~ .tag, .pagehead .tag")
    words = printed(amelia)
    assert "Status Active" not in words
    assert NOT_FOLLOWED in words and "Day by day" not in words and "Valid" not in words
    assert words.count("Riverside The treatment of this plan has ended") == words.count("Page "), "the stamp"
    amelia.get(f"{PAGE}/schedule.ics", status=404)


def test_reminders_of_a_stopped_treatment_are_taken_out(visitor: SignIn, fake_api: FakeApi) -> None:
    amelia = visitor("amelia")
    calendar(amelia)
    medicines = "/episodes/e-1/medication"
    assert "Take them out of my calendar" not in amelia.get(medicines).words
    shows(fake_api, STOPPED)
    page = amelia.get(medicines)
    assert "Take them out of my calendar" in page.words and "Open the new file" in page.words
    assert calendar(amelia) == {"f": "CANCELLED", "l": "CANCELLED"}
    assert "Take them out of my calendar" not in amelia.get(medicines).words


def test_an_open_page_tells_no_new_dose_of_a_stopped_treatment(visitor: SignIn, fake_api: FakeApi) -> None:
    amelia = visitor("amelia")
    (shown,) = amelia.get("/episodes/e-1/medication").select("#plan_change")
    higher = replace(BOTH, medications=(replace(STIMULATION, dose=300), LUTEAL))
    fake_api.gives(READ_PROTOCOL, higher)
    for treatment, is_told in ((replace(ACTIVE, protocol=higher), True), (STOPPED, False)):
        shows(fake_api, treatment)
        notice = amelia.fragment(shown["hx-get"], target="plan_change").words
        assert ("300 units" in notice, "changed just now" in notice) == (is_told, not is_told)


def test_what_outlasts_the_treatment_goes_on_alone(visitor: SignIn, fake_api: FakeApi) -> None:
    amelia = visitor("amelia")
    calendar(amelia)
    shows(fake_api, PREGNANT)
    told = "Go on with Progesterone 400\N{NO-BREAK SPACE}mg"
    page = amelia.get(PAGE)
    assert told in page.select("main")[0].text_content() and NOT_FOLLOWED not in page.words
    assert not page.select("figure svg")
    words = printed(amelia)
    for offering in (page, amelia.get("/episodes/e-1/medication"), amelia.get("/papers")):
        assert offering.select("a[href$='schedule.ics']")
    assert told.replace("\N{NO-BREAK SPACE}", " ") in words.replace("\N{NO-BREAK SPACE}", " ")
    assert calendar(amelia) == {"f": "CANCELLED", "l": "Progesterone 400\N{NO-BREAK SPACE}mg, 22:00"}


def test_a_treatment_that_cannot_be_read_is_not_taken_for_one_that_goes_on(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    fake_api.refuses(READ_EPISODE, 503)
    amelia = visitor("amelia")
    page = amelia.get(PAGE)
    assert "can’t tell whether this plan still holds" in page.words and "Follitropin" in page.words
    for kind in ("pdf", "ics"):
        amelia.get(f"{PAGE}/schedule.{kind}", status=503)


def test_a_treatment_that_is_not_there_says_nothing_about_its_plan(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    fake_api.refuses(READ_EPISODE, 404)
    amelia = visitor("amelia")
    assert "can’t tell whether" not in amelia.get(PAGE).words
    assert "Follitropin 225" in calendar(amelia)["f"]


def test_new_doses_of_a_stopped_treatment_are_no_news(visitor: SignIn, fake_api: FakeApi) -> None:
    amelia = visitor("amelia")
    amelia.get("/episodes/e-1/medication")
    more = replace(BOTH, medications=(replace(STIMULATION, dose=300), LUTEAL))
    shows(fake_api, replace(ACTIVE, protocol=more))
    assert "300 units instead of 225 units" in amelia.get("/episodes/e-1/medication").words
    shows(fake_api, replace(STOPPED, protocol=more))
    assert "instead of" not in amelia.get("/episodes/e-1/medication").words


def test_staff_read_that_its_treatment_has_ended(visitor: SignIn, fake_api: FakeApi) -> None:
    nora = visitor("nora", "nurse")
    page = nora.get(PAGE)
    assert NOT_FOLLOWED not in page.words and "today is day 6" in page.words
    shows(fake_api, STOPPED)
    page = nora.get(PAGE)
    assert NOT_FOLLOWED in page.words and "The patient sees no doses" in page.words
    assert "today is day 6" not in page.words and "Valid" not in printed(nora)
    shows(fake_api, PREGNANT)
    assert "The patient is told this" in nora.get(PAGE).words


def test_a_calendar_is_not_old_because_rows_changed_places(visitor: SignIn, fake_api: FakeApi) -> None:
    amelia = visitor("amelia")
    calendar(amelia)
    old = "The plan has changed since you added it to your calendar"
    for rows, is_old in (((LUTEAL, STIMULATION), False), ((LUTEAL, replace(STIMULATION, dose=250)), True)):
        shows(fake_api, replace(ACTIVE, protocol=replace(BOTH, medications=rows)))
        assert (old in amelia.get("/episodes/e-1/medication").words) is is_old, rows


@pytest.mark.parametrize("path", [PAGE, "/episodes/e-1/medication"])
def test_a_warning_stands_before_the_doses(visitor: SignIn, fake_api: FakeApi, path: str) -> None:
    shows(fake_api, replace(ACTIVE, alerts=(WARNING,), consent_forms=(WITHDRAWN,)))
    words = visitor("amelia").get(path).words
    told = words.index("Consent withdrawn or declined ICSI Call the clinic before your next injection")
    assert told < words.index("Inject nothing until we call") < words.index("Follitropin")


@pytest.mark.parametrize("who", [("amelia",), ("nora", "nurse")])
def test_a_printed_plan_has_the_warnings_of_its_treatment(
    visitor: SignIn, fake_api: FakeApi, who: tuple[str, ...]
) -> None:
    shows(fake_api, replace(ACTIVE, alerts=(WARNING,), consent_forms=(WITHDRAWN,)))
    words = printed(visitor(*who))
    assert words.count("Riverside Consent withdrawn or declined") == words.count("Page "), "the stamp"
    assert (
        words.index("declined ICSI")
        < words.index("Inject nothing until we call")
        < words.index("Follitropin")
    )


def test_a_plan_that_names_its_treatment_alone_is_its_patients(visitor: SignIn, fake_api: FakeApi) -> None:
    """It is no more followed once it is cancelled than one that names the patient, and isn't a template of the clinic."""
    unnamed = replace(BOTH, patient_id=None)
    amelia, nora = visitor("amelia"), visitor("nora", "nurse")
    for status, is_followed in ((ProtocolStatus.ACTIVE, True), (ProtocolStatus.CANCELLED, False)):
        plan = replace(unnamed, status=status)
        shows(fake_api, replace(ACTIVE, protocol=plan))
        fake_api.gives(READ_PROTOCOL, plan)
        for reader in (amelia, nora):
            words = printed(reader)
            assert ("Day by day" in words, "Valid until" in words) == (is_followed, is_followed)
            assert "Patient Amelia" in words
        page = nora.get(PAGE).words
        assert "The clinic’s own" not in page and "today is" in page


@pytest.mark.parametrize("to", ["Completed", "Cancelled"])
def test_before_a_plan_is_ended_staff_read_which_doses_are_lost_with_it(
    visitor: SignIn, fake_api: FakeApi, to: str
) -> None:
    victor, ask = visitor("victor", "physician"), f"{PAGE}/end?to={to}"
    lost = "Doses still to come are no longer told to the patient: "
    goes_on = f"{lost}Progesterone 400 mg · 22:00 · Your team says when"
    words = victor.get(ask).words
    assert goes_on in words and f"{lost}Follitropin" in words
    shows(fake_api, PREGNANT)
    words = victor.get(ask).words
    assert goes_on in words and f"{lost}Follitropin" not in words, "it ended with the treatment"
    shows(fake_api, STOPPED)
    assert "Doses still to come" not in victor.get(ask).words


@pytest.mark.parametrize(
    ("members", "is_told"),
    [
        ({"route": "SC", "unit": "units", "times": ("19:00:00",)}, False),
        (
            {"drug": "follitropin ", "every_days": 1, "is_trigger": False, "drug_class": "gonadotropins"},
            False,
        ),
        ({"route": "IM"}, True),
        ({"every_days": 2}, True),
    ],
)
def test_another_spelling_of_a_plan_is_no_change(
    visitor: SignIn, fake_api: FakeApi, members: dict[str, object], is_told: bool
) -> None:
    row = replace(STIMULATION, route="Subcutaneous")
    for medicine in (row, replace(row, **members)):
        plan = replace(BOTH, medications=(medicine,))
        shows(fake_api, episode(plan))
        fake_api.gives(READ_PROTOCOL, plan)
        if medicine is row:
            calendar(visitor("amelia"))
    assert ("The plan has changed" in visitor("amelia").get("/").words) is is_told
    assert (
        "since you added it to your calendar" in visitor("amelia").get("/episodes/e-1/medication").words
    ) is is_told


def test_a_calendar_keeps_two_plans_apart_whose_medicines_have_the_same_numbers(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    def uids(plan_id: str) -> set[str]:
        plan = replace(BOTH, id=plan_id)
        fake_api.gives(READ_PROTOCOL, plan)
        answer = amelia.http.get(f"{amelia.origin}/protocols/{plan_id}/schedule.ics")
        return {str(one["UID"]) for one in icalendar.Calendar.from_ical(answer.content).walk("VEVENT")}

    amelia = visitor("amelia")
    assert uids("p-1") and uids("p-1").isdisjoint(uids("p-2"))
