"""What is said about the end of a form."""

from __future__ import annotations

from flask import Blueprint

from portal.i18n.gettext import _
from portal.services.consents.forms import ConsentForm, ToldBy
from portal.services.rules.ending import Ending, ending_of
from portal.state.session_records import Person
from portal.views.consents.labels import signer_name
from portal.web.filters import in_a_row, long_moment


def register(bp: Blueprint) -> None:
    bp.add_app_template_filter(ending_of, "ending")
    bp.add_app_template_filter(ending_words, "ending_words")
    bp.add_app_template_filter(recorded_words, "recorded_words")
    bp.add_app_template_filter(reason_for, "reason_for")


def ending_words(ending: Ending) -> str:
    """The label of the link that leads there."""
    match ending:
        case Ending.WITHDRAW:
            return _("Withdraw consent")
        case Ending.DECLINE:
            return _("I don’t want to sign")
        case Ending.RECORD:
            return _("Record a withdrawal")
        case Ending.CANCEL:
            return _("Cancel this form")


def recorded_words(form: ConsentForm) -> str:
    """Who recorded the withdrawal for whom, and how and when they were told; empty if a signer withdrew in person."""
    if not form.is_recorded:
        return ""
    name = signer_name(form.ended_by) if form.ended_by else _("someone who signs this form")
    who = (
        _("Recorded by %(writer)s for %(name)s", writer=form.revoked_by_name, name=name)
        if form.revoked_by_name
        else _("Recorded by the clinic for %(name)s", name=name)
    )
    how = told_words().get(form.told_by) if form.told_by else None
    return in_a_row([who, *([how] if how else []), *_moment(form)], " · ")


def _moment(form: ConsentForm) -> list[str]:
    return [long_moment(form.told_at)] if form.told_at else []


def told_words() -> dict[ToldBy, str]:
    """How somebody told the clinic."""
    return {
        ToldBy.TELEPHONE: _("told by telephone"),
        ToldBy.IN_PERSON: _("told in person"),
        ToldBy.LETTER: _("told by letter"),
        ToldBy.EMAIL: _("told by e-mail"),
    }


def reason_for(form: ConsentForm, person: Person) -> str | None:
    """The reason of its end, if `person` may read it."""
    return form.revoke_reason if may_read_reason(form, person) else None


def may_read_reason(form: ConsentForm, person: Person) -> bool:
    """Whether `person` may read the reason of its end: whoever wrote it, and staff."""
    return person.is_staff or form.revoked_by_id == person.sub
