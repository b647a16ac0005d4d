"""What the review of a plan tells of the doses of single days."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

import pytest
from flask import g
from msgspec.structs import replace

from portal.services.consents.forms import ConsentKind, ConsentStatus
from portal.services.episodes import READ_EPISODE, Appointment, ConsentBrief
from portal.services.protocols import (
    CREATE_PROTOCOL,
    READ_PROTOCOL,
    UPDATE_PROTOCOL,
    Medication,
    ProtocolStatus,
    ProtocolType,
)
from portal.views.protocols import dose_mentions
from portal.views.protocols.day_grid import DayGrid
from portal.views.protocols.dose_changes import DoseDifference, dose_differences
from portal.views.protocols.plan import Plan
from portal.views.protocols.rows import MedicationRow
from tests.pages.test_patient_banner import EPISODE, PLAN
from tests.support.fake_api import ZONE, FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import SignIn
from tests.views.protocols.plans import form_of

EVENING = MedicationRow(drug="rFSH", dose="225", unit="IU", start_day="1", end_day="9", time="19:00")
MORNING = MedicationRow(drug="rFSH", dose="75", unit="IU", start_day="3", end_day="9", time="07:00")


def split(row: MedicationRow, first: int, dose: str) -> tuple[MedicationRow, MedicationRow]:
    """The row until the day before `first`, and the same with this dose from then on."""
    return (
        MedicationRow(**{**fields(row), "end_day": str(first - 1)}),
        MedicationRow(**{**fields(row), "start_day": str(first), "dose": dose}),
    )


def fields(row: MedicationRow) -> dict[str, str]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


@pytest.mark.parametrize(
    ("dose", "told"),
    [
        ("225", []),
        (
            "250",
            [
                DoseDifference(
                    "Day 5",
                    "rFSH",
                    "07:00 75\N{NO-BREAK SPACE}IU, 19:00 225\N{NO-BREAK SPACE}IU",
                    "07:00 75\N{NO-BREAK SPACE}IU, 19:00 250\N{NO-BREAK SPACE}IU",
                )
            ],
        ),
    ],
)
def test_rows_in_another_order_are_no_other_doses(
    in_process: InProcess, dose: str, told: list[DoseDifference]
) -> None:
    before = Plan(medications=(EVENING, MORNING))
    after = Plan(medications=(*split(EVENING, 5, dose), MORNING))
    assert said_of(in_process, before, after) == told


def said_of(in_process: InProcess, before: Plan, after: Plan) -> list[DoseDifference]:
    with in_process.app.test_request_context():
        g.language = "en"
        g.tenant = in_process.app.extensions["portal"].settings.tenants.by_key["riverside"]
        return dose_differences(before, after)


def test_a_new_dose_of_a_medicine_without_an_end_changes_no_day_gone_by(
    in_process: InProcess, at: Callable[[str], None]
) -> None:
    """Day 40 of a plan whose only medicine goes on."""
    at("27 12:00")
    row = MedicationRow(drug="Progesterone", dose="200", unit="mg", start_day="1", time="20:00")
    before = Plan(start_date="2026-10-19", medications=(row,))
    after = replace(before, medications=split(row, 41, "400"))
    (told,) = said_of(in_process, before, after)
    assert (told.before, told.after) == ("20:00 200\N{NO-BREAK SPACE}mg", "20:00 400\N{NO-BREAK SPACE}mg")
    with in_process.app.test_request_context():
        g.language = "en"
        g.tenant = in_process.app.extensions["portal"].settings.tenants.by_key["riverside"]
        grid = DayGrid.of(after, before)
        mentions = dose_mentions._changes(before, after)
    assert grid
    ((_drug, _unit, cells),) = grid.rows
    changed = [day.number for day, cell in zip(grid.days, cells, strict=True) if cell.before is not None]
    assert changed[0] == 41
    assert (mentions[0].was, mentions[0].planned) == ({200}, {400})


@pytest.mark.parametrize("status", [200, 503, 404])
def test_the_review_of_a_trigger_says_where_its_treatment_cannot_be_read(
    visitor: SignIn, fake_api: FakeApi, status: int
) -> None:
    trigger = Medication(
        id="t", drug="hCG", drug_class="Trigger", dose=250, unit="µg", route="Subcutaneous", start_day=11,
        time="21:00", is_trigger=True,
    )  # fmt: skip
    fake_api.gives(READ_PROTOCOL, replace(PLAN, start_date=date(2026, 11, 16), medications=(trigger,)))
    if status == 200:
        fake_api.gives(READ_EPISODE, EPISODE)
    else:
        fake_api.refuses(READ_EPISODE, status)
    page = visitor("victor", "physician").get("/protocols/f-1/edit")
    form = page.form(page.tree.select_one("form:has([value=review])"))
    review = form.submit(button=("do", "review"), description="Another")
    assert ("it isn’t known when eggs are collected" in review.words) is (status == 503)


def test_a_trigger_is_timed_for_the_collection_after_the_day_one_that_is_typed(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    trigger = Medication(
        id="t", drug="hCG", drug_class="Trigger", dose=250, unit="µg", route="Subcutaneous", start_day=11,
        time="21:00", is_trigger=True,
    )  # fmt: skip
    starts = (datetime(2026, 3, 2, 8, tzinfo=ZONE), datetime(2026, 11, 28, 8, tzinfo=ZONE))
    collections = tuple(
        Appointment(id=f"a-{start:%m}", kind="EggRetrieval", start=start, status="Booked") for start in starts
    )
    fake_api.gives(READ_PROTOCOL, replace(PLAN, start_date=None, medications=(trigger,)))
    fake_api.gives(READ_EPISODE, replace(EPISODE, appointments=collections))
    page = visitor("victor", "physician").get("/protocols/f-1/edit")
    form = page.form(page.tree.select_one("form:has([value=review])"))
    review = form.submit(button=("do", "review"), start_date="2026-11-16")
    assert "35 h before egg collection, Sat 28 Nov" in review.words and not review.select("[name^=again-]")


@pytest.mark.parametrize(
    ("end", "rule", "typed", "sent"),
    [
        ({"end_day": 12}, "Until trigger", {"instructions": "Left side"}, (12, None)),
        ({"end_day": 12}, "Until trigger", {"end_day": "11"}, (None, 11)),
        ({"last_dose_day": 11}, "Until trigger", {"instructions": "Left side"}, (None, 11)),
        ({"end_day": 12}, "Until trigger", {"stop_rule": ""}, (12, None)),
        ({"end_day": 12}, None, {"stop_rule": "Until trigger"}, (None, 12)),
    ],
)
def test_a_row_until_the_trigger_keeps_the_end_that_it_came_with(
    visitor: SignIn,
    fake_api: FakeApi,
    end: dict[str, int],
    rule: str | None,
    typed: dict[str, str],
    sent: tuple[int | None, int | None],
) -> None:
    """Only `lastDoseDay` has a dose on the evening of the trigger."""
    row = Medication(
        id="f", drug="rFSH", drug_class="Gonadotropin", dose=225, unit="IU", route="Subcutaneous",
        start_day=1, stop_rule=rule, time="20:00", **end,
    )  # fmt: skip
    plan = replace(PLAN, start_date=None, medications=(row,))
    fake_api.gives(READ_PROTOCOL, plan)
    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.gives(UPDATE_PROTOCOL, plan)
    page = visitor("victor", "physician").get(f"/protocols/{PLAN.id}/edit")
    filled = {f"medication-0-{name}": text for name, text in typed.items()}
    page = page.form(form_of(page)).submit(button=("do", "review"), **filled)
    page.form(f"/protocols/{PLAN.id}/save").submit(status=None)
    (stored,) = fake_api.sent(UPDATE_PROTOCOL)[-1].body["medications"]
    assert (stored.get("endDay"), stored.get("lastDoseDay")) == sent


def test_a_type_of_the_clinics_systems_own_stays_unless_it_is_changed(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    plan = replace(PLAN, start_date=None, type=ProtocolType("Modified natural"))
    fake_api.gives(READ_PROTOCOL, plan)
    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.gives(UPDATE_PROTOCOL, replace(plan, name="Another"))
    page = visitor("victor", "physician").get(f"/protocols/{PLAN.id}/edit")
    review = page.form(form_of(page)).submit(button=("do", "review"), name="Another")
    review.form(f"/protocols/{PLAN.id}/save").submit(status=None)
    (sent,) = fake_api.sent(UPDATE_PROTOCOL)
    assert (sent.body["name"], sent.body["type"]) == ("Another", "Modified natural")
    other = page.form(form_of(page)).submit(button=("do", "review"), type="Unheard of", status=422)
    assert other.select('.error-summary a[href="#type"]')


WITHDRAWN = ConsentBrief(
    id="c-9", title="Consent to IVF", status=ConsentStatus.REVOKED, kind=ConsentKind.TREATMENT
)


def test_the_preview_of_a_new_plan_tells_of_a_withdrawn_consent(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.gives(READ_EPISODE, replace(EPISODE, consent_forms=(WITHDRAWN,)))
    page = visitor("victor", "physician").get("/protocols/new?episode=e-1")
    form = page.form(page.tree.select_one("form:has([value=review])"))
    preview = form.submit(button=("do", "review"), name="Another", type="Iui")
    (notice,) = preview.select(".notice[data-tone=urgent]")
    assert preview.path == "/protocols/new/preview" and "Consent to IVF" in notice.words


def test_a_new_plan_is_created_as_the_preview_showed_it(visitor: SignIn, fake_api: FakeApi) -> None:
    """A faulty change in another window isn't kept; a valid one is shown before it is created."""
    fake_api.gives(READ_EPISODE, EPISODE, id_="e-1")
    fake_api.refuses(READ_EPISODE, 404, id_="e-9")
    page = visitor("victor", "physician").get("/protocols/new?episode=e-1")
    form = page.form(page.tree.select_one("form:has([value=review])"))
    preview = form.submit(button=("do", "review"), name="First", type="Iui")
    form.submit(button=("do", "review"), name="Second", type="Iui", episode="e-9", status=422)
    form.submit(button=("do", "review"), name="Third", type="Iui")
    again = preview.form("/protocols/new/create").submit()
    assert again.path == "/protocols/new/preview" and again.heading == "Third"
    assert "This was changed after you opened the page" in again.text and not fake_api.sent(CREATE_PROTOCOL)
    form.submit(button=("do", "review"), name="Second", type="Iui", episode="e-9", status=422)
    again.form("/protocols/new/create").submit()
    (sent,) = fake_api.sent(CREATE_PROTOCOL)
    assert (sent.body["name"], sent.body["episodeId"]) == ("Third", "e-1")


@pytest.mark.parametrize("status", [ProtocolStatus.ACTIVE, ProtocolStatus.ON_HOLD])
def test_a_dose_of_earlier_days_stays_also_while_the_plan_is_on_hold(
    visitor: SignIn, fake_api: FakeApi, status: ProtocolStatus
) -> None:
    row = Medication(
        id="f", drug="rFSH", drug_class="Gonadotropin", dose=225, unit="IU", route="Subcutaneous",
        start_day=1, end_day=300, time="20:00",
    )  # fmt: skip
    begun = replace(PLAN, status=status, start_date=date(2026, 1, 20), medications=(row,))
    fake_api.gives(READ_PROTOCOL, begun)
    fake_api.gives(READ_EPISODE, EPISODE)
    page = visitor("victor", "physician").get(f"/protocols/{PLAN.id}/edit")
    form = page.form(form_of(page))
    refused = form.submit(button=("do", "review"), status=422, **{"medication-0-dose": "250"})
    assert "on earlier days, which stay as they were" in refused.words
    added = {name.replace("-0-", "-1-"): value for name, value in form.fields() if "medication-0-" in name}
    added |= {"medication-1-id": "", "medication-1-drug": "Cetrorelix"}
    refused = form.submit(button=("do", "review"), status=422, **added)
    assert "That day is over. Begin it today or later." in refused.words
    fake_api.gives(READ_PROTOCOL, replace(begun, medications=(replace(row, end_day=2),)))
    page = visitor("victor", "physician").get(f"/protocols/{PLAN.id}/edit")
    refused = page.form(form_of(page)).submit(
        button=("do", "review"), status=422, **{"medication-0-end_day": "9"}
    )
    assert "This adds doses on earlier days" in refused.words


def test_no_row_is_lost_of_a_plan_with_more_than_can_be_added() -> None:
    posted = {f"medication-{number}-drug": f"Drug {number}" for number in range(130)}
    posted |= {f"check-{number}-day": str(number) for number in range(230)}
    plan = Plan.posted(posted)
    assert (len(plan.medications), len(plan.checks)) == (130, 230)


@pytest.mark.parametrize(
    ("status", "asked"),
    [(ProtocolStatus.DRAFT, ["again-0", "again-1-2100"]), (ProtocolStatus.ON_HOLD, ["again-1-2100"])],
)
def test_a_plan_is_asked_its_hard_stops_before_it_is_followed(
    visitor: SignIn, fake_api: FakeApi, status: ProtocolStatus, asked: list[str]
) -> None:
    high = Medication(
        id="f", drug="Follitropin alfa", dose=2250, unit="IU", start_day=1, end_day=10, time="19:00"
    )
    trigger = Medication(id="t", drug="hCG", dose=250, unit="µg", start_day=11, time="21:00", is_trigger=True)
    late = Appointment(
        id="a", kind="EggRetrieval", start=datetime(2026, 11, 29, 8, tzinfo=ZONE), status="Booked"
    )
    plan = replace(PLAN, status=status, start_date=date(2026, 11, 16), medications=(high, trigger))
    fake_api.gives(READ_PROTOCOL, plan)
    fake_api.gives(READ_EPISODE, replace(EPISODE, appointments=(late,)))
    page = visitor("victor", "physician").get(f"/protocols/{PLAN.id}")
    page = page.form(f"/protocols/{PLAN.id}/status").submit()
    assert [field["name"] for field in page.select("[name^=again-]")] == asked
    assert not fake_api.sent(UPDATE_PROTOCOL) and not page.select("[aria-invalid]")
    form = page.form(f"/protocols/{PLAN.id}/status")
    refused = form.submit(status=422, **dict.fromkeys(asked, "1"))
    assert len(refused.select("[aria-invalid]")) == len(asked)
    fake_api.gives(UPDATE_PROTOCOL, replace(plan, status=ProtocolStatus.ACTIVE))
    form.submit(status=None, **{"again-0": "2250", "again-1-2100": "21:00"})
    (sent,) = fake_api.sent(UPDATE_PROTOCOL)
    assert sent.body["status"] == "Active"


def test_what_a_row_lacks_keeps_nobody_from_changing_another(visitor: SignIn, fake_api: FakeApi) -> None:
    lacking = Medication(id="l", drug="Progesterone", start_day=1, times=("evening",), every_days=200)
    whole = Medication(
        id="f", drug="rFSH", drug_class="Gonadotropin", dose=225, unit="IU", route="SC", start_day=30
    )
    plan = replace(PLAN, type=None, start_date=None, medications=(lacking, whole))
    fake_api.gives(READ_PROTOCOL, plan)
    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.gives(UPDATE_PROTOCOL, plan)
    page = visitor("victor", "physician").get(f"/protocols/{PLAN.id}/edit")
    form = page.form(form_of(page))
    review = form.submit(button=("do", "review"), **{"medication-1-dose": "250"})
    assert "Progesterone" not in review.select("table")[0].words
    review.form(f"/protocols/{PLAN.id}/save").submit(status=None)
    sent = fake_api.sent(UPDATE_PROTOCOL)[-1].body["medications"]
    assert (sent[1]["dose"], sent[0]["everyDays"], sent[0]["times"]) == (250, 200, ["evening"])
    other = form.submit(button=("do", "review"), status=422, **{"medication-0-dose": "400"})
    assert other.select('.error-summary a[href="#medication-0-route"]')


@pytest.mark.parametrize(
    ("typed", "fault"),
    [
        ({"route": "Intramuscular"}, "route"),
        ({"route": "SC"}, None),
        ({"unit": "units"}, None),
        ({"every_days": "2"}, "every_days"),
        ({"time": "08:00"}, "time"),
        ({"time": "09:00, 20:00"}, None),
        ({"end_day": "3"}, None),
        ({"end_day": "3", "every_days": "2"}, "every_days"),
        ({"every_days": "2", "start_day": "20"}, "start_day"),
    ],
    ids=str,
)
def test_what_was_given_on_earlier_days_stays(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], typed: dict[str, str], fault: str | None
) -> None:
    begun = Medication(
        id="f", drug="rFSH", drug_class="Gonadotropin", dose=225, unit="IU", route="Subcutaneous",
        start_day=1, end_day=20, times=("08:00", "20:00"),
    )  # fmt: skip
    at("25 12:00")
    fake_api.gives(READ_PROTOCOL, replace(PLAN, start_date=date(2026, 11, 16), medications=(begun,)))
    fake_api.gives(READ_EPISODE, EPISODE)
    page = visitor("victor", "physician").get(f"/protocols/{PLAN.id}/edit")
    filled = {f"medication-0-{name}": text for name, text in typed.items()}
    page = page.form(form_of(page)).submit(button=("do", "review"), status=422 if fault else 200, **filled)
    told = [link["href"] for link in page.select(".error-summary a")]
    assert told == ([f"#medication-0-{fault}"] if fault else [])
