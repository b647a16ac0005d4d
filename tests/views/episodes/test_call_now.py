"""When to call: the signs and the number that answers now, on each page of a treatment, on Home, and above addresses."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from types import SimpleNamespace

import pytest
from msgspec import structs

from portal.config.tenants import Side
from portal.services.cases import CareStatus
from portal.services.episodes import Episode, EpisodeStage, MonitoringDay
from portal.services.patients import Patient
from portal.views.episodes import view
from portal.web import clinic_contact
from tests.careservice.api.calls import AMELIA_EPISODE
from tests.support.builders import person
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor

TABS = (
    "",
    "/timeline",
    "/monitoring",
    "/medication",
    "/appointments",
    "/embryos",
    "/documents",
    "/consents",
    "/team",
)
SIGNS = ("bleeding", "pain", "breath", "fever", "vomiting", "urine", "shoulder", "missed", "leg")


def test_home_and_each_page_of_a_treatment_say_when_to_call(amelia: Visitor) -> None:
    for address in ("/", *(f"/episodes/{AMELIA_EPISODE}{tab}" for tab in TABS)):
        (card,) = amelia.get(address).select(".call-now")
        words = card.words
        assert "Call now if you have" in words, address
        assert all(sign in words for sign in SIGNS), address
        assert card.select("a[href^='tel:+44']"), address
        assert "call 999" in words, address


def test_staff_read_no_advice_to_call(portal: PortalThread) -> None:
    assert not portal.sign_in("nora").get(f"/episodes/{AMELIA_EPISODE}").select(".call-now")


def test_the_number_and_the_reply_time_stand_above_the_address_to_write_to(amelia: Visitor) -> None:
    inbox = amelia.get("/conversations")
    page = amelia.get(str(inbox.select(".link-row")[0]["href"]))
    reply = page.select(".reply")[0].words
    assert "messages aren’t read at once" in reply
    assert "We aim to answer within 24 hours on days when the clinic is open." in reply
    assert reply.index("020 7946") < reply.index("within 24 hours") < reply.index("Reply by e-mail")
    team = amelia.get("/care-team").select("main")[0].words
    assert team.index("020 7946") < team.index("within 24 hours")


def test_the_dialog_of_an_ended_session_has_both_numbers(amelia: Visitor) -> None:
    ended = amelia.get("/").select("[data-session=ended]")[0].words
    assert "Clinic: 020 7946 0120" in ended
    assert "Out of hours: 020 7946 0199" in ended


@pytest.mark.parametrize(
    ("stage", "is_said"),
    [
        *((EpisodeStage.PLANNED, False), (EpisodeStage.BASELINE, False), (EpisodeStage.STIMULATION, True)),
        *((EpisodeStage.FREEZE, True), (EpisodeStage.LUTEAL_SUPPORT, True), (EpisodeStage.EARLY_SCAN, True)),
        *((EpisodeStage.ENDED, False), (None, True)),
    ],
)
def test_it_is_said_from_stimulation_to_the_early_scan(
    stage: EpisodeStage | None, is_said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "today", lambda: date(2026, 11, 23))
    monkeypatch.setattr(view, "g", SimpleNamespace(tenant=SimpleNamespace(time_zone=UTC)))
    episode = Episode(id="e", stage=stage, status=CareStatus.ACTIVE, patient=Patient(id="p"))
    assert view.EpisodeView(episode, person()).needs_call_now is is_said
    assert not view.EpisodeView(episode, person("nora", Side.STAFF)).needs_call_now


def test_it_is_said_for_two_weeks_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "today", lambda: date(2026, 11, 23))
    monkeypatch.setattr(view, "g", SimpleNamespace(tenant=SimpleNamespace(time_zone=UTC)))
    ended = Episode(
        id="e", stage=EpisodeStage.EARLY_SCAN, status=CareStatus.FINISHED, patient=Patient(id="p")
    )
    for day, is_said in ((9, True), (8, False)):
        episode = structs.replace(ended, end_date=date(2026, 11, day))
        assert view.EpisodeView(episode, person()).needs_call_now is is_said
        seen = structs.replace(ended, monitoring=(MonitoringDay(date=date(2026, 11, day)),))
        assert view.EpisodeView(seen, person()).needs_call_now is is_said, "the end isn't given"
    assert view.EpisodeView(ended, person()).needs_call_now, "nothing is known of when it ended"


@pytest.mark.parametrize(
    ("closed", "at", "number", "other"),
    [
        (("2026-12-25", "2027-01-01"), (23, 12), "0120", None),
        (("2026-12-25", "2027-01-01"), (23, 21), "0199", None),
        (("2026-12-25", "2027-01-01"), (25, 12), "0199", None),
        ((), (23, 12), "0120", "0199"),
        ((), (23, 21), "0199", "0120"),
    ],
)
def test_the_number_that_answers_now_comes_first_and_both_if_that_isnt_sure(
    portal: PortalThread,
    monkeypatch: pytest.MonkeyPatch,
    closed: tuple[str, ...],
    at: tuple[int, int],
    number: str,
    other: str | None,
) -> None:
    monkeypatch.setattr(clinic_contact, "now", lambda: datetime(2026, 12, *at, tzinfo=UTC))
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        tenant = clinic_contact.g.tenant
        days = frozenset(map(date.fromisoformat, closed))
        clinic_contact.g.tenant = replace(tenant, contact=replace(tenant.contact, closed=days))
        line = clinic_contact.line_now()
    assert line is not None
    assert line.number.endswith(number)
    assert (line.other or "None")[-4:] == (other or "None")
