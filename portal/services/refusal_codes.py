"""The clinic's rules that the portal can explain (`portal.web.refusals`), by the code of a refusal."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, str] = {
    "ConcurrencyConflict": "someone else has changed the record",
    "IllegalTransition": "the record's state doesn't allow the step",
    "TriggerWithoutTime": "the trigger of an active protocol has no time",
    "DosesAlreadyTaken": "a medicine that was begun on an earlier day would change, instead of ending where a new one begins",
    "FieldNotYours": "a patient changed a field that only the clinic may change",
    "AccountBound": "the record already belongs to an account",
    "EmailChangedByYou": "the person who last changed a record's e-mail address may not set its account",
    "AlreadySigned": "this person has signed the form",
    "NotASigner": "the form doesn't ask for this person's signature",
    "OutOfOrder": "someone else has to sign first",
    "WitnessIsSigner": "the witness also signs the form for themselves",
    "PatientMustSign": "the patient isn't among the signers",
    "PartnerMustSign": "the partner isn't among the signers",
    "OnePersonEach": "each person has a form of this kind of their own",
    "SignerNotOfRecord": "a signer isn't recorded in that role",
    "RoleNotYours": "this person can't sign in that role",
    "ContentChanged": "the form's text changed after it was opened",
    "FormNotSent": "the form is a draft",
    "FormRevoked": "the form was withdrawn",
    "FormExpired": "the deadline for signing has passed",
    "FormSuperseded": "a newer form has replaced it",
    "ConsentActedUpon": "everything that the form allows has been carried out",
    "WithdrawalNotYours": "only a signer of the patient's side withdraws",
    "SupersedesOther": "the form can't replace one of another patient, kind or signers",
    "FormAlreadyOpen": "a similar form is already open",
    "FormMissing": "no signed form allows the embryo's move",
    "WishNotYours": "only the patient or partner decides about the embryo",
    "WishDiffers": "the move contradicts the decision about the embryo",
    "SecondPersonMissing": "a second person hasn't signed",
    "OnHold": "the embryo is on hold",
    "MoveIntoDescendant": "the folder would be moved into itself",
    "DuplicateName": "a folder of that name already exists there",
    "SyncRunning": "the EMR endpoint is exchanging data",
    "SameRecord": "both enquiries are the same",
    "AlreadyMerged": "one of them has already been merged",
    "SlotTaken": "the time is taken",
    "OutsideWorkingHours": "the time is outside working hours",
    "SlotInThePast": "the time is in the past",
    "PhysicianNotAvailable": "the physician can't be booked",
    "ProspectClosed": "the enquiry is closed",
}
"""When each of them refuses. Other codes are told as "a rule of the clinic"."""
