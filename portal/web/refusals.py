"""Messages for the care API's refusal codes, each for one of the clinic's rules."""

from __future__ import annotations

from portal.i18n.gettext import _


def refusal_message(code: str) -> str:
    """Return one sentence that explains a refusal code; a general one for an unknown code."""
    match code:
        case "NotTaken":
            return _(
                "The clinic’s system wants this in another way than the portal can send it. Sending it again won’t help: please tell the clinic."
            )
        case "SortRefused":
            return _("The clinic’s system can’t sort this list in that way.")
        case "AlreadySigned":
            return _("You have signed this form already.")
        case "NotASigner":
            return _("This form doesn’t ask for your signature.")
        case "OutOfOrder":
            return _("Someone else signs first; it will be your turn after them.")
        case "ContentChanged":
            return _("The form was changed after you opened it.")
        case "FormRevoked" | "Revoked":
            return _("This consent has been withdrawn.")
        case "FormExpired" | "Expired":
            return _("It is too late to sign this form.")
        case "FormSuperseded" | "Superseded":
            return _("A newer version of this form has taken its place.")
        case "WitnessIsSigner":
            return _("A witness can’t be someone who signs the form for themselves.")
        case "PatientMustSign":
            return _("The patient has to be among those who sign.")
        case "PartnerMustSign":
            return _("The patient’s partner has to be among those who sign.")
        case "OnePersonEach":
            return _("Each of the two needs a form of this kind of their own. Make one form for each.")
        case "SignerNotOfRecord":
            return _("One of those who sign isn’t known to the clinic’s records in that role.")
        case "RoleNotYours":
            return _("You can’t sign in the role that this form gives you. Please ask for a new form.")
        case "FormAlreadyOpen":
            return _("There is a form like this already. Replace it, or withdraw it first.")
        case "FormNotSent":
            return _("The clinic hasn’t sent this form yet.")
        case "ConsentActedUpon" | "FormActedUpon" | "ActedUpon":
            return _(
                "Everything that this form allows has been carried out, so it can’t be withdrawn or replaced."
            )
        case "WithdrawalNotYours":
            return _("Only those who sign for the patient’s side can withdraw it.")
        case "SupersedesOther":
            return _("A form can replace only one of the same kind, with the same people signing.")
        case "FieldNotYours":
            return _("Only the clinic can change that. You can change your contact details.")
        case "FormMissing":
            return _("There is no signed form yet that allows this.")
        case "WishNotYours":
            return _("Only the patient or partner decides what happens to this embryo.")
        case "WishDiffers":
            return _("That isn’t what was decided for this embryo.")
        case "SecondPersonMissing":
            return _(
                "A second person’s signature is missing: a clinician’s or a witness’s, and not your own."
            )
        case "OnHold":
            return _("This embryo is on hold, so nothing can be done with it now.")
        case "AccountBound":
            return _("This record belongs to an account already; that is set once.")
        case "EmailChangedByYou":
            return _("You changed this record’s e-mail address last, so someone else has to set its account.")
        case "MoveIntoDescendant":
            return _("A folder can’t be moved into itself or a folder inside it.")
        case "DuplicateName":
            return _("There is a folder of that name already.")
        case "SyncRunning":
            return _("It is exchanging data right now. Try again when that is over.")
        case "SameRecord":
            return _("Both are the same record.")
        case "AlreadyMerged":
            return _("One of the two has been merged already.")
        case "SlotTaken":
            return _("Someone else has just taken that time.")
        case "OutsideWorkingHours":
            return _("That time is outside working hours.")
        case "SlotInThePast":
            return _("That time is over.")
        case "PhysicianNotAvailable":
            return _("That physician can’t be booked.")
        case "ProspectClosed":
            return _("This enquiry is closed.")
        case "TriggerWithoutTime":
            return _("An active protocol needs the hour of its trigger.")
        case "DosesAlreadyTaken":
            return _(
                "Days gone by stay as they were. Give the medicine a new dose from a day, which begins a new row."
            )
        case "IllegalTransition":
            return _("Its present state doesn’t allow this step.")
        case _:
            return _("A rule of the clinic doesn’t allow this now.")


def kept_elsewhere() -> str:
    """Explain that this one record is kept in the clinic's own system (501)."""
    return _(
        "The clinic keeps this record in another system, so it can’t be changed here. Please ask the clinic to change it."
    )
