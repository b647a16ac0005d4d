"""What must not look calm: withdrawn consents of a treatment under way, unverified tests, old farewells, urgent news."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

import pytest
from msgspec.structs import replace

from portal.careservice.ids import sample_id
from portal.config.tenants import Side
from portal.services import decoding, notifications
from portal.services.cases import CareStatus
from portal.services.consents.forms import ConsentKind, ConsentStatus
from portal.services.episodes import ConsentBrief, Episode, EpisodeStage, Outcome, TimelineEvent
from portal.services.notifications import Notification, Severity
from portal.services.patients import Patient
from portal.views.episodes.ending import words_of_ending
from portal.views.episodes.view import EpisodeView
from portal.web.filters import today
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
