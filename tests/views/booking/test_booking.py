"""The booking page over HTTP: without sign-in, by a signed link, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pytest
from icalendar import Calendar
from sqlalchemy import update

from portal.careservice import database
from portal.careservice.domain.prospects import Booking
from portal.careservice.ids import sample_id
from tests.support.stack import CareService, PortalThread, free_port
from tests.support.visitor import Visitor

TOMASZ = sample_id("prospect", "tomasz")
RUTH = sample_id("prospect", "ruth")

Link = Callable[..., str]


@pytest.fixture(scope="module")
def portal(service: CareService) -> Iterator[PortalThread]:
    """A portal that doesn't hurry its visitors."""
    running = PortalThread(service.plan, PORTAL_LIMIT_BOOKING="1000 per minute")
    yield running
    running.stop()


@pytest.fixture
def link(portal: PortalThread, service: CareService) -> Link:
    """Makes links for enquirers who have no visit to come."""
    engine = database.connect(f"sqlite:///{service.plan.data / 'care.db'}")
    with database.new_session(engine) as session:
        session.execute(update(Booking).values(status="Cancelled"))
        session.commit()
    engine.dispose()

    def make(prospect_id: str = TOMASZ, days: float = 7, clinic: str = "riverside") -> str:
        links = portal.app.extensions["booking"].links
        return f"/book/{links.make(clinic=clinic, prospect_id=prospect_id, lifetime=timedelta(days=days))}"

    return make


@pytest.fixture
def anybody(portal: PortalThread) -> Visitor:
    return portal.visitor()


def week(path: str, weeks: int = 1) -> str:
    return f"{path}?from={(date.today() + timedelta(weeks=weeks)).isoformat()}"


def test_a_booking_link_shows_free_times_of_all_physicians_without_signing_in(
    anybody: Visitor, link: Link
) -> None:
    page = anybody.get(week(link()))
    assert page.heading == "Book your first visit"
    assert len(page.windows) > 5
    assert "Dr Victor" in page.words
    assert "Europe/London" in page.words
    labels = [x.words for x in page.select("fieldset.week-day:first-of-type label")]
    assert len(labels) == len(set(labels)), "each time is offered once"


def test_the_booking_page_names_no_patient_and_is_not_indexed(anybody: Visitor, link: Link) -> None:
    page = anybody.get(link())
    assert "Tomasz" not in page.text and "Wójcik" not in page.text
    assert page.tree.select_one("meta[name=robots]")["content"] == "noindex"
    assert page.headers["Referrer-Policy"] == "same-origin"


def test_booking_leads_to_a_receipt_that_the_link_then_shows(
    anybody: Visitor, portal: PortalThread, link: Link
) -> None:
    path = link()
    form = anybody.get(week(path)).form(path)
    chosen = form.page.windows[0]
    receipt = form.submit(window=chosen)
    assert receipt.heading == "Your visit is booked"
    assert receipt.path == path
    begins = datetime.fromisoformat(chosen.partition("/")[0]).astimezone(ZoneInfo("Europe/London"))
    ends = begins + timedelta(minutes=30)
    assert f"{begins:%A, %-d %B %Y}, {begins:%H:%M}–{ends:%H:%M}" in receipt.words
    assert portal.visitor().get(path).heading == "Your visit is booked"
    assert form.submit(window=form.page.windows[4]).heading == "Your visit is booked"
    other = anybody.get(week(link()))
    assert form.page.windows[4] in other.windows


def test_the_receipt_has_a_calendar_file_with_neutral_words(anybody: Visitor, link: Link) -> None:
    path = link()
    form = anybody.get(week(path)).form(path)
    receipt = form.submit(window=form.page.windows[0])
    answer = anybody.get(receipt.link("Add to your calendar"))
    assert answer.headers["Content-Type"].startswith("text/calendar")
    event = next(iter(Calendar.from_ical(answer.response.content).walk("VEVENT")))
    assert str(event["summary"]) == "Appointment"
    assert event["dtend"].dt - event["dtstart"].dt == timedelta(minutes=30)


@pytest.mark.parametrize(
    "part", [lambda link: link[:-5], lambda link: link + "x", lambda _link: "/book/nothing"]
)
def test_a_broken_link_says_what_to_do(anybody: Visitor, link: Link, part: Callable[[str], str]) -> None:
    page = anybody.get(part(link()), status=404)
    assert page.heading == "This booking link doesn’t work"
    assert "Copy the whole link" in page.words and page.select("main a[href^='tel:']")
    assert "/" not in [a["href"] for a in page.select("main a")], "the home page is for patients"


def test_there_is_no_calendar_file_before_booking(anybody: Visitor, link: Link) -> None:
    anybody.get(f"{link()}/appointment.ics", status=404)


@pytest.mark.asvs("2.3.4")
def test_twenty_posts_by_one_link_book_once(portal: PortalThread, link: Link) -> None:
    path = link()
    forms = []
    for _ in range(4):
        page = portal.visitor().get(week(path, weeks=2))
        forms += [(page.form(path), page.windows[n]) for n in range(5)]
    with ThreadPoolExecutor(10) as pool:
        ends = list(pool.map(lambda pair: pair[0].submit(window=pair[1], status=None), forms))
    assert {end.heading for end in ends} <= {"Your visit is booked", "We couldn’t confirm your booking"}
    left = portal.visitor().get(week(link(), weeks=2)).windows
    physician_free_again = [value for _form, value in forms if value not in left]
    assert len(set(physician_free_again)) <= 1
    assert portal.visitor().get(path).heading == "Your visit is booked"


def test_a_time_taken_meanwhile_is_refused_with_fresh_times(
    anybody: Visitor, portal: PortalThread, link: Link
) -> None:
    path = link()
    slow = anybody.get(week(path, weeks=3)).form(path)
    chosen = slow.page.windows[2]
    other = link(sample_id("prospect", "noor"))
    portal.visitor().get(week(other, weeks=3)).form(other).submit(window=chosen)
    page = slow.submit(window=chosen, status=409)
    assert "That time isn’t free any more" in page.words
    assert chosen not in page.windows
    nearest = [starts(value) for value in page.windows[:3]]
    assert page.select("fieldset legend")[0].text_content() == "Nearest free times"
    assert all(abs(start - starts(chosen)) <= timedelta(hours=2) for start in nearest), nearest
    assert page.form(path).submit(window=page.windows[0]).heading == "Your visit is booked"


def starts(value: str) -> datetime:
    return datetime.strptime(value.partition("/")[0], "%Y-%m-%dT%H:%MZ")


def test_one_day_is_shown_at_a_time_with_links_to_the_others(anybody: Visitor, link: Link) -> None:
    page = anybody.get(week(link()))
    days = page.select(".day-strip li")
    assert len(days) == 7
    (shown,) = page.select(".day-strip [aria-current=date]")
    assert len({starts(value).date() for value in page.windows}) == 1
    other = next(a for a in page.select(".day-strip a") if a is not shown)
    after = anybody.get(str(other["href"]))
    assert {starts(value).date() for value in page.windows} != {
        starts(value).date() for value in after.windows
    }
    assert len(after.select(".day-strip [aria-current=date]")) == 1


@pytest.mark.parametrize("day", ["yesterday", "2020-01-01", "9999-12-31", "%00"])
def test_a_day_outside_the_week_shows_the_first_day_with_times(
    anybody: Visitor, link: Link, day: str
) -> None:
    path = week(link())
    assert anybody.get(f"{path}&day={day}").windows == anybody.get(path).windows


@pytest.mark.parametrize("window", ["2026", "9999-99-99T99:99Z/x", "T/", "0001-01-01T00:00+14:00Z/x", "\x00"])
def test_an_invalid_time_is_refused_with_the_free_times(anybody: Visitor, link: Link, window: str) -> None:
    path = link()
    page = anybody.get(week(path)).form(path).submit(window=window, status=409)
    assert "Nothing was booked" in page.words and page.windows


def test_submitting_without_a_time_is_an_error(anybody: Visitor, link: Link) -> None:
    path = link()
    page = anybody.get(week(path)).form(path).submit(status=422)
    assert "Choose a time." in page.words


def test_a_closed_enquiry_is_explained_and_does_not_use_up_the_link(anybody: Visitor, link: Link) -> None:
    path = link(RUTH)
    form = anybody.get(week(path)).form(path)
    page = form.submit(window=form.page.windows[0], status=403)
    assert "This link can’t be used any more" in page.heading
    assert anybody.get(path).heading == "Book your first visit"


def test_a_second_link_says_that_a_visit_is_booked_and_books_no_other(anybody: Visitor, link: Link) -> None:
    for path, heading in ((link(), "Your visit is booked"), (link(), "You already have a visit")):
        form = anybody.get(week(path)).form(path)
        page = form.submit(window=form.page.windows[-1], status=None)
        assert page.heading == heading


def test_a_missing_enquiry_is_explained(anybody: Visitor, link: Link) -> None:
    path = link(sample_id("prospect", "nobody"))
    form = anybody.get(week(path)).form(path)
    assert "can’t be used" in form.submit(window=form.page.windows[0], status=404).heading


@pytest.mark.asvs("8.4.1")
def test_a_link_is_not_found_on_another_clinics_host(portal: PortalThread, link: Link) -> None:
    assert portal.visitor("harbour").get(link(), status=404)


def test_a_clinic_without_a_calendar_is_explained(portal: PortalThread, link: Link) -> None:
    page = portal.visitor("harbour").get(link(clinic="harbour"), status=501)
    assert "doesn’t offer this here" in page.words


@pytest.mark.parametrize("signed", ["nonsense", "a.b", "%C3%A9", "x" * 3000])
def test_an_invalid_link_is_not_found(anybody: Visitor, signed: str) -> None:
    anybody.get(f"/book/{signed}", status=404)


def test_an_expired_link_is_explained_and_books_nothing(
    anybody: Visitor, portal: PortalThread, link: Link
) -> None:
    path = link(days=1)
    form = anybody.get(week(path)).form(path)
    other = portal.visitor()
    portal.clock.advance(25 * 3600)
    try:
        page = other.get(path, status=410)
        assert page.heading == "This link has expired"
        token = page.tree.select_one("input[name=csrf_token]")
        assert token is not None
        fields = {"window": form.page.windows[0], "csrf_token": str(token["value"])}
        assert other.request("POST", path, data=fields, status=410).heading == "This link has expired"
    finally:
        portal.clock.advance(-25 * 3600)


def test_what_was_booked_is_shown_until_after_the_visit_although_the_link_has_expired(
    anybody: Visitor, portal: PortalThread, link: Link
) -> None:
    path = link(days=1)
    form = anybody.get(week(path, weeks=2)).form(path)
    booked = form.submit(window=form.page.windows[0])
    portal.clock.advance(10 * 24 * 3600)
    try:
        assert anybody.get(path).heading == booked.heading == "Your visit is booked"
    finally:
        portal.clock.advance(-10 * 24 * 3600)


def test_a_post_without_its_token_is_refused(anybody: Visitor, link: Link) -> None:
    path = link()
    form = anybody.get(week(path)).form(path)
    form.submit(window=form.page.windows[0], csrf_token="forged", status=400)
    assert anybody.get(path).heading == "Book your first visit"


def test_a_lost_response_is_explained_and_the_link_does_not_book_again(
    anybody: Visitor, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal.services.errors import Unavailable
    from portal.views.booking import visit

    calls: list[str] = []

    def lost(care: object, prospect_id: str, **sent: object) -> None:
        calls.append(prospect_id)
        raise Unavailable("timed out", outcome_known=False)

    monkeypatch.setattr(visit, "book_window", lost)
    path = link()
    form = anybody.get(week(path)).form(path)
    page = form.submit(window=form.page.windows[0], status=503)
    assert page.heading == "We couldn’t confirm your booking"
    assert form.submit(window=form.page.windows[1]).heading == page.heading
    assert calls == [TOMASZ]


def test_a_definite_failure_leaves_the_link_usable(
    anybody: Visitor, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal.services.errors import Unavailable
    from portal.views.booking import visit

    def down(care: object, prospect_id: str, **sent: object) -> None:
        error = Unavailable("refused")
        error.is_undone = True
        raise error

    path = link()
    form = anybody.get(week(path)).form(path)
    with monkeypatch.context() as patch:
        patch.setattr(visit, "book_window", down)
        form.submit(window=form.page.windows[0], status=503)
    assert form.submit(window=form.page.windows[0]).heading == "Your visit is booked"


def test_a_rate_limited_request_is_told_when_to_retry(service: CareService) -> None:
    plan = service.plan
    hurried = PortalThread(
        type(plan)(free_port(), plan.service_port, plan.data, plan.secrets), PORTAL_LIMIT_BOOKING="3 per hour"
    )
    try:
        links = hurried.app.extensions["booking"].links
        signed = links.make(clinic="riverside", prospect_id=TOMASZ, lifetime=timedelta(days=1))
        visitor = hurried.visitor()
        for _ in range(3):
            visitor.get(f"/book/{signed}")
        page = visitor.get(f"/book/{signed}", status=429)
        assert page.heading == "Please wait a moment"
        assert "You can try again at" in page.words
        assert int(page.headers["Retry-After"]) > 60
    finally:
        hurried.stop()


def test_the_token_is_shared_and_renewed_after_a_refusal(portal: PortalThread) -> None:
    from portal.signin.service_client import ServiceBearer

    the = portal.context
    tenant = the.settings.tenants.by_key["riverside"]
    provider = the.sign_in.provider(tenant)
    bearer = ServiceBearer(tenant.service_client, provider, the.settings.timeouts, portal.clock)
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(lambda _: bearer.token(), range(16)))
    assert len(tokens) == 1
    (first,) = tokens
    with ThreadPoolExecutor(8) as pool:
        renewed = set(pool.map(lambda _: bearer.renew(first), range(16)))
    assert len(renewed) == 1 and first not in renewed
    portal.clock.advance(3600)
    try:
        assert bearer.token() not in {first, *renewed}
    finally:
        portal.clock.advance(-3600)


def test_the_token_request_has_the_four_fields_of_the_specification(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    from urllib.parse import parse_qs

    from portal.config.variables import Timeouts
    from portal.http import transport
    from portal.signin.service_client import ServiceBearers

    seen: list[transport.Call] = []
    send = transport.send

    def watched(call: transport.Call, **how: bool) -> transport.Answer:
        seen.append(call)
        return send(call, **how)

    the = portal.context
    tenant = the.settings.tenants.by_key["riverside"]
    provider = the.sign_in.provider(tenant)
    provider.metadata()
    monkeypatch.setattr(transport, "send", watched)
    bearers = ServiceBearers(Timeouts(connect=1.25, read=6.5), portal.clock)
    bearers.of(tenant, tenant.service_client, provider).token()
    (call,) = seen
    assert (call.connect_timeout, call.timeout) == (1.25, 6.5)
    assert call.method == "POST" and urlsplit(call.url).path == "/connect/token"
    sent = parse_qs((call.body or b"").decode())
    assert set(sent) == {"grant_type", "client_id", "client_secret", "scope"}
    assert sent["grant_type"] == ["client_credentials"] and sent["scope"] == ["ClientelePortal"]
    headers = {name.lower(): value for name, value in call.headers}
    assert headers["content-type"].startswith("application/x-www-form-urlencoded")
    assert "authorization" not in headers


@pytest.mark.parametrize(
    ("at", "number", "said"),
    [
        (datetime(2027, 3, 1, 10), "+442079460120", "Call 020 7946 0120 · Open until 18:00."),
        (
            datetime(2027, 3, 1, 23),
            "+442079460199",
            "Out of hours, call 020 7946 0199 · The clinic opens Tue 2 Mar",
        ),
        (
            datetime(2027, 3, 1, 5),
            "+442079460199",
            "Out of hours, call 020 7946 0199 · The clinic opens today at 08:00.",
        ),
    ],
)
def test_every_page_has_the_telephone_number_that_is_answered_now(
    portal: PortalThread, anybody: Visitor, at: datetime, number: str, said: str
) -> None:
    before = portal.clock.ahead
    portal.clock.now = at.replace(tzinfo=ZoneInfo("Europe/London")).timestamp()
    try:
        page = anybody.get("/nowhere", status=404)
    finally:
        portal.clock.ahead = before
    called = [link["href"] for link in page.select("main .reach a, footer .reach a")]
    assert called == [f"tel:{number}"] * 2, "the number is in the advice and in the footer"
    assert said in page.words
