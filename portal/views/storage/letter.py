"""A letter that asks the clinic for the form of a decision about an embryo, in the patient's words.

The portal can't send it, as no endpoint takes messages: the patient sends it by e-mail, prints it, or reads it out.
"""

from __future__ import annotations

from flask import g

from portal.i18n.gettext import _
from portal.state.session_records import Person
from portal.values import Value
from portal.web.clinic_contact import mail_to_clinic
from portal.web.filters import long_date, today


class Letter(Value, frozen=True):
    """A letter, by paragraph, from one person to the clinic."""

    subject: str
    paragraphs: tuple[str, ...]
    sender: str
    date: str

    @property
    def text(self) -> str:
        return "\n\n".join((*self.paragraphs, self.sender))

    @property
    def mail(self) -> str:
        """Its `mailto:` address; empty if the clinic gives no e-mail."""
        return mail_to_clinic(self.subject, text=self.text)


def letter_about(code: str, decision: str, person: Person) -> Letter:
    """Return the letter about the embryo of this code, for a decision made by a form, known by the last part of its address."""
    thinking_of = {
        "move": _("I am thinking of moving embryo %(code)s to another clinic.", code=code),
        "donate-research": _("I am thinking of donating embryo %(code)s to research.", code=code),
        "donate-patients": _("I am thinking of donating embryo %(code)s to other patients.", code=code),
        "end-storage": _("I am thinking of ending the storage of embryo %(code)s.", code=code),
    }
    return Letter(
        subject=_("A question about an embryo"),
        paragraphs=(
            _("To %(clinic)s", clinic=g.tenant.name),
            thinking_of[decision],
            _("Please tell me what this would mean, send me the form, and say what happens next."),
            _("Before I decide, I would like to talk with someone, a counsellor if you offer that."),
            _(
                "This letter decides nothing. Please leave the embryo as it is until everyone concerned has signed."
            ),
        ),
        sender=person.name,
        date=long_date(today()),
    )
