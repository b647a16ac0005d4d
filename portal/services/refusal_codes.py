"""The clinic's rules that the portal can explain (`portal.web.refusals`), by the code of a refusal."""

from __future__ import annotations

from collections.abc import Mapping

RULES: Mapping[str, str] = {
    "ConcurrencyConflict": "somebody changed the record meanwhile",
    "IllegalTransition": "the record's state doesn't allow the step",
    "TriggerWithoutTime": "the trigger of an active protocol has no time",
    "DosesAlreadyTaken": "a medicine that was begun on an earlier day would change",
    "FieldNotYours": "a patient changed what only the clinic may change",
    "AccountBound": "the record belongs to an account already",
    "EmailChangedByYou": "who changed a record's e-mail address last may not set its account",
    "AlreadySigned": "this person has signed the form",
    "NotASigner": "the form doesn't ask for this person's signature",
    "OutOfOrder": "somebody else signs first",
    "WitnessIsSigner": "the witness signs the form for themselves",
    "PatientMustSign": "the patient isn't among those who sign",
    "PartnerMustSign": "the partner isn't among those who sign",
    "OnePersonEach": "each of a couple has a form of this kind of their own",
    "SignerNotOfRecord": "a signer isn't known in that role",
    "RoleNotYours": "this person can't sign in that role",
    "ContentChanged": "the form's text changed after it was opened",
    "FormNotSent": "the form is a draft",
    "FormRevoked": "the form was withdrawn",
    "FormExpired": "the time to sign is over",
    "FormSuperseded": "a newer form took its place",
    "ConsentActedUpon": "everything that the form allows has been carried out",
    "WithdrawalNotYours": "only a signer of the patient's side withdraws",
    "SupersedesOther": "the new form is for other people or another purpose than the one it would replace",
    "FormAlreadyOpen": "there is a form like it",
    "FormMissing": "no signed form allows the move of an embryo",
    "WishNotYours": "only the patient or partner decides about the embryo",
    "WishDiffers": "the move isn't what was decided for the embryo",
    "SecondPersonMissing": "a second person hasn't signed",
    "OnHold": "the embryo is on hold",
    "MoveIntoDescendant": "a folder would lie within itself",
    "DuplicateName": "a folder of that name is there",
    "SyncRunning": "the EMR endpoint is exchanging data",
    "SameRecord": "both enquiries are the same",
    "AlreadyMerged": "one of them has been merged",
    "SlotTaken": "the time is taken",
    "OutsideWorkingHours": "the time is outside working hours",
    "SlotInThePast": "the time is over",
    "PhysicianNotAvailable": "the physician can't be booked",
    "ProspectClosed": "the enquiry is closed",
}
"""When each of them refuses. Other codes are told as "a rule of the clinic"."""
