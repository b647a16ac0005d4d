"""What the clinic's own people declare when they sign: one sentence for each role, beside the patient's statements.

The statements of a form are the patient's to acknowledge. A clinician, witness or interpreter acknowledges none of them
and declares their own sentence instead. The care API doesn't get it; the audit record says which one it was, and in which
language it was shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from portal.i18n.gettext import _
from portal.services.records.consents import SignerRole


@dataclass(frozen=True, slots=True)
class Declaration:
    """A sentence, and its name for the audit record: another wording takes another name."""

    name: str
    text: str

    def shown_in(self, language: str) -> str:
        """The sentence as it was shown, such as `clinician-1.en`."""
        return f"{self.name}.{language}"

    def is_among(self, posted: Iterable[str], languages: Iterable[str]) -> str:
        """Which of the languages it was declared in, as `shown_in` says it; empty where it wasn't declared."""
        given = set(posted)
        return next((mark for one in languages if (mark := self.shown_in(one)) in given), "")


def declaration_of(role: SignerRole) -> Declaration | None:
    """The sentence that someone declares who signs in this role; None for the patient's side."""
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
