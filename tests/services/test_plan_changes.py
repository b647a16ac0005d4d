"""What changed in a plan is told by its doses, whatever became of its rows."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import msgspec
import pytest

from portal.services.protocols import Medication, Protocol, ProtocolStatus
from portal.services.rules.plan_changes import Kind, PlanSnapshot, changed, snapshot_of

BEGINS = date(2026, 11, 16)
DAY_8 = BEGINS + timedelta(days=7)
AT = datetime.fromisoformat("2026-11-23T16:20:00+00:00")
FSH = Medication(id="f", drug="rFSH", dose=225, unit="IU", start_day=1, end_day=10, time="19:00")
TRIGGER = Medication(id="t", drug="hCG", dose=250, unit="µg", start_day=11, time="21:00", is_trigger=True)


def plan(*rows: Medication, status: ProtocolStatus = ProtocolStatus.ACTIVE) -> Protocol:
    return Protocol(
        id="p", name="n", status=status, start_date=BEGINS, medications=rows, last_modification_time=AT
    )


def altered(row: Medication, **members: object) -> Medication:
    return msgspec.structs.replace(row, **members)


@pytest.mark.parametrize("shape", ["one row", "split"])
def test_a_new_dose_is_the_same_change_whether_its_row_was_rewritten_or_split(shape: str) -> None:
    rows = (
        (altered(FSH, dose=250),)
        if shape == "one row"
        else (altered(FSH, end_day=7), altered(FSH, id="g", start_day=8, dose=250))
    )
    change = changed(snapshot_of(plan(FSH)), plan(*rows), DAY_8)
    assert change
    (one,) = change.doses
    assert (one.kind, one.drug, one.on) == (Kind.DOSE, "rFSH", DAY_8)
    assert one.before
    assert one.after
    assert (one.before.amount, one.after.amount) == ((225, "IU"), (250, "IU"))
    assert (change.at, change.status) == (AT, None)


def test_what_is_over_is_no_change() -> None:
    earlier = altered(FSH, id="e", drug="hMG", start_day=1, end_day=7)
    assert changed(snapshot_of(plan(FSH, earlier)), plan(FSH), DAY_8) is None
    assert changed(snapshot_of(plan(FSH)), plan(FSH), DAY_8) is None
    moved_rows = plan(TRIGGER, altered(FSH, id="another"))
    assert changed(snapshot_of(plan(FSH, TRIGGER)), moved_rows, DAY_8) is None


@pytest.mark.parametrize(
    ("before", "after", "kind", "on"),
    [
        ((), (FSH,), Kind.NEW, DAY_8),
        ((FSH,), (altered(FSH, end_day=8),), Kind.ENDED, DAY_8 + timedelta(days=1)),
        ((FSH,), (altered(FSH, end_day=8, dose=250),), Kind.DOSE, DAY_8),
        ((FSH,), (altered(FSH, time="21:00"),), Kind.DOSE, DAY_8),
        ((FSH,), (altered(FSH, every_days=2),), Kind.DAYS, DAY_8),
        ((FSH,), (altered(FSH, end_day=9), TRIGGER), Kind.ENDED, DAY_8 + timedelta(days=2)),
        ((TRIGGER,), (altered(TRIGGER, start_day=12),), Kind.MOVED, BEGINS + timedelta(days=11)),
        ((TRIGGER,), (altered(TRIGGER, time="22:30"),), Kind.DOSE, BEGINS + timedelta(days=10)),
    ],
)
def test_each_kind_of_change_is_told_from_its_first_day(
    before: tuple[Medication, ...], after: tuple[Medication, ...], kind: Kind, on: date
) -> None:
    change = changed(snapshot_of(plan(*before)), plan(*after), DAY_8)
    assert change
    assert (change.doses[0].kind, change.doses[0].on) == (kind, on)


def test_each_dose_of_a_day_counts_not_only_its_first() -> None:
    """Rows of one medicine at several hours, or two at one hour, of which the later one is changed."""
    evening = altered(FSH, id="g", dose=75, time="20:00")
    both = altered(FSH, id="h", dose=75)
    for other in (evening, both):
        change = changed(snapshot_of(plan(FSH, other)), plan(FSH, altered(other, dose=100)), DAY_8)
        assert change
        (one,) = change.doses
        assert (one.kind, one.on) == (Kind.DOSE, DAY_8)
        assert one.before and one.before.amount is None
        assert one.before.amounts == ((225, "IU"), (75, "IU"))
        assert one.after and one.after.amounts == ((225, "IU"), (100, "IU"))


@pytest.mark.parametrize("status", [s for s in ProtocolStatus if s is not ProtocolStatus.ACTIVE])
def test_a_plan_that_is_no_longer_followed_is_a_change_of_its_status_alone(status: ProtocolStatus) -> None:
    change = changed(snapshot_of(plan(FSH)), plan(FSH, status=status), DAY_8)
    assert change
    assert (change.status, change.doses) == (status, ())


def test_what_is_kept_of_a_plan_names_nobody_and_survives_the_store() -> None:
    told = altered(FSH, instructions="Ask Nora", route="Subcutaneous")
    kept = snapshot_of(plan(told, TRIGGER))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(kept), type=PlanSnapshot) == kept
    assert b"Nora" not in msgspec.msgpack.encode(kept)
    assert changed(kept, plan(told, TRIGGER), DAY_8) is None


PROGESTERONE = Medication(
    id="p",
    drug="Progesterone",
    dose=400,
    unit="mg",
    start_day=1,
    time="08:00",
    route="Vaginal",
    instructions="Lie down",
)


@pytest.mark.parametrize(
    ("members", "kinds"),
    [
        ({"route": "Oral"}, [Kind.ROUTE]),
        ({"instructions": "After a meal"}, [Kind.INSTRUCTIONS]),
        ({"stop_rule": "Until week 10"}, [Kind.INSTRUCTIONS]),
        ({"route": "Oral", "instructions": "After a meal"}, [Kind.ROUTE, Kind.INSTRUCTIONS]),
    ],
    ids=str,
)
def test_another_way_to_take_a_medicine_is_a_change_beside_that_of_its_dose(
    members: dict[str, str], kinds: list[Kind]
) -> None:
    seen = snapshot_of(plan(PROGESTERONE))
    change = changed(seen, plan(altered(PROGESTERONE, **members)), DAY_8)
    assert change and [(one.kind, one.on) for one in change.doses] == [(kind, DAY_8) for kind in kinds]
    change = changed(seen, plan(altered(PROGESTERONE, dose=200, **members)), DAY_8)
    assert change and [one.kind for one in change.doses] == [Kind.DOSE, *kinds]


def test_a_day_with_two_routes_is_told_as_neither() -> None:
    evening = altered(PROGESTERONE, id="q", time="20:00")
    change = changed(
        snapshot_of(plan(PROGESTERONE, evening)), plan(PROGESTERONE, altered(evening, route="Oral")), DAY_8
    )
    assert change
    (one,) = change.doses
    assert one.before and one.after and (one.before.route, one.after.route) == ("Vaginal", "")


def test_a_route_in_two_spellings_is_one() -> None:
    evening = altered(PROGESTERONE, id="q", time="20:00", route="PV")
    change = changed(
        snapshot_of(plan(PROGESTERONE, evening)),
        plan(altered(PROGESTERONE, route="Oral"), altered(evening, route="p.o.")),
        DAY_8,
    )
    assert change
    (one,) = change.doses
    assert one.before and one.after and (one.before.route, one.after.route) == ("PV", "p.o.")


def test_what_a_plan_says_no_more_or_in_other_spacing_is_no_other_way() -> None:
    seen = snapshot_of(plan(altered(PROGESTERONE, stop_rule="Until week 10")))
    for members in (
        {"instructions": None},
        {"route": ""},
        {"route": "vaginal"},
        {"route": "p.v."},
        {"instructions": " Lie  down"},
        {"stop_rule": "Until week  10 "},
        {"unit": "Milligrams"},
    ):
        assert changed(seen, plan(altered(PROGESTERONE, **members)), DAY_8) is None, members


def test_a_single_dose_that_moves_is_told_with_its_new_way() -> None:
    seen = snapshot_of(plan(altered(TRIGGER, route="Subcutaneous")))
    moved = altered(TRIGGER, start_day=12, route="Intramuscular")
    change = changed(seen, plan(moved), DAY_8)
    assert change and [(one.kind, one.on) for one in change.doses] == [
        (Kind.MOVED, BEGINS + timedelta(days=11)),
        (Kind.ROUTE, BEGINS + timedelta(days=11)),
    ]


def test_two_pens_at_one_hour_are_the_same_in_either_order() -> None:
    pens = (FSH, altered(FSH, id="g", dose=75))
    assert changed(snapshot_of(plan(*pens)), plan(*pens[::-1]), DAY_8) is None
    exchanged = (altered(FSH, time="07:00"), altered(FSH, id="g", dose=75))
    other_way = (altered(FSH, time="07:00", dose=75), altered(FSH, id="g"))
    change = changed(snapshot_of(plan(*exchanged)), plan(*other_way), DAY_8)
    assert change and [one.kind for one in change.doses] == [Kind.DOSE]


OPEN = Medication(id="o", drug="Progesterone", dose=200, unit="mg", start_day=1, time="20:00")
LONG = Medication(id="l", drug="Estradiol", dose=2, unit="mg", start_day=1, end_day=60, time="08:00")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ((OPEN, LONG), (OPEN, altered(LONG, end_day=20)), [(Kind.ENDED, "Estradiol", 20)]),
        ((OPEN,), (OPEN, altered(LONG, start_day=10)), [(Kind.NEW, "Estradiol", 9)]),
        ((OPEN,), (altered(OPEN, end_day=60),), [(Kind.ENDED, "Progesterone", 60)]),
        ((altered(OPEN, end_day=60),), (OPEN,), [(Kind.DAYS, "Progesterone", 60)]),
    ],
)
def test_a_medicine_without_an_end_goes_on_whatever_becomes_of_others(
    before: tuple[Medication, ...], after: tuple[Medication, ...], told: list[tuple[Kind, str, int]]
) -> None:
    change = changed(snapshot_of(plan(*before)), plan(*after), DAY_8)
    assert change
    assert [(one.kind, one.drug, (one.on - BEGINS).days) for one in change.doses] == told
