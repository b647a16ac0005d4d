"""The rules that can refuse an operation, and what each one means."""

from __future__ import annotations

from portal.careservice.domain.rules import Rule

MEANINGS: dict[Rule, str] = {
    Rule.CONCURRENCY_CONFLICT: "the stamp is of an older version of the record",
    Rule.ILLEGAL_TRANSITION: "the record can't change from its current status to that one",
    Rule.TRIGGER_WITHOUT_TIME: "a medicine with `isTrigger` has no `time`, so the protocol can't be Active",
    Rule.DOSES_ALREADY_TAKEN: "patient or day 1 of a protocol that is Active or OnHold, or drug, dose, unit or first day of a "
    "medicine begun before today would change, or that medicine go; a changed dose is a new medicine, and an end of "
    "the old one",
    Rule.FIELD_NOT_YOURS: "the caller's role may not change this member",
    Rule.NOT_A_SIGNER: "the form doesn't name the caller in that role",
    Rule.ALREADY_SIGNED: "the caller has already signed",
    Rule.OUT_OF_ORDER: "somebody else has to sign first",
    Rule.WITNESS_IS_SIGNER: "a witness can't sign in any other role",
    Rule.PATIENT_MUST_SIGN: "the patient isn't among the signers as Patient, GameteProvider, Donor, Surrogate or "
    "IntendedParent; for every `kind`, but of Storage and LegalParenthood the partner has a form of their own",
    Rule.PARTNER_MUST_SIGN: "the partner of the form, its episode, case or embryos isn't among the signers of a form "
    "of kind Treatment, StorageRenewal, Disposition, Donation or Surrogacy, ignoring case and spaces",
    Rule.ONE_PERSON_EACH: "a new form of kind Storage or LegalParenthood names several signers of the patient's side; "
    "each of a couple has a form of their own",
    Rule.SIGNER_NOT_OF_RECORD: "a `personId` isn't the account bound to the record (or, while none is, the record's "
    "id), or for Witness, Interpreter and Clinician a member of staff; a Donation names no recipient",
    Rule.ROLE_NOT_YOURS: "staff, and only staff, sign as Witness, Interpreter or Clinician",
    Rule.CONTENT_CHANGED: "`contentHash` isn't the form's",
    Rule.FORM_NOT_SENT: "the form is a draft",
    Rule.FORM_REVOKED: "the form was withdrawn",
    Rule.FORM_EXPIRED: "the form has expired",
    Rule.FORM_SUPERSEDED: "another form has replaced it",
    Rule.CONSENT_ACTED_UPON: "everything that the Signed form allows has been carried out: its embryos are transferred, "
    "discarded, donated or shipped out or, where a Treatment form names none, its episode is over",
    Rule.WITHDRAWAL_NOT_YOURS: "only a signer of the patient's side withdraws; staff record that for one of them "
    "(`onBehalfOf`), or cancel a form that nobody of the patient's side has signed",
    Rule.SUPERSEDES_OTHER: "the form in `supersedesId` is of another patient or kind, or requires somebody whom the new "
    "one doesn't (for the clinic, nobody in the same role)",
    Rule.FORM_ALREADY_OPEN: "a form of the same kind, title, patient, episode (or case) and embryos is waiting or "
    "Signed, and `supersedesId` doesn't name it",
    Rule.FORM_MISSING: "no Signed form that names the embryo allows the new status; or the request sets a disposition "
    "that ends its storage, which only a Signed form can",
    Rule.WISH_NOT_YOURS: "only the patient or partner changes `disposition`",
    Rule.WISH_DIFFERS: "the embryo's `disposition` doesn't match the form and the new status",
    Rule.ON_HOLD: "the embryo is on hold; a hold after a withdrawal or a wish taken back ends only when a new form of kind "
    "Storage, StorageRenewal, Disposition or Donation that names it is Signed",
    Rule.SECOND_PERSON_MISSING: "nobody other than the caller has signed that form as Witness or Clinician",
    Rule.ACCOUNT_BOUND: "the record is already bound to an account, which can't be changed",
    Rule.EMAIL_CHANGED_BY_YOU: "the person who last changed the record's e-mail may not bind it",
    Rule.MOVE_INTO_DESCENDANT: "a folder can't be moved into itself or a folder below it",
    Rule.DUPLICATE_NAME: "there already is a folder of that name",
    Rule.SYNC_RUNNING: "the connection is synchronizing",
    Rule.SAME_RECORD: "a record can't be merged with itself",
    Rule.ALREADY_MERGED: "one of the two has already been merged",
    Rule.TWO_PATIENTS: "the two records belong to different patients",
    Rule.SLOT_TAKEN: "that time is taken",
    Rule.OUTSIDE_WORKING_HOURS: "the physician doesn't work then",
    Rule.SLOT_IN_THE_PAST: "that time has passed",
    Rule.PHYSICIAN_NOT_AVAILABLE: "the physician takes no appointments",
    Rule.PROSPECT_CLOSED: "the enquiry is closed",
    Rule.ALREADY_BOOKED: "the enquiry has a visit to come; staff may book another",
}
_ENDED = (Rule.FORM_REVOKED, Rule.FORM_EXPIRED, Rule.FORM_SUPERSEDED)

OF_OPERATIONS: dict[str, tuple[Rule, ...]] = {
    "create_consent_form": (
        Rule.WITNESS_IS_SIGNER,
        Rule.SIGNER_NOT_OF_RECORD,
        Rule.PATIENT_MUST_SIGN,
        Rule.PARTNER_MUST_SIGN,
        Rule.ONE_PERSON_EACH,
        *_ENDED,
        Rule.SUPERSEDES_OTHER,
        Rule.CONSENT_ACTED_UPON,
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
        Rule.WITHDRAWAL_NOT_YOURS,
        Rule.CONSENT_ACTED_UPON,
        Rule.CONCURRENCY_CONFLICT,
    ),
    "create_protocol": (Rule.ILLEGAL_TRANSITION, Rule.TRIGGER_WITHOUT_TIME),
    "update_protocol": (
        Rule.CONCURRENCY_CONFLICT,
        Rule.ILLEGAL_TRANSITION,
        Rule.TRIGGER_WITHOUT_TIME,
        Rule.DOSES_ALREADY_TAKEN,
    ),
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
        Rule.WISH_NOT_YOURS,
        Rule.ILLEGAL_TRANSITION,
        Rule.ON_HOLD,
        Rule.FORM_MISSING,
        Rule.WISH_DIFFERS,
        Rule.SECOND_PERSON_MISSING,
    ),
    "delete_emr_endpoint": (Rule.SYNC_RUNNING,),
    "move_directory": (Rule.CONCURRENCY_CONFLICT, Rule.MOVE_INTO_DESCENDANT, Rule.DUPLICATE_NAME),
    "update_notification_settings": (Rule.CONCURRENCY_CONFLICT,),
    "merge_prospects": (Rule.SAME_RECORD, Rule.ALREADY_MERGED, Rule.TWO_PATIENTS),
    "book_window": (
        Rule.PROSPECT_CLOSED,
        Rule.ALREADY_BOOKED,
        Rule.PHYSICIAN_NOT_AVAILABLE,
        Rule.SLOT_IN_THE_PAST,
        Rule.OUTSIDE_WORKING_HOURS,
        Rule.SLOT_TAKEN,
    ),
}
"""By operation, in the order in which they are checked."""


def refusals_of(operation: str) -> str:
    """The rules that can refuse an operation, as Markdown; empty if there are none."""
    return "".join(
        f"\n- `ClientelePortal:{rule.value}`: {MEANINGS[rule]}" for rule in OF_OPERATIONS.get(operation, ())
    )
