"""Who sees which data of a patient: partners only while the patient shares, and everyone only their part of a record."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Mapped, Session

from portal.careservice.api.records import columns
from portal.careservice.database import Base, Returned
from portal.careservice.domain.cases import CareCase
from portal.careservice.domain.consents.forms import ConsentForm, Signer
from portal.careservice.domain.conversations import Attachment, Conversation, Message
from portal.careservice.domain.documents import File
from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.enumerations import ConsentStatus, EmbryoStatus, PgtStatus, RelationshipType
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.patients import Patient, Relationship
from portal.careservice.domain.pgt_results import Abnormality, PgtResult
from portal.careservice.domain.physicians import Physician
from portal.careservice.domain.policies import ClinicPolicy
from portal.careservice.domain.protocols import FertilityProtocol
from portal.careservice.identity.tables import Tenant
from portal.careservice.ids import new_id, sample_id
from tests.careservice.api.calls import AMELIA_EPISODE, CONSENTS, EPISODES, GRACE_EPISODE, form, patient
from tests.careservice.api.calls import signature as signature_for
from tests.careservice.api.clinic import Clinic
from tests.careservice.api.test_records import plan

EPISODE = f"{EPISODES}/{AMELIA_EPISODE}"
PROTOCOLS = "/api/care/fertility-protocols"
CONVERSATIONS = "/api/messaging/getconversations?IncludeArchived=true"
FILE = "/api/file-management/file-descriptor/content?id="
RESULT = f"/api/care/pgt-results/{sample_id('pgt-result', 'GO-1')}"
RELATIONSHIPS = "/api/care/relationships/"
SHARED = sample_id("relationship", "amelia-daniel")
NAMES_ALONE = {"id", "firstName", "lastName", "preferredName"}


class Room(Base):
    """A table with a column that was added without a word on who gets it."""

    __abstract__ = True
    name: Mapped[Returned[str | None]]
    added_later: Mapped[str | None]


def test_a_column_is_returned_only_if_it_says_so() -> None:
    assert columns(Room) == {"name": str | None}


def change(clinic: Clinic, kind: type[Any], record_id: str, **values: Any) -> None:
    def apply(session: Session) -> None:
        for name, value in values.items():
            setattr(session.get_one(kind, record_id), name, value)

    clinic.change(apply)


def today(clinic: Clinic, days: int = 0) -> date:
    """The date at the clinic, so many days later."""
    return clinic.moment.astimezone(ZoneInfo("Europe/London")).date() + timedelta(days=days)


# Sharing


def test_a_partner_can_read_a_shared_treatment(clinic: Clinic) -> None:
    seen = clinic.get("daniel", EPISODE)
    assert seen["monitoring"] and seen["protocol"] and seen["documents"]["files"]
    assert clinic("daniel", "GET", f"{PROTOCOLS}/{seen['protocol']['id']}").status_code == 200
    assert clinic.get("daniel", PROTOCOLS)["totalCount"] == 1
    for file in seen["documents"]["files"]:
        assert clinic("daniel", "GET", FILE + file["id"]).status_code == 200


@pytest.mark.parametrize(
    "ended",
    [
        {"is_portal_shared": False},
        {"end_date": 0},
        {"end_date": -1},
        {"start_date": 1},
        {"type": RelationshipType.EGG_DONOR},
        {"type": RelationshipType.PROXY},
        {"tenant_id": sample_id("tenant", "harbour")},
    ],
)
def test_without_a_live_shared_relationship_only_the_forms_that_name_him_remain(
    clinic: Clinic, ended: dict[str, Any]
) -> None:
    token = clinic.token("daniel")
    seen = clinic.call(token, "GET", EPISODE).json
    forms = clinic.call(token, "GET", f"{CONSENTS}?MaxResultCount=100").json
    day = {name: today(clinic, value) for name, value in ended.items() if name.endswith("_date")}
    change(clinic, Relationship, SHARED, **{**ended, **day})
    for path in (EPISODE, f"{PROTOCOLS}/{seen['protocol']['id']}"):
        assert clinic.call(token, "GET", path).status_code == 404
    for file in seen["documents"]["files"]:
        assert clinic.call(token, "GET", FILE + file["id"]).status_code == 404
    assert clinic.call(token, "GET", PROTOCOLS).json["totalCount"] == 0
    assert {one["patientId"] for one in clinic.call(token, "GET", CONVERSATIONS).json["items"]} == {
        patient("daniel")
    }
    assert clinic.call(token, "GET", f"{CONSENTS}?MaxResultCount=100").json == forms
    copy = clinic.call(token, "GET", FILE + sample_id("file", "amelia-treatment-copy"))
    assert copy.status_code == 200
    assert clinic.get("amelia", EPISODE)["partner"]["firstName"] == "Daniel"


def test_a_former_partner_whom_no_form_names_sees_none_of_hers(clinic: Clinic) -> None:
    clinic.change(
        lambda session: session.execute(
            delete(Signer).where(Signer.person_id == sample_id("person", "daniel"))
        )
    )
    forms = f"{CONSENTS}?MaxResultCount=100"
    hers = [
        form["id"] for form in clinic.get("amelia", forms)["items"] if form["patientId"] == patient("amelia")
    ]
    change(clinic, Relationship, SHARED, end_date=today(clinic))
    assert hers and patient("amelia") not in [
        form["patientId"] for form in clinic.get("daniel", forms)["items"]
    ]
    assert {clinic("daniel", "GET", f"{CONSENTS}/{form_id}").status_code for form_id in hers} == {404}
    assert clinic("daniel", "GET", FILE + sample_id("file", "amelia-treatment-copy")).status_code == 404


def test_a_relationship_that_ends_tomorrow_is_in_force_today(clinic: Clinic) -> None:
    change(clinic, Relationship, SHARED, start_date=today(clinic), end_date=today(clinic, 1))
    assert clinic("daniel", "GET", EPISODE).status_code == 200
    clinic.moment += timedelta(days=1)
    assert clinic("daniel", "GET", EPISODE).status_code == 404


@pytest.mark.parametrize(("zone", "status"), [("Pacific/Kiritimati", 404), ("Pacific/Pago_Pago", 200)])
def test_a_relationship_ends_by_the_clinics_calendar(clinic: Clinic, zone: str, status: int) -> None:
    clinic.moment = datetime(
        2027, 3, 1, 10, 30, tzinfo=UTC
    )  # 2 March on Kiritimati, 28 February in Pago Pago
    change(clinic, Tenant, sample_id("tenant", "riverside"), time_zone=zone)
    change(clinic, Relationship, SHARED, end_date=date(2027, 3, 2 if status == 404 else 1))
    assert clinic("daniel", "GET", EPISODE).status_code == status


def test_only_the_patients_relationship_shares_care(clinic: Clinic) -> None:
    change(
        clinic, Relationship, SHARED,
        patient_id=patient("daniel"), related_patient_id=patient("amelia"),
    )  # fmt: skip
    assert clinic("daniel", "GET", EPISODE).status_code == 404


def test_a_former_partner_reads_signs_and_withdraws_the_forms_that_name_him(clinic: Clinic) -> None:
    made = clinic("nora", "POST", CONSENTS, form()).json
    change(clinic, Relationship, SHARED, end_date=today(clinic))
    path = f"{CONSENTS}/{made['id']}"
    read = clinic.get("daniel", path)
    assert read["body"] == made["body"]
    signed = clinic("daniel", "POST", f"{path}/sign", signature_for(read, "Partner"))
    assert signed.status_code == 200
    withdrawal = {"reason": "No.", "concurrencyStamp": signed.json["concurrencyStamp"]}
    assert clinic("daniel", "POST", f"{path}/revoke", withdrawal).json["status"] == "Revoked"


def test_embryos_and_results_are_not_found_after_sharing_ended(clinic: Clinic) -> None:
    """Daniel as the partner of an episode with embryos and results."""
    share = {"patient_id": patient("grace"), "related_patient_id": patient("daniel")}
    change(clinic, Relationship, SHARED, **share)
    change(clinic, Episode, GRACE_EPISODE, partner_id=patient("daniel"))
    path = f"/api/care/embryo-storage/{sample_id('embryo', 'GO-4')}"
    assert clinic("daniel", "GET", RESULT).status_code == 200
    assert clinic("daniel", "PUT", path, {"concurrencyStamp": "old"}).status_code == 403
    change(clinic, Relationship, SHARED, end_date=today(clinic))
    assert clinic("daniel", "GET", RESULT).status_code == 404
    assert clinic("daniel", "PUT", path, {"concurrencyStamp": "old"}).status_code == 404


def test_a_conversation_about_no_patient_stays_visible_after_sharing_ended(clinic: Clinic) -> None:
    talk = sample_id("conversation", "amelia-scan")
    change(clinic, Relationship, SHARED, end_date=today(clinic))
    change(clinic, Conversation, talk, patient_id=None)
    assert talk in {one["id"] for one in clinic.get("daniel", CONVERSATIONS)["items"]}


# Ending it


def relationships(clinic: Clinic, who: str, episode: str = EPISODE) -> dict[str, Any]:
    return {one["id"]: one for one in clinic.get(who, episode)["relationships"]}


def end_forms(clinic: Clinic) -> None:
    clinic.change(lambda session: session.execute(update(ConsentForm).values(status=ConsentStatus.REVOKED)))


def test_ending_a_relationship_on_which_forms_depend_ends_sharing_and_keeps_the_record(
    clinic: Clinic,
) -> None:
    token = clinic.token("daniel")
    assert clinic.call(token, "GET", EPISODE).status_code == 200
    assert clinic("daniel", "DELETE", RELATIONSHIPS + SHARED).status_code == 404, (
        "only the patient may end it"
    )
    gone = clinic("amelia", "DELETE", RELATIONSHIPS + SHARED)
    assert (gone.status_code, gone.data) == (204, b"")
    assert clinic.call(token, "GET", EPISODE).status_code == 404
    ended = today(clinic).isoformat()
    assert relationships(clinic, "amelia")[SHARED]["endDate"] == ended
    for who in ("amelia", "nora"):
        assert clinic(who, "DELETE", RELATIONSHIPS + SHARED).status_code == 404
    clinic.moment += timedelta(days=2)
    assert clinic("amelia", "DELETE", RELATIONSHIPS + SHARED).status_code == 404
    assert relationships(clinic, "amelia")[SHARED]["endDate"] == ended


@pytest.mark.parametrize("status", [EmbryoStatus.STORED, EmbryoStatus.RESERVED, EmbryoStatus.ON_HOLD])
def test_a_relationship_with_stored_embryos_keeps_its_record_and_staff_may_end_it(
    clinic: Clinic, status: EmbryoStatus
) -> None:
    clinic.change(lambda session: session.execute(update(EmbryoStorage).values(status=status)))
    joseph = sample_id("relationship", "grace-joseph")
    end_forms(clinic)
    assert clinic("nora", "DELETE", RELATIONSHIPS + joseph).status_code == 204
    shown = relationships(clinic, "grace", f"{EPISODES}/{GRACE_EPISODE}")
    assert shown[joseph]["endDate"] == today(clinic).isoformat()


def test_a_relationship_that_ends_later_can_be_ended_now(clinic: Clinic) -> None:
    change(clinic, Relationship, SHARED, end_date=today(clinic, 30))
    assert clinic("amelia", "DELETE", RELATIONSHIPS + SHARED).status_code == 204
    assert clinic("daniel", "GET", EPISODE).status_code == 404


def test_a_form_he_signs_in_another_role_keeps_the_relationship_record(clinic: Clinic) -> None:
    end_forms(clinic)
    made = clinic("nora", "POST", CONSENTS, form(kind="Research")).json
    change(clinic, ConsentForm, made["id"], partner_id=None)
    assert clinic("amelia", "DELETE", RELATIONSHIPS + SHARED).status_code == 204
    assert SHARED in relationships(clinic, "amelia")


def test_a_relationship_without_dependents_is_deleted(clinic: Clinic) -> None:
    end_forms(clinic)
    assert clinic("amelia", "DELETE", RELATIONSHIPS + SHARED).status_code == 204
    assert SHARED not in relationships(clinic, "amelia")
    assert clinic("amelia", "DELETE", RELATIONSHIPS + SHARED).status_code == 404
    assert clinic("daniel", "GET", EPISODE).status_code == 404


# What belongs to one person


def test_the_partners_plan_leaves_the_patients_treatment_when_sharing_ends(clinic: Clinic) -> None:
    plan = clinic.get("amelia", EPISODE)["protocol"]["id"]
    change(clinic, FertilityProtocol, plan, patient_id=sample_id("patient", "daniel"))
    path = f"{PROTOCOLS}/{plan}"
    assert clinic.get("amelia", EPISODE)["protocol"]["id"] == clinic.get("amelia", path)["id"] == plan
    assert clinic("amelia", "DELETE", RELATIONSHIPS + SHARED).status_code == 204
    assert clinic.get("amelia", EPISODE)["protocol"] is None
    assert clinic("amelia", "GET", path).status_code == 404
    assert plan not in {one["id"] for one in clinic.get("amelia", PROTOCOLS)["items"]}
    assert clinic.get("daniel", path)["id"] == clinic.get("nora", EPISODE)["protocol"]["id"] == plan


def test_a_partners_record_is_reduced_to_names(clinic: Clinic) -> None:
    for who, other in (("amelia", "partner"), ("daniel", "patient")):
        seen = clinic.get(who, EPISODE)
        own = seen["patient" if other == "partner" else "partner"]
        assert seen[other].keys() == NAMES_ALONE
        assert own.keys() > {*NAMES_ALONE, "mrn", "dateOfBirth", "email", "address", "concurrencyStamp"}
    staff = clinic.get("nora", EPISODE)
    assert "mrn" in staff["patient"] and "mrn" in staff["partner"]


def test_relationships_are_visible_only_to_the_people_in_them(clinic: Clinic) -> None:
    contact = sample_id("relationship", "amelia-contact")
    told = {
        who: {one["id"] for one in clinic.get(who, EPISODE)["relationships"]}
        for who in ("amelia", "daniel", "nora")
    }
    assert told == {"amelia": {SHARED, contact}, "daniel": {SHARED}, "nora": {SHARED, contact}}


def test_a_record_number_cannot_be_guessed(clinic: Clinic) -> None:
    assert clinic.get("nora", f"{CONSENTS}?Filter=RF-10482")["totalCount"] > 0
    assert clinic.get("daniel", f"{CONSENTS}?Filter=RF-10482")["totalCount"] == 0


def test_staff_notes_are_left_out_for_patients(clinic: Clinic) -> None:
    embryo_id = sample_id("embryo", "GO-1")
    change(clinic, EmbryoStorage, embryo_id, notes="Between ourselves")
    hers, theirs = (
        clinic.get("grace", f"{EPISODES}/{GRACE_EPISODE}"),
        clinic.get("elif", f"{EPISODES}/{GRACE_EPISODE}"),
    )
    assert not {"notes", "diagnosis"} & hers["case"].keys()
    assert {"notes", "diagnosis"} <= theirs["case"].keys()
    assert not any("notes" in one for one in hers["embryos"])
    assert [one["notes"] for one in theirs["embryos"] if one["id"] == embryo_id] == ["Between ourselves"]
    mine = next(one for one in hers["embryos"] if one["id"] == embryo_id)
    sent = {"disposition": "Undecided", "notes": None, "concurrencyStamp": mine["concurrencyStamp"]}
    answer = clinic("grace", "PUT", f"/api/care/embryo-storage/{embryo_id}", sent)
    assert answer.status_code == 200 and "notes" not in answer.json
    assert clinic.get("elif", f"{EPISODES}/{GRACE_EPISODE}")["embryos"][0]["notes"] == "Between ourselves"


def test_an_embryo_without_a_result_looks_like_one_with_an_unreleased_result(clinic: Clinic) -> None:
    change(clinic, EmbryoStorage, sample_id("embryo", "GO-5"), pgt_result_id=None)
    hers = clinic.get("grace", f"{EPISODES}/{GRACE_EPISODE}")["embryos"]
    assert ["pgtResultId" in one for one in hers] == [True] * 4 + [False] * 2


# The sex of an embryo


@pytest.mark.parametrize(
    "chromosome",
    ["X", "y", "chrX", "Chromosome Y", "XY", "23", "0", "24", "sex", "X;7", "t(7;X)", "7 or X", "45,X", ""],
)
def test_only_chromosomes_1_to_22_are_returned_while_the_sex_is_undisclosed(
    clinic: Clinic, chromosome: str
) -> None:
    found = [
        Abnormality(chromosome="7", change="trisomy"),
        Abnormality(chromosome=chromosome, change="trisomy"),
    ]
    change(clinic, PgtResult, sample_id("pgt-result", "GO-1"), abnormalities=found)
    for who in ("grace", "elif"):
        assert clinic.get(who, RESULT)["abnormalities"] == [{"chromosome": "7", "change": "trisomy"}]


@pytest.mark.parametrize("chromosome", ["1", "22", "chr7", "Chromosome 16", "7q", "7q21.3"])
def test_every_notation_of_chromosomes_1_to_22_is_recognised(clinic: Clinic, chromosome: str) -> None:
    found = [Abnormality(chromosome=chromosome, change="mosaic gain (32 %)")]
    change(clinic, PgtResult, sample_id("pgt-result", "GO-1"), abnormalities=found)
    (seen,) = clinic.get("grace", RESULT)["abnormalities"]
    assert chromosome.endswith(seen["chromosome"]) and seen["change"] == "mosaic gain (32 %)"


@pytest.mark.parametrize(
    "words", ["trisomy, sex: F", "son", "45,X", "gain; XY", "a girl", "gain\nmale", "مذكر"]
)
def test_free_text_is_withheld_while_the_sex_is_undisclosed(clinic: Clinic, words: str) -> None:
    change(
        clinic, PgtResult, sample_id("pgt-result", "GO-1"), sex="XX", comment=words, condition=words,
        abnormalities=[Abnormality(chromosome="7", change=words)],
    )  # fmt: skip
    for who in ("grace", "elif"):
        seen = clinic.get(who, RESULT)
        assert not {"comment", "condition"} & seen.keys()
        assert seen["abnormalities"] == [{"chromosome": "7"}]
        assert (seen["sex"], seen["sexDisclosed"]) == (None, False)


def test_everything_is_shown_when_clinic_and_laboratory_disclose_the_sex(clinic: Clinic) -> None:
    clinic.change(
        lambda session: session.add(
            ClinicPolicy(tenant_id=sample_id("tenant", "riverside"), discloses_sex=True)
        )
    )
    assert "comment" not in clinic.get("grace", RESULT)
    change(
        clinic, PgtResult, sample_id("pgt-result", "GO-1"), sex_disclosed=True, sex="XX", comment="A girl",
        abnormalities=[Abnormality(chromosome="X", change="mosaic, 45,X")],
    )  # fmt: skip
    seen = clinic.get("grace", RESULT)
    assert (seen["sex"], seen["comment"], seen["condition"]) == ("XX", "A girl", None)
    assert seen["abnormalities"] == [{"chromosome": "X", "change": "mosaic, 45,X"}]


def test_the_report_is_withheld_from_patients_while_the_sex_is_undisclosed(clinic: Clinic) -> None:
    report = sample_id("file", "grace-report")

    def seen_by(who: str) -> tuple[bool, bool, int]:
        files = clinic.get(who, f"{EPISODES}/{GRACE_EPISODE}")["documents"]["files"]
        return (
            report in {one["id"] for one in files},
            clinic.get(who, RESULT)["reportFileId"] == report,
            clinic(who, "GET", FILE + report).status_code,
        )

    shown, held_back = (True, True, 200), (False, False, 404)
    assert (seen_by("grace"), seen_by("elif")) == (shown, shown), (
        "the laboratory marked it as a patient's copy"
    )
    change(clinic, File, report, is_patient_copy=False)
    assert (seen_by("grace"), seen_by("elif")) == (held_back, shown)
    message = sample_id("message", "grace-results-0")
    clinic.change(
        lambda session: session.add(
            Attachment(
                id=new_id(),
                message_id=message,
                position=0,
                file_id=report,
                name="r",
                media_type="text/plain",
                size=1,
            )
        )
    )
    assert seen_by("grace") == held_back, "an attachment doesn't make it accessible"
    clinic.change(
        lambda session: session.add(
            ClinicPolicy(tenant_id=sample_id("tenant", "riverside"), discloses_sex=True)
        )
    )
    for code in ("GO-1", "GO-2", "GO-3", "GO-4"):
        change(clinic, PgtResult, sample_id("pgt-result", code), sex_disclosed=True)
    assert seen_by("grace") == held_back, "one of its results has an undisclosed sex"
    change(clinic, PgtResult, sample_id("pgt-result", "GO-5"), sex_disclosed=True)
    assert seen_by("grace") == shown


def test_a_patients_copy_is_withheld_until_the_release(clinic: Clinic) -> None:
    late = sample_id("file", "grace-report-late")
    change(clinic, File, late, is_patient_copy=True)
    assert clinic("grace", "GET", FILE + late).status_code == 404
    change(clinic, PgtResult, sample_id("pgt-result", "GO-6"), status=PgtStatus.RELEASED)
    assert clinic("grace", "GET", FILE + late).status_code == 200


def test_a_record_bound_to_another_account_gives_no_access(clinic: Clinic) -> None:
    change(clinic, Patient, patient("daniel"), user_id=new_id())
    assert clinic("daniel", "GET", EPISODE).status_code == 404


def test_the_samples_include_an_ended_relationship_whose_forms_remain(clinic: Clinic) -> None:
    seen = clinic.get("nora", f"{EPISODES}/{sample_id('episode', 'hanne-1')}")
    (one,) = seen["relationships"]
    assert one["endDate"] < today(clinic).isoformat()
    assert [form["status"] for form in seen["consentForms"]] == ["Signed", "Signed"]


def test_the_name_of_a_withheld_report_shows_to_staff_alone_where_it_was_attached(clinic: Clinic) -> None:
    def attach(session: Session) -> None:
        talk = sample_id("conversation", "grace-storage")
        message = session.scalars(select(Message.id).where(Message.conversation_id == talk)).first()
        file = session.get_one(File, sample_id("file", "grace-report-late"))
        session.add(
            Attachment(
                message_id=message,
                position=7,
                file_id=file.id,
                name="GO-3 male.pdf",
                media_type=file.media_type,
                size=file.size,
            )
        )

    clinic.change(attach)

    def attached(who: str) -> list[str]:
        return [
            file["name"]
            for talk in clinic.get(who, CONVERSATIONS)["items"]
            for message in talk["messages"]
            for file in message["attachments"]
        ]

    assert "GO-3 male.pdf" in attached("nora")
    assert "GO-3 male.pdf" not in attached("grace")


# Other clinics

_CONSENT, _PLAN = ("nora", CONSENTS, form), ("victor", PROTOCOLS, plan)


@pytest.mark.parametrize(
    ("act", "member", "kind", "record_id"),
    [
        (_CONSENT, "patientId", Patient, patient("amelia")),
        (_CONSENT, "partnerId", Patient, patient("daniel")),
        (_CONSENT, "caseId", CareCase, sample_id("case", "amelia")),
        (_CONSENT, "episodeId", Episode, AMELIA_EPISODE),
        (_CONSENT, "supersedesId", ConsentForm, sample_id("consent", "amelia-genetic")),
        (_PLAN, "patientId", Patient, patient("grace")),
        (_PLAN, "physicianId", Physician, sample_id("physician", "victor")),
        (_PLAN, "episodeId", Episode, GRACE_EPISODE),
    ],
)
def test_a_record_of_another_clinic_that_somebody_names_is_answered_as_one_that_is_not_there(
    clinic: Clinic, act: tuple[str, str, Any], member: str, kind: type[Any], record_id: str
) -> None:
    who, path, body = act
    change(clinic, kind, record_id, tenant_id=sample_id("tenant", "harbour"))
    others, unknown = (
        clinic(who, "POST", path, body(**{member: id_}))
        for id_ in (record_id, "00000000-0000-4000-8000-000000000000")
    )
    assert (others.status_code, others.json) == (400, unknown.json)
    assert member in str(unknown.json)
