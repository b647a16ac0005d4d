"""Rules of a form on its own: who may sign in which role, matching names, changes, messages."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import msgspec
import pytest

from portal.careservice.domain.rules import Rule
from portal.config.consent_templates import load
from portal.config.tenants import Side
from portal.services.cases import CareStatus, Case
from portal.services.consents.forms import (
    Clause,
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signature,
    Signer,
    SignerRole,
    SigningOrder,
    Statement,
)
from portal.services.episodes import CareTeamMember, Episode
from portal.services.errors import Invalid, NotFound
from portal.services.patients import Patient
from portal.services.relationships import Relationship, RelationshipType
from portal.services.rules import signing
from portal.services.rules.consent_text import content_hash
from portal.services.rules.ending import Ending, ending_of
from portal.services.rules.signing import (
    Obstacle,
    is_awaited,
    listed_role,
    missing_party,
    open_role,
    same_name,
)
from portal.views.consents import eligibility
from portal.views.consents.begin_draft import names_of_others
from portal.views.consents.declarations import Declaration
from portal.views.consents.draft_faults import faults_named_by, faults_of
from portal.views.consents.eligibility import why_not_revoke, why_not_sign
from portal.views.consents.list import line
from portal.views.consents.missing import unseen_words
from portal.views.consents.new_form import Earlier, NewForm
from portal.views.consents.pdf import stamp
from portal.views.consents.signers import (
    LEFT_OUT,
    Candidate,
    NamedPartner,
    Parties,
    Row,
    candidates,
    named_partners,
    parties_of_episode,
    parties_of_patient,
    rows_as_before,
    rows_for,
    with_usual_signers,
)
from portal.views.consents.signing import Progress
from portal.views.consents.snapshot import Snapshot, changes
from portal.views.episodes.lookup import episode_id_of
from portal.web.choice_names import choice_name
from portal.web.refusals import refusal_message
from tests.support.builders import consent, person


@pytest.fixture(autouse=True)
def words() -> Any:
    """Words need an application to be said in."""
    from flask import Flask

    app = Flask("words")
    with app.test_request_context():
        yield


def form(*signers: Signer, **more: Any) -> ConsentForm:
    return consent(required_signers=signers, **more)


COUPLE = Parties("p", "Amelia", partner_id="q", patient="a", partner="b")
PATIENT = Signer(role=SignerRole.PATIENT, person_id="a", name="A", order=1)
WITNESS_OF_THE_CLINIC = Signer(role=SignerRole.WITNESS, name="", order=2)


def test_an_open_role_is_for_staff_without_another_role_on_the_form() -> None:
    both = form(PATIENT, WITNESS_OF_THE_CLINIC)
    assert open_role(both, person("n", side=Side.STAFF)) == SignerRole.WITNESS
    assert open_role(both, person("n")) is None
    clinician = Signer(role=SignerRole.CLINICIAN, person_id="n", name="N", order=3)
    signed = form(PATIENT, WITNESS_OF_THE_CLINIC, clinician, signatures=(signature(clinician),))
    assert open_role(signed, person("n", side=Side.STAFF)) is None


def signature(signer: Signer) -> Signature:
    return Signature(role=signer.role, person_id=signer.person_id)


@pytest.mark.parametrize("role", SignerRole)
def test_only_staff_sign_clinic_roles_and_only_those(role: SignerRole) -> None:
    asked = form(Signer(role=role, person_id="x", name="X", order=1), PATIENT)
    of_the_clinic = role in (SignerRole.WITNESS, SignerRole.INTERPRETER, SignerRole.CLINICIAN)
    assert open_role(asked, person("x", side=Side.STAFF)) == (role if of_the_clinic else None)
    assert open_role(asked, person("x")) == (None if of_the_clinic else role)
    refused = person("x") if of_the_clinic else person("x", side=Side.STAFF)
    assert "role that this form gives you" in why_not_sign(asked, refused)
    assert not is_awaited(asked, refused)


def test_a_person_with_several_roles_signs_once() -> None:
    twice = (PATIENT, Signer(role=SignerRole.GAMETE_PROVIDER, person_id="a", name="A", order=2))
    assert open_role(form(*twice), person("a")) == SignerRole.PATIENT
    after = form(*twice, signatures=(signature(PATIENT),))
    assert open_role(after, person("a")) is None and not is_awaited(after, person("a"))
    assert "signed this form already" in why_not_sign(after, person("a"))


def test_a_witness_has_no_other_role_on_the_form() -> None:
    both = (
        PATIENT,
        *(Signer(role=r, person_id="n", order=2) for r in (SignerRole.WITNESS, SignerRole.CLINICIAN)),
    )
    assert open_role(form(*both), person("n", side=Side.STAFF)) == SignerRole.CLINICIAN


def test_staff_asked_to_sign_as_patients_are_sent_to_their_patient_account() -> None:
    asked = form(Signer(role=SignerRole.PATIENT, person_id="a", name="Nóra Lindqvist", order=1))
    nora = person("n", name="Nora Lindqvist", side=Side.STAFF)
    assert "Nóra Lindqvist as a patient" in why_not_sign(asked, nora)
    assert "as a patient" not in why_not_sign(asked, person("n", name="Nora Lindqvist"))
    assert "as a patient" not in why_not_sign(asked, person("v", name="Victor", side=Side.STAFF))


def test_the_patient_is_not_proposed_to_sign_for_the_clinic() -> None:
    rows = (Row(SignerRole.PATIENT, 1, "a", is_fixed=True), Row(SignerRole.WITNESS, 2))
    before = form(
        *(
            Signer(role=SignerRole.WITNESS, person_id=id_, name=name, order=2)
            for id_, name in (("n", "Nora"), ("v", "V"))
        )
    )
    staff = [Candidate("n", "Nora", is_staff=True, is_in_team=True), Candidate("v", "V", is_staff=True)]
    _, usual = with_usual_signers(rows, [Candidate("a", "A", is_staff=False), *staff], [before])
    assert usual.person_id == "n"
    _, other = with_usual_signers(rows, [Candidate("a", "nora", is_staff=False), *staff], [before])
    assert other.person_id == "v"


def test_a_witness_is_told_which_signatures_came_earlier() -> None:
    clinician = Signer(role=SignerRole.CLINICIAN, person_id="n", name="N", order=1)
    open_form = form(PATIENT, clinician, WITNESS_OF_THE_CLINIC)
    assert unseen_words(open_form, SignerRole.WITNESS).startswith("A hasn’t signed yet")
    assert not unseen_words(open_form, SignerRole.INTERPRETER)
    signed = form(PATIENT, WITNESS_OF_THE_CLINIC, signatures=(signature(PATIENT),))
    assert not unseen_words(signed, SignerRole.WITNESS)


CLINICIAN = Signer(role=SignerRole.CLINICIAN, person_id="n", name="N", order=1)
PARTNER = Signer(role=SignerRole.PARTNER, person_id="b", name="B", order=2)


@pytest.mark.parametrize(
    ("kind", "signers", "rule"),
    [
        ("Research", (CLINICIAN,), "PatientMustSign"),
        ("Research", (CLINICIAN, PARTNER), "PatientMustSign"),
        ("storage renewal", (PATIENT, CLINICIAN), "PartnerMustSign"),
        ("StorageRenewal ", (PATIENT, CLINICIAN), "PartnerMustSign"),
        ("TREATMENT", (PATIENT, Signer(role=SignerRole.DONOR, person_id="a")), "PartnerMustSign"),
        ("Treatment", (PATIENT, PARTNER), None),
        ("Storage", (PATIENT, CLINICIAN), None),
        ("Legal parenthood", (PARTNER, CLINICIAN), None),
        ("Storage", (CLINICIAN,), "PatientMustSign"),
        ("Genetic testing", (PATIENT, CLINICIAN), None),
        ("A kind of the clinic's own", (PATIENT,), None),
    ],
)
def test_a_form_without_the_person_it_concerns_cannot_be_signed(
    kind: str, signers: tuple[Signer, ...], rule: str | None
) -> None:
    asked = form(*signers, kind=ConsentKind(kind), partner_id="p")
    assert missing_party(asked) == rule
    for signer in signers:
        side = Side.STAFF if signer == CLINICIAN else Side.PATIENT
        one = person(str(signer.person_id), side=side)
        assert (open_role(asked, one) is None) == (listed_role(asked, one) is None) == (rule is not None)


CLAUSE = Clause(id="c", heading="H", text="Words")


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"body": None}, "didn’t come"),
        ({"body": None, "file_id": "f"}, "didn’t come"),
        ({"statements": None}, "didn’t come"),
        ({"body": ()}, "has no text"),
        ({"body": (), "file_id": "f"}, "signed at the clinic"),
        ({"body": (CLAUSE, Clause(id="d", heading="H", text=" \u200b\n"))}, "part of this form’s text"),
        ({"statements": (Statement(id="s", text="–"),)}, "part of this form’s text"),
    ],
)
def test_a_form_with_incomplete_text_cannot_be_signed(members: dict[str, Any], said: str) -> None:
    bare = form(PATIENT, **members)
    assert open_role(bare, person("a")) is None
    assert said in why_not_sign(bare, person("a"))
    assert "doesn’t ask for your signature" in why_not_sign(bare, person("z"))


UNKNOWN_STATE = (
    "The portal doesn’t know the state of this form, so it can be neither signed nor withdrawn here."
)
UNSAID = "The clinic’s system doesn’t say whether this form asks you."


@pytest.mark.parametrize(
    ("obstacle", "patients", "staffs"),
    [
        (Obstacle(signing.CANCELLED), "The clinic has cancelled this form.", ""),
        (
            Obstacle(signing.DECLINED),
            "Someone who was asked to sign this form didn’t want to, so it is closed.",
            "",
        ),
        (Obstacle(signing.OTHERS_FIRST, (PATIENT,)), "A signs first; then it is your turn.", ""),
        (Obstacle(signing.OTHERS_FIRST, (PATIENT, PARTNER)), "A and B sign first; then it is your turn.", ""),
        (
            Obstacle(signing.OTHER_ACCOUNT, (PARTNER, PATIENT)),
            "This form asks B as a patient. If that is you, sign in with your patient account to sign it.",
            "",
        ),
        (
            Obstacle(signing.SIGNERS_UNKNOWN),
            f"{UNSAID} If you expect to sign it, ask the clinic.",
            f"{UNSAID} Look there who has to sign it.",
        ),
        (
            Obstacle(signing.STATUS_UNKNOWN),
            f"{UNKNOWN_STATE} Ask the clinic.",
            f"{UNKNOWN_STATE} Look it up in the clinic’s system.",
        ),
        (Obstacle("FormNotSent"), "The clinic hasn’t sent this form yet.", ""),
    ],
    ids=lambda told: told.code if isinstance(told, Obstacle) else "",
)
def test_each_obstacle_has_its_words(obstacle: Obstacle, patients: str, staffs: str) -> None:
    for reader, words in ((person("a"), patients), (person("n", Side.STAFF), staffs or patients)):
        assert eligibility._words(form(PATIENT), reader, obstacle) == words


def test_signers_stand_in_their_order_with_whose_turn_it_is() -> None:
    clinician = Signer(role=SignerRole.CLINICIAN, person_id="n", name="N", order=3)
    asked = form(
        *(clinician, PARTNER, PATIENT),
        signatures=(signature(PATIENT),),
        signing_order=SigningOrder.SEQUENTIAL,
    )
    rows = eligibility.eligibility_of(asked, person("b")).signers
    told = [(row.signer.name, row.signature is not None, row.is_turn, row.is_me) for row in rows]
    assert told == [("A", True, False, False), ("B", False, True, True), ("N", False, False, False)]


def test_an_empty_text_in_a_list_is_recognised_by_its_hash() -> None:
    listed = form(PATIENT, body=None, content_hash=content_hash(form(PATIENT, body=())))
    assert listed_role(listed, person("a")) is None
    assert listed_role(form(PATIENT, body=None, content_hash="another"), person("a")) == SignerRole.PATIENT
    assert listed_role(form(PATIENT, body=()), person("a")) is None


def test_a_later_signer_is_pending_but_not_next() -> None:
    waiting = form(
        PATIENT,
        Signer(role=SignerRole.PARTNER, person_id="b", order=2),
        signing_order=SigningOrder.SEQUENTIAL,
    )
    assert is_awaited(waiting, person("b")) and open_role(waiting, person("b")) is None


UNIDENTIFIED = Signer(role=SignerRole.PATIENT, name="A")


@pytest.mark.parametrize(
    ("signers", "more", "words"),
    [
        ((PATIENT, UNIDENTIFIED), {}, "After you: A"),
        ((UNIDENTIFIED,), {}, "Only your signature is missing"),
        ((UNIDENTIFIED, PARTNER), {}, "After you: B"),
        ((PATIENT, PARTNER), {"status": ConsentStatus.PARTIALLY_SIGNED}, ""),
    ],
    ids=["another of that name", "alone", "the first of two", "signatures untold"],
)
def test_nobody_is_said_to_sign_after_themselves(
    signers: tuple[Signer, ...], more: dict[str, Any], words: str
) -> None:
    asked, reader = form(*signers, **more), person("a", name="A")
    assert line(asked, reader, is_mine=listed_role(asked, reader) is not None) == words


@pytest.mark.parametrize(
    ("by", "words"),
    [("a", "Declined"), ("n", "Cancelled"), (None, "Withdrawn")],
    ids=["hers", "the clinic", "unknown"],
)
def test_a_copy_is_stamped_with_how_the_form_ended(by: str | None, words: str) -> None:
    ended = form(
        PATIENT, CLINICIAN, signatures=(signature(CLINICIAN),), status=ConsentStatus.REVOKED, revoked_by_id=by
    )
    assert stamp(ended) == words


def test_how_each_person_may_end_a_form() -> None:
    witness = Signer(role=SignerRole.WITNESS, person_id="w", order=2)
    unsigned = form(PATIENT, witness)
    signed = form(PATIENT, witness, signatures=(Signature(role=SignerRole.PATIENT, person_id="a"),))
    assert ending_of(unsigned, person("a")) is Ending.DECLINE
    assert ending_of(signed, person("a")) is Ending.WITHDRAW
    assert ending_of(unsigned, person("w", side=Side.STAFF)) is Ending.CANCEL
    assert ending_of(signed, person("w", side=Side.STAFF)) is Ending.RECORD
    assert why_not_revoke(signed, person("w")) and not why_not_revoke(signed, person("a"))


@pytest.mark.parametrize(
    ("typed", "name", "same"),
    [
        ("amelia hart", "Amelia Hart", True),
        ("Leila Benhamou Swiatek", "Leïla Benhamou-Świątek", True),
        ("Siobhan O'Rourke", "Siobhán O’Rourke", True),
        ("Jurgen Grossmann", "Jürgen Großmann", True),
        ("فاطمة الزهراني", "فاطمة الزهراني", True),
        ("Amelia", "Amelia Hart", False),
        ("", "", False),
        ("...", "–", False),
    ],
)
def test_names_match_ignoring_case_spaces_accents_and_punctuation(typed: str, name: str, same: bool) -> None:
    assert same_name(typed, name) is same


def test_changes_show_each_part_before_and_after() -> None:
    before = form()
    after = form(
        body=(
            Clause(id="c1", heading="One", text="First new words here"),
            Clause(id="c3", heading="Three", text="y"),
        ),
        statements=(Statement(id="s1", text="Agreed"), Statement(id="s2", text="Added")),
    )
    found = {change.part: change for change in changes(Snapshot.of(before), Snapshot.of(after), {})}
    assert set(found) == {"Clause 1", "Clause 2", "Clause 2 of the earlier form", "Statement 2"}
    assert [run.text for run in found["Clause 1"].new if run.differs] == ["new "]
    assert not found["Statement 2"].old and not found["Clause 2 of the earlier form"].new


def test_changes_tell_that_clauses_or_statements_have_another_order() -> None:
    clauses = [Clause(id=f"c{number}", heading=name) for number, name in enumerate(("Risks", "Costs", "End"))]
    agreed = [Statement(id="s1", text="I agree"), Statement(id="s2", text="I was told")]
    before = form(body=tuple(clauses), statements=tuple(agreed))
    after = form(body=(clauses[1], clauses[0], clauses[2]), statements=tuple(agreed[::-1]))
    found = changes(Snapshot.of(before), Snapshot.of(after), {})
    told = {
        change.part: ["".join(run.text for run in side) for side in (change.old, change.new)]
        for change in found
    }
    assert told == {
        "Order of the clauses": ["Risks\nCosts\nEnd", "Costs\nRisks\nEnd"],
        "Order of the statements": ["I agree\nI was told", "I was told\nI agree"],
    }
    added = form(body=(Clause(id="c9", heading="New"), *clauses[:2]), statements=tuple(agreed))
    parts = [change.part for change in changes(Snapshot.of(before), Snapshot.of(added), {})]
    assert parts == ["Clause 1", "Clause 3 of the earlier form"], "what stays is in its order"


def test_changes_tell_the_kind_in_words_and_embryos_by_their_codes() -> None:
    before = form(kind=ConsentKind.STORAGE, embryo_storage_ids=("e1",))
    after = form(kind=ConsentKind.DISPOSITION, embryo_storage_ids=("e1", "e2", "e3"))
    found = changes(Snapshot.of(before), Snapshot.of(after), {"e1": "E1-4", "e2": "E2-4"})
    told = {
        change.part: ["".join(run.text for run in side) for side in (change.old, change.new)]
        for change in found
    }
    assert told == {
        "Kind": [choice_name(ConsentKind.STORAGE), choice_name(ConsentKind.DISPOSITION)],
        "Embryos": ["E1-4", "E1-4\nE2-4\ne3"],
    }


def test_a_copy_for_others_is_known_by_the_names_that_its_text_still_has() -> None:
    ines, omar = (
        Signer(role=SignerRole.PATIENT, name="Ines Roy"),
        Signer(role=SignerRole.PARTNER, name="Omar Ali Roy"),
    )
    unnamed = Signer(role=SignerRole.DONOR, name="–")
    victor = Signer(role=SignerRole.CLINICIAN, name="Victor Hale")
    copied = form(
        *(ines, omar, victor, unnamed),
        patient_name="Ines Roy",
        body=(Clause(id="c", text="I, Ines Roy, was told by Victor Hale."),),
        statements=(Statement(id="s", text="I consent to the part of Roy, Omar Ali"),),
    )
    assert names_of_others(copied, COUPLE) == ["Ines Roy", "Omar Ali Roy"]
    assert names_of_others(copied, Parties("i", "INES ROY", partner_name="Omar Ali Roy")) == []
    jumbled = msgspec.structs.replace(copied, statements=(Statement(id="s", text="For Omar and Ali Roy"),))
    assert names_of_others(jumbled, COUPLE) == ["Ines Roy"]
    assert names_of_others(copied, Parties("i", "Ines Roy")) == ["Omar Ali Roy"], (
        "he isn't her partner any more"
    )
    assert names_of_others(form(ines, patient_name="Ines Roy"), COUPLE) == []
    longer = form(patient_name="Ines Roy", body=(Clause(id="c", text="Ines Royle"),))
    assert names_of_others(longer, COUPLE) == []


def test_another_signature_changes_the_stamp_but_not_the_content_mark() -> None:
    before = form(concurrency_stamp="1")
    after = form(concurrency_stamp="2", signatures=(Signature(role=SignerRole.PARTNER, person_id="b"),))
    progress = Progress.of(before)
    assert progress.is_of(after) and progress.with_stamp_of(after).stamp == "2"
    assert msgspec.convert(msgspec.to_builtins(progress), Progress) == progress


@pytest.mark.parametrize(
    ("kind", "asked", "rows"),
    [
        ("Storage", ["Patient", "Partner"], [("Patient", "a", True), ("Partner", "b", True)]),
        ("storage renewal", ["Patient"], [("Patient", "a", True), ("Partner", "b", True)]),
        ("GeneticTesting", ["Patient", "Partner"], [("Patient", "a", True), ("Partner", "b", False)]),
        (
            "Donation",
            ["Patient", "IntendedParent", "Witness"],
            [("Patient", "a", True), ("Partner", "b", True), ("Witness", None, False)],
        ),
        (
            "Disposition ",
            ["Clinician"],
            [("Patient", "a", True), ("Partner", "b", True), ("Clinician", None, False)],
        ),
        (
            "DISPOSITION",
            ["Patient"],
            [("Patient", "a", True), ("Partner", "b", True), ("Clinician", None, False)],
        ),
        ("Research", ["Donor"], [("Donor", None, False)]),
    ],
)
def test_the_kind_decides_who_signs_a_new_form(
    kind: str, asked: list[str], rows: list[tuple[str, str | None, bool]]
) -> None:
    signers = [Signer(role=SignerRole(role), order=n, person_id=None) for n, role in enumerate(asked, 1)]
    made = rows_for(ConsentKind(kind), signers, COUPLE)
    assert [(str(row.role), row.person_id, row.is_fixed) for row in made] == rows


NORA = Row(SignerRole.CLINICIAN, 2, "n")
COUPLES = (Row(SignerRole.PATIENT, 1, "a", is_fixed=True), Row(SignerRole.PARTNER, 1, "b", is_fixed=True))
NEW = NewForm(
    title="Consent",
    kind="Treatment",
    version="2.1",
    order="Any",
    body=(Clause(id="c", heading="Freezing", text="We freeze embryos."),),
    statements=(Statement(id="s", text="I agree."),),
    rows=(*COUPLES, NORA, Row(SignerRole.WITNESS, 3, LEFT_OUT)),
    candidates=tuple(Candidate(id_, id_.upper(), is_staff=id_ > "c") for id_ in "abcno"),
    about=COUPLE,
)
EARLIER = Earlier("f", "Consent", ConsentStatus.SIGNED, (PATIENT, Signer(role=SignerRole.DONOR, person_id="z", name="Z")))  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        *(({name: "x" * most}, []) for name, most in (("title", 300), ("version", 32))),
        *(({"title": title}, [("title", "Give the form a title of at most 300 characters")]) for title in ("", "x" * 301)),
        *(({"version": version}, [("version", "Give a version of at most 32 characters, such as 2.1")]) for version in ("", "x" * 33)),
        ({"procedure_date": "soon"}, [("procedure_date", "Give the procedure’s date as a date, such as 2026-11-27")]),
        ({"expires_on": "soon"}, [("expires_on", "Give the last day for signing as a date, such as 2026-11-27")]),
        ({"disposition": "Discard"}, [("disposition", "Choose one of the decisions listed")]),
        ({"kind": "Disposition"}, []),
        ({"kind": "Disposition", "embryo_ids": ("e",), "disposition": "Discard"}, []),
        ({"kind": "Disposition", "embryo_ids": ("e",)}, [("disposition", "Choose what is decided about these embryos")]),
        ({"title": "For {partner}"}, [("title", "The text of this template names the partner, and none is known here. Choose another one.")]),
        ({"title": "For {patient}"}, [("title", "The text of this template names the patient, whose name isn’t known here.")]),
        ({"body": (), "statements": ()}, [("title", "This form has no text, so it can’t be signed.")]),
        ({"earlier": EARLIER}, []),
        ({"earlier": EARLIER, "replaces": True}, [("replaces", "To replace it, this form needs the signature of Z too")]),
        ({"rows": (*COUPLES, Row(SignerRole.CLINICIAN, 2))}, [("signer-2", "Choose who signs as Clinician, or leave it out")]),
        ({"rows": (*COUPLES, Row(SignerRole.CLINICIAN, 2, "c"))}, [("signer-2", "Choose one of the people listed")]),
        ({"rows": (*COUPLES, NORA, NORA)}, [("signer-3", "This person signs already; each person signs once")]),
        ({"rows": (*COUPLES[:1], NORA)}, [("signer-1", "The patient’s partner has to be among those who sign.")]),
        ({"rows": (*COUPLES[:1], NORA), "kind": "Research"}, []),
        ({"rows": (*COUPLES[1:], NORA), "kind": "Research"}, [("signer-1", "The patient has to be among those who sign.")]),
        ({"kind": "Storage"}, [("signer-2", "Each of the two needs a form of this kind of their own. Make one form for each.")]),
        ({"kind": "Storage", "rows": (Row(SignerRole.PATIENT, 1, "b"), NORA)}, []),
        *(({"kind": "Storage", "rows": rows}, [("signer-0", "Choose whose form this is: the patient’s or the partner’s.")])
          for rows in ((NORA,), (Row(SignerRole.PATIENT, 1, "c"), NORA))),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_new_form(changes: dict[str, Any], told: list[tuple[str, str]]) -> None:
    assert faults_of(msgspec.structs.replace(NEW, **changes)) == told


def test_without_a_partner_no_partner_signature_is_required() -> None:
    signers = [Signer(role=SignerRole.PATIENT, order=1), Signer(role=SignerRole.PARTNER, order=2)]
    alone = Parties("p", "Amelia", patient="a")
    assert [row.role for row in rows_for(ConsentKind.STORAGE, signers, alone)] == [SignerRole.PATIENT]


@pytest.mark.parametrize(
    ("signer", "records", "form", "has_account"),
    [
        ("amelia", ("p-1",), {}, True),
        ("p-1", ("p-1",), {}, False),
        ("p-1", (), {"patient_id": "p-1"}, False),
        ("p-1", (), {"patient_id": "p-1", "untold": frozenset({"Patient.userId"})}, True),
    ],
    ids=["an account", "a record", "a form's", "never told"],
)
def test_who_is_named_by_a_record_has_no_account_where_that_is_told(
    signer: str, records: tuple[str, ...], form: dict[str, Any], has_account: bool
) -> None:
    named = [Signer(role=SignerRole.PATIENT, person_id=signer, name="Amelia", order=1)]
    (found, _staff) = candidates(person("nora"), None, named, [consent(**form)], records)
    assert (found.person_id, found.has_account) == (signer, has_account)


@pytest.mark.parametrize(
    ("member", "field"),
    [
        *((name, name) for name in ("title", "version", "procedure_date", "disposition")),
        *(("expires_at", "expires_on"), ("embryo_storage_ids", "embryos"), ("body", "title")),
        *(("required_signers", "signer-0"), ("required_signers.1.person_id", "signer-1")),
        *(("required_signers.2", "signer-3"), ("required_signers.9", "signer-0"), ("required_signers.x", "signer-0")),
    ],
)  # fmt: skip
def test_what_the_api_finds_wrong_stands_at_its_field(member: str, field: str) -> None:
    rows = (*COUPLES, Row(SignerRole.WITNESS, 2, LEFT_OUT), NORA)
    told = faults_named_by(Invalid({member: ["invalid"]}), msgspec.structs.replace(NEW, rows=rows))
    assert told == [(field, "The clinic’s system doesn’t accept this; please check it")]
    unnamed = faults_named_by(Invalid({}), NEW)
    assert unnamed == [("title", "The clinic’s system didn’t accept the form; please check it")]


def related(name: str, type_: RelationshipType, **more: Any) -> Relationship:
    return Relationship(id=name, related_patient_id=name, related_name=name.upper(), type=type_, **more)


DONOR = related("d", RelationshipType.SPERM_DONOR)
AT_HOME = Episode(
    id="e",
    status=CareStatus.ACTIVE,
    patient=Patient(id="p", user_id="a", first_name="Amelia", last_name="Hart"),
    partner=Patient(id="q", first_name="Daniel", last_name="Hart"),
    case=Case(id="k", status=CareStatus.ACTIVE),
    care_team=(CareTeamMember(name="Dr V"),),
)
FIRST_HERS = Parties(
    "p", "Amelia Hart", partner_id="q", case_id="k", episode_id="e", patient="a", partner="q", partner_name="Daniel Hart"
)  # fmt: skip


def test_an_episodes_form_is_about_both_in_the_order_asked_for() -> None:
    his = {"patient_id": "q", "patient_name": "Daniel Hart", "patient": "q"}
    hers = {"partner_id": "p", "partner_name": "Amelia Hart", "partner": "a"}
    assert parties_of_episode(AT_HOME) == parties_of_episode(AT_HOME, "p") == FIRST_HERS
    assert parties_of_episode(AT_HOME, "q") == msgspec.structs.replace(FIRST_HERS, **his, **hers)
    assert parties_of_episode(AT_HOME, "z") == FIRST_HERS
    alone = parties_of_episode(msgspec.structs.replace(AT_HOME, partner=None, case=None))
    assert alone == Parties("p", "Amelia Hart", episode_id="e", patient="a")


@pytest.mark.parametrize("type_", list(RelationshipType))
def test_an_episode_has_a_donor_of_sperm_or_embryos_while_it_names_one(type_: RelationshipType) -> None:
    gives = type_ in (RelationshipType.SPERM_DONOR, RelationshipType.EMBRYO_DONOR)
    for end, has_donor in ((None, gives), (date(2026, 1, 1), False)):
        named = msgspec.structs.replace(AT_HOME, relationships=(related("d", type_, end_date=end),))
        assert parties_of_episode(named).has_donor is has_donor


def test_without_a_treatment_a_patients_newest_forms_say_who_signs() -> None:
    def told(day: int, partner: str, **more: Any) -> ConsentForm:
        signers = (PATIENT, Signer(role=SignerRole.PARTNER, person_id=f"{partner}-{day}", name=partner))
        members = {"patient_id": "p", "partner_id": partner, "sent_at": datetime(2026, 1, day, tzinfo=UTC)}
        return form(*signers, **{**members, "title": f"Form {day}", **more})

    forms = [told(1, "b"), told(3, "b", patient_name="Amelia"), told(2, "c"), told(4, "x", patient_id="y")]
    assert named_partners(forms[:3]) == (
        NamedPartner("b", "b", "b-3", "Form 3"),
        NamedPartner("c", "c", "c-2", "Form 2"),
    )
    assert parties_of_patient("p", forms) == Parties("p", "Amelia", patient="a")
    for chosen, signs_as in (("b", "b-3"), ("c", "c-2")):
        assert parties_of_patient("p", forms, chosen) == Parties(
            "p", "Amelia", chosen, patient="a", partner=signs_as, partner_name=chosen, is_partner_chosen=True
        )
    assert parties_of_patient("p", forms, "x") == Parties("p", "Amelia", patient="a"), "another patient's"
    unsaid = form(Signer(role=SignerRole.PATIENT, name="A"), patient_id="p")
    assert parties_of_patient("p", [unsaid]).patient == "p"
    with pytest.raises(NotFound):
        parties_of_patient("z", forms)


def test_a_copy_whose_treatment_is_unread_is_signed_as_before_but_for_the_partner() -> None:
    clinician = Signer(role=SignerRole.CLINICIAN, person_id="n", order=3)
    assert rows_as_before(form(clinician, PARTNER, PATIENT)) == (
        Row(SignerRole.PATIENT, 1, "a", is_fixed=True),
        Row(SignerRole.PARTNER, 2),
        Row(SignerRole.CLINICIAN, 3, "n"),
    )


def test_who_may_sign_a_treatments_form() -> None:
    """The couple, who takes part in it, and staff: its care team first, others as forms name them."""
    ended = related("o", RelationshipType.EGG_DONOR, end_date=date(2026, 1, 1))
    nobody = related("", RelationshipType.EGG_DONOR)
    takes_part = tuple(
        related(type_.value, type_) for type_ in RelationshipType if type_ != RelationshipType.SPERM_DONOR
    )
    named = msgspec.structs.replace(AT_HOME, relationships=(DONOR, ended, nobody, *takes_part))
    clinicians = [
        Signer(role=SignerRole.WITNESS, person_id=id_, name=name) for id_, name in (("w", "W"), ("v", "V"))
    ]
    before = form(PATIENT, *clinicians)
    told = candidates(person("n", name="N"), named, (), [before])
    assert told[0] == Candidate("v", "V", is_staff=True, is_in_team=True)
    assert told[1:] == (
        Candidate("a", "Amelia Hart", is_staff=False),
        Candidate("q", "Daniel Hart", is_staff=False, has_account=False),
        Candidate("d", "D", is_staff=False),
        *(
            Candidate(type_, type_.upper(), is_staff=False)
            for type_ in ("EggDonor", "EmbryoDonor", "GestationalCarrier", "IntendedParent")
        ),
        Candidate("n", "N", is_staff=True),
        Candidate("w", "W", is_staff=True),
    )


@pytest.mark.parametrize("rule", [rule for rule in Rule if rule != Rule.CONCURRENCY_CONFLICT])
def test_every_rule_of_the_care_service_has_its_own_message(rule: Rule) -> None:
    assert refusal_message(rule.value) != refusal_message("NoSuchRule"), "write one in portal/web/refusals.py"


def test_a_template_that_could_not_be_read_is_read_again(tmp_path: Any, monkeypatch: Any) -> None:
    text = 'title = "Own"\nkind = "Research"\nversion = "1"\nsigners = ["Patient"]\n[[clauses]]\nheading = "H"\ntext = "T"\n'
    (tmp_path / "own.toml").write_text(text)

    def refused(*_path: object, **_how: object) -> str:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.read_text", refused)
        assert "own.toml" in load(tmp_path).broken
    found = load(tmp_path)
    assert "own" in found.by_name and not found.broken


def test_bundled_consent_templates_are_valid_and_a_broken_file_is_reported(tmp_path: Any) -> None:
    (tmp_path / "own.toml").write_text(
        'title = "Own"\nkind = "Research"\nversion = "1"\nsigners = ["Patient"]\n[[clauses]]\nheading = "H"\ntext = "T"\n'
    )
    (tmp_path / "broken.toml").write_text("title = ")
    own = (tmp_path / "own.toml").read_text()
    check = 'check = {{ question = "Q", answers = ["A", "B"], right = {}, because = "R" }}\n'
    (tmp_path / "none-right.toml").write_text(own + check.format(3))
    (tmp_path / "checked.toml").write_text(own.replace('"T"', '"T of  two\\nlines"') + check.format(2))
    found = load(tmp_path)
    assert {"treatment", "storage", "genetic-testing", "own"} <= set(found.by_name)
    assert found.broken == ("broken.toml", "none-right.toml")
    asked = found.check_of("T of two lines ")
    assert asked and asked.question == "Q"
    assert found.check_of("T") is None and found.check_of("T of two lines, changed") is None
    (tmp_path / "broken.toml").unlink()
    assert load(tmp_path).broken == ("none-right.toml",), "read anew once files change"
    for template in found.by_name.values():
        assert all(SignerRole(role).known for role in template.signers) and SigningOrder(template.order).known


@pytest.mark.parametrize(
    ("typed", "id_"),
    [
        (" abc-1 ", "abc-1"),
        ("https://x.example/episodes/abc%201/timeline?x=1", "abc 1"),
        ("/episodes/7", "7"),
        ("https://x.example/consents/7", None),
        ("two words", None),
    ],
)
def test_an_episode_can_be_given_by_id_or_link(typed: str, id_: str | None) -> None:
    assert episode_id_of(typed) == id_


def test_only_the_declaration_of_ones_own_role_counts_in_a_language_that_was_shown() -> None:
    own = Declaration("clinician-1", "I have explained it.")
    assert own.is_among(["clinician-1.es", "clinician-1.en"], ["en", "es"]) == "clinician-1.en"
    assert own.is_among(["clinician-1.ar", "witness-1.en", "clinician-2.en"], ["en", "es"]) == ""
