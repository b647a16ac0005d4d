"""Enquiries over HTTP: booking a window, the link to book it, merging two records."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from urllib.parse import urlsplit

import pytest

from portal.careservice.ids import sample_id
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor

INES = sample_id("prospect", "ines")
AGAIN = sample_id("prospect", "ines-again")
TOMASZ = sample_id("prospect", "tomasz")
NOOR = sample_id("prospect", "noor")
RUTH = sample_id("prospect", "ruth")
VICTOR = sample_id("physician", "victor")


def week(prospect: str, *, weeks: int = 1, physician: str = VICTOR) -> str:
    day = date.today() + timedelta(weeks=weeks)
    return f"/prospects/{prospect}/book?from={day.isoformat()}&physician={physician}"


# ── booking ─────────────────────────────────────────────────────────────────────────────────────────────


def test_busy_times_are_never_offered(colin: Visitor, portal: PortalThread) -> None:
    page = colin.get(week(TOMASZ))
    for day in page.select("fieldset.week-day"):
        taken = [p.words for p in day.select(".window-taken")]
        free = [label.words for label in day.select(".window label")]
        for stretch in taken:
            start = stretch.partition("–")[0]
            assert start not in free


@pytest.mark.parametrize(
    "query", ["from=yesterday", "from=0001-01-01", "from=9999-12-31", "physician=nobody"]
)
def test_an_invalid_week_is_not_an_error(colin: Visitor, query: str) -> None:
    assert colin.get(f"/prospects/{TOMASZ}/book?{query}").heading == "Book a visit"


def test_booking_a_window_ends_in_a_receipt_and_happens_once(colin: Visitor) -> None:
    form = colin.get(week(TOMASZ)).form(f"/prospects/{TOMASZ}/book")
    chosen = form.page.windows[3]
    receipt = form.submit(window=chosen, type="VideoConsultation")
    assert receipt.path == f"/prospects/{TOMASZ}/book/receipt"
    assert "Consultation by video" in receipt.words and "Where By video" in receipt.words
    assert "Dr Victor" in receipt.words
    assert "Europe/London" in receipt.words
    text = str(receipt.select('[data-copy*="your appointment is on"]')[0]["data-copy"])
    assert "Dr Victor" in text
    assert "by video." in text and "Riverside Centre" not in text, "nobody has to come to the building"
    assert "consultation" not in text.casefold(), "others may read it"
    calendar = str(receipt.select('a[href*="appointment.ics"]')[0]["href"])
    entry = colin.get(calendar).text
    assert "SUMMARY:Appointment" in entry and "LOCATION:By video" in entry
    spanish = colin.get(receipt.url, headers={"Accept-Language": "es"})
    assert spanish.select('[data-copy*="your appointment is on"]'), "the clinic's language, not the reader's"
    (link,) = spanish.select('.chips a[href*="language=es"]')
    assert link.select('[lang="es"]'), "its name is Spanish"
    other = colin.get(str(link["href"]))
    assert other.select('[data-copy*="tu cita es el"]')
    assert "SUMMARY:Cita" in colin.get(str(other.select('a[href*="appointment.ics"]')[0]["href"])).text
    assert chosen not in colin.get(week(TOMASZ)).windows
    assert form.submit(window=chosen).url == receipt.url
    assert form.submit(window=form.page.windows[8]).url == receipt.url
    assert form.page.windows[8] in colin.get(week(TOMASZ)).windows


def test_twenty_posts_of_one_form_book_one_window(colin: Visitor) -> None:
    form = colin.get(week(NOOR, weeks=2)).form(f"/prospects/{NOOR}/book")
    chosen = form.page.windows[0]
    with ThreadPoolExecutor(10) as pool:
        ends = list(pool.map(lambda _: form.submit(window=chosen, status=None), range(20)))
    assert {end.path for end in ends} == {f"/prospects/{NOOR}/book/receipt"}
    assert len({end.url for end in ends}) == 1


def test_a_window_taken_meanwhile_is_refused_with_fresh_ones(colin: Visitor, nora: Visitor) -> None:
    slow = colin.get(week(TOMASZ, weeks=3)).form(f"/prospects/{TOMASZ}/book")
    chosen = slow.page.windows[5]
    nora.get(week(NOOR, weeks=3)).form(f"/prospects/{NOOR}/book").submit(window=chosen)
    page = slow.submit(window=chosen, type="NurseConsultation", status=409)
    assert "That time isn’t free any more" in page.words
    assert chosen not in page.windows
    assert len(page.windows) > 10
    assert page.tree.select_one("form input[name=type]")["value"] == "NurseConsultation"
    receipt = page.form(f"/prospects/{TOMASZ}/book").submit(window=page.windows[0])
    assert receipt.path.endswith("/receipt")


def test_a_closed_enquiry_cannot_be_booked(colin: Visitor) -> None:
    form = colin.get(week(RUTH)).form(f"/prospects/{RUTH}/book")
    assert "This enquiry is closed" in form.submit(window=form.page.windows[0], status=403).words


def test_htmx_gets_the_weeks_as_a_fragment(colin: Visitor) -> None:
    page = colin.fragment(week(TOMASZ), "week")
    assert "<html" not in page.text
    assert [element["id"] for element in page.select("body > [id]")] == ["week"]


# ── the link ────────────────────────────────────────────────────────────────────────────────────────────


def test_staff_create_a_link_with_a_chosen_lifetime_and_can_copy_it(
    colin: Visitor, portal: PortalThread
) -> None:
    page = colin.get(week(TOMASZ)).form(f"/prospects/{TOMASZ}/book-link").submit(days="14")
    address = str(page.tree.select_one("#address")["value"])
    assert address.startswith(f"{portal.origin()}/book/")
    assert page.tree.select_one("[data-copy]")["data-copy"] == address
    assert portal.visitor().get(urlsplit(address).path).heading == "Book your first visit"


def test_htmx_gets_the_link_as_a_fragment(colin: Visitor) -> None:
    page = colin.fragment(f"/prospects/{TOMASZ}/book-link", "link", data={"days": "7"})
    assert page.tree.select_one("#link #address")
    assert "<html" not in page.text


def test_a_lifetime_that_is_not_offered_creates_no_link(colin: Visitor) -> None:
    page = colin.post(f"/prospects/{TOMASZ}/book-link", {"days": "9999"}, status=422)
    assert not page.tree.select_one("#address")


# ── merging ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_notification_links_to_both_records_side_by_side(colin: Visitor) -> None:
    notifications = colin.get("/notifications?type=ProspectReceived")
    form = next(
        one
        for one in notifications.select("form")
        if "Two enquiries may be from one person" in one.text_content()
    )
    page = notifications.form(form).submit()
    assert page.path == f"/prospects/{INES}/merge"
    assert page.select("table input[name=email]"), "compared at once"


def test_merging_a_record_with_itself_or_an_invalid_id_is_refused(colin: Visitor) -> None:
    assert "Both are the same record" in colin.get(f"/prospects/{INES}/merge?merge={INES}", status=422).words
    assert "This is no id" in colin.get(f"/prospects/{INES}/merge?merge=a/b", status=422).words


def test_merging_with_a_missing_record_changes_nothing(colin: Visitor) -> None:
    absent = sample_id("prospect", "nobody")
    page = colin.get(f"/prospects/{INES}/merge?merge={absent}").form(f"/prospects/{INES}/merge").submit()
    refused = page.form(f"/prospects/{INES}/merge/confirm").submit(status=404)
    assert "They were not merged" in refused.words


def test_merging_keeps_the_choices_confirms_and_happens_once(colin: Visitor) -> None:
    form = colin.get(f"/prospects/{INES}/merge?merge={AGAIN}").form(f"/prospects/{INES}/merge")
    page = form.submit(email="merged", firstName="kept")
    assert page.heading == "Merge these two?"
    for words in ("Inês Gonçalves", "Ines Goncalves", "E-mail ines.goncalves@mail.example", "+447700900411"):
        assert words in page.words, "names and kept values are shown"
    assert "can’t be undone" in page.words
    confirm = page.form(f"/prospects/{INES}/merge/confirm")
    with ThreadPoolExecutor(5) as pool:
        ends = list(pool.map(lambda _: confirm.submit(status=None), range(10)))
    assert {end.path for end in ends} == {f"/prospects/{INES}/merge/receipt"}
    receipt = ends[0]
    assert "Inês Gonçalves" in receipt.words
    assert "Went into it Ines Goncalves" in receipt.words
    assert {one["data-copy"] for one in receipt.select("[data-copy]")} >= {INES, AGAIN}
    assert "E-mail ines.goncalves@mail.example" in receipt.words, "the value, not whose it was"
    again = colin.get(f"/prospects/{INES}/merge?merge={AGAIN}").form(f"/prospects/{INES}/merge").submit()
    refused = again.form(f"/prospects/{INES}/merge/confirm").submit(status=403)
    assert "merged already" in refused.words


# ── no answer ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_booking_with_a_lost_response_is_explained_and_not_resent(
    colin: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal.services.errors import Unavailable
    from portal.views.booking import visit

    calls: list[str] = []

    def lost(care: object, prospect_id: str, **sent: object) -> None:
        calls.append(prospect_id)
        raise Unavailable("timed out", outcome_known=False)

    monkeypatch.setattr(visit, "book_window", lost)
    form = colin.get(week(NOOR, weeks=4)).form(f"/prospects/{NOOR}/book")
    chosen = form.page.windows[0]
    page = form.submit(window=chosen, status=503)
    assert "isn’t confirmed" in page.heading
    assert "This time is free" in page.words
    assert form.submit(window=chosen, status=202).heading == page.heading
    again = colin.get(f"/prospects/{NOOR}/book")
    assert again.heading == page.heading
    assert calls == [NOOR]
    anew = again.form(again.select("form:has(input[name=checked])")[0]).submit()
    assert anew.heading == "Book a visit"


def test_a_merge_with_a_lost_response_is_explained_and_not_resent(
    colin: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal.services.errors import BadResponse
    from portal.views.prospects import merge

    calls: list[str] = []

    def lost(care: object, prospect_id: str, **sent: object) -> None:
        calls.append(prospect_id)
        raise BadResponse("$.id")

    monkeypatch.setattr(merge, "merge_prospects", lost)
    page = colin.get(f"/prospects/{TOMASZ}/merge?merge={NOOR}").form(f"/prospects/{TOMASZ}/merge").submit()
    confirm = page.form(f"/prospects/{TOMASZ}/merge/confirm")
    assert "isn’t confirmed" in confirm.submit(status=503).heading
    assert "isn’t confirmed" in confirm.submit(status=202).heading
    again = colin.get(f"/prospects/{TOMASZ}/merge?merge={NOOR}")
    assert "isn’t confirmed" in again.heading
    anew = again.form(again.select("form:has(input[name=checked])")[0]).submit()
    assert anew.heading == "Merge two enquiries"
    assert confirm.submit().heading == "Merge two enquiries", "the old form no longer has an operation"
    assert calls == [TOMASZ]
