"""What is derived from a record alone: whose turn it is to sign, legal moves, days of a protocol, folders, messages."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from portal.config.routes import route_of
from portal.services.cases import CARE_MOVES, CareStatus, Case
from portal.services.consents.forms import ConsentStatus, Signature, Signer, SignerRole, SigningOrder
from portal.services.conversations import Conversation, Message
from portal.services.directories import DEEPEST, Directory, Documents
from portal.services.episodes import Alert, Appointment, Episode, Follicles, HormoneUnits, MonitoringDay
from portal.services.files import File
from portal.services.notifications import Notification
from portal.services.patients import Patient
from portal.services.pgt_results import PgtCall, PgtResult, PgtStatus
from portal.services.physicians import WorkingHours
from portal.services.prospects import Booking
from portal.services.protocols import PROTOCOL_MOVES, Protocol, ProtocolStatus
from portal.services.relationships import Relationship, RelationshipType
from portal.services.storage import EMBRYO_MOVES, EmbryoStatus, EmbryoStorage
from tests.support.builders import AMELIA, DANIEL, VICTOR, consent

NOW = datetime(2026, 11, 27, 9, 30, tzinfo=UTC)


def form(*signed: Signer, order=SigningOrder.SEQUENTIAL, signers=(VICTOR, DANIEL, AMELIA), **more):
    return consent(*signed, required_signers=signers, signing_order=order, **more)


def test_signers_still_missing_come_in_signing_order():
    assert form().missing_signers == (AMELIA, DANIEL, VICTOR)
    assert form(AMELIA).missing_signers == (DANIEL, VICTOR)


def test_in_a_sequential_form_the_first_signer_is_next():
    assert form().whose_turn() == (AMELIA,)
    assert form(AMELIA).whose_turn() == (DANIEL,)


def test_signers_with_the_same_order_sign_in_parallel():
    pair = (AMELIA, Signer(role=SignerRole.PARTNER, person_id="daniel", order=1), VICTOR)
    assert [s.person_id for s in form(signers=pair).whose_turn()] == ["amelia", "daniel"]


def test_in_any_order_every_signer_is_next():
    anyhow = form(AMELIA, order=SigningOrder.ANY)
    assert anyhow.whose_turn() == (DANIEL, VICTOR)
    assert anyhow.waiting_for("victor") == ()


def test_later_signers_are_told_whom_they_wait_for():
    assert form().waiting_for("victor") == (AMELIA, DANIEL)
    assert form(AMELIA).waiting_for("victor") == (DANIEL,)
    assert form().waiting_for("amelia") == ()
    assert form().waiting_for("nobody") == ()


@pytest.mark.parametrize(
    "status", sorted(set(ConsentStatus) - {ConsentStatus.PENDING, ConsentStatus.PARTIALLY_SIGNED})
)
def test_a_form_that_is_not_open_has_no_next_signer(status):
    closed = form(status=status)
    assert closed.whose_turn() == ()
    assert closed.waiting_for("victor") == ()


def test_an_unnamed_signer_is_whoever_signed_in_that_role():
    witness = Signer(role=SignerRole.WITNESS, order=1)
    assert form(signers=(witness,)).missing_signers == (witness,)
    nora = Signer(role=SignerRole.WITNESS, person_id="nora")
    assert form(nora, signers=(witness,)).missing_signers == ()


@pytest.mark.parametrize(
    ("signer", "is_theirs"),
    [
        (Signer(role=SignerRole.PARTNER, person_id="account", name="Joseph Okafor"), True),
        (Signer(role=SignerRole.PARTNER, person_id="account", name="JOSEPH OKAFOR"), True),
        (Signer(role=SignerRole.PARTNER, person_id="account", name="Joseph Stone"), False),
        (Signer(role=SignerRole.PARTNER, person_id="account"), False),
        (Signer(role=SignerRole.PATIENT, person_id="account", name="Joseph Okafor"), False),
    ],
)
def test_who_signed_on_paper_is_known_by_role_and_name_once_they_have_an_account(signer, is_theirs):
    paper = Signature(role=SignerRole.PARTNER, person_id="record", name="Joseph Okafor")
    signed = replace(form(signers=(signer,)), signatures=(paper,))
    assert (signed.missing_signers == ()) is is_theirs
    assert (signed.signature_of("account") is paper) is is_theirs
    also = Signer(role=SignerRole.PATIENT, person_id="record", name="Joseph Okafor")
    assert signer in replace(signed, required_signers=(signer, also)).missing_signers, "somebody else's"


AMELIA_BY_NAME, EVA_BY_NAME = (
    Signer(role=SignerRole.INTENDED_PARENT, name=name) for name in ("Amelia Hart", "Eva Roth")
)
WITNESS, VICTOR_AS_WITNESS = (Signer(role=SignerRole.WITNESS, person_id=id_) for id_ in (None, "victor"))


@pytest.mark.parametrize(
    ("signers", "signed", "missing"),
    [
        ((AMELIA_BY_NAME, EVA_BY_NAME), [("amelia", "amelia hart")], (EVA_BY_NAME,)),
        ((AMELIA_BY_NAME, EVA_BY_NAME), [("eva", "Eva Roth")], (AMELIA_BY_NAME,)),
        ((AMELIA_BY_NAME, EVA_BY_NAME), [("eva", "Eva Roth"), ("amelia", "A. Hart")], ()),
        ((WITNESS, WITNESS), [("nora", "Nora")], (WITNESS,)),
        ((WITNESS, WITNESS), [("nora", "Nora"), ("nora", "Nora again")], (WITNESS,)),
        ((WITNESS, WITNESS), [("nora", "Nora"), ("victor", "Victor")], ()),
        ((WITNESS, WITNESS), [(None, "Nora"), (None, "Victor")], ()),
        ((WITNESS, VICTOR_AS_WITNESS), [("victor", "Victor")], (WITNESS,)),
        ((VICTOR_AS_WITNESS, WITNESS), [("nora", "Nora")], (VICTOR_AS_WITNESS,)),
    ],
)
def test_a_signature_counts_for_one_signer(signers, signed, missing):
    signatures = tuple(Signature(role=signers[0].role, person_id=id_, name=name) for id_, name in signed)
    assert replace(form(signers=signers), signatures=signatures).missing_signers == missing


def test_a_signature_in_another_role_does_not_count():
    other = Signer(role=SignerRole.WITNESS, person_id="amelia")
    assert AMELIA in form(other).missing_signers


def test_a_form_knows_its_signers_and_their_signatures():
    signed = form(AMELIA)
    assert signed.is_signer("daniel")
    assert not signed.is_signer("nora")
    assert signed.signature_of("amelia").role is SignerRole.PATIENT
    assert signed.signature_of("daniel") is None


@pytest.mark.parametrize(
    ("status", "ended", "is_open", "revocable"),
    [
        (ConsentStatus.DRAFT, False, False, False),
        (ConsentStatus.PENDING, False, True, True),
        (ConsentStatus.PARTIALLY_SIGNED, False, True, True),
        (ConsentStatus.SIGNED, False, False, True),
        (ConsentStatus.REVOKED, True, False, False),
        (ConsentStatus.EXPIRED, True, False, False),
        (ConsentStatus.SUPERSEDED, True, False, False),
        (ConsentStatus("Lost"), False, False, False),
    ],
)
def test_a_forms_status_decides_what_can_be_done_with_it(status, ended, is_open, revocable):
    it = form(status=status)
    assert (it.is_ended, it.is_open, it.is_revocable) == (ended, is_open, revocable)
    assert it.is_signed is (status == ConsentStatus.SIGNED)


def moves(table):
    return {(a.value, b.value) for a, targets in table.items() for b in targets}


def test_cases_have_their_legal_moves():
    assert moves(CARE_MOVES) == {
        ("Planned", "Waitlist"),
        ("Planned", "Active"),
        ("Planned", "Cancelled"),
        ("Waitlist", "Active"),
        ("Waitlist", "Cancelled"),
        ("Active", "OnHold"),
        ("OnHold", "Active"),
        ("Active", "Finished"),
        ("Active", "Cancelled"),
        ("OnHold", "Finished"),
        ("OnHold", "Cancelled"),
        *((s.value, "EnteredInError") for s in CareStatus if s != CareStatus.ENTERED_IN_ERROR),
    }
    assert Case(id="1", status=CareStatus.FINISHED).next_statuses == (CareStatus.ENTERED_IN_ERROR,)


def test_protocols_have_their_legal_moves():
    assert moves(PROTOCOL_MOVES) == {
        ("Draft", "Active"),
        ("Active", "OnHold"),
        ("OnHold", "Active"),
        ("Active", "Completed"),
        ("OnHold", "Completed"),
        ("Draft", "Cancelled"),
        ("Active", "Cancelled"),
        ("OnHold", "Cancelled"),
    }


def test_embryos_have_their_legal_moves():
    leaving = {"Thawed", "Discarded", "Donated", "ShippedOut"}
    assert moves(EMBRYO_MOVES) == {
        ("Stored", "Reserved"),
        ("Reserved", "Stored"),
        ("Stored", "OnHold"),
        ("Reserved", "OnHold"),
        ("OnHold", "Stored"),
        ("OnHold", "Reserved"),
        *(("Stored", status) for status in leaving),
        *(("Reserved", status) for status in leaving),
        ("Thawed", "Transferred"),
        ("Thawed", "Discarded"),
        ("Thawed", "Stored"),
    }


def embryo(status) -> EmbryoStorage:
    return EmbryoStorage(id="1", embryo_code="E1", status=status)


def test_embryos_in_a_final_state_have_no_moves():
    gone = {status for status in EmbryoStatus if embryo(status).is_terminal}
    assert gone == {
        EmbryoStatus.TRANSFERRED,
        EmbryoStatus.DISCARDED,
        EmbryoStatus.DONATED,
        EmbryoStatus.SHIPPED_OUT,
    }
    assert {status for status in EmbryoStatus if EmbryoStorage.is_final(status)} == gone
    assert embryo(EmbryoStatus.ON_HOLD).is_on_hold


def test_from_an_unknown_status_no_move_is_offered():
    assert embryo(EmbryoStatus("Lost")).next_statuses == ()
    assert not embryo(EmbryoStatus("Lost")).is_terminal
    assert Case(id="1", status=CareStatus("Paused")).next_statuses == ()
    assert Protocol(id="1", name="P", status=ProtocolStatus("Paused")).next_statuses == ()


def test_a_record_belongs_to_a_person_by_user_id_or_else_by_id():
    assert Patient(id="1", user_id="amelia").is_me("amelia")
    assert not Patient(id="amelia", user_id="daniel").is_me("amelia")
    assert Patient(id="amelia").is_me("amelia")


def test_an_episode_knows_whether_the_reader_is_patient_or_partner():
    amelia, daniel = Patient(id="1", user_id="amelia"), Patient(id="2", user_id="daniel")
    episode = Episode(id="e", status=CareStatus.ACTIVE, patient=amelia, partner=daniel)
    assert episode.patient_of("daniel") is daniel
    assert episode.patient_of("nora") is None


def test_an_episode_knows_its_next_appointment():
    def visit(name, hours, status="Confirmed"):
        start = NOW + timedelta(hours=hours)
        return Appointment(id=name, start=start, end=start + timedelta(hours=1), status=status)

    episode = Episode(
        id="e",
        status=CareStatus.ACTIVE,
        patient=Patient(id="1"),
        appointments=(
            visit("later", 48),
            visit("past", -2),
            visit("off", 3, "Cancelled"),
            visit("now", -0.5),
            visit("next", 4),
        ),
        alerts=(
            Alert(text="over", until=NOW),
            Alert(text="holds", until=NOW + timedelta(1)),
            Alert(text="always"),
        ),
    )
    assert [a.id for a in episode.upcoming(NOW)] == ["now", "next", "later"]
    assert [a.text for a in episode.alerts_at(NOW)] == ["holds", "always"]
    assert not episode.is_ended


@pytest.mark.parametrize(
    ("status", "tentative"),
    [
        ("Tentative", True),
        ("wait-list", True),
        ("Rescheduled", True),
        ("Moved", True),
        ("Unconfirmed", True),
        ("Provisional", True),
        ("needs-action", True),
        ("Superseded", True),
        ("Confirmed", False),
        ("checked-in", False),
        ("no-show", False),
        ("", False),
    ],
)
def test_an_appointment_knows_whether_it_is_confirmed(status: str, tentative: bool):
    start = datetime(2026, 11, 27, 9, tzinfo=UTC)
    assert Appointment(id="visit", start=start, status=status).is_tentative is tentative


@pytest.mark.parametrize(
    "status",
    [
        "entered-in-error",
        "entered_in_error",
        "no-show",
        "Cancelled by clinic",
        "Declined",
        "Refused",
        "deleted",
    ],
)
def test_a_visit_that_doesnt_take_place_is_written_in_many_ways(status: str):
    start = datetime(2026, 11, 27, 9, tzinfo=UTC)
    assert Appointment(id="visit", start=start, status=status).is_cancelled


def test_a_day_of_monitoring_counts_its_follicles():
    day = MonitoringDay(date=date(2026, 11, 27), follicles=Follicles(left=(18.0, 11.5), right=(17.0, 9.0)))
    assert day.sizes == (18.0, 17.0, 11.5, 9.0)
    assert day.largest == 18.0
    assert day.count_from(17) == 2
    assert MonitoringDay(date=date(2026, 11, 27)).largest is None


def test_a_value_without_its_unit_is_kept_but_not_for_patients():
    units = HormoneUnits(lh="IU/L")
    day = MonitoringDay(date=date(2026, 11, 27), e2=3910, lh=4.5, p4=1.9, unit="pmol/L", units=units)
    assert (day.p4, day.readable.p4) == (1.9, None)
    assert (day.readable.e2, day.readable.lh) == (3910, 4.5)
    assert MonitoringDay(date=date(2026, 11, 27), e2=3910).readable.e2 is None


def folder(name, parent=None) -> Directory:
    return Directory(id=name, name=name, parent_id=parent)


DOCUMENTS = Documents(
    directories=(
        folder("scans"),
        folder("Consents"),
        folder("2026", "scans"),
        folder("may", "2026"),
        folder("orphan", "gone"),
    ),
    files=(
        File(id="b", name="b.pdf", directory_id="2026"),
        File(id="a", name="a.pdf", directory_id="2026"),
        File(id="c"),
    ),
)


def test_documents_form_a_tree():
    assert [d.id for d in DOCUMENTS.directories_in(None)] == ["Consents", "orphan", "scans"]
    assert [d.id for d in DOCUMENTS.directories_in("scans")] == ["2026"]
    assert [f.id for f in DOCUMENTS.files_in("2026")] == ["a", "b"]
    assert [f.id for f in DOCUMENTS.files_in(None)] == ["c"]


def test_a_folder_cannot_go_into_itself():
    assert DOCUMENTS.within("scans") == {"scans", "2026", "may"}
    assert DOCUMENTS.within("may") == {"may"}


def test_a_folder_cycle_is_walked_once():
    ring = Documents(directories=(folder("a", "b"), folder("b", "a")))
    assert ring.within("a") == {"a", "b"}


def below(documents: Documents, parent: str | None = None) -> dict[str, Any]:
    """The folders as a tree, walked from the root."""
    return {d.id: below(documents, d.id) for d in documents.directories_in(parent)}


def test_a_folder_cycle_is_shown_at_the_root_with_its_contents():
    ring = Documents(
        directories=(
            folder("a", "b"),
            folder("b", "c"),
            folder("c", "a"),
            folder("in it", "b"),
            folder("self", "self"),
        )
    )
    assert below(ring) == {"a": {}, "b": {"in it": {}}, "c": {}, "self": {}}


def test_folders_nested_too_deeply_are_shown_at_the_root():
    deep = Documents(directories=tuple(folder(f"{n}", f"{n - 1}" if n else None) for n in range(30)))
    assert [d.id for d in deep.directories_in(None)] == ["0", *(f"{n}" for n in range(DEEPEST, 30))]
    assert [d.id for d in deep.directories_in(f"{DEEPEST - 2}")] == [f"{DEEPEST - 1}"]


def test_a_conversation_shows_its_newest_message_that_is_not_archived():
    def message(name, hours, archived=False):
        sent_at = None if hours is None else NOW + timedelta(hours=hours)
        return Message(id=name, sent_at=sent_at, is_archived=archived)

    thread = Conversation(
        id="1", messages=(message("new", 2), message("gone", 3, True), message("old", 1), message("?", None))
    )
    assert [m.id for m in thread.in_order] == ["?", "old", "new", "gone"]
    assert thread.latest.id == "new"
    assert Conversation(id="1").latest is None


@pytest.mark.parametrize(
    ("day", "weekday"),
    [
        *((0, 6), (1, 0), (6, 5), (7, 6), (8, None), (-1, None)),
        *(("Monday", 0), ("sunday", 6), ("SU", 6), ("Tues.", 1), ("thu", 3)),
        *(("S", None), ("", None), ("Mondays", None), ("Someday", None)),
    ],
)
def test_the_day_of_working_hours_is_a_name_or_a_number(day, weekday):
    assert WorkingHours(day_of_week=day, start="09:00", end="17:00").weekday == weekday


@pytest.mark.parametrize(
    ("start", "end", "hours"),
    [
        ("09:00", "17:30:00", (9, 17.5)),
        ("09:00", "late", (9, None)),
        ("18:00", "24:00", (18, 24)),
        ("18:00", "24:00:00", (18, 24)),
        ("18:00", "00:00", (18, 24)),
        ("00:00", "00:00", (0, 0)),
        ("00:00", "24:00", (0, 24)),
    ],
)
def test_working_hours_end_with_the_day_at_24_or_0_oclock(start, end, hours):
    given = WorkingHours(day_of_week=1, start=start, end=end)
    assert (given.opens, given.closes) == tuple(
        None if hour is None else timedelta(hours=hour) for hour in hours
    )


def test_notifications_know_what_they_are_about():
    notice = Notification(
        id="1", entity_type="Prospect", entity_id="7", data={"mergeId": 8, "empty": "", "list": []}
    )
    assert notice.is_about("prospect")
    assert notice.is_about("Prospect", "7")
    assert not notice.is_about("Prospect", "8")
    assert notice.datum("mergeId") == "8"
    assert notice.datum("empty") is notice.datum("list") is notice.datum("gone") is None


def test_a_result_knows_whether_it_is_released_and_mosaic():
    result = PgtResult(id="1", embryo_code="E1", status=PgtStatus.AMENDED, call=PgtCall.LOW_MOSAIC)
    assert result.is_released
    assert result.is_mosaic
    assert not PgtResult(id="1", embryo_code="E1", status=PgtStatus.REPORTED).is_released


@pytest.mark.parametrize(
    ("route", "spelt"),
    [
        ("subcutaneous", "Subcutaneous, subcutaneously, subcut, SC, s.c., sq"),
        ("intramuscular", "intramuscularly, IM"),
        ("intravenous", "intravenously, IV"),
        ("oral", "orally, PO"),
        ("vaginal", "vaginally, PV"),
        ("rectal", "rectally, PR"),
        ("nasal", "Nasal"),
    ],
)
def test_a_route_is_the_same_however_it_is_spelt(route: str, spelt: str):
    assert {route_of(one) for one in spelt.split(", ")} == {route}


@pytest.mark.parametrize(
    ("status", "is_refused"),
    [
        *((one, True) for one in ("Cancelled", "Rejected", "Declined", "REFUSED", "failed", "Denied")),
        *((one, False) for one in ("Confirmed", "Pending", "")),
    ],
)
def test_a_booking_that_the_clinic_refused_is_known_by_its_status(status: str, is_refused: bool):
    assert Booking(booking_id="b", status=status).is_refused is is_refused


DAY = date(2026, 11, 27)
SHARED = Relationship(
    id="r", patient_id="p", related_patient_id="q", related_name="Daniel Hart", type=RelationshipType.PARTNER,
    is_portal_shared=True,
)  # fmt: skip


@pytest.mark.parametrize("type_", [*RelationshipType, RelationshipType("Neighbour"), None])
def test_a_treatment_is_shared_with_partners_alone_or_of_an_unknown_type(type_: RelationshipType | None):
    others = set(RelationshipType) - {
        *(RelationshipType.PARTNER, RelationshipType.SPOUSE, RelationshipType.INTENDED_PARENT)
    }
    assert replace(SHARED, type=type_).shares_on(DAY) is (type_ not in others)
    assert not replace(SHARED, type=type_, is_portal_shared=False).shares_on(DAY)


@pytest.mark.parametrize(
    ("member", "days", "is_shared"),
    [
        *(("start_date", days, days <= 0) for days in (-1, 0, 1)),
        *(("end_date", days, days > 0) for days in (-1, 0, 1)),
    ],
)
def test_it_is_shared_from_its_first_day_until_its_last(member: str, days: int, is_shared: bool):
    assert replace(SHARED, **{member: DAY + timedelta(days=days)}).shares_on(DAY) is is_shared


@pytest.mark.parametrize(
    ("changes", "is_same"),
    [
        ({"related_name": "Another"}, True),
        ({"related_patient_id": "z"}, False),
        ({"related_patient_id": None, "related_name": "daniel HART"}, True),
        ({"related_patient_id": None, "related_name": "Dan Hart"}, False),
        ({"patient_id": "z"}, False),
        ({"patient_id": None}, True),
    ],
    ids=str,
)
def test_two_relationships_are_between_the_same_people(changes: dict[str, Any], is_same: bool):
    other = replace(SHARED, id="r-2", **changes)
    assert SHARED.is_between_same_people(other) is other.is_between_same_people(SHARED) is is_same
    unnamed = replace(SHARED, related_patient_id=None, related_name="")
    assert not unnamed.is_between_same_people(unnamed), "nobody is named"
