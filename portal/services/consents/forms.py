"""Consent forms: their status, text, signers and signatures."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Annotated, ClassVar

import msgspec
from msgspec import UNSET, UnsetType, structs

from portal.folding import folded
from portal.services.decoding import Choice, Id, Record, Timed, Whole, noticed
from portal.services.patient_ref import PatientRef
from portal.services.salvage import Lost
from portal.services.stamped_record import StampedRecord
from portal.services.storage import Disposition
from portal.services.uses import NOT_SENT, SOMETIMES


class ConsentStatus(Choice):
    """The status of a consent form; Revoked, Expired and Superseded are final."""

    DRAFT = "Draft"
    PENDING = "Pending"
    PARTIALLY_SIGNED = "PartiallySigned"
    SIGNED = "Signed"
    REVOKED = "Revoked"
    EXPIRED = "Expired"
    SUPERSEDED = "Superseded"


class ConsentKind(Choice):
    """What a consent form is about; clinics may add their own kinds."""

    TREATMENT = "Treatment"
    STORAGE = "Storage"
    STORAGE_RENEWAL = "StorageRenewal"
    DISPOSITION = "Disposition"
    GENETIC_TESTING = "GeneticTesting"
    DONATION = "Donation"
    SURROGACY = "Surrogacy"
    LEGAL_PARENTHOOD = "LegalParenthood"
    DISCLOSURE = "Disclosure"
    RESEARCH = "Research"


class SignerRole(Choice):
    """In what capacity a person signs."""

    PATIENT = "Patient"
    PARTNER = "Partner"
    GAMETE_PROVIDER = "GameteProvider"
    DONOR = "Donor"
    SURROGATE = "Surrogate"
    INTENDED_PARENT = "IntendedParent"
    WITNESS = "Witness"
    INTERPRETER = "Interpreter"
    CLINICIAN = "Clinician"


CLINIC_ROLES = frozenset({SignerRole.WITNESS, SignerRole.INTERPRETER, SignerRole.CLINICIAN})
"""Roles in which only the clinic's staff sign; all others are on the patient's side."""

UNKNOWN_ACCOUNT = "(record) "
"""What the id of a signer begins with who is named by a number, and whose account isn't known."""

MAY_BE_UNTOLD = ("ConsentForm.signatures", "Patient.userId")
"""What an API may never say, so that nobody can be said not to have signed, or to have no account."""

OPEN_STATUSES = (ConsentStatus.PENDING, ConsentStatus.PARTIALLY_SIGNED)
"""The statuses of a form that is waiting for signatures."""

_AT_ONCE = timedelta(minutes=1)

_NOT_ENDED = (*OPEN_STATUSES, ConsentStatus.SIGNED)

PATIENT_ROLES = frozenset(
    {
        SignerRole.PATIENT,
        SignerRole.GAMETE_PROVIDER,
        SignerRole.DONOR,
        SignerRole.SURROGATE,
        SignerRole.INTENDED_PARENT,
    }
)
"""Roles in which a form's patient signs."""

COUPLE_KINDS = frozenset(
    {
        ConsentKind.TREATMENT,
        ConsentKind.STORAGE_RENEWAL,
        ConsentKind.DISPOSITION,
        ConsentKind.DONATION,
        ConsentKind.SURROGACY,
    }
)
"""Kinds of form that the patient's partner also signs, if there is one."""

ONE_PERSON_KINDS = frozenset({ConsentKind.STORAGE, ConsentKind.LEGAL_PARENTHOOD})
"""Kinds of form of which each of a couple has their own, signed by the patient or the partner alone."""

TREATMENT_RESTS_ON = frozenset({ConsentKind.TREATMENT, ConsentKind.STORAGE, ConsentKind.LEGAL_PARENTHOOD})
"""Kinds of form without which a treatment under way doesn't go on."""

STEPS_REST_ON = frozenset(
    {ConsentKind.STORAGE_RENEWAL, ConsentKind.GENETIC_TESTING, ConsentKind.DONATION, ConsentKind.SURROGACY}
)
"""Kinds of form without which a step isn't done, such as a biopsy; where nobody consents, a treatment goes on without that."""

EMBRYO_KINDS = frozenset(
    {ConsentKind.STORAGE, ConsentKind.STORAGE_RENEWAL, ConsentKind.DISPOSITION, ConsentKind.DONATION}
)
"""Kinds of form that are about embryos in storage."""

NAMING_KINDS = EMBRYO_KINDS | {ConsentKind.TREATMENT}
"""Kinds of form that can name embryos; of a treatment form, those that it allows to be warmed and transferred."""

NOTHING_WITHOUT_EMBRYOS = EMBRYO_KINDS - {ConsentKind.STORAGE}
"""Kinds that say nothing unless they name embryos; a first storage form covers those that there will be."""


class SigningOrder(Choice):
    """Whether signers sign in sequence or in any order."""

    ANY = "Any"
    SEQUENTIAL = "Sequential"


class SigningMethod(Choice):
    """How a signature was given."""

    TYPED_NAME = "TypedName"
    DRAWN = "Drawn"
    PAPER = "Paper"


class ReadingMode(Choice):
    """How a signer took in a text that isn't in the language of their screen."""

    SELF = "Self"
    INTERPRETER = "Interpreter"
    EXPLAINED = "Explained"


class ToldBy(Choice):
    """How a signer told the staff who recorded a withdrawal."""

    TELEPHONE = "Telephone"
    IN_PERSON = "InPerson"
    LETTER = "Letter"
    EMAIL = "Email"


class TextGap(StrEnum):
    """Why a form's text is incomplete, so that nobody can sign it."""

    NOT_SENT = "not sent"
    EMPTY = "empty"
    PART_EMPTY = "part empty"
    ON_FILE = "on file"
    """There is a file instead of clauses: it is signed on paper."""


class Clause(Record, frozen=True, kw_only=True):
    """One clause of a consent form's text, with a plain summary if the clinic wrote one."""

    shown_on: ClassVar = ("consents",)

    id: Id
    heading: Annotated[str, "clause heading"] = ""
    text: Annotated[str, "text that is signed"] = ""
    summary: Annotated[str | None, "plain-language summary"] = None


class Statement(Record, frozen=True, kw_only=True):
    """A sentence that every signer acknowledges individually."""

    shown_on: ClassVar = ("consents",)

    id: Id
    text: Annotated[str, "statement to acknowledge"]


class Signer(Record, frozen=True, kw_only=True):
    """A person whose signature a form needs; `person_id` is their `sub`, None if not yet known."""

    shown_on: ClassVar = ("consents", "home")
    vital: ClassVar = frozenset({"person_id"})

    role: Annotated[SignerRole, "role in which they sign"]
    person_id: Annotated[Id | None, "signer; decides whose turn it is"] = None
    name: Annotated[str, "name"] = ""
    order: Annotated[Whole, "place in the signing order"] = 0


class PasskeyProof(Record, frozen=True, kw_only=True):
    """What a signer's passkey confirmed, and the proof that it did (WebAuthn Level 2 §5.2.2).

    `statement` is the canonical JSON whose SHA-256 is the challenge; the other members are base64url, `public_key` in COSE.
    """

    shown_on: ClassVar = ("consents",)

    statement: Annotated[str, "what the signer's passkey confirmed"]
    credential_id: Annotated[str, "id of the passkey"]
    public_key: Annotated[str, "public key of the passkey, to check the proof by"]
    authenticator_data: Annotated[str, "that the device checked who held it"]
    client_data_json: Annotated[str, "where it was confirmed, and the statement's hash"]
    signature: Annotated[str, "signature by the passkey"]


class Signature(Timed, frozen=True, kw_only=True):
    """A signature, with the hash of the text that was signed and the language of that text.

    `screen_language` and `reading_mode` are given if the signer's screen was in another language; `acr` and `amr` if the
    API keeps how the signer had signed in (RFC 9068 §2.2.1); `passkey` if it keeps what the signer's passkey confirmed.
    """

    shown_on: ClassVar = ("consents",)
    vital: ClassVar = frozenset({"person_id"})

    role: Annotated[SignerRole, "role of the signer"]
    person_id: Annotated[Id | None, "signer"] = None
    name: Annotated[str, "name as typed"] = ""
    signed_at: Annotated[datetime | None, "time of signing"] = None
    method: Annotated[SigningMethod | None, "method of signing"] = None
    language: Annotated[str | None, "language in which the text was read"] = None
    screen_language: Annotated[
        str | None, "language of the signer's screen, if another than the text's", SOMETIMES
    ] = None
    reading_mode: Annotated[
        ReadingMode | None, "how the signer read a text in another language than the screen's", SOMETIMES
    ] = None
    acr: Annotated[str | None, "class of the signer's sign-in, on the receipt", SOMETIMES] = None
    amr: Annotated[tuple[str, ...] | None, "how the signer had signed in, on the receipt", SOMETIMES] = None
    passkey: Annotated[PasskeyProof | None, "the signer's confirmation by a passkey", SOMETIMES] = None
    content_hash: Annotated[str, "hash of the signed text"] = ""

    @property
    def is_typed(self) -> bool:
        return self.method == SigningMethod.TYPED_NAME

    @property
    def is_for_clinic(self) -> bool:
        """Whether it was given for the clinic, by someone who doesn't acknowledge the patient's statements."""
        return self.role in CLINIC_ROLES


class ConsentForm(StampedRecord, frozen=True, kw_only=True, gc=True, dict=True):
    """A consent form. `content_hash` and `seal` are computed by the API; the first is sent back unchanged.

    `body` and `statements` are None if they weren't sent: lists omit the body. `embryo_storage_ids` are the embryos that
    it is about, `disposition` what it decides about them; both are signed with the text. `language` is the text's
    (BCP 47). `untold`, set by the portal, has those of `MAY_BE_UNTOLD` that the API never says. A withdrawal that staff
    recorded names the signer `on_behalf_of`, and when (`told_at`) and how (`told_by`) that signer told them.
    """

    shown_on: ClassVar = ("consents", "home", "episodes", "storage")
    vital: ClassVar = frozenset({"embryo_storage_ids", "disposition"})

    id: Id
    title: Annotated[str, "form title"]
    status: Annotated[ConsentStatus, "what can be done with it: sign, withdraw or nothing"]
    patient_id: Annotated[Id | None, "patient"] = None
    patient_name: Annotated[str, "patient's name in lists"] = ""
    partner_id: Annotated[Id | None, "partner"] = None
    case_id: Annotated[Id | None, "case it belongs to"] = None
    episode_id: Annotated[Id | None, "link to the treatment; also used to find episodes"] = None
    kind: Annotated[ConsentKind | None, "subject of the consent, and who has to sign"] = None
    version: Annotated[str, "version shown and signed"] = ""
    language: Annotated[
        str | None, "language of the text: marked up, named on the receipt, sent with a signature"
    ] = None
    body: Annotated[tuple[Clause, ...] | None, "text; a form without it can't be signed"] = None
    statements: Annotated[
        tuple[Statement, ...] | None, "statements to acknowledge; a form without this member can't be signed"
    ] = None
    embryo_storage_ids: Annotated[
        tuple[Id, ...] | None, "embryos it applies to: moves and holds", SOMETIMES
    ] = None
    disposition: Annotated[Disposition | None, "decision about the embryos", SOMETIMES] = None
    required_signers: Annotated[tuple[Signer, ...], "who has to sign; without it nobody is asked to"] = ()
    signing_order: Annotated[SigningOrder, "whether signers sign in order"] = SigningOrder.ANY
    signatures: Annotated[tuple[Signature, ...], "who has signed"] = ()
    content_hash: Annotated[str, "sent back with a signature, printed on the receipt"] = ""
    seal: Annotated[str | None, "compared on the receipt with the portal's own seal", SOMETIMES] = None
    file_id: Annotated[Id | None, "file of a form signed on paper"] = None
    sent_at: Annotated[datetime | None, "when it was sent"] = None
    effective_at: Annotated[datetime | None, "when it takes effect"] = None
    revoked_at: Annotated[datetime | None, "when it was withdrawn"] = None
    revoke_reason: Annotated[str | None, "why it was withdrawn", NOT_SENT] = None
    revoked_by_id: Annotated[Id | None, "who withdrew or declined it"] = None
    revoked_by_name: Annotated[str, "name of whoever recorded its withdrawal", SOMETIMES] = ""
    on_behalf_of: Annotated[Id | None, "signer for whom the withdrawal was recorded", SOMETIMES] = None
    told_at: Annotated[datetime | None, "when that signer told the clinic", SOMETIMES] = None
    told_by: Annotated[ToldBy | None, "how that signer told the clinic", SOMETIMES] = None
    expires_at: Annotated[datetime | None, "deadline for signing"] = None
    supersedes_id: Annotated[Id | None, "form it replaces"] = None
    superseded_by_id: Annotated[Id | None, "form that replaced it"] = None
    procedure_date: Annotated[date | None, "when it is needed; order of lists"] = None
    untold: frozenset[str] = msgspec.field(default=frozenset(), name="(portal) untold")

    def __post_init__(self) -> None:
        """A form that says both, that it is signed or open and when it was withdrawn, is withdrawn: the graver one. One that has
        signatures isn't unsigned: some systems have one status for both.

        The first is noticed like a value that can't be read. So are the signers of a form that waits for signatures and names nobody:
        lists may leave them empty.
        """
        super().__post_init__()
        if self.revoked_at is not None and self.status in _NOT_ENDED:
            structs.force_setattr(self, "status", ConsentStatus.REVOKED)
            noticed.lost = (*noticed.lost, Lost("ConsentForm.status", "$.status"))
        if self.status == ConsentStatus.PENDING and self.signatures:
            structs.force_setattr(self, "status", ConsentStatus.PARTIALLY_SIGNED)
        if self.is_open and not self.required_signers:
            noticed.lost = (
                *noticed.lost,
                Lost("ConsentForm.requiredSigners", "$.requiredSigners", is_none=True),
            )

    @property
    def patient_ref(self) -> PatientRef:
        return PatientRef(self.patient_id, self.patient_name, self.episode_id)

    @property
    def is_draft(self) -> bool:
        """Whether the clinic hasn't sent it to its signers yet."""
        return self.status == ConsentStatus.DRAFT

    @property
    def is_revoked(self) -> bool:
        """Whether a signer withdrew it or declined to sign."""
        return self.status == ConsentStatus.REVOKED

    @property
    def is_expired(self) -> bool:
        """Whether the time to sign ended before everyone had signed."""
        return self.status == ConsentStatus.EXPIRED

    @property
    def is_superseded(self) -> bool:
        """Whether a newer form has replaced it."""
        return self.status == ConsentStatus.SUPERSEDED

    @property
    def is_ended(self) -> bool:
        """Whether it is revoked, expired or superseded, which is final."""
        return self.is_revoked or self.is_expired or self.is_superseded

    @property
    def is_signed(self) -> bool:
        """Whether everyone has signed."""
        return self.status == ConsentStatus.SIGNED

    @property
    def is_open(self) -> bool:
        """Whether it is waiting for signatures."""
        return self.status in OPEN_STATUSES

    @property
    def is_sequential(self) -> bool:
        return self.signing_order == SigningOrder.SEQUENTIAL

    @property
    def is_signed_by_all(self) -> bool:
        """Whether everyone asked has signed although it counts as open: some systems take it into force later."""
        return self.is_open and bool(self.required_signers) and not self.missing_signers

    @property
    def is_revocable(self) -> bool:
        """Whether its status allows revoking it; the API may still refuse, e.g. after a transfer."""
        return self.is_open or self.is_signed

    @property
    def lacks_signatures(self) -> bool:
        """Whether its signatures didn't come, so that nobody can be said not to have signed.

        A form that is or was in force lacks some if not all of its signers have one.
        """
        if self.is_signed or self.in_force_at is not None:
            return not self.signatures or bool(self.missing_signers)
        if self.signatures:
            return False
        return self.status == ConsentStatus.PARTIALLY_SIGNED or (
            "ConsentForm.signatures" in self.untold and (self.is_ended or not self.status.known)
        )

    @property
    def in_force_at(self) -> datetime | None:
        """When it comes or came into force; None before everyone has signed, and if it ended before that moment.

        It isn't before the last signature: some systems write down when they sent it, which tells nothing of a form that lacks one.
        """
        if not (self.is_signed or self.is_revoked or self.is_superseded) or self.effective_at is None:
            return None
        last = max((one.signed_at for one in self.signatures if one.signed_at), default=None)
        sent = self.sent_at or self.creation_time
        is_sending = sent is not None and abs(self.effective_at - sent) <= _AT_ONCE
        if is_sending and (last is None or self.missing_signers):
            return None
        since = max(self.effective_at, last or self.effective_at)
        return None if self.revoked_at is not None and self.revoked_at < since else since

    @property
    def patients_side(self) -> tuple[Signer, ...]:
        """The signers who aren't the clinic's: only they withdraw."""
        return tuple(signer for signer in self.required_signers if signer.role not in CLINIC_ROLES)

    @property
    def is_signed_by_patients_side(self) -> bool:
        """Whether anybody of the patient's side has signed."""
        return any(not signature.is_for_clinic for signature in self.signatures)

    @property
    def ended_by_id(self) -> str | None:
        """Who withdrew, declined or cancelled it; of a withdrawal that staff recorded, the signer."""
        return self.on_behalf_of or self.revoked_by_id

    @property
    def ended_by(self) -> Signer | None:
        """The signer of the patient's side who withdrew or declined, in person or recorded by staff."""
        sub = self.ended_by_id
        if not self.is_revoked or sub is None:
            return None
        return next((signer for signer in self.patients_side if signer.person_id == sub), None)

    @property
    def declined_by(self) -> Signer | None:
        """The signer who declined to sign it; None if it was withdrawn after signing, or isn't revoked."""
        signer = self.ended_by
        return None if signer is None or self.lacks_signatures or self.signature_for(signer) else signer

    @property
    def is_cancelled(self) -> bool:
        """Whether the clinic ended it before anybody of the patient's side had signed."""
        return (
            self.is_revoked
            and self.revoked_by_id is not None
            and self.ended_by is None
            and not self.lacks_signatures
            and not self.is_signed_by_patients_side
        )

    @property
    def is_withdrawn(self) -> bool:
        """Whether a consent was withdrawn, rather than declined or cancelled."""
        return self.is_revoked and not self.declined_by and not self.is_cancelled

    @property
    def holds_embryos(self) -> bool:
        """Whether its withdrawal puts embryos on hold; they can be stored under it without its naming them."""
        if self.kind in (ConsentKind.STORAGE, ConsentKind.STORAGE_RENEWAL):
            return True
        return bool(self.embryo_storage_ids) and self.kind in NAMING_KINDS

    def asks_as_patient(self, sub: str) -> bool:
        """Whether `sub` is asked to sign as a patient, not as a partner or for the clinic."""
        return any(
            signer.person_id == sub and signer.role in PATIENT_ROLES for signer in self.required_signers
        )

    @property
    def is_recorded(self) -> bool:
        """Whether staff recorded its withdrawal for a signer."""
        return self.is_revoked and self.on_behalf_of not in (None, self.revoked_by_id)

    @property
    def text_gap(self) -> TextGap | None:
        """What is missing from its text, or None. Only for forms read individually: lists omit the body."""
        if self.body is None or self.statements is None:
            return TextGap.NOT_SENT
        if not self.body:
            return TextGap.ON_FILE if self.file_id else TextGap.EMPTY
        parts = (*self.body, *self.statements)
        return None if all(any(map(str.isalnum, part.text)) for part in parts) else TextGap.PART_EMPTY

    @cached_property
    def missing_signers(self) -> tuple[Signer, ...]:
        """Those who haven't signed yet, in signing order."""
        missing = tuple(signer for signer, signature in self.asked if signature is None)
        return tuple(sorted(missing, key=lambda signer: signer.order)) if len(missing) > 1 else missing

    def whose_turn(self) -> tuple[Signer, ...]:
        """Those who can sign now: in a sequential form the first who hasn't signed, otherwise all who haven't."""
        if not self.is_open:
            return ()
        missing = self.missing_signers
        if not self.is_sequential:
            return missing
        return tuple(signer for signer in missing if signer.order == missing[0].order)

    @property
    def has_unknown_signers(self) -> bool:
        """Whether it waits for somebody whose account isn't known."""
        return any((signer.person_id or "").startswith(UNKNOWN_ACCOUNT) for signer in self.missing_signers)

    def waiting_for(self, sub: str) -> tuple[Signer, ...]:
        """Those who must sign before `sub` can; empty if it is their turn, or never will be."""
        mine = next((s for s in self.missing_signers if s.person_id == sub), None)
        if mine is None or not self.is_open or not self.is_sequential:
            return ()
        return tuple(s for s in self.missing_signers if s.order < mine.order)

    def is_signer(self, sub: str) -> bool:
        return any(s.person_id == sub for s in (*self.required_signers, *self.signatures))

    def signature_of(self, sub: str) -> Signature | None:
        """The signature of `sub`, or None."""
        own = next((s for s in self.signatures if s.person_id == sub), None)
        asked = (self.signature_for(signer) for signer in self.required_signers if signer.person_id == sub)
        return own or next(filter(None, asked), None)

    def signature_for(self, signer: Signer) -> Signature | None:
        """The signature of `signer` in that role, or None; of signers who can't be told apart, the first one's."""
        return next((signature for asked, signature in self.asked if asked == signer), None)

    @cached_property
    def asked(self) -> tuple[tuple[Signer, Signature | None], ...]:
        """The required signers, each with their signature or None; a signature counts for one, and a person once in a role.

        It is the person's; else, for a signer without a person, one in that name; else, for the role's only signer, one that names
        nobody, or nobody whom the form asks but has their name: they signed on paper, and have an account since; else, for a
        signer without a person, anyone's in that role.
        """
        found: dict[int, Signature] = {}
        free = self.signatures
        for is_of in (_is_persons, _is_in_name, self._may_be_theirs, _is_anyones):
            if not free:
                break
            for place, signer in enumerate(self.required_signers):
                fits = (s for s in free if s.role == signer.role and is_of(s, signer))
                if place not in found and (signature := next(fits, None)):
                    found[place] = signature
                    free = tuple(s for s in free if not (s is signature or _is_same_signers(s, signature)))
        return tuple((signer, found.get(place)) for place, signer in enumerate(self.required_signers))

    def _may_be_theirs(self, signature: Signature, signer: Signer) -> bool:
        if sum(other.role == signer.role for other in self.required_signers) > 1:
            return False
        if signature.person_id is None:
            return True
        is_asked = any(other.person_id == signature.person_id for other in self.required_signers)
        return not is_asked and bool(signer.name) and folded(signer.name) == folded(signature.name)


def _is_persons(signature: Signature, signer: Signer) -> bool:
    return signer.person_id is not None and signer.person_id == signature.person_id


def _is_in_name(signature: Signature, signer: Signer) -> bool:
    return signer.person_id is None and folded(signer.name) == folded(signature.name) != ""


def _is_anyones(_signature: Signature, signer: Signer) -> bool:
    return signer.person_id is None


def _is_same_signers(one: Signature, other: Signature) -> bool:
    return one.person_id is not None and (one.role, one.person_id) == (other.role, other.person_id)


class ConsentDraft(Timed, frozen=True, kw_only=True):
    """A new consent form (care API specification §4, POST /api/care/consent-forms).

    A form that names no embryos, or has no disposition, omits the member; `language` is omitted if it isn't known.
    """

    patient_id: Id
    title: str
    kind: ConsentKind
    version: str
    body: tuple[Clause, ...]
    statements: tuple[Statement, ...]
    required_signers: tuple[Signer, ...]
    signing_order: SigningOrder = SigningOrder.ANY
    partner_id: Id | None = None
    case_id: Id | None = None
    episode_id: Id | None = None
    embryo_storage_ids: tuple[Id, ...] | UnsetType = UNSET
    disposition: Disposition | UnsetType = UNSET
    language: str | UnsetType = UNSET
    procedure_date: date | None = None
    supersedes_id: Id | None = None
    expires_at: datetime | None = None
