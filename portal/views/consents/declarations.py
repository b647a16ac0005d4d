"""The sentence that the clinic's staff declare when they sign, one for each role.

The statements of a form are for the patient to acknowledge. A clinician, witness or interpreter declares their own
sentence instead. It isn't sent to the care API; the audit trail records which one it was, and the language in which it was
shown.
"""

from __future__ import annotations

from collections.abc import Iterable

from portal.i18n.gettext import _
from portal.services.consents.forms import SignerRole
from portal.values import Value


class Declaration(Value, frozen=True):
    """A sentence, and its name in the audit trail; a new wording needs a new name."""

    name: str
    text: str

    def shown_in(self, language: str) -> str:
        """The sentence's name and language, such as `clinician-1.en`."""
        return f"{self.name}.{language}"

    def is_among(self, posted: Iterable[str], languages: Iterable[str]) -> str:
        """The language in which it was declared, from `shown_in`; empty if it wasn't declared."""
        given = set(posted)
        return next((mark for language in languages if (mark := self.shown_in(language)) in given), "")


def declaration_of(role: SignerRole) -> Declaration | None:
    """The sentence to declare when signing in this role; None on the patient's side."""
    match role:
        case SignerRole.CLINICIAN:
            text = _(
                "I have explained what this form is about, its risks and the alternatives, and have answered the questions that I was asked."
            )
            return Declaration("clinician-1", text)
        case SignerRole.WITNESS:
            text = _(
                "I know the people who sign this form, or have checked who they are, and I saw that they signed it themselves."
            )
            return Declaration("witness-1", text)
        case SignerRole.INTERPRETER:
            text = _(
                "I have interpreted the whole form, and all that was said about it, completely and to the best of my ability."
            )
            return Declaration("interpreter-1", text)
        case _:
            return None
