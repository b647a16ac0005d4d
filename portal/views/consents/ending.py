"""How a form may be ended by a person, and what is said about its end."""

from __future__ import annotations

from enum import StrEnum

from flask import Blueprint

from portal.i18n.gettext import _
from portal.services.records.consents import (
    CLINIC_ROLES,
    EMBRYO_KINDS,
    ConsentForm,
    ConsentKind,
    ToldBy,
)
from portal.services.records.episodes import CareStatus, Episode
from portal.state.session_records import Person
from portal.views.consents.labels import signer_name
from portal.web.filters import in_a_row, long_moment

_OVER = (CareStatus.FINISHED, CareStatus.CANCELLED, CareStatus.ENTERED_IN_ERROR)


class Ending(StrEnum):
    """What ending a form means for a person."""

    WITHDRAW = "withdraw"
    DECLINE = "decline"
    """A signer of the patient's side hasn't signed yet."""
    RECORD = "record"
    """Staff record what a signer of the patient's side told them."""
    CANCEL = "cancel"
    """Staff end a form that nobody of the patient's side has signed."""

    @property
    def is_withdrawal(self) -> bool:
        """Whether a signer takes back their own consent."""
        return self is Ending.WITHDRAW

    @property
    def is_decline(self) -> bool:
        """Whether somebody who is asked to sign doesn't want to."""
        return self is Ending.DECLINE

    @property
    def is_recorded(self) -> bool:
        """Whether staff record what a signer told them."""
        return self is Ending.RECORD

    @property
    def is_cancellation(self) -> bool:
        """Whether staff cancel what no patient has signed."""
        return self is Ending.CANCEL


def register(bp: Blueprint) -> None:
    """Register the words as template filters."""
    bp.add_app_template_filter(ending_of, "ending")
    bp.add_app_template_filter(ending_words, "ending_words")
    bp.add_app_template_filter(recorded_words, "recorded_words")
    bp.add_app_template_filter(reason_for, "reason_for")


def ending_of(form: ConsentForm, person: Person) -> Ending | None:
    """How `person` can end the form; None if it isn't theirs to end, whatever its status."""
    if person.is_staff:
        if not form.is_signed_by_patients_side:
            return Ending.CANCEL
        return Ending.RECORD if any(signer.person_id for signer in form.patients_side) else None
    roles = {signer.role for signer in form.required_signers if signer.person_id == person.sub}
    if roles and roles <= CLINIC_ROLES:
        return None
    is_asked = form.is_signer(person.sub) and form.signature_of(person.sub) is None
    return Ending.DECLINE if is_asked else Ending.WITHDRAW


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


def is_carried_out(form: ConsentForm, episode: Episode | None) -> bool:
    """Whether nothing that a signed form allows is open any more, as far as its episode shows."""
    if not form.is_signed or episode is None:
        return False
    if form.kind not in EMBRYO_KINDS and form.kind != ConsentKind.TREATMENT:
        return False
    named = set(form.embryo_storage_ids or ())
    under = [one for one in episode.embryos if one.id in named or one.consent_form_id == form.id]
    if under or named:
        return named <= {one.id for one in under} and all(one.is_terminal for one in under)
    return form.kind == ConsentKind.TREATMENT and episode.status in _OVER


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
    """The reason of its end, if `person` may read it: whoever wrote it, and staff."""
    return form.revoke_reason if person.is_staff or form.revoked_by_id == person.sub else None
