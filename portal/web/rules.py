"""The clinic's rules in words: what to tell a person when the care API refuses with a code."""

from __future__ import annotations

from portal.words import _


def said(code: str) -> str:
    """Return one sentence for a rule's code; a general one for a rule that is not known here."""
    match code:
        case "AlreadySigned":
            return _("You have signed this form already.")
        case "NotASigner":
            return _("This form doesn't ask for your signature.")
        case "OutOfOrder":
            return _("Someone else signs first; it will be your turn after them.")
        case "ContentChanged":
            return _("The form was changed after you opened it.")
        case "FormRevoked" | "Revoked":
            return _("This consent has been withdrawn.")
        case "FormExpired" | "Expired":
            return _("The time to sign this form is over.")
        case "FormSuperseded" | "Superseded":
            return _("A newer version of this form has taken its place.")
        case "WitnessIsSigner":
            return _("A witness can't be someone who signs the form for themselves.")
        case "ActedUpon":
            return _("The treatment that this form allows has already happened.")
        case "IllegalTransition":
            return _("Its present state doesn't allow this step.")
        case _:
            return _("A rule of the clinic doesn't allow this now.")
