"""The sheet of a day: visits and procedures by hour with what is missing, doses, and what wasn't read."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from portal.services.cases import CareStatus, Case
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentForm, ConsentKind, ConsentStatus, Signer, SignerRole
from portal.services.episodes import READ_EPISODE, Appointment, ConsentBrief, Episode
from portal.services.patients import Patient
from portal.services.protocols import LIST_PROTOCOLS, Medication, Protocol, ProtocolStatus
from portal.views import day_sheet
from tests.support.fake_api import FakeApi
from tests.support.visitor import Page, SignIn

LONDON = ZoneInfo("Europe/London")
DAY = date(2027, 3, 9)
SHEET = f"/day-sheet?day={DAY.isoformat()}"
PLAN = Protocol(
    id="pr",
    name="Antagonist",
    status=ProtocolStatus.ACTIVE,
    patient_id="p-2",
    episode_id="2",
    start_date=DAY - timedelta(days=3),
    medications=(Medication(drug="Cetrorelix", dose=0.25, unit="mg", start_day=1, end_day=9, time="19:00"),),
)


def visit(kind: str, hour: int, *, days: int = 0) -> Appointment:
    at = datetime.combine(DAY + timedelta(days=days), time(hour, 30), LONDON)
    return Appointment(id=f"v-{kind}", start=at, kind=kind, time_zone="Europe/London")


def form(id_: str, name: str, *, episode_id: str | None, on: date = DAY) -> ConsentForm:
    return ConsentForm(id=id_, title=f"Consent {id_}", status=ConsentStatus.PENDING, patient_name=name, episode_id=episode_id, procedure_date=on)  # fmt: skip


def holds(fake_api: FakeApi) -> None:
    """Ayşe has an egg collection at 10:30 and a scan on another day, Siân a scan at 8:30 and a dose; Bríd has no treatment."""
    ayse = Patient(
        id="p-1", first_name="Ayşe", last_name="Yıldız", mrn="RF-1", date_of_birth=date(1990, 5, 2)
    )
    sian = Patient(id="p-2", first_name="Siân", last_name="Pugh", mrn="RF-2")
    waiting = (ConsentBrief(id="c-1", title="Consent c-1", status=ConsentStatus.PENDING),)
    episodes = (
        Episode(id="1", status=CareStatus.ACTIVE, patient=ayse, consent_forms=waiting,
                appointments=(visit("Egg collection", 10), visit("Scan", 9, days=1),
                              replace(visit("Blood test", 7), status="Cancelled"))),
        Episode(id="2", status=CareStatus.ACTIVE, patient=sian, protocol=PLAN, appointments=(visit("Scan", 8),)),
    )  # fmt: skip
    fake_api.gives(LIST_PROTOCOLS, [PLAN])
    fake_api.gives(
        LIST_CONSENTS,
        [form("c-1", "Ayşe Yıldız", episode_id="1"), form("c-3", "Bríd O’Shea", episode_id=None)],
    )
    for episode in episodes:
        fake_api.gives(READ_EPISODE, episode, id_=episode.id)


def test_a_withdrawn_consent_stands_with_the_visits_and_doses_of_its_treatment(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    holds(fake_api)
    sian = Patient(id="p-2", first_name="Siân", last_name="Pugh", mrn="RF-2")
    withdrawn = ConsentBrief(
        id="c-9", title="Consent to IVF", status=ConsentStatus.REVOKED, kind=ConsentKind.TREATMENT
    )
    plan = Protocol(
        id="pr", name="Antagonist", status=ProtocolStatus.ACTIVE, start_date=DAY,
        medications=(Medication(drug="Cetrorelix", dose=0.25, unit="mg", start_day=1, end_day=9, time="19:00"),),
    )  # fmt: skip
    fake_api.gives(
        READ_EPISODE,
        Episode(id="2", status=CareStatus.ACTIVE, patient=sian, protocol=plan,
                appointments=(visit("Egg collection", 8),), consent_forms=(withdrawn,)),
        id_="2",
    )  # fmt: skip
    visits, doses = visitor("nora", "nurse").get(SHEET).select("table")
    for table in (visits, doses):
        (row,) = (words for one in table.select("tbody tr") if "Siân" in (words := one.words))
        assert "Withdrawn or declined Consent to IVF" in row and "–" not in row


def test_what_was_not_read_is_said(
    visitor: SignIn, fake_api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    holds(fake_api)
    monkeypatch.setattr(day_sheet, "_MOST", 1)
    assert (
        "1 treatment wasn’t read: its visits and doses are missing here."
        in visitor("nora", "nurse").get(SHEET).words
    )


def test_a_day_after_the_last_dose_has_the_visit_of_an_active_plans_treatment(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    holds(fake_api)
    trigger = Medication(drug="Choriogonadotropin", dose=250, unit="µg", start_day=1, end_day=1, time="21:00")
    plan = Protocol(
        id="pr", name="Antagonist", status=ProtocolStatus.ACTIVE, patient_id="p-1", episode_id="1",
        start_date=DAY - timedelta(days=2), medications=(trigger,),
    )  # fmt: skip
    fake_api.gives(LIST_PROTOCOLS, [plan])
    fake_api.gives(LIST_CONSENTS, [])
    (row,) = visitor("nora", "nurse").get(SHEET).select("table")[0].select("tbody tr")
    assert "Ayşe Yıldız" in row.words and "Egg collection" in row.words


def test_a_dose_of_a_plan_that_belongs_to_no_treatment_stands_with_its_patient(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    cetrorelix = Medication(drug="Cetrorelix", dose=0.25, unit="mg", start_day=1, end_day=9, time="19:00")
    plan = Protocol(
        id="pr", name="Antagonist", status=ProtocolStatus.ACTIVE, patient_id="p-9", patient_name="Ama Boateng",
        start_date=DAY, medications=(cetrorelix,),
    )  # fmt: skip
    fake_api.gives(LIST_PROTOCOLS, [plan, replace(plan, id="template", patient_id=None, patient_name=None)])
    fake_api.gives(LIST_CONSENTS, [])
    page = visitor("nora", "nurse").get(SHEET)
    (row,) = page.select("table tbody tr")
    assert "19:00 Ama Boateng" in row.words and "Cetrorelix" in row.words
    assert row.select("a")[0]["href"] == "/protocols/pr"
    held = Episode(
        id="1", status=CareStatus.ACTIVE, patient=Patient(id="p-9", first_name="Ama"), protocol=plan
    )
    fake_api.gives(READ_EPISODE, held, id_="1")
    fake_api.gives(LIST_CONSENTS, [form("c-1", "Ama", episode_id="1")])
    (row,) = visitor("nora", "nurse").get(SHEET).select("table")[1].select("tbody tr")
    assert row.select("a")[0]["href"] == "/episodes/1", "once, in its treatment"


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-20", "9999-12-31"])
def test_a_day_at_the_ends_of_the_calendar_is_shown(visitor: SignIn, fake_api: FakeApi, day: str) -> None:
    assert visitor("nora", "nurse").get(f"/day-sheet?day={day}").status == 200


def test_no_day_is_called_empty_that_was_not_read_whole(visitor: SignIn, fake_api: FakeApi) -> None:
    holds(fake_api)
    fake_api.gives(LIST_CONSENTS, [])
    fake_api.refuses(READ_EPISODE, 500, id_="2")
    words = visitor("nora", "nurse").get(SHEET).words
    assert "1 treatment wasn’t read: its visits and doses are missing here." in words
    assert "No visit of this day was found in what could be read." in words
    assert "No dose of this day was found in what could be read." in words


def dosed(page: Page) -> list[str]:
    """The rows of the doses."""
    return [row.words for row in page.select("table")[-1].select("tbody tr")]


def test_a_dose_stands_with_whose_plan_it_is(visitor: SignIn, fake_api: FakeApi) -> None:
    holds(fake_api)
    sian, rhys = (
        Patient(id="p-2", first_name="Siân", last_name="Pugh", mrn="RF-2"),
        Patient(id="p-3", first_name="Rhys", last_name="Pugh", mrn="RF-3"),
    )
    for owner, who in ("p-3", "Rhys Pugh"), ("p-2", "Siân Pugh"), ("p-9", "Ama Boateng"):
        plan = replace(PLAN, patient_id=owner, patient_name=who)
        treated = Episode(id="2", status=CareStatus.ACTIVE, patient=sian, partner=rhys, protocol=plan)
        fake_api.gives(READ_EPISODE, treated, id_="2")
        fake_api.gives(LIST_PROTOCOLS, [plan])
        (row,) = dosed(visitor("nora", "nurse").get(SHEET))
        assert f"19:00 {who}" in row


@pytest.mark.parametrize("held", [True, False], ids=["one in the treatment", "none in the treatment"])
def test_each_plan_of_a_treatment_has_its_doses(visitor: SignIn, fake_api: FakeApi, held: bool) -> None:
    holds(fake_api)
    luteal = replace(PLAN.medications[0], drug="Progesterone", time="22:00")
    fake_api.gives(LIST_PROTOCOLS, [PLAN, replace(PLAN, id="pr-2", medications=(luteal,))])
    sian = Patient(id="p-2", first_name="Siân", last_name="Pugh", mrn="RF-2")
    treated = Episode(id="2", status=CareStatus.ACTIVE, patient=sian, protocol=PLAN if held else None)
    fake_api.gives(READ_EPISODE, treated, id_="2")
    first, second = dosed(visitor("nora", "nurse").get(SHEET))
    assert "19:00 Siân Pugh" in first and "Cetrorelix" in first
    assert "22:00 Siân Pugh" in second and "Progesterone" in second


def test_an_active_plan_whose_treatment_is_gone_has_its_doses(visitor: SignIn, fake_api: FakeApi) -> None:
    holds(fake_api)
    fake_api.gives(LIST_PROTOCOLS, [replace(PLAN, patient_name="Siân Pugh")])
    fake_api.refuses(READ_EPISODE, 404, id_="2")
    page = visitor("nora", "nurse").get(SHEET)
    (row,) = dosed(page)
    assert "19:00 Siân Pugh" in row and "wasn’t read" not in page.words


def test_doses_stand_by_the_clock_and_not_by_their_words(visitor: SignIn, fake_api: FakeApi) -> None:
    holds(fake_api)
    times = ("00:30", "09:00", "23:45", None)
    rows = tuple(replace(PLAN.medications[0], drug=f"At {time}", time=time) for time in times)
    others = replace(PLAN, id="other", episode_id=None, patient_name="Ama", start_date=DAY, medications=rows)
    fake_api.gives(LIST_PROTOCOLS, [PLAN, others])
    listed = dosed(visitor("nora", "nurse").get(SHEET))
    drugs = [re.search("At [0-9N][^ ]+|Cetrorelix", row) for row in listed]
    assert [found and found[0] for found in drugs] == [
        "At 09:00",
        "Cetrorelix",
        "At 23:45",
        "At None",
        "At 00:30",
    ]


@pytest.mark.parametrize(
    ("kind", "anew", "missing"),
    [
        (ConsentKind.TREATMENT, [], True),
        (ConsentKind.TREATMENT, [ConsentStatus.SIGNED], False),
        (ConsentKind.LEGAL_PARENTHOOD, [ConsentStatus.SIGNED], True),
        (ConsentKind.LEGAL_PARENTHOOD, [ConsentStatus.SIGNED] * 2, False),
        (ConsentKind.RESEARCH, [], False),
    ],
)
def test_a_form_that_expired_unsigned_is_missing_until_it_is_there_anew(
    visitor: SignIn, fake_api: FakeApi, kind: ConsentKind, anew: list[ConsentStatus], missing: bool
) -> None:
    holds(fake_api)
    expired = ConsentBrief(id="c-1", title="Consent", kind=kind, status=ConsentStatus.EXPIRED)
    forms = (expired, *(replace(expired, id=f"c-{n}", status=status) for n, status in enumerate(anew, 2)))
    treated = Episode(
        id="1",
        status=CareStatus.ACTIVE,
        patient=Patient(id="p-1", first_name="Ayşe"),
        partner=Patient(id="p-3", first_name="Deniz"),
        consent_forms=forms,
        appointments=(visit("Egg collection", 10),),
    )
    fake_api.gives(READ_EPISODE, treated, id_="1")
    (row,) = (
        one.words for one in visitor("nora", "nurse").get(SHEET).select("tbody tr") if "Egg" in one.words
    )
    assert ("Egg collection Consent · Expired" in row) is missing
    assert ("Egg collection –" in row) is not missing
    assert bool(treated.unsigned_before_transfer) is missing


@pytest.mark.parametrize("case", ["k-1", "k-2"])
def test_a_form_of_the_case_is_missing_beside_the_visit_of_its_treatment(
    visitor: SignIn, fake_api: FakeApi, case: str
) -> None:
    holds(fake_api)
    of_case = replace(form("c-5", "Siân Pugh", episode_id=None), patient_id="p-2", case_id=case)
    fake_api.gives(LIST_CONSENTS, [of_case])
    sian = Patient(id="p-2", first_name="Siân", last_name="Pugh")
    treated = Episode(
        id="2",
        status=CareStatus.ACTIVE,
        patient=sian,
        protocol=PLAN,
        case=Case(id="k-1", case_number="1", status=CareStatus.ACTIVE, patient_id="p-2"),
        appointments=(visit("Egg collection", 12),),
    )
    fake_api.gives(READ_EPISODE, treated, id_="2")
    rows = [row.words for row in visitor("nora", "nurse").get(SHEET).select("table")[0].select("tbody tr")]
    assert [row.rpartition(" Consent")[2] for row in rows if "Consent c-5" in row] == [" c-5"]
    assert ("12:30" in rows[0] and "Egg collection Consent c-5" in rows[0]) is (case == "k-1")
    assert len(rows) == (1 if case == "k-1" else 2)


@pytest.mark.parametrize(
    ("kind", "title", "is_missing"),
    [
        (ConsentKind.LEGAL_PARENTHOOD, "My partner being the legal parent", False),
        (ConsentKind.LEGAL_PARENTHOOD, "", True),
        (ConsentKind.STORAGE, "Sperm", True),
    ],
)
def test_forms_of_a_couple_with_titles_of_their_own_take_their_places(
    kind: ConsentKind, title: str, is_missing: bool
) -> None:
    """The partner's form to become the legal parent expired and was signed anew; the patient signed hers, if it has a `title`."""
    expired = ConsentBrief(id="c-1", title="Being the legal parent", kind=kind, status=ConsentStatus.EXPIRED)
    anew = replace(expired, id="c-2", status=ConsentStatus.SIGNED)
    forms = (expired, anew, *([replace(anew, id="c-3", title=title)] if title else []))
    people = {"patient": Patient(id="p-1"), "partner": Patient(id="p-3")}
    treated = Episode(id="1", status=CareStatus.ACTIVE, consent_forms=forms, **people)
    assert bool(treated.unsigned) is is_missing


@pytest.mark.parametrize(("by", "is_missing"), [(["p-1"], True), (["p-1", "p-1"], True), (["p-3"], False)])
def test_an_expired_form_of_one_person_is_missing_until_there_is_one_of_theirs(
    visitor: SignIn, fake_api: FakeApi, by: list[str], is_missing: bool
) -> None:
    holds(fake_api)
    expired = ConsentBrief(id="c-0", title="Storage", kind=ConsentKind.STORAGE, status=ConsentStatus.EXPIRED)
    anew = [replace(expired, id=f"c-{n}", status=ConsentStatus.SIGNED) for n in range(1, len(by) + 1)]
    for brief, person in zip([expired, *anew], ["p-3", *by], strict=True):
        signer = Signer(role=SignerRole.PATIENT, person_id=person, name=f"Person {person}")
        whole = replace(form(brief.id, "Ayşe", episode_id="1"), kind=brief.kind, required_signers=(signer,))
        fake_api.gives(READ_CONSENT, whole, id_=brief.id)
    treated = Episode(
        id="1",
        status=CareStatus.ACTIVE,
        patient=Patient(id="p-1", first_name="Ayşe"),
        partner=Patient(id="p-3", first_name="Deniz"),
        consent_forms=(expired, *anew),
        appointments=(visit("Egg collection", 10),),
    )
    fake_api.gives(READ_EPISODE, treated, id_="1")
    words = visitor("nora", "nurse").get(SHEET).words
    assert ("Storage · For Person p-3 · Expired" in words) is is_missing
