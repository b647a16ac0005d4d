"""The hash of a consent form's text, and the seal of its signatures."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.services.consents.forms import (
    Clause,
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signature,
    SignerRole,
    SigningMethod,
    Statement,
)
from portal.services.rules import consent_text
from portal.services.storage import Disposition
from tests.services.consent_forms import CLAUSES, HASH, whole

CANONICAL = (
    '{"body":[{"heading":"What happens","id":"c1","text":"Eggs are collected."},'
    '{"heading":"Risks","id":"c2","summary":"Rarely, bleeding.","text":"Bleeding – in 1 of 1000."}],'
    '"kind":"Treatment","statements":[{"id":"s1","text":"I have read it."}],'
    '"title":"Consent to egg retrieval","version":"3"}'
)


def test_the_hash_is_sha_256_of_the_canonical_text():
    assert hashlib.sha256(CANONICAL.encode()).hexdigest() == HASH
    assert consent_text.content_hash(whole()) == HASH


def test_the_hash_covers_only_the_text():
    assert (
        consent_text.content_hash(
            whole(id="2", status=ConsentStatus.SIGNED, patient_name="Amelia", content_hash="x")
        )
        == HASH
    )


def test_a_missing_text_is_not_hashed_as_an_empty_one():
    absent = ConsentForm(id="1", title="T", status=ConsentStatus.PENDING)
    empty = ConsentForm(id="1", title="T", status=ConsentStatus.PENDING, body=(), statements=())
    assert consent_text.signed_text(absent) == b'{"title":"T","version":""}'
    assert consent_text.signed_text(empty) == b'{"body":[],"statements":[],"title":"T","version":""}'


def test_the_embryos_and_their_disposition_are_hashed_with_the_text():
    canonical = CANONICAL.replace(
        '"kind"', '"disposition":"DonateResearch","embryoStorageIds":["e2","e1"],"kind"'
    )
    decision = whole(embryo_storage_ids=("e2", "e1"), disposition=Disposition("donate_research"))
    assert consent_text.content_hash(decision) == hashlib.sha256(canonical.encode()).hexdigest()
    assert consent_text.content_hash(whole(embryo_storage_ids=())) == HASH


def test_an_unknown_kind_is_hashed_unchanged():
    canonical = CANONICAL.replace('"Treatment"', '"Überweisung"')
    assert (
        consent_text.content_hash(whole(kind=ConsentKind("Überweisung")))
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
    assert consent_text.content_hash(whole(**change)) != HASH


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
    assert consent_text.content_hash(read) == hashlib.sha256(canonical.encode()).hexdigest()


def test_the_seal_covers_what_was_signed_by_whom_and_when():
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
    assert consent_text.seal(signed) == hashlib.sha256(canonical.encode()).hexdigest()
    for other in (
        {"id": "2"},
        {"patient_id": "q"},
        {"signatures": (msgspec.structs.replace(signature, name="Grace Okafor"),)},
        {"signatures": (msgspec.structs.replace(signature, signed_at=datetime(2026, 11, 28, tzinfo=UTC)),)},
    ):
        assert consent_text.seal(msgspec.structs.replace(signed, **other)) != consent_text.seal(signed)


def test_the_hash_of_a_listed_form_tells_whether_it_is_empty():
    listed = whole(body=None)
    of_nothing = consent_text.content_hash(whole(body=()))
    assert consent_text.is_known_empty(msgspec.structs.replace(listed, content_hash=of_nothing))
    assert not consent_text.is_known_empty(msgspec.structs.replace(listed, content_hash=HASH))
    assert not consent_text.is_known_empty(listed)
    assert not consent_text.is_known_empty(whole(body=(), content_hash=of_nothing))
