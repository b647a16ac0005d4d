"""A changed plan is told until the patient has seen it, on open pages too; what is older says so; calendars follow."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

import icalendar
import pytest
from pypdf import PdfReader

from portal.careservice.ids import sample_id
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor
from tests.views.protocols.plans import press, row

PLAN = f"/protocols/{sample_id('protocol', 'amelia')}"
EPISODE = f"/episodes/{sample_id('episode', 'amelia-1')}"
PAGES = ["/", EPISODE, f"{EPISODE}/medication"]
NOTICE = "#plan_change .notice"


@pytest.fixture(scope="module")
def _looked(amelia: Visitor) -> None:
    """Amelia has seen her plan as it was."""
    assert not amelia.get("/").select(NOTICE)


@pytest.fixture
def new_hour(_looked: None, amelia: Visitor, victor: Visitor) -> Iterator[Callable[[str], None]]:
    """Victor moves her trigger to another hour of its evening; at the end she has seen it."""

    def change(time: str) -> None:
        page = victor.get(f"{PLAN}/edit")
        (place,) = (
            int(str(one["id"]).split("-")[1])
            for one in page.select("input[id^=medication-][id$=-drug]")
            if "Choriogonadotropin" in str(one["value"])
        )
        press(page, "review", **row(place, time=time)).form(f"{PLAN}/save").submit()

    yield change
    home = amelia.get("/")
    if home.select(NOTICE):
        home.form(f"{PLAN}/seen").submit()


def words_of(visitor: Visitor, path: str) -> str:
    return " ".join(" ".join(one.words for one in visitor.get(path).select(NOTICE)).split())


def test_a_change_is_told_on_each_page_of_the_plan_until_she_has_seen_it(
    amelia: Visitor, new_hour: Callable[[str], None]
) -> None:
    new_hour("21:05")
    for path in PAGES:
        told = words_of(amelia, path)
        assert "The plan changed on" in told, path
        assert "21:05 instead of 21:00" in told, path
    after = amelia.get(f"{EPISODE}/medication").form(f"{PLAN}/seen").submit()
    assert after.path == f"{EPISODE}/medication"
    assert not any(amelia.get(path).select(NOTICE) for path in PAGES)


def test_another_route_is_told_until_she_has_seen_it(_looked: None, amelia: Visitor, victor: Visitor) -> None:
    page = victor.get(f"{PLAN}/edit")
    (field,) = (
        str(one["id"])
        for one in page.select("input[id^=medication-][id$=-drug]")
        if "Choriogonadotropin" in str(one["value"])
    )
    place = int(field.split("-")[1])
    press(page, "review", **row(place, route="Intramuscular")).form(f"{PLAN}/save").submit()
    told = words_of(amelia, "/")
    assert "into a muscle instead of under the skin, from" in told
    assert amelia.get("/").form(f"{PLAN}/seen").submit().select(NOTICE) == []
    press(victor.get(f"{PLAN}/edit"), "review", **row(place, instructions="Lie down")).form(
        f"{PLAN}/save"
    ).submit()
    assert "its instructions have changed, from" in words_of(amelia, f"{EPISODE}/medication")
    amelia.get("/").form(f"{PLAN}/seen").submit()
    assert not amelia.get("/").select(NOTICE)
    both = row(place, route="Subcutaneous", instructions="Sit up")
    press(victor.get(f"{PLAN}/edit"), "review", **both).form(f"{PLAN}/save").submit()
    told = words_of(amelia, "/")
    assert "under the skin instead of into a muscle" in told and "its instructions have changed" in told
    amelia.get("/").form(f"{PLAN}/seen").submit()


def test_seeing_an_older_state_does_not_hide_a_newer_change(
    amelia: Visitor, new_hour: Callable[[str], None]
) -> None:
    new_hour("21:10")
    old = amelia.get("/").form(f"{PLAN}/seen")
    new_hour("21:15")
    assert "21:15 instead of 21:05" in " ".join(old.submit().words.split())


def test_an_open_page_learns_of_a_change(amelia: Visitor, new_hour: Callable[[str], None]) -> None:
    waiting = amelia.get(f"{EPISODE}/medication").tree.select_one("#plan_change")
    assert waiting
    assert "portal:look" in str(waiting["hx-trigger"]), "asked each 30 s while the page is in sight"
    address = str(waiting["hx-get"])
    assert amelia.fragment(address, "plan_change", status=204).words == ""
    new_hour("21:20")
    told = amelia.fragment(address, "plan_change")
    assert "21:20 instead of" in told.words
    assert told.link("See the new plan") == f"{EPISODE}/medication"


def test_each_person_sees_a_change_for_themselves(
    portal: PortalThread, amelia: Visitor, new_hour: Callable[[str], None]
) -> None:
    daniel = portal.sign_in("daniel")
    daniel.get("/")
    new_hour("21:25")
    amelia.get("/").form(f"{PLAN}/seen").submit()
    assert "21:25 instead of" in words_of(daniel, "/")


def test_a_changed_plan_stands_first_on_home(amelia: Visitor, new_hour: Callable[[str], None]) -> None:
    new_hour("21:20")
    words = amelia.get("/").words
    assert (
        words.index("The plan changed on")
        < words.index("What needs you")
        < words.index("Unread notifications")
    )
    amelia.get("/").form(f"{PLAN}/seen").submit()
    words = amelia.get("/").words
    assert words.index("What needs you") < words.index("Your treatment")


def test_staff_are_told_nothing_of_it(nora: Visitor, new_hour: Callable[[str], None]) -> None:
    new_hour("21:30")
    assert not nora.get(f"{EPISODE}/medication").select("#plan_change")
    nora.get(f"{PLAN}/change", status=403)
    nora.post(f"{PLAN}/seen", status=403)


def test_messages_and_files_from_before_a_change_say_so(
    amelia: Visitor, new_hour: Callable[[str], None]
) -> None:
    new_hour("21:35")
    amelia.get("/")
    thread = next(
        amelia.get(str(link["href"]))
        for link in amelia.get("/conversations").select("main a[href*='/conversations/']")
        if "225" in amelia.get(str(link["href"])).words
    )
    (said,) = (
        one
        for one in thread.select(".bubble")
        if "225" in one.text_content() and "before" in one.text_content()
    )
    assert "Written before the plan changed on" in said.text_content()
    assert "made before the plan changed" in amelia.get(f"{EPISODE}/documents").words


@pytest.mark.parametrize(("name", "is_hers"), [("amelia", True), ("daniel", False), ("nora", True)], ids=str)
def test_a_printed_plan_says_whose_it_is_and_until_when_it_holds(
    portal: PortalThread, name: str, is_hers: bool
) -> None:
    visitor = portal.sign_in(name)
    answer = visitor.http.get(f"{visitor.origin}{PLAN}/schedule.pdf")
    pages = PdfReader(io.BytesIO(answer.content)).pages
    words = " ".join(" ".join(page.extract_text() for page in pages).split())
    assert "Patient Amelia Hart" in words
    assert ("Record number RF-10482" in words) is is_hers, "only she and staff read her number"
    assert ("Date of birth" in words) is is_hers
    assert "Valid until the check on" in words


def test_a_calendar_file_says_that_it_is_old_and_its_successor_cancels_what_is_gone(
    amelia: Visitor, victor: Visitor, new_hour: Callable[[str], None]
) -> None:
    def events() -> dict[str, icalendar.Event]:
        answer = amelia.http.get(f"{amelia.origin}{PLAN}/schedule.ics")
        assert answer.status_code == 200
        return {str(one["UID"]): one for one in icalendar.Calendar.from_ical(answer.content).walk("VEVENT")}

    first = events()
    assert "added it to your calendar" not in amelia.get(f"{EPISODE}/medication").words
    new_hour("21:40")
    assert "added it to your calendar" in amelia.get(f"{EPISODE}/medication").words
    second = events()
    assert set(second) == set(first)
    assert all(second[uid]["SEQUENCE"] > first[uid]["SEQUENCE"] for uid in first)
    assert "added it to your calendar" not in amelia.get(f"{EPISODE}/medication").words
    victor.get(PLAN).form(f"{PLAN}/status").submit()
    page = amelia.get(f"{EPISODE}/medication")
    assert "on hold" in page.words
    assert "Take them out of my calendar" in page.words
    assert {str(one["STATUS"]) for one in events().values()} == {"CANCELLED"}
