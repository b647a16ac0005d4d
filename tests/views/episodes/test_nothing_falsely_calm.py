"""What must not look calm: withdrawn consents of a treatment under way, unverified tests, old farewells, urgent news."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

from portal.careservice.ids import sample_id
from portal.config.tenants import Side
from portal.services import decoding
from portal.services.records.cases import CareStatus
from portal.services.records.consents import ConsentKind, ConsentStatus
from portal.services.records.episodes import ConsentBrief, Episode, EpisodeStage, Outcome, TimelineEvent
from portal.services.records.notifications import Notification, Severity
from portal.services.records.patients import Patient
from portal.views import home
from portal.views.episodes.ending import ending_of
from portal.views.episodes.view import EpisodeView
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
    anew = (*forms, form(ConsentKind.TREATMENT, ConsentStatus.SIGNED))
    told = episode(consent_forms=anew).withdrawn
    assert {one.kind for one in told} == {ConsentKind.STORAGE, ConsentKind.LEGAL_PARENTHOOD}


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
    assert [link.get_text(" ", strip=True) for link in shown] == ["Amelia Hart · Treatment"]
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
        words = " ".join(ending_of(ended, day))
    assert ("pregnant" in words) is is_told


def test_urgent_news_and_withdrawals_come_first() -> None:
    news = [
        Notification(id="visit", type="AppointmentReminder", entity_type="Episode"),
        Notification(id="form", type="ConsentRequested", entity_type="ConsentForm"),
        Notification(id="withdrawn", type="ConsentRevoked", entity_type="ConsentForm"),
        Notification(id="urgent", severity=Severity.URGENT, entity_type="Episode"),
    ]
    shown = home.notable(decoding.Page(items=tuple(news), total_count=len(news)))
    assert [one.id for one in shown] == ["withdrawn", "urgent", "visit"]
