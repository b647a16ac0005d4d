"""What must not look calm: withdrawn consents of a treatment under way, unverified tests, old farewells, urgent news."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta

import pytest
from msgspec.structs import replace

from portal.careservice.ids import sample_id
from portal.config.tenants import Side
from portal.services import decoding, notifications
from portal.services.cases import CareStatus
from portal.services.consents.forms import ConsentKind, ConsentStatus
from portal.services.episodes import Alert, ConsentBrief, Episode, EpisodeStage, Outcome, TimelineEvent
from portal.services.notifications import Notification, Severity
from portal.services.patients import Patient
from portal.views.episodes.ending import words_of_ending
from portal.views.episodes.view import EpisodeView
from portal.web.alerts import ClinicAlert
from portal.web.filters import day, today
from tests.careservice.api.calls import AMELIA_EPISODE
from tests.support.builders import person
from tests.support.signing import change_record, consent, fresh_form
from tests.support.stack import CareService, PortalThread

ENDED = date(2026, 9, 1)


def episode(**members: object) -> Episode:
    return Episode(**{"id": "e", "status": CareStatus.ACTIVE, "patient": Patient(id="p"), **members})  # type: ignore[arg-type]


def form(kind: ConsentKind, status: ConsentStatus) -> ConsentBrief:
    return ConsentBrief(id=f"{kind}-{status}", title=f"About {kind}", kind=kind, status=status)


def test_forms_that_a_live_treatment_rests_on_are_told_when_withdrawn() -> None:
    others = [status for status in ConsentStatus if status is not ConsentStatus.SIGNED]
    forms = tuple(form(kind, status) for kind in ConsentKind for status in others)
    told = episode(consent_forms=forms).withdrawn
    kinds = (ConsentKind.TREATMENT, ConsentKind.STORAGE, ConsentKind.LEGAL_PARENTHOOD)
    assert {one.id for one in told} == {f"{kind}-Revoked" for kind in kinds}
    assert not episode(consent_forms=forms, status=CareStatus.FINISHED).withdrawn
    anew = form(ConsentKind.TREATMENT, ConsentStatus.SIGNED)
    partners = form(ConsentKind.STORAGE, ConsentStatus.SIGNED)
    told = episode(consent_forms=(*forms, anew, partners)).withdrawn
    assert {one.kind for one in told} == {ConsentKind.STORAGE, ConsentKind.LEGAL_PARENTHOOD}
    another = replace(anew, title="Consent to embryo transfer")
    assert {one.kind for one in episode(consent_forms=(*forms, another)).withdrawn} == set(kinds)


T, S, P = ConsentKind.TREATMENT, ConsentKind.STORAGE, ConsentKind.LEGAL_PARENTHOOD
SIGNED = ConsentStatus.SIGNED


@pytest.mark.parametrize(
    ("kind", "others", "has_partner", "is_told"),
    [
        *((kind, [], False, True) for kind in (T, S, P)),
        *((kind, [], False, False) for kind in ConsentKind if kind not in (T, S, P)),
        *((T, [(T, "a", status)], False, False) for status in (SIGNED, ConsentStatus.PENDING, ConsentStatus.PARTIALLY_SIGNED)),
        *((T, [(T, "a", status)], False, True) for status in (ConsentStatus.DRAFT, ConsentStatus.REVOKED, ConsentStatus.SUPERSEDED)),
        *((T, [(kind, title, SIGNED)], False, True) for kind, title in ((T, "b"), (S, "a"))),
        (T, [(T, " A", SIGNED)], True, False),
        (S, [(S, "a", SIGNED)], False, False),
        (S, [(S, "a", SIGNED)], True, True),
        (S, [(S, "a", SIGNED), (S, "b", SIGNED)], True, True),
        (S, [(S, "a", SIGNED), (S, "a", ConsentStatus.PENDING)], True, False),
        (P, [(P, "a", SIGNED), (S, "b", SIGNED)], True, True),
        (P, [(P, "a", SIGNED), (P, "b", SIGNED)], True, False),
    ],
)  # fmt: skip
def test_a_form_that_expired_is_lacking_until_it_is_there_anew(
    kind: ConsentKind, others: list[tuple[ConsentKind, str, ConsentStatus]], has_partner: bool, is_told: bool
) -> None:
    """Of each of the two, where there are two and each has their own."""
    told = [(kind, "a", ConsentStatus.EXPIRED), *others]
    forms = tuple(
        ConsentBrief(id=str(number), kind=of, title=title, status=status)
        for number, (of, title, status) in enumerate(told)
    )
    treatment = episode(consent_forms=forms, partner=Patient(id="q") if has_partner else None)
    assert ("0" in {one.id for one in treatment.unsigned}) is is_told
    assert "0" not in {one.id for one in replace(treatment, status=CareStatus.FINISHED).unsigned}
    before_transfer = is_told and kind in (T, P)
    assert ("0" in {one.id for one in treatment.unsigned_before_transfer}) is before_transfer


@pytest.mark.parametrize("kind", list(ConsentKind))
def test_a_transfer_waits_for_a_form_that_the_clinic_has_not_sent(kind: ConsentKind) -> None:
    for status in ConsentStatus:
        waits = status in (ConsentStatus.DRAFT, ConsentStatus.PENDING, ConsentStatus.PARTIALLY_SIGNED)
        told = episode(consent_forms=(form(kind, status),)).unsigned_before_transfer
        assert bool(told) is (kind in (T, P) and (waits or status is ConsentStatus.EXPIRED)), status


@pytest.fixture
def withdrawn(service: CareService) -> Iterator[str]:
    """The address of a treatment form of Amelia's present treatment that she signed and then withdrew."""
    form = fresh_form(service.plan, signed=True)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.000000")
    change_record(service.plan, form, status="Revoked", title="About treatment", revoked_at=now)
    signed = consent("amelia-treatment-2")
    change_record(service.plan, signed, status="Superseded")
    yield form
    change_record(service.plan, form, kind="Research")
    change_record(service.plan, signed, status="Signed")


PAGES = [f"/episodes/{AMELIA_EPISODE}{tab}" for tab in ("", "/timeline", "/medication", "/appointments")]
PLAN = f"/protocols/{sample_id('protocol', 'amelia')}"
RECORD = f"/patients/{sample_id('patient', 'amelia')}/edit?episode={AMELIA_EPISODE}"
CASE = f"/cases/{sample_id('case', 'amelia')}/edit?episode={AMELIA_EPISODE}"


@pytest.mark.parametrize(
    ("name", "pages", "words"),
    [
        ("amelia", ["/", *PAGES], "Call the clinic before your next injection or visit."),
        ("nora", [*PAGES, PLAN, RECORD], "Read the form before anything"),
        ("victor", [PLAN, f"{PLAN}/edit", RECORD, CASE], "Read the form before anything"),
    ],
)
def test_each_page_of_the_treatment_says_so(
    portal: PortalThread, withdrawn: str, name: str, pages: list[str], words: str
) -> None:
    visitor = portal.sign_in(name)
    for address in pages:
        page = visitor.get(address)
        assert "Consent withdrawn or declined" in page.words, address
        assert page.select(f"main a[href='{withdrawn}']"), address
        assert words in page.words, address


@pytest.mark.parametrize("name", ["nora", "victor", "elif", "colin", "ada"])
def test_the_first_page_of_everybody_at_work_names_withdrawn_forms(
    portal: PortalThread, service: CareService, withdrawn: str, name: str
) -> None:
    visitor = portal.sign_in(name)
    shown = visitor.get("/").select(f"#withdrawn a[href='{withdrawn}']")
    assert [link.words for link in shown] == ["Amelia Hart · Treatment"]
    long_ago = (datetime.now(UTC) - timedelta(days=57)).strftime("%Y-%m-%d %H:%M:%S.000000")
    change_record(service.plan, withdrawn, revoked_at=long_ago)
    assert not visitor.get("/").select(f"#withdrawn a[href='{withdrawn}']")


@pytest.mark.parametrize("stage", [EpisodeStage.PREGNANCY_TEST, EpisodeStage.EARLY_SCAN])
def test_a_patient_reads_a_pregnancy_test_once_it_is_verified(
    portal: PortalThread, stage: EpisodeStage
) -> None:
    at = datetime(2026, 11, 20, tzinfo=UTC)
    events = tuple(
        TimelineEvent(id=str(verified), stage=stage, title="Test", occurred_at=at, verified=verified)
        for verified in (True, False)
    )
    with portal.app.test_request_context("/", base_url=portal.origin()):
        read = EpisodeView(episode(timeline=events), person()).events
        by_staff = EpisodeView(episode(timeline=events), person("nora", Side.STAFF)).events
    assert [event.verified for event in read] == [True]
    assert len(by_staff) == 2


@pytest.mark.parametrize(
    ("day", "is_told"), [(date(2026, 9, 2), True), (date(2026, 11, 24), True), (date(2026, 11, 25), False)]
)
def test_a_pregnancy_is_spoken_of_for_twelve_weeks(portal: PortalThread, day: date, is_told: bool) -> None:
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        ended = episode(status=CareStatus.FINISHED, outcome=Outcome.PREGNANCY, end_date=ENDED)
        words = " ".join(words_of_ending(ended, day, is_own=True))
        partners = words_of_ending(ended, day, is_own=False)[1]
    assert ("pregnant" in words) is is_told
    assert ("left our care pregnant" in partners) is is_told
    assert "You left" not in partners


@pytest.mark.parametrize("outcome", [Outcome.PREGNANCY, Outcome.NO_PREGNANCY])
@pytest.mark.parametrize("verified", [True, False])
def test_an_outcome_is_told_once_its_test_is_verified(
    portal: PortalThread, outcome: Outcome, verified: bool
) -> None:
    test = TimelineEvent(id="t", stage=EpisodeStage.PREGNANCY_TEST, verified=verified)
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        ended = episode(status=CareStatus.FINISHED, outcome=outcome, end_date=ENDED, timeline=(test,))
        assert ("pregnan" in " ".join(words_of_ending(ended, ENDED, is_own=True))) is verified


def test_urgent_news_and_withdrawals_come_first() -> None:
    news = [
        Notification(id="visit", type="AppointmentReminder", entity_type="Episode"),
        Notification(id="form", type="ConsentRequested", entity_type="ConsentForm"),
        Notification(id="withdrawn", type="ConsentRevoked", entity_type="ConsentForm"),
        Notification(id="urgent", severity=Severity.URGENT, entity_type="Episode"),
    ]
    shown = notifications.notable(decoding.PagedResult(items=tuple(news), total_count=len(news)))
    assert [one.id for one in shown] == ["withdrawn", "urgent", "visit"]


CAUTION = "Your doctor hasn’t confirmed this yet. Doses follow only what the clinic tells you."


@pytest.fixture
def unverified(service: CareService) -> Iterator[None]:
    """Amelia's scans and past events, which nobody has verified."""

    def verify(is_verified: int) -> None:
        with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database, database:
            for table in ("monitoring", "timeline_events"):
                change = f"UPDATE {table} SET verified = ? WHERE episode_id = ?"  # noqa: S608
                database.execute(change, (is_verified, AMELIA_EPISODE))

    verify(0)
    yield
    verify(1)


def test_what_nobody_has_verified_says_so_wherever_a_patient_reads_it(
    portal: PortalThread, unverified: None
) -> None:
    amelia, nora = portal.sign_in("amelia"), portal.sign_in("nora")
    page = amelia.get(f"/episodes/{AMELIA_EPISODE}/monitoring")
    places = ("#tab > p", ".chart figcaption", ".chart desc", "tbody th", "figure")
    for place in places:
        assert any(CAUTION in found.words for found in page.select(place)), place
    days = page.select(".chart-day")
    assert days and all(CAUTION in str(day["aria-label"]) for day in days)
    rows = page.select("tbody tr")
    assert rows and all(CAUTION in row.words for row in rows)
    for tab in ("", "/timeline"):
        events = amelia.get(f"/episodes/{AMELIA_EPISODE}{tab}").select(".event[data-state=past]")
        assert events and all(CAUTION in event.words for event in events)
    for tab in ("", "/timeline", "/monitoring"):
        shown = nora.get(f"/episodes/{AMELIA_EPISODE}{tab}")
        assert CAUTION not in str(shown.tree) and "Not checked yet" in shown.words


def test_what_is_verified_has_no_caution(portal: PortalThread, service: CareService) -> None:
    amelia = portal.sign_in("grace")
    for tab in ("/timeline", "/monitoring"):
        assert CAUTION not in str(amelia.get(f"/episodes/{sample_id('episode', 'grace-2')}{tab}").tree)


@pytest.mark.parametrize(
    ("days", "outcome", "told"),
    [
        *((13, None, "13 days after the transfer"), (14, None, "2 weeks after the transfer")),
        *((43, None, None), (20, Outcome.NO_PREGNANCY, None)),
    ],
)
def test_days_since_a_transfer_are_counted_until_its_outcome(
    portal: PortalThread, days: int, outcome: Outcome | None, told: str | None
) -> None:
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        at = datetime.combine(today() - timedelta(days=days), time(12), UTC)
        done = TimelineEvent(id="t", stage=EpisodeStage.TRANSFER, occurred_at=at, verified=True)
        before = replace(done, id="before", occurred_at=at - timedelta(days=2))
        doubted = replace(done, id="doubted", occurred_at=at + timedelta(days=2), verified=False)
        shown = episode(stage=EpisodeStage.EARLY_SCAN, timeline=(done, before, doubted), outcome=outcome)
        assert EpisodeView(shown, person()).day_note == told


def test_an_alert_says_when_it_was_written(portal: PortalThread, service: CareService) -> None:
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        yesterday = day(today() - timedelta(days=1))
        bare = episode(alerts=(Alert(text="No food."),))
        assert EpisodeView(bare, person()).alerts == [ClinicAlert("info", "No food.", "")]
    for name, addresses in (("amelia", ["/", PAGES[0]]), ("nora", [PAGES[0]])):
        visitor = portal.sign_in(name)
        for address in addresses:
            notice = next(
                one
                for one in visitor.get(address).select(".notice, .patient-alerts > li")
                if "empty bladder" in one.text_content()
            )
            assert f"written {yesterday} · until" in notice.words, address
