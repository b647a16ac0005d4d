"""Consent forms: what is asked of the API, the hash of a form's text, and how a lost answer is resolved."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, date, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.services import consents
from portal.services import endpoints as at
from portal.services.errors import BadResponse
from portal.services.records.consents import (
    Clause,
    ConsentDraft,
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signature,
    Signer,
    SignerRole,
    SigningMethod,
    SigningOrder,
    Statement,
)
from portal.services.records.storage import Disposition

FORM = {"id": "c-1", "title": "Egg retrieval", "status": "Pending", "concurrencyStamp": "s1"}

CLAUSES = (
    Clause(id="c1", heading="What happens", text="Eggs are collected."),
    Clause(id="c2", heading="Risks", text="Bleeding – in 1 of 1000.", summary="Rarely, bleeding."),
)
STATEMENTS = (Statement(id="s1", text="I have read it."),)
CANONICAL = (
    '{"body":[{"heading":"What happens","id":"c1","text":"Eggs are collected."},'
    '{"heading":"Risks","id":"c2","summary":"Rarely, bleeding.","text":"Bleeding – in 1 of 1000."}],'
    '"kind":"Treatment","statements":[{"id":"s1","text":"I have read it."}],'
    '"title":"Consent to egg retrieval","version":"3"}'
)
HASH = "65d59fe9a0a4f89d1c098925b82dc23dbdc432ad6431bc729f7f47659a439db4"


def whole(**changes) -> ConsentForm:
    members = {
        "id": "1",
        "title": "Consent to egg retrieval",
        "status": ConsentStatus.PENDING,
        "kind": ConsentKind.TREATMENT,
        "version": "3",
        "body": CLAUSES,
        "statements": STATEMENTS,
    }
    return ConsentForm(**{**members, **changes})


# the hash


def test_the_hash_is_sha_256_of_the_canonical_text():
    assert hashlib.sha256(CANONICAL.encode()).hexdigest() == HASH
    assert consents.content_hash(whole()) == HASH


def test_the_hash_is_of_the_text_alone():
    assert (
        consents.content_hash(
            whole(id="2", status=ConsentStatus.SIGNED, patient_name="Amelia", content_hash="x")
        )
        == HASH
    )


def test_a_missing_text_is_not_hashed_as_an_empty_one():
    absent = ConsentForm(id="1", title="T", status=ConsentStatus.PENDING)
    empty = ConsentForm(id="1", title="T", status=ConsentStatus.PENDING, body=(), statements=())
    assert consents.signed_text(absent) == b'{"title":"T","version":""}'
    assert consents.signed_text(empty) == b'{"body":[],"statements":[],"title":"T","version":""}'


def test_the_embryos_and_what_is_decided_about_them_are_hashed_with_the_text():
    canonical = CANONICAL.replace(
        '"kind"', '"disposition":"DonateResearch","embryoStorageIds":["e2","e1"],"kind"'
    )
    decision = whole(embryo_storage_ids=("e2", "e1"), disposition=Disposition("donate_research"))
    assert consents.content_hash(decision) == hashlib.sha256(canonical.encode()).hexdigest()
    assert consents.content_hash(whole(embryo_storage_ids=())) == HASH


def test_an_unknown_kind_is_hashed_unchanged():
    canonical = CANONICAL.replace('"Treatment"', '"Überweisung"')
    assert (
        consents.content_hash(whole(kind=ConsentKind("Überweisung")))
        == hashlib.sha256(canonical.encode()).hexdigest()
    )


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Consent to egg retrieval "},
        {"version": "4"},
        {"kind": ConsentKind.STORAGE},
        {"body": CLAUSES[::-1]},
        {"body": CLAUSES[:1]},
        {"statements": ()},
        {"statements": (Statement(id="s1", text="I have read it!"),)},
        {"embryo_storage_ids": ("e1",)},
        {"disposition": Disposition.UNDECIDED},
    ],
)
def test_any_change_of_the_text_changes_the_hash(change):
    assert consents.content_hash(whole(**change)) != HASH


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)


@given(words, words, st.none() | words, st.lists(words, max_size=3), st.none() | st.sampled_from(Disposition))
def test_the_hash_is_that_of_sorted_json_without_white_space(title, text, summary, embryos, disposition):
    clause = {"id": "1", "heading": "", "text": text} | ({} if summary is None else {"summary": summary})
    content = {"title": title, "kind": "Treatment", "version": "3", "body": [clause], "statements": []}
    content |= {"embryoStorageIds": embryos} if embryos else {}
    content |= {"disposition": disposition} if disposition else {}
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    read = whole(
        title=title,
        body=(Clause(id="1", text=text, summary=summary),),
        statements=(),
        embryo_storage_ids=tuple(embryos),
        disposition=disposition,
    )
    assert consents.content_hash(read) == hashlib.sha256(canonical.encode()).hexdigest()


# the seal


def test_the_seal_is_of_what_was_signed_by_whom_and_when():
    signature = Signature(
        role=SignerRole.PATIENT,
        person_id="amelia",
        name="Amelia Hart",
        signed_at=datetime(2026, 11, 27, 9, 30, 0, 250_000, UTC),
        method=SigningMethod.TYPED_NAME,
        language="en",
        content_hash="not sealed",
    )
    signed = whole(patient_id="p", content_hash=HASH, signatures=(signature,))
    canonical = (
        f'{{"contentHash":"{HASH}","id":"1","patientId":"p","signatures":[{{"method":"TypedName","name":"Amelia Hart",'
        '"personId":"amelia","role":"Patient","signedAt":"2026-11-27T09:30:00.250000Z"}],"version":"3"}'
    )
    assert consents.seal(signed) == hashlib.sha256(canonical.encode()).hexdigest()
    for other in (
        {"id": "2"},
        {"patient_id": "q"},
        {"signatures": (msgspec.structs.replace(signature, name="Grace Okafor"),)},
        {"signatures": (msgspec.structs.replace(signature, signed_at=datetime(2026, 11, 28, tzinfo=UTC)),)},
    ):
        assert consents.seal(msgspec.structs.replace(signed, **other)) != consents.seal(signed)


# what comes, and what doesn't


def test_missing_members_are_distinguished_from_empty_ones(care):
    care.answers.append({**FORM, "embryoStorageIds": None, "seal": None})
    form = consents.get_consent(care, "c-1")
    assert (form.body, form.statements, form.embryo_storage_ids, form.seal) == (None, None, None, None)
    care.answers.append({**FORM, "body": [], "statements": [], "embryoStorageIds": ["e"], "disposition": 2})
    form = consents.get_consent(care, "c-1")
    assert (form.body, form.statements, form.embryo_storage_ids) == ((), (), ("e",))
    assert form.disposition is Disposition.DISCARD


def test_a_draft_leaves_out_what_it_does_not_say(care):
    care.answers.append(MADE)
    consents.create_consent(care, DRAFT)
    assert not {"embryoStorageIds", "disposition"} & set(care.calls[0].body)
    care.answers.append(MADE)
    about = {"embryo_storage_ids": ("e1",), "disposition": Disposition.DISCARD}
    consents.create_consent(care, msgspec.structs.replace(DRAFT, **about))
    assert (care.calls[1].body["embryoStorageIds"], care.calls[1].body["disposition"]) == (["e1"], "Discard")


# calls


def test_a_list_is_asked_for_with_its_filters(care):
    care.answers.append({"totalCount": 41, "items": [FORM]})
    page = consents.list_consents(
        care,
        skip=40,
        limit=20,
        sorting="procedureDate desc",
        text="egg",
        patient_id="p",
        case_id="k",
        episode_id="e",
        status="Pending",
    )
    assert page.total == 41
    assert care.calls[0].endpoint == at.LIST_CONSENTS
    assert care.calls[0].query == {
        "SkipCount": 40,
        "MaxResultCount": 20,
        "Sorting": "procedureDate desc",
        "Filter": "egg",
        "PatientId": "p",
        "CaseId": "k",
        "EpisodeId": "e",
        "Status": "Pending",
    }


def test_a_page_of_a_list_has_twenty_forms_from_the_first_on(care):
    care.answers.append({"items": []})
    consents.list_consents(care)
    assert (care.calls[0].query["SkipCount"], care.calls[0].query["MaxResultCount"]) == (0, 20)


def test_open_forms_are_read_in_one_page_by_the_day_they_are_needed(care):
    care.answers.append({"items": []})
    consents.list_open_consents(care, ConsentStatus.PENDING)
    query = {name: value for name, value in care.calls[0].query.items() if value is not None}
    assert query == {
        "SkipCount": 0, "MaxResultCount": 1000, "Sorting": "procedureDate", "Status": "Pending",
    }  # fmt: skip


def test_all_forms_are_read_page_by_page(care):
    forms = [{**FORM, "id": str(n)} for n in range(450)]
    care.answers.extend({"totalCount": 450, "items": forms[n : n + 200]} for n in (0, 200, 400))
    assert [f.id for f in consents.all_consents(care, patient_id="p")] == [f["id"] for f in forms]
    assert [(c.query["SkipCount"], c.query["PatientId"]) for c in care.calls] == [
        (0, "p"),
        (200, "p"),
        (400, "p"),
    ]


def test_one_form_is_read_whole(care):
    care.answers.append({**FORM, "body": [{"id": 1, "heading": "H", "text": "T"}]})
    assert consents.get_consent(care, "c-1").body[0].heading == "H"
    assert care.calls[0].endpoint == at.READ_CONSENT
    assert care.calls[0].ids == {"id": "c-1"}


def sign(care, **others):
    return consents.sign_consent(
        care,
        "c-1",
        role=SignerRole.PATIENT,
        signature="Amelia Hart",
        acknowledged=("s1", "s2"),
        content_hash="given by the API",
        stamp="s1",
        language="es",
        operation="op-1",
        **others,
    )


def test_signing_sends_what_was_shown_and_typed(care):
    care.answers.append({**FORM, "status": "PartiallySigned"})
    assert sign(care).status is ConsentStatus.PARTIALLY_SIGNED
    (call,) = care.calls
    assert (call.endpoint, call.ids, call.operation) == (at.SIGN_CONSENT, {"id": "c-1"}, "op-1")
    assert call.body == {
        "signerRole": "Patient",
        "method": "TypedName",
        "signature": "Amelia Hart",
        "acknowledgedStatementIds": ["s1", "s2"],
        "contentHash": "given by the API",
        "language": "es",
        "concurrencyStamp": "s1",
    }


def test_after_an_empty_answer_to_signing_the_form_is_read(care):
    care.answers.extend([None, {**FORM, "status": "Signed"}])
    assert sign(care).is_signed
    assert [c.endpoint for c in care.calls] == [at.SIGN_CONSENT, at.READ_CONSENT]


@pytest.mark.parametrize(
    ("role", "seconds"),
    [
        *((role, 1200) for role in (SignerRole.CLINICIAN, SignerRole.WITNESS)),
        *((role, 300) for role in (SignerRole.PATIENT, SignerRole.PARTNER, SignerRole.INTERPRETER)),
    ],
)
def test_who_signs_at_work_may_have_signed_in_longer_ago(role, seconds):
    assert consents.signing_max_age(role) == seconds


@pytest.mark.parametrize("answers", [[{**FORM, "status": "Revoked"}], [None, {**FORM, "status": "Revoked"}]])
def test_revoking_ends_with_the_revoked_form(care, answers):
    care.answers.extend(answers)
    form = consents.revoke_consent(care, "c-1", reason="Changed our minds", stamp="s1", operation="op-2")
    assert consents.is_revoked(form)
    assert care.calls[0].endpoint == at.REVOKE_CONSENT
    assert care.calls[0].body == {"reason": "Changed our minds", "concurrencyStamp": "s1"}
    assert care.calls[0].operation == "op-2"


DRAFT = ConsentDraft(
    patient_id="p",
    title="Egg retrieval",
    kind=ConsentKind.TREATMENT,
    version="3",
    body=CLAUSES,
    statements=STATEMENTS,
    required_signers=(Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelia", order=1),),
    signing_order=SigningOrder.SEQUENTIAL,
    episode_id="e",
    procedure_date=date(2026, 12, 1),
)
MADE = {
    "id": "c-9",
    "title": "Egg retrieval",
    "status": "Pending",
    "patientId": "p",
    "kind": "treatment",
    "version": 3,
    "episodeId": "e",
    "procedureDate": "2026-12-01",
    "requiredSigners": [{"role": "Patient", "personId": "amelia", "name": "A. Hart", "order": 1}],
    "creationTime": "2026-11-27T09:30:00Z",
}


def test_a_new_form_is_made_from_its_draft(care):
    care.answers.append(MADE)
    form = consents.create_consent(care, DRAFT, operation="op-3")
    (call,) = care.calls
    assert form.id == "c-9"
    assert call.operation == "op-3"
    assert call.body["requiredSigners"][0] == {
        "role": "Patient",
        "personId": "amelia",
        "name": "Amelia",
        "order": 1,
    }
    assert call.body["signingOrder"] == "Sequential"
    assert call.body["body"][0]["heading"] == "What happens"
    assert call.body["procedureDate"] == "2026-12-01"


def test_after_an_empty_answer_the_new_form_is_searched_for(care):
    older = {**MADE, "id": "c-8", "creationTime": "2026-11-26T09:30:00Z"}
    care.answers.extend(
        [None, {"totalCount": 3, "items": [older, MADE, {**MADE, "id": "c-10", "title": "Other"}]}]
    )
    assert consents.create_consent(care, DRAFT).id == "c-9"
    assert care.calls[1].query["PatientId"] == "p"


def test_a_form_that_does_not_say_when_it_was_made_is_taken_for_the_oldest(care):
    unknown = {**MADE, "id": "c-7", "creationTime": None}
    first = {**MADE, "id": "c-8", "creationTime": "1970-01-01T00:00:00Z"}
    for items in ([unknown, first], [first, unknown]):
        care.answers.extend([None, {"items": items}])
        assert consents.create_consent(care, DRAFT).id == "c-8"
    care.answers.extend([None, {"items": [unknown]}])
    assert consents.create_consent(care, DRAFT).id == "c-7"


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Embryo transfer"},
        {"version": "4"},
        {"patientId": "q"},
        {"kind": "Storage"},
        {"episodeId": None},
        {"procedureDate": None},
        {"requiredSigners": []},
        {"requiredSigners": [{"role": "Patient", "personId": "daniel", "name": "D. Hart", "order": 1}]},
        {"requiredSigners": [{"role": "Donor", "personId": "amelia", "name": "A. Hart", "order": 1}]},
        {"status": "Superseded"},
    ],
)
def test_a_form_that_differs_is_not_the_new_one(care, change):
    care.answers.extend([None, {"items": [{**MADE, **change}]}])
    assert consents.create_consent(care, DRAFT) is None


# a form that would stand twice

STANDING = ConsentForm(
    id="c-3",
    title=" egg RETRIEVAL",
    status=ConsentStatus.PENDING,
    kind=ConsentKind.TREATMENT,
    patient_id="p",
    episode_id="e",
    embryo_storage_ids=("e1", "e2"),
)
AGAIN = msgspec.structs.replace(DRAFT, embryo_storage_ids=("e2", "e1"))


@pytest.mark.parametrize("status", [*consents.OPEN_STATUSES, ConsentStatus.SIGNED])
def test_a_form_alike_is_found_while_it_is_open_or_signed(status):
    standing = msgspec.structs.replace(STANDING, status=status)
    assert consents.find_alike([whole(), standing], AGAIN) == (standing,)


@pytest.mark.parametrize("status", ["Draft", "Revoked", "Expired", "Superseded"])
def test_a_form_that_does_not_stand_is_not_alike(status):
    assert not consents.find_alike([msgspec.structs.replace(STANDING, status=ConsentStatus(status))], AGAIN)


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Embryo transfer"},
        {"kind": ConsentKind.STORAGE},
        {"patient_id": "q"},
        {"episode_id": "f"},
        {"episode_id": None},
        {"embryo_storage_ids": ("e1",)},
        {"embryo_storage_ids": None},
    ],
)
def test_a_form_about_something_else_is_not_alike(change):
    assert not consents.find_alike([msgspec.structs.replace(STANDING, **change)], AGAIN)


def test_without_an_episode_the_case_tells_forms_apart():
    of_case = {"episode_id": None, "case_id": "k"}
    standing = msgspec.structs.replace(STANDING, **of_case)
    assert consents.find_alike([standing], msgspec.structs.replace(AGAIN, **of_case)) == (standing,)
    for other in ({"episode_id": None, "case_id": "l"}, {"episode_id": "k", "case_id": None}):
        assert not consents.find_alike([standing], msgspec.structs.replace(AGAIN, **other))
    with_episode = msgspec.structs.replace(STANDING, case_id="k")
    assert consents.find_alike([with_episode], msgspec.structs.replace(AGAIN, case_id="l")) == (with_episode,)


def test_forms_about_no_embryo_are_alike():
    standing = msgspec.structs.replace(STANDING, embryo_storage_ids=None)
    assert consents.find_alike([standing], DRAFT) == (standing,)


def test_a_form_from_a_list_is_known_to_be_empty_by_its_hash():
    listed = whole(body=None)
    of_nothing = consents.content_hash(whole(body=()))
    assert consents.is_known_empty(msgspec.structs.replace(listed, content_hash=of_nothing))
    assert not consents.is_known_empty(msgspec.structs.replace(listed, content_hash=HASH))
    assert not consents.is_known_empty(listed)
    assert not consents.is_known_empty(whole(body=(), content_hash=of_nothing))


def test_a_lost_signing_is_resolved_from_the_signatures():
    given_at = datetime(2026, 11, 27, tzinfo=UTC)
    signed = whole(signatures=(Signature(role=SignerRole.PATIENT, person_id="amelia", signed_at=given_at),))
    assert consents.signed_by(signed, "amelia")
    assert consents.signed_by(signed, "amelia", SignerRole.PATIENT)
    assert not consents.signed_by(signed, "amelia", SignerRole.WITNESS)
    assert not consents.signed_by(signed, "daniel")


def test_an_answer_that_is_no_form_is_a_bad_response(care):
    care.answers.append({"succeeded": True})
    with pytest.raises(BadResponse):
        sign(care)
