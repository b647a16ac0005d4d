"""A state machine test: no sequence of acts by anyone breaks a rule.

The machine states the rules independently of the service's code. It remembers who did what in their own session, and
checks every form and embryo against that after each act.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.careservice.api.calls import Api
from tests.careservice.families import Families
from tests.careservice.rules.machine import FLAWS, Rules
from tests.support.full import FULL, some
from tests.support.tokens import TokenMaker

SETTINGS = settings(
    max_examples=80 if FULL else 5,
    stateful_step_count=40 if FULL else 22,
    derandomize=not FULL,
    phases=tuple(Phase) if FULL else (Phase.generate,),  # to shrink over HTTP takes minutes
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=False,
)


@pytest.fixture(scope="module")
def calls(care_service: TokenMaker) -> Iterator[Api]:
    api = Api(care_service)
    yield api
    api.close()


def test_no_sequence_of_acts_breaks_a_rule(calls: Api, families: Families) -> None:
    run_state_machine_as_test(lambda: Rules(calls, families), settings=SETTINGS)  # pyright: ignore[reportUnknownMemberType]


def test_the_state_machine_reaches_ends_of_storage_and_holds(calls: Api, families: Families) -> None:
    """Acts succeed where they should: otherwise, a run without a broken rule would prove nothing."""
    machine = Rules(calls, families)
    machine.begin("daniel")
    machine.agree("Treatment", None, 0, "", "Clinician")
    machine.move(0, "elif", "Thawed", False, {})
    machine.agree("Disposition", "Discard", 1, "taken back", "Witness")
    first, second = (machine.embryos[embryo_id]["status"] for embryo_id in machine.family.embryos[:2])
    assert (first, second) == ("Thawed", "OnHold")
    machine.decide(1, "Discarded", "Disposition", "", "Witness", "elif")
    assert machine.embryos[machine.family.embryos[1]]["status"] == "Discarded"
    machine.only_its_signers_brought_a_form_to_signed()


@pytest.mark.parametrize("flaw", FLAWS)
def test_a_single_missing_requirement_stops_a_move(calls: Api, families: Families, flaw: str) -> None:
    """Each flaw at least once, whatever a random run leaves out."""
    machine = Rules(calls, families)
    machine.begin("daniel")
    machine.decide(0, "Discarded", "Disposition", flaw, "Witness", "elif")
    machine.treat(1, flaw, "Witness", "elif")
    machine.only_its_signers_brought_a_form_to_signed()


@pytest.mark.parametrize("who", ["elif", "victor", "nora", "ada"])
def test_staff_cannot_undo_a_patients_decision(calls: Api, families: Families, who: str) -> None:
    machine = Rules(calls, families)
    machine.begin("daniel")
    machine.agree("Disposition", "Discard", 0, "", "Witness")
    machine.change_embryo(0, who, {"disposition": "Undecided"})
    assert machine.embryos[machine.family.embryos[0]]["disposition"] == "Discard"


@pytest.mark.parametrize("kind", ["Storage", " storageRenewal", "Disposition"])
@pytest.mark.parametrize("status", ["Thawed", "Reserved", "Stored"])
def test_a_withdrawal_stops_moves_that_another_form_allows(
    calls: Api, families: Families, kind: str, status: str
) -> None:
    machine = Rules(calls, families)
    machine.begin("daniel")
    machine.agree("Treatment", None, 0, "", "Witness")
    form_id = machine.make_form("nora", kind, "ContinueStorage", "", (0,), "", "", False, 0)
    machine.everybody_signs(str(form_id), "")
    machine.revoke("amelia", machine.forms[str(form_id)])
    machine.change_embryo(0, "elif", {"status": status})
    assert machine.embryos[machine.family.embryos[0]]["status"] == "OnHold"


@pytest.mark.parametrize(
    ("end", "state"),
    some(
        product(
            ("amelia", "daniel", "recorded", "superseded", "expired", "staff"),
            ("Stored", "Thawed", "Transferred", "Discarded", "Donated", "taken back"),
        ),
        every=5,  # each end and each state at least once
    ),
)
def test_every_end_of_a_form_keeps_what_was_done_and_stops_the_rest(
    calls: Api, families: Families, state: str, end: str
) -> None:
    """In each state of an embryo, beside another that the same forms name and nobody has touched."""
    machine = Rules(calls, families)
    machine.begin("daniel")
    wish = {"Discarded": "Discard", "Donated": "DonateResearch", "taken back": "Discard"}.get(state)
    kind = "Disposition" if wish else "Treatment"
    made = str(machine.make_form("nora", kind, wish, "Witness", (0, 1), "", "", False, 0))
    machine.everybody_signs(made, "")
    for status in {"Transferred": ["Thawed", "Transferred"], "Stored": [], "taken back": []}.get(
        state, [state]
    ):
        machine.change_embryo(0, "elif", {"status": status})
    if state == "taken back":
        machine.take_back(0, "daniel")
    for _ in range(2):
        form = machine.forms[made]
        if end == "superseded":
            machine.supersede_form(form, 1)
        elif end == "expired":
            machine.expire(form)
        else:
            who = end if end in ("amelia", "daniel") else "elif"
            machine.revoke(who, form, "daniel" if end == "recorded" else "")
        machine.change_embryo(1, "elif", {"status": "Discarded" if wish else "Thawed"})
        machine.no_embryo_is_kept_under_an_ended_form()
    gone = machine.forms[made]["status"]
    assert gone == {"superseded": "Superseded", "expired": "Signed", "staff": "Signed"}.get(end, "Revoked")


@pytest.mark.parametrize("end", ["amelia", "daniel", "recorded", "superseded"])
def test_a_form_that_is_carried_out_cannot_end(calls: Api, families: Families, end: str) -> None:
    machine = Rules(calls, families)
    machine.begin("daniel")
    machine.decide(0, "Discarded", "Disposition", "", "Witness", "elif")
    (form,) = machine.forms.values()
    assert machine.embryos[machine.family.embryos[0]]["status"] == "Discarded"
    if end == "superseded":
        machine.supersede_form(form, 1)
    else:
        machine.revoke("nora" if end == "recorded" else end, form, "amelia" if end == "recorded" else "")
    assert machine.forms[form["id"]]["status"] == "Signed"


@pytest.mark.parametrize("account", ["free", "grace", "nora"])
@pytest.mark.parametrize("binder", ["ada", "nora"])
@pytest.mark.parametrize("editor", ["ada", "nora"])
def test_binding_a_record_takes_two_people_and_happens_once(
    calls: Api, families: Families, editor: str, binder: str, account: str
) -> None:
    machine = Rules(calls, families)
    machine.begin("without account")
    machine.bind(editor, binder, "partner", account, "another")
    machine.bind(editor, binder, "partner", account, "its own")
    is_bound = (editor, binder, account) == ("nora", "ada", "free")
    partner = machine.family.partner or ""
    assert machine.bound[partner] == (machine.free["free"][0] if is_bound else None)
    machine.bind("nora", "ada", "partner", "another", "its own")
    machine.nobody_reads_what_is_kept_from_them()


@pytest.mark.parametrize("who", ["amelia", "nora"])
def test_ending_sharing_takes_effect_at_once(calls: Api, families: Families, who: str) -> None:
    machine = Rules(calls, families)
    machine.begin("daniel")
    machine.nobody_reads_what_is_kept_from_them()
    machine.end_sharing(who)
    machine.nobody_reads_what_is_kept_from_them()


@pytest.mark.parametrize("kind", ["Disposition", "Storage", "Treatment", "Dispositon"])
def test_the_state_machine_detects_a_forged_signature(calls: Api, families: Families, kind: str) -> None:
    """The invariant catches a form that a clinician alone brought to Signed, past the rules."""
    machine = Rules(calls, families)
    machine.begin("daniel")
    families.older_form(machine.family, kind, signed_by="victor", embryos=machine.family.embryos)
    machine._read_again()
    with pytest.raises(AssertionError, match="own session"):
        machine.only_its_signers_brought_a_form_to_signed()
