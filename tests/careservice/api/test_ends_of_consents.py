"""How consents end: who may end one, what goes on hold, and what stays as it was carried out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from portal.careservice.domain.consents.forms import ConsentForm, Signature
from portal.careservice.domain.consents.parties import is_signed_since
from portal.careservice.domain.consents.storage_consents import is_agreed_by_all
from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.enumerations import CareStatus, ConsentStatus, SignerRole
from portal.careservice.ids import sample_id
from tests.careservice.api.calls import (
    CONSENTS,
    EPISODES,
    Api,
    code,
    created,
    form,
    members,
    person,
    revoke,
    sign,
)
from tests.careservice.api.test_embryo_moves import Case
from tests.careservice.families import Families

THEIRS = "ClientelePortal:WithdrawalNotYours"
ACTED_UPON = "ClientelePortal:ConsentActedUpon"
OTHER = "ClientelePortal:SupersedesOther"
ON_HOLD = ("OnHold", "Consent withdrawn")


@pytest.fixture
def couple(api: Api, families: Families) -> Case:
    return Case(api, families.add("grace", "daniel", embryos=2))


def read(case: Case, who: str, made: dict[str, Any]) -> dict[str, Any]:
    return case.api.get(who, f"{CONSENTS}/{made['id']}")


def embryos(case: Case) -> list[tuple[str, str | None]]:
    found = case.api.get("elif", f"{EPISODES}/{case.family.episode}")["embryos"]
    by_id = {one["id"]: one for one in found}
    return [(by_id[id_]["status"], by_id[id_]["holdReason"]) for id_ in case.family.embryos]


# Who


@pytest.mark.parametrize("who", ["nora", "victor", "elif", "colin", "ada"])
def test_staff_cannot_withdraw_what_a_patient_signed(couple: Case, who: str) -> None:
    signed = couple.signed("Storage", "Clinician:victor")
    assert code(revoke(couple.api, who, signed)) == THEIRS
    assert code(revoke(couple.api, who, signed, onBehalfOf=person("victor"))) == THEIRS
    assert code(revoke(couple.api, who, signed, onBehalfOf=person("amelia"))) == THEIRS
    half = sign(couple.api, "daniel", couple.made("Treatment"), "Partner").json()
    assert code(revoke(couple.api, who, half)) == THEIRS
    assert read(couple, "grace", signed)["status"] == "Signed"


@pytest.mark.parametrize(("kind", "status"), [("LegalParenthood", 403), ("Storage", 403), ("Research", 200)])
def test_the_patient_withdraws_no_form_that_the_partner_has_of_their_own(
    couple: Case, kind: str, status: int
) -> None:
    signers = [{"role": "Partner", "personId": person("daniel")}]
    if kind == "Research":
        signers.append({"role": "Patient", "personId": person("grace")})
    his = couple.made(kind, requiredSigners=signers, partnerId=couple.family.partner)
    his = sign(couple.api, "daniel", his, "Partner").json()
    refused = revoke(couple.api, "grace", his)
    assert refused.status_code == status
    if status == 403:
        assert code(refused) == THEIRS
        assert revoke(couple.api, "daniel", his).status_code == 200


def test_the_patient_withdraws_an_older_form_that_nobody_of_their_side_was_to_sign(
    api: Api, families: Families
) -> None:
    made = families.older_form(families.add("grace"), "Storage", signed_by="victor")
    assert revoke(api, "grace", api.get("grace", f"{CONSENTS}/{made}")).json()["status"] == "Revoked"


@pytest.mark.parametrize(("who", "offset"), [("grace", "Z"), ("daniel", "")])
def test_staff_record_a_withdrawal_for_a_signer(couple: Case, who: str, offset: str) -> None:
    """A time without an offset is UTC."""
    told = {"onBehalfOf": person(who), "toldAt": f"2026-01-02T10:30:00{offset}", "toldBy": "telephone"}
    signed = couple.signed("Disposition", disposition="Discard", embryoStorageIds=list(couple.family.embryos))
    gone = revoke(couple.api, "nora", signed, **told).json()
    assert gone["status"] == "Revoked"
    assert gone["revokedById"] == person("nora")
    for reader in ("grace", "daniel", "victor"):
        seen = read(couple, reader, signed)
        assert (seen["onBehalfOf"], seen["toldBy"]) == (person(who), "Telephone")
        assert (seen["revokedByName"], seen["toldAt"]) == ("Nora Lindqvist", "2026-01-02T10:30:00Z")
    assert embryos(couple) == [ON_HOLD, ON_HOLD]


def test_how_a_withdrawal_was_told_has_to_make_sense(couple: Case) -> None:
    signed = couple.signed("Storage")
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    for wrong, member in (({"toldAt": later}, "toldAt"), ({"toldBy": "Smoke"}, "toldBy")):
        answer = revoke(couple.api, "nora", signed, onBehalfOf=person("grace"), **wrong)
        assert members(answer) == [member]
    assert members(revoke(couple.api, "nora", signed, onBehalfOf="Grace")) == ["onBehalfOf"]
    assert members(revoke(couple.api, "grace", signed, toldBy="Letter")) == ["toldBy"]
    assert code(revoke(couple.api, "grace", signed, onBehalfOf=person("daniel"))) == THEIRS


def test_staff_cancel_a_form_that_nobody_of_the_patients_side_has_signed(couple: Case) -> None:
    made = couple.made("Storage", "Clinician:victor")
    half = sign(couple.api, "victor", made, "Clinician").json()
    assert revoke(couple.api, "elif", half).json()["status"] == "Revoked"


def test_a_partner_withdraws_after_sharing_has_ended(couple: Case) -> None:
    signed = couple.signed("Disposition", disposition="Discard")
    shared = couple.api.get("nora", f"{EPISODES}/{couple.family.episode}")["relationships"]
    couple.api("grace", "DELETE", f"/api/care/relationships/{shared[0]['id']}")
    assert revoke(couple.api, "daniel", signed).json()["status"] == "Revoked"
    assert embryos(couple)[0] == ON_HOLD


# The reason


def test_a_reason_may_be_left_out(couple: Case) -> None:
    made = couple.made("Storage")
    body = {"concurrencyStamp": made["concurrencyStamp"]}
    gone = couple.api("grace", "POST", f"{CONSENTS}/{made['id']}/revoke", body).json()
    assert (gone["status"], gone["revokeReason"]) == ("Revoked", None)


def test_only_its_writer_and_staff_read_a_reason(couple: Case) -> None:
    signed = couple.signed("Disposition", disposition="Discard")
    assert revoke(couple.api, "grace", signed, reason="We have\nseparated.").status_code == 200
    for who in ("grace", "nora", "elif"):
        assert read(couple, who, signed)["revokeReason"] == "We have\nseparated."
    assert "revokeReason" not in read(couple, "daniel", signed)
    listed = couple.api.get("daniel", CONSENTS, MaxResultCount=1000, PatientId=couple.family.patient)["items"]
    assert [item for item in listed if item["id"] == signed["id"] and "revokeReason" not in item]


# What is open


def test_what_was_carried_out_stays_and_what_is_open_goes_on_hold(couple: Case) -> None:
    signed = couple.signed(
        "Disposition", "Witness:nora", disposition="Discard", embryoStorageIds=list(couple.family.embryos)
    )
    assert couple.put("elif", status="Discarded").status_code == 200
    done = couple.embryo
    assert revoke(couple.api, "daniel", signed).json()["status"] == "Revoked"
    assert couple.embryo == done
    assert done["disposition"] == "Discard"
    couple.embryo_id = couple.family.embryos[1]
    assert (couple.embryo["status"], couple.embryo["holdReason"]) == ON_HOLD
    assert couple.embryo["disposition"] == "Undecided"


@pytest.mark.parametrize(
    ("kind", "wish", "moves"),
    [("Disposition", "Discard", ["Discarded"]), ("Treatment", None, ["Thawed", "Transferred"])],
)
def test_a_form_of_which_nothing_is_open_can_neither_be_withdrawn_nor_superseded(
    couple: Case, kind: str, wish: str | None, moves: list[str]
) -> None:
    more = {"disposition": wish} if wish else {}
    signed = couple.signed(kind, "Witness:nora", **more)
    for status in moves:
        assert couple.put("elif", status=status).status_code == 200
    done = couple.embryo
    for who in ("grace", "daniel"):
        assert code(revoke(couple.api, who, signed)) == ACTED_UPON
    assert code(revoke(couple.api, "nora", signed, onBehalfOf=person("grace"))) == ACTED_UPON
    again = {**couple.asked(kind, "Witness:nora", **more), "supersedesId": signed["id"]}
    assert code(couple.api("nora", "POST", CONSENTS, again)) == ACTED_UPON
    assert couple.embryo == done


@pytest.mark.parametrize("who", ["grace", "daniel"])
def test_withdrawing_from_a_treatment_puts_it_on_hold_until_a_new_form_is_signed(
    couple: Case, who: str
) -> None:
    def status() -> str:
        return couple.api.get("grace", f"{EPISODES}/{couple.family.episode}")["status"]

    signed = couple.signed("Treatment", "Clinician:victor", embryoStorageIds=None)
    again = {"title": signed["title"], "embryoStorageIds": None}
    before = couple.made("Treatment", "Clinician:victor", supersedesId=signed["id"], **again)
    before = sign(couple.api, "daniel", before, "Partner").json()
    assert revoke(couple.api, who, signed).json()["status"] == "Revoked"
    assert status() == "OnHold"
    couple.sign(before)
    assert status() == "OnHold"  # which the partner had signed before the withdrawal
    couple.signed("Treatment", embryoStorageIds=None)
    assert status() == "OnHold"  # a treatment of another title
    couple.signed("Treatment", "Clinician:victor", supersedesId=before["id"], **again)
    assert status() == "Active"


def test_a_treatment_of_two_withdrawn_consents_goes_on_once_both_are_signed_anew(
    api: Api, families: Families
) -> None:
    """A consent withdrawn before the treatment began stopped nothing."""
    case = Case(api, families.add("grace", status=CareStatus.PLANNED))

    def withdraw(title: str) -> None:
        made = case.signed("Treatment", embryoStorageIds=None, title=title)
        assert revoke(api, "grace", made).status_code == 200

    withdraw("Natural cycle")
    families.begin(case.family)
    titles = ["Transfer", "Assisted hatching"]
    for made in [case.signed("Treatment", embryoStorageIds=None, title=title) for title in titles]:
        assert revoke(api, "grace", made).status_code == 200
    for title, expected in zip(titles, ["OnHold", "Active"], strict=True):
        case.signed("Treatment", embryoStorageIds=None, title=title)
        assert api.get("grace", f"{EPISODES}/{case.family.episode}")["status"] == expected


def test_a_treatment_that_is_over_cannot_be_withdrawn_from(api: Api, families: Families) -> None:
    over = Case(api, families.add("grace", status=CareStatus.FINISHED))
    signed = over.signed("Treatment", embryoStorageIds=None)
    assert code(revoke(api, "grace", signed)) == ACTED_UPON


def test_a_transferred_embryos_storage_form_is_open_for_the_others(api: Api) -> None:
    """The sample in which one embryo of two was transferred."""
    storage = api.get("maya", f"{CONSENTS}/{sample_id('consent', 'maya-storage')}")
    transfer = api.get("maya", f"{CONSENTS}/{sample_id('consent', 'maya-transfer')}")
    assert code(revoke(api, "maya", transfer)) == ACTED_UPON
    assert revoke(api, "maya", storage).json()["status"] == "Revoked"
    found = api.get("maya", f"{EPISODES}/{storage['episodeId']}")["embryos"]
    states = {one["embryoCode"]: (one["status"], one["holdReason"]) for one in found}
    assert states == {"MF-1": ("Transferred", None), "MF-2": ON_HOLD}


def test_a_decision_signed_before_a_withdrawal_no_longer_counts(couple: Case) -> None:
    couple.signed("Disposition", "Witness:nora", disposition="Discard")
    storage = couple.signed("Storage")
    assert revoke(couple.api, "grace", storage).status_code == 200
    couple.signed("Storage")
    assert couple.embryo["status"] == "Stored"
    assert couple.refused(status="Discarded") == "FormMissing"


# Superseding


@pytest.mark.parametrize(
    "wrong", ["kind", "patient", "no partner", "no clinician"], ids=lambda wrong: wrong.replace(" ", "-")
)
def test_a_form_supersedes_only_its_like(api: Api, families: Families, wrong: str) -> None:
    case = Case(api, families.add("grace", "daniel"))
    old = case.signed("GeneticTesting", "Clinician:victor")
    other = Case(api, families.add("grace", "daniel")) if wrong == "patient" else case
    new = other.asked("Research" if wrong == "kind" else "GeneticTesting", "Clinician:nora")
    role = {"no partner": "Partner", "no clinician": "Clinician"}.get(wrong)
    new["requiredSigners"] = [one for one in new["requiredSigners"] if one["role"] != role]
    assert code(api("nora", "POST", CONSENTS, {**new, "supersedesId": old["id"]})) == OTHER
    assert read(case, "grace", old)["status"] == "Signed"


def test_another_clinician_may_sign_a_successor(couple: Case) -> None:
    old = couple.signed("GeneticTesting", "Clinician:victor")
    assert couple.made("GeneticTesting", "Clinician:nora", supersedesId=old["id"])["status"] == "Pending"


def test_embryos_that_a_successor_leaves_out_go_on_hold(couple: Case) -> None:
    kept, left_out = couple.family.embryos
    old = couple.signed("Storage", embryoStorageIds=[kept, left_out])
    couple.signed("Storage", embryoStorageIds=[kept], supersedesId=old["id"])
    assert read(couple, "grace", old)["status"] == "Superseded"
    assert embryos(couple) == [("Stored", None), ("OnHold", "Consent ended")]
    couple.embryo_id = left_out
    assert couple.refused(status="Stored") == "OnHold"
    couple.signed("Storage", embryoStorageIds=[left_out])
    assert couple.embryo["status"] == "Stored"


def test_a_superseded_decision_is_undecided_again_for_the_embryos_left_out(couple: Case) -> None:
    kept, left_out = couple.family.embryos
    old = couple.signed("Disposition", disposition="Discard", embryoStorageIds=[kept, left_out])
    couple.signed("Disposition", disposition="Transport", embryoStorageIds=[kept], supersedesId=old["id"])
    found = couple.api.get("elif", f"{EPISODES}/{couple.family.episode}")["embryos"]
    assert {one["id"]: one["disposition"] for one in found} == {kept: "Transport", left_out: "Undecided"}


def test_withdrawing_an_earlier_decision_leaves_the_later_one(couple: Case) -> None:
    earlier = couple.signed("Disposition", disposition="Discard")
    couple.signed("Disposition", disposition="Transport")
    assert revoke(couple.api, "grace", earlier).status_code == 200
    assert couple.embryo["disposition"] == "Transport"


def test_a_form_that_names_an_embryo_that_is_gone_does_not_change_it(couple: Case) -> None:
    both = list(couple.family.embryos)
    couple.signed("Disposition", "Witness:nora", disposition="Discard", embryoStorageIds=both)
    gone = couple.put("elif", status="Discarded").json()
    couple.signed("Disposition", disposition="Transport", embryoStorageIds=both)
    assert couple.embryo == gone


# Expiring


def test_a_form_that_expires_unsigned_leaves_the_signed_one_in_force(
    api: Api, families: Families, couple: Case
) -> None:
    old = couple.signed("Storage")
    new = couple.made("Storage", supersedesId=old["id"])
    families.let_expire(new["id"])
    assert code(sign(api, "grace", new)) == "ClientelePortal:FormExpired"
    assert read(couple, "grace", old)["status"] == "Signed"
    assert embryos(couple)[0] == ("Stored", None)


def test_an_embryo_kept_under_a_form_that_expired_is_on_hold_at_the_next_act(
    api: Api, families: Families, couple: Case
) -> None:
    """Only records made elsewhere name a form that isn't signed yet."""
    awaited = couple.made("Storage")
    families.store_under(couple.embryo_id, awaited["id"])
    families.let_expire(awaited["id"])
    couple.signed("Treatment", "Witness:nora")
    assert (couple.embryo["status"], couple.embryo["holdReason"]) == ("OnHold", "Consent ended")
    assert couple.refused(status="Thawed") == "OnHold"
    assert read(couple, "grace", awaited)["status"] == "Expired"


# Ended sharing


@pytest.mark.parametrize("status", [CareStatus.ACTIVE, CareStatus.FINISHED])
def test_staff_are_told_that_sharing_ended_in_a_treatment_under_way(
    api: Api, families: Families, status: CareStatus
) -> None:
    case = Case(api, families.add("grace", "daniel", status=status))
    waiting = sign(api, "grace", case.made("Disposition", disposition="Discard")).json()
    sign(api, "daniel", case.made("Treatment"), "Partner")
    shared = api.get("nora", f"{EPISODES}/{case.family.episode}")["relationships"]
    assert api("grace", "DELETE", f"/api/care/relationships/{shared[0]['id']}").status_code == 204
    told = [
        one
        for who in ("nora", "victor", "elif", "colin")
        for one in api.get(who, "/api/app/notification", MaxResultCount=100, Type="SharingEnded")["items"]
        if one["entityId"] == case.family.episode
    ]
    assert len(told) == (4 if status == CareStatus.ACTIVE else 0)
    for one in told:
        assert one["data"] == {"episodeId": case.family.episode, "consentFormIds": [waiting["id"]]}


@pytest.mark.parametrize(("who", "told"), [("nora", 1), ("grace", 0)])
def test_a_patient_is_told_that_the_clinic_ended_their_sharing(
    api: Api, families: Families, who: str, told: int
) -> None:
    family = families.add("grace", "daniel", status=CareStatus.FINISHED)

    def titles(person: str) -> list[str]:
        news = api.get(person, "/api/app/notification", MaxResultCount=100, Type="AccountSecurity")["items"]
        return [one["title"] for one in news if one["title"] == "Sharing has ended"]

    before = titles("grace"), titles("daniel")
    shared = api.get("nora", f"{EPISODES}/{family.episode}")["relationships"]
    assert api(who, "DELETE", f"/api/care/relationships/{shared[0]['id']}").status_code == 204
    assert (len(titles("grace")), titles("daniel")) == (len(before[0]) + told, before[1])


# Hidden characters


@pytest.mark.parametrize("hidden", ["\u202e", "\u200f", "\x1b", "\n", "\u2066"])
def test_titles_and_names_have_no_hidden_characters(api: Api, couple: Case, hidden: str) -> None:
    for member in ("title", "kind"):
        assert members(api("nora", "POST", CONSENTS, form(**{member: f"Storage{hidden}"}))) == [member]
    episode = api.get("nora", f"{EPISODES}/{couple.family.episode}")
    for member in ("lastName", "email", "language"):
        record = {**episode["patient"], member: f"{episode['patient'][member]}{hidden}"}
        assert members(api("nora", "PUT", f"/api/care/patients/{record['id']}", record)) == [member]
    case = {**episode["case"], "title": f"A{hidden}", "physicianId": None}
    assert members(api("nora", "PUT", f"/api/care/cases/{case['id']}", case)) == ["title"]


def test_names_keep_the_joiners_that_their_language_needs(api: Api) -> None:
    assert created(api, title="رضایت‌نامه")["title"] == "رضایت‌نامه"


@pytest.mark.parametrize(("seconds", "status"), [(-1, "Pending"), (0, "Expired"), (1, "Expired")])
def test_a_form_can_be_signed_until_the_moment_when_it_expires(seconds: int, status: str) -> None:
    end = datetime(2026, 7, 1, 9, tzinfo=UTC)
    waiting = ConsentForm(status=ConsentStatus.PENDING, expires_at=end)
    assert waiting.status_at(end + timedelta(seconds=seconds)) == status
    signed = ConsentForm(status=ConsentStatus.SIGNED, expires_at=end)
    assert signed.status_at(end + timedelta(days=1)) == "Signed"


STOPPED = datetime(2026, 7, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("again", "is_agreed"),
    [
        ([], False),
        ([("her", 1)], False),
        ([("her", 1), ("him", 0)], False),
        ([("her", 1), ("him", 1)], True),
        ([("her record", 1), ("him", 1)], True),
        ([("her", 1), ("him", 1, ConsentStatus.REVOKED)], False),
        ([("her", 1), ("another", 1)], False),
    ],
)
def test_a_stopped_embryo_is_stored_again_once_everyone_has_signed_since(
    again: list[tuple[Any, ...]], is_agreed: bool
) -> None:
    """Their forms from before stay in force, and one's new form doesn't undo the other's withdrawal."""

    def form(who: str, seconds: int, status: ConsentStatus = ConsentStatus.SIGNED) -> ConsentForm:
        at = STOPPED + timedelta(seconds=seconds)
        signatures = [
            Signature(role=SignerRole.GAMETE_PROVIDER, person_id=who, signed_at=at),
            Signature(role=SignerRole.CLINICIAN, person_id="staff", signed_at=at - timedelta(days=9)),
        ]
        return ConsentForm(kind="Storage", status=status, embryo_storage_ids=["s-1"], signatures=signatures)

    forms = [form("her", -60), form("him", -60), *(form(*one) for one in again)]
    session: Any = SimpleNamespace(
        scalars=lambda _: forms, execute=lambda _: [("her record", "her"), ("his record", "him")]
    )
    embryo = EmbryoStorage(id="s-1", tenant_id="t", patient_id="her record", stopped_at=STOPPED)
    assert is_agreed_by_all(session, embryo) is is_agreed


@pytest.mark.parametrize(
    ("role", "seconds", "is_since"),
    [
        (SignerRole.PATIENT, 1, True),
        (SignerRole.PATIENT, 0, False),
        (SignerRole.GAMETE_PROVIDER, 0, False),
        (SignerRole.CLINICIAN, 0, True),
    ],
)
def test_a_form_counts_again_only_by_what_the_patients_side_signed_later(
    role: SignerRole, seconds: int, is_since: bool
) -> None:
    form = ConsentForm(signatures=[Signature(role=role, signed_at=STOPPED + timedelta(seconds=seconds))])
    assert is_signed_since(form, STOPPED) is is_since
    assert is_signed_since(form, None)
