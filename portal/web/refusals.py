"""Messages for the care API's refusal codes, each for one of the clinic's rules."""

from __future__ import annotations

from portal.i18n.gettext import _, for_each_language
from portal.request_values import reader_is_staff
from portal.services.errors import NotOffered


def refusal_message(code: str) -> str:
    """Return one sentence that explains a refusal code; a general one for an unknown code."""
    return _messages().get(code) or _("A rule of the clinic doesn’t allow this now.")


def physicians_unlisted(why: object) -> str:
    """Say that the clinic's physicians can't be chosen from, for ever or for now; `why` is what listing them raised."""
    if isinstance(why, NotOffered):
        return _("This clinic has no calendar here that lists its physicians.")
    return _("The clinic’s physicians can’t be listed right now.")


@for_each_language
def _messages() -> dict[str, str]:
    return {
        "NotTaken": _(
            "The clinic’s system wants this in another way than the portal can send it. Sending it again won’t help."
        ),
        "SortRefused": _("The clinic’s system can’t sort this list in that way."),
        "AlreadySigned": _("You have signed this form already."),
        "NotASigner": _("This form doesn’t ask for your signature."),
        "OutOfOrder": _("Someone else signs first; it will be your turn after them."),
        "ContentChanged": _("The form was changed after you opened it."),
        **dict.fromkeys(("FormRevoked", "Revoked"), _("This consent has been withdrawn.")),
        **dict.fromkeys(("FormExpired", "Expired"), _("It is too late to sign this form.")),
        **dict.fromkeys(
            ("FormSuperseded", "Superseded"), _("A newer version of this form has taken its place.")
        ),
        "WitnessIsSigner": _("A witness can’t be someone who signs the form for themselves."),
        "PatientMustSign": _("The patient has to be among those who sign."),
        "PartnerMustSign": _("The patient’s partner has to be among those who sign."),
        "OnePersonEach": _("Each of the two needs a form of this kind of their own. Make one form for each."),
        "SignerNotOfRecord": _("One of those who sign isn’t known to the clinic’s records in that role."),
        "RoleNotYours": _("You can’t sign in the role that this form gives you. Please ask for a new form."),
        "FormAlreadyOpen": _("There is a form like this already. Replace it, or withdraw it first."),
        "FormNotSent": _("The clinic hasn’t sent this form yet."),
        **dict.fromkeys(
            ("ConsentActedUpon", "FormActedUpon", "ActedUpon"),
            _("Everything that this form allows has been carried out, so it can’t be withdrawn or replaced."),
        ),
        "WithdrawalNotYours": _("Only those who sign it for themselves can withdraw it."),
        "SupersedesOther": _("A form can replace only one of the same kind, with the same people signing."),
        "FieldNotYours": _("Only the clinic can change that. You can change your contact details."),
        "FormMissing": _("There is no signed form yet that allows this."),
        "WishNotYours": _("Only the patient or partner decides what happens to this embryo."),
        "WishDiffers": _("That isn’t what was decided for this embryo."),
        "SecondPersonMissing": _(
            "A second person’s signature is missing: a clinician’s or a witness’s, and not your own."
        ),
        "OnHold": _("This embryo is on hold, so nothing can be done with it now."),
        "AccountBound": _("This record belongs to an account already; that is set once."),
        "EmailChangedByYou": _(
            "You changed this record’s e-mail address last, so someone else has to set its account."
        ),
        "MoveIntoDescendant": _("A folder can’t be moved into itself or a folder inside it."),
        "DuplicateName": _("There is a folder of that name already."),
        "SyncRunning": _("It is exchanging data right now. Try again when that is over."),
        "SameRecord": _("Both are the same record."),
        "AlreadyMerged": _("One of the two has been merged already."),
        "TwoPatients": _("The two have become different patients."),
        "SlotTaken": _("That time isn’t free any more."),
        "OutsideWorkingHours": _("That time is outside working hours."),
        "SlotInThePast": _("That time is over."),
        "PhysicianNotAvailable": _("That physician can’t be booked."),
        "ProspectClosed": _("This enquiry is closed."),
        "AlreadyBooked": _("A visit is booked for this enquiry already."),
        "TriggerWithoutTime": _("An active protocol needs the hour of its trigger."),
        "DosesAlreadyTaken": _(
            "Days gone by stay as they were. Give the medicine a new dose from a day, which begins a new row."
        ),
        "IllegalTransition": _("Its present state doesn’t allow this step."),
    }


def kept_elsewhere() -> str:
    """Explain that this one record is kept in the clinic's own system (501)."""
    if reader_is_staff():
        return _(
            "The clinic keeps this record in another system, so it can’t be changed here. Change it there."
        )
    return _(
        "The clinic keeps this record in another system, so it can’t be changed here. Please ask the clinic to change it."
    )
