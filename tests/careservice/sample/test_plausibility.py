"""The sample records are such as a clinic has: hours, medicines, eggs, grades, results and forms agree with one another."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from portal.careservice import database
from portal.careservice.domain.consents.forms import ConsentForm
from portal.careservice.domain.consents.parties import PATIENTS_SIDE
from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.enumerations import (
    EmbryoStatus,
    PgtCall,
    ProtocolType,
    RelationshipType,
    Stage,
)
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Patient, Relationship
from portal.careservice.domain.pgt_results import PgtResult
from portal.careservice.domain.protocols import FertilityProtocol, Medication
from portal.careservice.identity.tables import Tenant
from portal.careservice.sample import people, records
from portal.config.contact import Contact
from portal.config.dose_ranges import range_of, usual_ranges
from portal.config.table import Source, read_table
from portal.demo.stack import tenants_file
from tests.support.stack import plan

MOMENTS = (
    datetime(2026, 11, 24, 9, 0, tzinfo=UTC),
    datetime(2026, 11, 21, 23, 50, tzinfo=UTC),  # a collection on a Wednesday, a visit on a Sunday
    datetime(2027, 3, 25, 8, 0, tzinfo=UTC),  # the clocks change between trigger and collection
    datetime(2027, 10, 28, 8, 0, tzinfo=UTC),
    datetime(2028, 2, 29, 12, 0, tzinfo=UTC),
)
"""When samples are made. None is near Christmas: they are dated from today, so a visit may fall on a holiday."""

_VISITS = {"Scan", "Visit"}
_AT_THE_CLINIC = {Stage.RETRIEVAL, Stage.TRANSFER}


@dataclass(frozen=True)
class Sample:
    """All sample records of one moment, and the hours of the demo's clinics by tenant."""

    session: Session
    contacts: dict[str, Contact]

    def of_zone(self, tenant_id: str) -> ZoneInfo:
        return ZoneInfo(self.session.get_one(Tenant, tenant_id).time_zone)

    def plans(self) -> list[tuple[FertilityProtocol, Episode]]:
        pairs = select(FertilityProtocol, Episode).join(Episode, Episode.id == FertilityProtocol.episode_id)
        return [(protocol, episode) for protocol, episode in self.session.execute(pairs)]

    def moment(self, protocol: FertilityProtocol, day: int, at: str) -> datetime:
        assert protocol.start_date is not None
        on = protocol.start_date + timedelta(days=day - 1)
        return datetime.combine(on, time.fromisoformat(at), self.of_zone(protocol.tenant_id)).astimezone(UTC)

    def embryos(self) -> list[EmbryoStorage]:
        return list(self.session.scalars(select(EmbryoStorage).order_by(EmbryoStorage.embryo_code)))

    def results(self) -> list[PgtResult]:
        return list(self.session.scalars(select(PgtResult).order_by(PgtResult.embryo_code)))


@pytest.fixture(scope="module", params=MOMENTS, ids=lambda moment: f"{moment:%a %d %b %Y}")
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sample]:
    folder: Path = tmp_path_factory.mktemp("plausible")
    engine = database.connect(f"sqlite:///{folder / 'care.db'}")
    database.Base.metadata.create_all(engine)
    with database.new_session(engine) as session:
        people.add(session, "a password for tests")
        session.flush()
        records.add(session, request.param)
        session.flush()
        yield Sample(session, _contacts(folder))
    engine.dispose()


def _contacts(folder: Path) -> dict[str, Contact]:
    found: dict[str, Contact] = {}
    for table in tomllib.loads(tenants_file(plan(folder)))["tenants"].values():
        source = Source({}, folder, table, table["contact"])
        found[table["tenant_id"]] = read_table(Contact, table["contact"], source, "a contact")
    return found


def test_eggs_are_collected_as_long_after_the_trigger_as_they_ripen(sample: Sample) -> None:
    seen = 0
    for protocol, episode in sample.plans():
        for trigger in (one for one in protocol.medications if one.is_trigger):
            given = sample.moment(protocol, trigger.start_day, trigger.times[0])
            assert _is_ripe(given, _collection(episode)), (episode.number, given)
            seen += 1
    for episode in sample.session.scalars(select(Episode)):
        steps = {event.stage: event.occurred_at for event in episode.timeline}
        if Stage.TRIGGER in steps:
            assert _is_ripe(steps[Stage.TRIGGER], steps[Stage.RETRIEVAL]), episode.number
            seen += 1
    assert seen == 3, "Amelia's plan, Grace's plan and what was noted of it"


def _is_ripe(trigger: datetime, collection: datetime) -> bool:
    return timedelta(hours=34) <= collection - trigger <= timedelta(hours=37)


def _collection(episode: Episode) -> datetime:
    planned = [one.start for one in episode.appointments if one.kind == "Egg collection"]
    happened = [one.occurred_at for one in episode.timeline if one.stage == Stage.RETRIEVAL]
    (moment,) = planned or happened
    return moment


def test_visits_fall_in_the_clinics_hours(sample: Sample) -> None:
    seen: set[str] = set()
    for episode in sample.session.scalars(select(Episode)):
        zone, contact = sample.of_zone(episode.tenant_id), sample.contacts[episode.tenant_id]
        spans = [(one.kind, one.start, one.end) for one in episode.appointments] + [
            (one.title, one.occurred_at, one.occurred_at)
            for one in episode.timeline
            if one.kind in _VISITS or one.stage in _AT_THE_CLINIC
        ]
        for what, start, end in spans:
            closes = contact.closes(start.astimezone(zone))
            assert closes is not None, (what, start.astimezone(zone))
            assert end.astimezone(zone).time() <= closes, (what, end.astimezone(zone))
            seen.add(what)
        assert {one.time_zone for one in episode.appointments} <= {zone.key}
    assert {"Monitoring scan", "Egg collection", "Second scan"} <= seen


def test_no_medicine_outlasts_its_stop(sample: Sample) -> None:
    for protocol, episode in sample.plans():
        for one in protocol.medications:
            assert one.times, f"{one.drug} has no hour"
            assert one.end_day is None or one.start_day <= one.end_day, one.drug
            assert (one.end_day is None) == (one.stop_rule is not None), f"{one.drug} ends in one way"
        trigger = next((one for one in protocol.medications if one.is_trigger), None)
        for one in protocol.medications if trigger else ():
            if one.drug_class == "Luteal support":
                begins = min(sample.moment(protocol, one.start_day, at) for at in one.times)
                assert begins > _collection(episode), "luteal support begins after egg collection"
            elif not one.is_trigger:
                assert one.last_dose_day is None and _last(one, trigger) <= trigger.start_day, one.drug


def _last(medication: Medication, trigger: Medication) -> int:
    """Its last day; what ends at the trigger isn't given on the trigger's evening."""
    if medication.stop_rule == "Until trigger":
        return trigger.start_day - (max(medication.times) > "12:00")
    assert medication.end_day is not None
    return medication.end_day


def test_doses_are_usual_and_names_are_spelt_in_one_way(sample: Sample) -> None:
    for protocol, _ in sample.plans():
        for one in protocol.medications:
            usual = range_of(usual_ranges(), one.drug, one.unit, one.route)
            assert usual is not None and usual.least <= one.dose <= usual.most, (one.drug, one.dose)
            assert not re.match("estradiol", one.drug, re.IGNORECASE)
            if re.search("progesterone|oestradiol", one.drug, re.IGNORECASE) and one.end_day != one.start_day:
                assert len(one.times) > 1, f"{one.drug} is taken more than once a day"


def test_a_medicated_transfer_has_oestrogen_before_progesterone(sample: Sample) -> None:
    (protocol, episode) = next(both for both in sample.plans() if both[0].type == ProtocolType.FET_MEDICATED)
    begins = {
        one.drug_class: sample.moment(protocol, one.start_day, one.times[0]) for one in protocol.medications
    }
    transfer = next(one.occurred_at for one in episode.timeline if one.stage == Stage.TRANSFER)
    assert begins["Oestrogen"] < begins["Luteal support"] < transfer
    assert timedelta(days=4) < transfer - begins["Luteal support"] < timedelta(days=7)


def test_eggs_come_from_follicles_that_were_measured(sample: Sample) -> None:
    seen = 0
    for episode in sample.session.scalars(select(Episode)):
        for event in episode.timeline:
            if not (found := re.fullmatch(r"(\d+) eggs, (\d+) mature", event.note or "")):
                continue
            eggs, mature = map(int, found.groups())
            assert mature <= eggs
            if episode.monitoring:
                last = episode.monitoring[-1].follicles
                assert eggs <= len(last.left or ()) + len(last.right or ()), episode.number
                seen += 1
    assert seen


def test_cycle_days_count_from_the_episodes_first_day(sample: Sample) -> None:
    for episode in sample.session.scalars(select(Episode)):
        for look in episode.monitoring:
            assert look.cycle_day == (look.date - episode.start_date).days + 1, (episode.number, look.date)
            assert look.units is not None and look.units.e2 and look.units.lh and look.units.p4


def test_frozen_embryos_have_a_cycle_that_could_make_them(sample: Sample) -> None:
    for one in sample.embryos():
        assert one.grading_system == "Gardner" and re.fullmatch("[3-6][A-C][A-C]", one.grade), one.grade
        assert "C" not in one.grade or one.status == EmbryoStatus.DISCARDED, f"{one.embryo_code} is kept"
        episode = sample.session.get_one(Episode, one.episode_id)
        assert episode.type != ProtocolType.NATURAL_CYCLE
        made = [event.occurred_at.date() for event in episode.timeline if event.stage == Stage.RETRIEVAL]
        if made:
            assert one.cryopreserved_at.date() == made[0] + timedelta(days=one.day), one.embryo_code
        elif episode.type != ProtocolType.FET_MEDICATED:
            assert (one.cryopreserved_at.date() - episode.start_date).days >= 15, one.embryo_code
        assert episode.case.opened_at < one.cryopreserved_at


def test_each_gamete_provider_consents_to_storage_on_a_form_of_their_own(sample: Sample) -> None:
    forms = list(sample.session.scalars(select(ConsentForm).where(ConsentForm.kind == "Storage")))
    for form in forms:
        assert len([one for one in form.required_signers if one.role in PATIENTS_SIDE]) == 1, form.id
    donors = set(
        sample.session.scalars(
            select(Relationship.patient_id).where(Relationship.type == RelationshipType.SPERM_DONOR)
        )
    )
    for one in sample.embryos():
        about = [form for form in forms if form.is_about(one.id) or form.id == one.consent_form_id]
        signers = {signature.person_id for form in about for signature in form.signatures}
        assert len(signers) == (1 if one.patient_id in donors else 2), one.embryo_code
        assert all(form.sent_at and form.sent_at < one.cryopreserved_at for form in about), one.embryo_code


def test_legal_parenthood_is_asked_only_after_donation(sample: Sample) -> None:
    asked = set(
        sample.session.scalars(select(ConsentForm.patient_id).where(ConsentForm.kind == "LegalParenthood"))
    )
    donors = (RelationshipType.SPERM_DONOR, RelationshipType.EMBRYO_DONOR)
    given = set(sample.session.scalars(select(Relationship.patient_id).where(Relationship.type.in_(donors))))
    assert asked <= given


_KARYOTYPE = re.compile(r"(?:4[5-8]),(X[XY]*)\b")


def test_genetic_results_do_not_contradict_themselves(sample: Sample) -> None:
    results = sample.results()
    assert {PgtCall.EUPLOID, PgtCall.LOW_MOSAIC, PgtCall.ANEUPLOID, PgtCall.NO_RESULT} <= {
        one.call for one in results
    }
    for one in results:
        embryo = sample.session.get_one(EmbryoStorage, one.embryo_storage_id)
        assert one.biopsied_at.date() == embryo.cryopreserved_at.date() and 5 <= embryo.day <= 7
        assert one.reported_at is None or one.biopsied_at < one.reported_at
        assert one.released_at is None or (one.reported_at and one.reported_at < one.released_at)
        profile = _KARYOTYPE.search(one.comment or "")
        assert profile is None or profile[1] == one.sex, one.embryo_code
        found = {change.chromosome for change in one.abnormalities}
        assert ("X" in found or "Y" in found) == (one.sex not in (None, "XX", "XY")), one.embryo_code
        limits = one.thresholds
        assert limits is not None
        if one.call == PgtCall.NO_RESULT:
            assert (one.sex, one.comment, one.mosaic_percent, found) == (None, None, None, set())
        elif one.call == PgtCall.EUPLOID:
            assert not found and one.mosaic_percent is None
        else:
            assert found
        if one.call == PgtCall.LOW_MOSAIC:
            assert one.mosaic_percent and limits.euploid_below <= one.mosaic_percent < 50
    sexes = [one.sex for one in results if one.sex]
    assert any(one == other for one, other in pairwise(sexes)), "sex alternates by row"


def test_the_days_of_periods_are_the_years_that_the_forms_name(sample: Sample) -> None:
    for one in sample.embryos():
        frozen = one.cryopreserved_at.date()
        for end, years in ((one.storage_consented_until, 10), (one.statutory_limit, 55)):
            if end is not None:
                assert abs(end - _in_years(frozen, years)) <= timedelta(days=4), one.embryo_code


def _in_years(day: date, years: int) -> date:
    return day.replace(year=day.year + years, day=min(day.day, 28))


def test_stages_follow_one_another_within_their_episode(sample: Sample) -> None:
    order = list(Stage)
    for episode in sample.session.scalars(select(Episode)):
        timeline = sorted(episode.timeline, key=lambda event: event.occurred_at)
        for event, following in pairwise(timeline):
            assert order.index(event.stage) <= order.index(following.stage), (episode.number, following.title)


def test_one_record_is_kept_by_the_clinics_own_system(sample: Sample) -> None:
    assert sample.session.scalars(select(Patient).where(Patient.kept_by_emr)).one().mrn == "HF-20077"
