"""Which signatures a form needs, who may sign it, and how signing affects other forms."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import rfc8785

from portal.careservice.ids import new_id, sample_id
from tests.careservice.api.calls import (
    CONSENTS,
    Api,
    code,
    created,
    form,
    members,
    patient,
    person,
    sign,
    signer,
)
from tests.careservice.families import Families, Family
from tests.support.authenticator import Passkey, encoded

PARTNER_SIGNS = ("Treatment", "StorageRenewal", "Disposition", "Donation", "Surrogacy")
EACH_THEIR_OWN = ("Storage", " legal Parenthood")


def refused(api: Api, **changes: Any) -> str:
    return code(api("nora", "POST", CONSENTS, form(**changes))).removeprefix("ClientelePortal:")


def named(role: str, person_id: str, order: int = 1) -> dict[str, Any]:
    return {"role": role, "personId": person_id, "order": order}


def about(family: Family, **changes: Any) -> dict[str, Any]:
    """A form about a family, which its two members sign."""
    signers = [named("Patient", person("amelia"))]
    if family.partner is not None:
        signers.append(named("Partner", person("daniel")))
    return {
        "patientId": family.patient, "partnerId": None, "episodeId": family.episode,
        "requiredSigners": signers, **changes,
    }  # fmt: skip


@pytest.mark.parametrize("kind", [*PARTNER_SIGNS, "Research", "D I S P O S I T I O N", "Dispositon", "?"])
@pytest.mark.parametrize("role", ["Clinician", "Witness", "Interpreter"])
def test_a_form_of_any_kind_needs_its_patient_as_signer(api: Api, kind: str, role: str) -> None:
    assert refused(api, kind=kind, requiredSigners=[signer(role, "victor")]) == "PatientMustSign"
    only_partner = [signer("Partner", "daniel"), signer(role, "victor")]
    assert refused(api, kind=kind, requiredSigners=only_partner) == "PatientMustSign"


@pytest.mark.parametrize("role", ["Patient", "GameteProvider", "Donor", "Surrogate", "IntendedParent"])
def test_a_patient_signs_in_one_of_five_roles(api: Api, role: str) -> None:
    made = created(api, requiredSigners=[signer(role, "amelia"), signer("Partner", "daniel")])
    assert sign(api, "amelia", made, role).status_code == 200


@pytest.mark.parametrize("kind", [*PARTNER_SIGNS, "tre ATment", " storageRenewal "])
@pytest.mark.parametrize("link", ["partnerId", "caseId", "episodeId", "embryoStorageIds"])
def test_the_partner_must_sign_whichever_record_names_him(
    api: Api, families: Families, kind: str, link: str
) -> None:
    family = families.add("amelia", "daniel")
    links: dict[str, Any] = {
        "partnerId": family.partner, "caseId": family.case, "episodeId": family.episode,
        "embryoStorageIds": list(family.embryos),
    }  # fmt: skip
    left_out = dict.fromkeys(("partnerId", "caseId", "episodeId"))
    only = about(family, **left_out, kind=kind, requiredSigners=[named("Patient", person("amelia"))])
    assert refused(api, **{**only, link: links[link]}) == "PartnerMustSign"


@pytest.mark.parametrize("kind", EACH_THEIR_OWN)
def test_each_of_a_couple_signs_storage_and_parenthood_on_a_form_of_their_own(
    api: Api, families: Families, kind: str
) -> None:
    family = families.add("amelia", "daniel")
    both = about(family, kind=kind, title="Each their own")
    assert refused(api, **both) == "OnePersonEach"
    hers, his = ({**both, "requiredSigners": [one]} for one in both["requiredSigners"])
    assert created(api, **hers)["status"] == "Pending"
    assert refused(api, **hers) == "FormAlreadyOpen"
    form = created(api, **his)
    assert sign(api, "daniel", form, "Partner").json()["status"] == "Signed"
    assert refused(api, **{**both, "requiredSigners": [signer("Clinician", "victor")]}) == "PatientMustSign"


def test_other_kinds_need_no_partner(api: Api, families: Families) -> None:
    family = families.add("amelia", "daniel")
    only = about(family, kind="GeneticTesting", requiredSigners=[named("Patient", person("amelia"))])
    assert created(api, **only)["status"] == "Pending"


@pytest.mark.parametrize(("given", "kept"), [(" gene tictesting", "GeneticTesting"), ("Sharing", "Sharing")])
def test_a_kind_is_stored_and_hashed_by_its_listed_name(
    api: Api, families: Families, given: str, kept: str
) -> None:
    family = families.add("amelia", "daniel")
    only = about(family, kind=given, requiredSigners=[named("Patient", person("amelia"))])
    made = created(api, **only)
    assert made["kind"] == kept
    text = {name: made[name] for name in ("title", "kind", "version", "body", "statements")}
    clauses = [{n: v for n, v in one.items() if v is not None} for one in made["body"]]
    assert made["contentHash"] == hashlib.sha256(rfc8785.dumps({**text, "body": clauses})).hexdigest()


def test_the_recipient_of_a_donation_is_not_a_signer(api: Api, families: Families) -> None:
    family = families.add("grace")
    donor = named("Donor", person("grace"))
    recipient = named("IntendedParent", person("amelia"))
    donation = about(family, kind="Donation", requiredSigners=[donor, recipient])
    assert refused(api, **donation) == "SignerNotOfRecord"
    assert refused(api, **{**donation, "requiredSigners": [donor, named("GameteProvider", person("amelia"))]})
    assert created(api, **{**donation, "requiredSigners": [donor]})["status"] == "Pending"


@pytest.mark.parametrize(
    "wrong",
    [
        named("Patient", person("nora")),  # a staff member as patient
        named("Patient", person("daniel")),
        named("Patient", patient("amelia")),  # the record of a person who has an account
        named("Patient", person("maya")),  # a person of another clinic
        named("Patient", new_id()),
    ],
)
def test_patient_roles_are_only_for_people_recorded_in_them(api: Api, wrong: dict[str, Any]) -> None:
    signers = [{**wrong, "name": "Amelia Hart"}, signer("Partner", "grace")]
    assert refused(api, requiredSigners=signers) == "SignerNotOfRecord"


@pytest.mark.parametrize("role", ["Donor", "GameteProvider", "IntendedParent", "Surrogate"])
def test_whoever_else_signs_has_a_record_at_this_clinic(api: Api, role: str) -> None:
    def signers(who: str) -> list[dict[str, Any]]:
        return [signer("Patient", "amelia"), signer("Partner", "daniel"), signer(role, who)]

    assert refused(api, requiredSigners=signers("maya")) == "SignerNotOfRecord", "she is another clinic's"
    assert created(api, requiredSigners=signers("grace"))["status"] == "Pending"


@pytest.mark.parametrize("role", ["Witness", "Interpreter", "Clinician"])
@pytest.mark.parametrize("who", ["grace", "omar"])
def test_clinic_roles_are_only_for_its_staff(api: Api, role: str, who: str) -> None:
    signers = [signer("Patient", "amelia"), signer("Partner", "daniel"), signer(role, who)]
    assert refused(api, requiredSigners=signers) == "SignerNotOfRecord"


def test_names_come_from_the_records(api: Api) -> None:
    signers = [
        {**signer("Patient", "amelia"), "name": "Somebody Else"},
        named("Partner", person("daniel")),
        {**signer("Witness", "nora"), "name": "Amelia Hart"},
    ]
    made = created(api, requiredSigners=signers)
    assert [one["name"] for one in made["requiredSigners"]] == [
        "Amelia Hart", "Daniel Hart", "Nora Lindqvist",
    ]  # fmt: skip


@pytest.mark.parametrize("role", ["Patient", "Partner", "Donor", "IntendedParent"])
def test_staff_may_sign_only_in_clinic_roles(api: Api, role: str) -> None:
    made = created(api)
    assert code(sign(api, "nora", made, role, signature="Amelia Hart")) == "ClientelePortal:RoleNotYours"


@pytest.mark.parametrize("role", ["Witness", "Interpreter", "Clinician"])
def test_patients_may_sign_only_for_themselves(api: Api, role: str) -> None:
    assert code(sign(api, "amelia", created(api), role)) == "ClientelePortal:RoleNotYours"


def test_a_form_waits_for_a_partner_without_account(api: Api, families: Families) -> None:
    family = families.add("amelia", has_partner=True)
    assert family.partner is not None
    signers = [named("Patient", person("amelia")), named("Partner", family.partner)]
    made = created(api, **about(family, requiredSigners=signers))
    assert made["requiredSigners"][1] == {**signers[1], "name": "Zoë O’Neil-Łuka"}
    assert sign(api, "amelia", made).json()["status"] == "PartiallySigned"


@pytest.mark.parametrize(
    "typed", ["Amelia Hart", "amelia  HART", "Àmélia Hart", "Amelia-Hart.", "Ame\u200dlia Hart"]
)
def test_a_typed_name_may_differ_in_case_accents_and_punctuation(api: Api, typed: str) -> None:
    assert sign(api, "amelia", created(api), signature=typed).status_code == 200


@pytest.mark.parametrize(
    "typed",
    ["A. Person", "Amelia", "Daniel Hart", "", "  ", "-.-", "Amelia\u202e Hart", "Amelia\x07 Hart",
     "Amelia\u200b Hart", "Amelia\nHart"],
)  # fmt: skip
def test_a_different_name_or_a_hidden_character_is_invalid(api: Api, typed: str) -> None:
    assert members(sign(api, "amelia", created(api), signature=typed)) == ["signature"]


@pytest.mark.parametrize(
    ("member", "longest", "longer"),
    [
        ("acknowledgedStatementIds", ["s1", "s2"] * 100, ["s1", "s2"] * 100 + ["s1"]),
        ("signature", f"Amelia{'Hart':>194}", f"Amelia{'Hart':>195}"),
        ("language", "en" + "-abcdefgh" * 3 + "-abcde", "en" + "-abcdefgh" * 3 + "-abcdef"),
    ],
)
def test_an_overlong_member_of_a_signature_is_invalid(
    api: Api, member: str, longest: Any, longer: Any
) -> None:
    made = created(api)
    assert members(sign(api, "amelia", made, **{member: longer})) == [member]
    assert sign(api, "amelia", made, **{member: longest}).status_code == 200


def test_another_forms_content_hash_and_an_overlong_one_are_different_errors(api: Api) -> None:
    made = created(api)
    assert members(sign(api, "amelia", made, contentHash="0" * 201)) == ["contentHash"]
    assert code(sign(api, "amelia", made, contentHash="0" * 200)) == "ClientelePortal:ContentChanged"


@pytest.mark.parametrize("texts", [(), (" ",), ("What was agreed.", " ")])
def test_an_older_form_with_a_text_missing_cannot_be_signed(
    api: Api, families: Families, texts: tuple[str, ...]
) -> None:
    made = families.older_form(families.add("amelia"), "Storage", texts=texts)
    held = api.get("victor", f"{CONSENTS}/{made}")
    assert members(sign(api, "victor", held, "Clinician")) == ["body"]


def test_staff_acknowledge_no_statements(api: Api) -> None:
    signers = [signer("Patient", "amelia"), signer("Partner", "daniel"), signer("Witness", "nora")]
    made = created(api, requiredSigners=signers)
    wrong = sign(api, "nora", made, "Witness", acknowledgedStatementIds=["s1", "s2"])
    assert members(wrong) == ["acknowledgedStatementIds"]
    assert sign(api, "nora", made, "Witness", acknowledgedStatementIds=[]).status_code == 200


YESTERDAY = datetime.now(UTC) - timedelta(days=2)


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"body": [{"id": "a", "heading": "What", "text": " \u200b"}]}, "body[0].text"),
        ({"procedureDate": YESTERDAY.date().isoformat()}, "procedureDate"),
        ({"expiresAt": YESTERDAY.isoformat()}, "expiresAt"),
        ({"embryoStorageIds": ["x"]}, "embryoStorageIds[0]"),
        ({"embryoStorageIds": [sample_id("embryo", "GO-1")]}, "embryoStorageIds[0]"),
        ({"embryoStorageIds": [sample_id("embryo", "MF-2")]}, "embryoStorageIds[0]"),
        ({"disposition": "Discard"}, "disposition"),
        ({"kind": "Disposition", "disposition": "Undecided"}, "disposition"),
        ({"kind": "Donation", "disposition": "Discard"}, "disposition"),
    ],
)
def test_an_inconsistent_form_is_invalid(api: Api, changes: dict[str, Any], member: str) -> None:
    assert members(api("nora", "POST", CONSENTS, form(**changes))) == [member]


def test_a_procedure_today_is_not_in_the_past(api: Api) -> None:
    assert created(api, procedureDate=datetime.now(UTC).date().isoformat())["status"] == "Pending"


def test_a_form_similar_to_an_open_one_is_refused(api: Api, families: Families) -> None:
    family = families.add("amelia", "daniel", embryos=2)
    first, second = family.embryos
    made = created(
        api, **about(family, title="Twice", kind="StorageRenewal", embryoStorageIds=[first, second])
    )
    again = about(family, title=" tWice", kind="STORAGERENEWAL", embryoStorageIds=[second, first])
    assert refused(api, **again) == "FormAlreadyOpen"
    twice = api("nora", "POST", CONSENTS, form(**{**again, "embryoStorageIds": [first, first]}))
    assert members(twice) == ["embryoStorageIds"]
    assert created(api, **{**again, "embryoStorageIds": [first]})
    assert created(api, **{**again, "title": "Thrice"})
    half = sign(api, "amelia", made).json()
    assert refused(api, **again) == "FormAlreadyOpen"
    assert sign(api, "daniel", half, "Partner").json()["status"] == "Signed"
    assert refused(api, **again) == "FormAlreadyOpen"
    assert created(api, **again, supersedesId=made["id"])["status"] == "Pending"


def test_a_signed_form_is_superseded_only_when_its_successor_is_signed(api: Api, families: Families) -> None:
    family = families.add("amelia")
    old = sign(api, "amelia", created(api, **about(family))).json()
    new = created(api, **about(family), supersedesId=old["id"])
    assert api.get("amelia", f"{CONSENTS}/{old['id']}")["status"] == "Signed"
    assert sign(api, "amelia", new).json()["status"] == "Signed"
    before = api.get("amelia", f"{CONSENTS}/{old['id']}")
    assert (before["status"], before["supersededById"]) == ("Superseded", new["id"])
    assert "seal" not in before


def test_a_forms_decision_is_part_of_its_hash(api: Api, families: Families) -> None:
    family = families.add("amelia")
    made = created(
        api, **about(family, kind="Disposition", embryoStorageIds=list(family.embryos), disposition="Discard")
    )
    assert (made["embryoStorageIds"], made["disposition"]) == (list(family.embryos), "Discard")
    read = ("title", "kind", "version", "body", "statements", "embryoStorageIds", "disposition")
    content = {key: made[key] for key in read}
    assert made["contentHash"] == hashlib.sha256(rfc8785.dumps(content)).hexdigest()
    plain = created(api, **about(family, embryoStorageIds=[]))
    assert not {"embryoStorageIds", "disposition", "seal"} & plain.keys()


def test_a_signed_form_has_a_seal_of_who_signed_what_and_when(api: Api, families: Families) -> None:
    family = families.add("amelia", "daniel")
    half = sign(api, "amelia", created(api, **about(family))).json()
    assert "seal" not in half
    done = sign(api, "daniel", half, "Partner").json()
    kept = ("role", "personId", "name", "signedAt", "method")
    sealed = {
        "id": done["id"],
        "version": done["version"],
        "patientId": done["patientId"],
        "contentHash": done["contentHash"],
        "signatures": [{key: signature[key] for key in kept} for signature in done["signatures"]],
    }
    assert done["seal"] == hashlib.sha256(rfc8785.dumps(sealed)).hexdigest()
    assert api.get("daniel", f"{CONSENTS}/{done['id']}")["seal"] == done["seal"]


def test_a_signature_has_the_language_of_the_text(api: Api) -> None:
    made = created(api, language="en")
    assert made["language"] == "en"
    assert members(sign(api, "amelia", made, language="es")) == ["language"]
    assert members(sign(api, "amelia", made, screenLanguage="es")) == ["readingMode"]
    assert members(sign(api, "amelia", made, readingMode="Interpreter")) == ["screenLanguage"]
    signed = sign(api, "amelia", made, language=None, screenLanguage="es", readingMode="Interpreter").json()
    given = signed["signatures"][0]
    assert (given["language"], given["screenLanguage"], given["readingMode"]) == ("en", "es", "Interpreter")


def proof_for(made: dict[str, Any], passkey: Passkey, **changes: Any) -> dict[str, Any]:
    """What the passkey confirmed of Amelia's signature, as a portal sends it; `changes` are of the statement."""
    said = {
        "formId": made["id"],
        "contentHash": made["contentHash"],
        "personId": person("amelia"),
        "role": "Patient",
        "acknowledgedStatementIds": [statement["id"] for statement in made["statements"]],
    }
    statement = json.dumps(said | changes)
    challenge = encoded(hashlib.sha256(statement.encode()).digest())
    given = json.loads(passkey.asserted({"challenge": challenge}))["response"]
    return {
        "statement": statement,
        "credentialId": encoded(passkey.id),
        "publicKey": encoded(passkey.public_key),
        "authenticatorData": given["authenticatorData"],
        "clientDataJson": given["clientDataJSON"],
        "signature": given["signature"],
    }


def test_a_signature_keeps_what_its_signers_passkey_confirmed_of_it(api: Api) -> None:
    made, passkey = created(api), Passkey("https://riverside.example", "riverside.example")
    right = proof_for(made, passkey)
    wrong = [
        *(proof_for(made, passkey, **{name: "x"}) for name in ("formId", "contentHash", "personId", "role")),
        proof_for(made, passkey, acknowledgedStatementIds=[]),
        proof_for(made, replace(passkey, is_verified=False)),
        proof_for(made, replace(passkey, name="evil.example")),
        *({**right, name: "AA"} for name in right if name != "credentialId"),
        {**right, "statement": "[" * 3000},
        {**right, "statement": right["statement"] + " "},
    ]
    assert [members(sign(api, "amelia", made, passkey=one)) for one in wrong] == [["passkey"]] * len(wrong)
    assert members(sign(api, "amelia", made, passkey={**right, "signature": "A" * 4001})) != []
    signed = sign(api, "amelia", made, passkey=right).json()
    assert signed["signatures"][0]["passkey"] == right
    assert api.get("daniel", f"{CONSENTS}/{made['id']}")["signatures"][0]["passkey"] == right
