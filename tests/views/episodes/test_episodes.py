"""Episodes: the list, the tabs, for patients, partners and staff."""

from __future__ import annotations

import re
from typing import Any

import icalendar
import pytest

from portal.careservice.ids import sample_id
from tests.support.stack import PortalThread

AMELIA = f"/episodes/{sample_id('episode', 'amelia-1')}"
GRACE = f"/episodes/{sample_id('episode', 'grace-2')}"
EARLIER = f"/episodes/{sample_id('episode', 'grace-1')}"
TABS = [
    "",
    "/timeline",
    "/monitoring",
    "/medication",
    "/embryos",
    "/appointments",
    "/documents",
    "/consents",
    "/team",
]


_IN_A_ROW = ("", "/medication", "/monitoring", "/appointments")
"""The tabs of a patient whose treatment has no embryo yet: as many as a phone's row holds."""


@pytest.mark.parametrize("tab", TABS)
def test_each_tab_is_available_as_page_and_fragment(amelia: Any, tab: str) -> None:
    page = amelia.get(AMELIA + tab)
    assert page.heading == "IVF with stimulation"
    assert [link["href"] for link in page.select(".tabs a")] == [AMELIA + one for one in _IN_A_ROW]
    current = page.select(".tabs [aria-current=page]")
    assert [link["href"] for link in current] == [AMELIA + tab] * (tab in _IN_A_ROW)
    part = amelia.fragment(AMELIA + tab, target="tab", at=AMELIA)
    assert part.tree.select_one("#tab h2") is not None and part.tree.select_one("h1") is None
    assert not current or current[0].text.strip() in part.tree.findtext(".//title")


@pytest.mark.parametrize("tab", [*TABS, "/appointments.ics"])
def test_another_persons_episode_is_not_found(grace: Any, tab: str) -> None:
    grace.get(AMELIA + tab, status=404)
    grace.get("/episodes/no-such-episode" + tab, status=404)


def test_another_clinics_episode_is_not_found(portal: PortalThread) -> None:
    portal.sign_in("omar").get(AMELIA, status=404)


def test_a_partner_sees_both_names_and_who_takes_the_medicines(portal: PortalThread) -> None:
    words = portal.sign_in("daniel").get(AMELIA).words
    assert "Amelia Hart and Daniel Hart" in words and "These are Millie’s medicines." in words


def test_active_episodes_come_first_and_a_loss_is_worded_gently(grace: Any) -> None:
    page = grace.get("/episodes")
    assert [a["href"] for a in page.select("article h2 a")] == [GRACE, EARLIER]
    words = grace.get(EARLIER).words
    assert "We are sorry that it didn’t lead to a pregnancy" in words and "fail" not in words.lower()


def test_a_treatments_consents_are_the_rows_of_the_consents_page(amelia: Any, nora: Any) -> None:
    def rows(path: str) -> list[str]:
        return [row.words for row in amelia.get(path).select(".task, .links > li")]

    of_treatment = rows(AMELIA + "/consents")
    assert of_treatment and set(of_treatment) <= set(rows("/consents"))
    assert "Read and sign" in of_treatment[0] and "Read and sign" not in of_treatment[-1]
    assert "Draft" not in amelia.get(AMELIA + "/consents").words, "nobody has sent it to her"
    assert "Draft" in nora.get(AMELIA + "/consents").words


def test_a_patients_only_treatment_is_opened_and_the_first_page_leads_to_all_of_it(amelia: Any) -> None:
    page = amelia.get("/episodes")
    assert page.heading == "IVF with stimulation" and not page.select(".back")
    rest = [link["href"] for link in page.select("nav.card .link-row")]
    assert rest == [AMELIA + one for one in ("/timeline", "/documents", "/consents")]


def test_an_ended_treatment_begins_with_its_summary(grace: Any) -> None:
    page = grace.get(EARLIER)
    assert page.select(".tabs [aria-current=page]")[0].words == "Summary"
    assert page.select(".back")


def test_a_single_visit_has_its_own_calendar_file(amelia: Any) -> None:
    visit = sample_id("appointment", "amelia-scan-5")
    answer = amelia.get(f"{AMELIA}/appointments/{visit}.ics")
    calendar: Any = icalendar.Calendar.from_ical(answer.response.content)
    assert [str(event["UID"]).partition("@")[0] for event in calendar.walk("VEVENT")] == [visit]
    amelia.get(f"{AMELIA}/appointments/other.ics", status=404)


def test_staff_see_recently_opened_episodes(portal: PortalThread) -> None:
    visitor = portal.sign_in("elif")
    assert "You have opened no episode yet" in visitor.get("/episodes").words
    visitor.get(GRACE)
    visitor.get(AMELIA)
    assert [a["href"] for a in visitor.get("/episodes").select("article h2 a")] == [AMELIA, GRACE]


def test_the_next_visit_has_a_countdown_and_an_alert_its_person_and_end(amelia: Any) -> None:
    page = amelia.get(AMELIA)
    visit, _again = page.select(".next-visit")
    assert re.search(r"Tomorrow|In \d+ (hours|days)", visit.words)
    assert visit.select("a[href$='.ics']") and visit.select("a[href^='https://maps.example']")
    assert re.search(r"From Riverside Fertility · written \w{3} \d+ \w+ · until", page.words)


def test_days_are_counted_until_the_trigger_and_not_after_the_outcome(portal: PortalThread) -> None:
    """A month after the transfer nobody is at `Day 54` of anything."""
    words = portal.sign_in("maya").get(f"/episodes/{sample_id('episode', 'maya-1')}").words
    assert "Early scan" in words and "after the transfer" not in words
    assert not re.search(r"\bDay \d", words)


def test_the_next_days_medicines_are_listed_by_date_up_to_the_trigger(amelia: Any) -> None:
    page = amelia.get(f"{AMELIA}/medication")
    days = [row.words for row in page.select(".plan-days > div")]
    assert days and all(re.match(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ \w+ ", one) for one in days)
    trigger = next(place for place, one in enumerate(days) if "Choriogonadotropin" in one)
    assert all("rFSH" in one and "Cetrorelix" in one for one in days[:trigger])
    assert "Cetrorelix" in days[trigger] and "rFSH" not in days[trigger], "its morning, not its evening"
    assert not any("rFSH" in one or "Cetrorelix" in one for one in days[trigger + 1 :])
    assert "no medicine" in days[trigger + 1]
    assert "20:00 Progesterone" in days[trigger + 2] and "08:00" not in days[trigger + 2], (
        "the evening of collection"
    )


def test_staff_see_scans_by_plan_day_with_follicles_by_size(portal: PortalThread) -> None:
    nora = portal.sign_in("nora")
    page = nora.get(f"{AMELIA}/monitoring")
    heading = page.tree.select_one(".lede")
    assert heading is not None and "Day 8" in heading.text_content()
    by_size, by_day = page.select("table")
    rows = [[cell.words for cell in row.select("th, td")] for row in by_size.select("tr")]
    assert rows[0][1:] == ["Day", "Under 10", "10–13", "14–16", "17 or more", "All"]
    assert [row[1:] for row in rows[1:]] == [
        ["1", "11", "0", "0", "0", "11"],
        ["4", "11", "0", "0", "0", "11"],
        ["6", "4", "7", "0", "0", "11"],
        ["7", "2", "5", "4", "0", "11"],
    ]
    days = [row.select("td")[0].words for row in by_day.select("tbody tr")]
    assert days == ["1", "4", "6", "7"], "the day column doesn't match the plan's days"
    assert "2.1 IU/L" in by_day.words and "1.9 nmol/L" in by_day.words
