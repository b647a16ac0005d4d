"""A passkey confirms a patient's signature: of this person, form, text and moment alone, and every other one is refused."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from portal.config.tenants import PasskeySignatures, Side
from portal.services.consents import READ_CONSENT, SIGN_CONSENT
from portal.services.consents.forms import (
    Clause,
    ConsentForm,
    ConsentStatus,
    PasskeyProof,
    Signature,
    Signer,
    SignerRole,
    SigningMethod,
    Statement,
)
from portal.services.rules.consent_text import content_hash
from portal.services.rules.passkey_proof import is_about
from portal.signin.passkeys import domain_of, fingerprint, is_signed
from portal.state.session_records import Person
from portal.state.signing_passkeys import MOST, SigningPasskey, SigningPasskeys
from tests.pages.test_strong_sign_in import SignIn, send
from tests.support.authenticator import Passkey, encoded
from tests.support.fake_api import FakeApi
from tests.support.in_process import CLINICS, ISSUER, InProcess
from tests.support.visitor import Page, Visitor

HERE, DOMAIN = "http://riverside.localhost", "riverside.localhost"
FORM = ConsentForm(
    id="k-1",
    title="Storing embryos",
    version="2.0",
    status=ConsentStatus.PENDING,
    language="en",
    body=(Clause(id="b-1", heading="What it means", text="They are stored."),),
    statements=(Statement(id="s-1", text="I understand it."), Statement(id="s-2", text="I agree.")),
    required_signers=(Signer(role=SignerRole.PATIENT, person_id="keya", name="Keya", order=1),),
    concurrency_stamp="1",
)


class Signing:
    """Somebody who signs forms, with passkeys of their own; each test's person and form are new."""

    number = 0

    def __init__(self, portal: InProcess, sign_in: SignIn, api: FakeApi) -> None:
        Signing.number += 1
        self.portal, self.sign_in, self.api = portal, sign_in, api
        self.who = f"keya{Signing.number}"
        self.visitor = sign_in(self.who)
        self.passkey = Passkey(HERE, DOMAIN)
        self.form = self.form_called(f"k-{Signing.number}")
        portal.audited()

    def form_called(self, id_: str, **changes: Any) -> ConsentForm:
        signer = Signer(role=SignerRole.PATIENT, person_id=self.who, name="Keya", order=1)
        return msgspec.structs.replace(FORM, id=id_, required_signers=(signer,), **changes)

    def add(self, passkey: Passkey | None = None, visitor: Visitor | None = None) -> Page:
        page = (visitor or self.visitor).get("/me/passkeys")
        made = (passkey or self.passkey).created(options_of(page))
        return page.form("/me/passkeys").submit(credential=made)

    def last_step(self, form: ConsentForm | None = None, visitor: Visitor | None = None) -> Page:
        """The page on which the name is typed, everything before it done."""
        form, visitor = form or self.form, visitor or self.visitor
        self.api.gives(READ_CONSENT, form)
        page = visitor.get(f"/consents/{form.id}/sign/read")
        page = page.form(f"/consents/{form.id}/sign/read").submit()
        if page.heading != "Sign this form":
            page = page.form(f"/consents/{form.id}/sign/statements").submit(check_all=True)
        return page

    def sign(self, page: Page, credential: str, form: ConsentForm | None = None) -> str:
        """Where the answer to the name and this credential leads."""
        form = form or self.form
        given = Signature(
            role=SignerRole.PATIENT, person_id=self.who, name="Keya", method=SigningMethod.TYPED_NAME
        )
        self.api.gives(
            SIGN_CONSENT, msgspec.structs.replace(form, signatures=(given,), status=ConsentStatus.SIGNED)
        )
        sent = send(page.form(f"/consents/{form.id}/sign/name"), signature="Keya", credential=credential)
        return str(sent.headers["Location"])

    def refusals(self) -> list[str | None]:
        return [
            line.get("reason")
            for line in self.portal.audited()
            if line["outcome"] == "refused" and line["audit"] in ("consent.passkey", "passkey.add")
        ]


def options_of(page: Page) -> dict[str, Any]:
    (button,) = page.select("[data-passkey]")
    return json.loads(str(button["data-options"]))


@pytest.fixture(params=[PasskeySignatures.REQUIRED])
def policy(request: pytest.FixtureRequest) -> PasskeySignatures:
    return request.param


@pytest.fixture
def signing(
    in_process: InProcess, visitor: SignIn, fake_api: FakeApi, policy: PasskeySignatures
) -> Iterator[Signing]:
    with in_process.clinic(*CLINICS, passkey_signatures=policy):
        yield Signing(in_process, visitor, fake_api)


def test_it_confirms_what_is_signed_and_the_record_and_the_audit_tell(signing: Signing) -> None:
    assert "Your passkey is added." in signing.add().text
    page = signing.last_step()
    asked = options_of(page)
    assert asked["rpId"] == DOMAIN and asked["userVerification"] == "required"
    assert asked["allowCredentials"] == [{"type": "public-key", "id": encoded(signing.passkey.id)}]
    assert "publickey-credentials-get=(self)" in page.headers["Permissions-Policy"]
    assert signing.sign(page, signing.passkey.asserted(asked)) == f"/consents/{signing.form.id}/receipt"
    (sent,) = signing.api.sent(SIGN_CONSENT)
    proof = msgspec.convert(sent.body["passkey"], PasskeyProof)
    said = json.loads(proof.statement)
    assert sha256(proof.statement.encode()).digest() == base64.urlsafe_b64decode(asked["challenge"] + "=")
    assert said["contentHash"] == content_hash(signing.form) and said["formId"] == signing.form.id
    assert (said["personId"], said["role"], said["clinic"]) == (signing.who, "Patient", "riverside")
    assert said["acknowledgedStatementIds"] == ["s-1", "s-2"]
    assert is_signed(proof) and fingerprint(proof) == sha256(signing.passkey.public_key).hexdigest()
    audited = signing.portal.audited()
    lines = [line for line in audited if line["audit"].endswith((".passkey", "key.add"))]
    added, confirmed = lines
    (signed,) = (line for line in audited if line["audit"] == "consent.sign")
    assert confirmed["kind"] == "consent" and confirmed["id"] == signed["id"]
    assert added["also"]["publicKey"] == confirmed["also"]["publicKey"] == proof.public_key
    assert confirmed["also"]["signature"] == proof.signature
    assert confirmed["also"]["clientData"] == proof.client_data_json
    assert signing.who not in json.dumps(confirmed) and "Keya" not in json.dumps(lines)

    given = Signature(role=SignerRole.PATIENT, person_id=signing.who, name="Keya", passkey=proof)
    done = msgspec.structs.replace(signing.form, signatures=(given,), status=ConsentStatus.SIGNED)
    for told in (given, msgspec.structs.replace(given, passkey=None)):  # the API may keep none
        signing.api.gives(READ_CONSENT, msgspec.structs.replace(done, signatures=(told,)))
        receipt = signing.visitor.get(f"/consents/{signing.form.id}/receipt?verify=1")
        words = f"a passkey, on {DOMAIN}. It isn’t a qualified electronic signature."
        assert ("Confirmed with", words) in receipt.facts
        assert "the passkey confirmed this text, in this role." in receipt.words
    forged = msgspec.structs.replace(done, version="2.1")
    signing.api.gives(READ_CONSENT, forged)
    receipt = signing.visitor.get(f"/consents/{signing.form.id}/receipt?verify=1")
    assert words not in receipt.words
    assert receipt.words.lower().count("doesn’t fit this text. please tell the clinic.") == 2


def flipped(text: str, at: int = 40) -> str:
    data = bytearray(base64.urlsafe_b64decode(text + "=="))
    data[at % len(data)] ^= 1
    return encoded(bytes(data))


def changed(credential: str, **parts: Callable[[str], Any]) -> str:
    """The credential with these parts of its response made anew."""
    given = json.loads(credential)
    for name, change in parts.items():
        given["response"][name] = change(given["response"][name])
    return json.dumps(given)


def of_another_form(signing: Signing, asked: dict[str, Any]) -> str:
    other = signing.last_step(signing.form_called(f"{signing.form.id}-b"))
    made = signing.passkey.asserted(options_of(other))
    signing.last_step()
    return made


def of_somebody_else(signing: Signing, asked: dict[str, Any]) -> str:
    theirs = Passkey(HERE, DOMAIN)
    signing.add(theirs, signing.sign_in(f"{signing.who}-x"))
    return theirs.asserted(asked)


def of_the_other_clinic(signing: Signing, asked: dict[str, Any]) -> str:
    theirs = Passkey("http://harbour.localhost", "harbour.localhost")
    signing.add(theirs, signing.sign_in(signing.who, clinic="harbour"))
    return theirs.asserted(asked)


def removed(signing: Signing, asked: dict[str, Any]) -> str:
    page = signing.visitor.get("/me/passkeys").follow("Remove")
    page.form(page.path).submit()
    signing.add(Passkey(HERE, DOMAIN))
    signing.last_step()
    return signing.passkey.asserted(asked)


def too_late(signing: Signing, asked: dict[str, Any]) -> str:
    made = signing.passkey.asserted(asked)
    signing.portal.clock.advance(301)
    return made


def counted_before(signing: Signing, asked: dict[str, Any]) -> str:
    other = signing.form_called(f"{signing.form.id}-b")
    page = signing.last_step(other)
    signing.sign(page, signing.passkey.asserted(options_of(page)), other)
    signing.api.forget()
    signing.api.gives(READ_CONSENT, signing.form)
    signing.passkey.count -= 1
    return signing.passkey.asserted(asked)


WRONG: dict[str, tuple[Callable[[Signing, dict[str, Any]], str], str]] = {
    "none": (lambda s, o: "", "none"),
    "no JSON": (lambda s, o: "[" * 5000, "unreadable"),
    "no object": (lambda s, o: "[]", "unreadable"),
    "nothing in it": (lambda s, o: "{}", "unreadable"),
    "an id of another type": (lambda s, o: '{"id": 1, "response": {}}', "unreadable"),
    "too long": (lambda s, o: s.passkey.asserted(o) + " " * 9000, "unreadable"),
    "no answer": (lambda s, o: json.dumps({**json.loads(s.passkey.asserted(o)), "response": {}}), "unreadable"),
    "another raw id": (lambda s, o: json.dumps({**json.loads(s.passkey.asserted(o)), "rawId": "AA"}), "unreadable"),
    "a number for a text": (lambda s, o: changed(s.passkey.asserted(o), signature=lambda _: 7), "unreadable"),
    "another alphabet": (lambda s, o: changed(s.passkey.asserted(o), signature=lambda t: t + "="), "unreadable"),
    "a new passkey": (lambda s, o: s.passkey.created(o), "unreadable"),
    "another type": (lambda s, o: s.passkey.asserted(o, type="webauthn.create"), "another type"),
    "another challenge": (lambda s, o: s.passkey.asserted({**o, "challenge": flipped(o["challenge"])}), "another challenge"),
    "another origin": (lambda s, o: s.passkey.asserted(o, origin=f"{HERE}:8080"), "another origin"),
    "another site's frame": (lambda s, o: s.passkey.asserted(o, crossOrigin=True), "another origin"),
    "another domain": (lambda s, o: replace(s.passkey, name="localhost").asserted(o), "another domain"),
    "nobody checked": (lambda s, o: replace(s.passkey, is_verified=False).asserted(o), "nobody verified"),
    "another key": (lambda s, o: Passkey(HERE, DOMAIN, id=s.passkey.id).asserted(o), "another signature"),
    "a bit of the signature": (lambda s, o: changed(s.passkey.asserted(o), signature=flipped), "another signature"),
    "a bit of the counter": (
        lambda s, o: changed(s.passkey.asserted(o), authenticatorData=lambda t: flipped(t, 36)), "another signature",
    ),
    "a space in the client data": (
        lambda s, o: changed(
            s.passkey.asserted(o), clientDataJSON=lambda t: encoded(base64.urlsafe_b64decode(t + "==") + b" ")
        ),
        "another signature",
    ),
}  # fmt: skip


def test_every_other_confirmation_is_refused_in_words_and_nothing_is_lost(signing: Signing) -> None:
    signing.add()
    page = signing.last_step()
    asked = options_of(page)
    signing.portal.audited()
    for wrong, (make, reason) in WRONG.items():
        where = signing.sign(page, make(signing, asked))
        assert where == f"/consents/{signing.form.id}/sign/name?refused=passkey", wrong
        assert signing.refusals() == [reason], wrong
    assert not signing.api.sent(SIGN_CONSENT)
    again = signing.visitor.get(where)
    assert "No confirmation by a passkey came that fits this form as it is now." in again.words
    (typed,) = again.select("input[name=signature]")
    assert typed["value"] == "Keya"
    made = signing.passkey.asserted(options_of(again))
    assert signing.sign(again, made) == f"/consents/{signing.form.id}/receipt", "the next one counts"


ELSEWHERE: dict[str, tuple[Callable[[Signing, dict[str, Any]], str], str]] = {
    "another form's": (of_another_form, "another challenge"),
    "somebody else's": (of_somebody_else, "unknown passkey"),
    "the other clinic's": (of_the_other_clinic, "unknown passkey"),
    "one that was removed": (removed, "unknown passkey"),
    "after five minutes": (too_late, "too late"),
    "a count that was seen": (counted_before, "counted before"),
}


@pytest.mark.parametrize("wrong", ELSEWHERE)
def test_what_confirmed_something_else_confirms_nothing_here(signing: Signing, wrong: str) -> None:
    signing.add()
    page = signing.last_step()
    make, reason = ELSEWHERE[wrong]
    credential = make(signing, options_of(page))
    signing.portal.audited()
    page.visitor = signing.visitor = signing.sign_in(signing.who)  # as fresh as ever
    where = signing.sign(with_token_of(page, signing), credential)
    assert where == f"/consents/{signing.form.id}/sign/name?refused=passkey", where
    assert signing.refusals() == [reason]
    assert not signing.api.sent(SIGN_CONSENT)


def with_token_of(page: Page, signing: Signing) -> Page:
    """The page as the newest session would have it: another session's form isn't taken."""
    for field in page.select("input[name=csrf_token]"):
        field.set("value", signing.visitor.csrf_token())
    return page


def passkeys_of(signing: Signing) -> set[bytes]:
    held = store_of(signing).of(person_called(signing.who))
    return {base64.urlsafe_b64decode(one.id + "==") for one in held}


def store_of(signing: Signing) -> SigningPasskeys:
    return SigningPasskeys(signing.portal.app.extensions["portal"].vault, signing.portal.clock, "riverside")


def person_called(sub: str) -> Person:
    return Person(
        sub=sub, issuer=ISSUER, name="", given_name="", side=Side.PATIENT, roles=frozenset(), auth_time=0.0
    )


@pytest.mark.parametrize(
    "change",
    [
        {"version": "2.1"},
        {"title": "Storing embryos "},
        {"body": (Clause(id="b-1", heading="What it means", text="They are stored!"),)},
        {"statements": FORM.statements[:1]},
    ],
)
def test_a_form_that_changed_after_the_page_was_shown_is_read_anew(
    signing: Signing, change: dict[str, Any]
) -> None:
    signing.add()
    page = signing.last_step()
    made = signing.passkey.asserted(options_of(page))
    signing.api.gives(READ_CONSENT, msgspec.structs.replace(signing.form, **change))
    answer = page.form(f"/consents/{signing.form.id}/sign/name").submit(
        status=409, signature="Keya", credential=made
    )
    assert "The form has changed" in answer.words
    newer = msgspec.structs.replace(signing.form, **change)
    later = signing.last_step(newer)
    assert signing.sign(later, made, newer).endswith("?refused=passkey"), "the old text's doesn't count"
    assert not signing.api.sent(SIGN_CONSENT)


def test_the_same_confirmation_sent_twice_signs_once_and_nothing_else(signing: Signing) -> None:
    signing.add()
    page = signing.last_step()
    made = signing.passkey.asserted(options_of(page))
    receipt = f"/consents/{signing.form.id}/receipt"
    assert [signing.sign(page, made), signing.sign(page, made)] == [receipt, receipt]
    assert len(signing.api.sent(SIGN_CONSENT)) == 1


def test_two_open_pages_have_one_challenge_and_a_later_one_another(signing: Signing) -> None:
    signing.add()
    with signing.portal.clock.stopped():
        first = options_of(signing.last_step())
        address = f"/consents/{signing.form.id}/sign/name"
        signing.portal.clock.advance(50)
        assert options_of(signing.visitor.get(address)) == first
        signing.portal.clock.advance(20)
        assert options_of(signing.visitor.get(address))["challenge"] != first["challenge"]


def test_where_it_is_required_one_is_added_first_and_the_way_leads_back(signing: Signing) -> None:
    page = signing.last_step()
    assert "Add a passkey first" in page.words and "sign at the clinic" in page.words
    assert not page.select("input[name=signature]")
    page = page.follow("Add a passkey")
    assert page.words.count("You have no passkey for signing here yet.") == 1
    assert [str(link["href"]) for link in page.select("a.back")] == [f"/consents/{signing.form.id}/sign"]
    made = signing.passkey.created(options_of(page))
    page = page.form("/me/passkeys").submit(credential=made)
    assert page.heading == "Sign this form", "what was ticked is kept"


@pytest.mark.parametrize("policy", [PasskeySignatures.OFFERED], indirect=True)
def test_where_it_is_offered_the_name_alone_signs_too(signing: Signing) -> None:
    assert "You can also confirm it with a passkey." in signing.last_step().words
    signing.add()
    page = signing.last_step()
    assert "This browser can’t use your passkey" in page.words, "what scripts take away"
    assert signing.sign(page, "") == f"/consents/{signing.form.id}/receipt"
    (sent,) = signing.api.sent(SIGN_CONSENT)
    assert "passkey" not in sent.body


@pytest.mark.parametrize("policy", [PasskeySignatures.OFF], indirect=True)
def test_where_it_is_off_there_is_no_trace_of_it(signing: Signing) -> None:
    signing.visitor.get("/me/passkeys", status=404)
    assert "asskey" not in signing.visitor.get("/me").words
    page = signing.last_step()
    assert "asskey" not in page.text
    assert "publickey-credentials-get=()" in page.headers["Permissions-Policy"]
    assert signing.sign(page, "{}") == f"/consents/{signing.form.id}/receipt"


def test_staff_sign_without(signing: Signing) -> None:
    nurse = signing.sign_in("nora", "nurse")
    nurse.get("/me/passkeys", status=403)
    signer = Signer(role=SignerRole.WITNESS, person_id="nora", name="Nora", order=1)
    patient = Signer(role=SignerRole.PATIENT, person_id="x", name="X", order=1)
    form = msgspec.structs.replace(signing.form, required_signers=(signer, patient), signing_order=None)
    signing.api.gives(READ_CONSENT, form)
    page = nurse.get(f"/consents/{form.id}/sign")
    assert page.select("input[name=signature]") and "asskey" not in page.text


WRONG_NEW: dict[str, tuple[Callable[[Passkey, dict[str, Any]], str], str]] = {
    "nothing": (lambda k, o: "", "unreadable"),
    "an assertion": (lambda k, o: k.asserted(o), "another type"),
    "another challenge": (lambda k, o: k.created({**o, "challenge": flipped(o["challenge"], 3)}), "another challenge"),
    "another origin": (lambda k, o: k.created(o, origin="https://evil.example"), "another origin"),
    "another domain": (lambda k, o: replace(k, name="localhost").created(o), "not a new passkey for this"),
    "nobody checked": (lambda k, o: replace(k, is_verified=False).created(o), "not a new passkey for this"),
    "broken": (lambda k, o: changed(k.created(o), attestationObject=lambda t: t[:40]), "not a new passkey for this"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_NEW)
def test_what_isnt_a_new_passkey_for_this_page_is_refused(signing: Signing, wrong: str) -> None:
    make, reason = WRONG_NEW[wrong]
    page = signing.visitor.get("/me/passkeys")
    page = page.form("/me/passkeys").submit(credential=make(signing.passkey, options_of(page)))
    assert "No passkey was added" in page.words and not passkeys_of(signing)
    assert signing.refusals() == [reason]
    page = page.form("/me/passkeys").submit(credential=signing.passkey.created(options_of(page)))
    assert passkeys_of(signing) == {signing.passkey.id}


def test_a_new_passkeys_challenge_counts_once_and_for_its_person(signing: Signing) -> None:
    page = signing.visitor.get("/me/passkeys")
    made = signing.passkey.created(options_of(page))
    other = signing.sign_in(f"{signing.who}-y")
    theirs = other.get("/me/passkeys").form("/me/passkeys").submit(credential=made)
    assert "No passkey was added" in theirs.words
    fields = dict(page.form("/me/passkeys").fields())
    for expected in ("Your passkey is added.", "No passkey was added"):
        sent = {**fields, "credential": made, "csrf_token": signing.visitor.csrf_token()}
        assert expected in signing.visitor.post("/me/passkeys", sent).text
    assert signing.refusals() == ["another challenge", "another challenge"]
    again = signing.visitor.get("/me/passkeys")
    refused = again.form("/me/passkeys").submit(credential=signing.passkey.created(options_of(again)))
    assert "No passkey was added" in refused.words
    assert signing.refusals() == ["known already, or too many"]


def test_adding_and_removing_need_a_fresh_sign_in(signing: Signing) -> None:
    signing.add()
    long_ago = signing.sign_in(signing.who, signed_in_ago=301)
    page = long_ago.get("/me/passkeys")
    assert "You are asked for your password first" in page.words and not page.select("[data-passkey]")
    answer = send(page.form("/me/passkeys"))
    assert answer.headers["Location"] == "/sign-in?next=%2Fme%2Fpasskeys&fresh=1"
    page = page.follow("Remove")
    assert send(page.form(page.path)).headers["Location"].endswith("%2Fremove&fresh=1")
    assert passkeys_of(signing) == {signing.passkey.id}
    page = signing.visitor.get("/me/passkeys").follow("Remove")
    stranger = signing.sign_in(f"{signing.who}-z")
    assert "removed already" in stranger.get(page.path).text, "it isn't theirs"
    assert "The passkey is removed." in page.form(page.path).submit().text
    assert not passkeys_of(signing)
    (line,) = [line for line in signing.portal.audited() if line["audit"] == "passkey.remove"]
    assert (line["outcome"], line["also"]) == ("done", {"credential": encoded(signing.passkey.id)})


def test_a_person_has_no_more_than_some(signing: Signing) -> None:
    for _ in range(MOST):
        page = signing.add(Passkey(HERE, DOMAIN))
    assert "You have as many passkeys as you can have here." in page.words
    assert not page.select("[data-passkey]")
    one = SigningPasskey(
        id="AA", domain=DOMAIN, public_key="", sign_count=0, is_synced=False, device="", added_at=0.0
    )
    assert not store_of(signing).add(person_called(signing.who), one)


def test_a_counter_only_goes_up_and_one_that_doesnt_count_is_taken(signing: Signing) -> None:
    store, person = store_of(signing), person_called(f"{signing.who}-c")
    one = SigningPasskey(
        id="AA", domain=DOMAIN, public_key="", sign_count=0, is_synced=True, device="", added_at=0.0
    )
    others = msgspec.structs.replace(one, id="CC")
    assert store.add(person, one) and store.add(person, others)
    assert [store.use(person, "AA", count, use) for count, use in ((0, b"a"), (0, b"b"))] == [True, True]
    uses = ((5, b"c"), (5, b"c"), (5, b"d"), (4, b"e"), (0, b"f"), (6, b"g"), (5, b"c"))
    assert [store.use(person, "AA", *use) for use in uses] == [True, True, False, False, False, True, False]
    assert not store.use(person, "BB", 9, b"h")
    held, left = store.of(person)
    assert (held.sign_count, left) == (6, others)


def test_a_statement_is_about_one_form_text_and_signer(signing: Signing) -> None:
    signing.add()
    page = signing.last_step()
    signing.sign(page, signing.passkey.asserted(options_of(page)))
    proof = msgspec.convert(signing.api.sent(SIGN_CONSENT)[0].body["passkey"], PasskeyProof)
    given = Signature(role=SignerRole.PATIENT, person_id=signing.who, passkey=proof)
    assert is_about(proof, signing.form, given)
    for other in ({"role": SignerRole.PARTNER}, {"person_id": "daniel"}):
        assert not is_about(proof, signing.form, msgspec.structs.replace(given, **other))
    for other in ({"id": "k-0"}, {"version": "3"}, {"title": "Other"}, {"statements": FORM.statements[:1]}):
        assert not is_about(proof, msgspec.structs.replace(signing.form, **other), given)
    said = json.loads(proof.statement)
    for text in (
        "",
        "{}",
        "[]",
        f" {proof.statement}",
        json.dumps({**said, "purpose": "pay"}),
        json.dumps(said),
    ):
        assert not is_about(msgspec.structs.replace(proof, statement=text), signing.form, given), text
    for part in ("statement", "public_key", "authenticator_data", "client_data_json", "signature"):
        for text in ("", "é", "AA", f"{getattr(proof, part)}A"):
            assert not is_signed(msgspec.structs.replace(proof, **{part: text})), (part, text)
    broken = msgspec.structs.replace(proof, client_data_json="AA", public_key="é")
    assert (domain_of(broken), fingerprint(broken)) == ("", "")


def test_the_documented_script_checks_a_proof_without_the_portal(signing: Signing, tmp_path: Path) -> None:
    signing.add()
    page = signing.last_step()
    signing.sign(page, signing.passkey.asserted(options_of(page)))
    proof = signing.api.sent(SIGN_CONSENT)[0].body["passkey"]
    code = Path("docs/passkey-signatures.md").read_text().partition("```python\n")[2].partition("```")[0]
    file = tmp_path / "passkey-1.json"
    for signature, status in ((proof["signature"], 0), (flipped(proof["signature"]), 1)):
        file.write_text(json.dumps({**proof, "signature": signature}))
        told = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=False)
        assert told.returncode == status, told.stderr
    assert HERE in told.stdout or status


def test_the_script_that_uses_passkeys_is_loaded_where_they_are_asked_for(signing: Signing) -> None:
    assert "passkey-scripts.js" not in signing.visitor.get("/me").text
    assert "passkey-scripts.js" in signing.visitor.get("/me/passkeys").text
    assert Path("static/passkey-scripts.js").is_file()
