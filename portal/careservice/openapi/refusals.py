"""What the document says of each rule that can refuse an act, and of which act."""

from __future__ import annotations

from portal.careservice.domain.rules import Rule

MEANINGS: dict[Rule, str] = {
    Rule.CONCURRENCY_CONFLICT: "the stamp is of an older state of the record",
    Rule.ILLEGAL_TRANSITION: "the record can't go there from where it is",
    Rule.FIELD_NOT_YOURS: "the caller's role doesn't change this member",
    Rule.NOT_A_SIGNER: "the form doesn't name the caller in that role",
    Rule.ALREADY_SIGNED: "the caller has signed",
    Rule.OUT_OF_ORDER: "somebody else signs first",
    Rule.WITNESS_IS_SIGNER: "a witness signs as nothing else",
    Rule.PATIENT_MUST_SIGN: "the patient isn't among the signers, as Patient, GameteProvider, Donor, Surrogate or "
    "IntendedParent; so for every `kind`",
    Rule.PARTNER_MUST_SIGN: "the partner of the form, its episode, case or embryos isn't among the signers of a form "
    "of kind Treatment, Storage, StorageRenewal, Disposition, Donation, LegalParenthood or Surrogacy, "
    "compared without case and spaces",
    Rule.SIGNER_NOT_OF_RECORD: "a `personId` isn't the account bound to the record (or, while none is, the record's "
    "id), or for Witness, Interpreter and Clinician a member of staff; a Donation names no recipient",
    Rule.ROLE_NOT_YOURS: "staff sign as Witness, Interpreter or Clinician, and nobody else does",
    Rule.CONTENT_CHANGED: "`contentHash` isn't the form's",
    Rule.FORM_NOT_SENT: "the form is a draft",
    Rule.FORM_REVOKED: "the form was withdrawn",
    Rule.FORM_EXPIRED: "the form has expired",
    Rule.FORM_SUPERSEDED: "another form has taken its place",
    Rule.FORM_ACTED_UPON: "an embryo stored under the form was transferred",
    Rule.FORM_ALREADY_OPEN: "a form of the same kind, title, patient, episode (or case) and embryos waits or is "
    "Signed, and `supersedesId` doesn't name it",
    Rule.FORM_MISSING: "no Signed form that names the embryo allows the move; or a wish that ends its storage is set "
    "by hand, which only a Signed form does",
    Rule.WISH_DIFFERS: "`disposition` isn't what the form and the move say",
    Rule.ON_HOLD: "the embryo is on hold; one by withdrawal or by a wish taken back ends only when a new form of kind "
    "Storage, StorageRenewal, Disposition or Donation that names it is Signed",
    Rule.SECOND_PERSON_MISSING: "nobody but the caller signed that form as Witness or Clinician",
    Rule.ACCOUNT_BOUND: "the record is bound to an account, once and for all",
    Rule.EMAIL_CHANGED_BY_YOU: "whoever changed the record's e-mail last doesn't bind it",
    Rule.MOVE_INTO_DESCENDANT: "a folder doesn't go into itself",
    Rule.DUPLICATE_NAME: "there is a folder of that name",
    Rule.SYNC_RUNNING: "the connection is at work",
    Rule.SAME_RECORD: "a record isn't merged with itself",
    Rule.ALREADY_MERGED: "one of the two was merged before",
    Rule.SLOT_TAKEN: "something else is in that time",
    Rule.OUTSIDE_WORKING_HOURS: "the physician doesn't work then",
    Rule.SLOT_IN_THE_PAST: "that time is over",
    Rule.PHYSICIAN_NOT_AVAILABLE: "the physician takes no appointments",
    Rule.PROSPECT_CLOSED: "the enquiry is closed",
}
_ENDED = (Rule.FORM_REVOKED, Rule.FORM_EXPIRED, Rule.FORM_SUPERSEDED)

OF_OPERATIONS: dict[str, tuple[Rule, ...]] = {
    "create_consent_form": (
        Rule.WITNESS_IS_SIGNER,
        Rule.SIGNER_NOT_OF_RECORD,
        Rule.PATIENT_MUST_SIGN,
        Rule.PARTNER_MUST_SIGN,
        *_ENDED,
        Rule.FORM_ALREADY_OPEN,
    ),
    "sign_consent_form": (
        *_ENDED,
        Rule.FORM_NOT_SENT,
        Rule.ROLE_NOT_YOURS,
        Rule.WITNESS_IS_SIGNER,
        Rule.NOT_A_SIGNER,
        Rule.ALREADY_SIGNED,
        Rule.PATIENT_MUST_SIGN,
        Rule.PARTNER_MUST_SIGN,
        Rule.OUT_OF_ORDER,
        Rule.CONTENT_CHANGED,
        Rule.CONCURRENCY_CONFLICT,
    ),
    "revoke_consent_form": (
        *_ENDED,
        Rule.FORM_NOT_SENT,
        Rule.NOT_A_SIGNER,
        Rule.FORM_ACTED_UPON,
        Rule.CONCURRENCY_CONFLICT,
    ),
    "update_protocol": (Rule.CONCURRENCY_CONFLICT, Rule.ILLEGAL_TRANSITION),
    "update_patient": (
        Rule.CONCURRENCY_CONFLICT,
        Rule.FIELD_NOT_YOURS,
        Rule.ACCOUNT_BOUND,
        Rule.EMAIL_CHANGED_BY_YOU,
    ),
    "update_case": (Rule.CONCURRENCY_CONFLICT, Rule.ILLEGAL_TRANSITION),
    "update_embryo": (
        Rule.CONCURRENCY_CONFLICT,
        Rule.FIELD_NOT_YOURS,
        Rule.ILLEGAL_TRANSITION,
        Rule.ON_HOLD,
        Rule.FORM_MISSING,
        Rule.WISH_DIFFERS,
        Rule.SECOND_PERSON_MISSING,
    ),
    "delete_emr_endpoint": (Rule.SYNC_RUNNING,),
    "move_directory": (Rule.CONCURRENCY_CONFLICT, Rule.MOVE_INTO_DESCENDANT, Rule.DUPLICATE_NAME),
    "update_notification_settings": (Rule.CONCURRENCY_CONFLICT,),
    "merge_prospects": (Rule.SAME_RECORD, Rule.ALREADY_MERGED),
    "book_window": (
        Rule.PROSPECT_CLOSED,
        Rule.PHYSICIAN_NOT_AVAILABLE,
        Rule.SLOT_IN_THE_PAST,
        Rule.OUTSIDE_WORKING_HOURS,
        Rule.SLOT_TAKEN,
    ),
}
"""By operation, in the order that they are looked at."""


def refusals_of(operation: str) -> str:
    """The rules that can refuse an operation, as Markdown; empty where none does."""
    return "".join(
        f"\n- `ClientelePortal:{rule.value}`: {MEANINGS[rule]}" for rule in OF_OPERATIONS.get(operation, ())
    )
