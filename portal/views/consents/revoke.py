"""Withdrawing a consent, or declining to sign one: consequences, reason, fresh sign-in; done once.

Both are the same act in the care API. A signer who hasn't signed declines; everyone else withdraws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps

from flask import Blueprint, Response, request, url_for

from portal.config.tenants import Side
from portal.context import context
from portal.parse import paragraphs
from portal.services import errors
from portal.services.client import Care
from portal.services.consents import get_consent, is_revoked, revoke_consent
from portal.services.records.consents import ConsentForm
from portal.state.operations import Operation, State
from portal.state.session_records import Person
from portal.views.consents.eligibility import why_not_revoke, would_decline
from portal.views.consents.labels import signer_name
from portal.views.consents.queue import place_in_list, with_queue
from portal.views.consents.show import show_refusal
from portal.views.consents.worklist import Place
from portal.web import audit, unsent
from portal.web.act_once import (
    Attempt,
    Done,
    NotSent,
    Refused,
    Reopened,
    Unknown,
    act_once,
    begin,
    is_lost,
)
from portal.web.guard import is_fresh, signed_in, to_sign_in
from portal.web.htmx import redirect_to, render
from portal.web.pages import Page
from portal.web.refusals import refusal_message

bp = Blueprint("revoke", __name__)

_LONGEST_REASON = 2000
_LONGEST_TYPED = 1_000_000


class ReasonPage(Page, template="consents/revoke.html"):
    """The confirmation page; `note` is why it is shown again: stale, refused, changed, undone, unconfirmed, or ""."""

    form: ConsentForm
    operation: Operation
    reason: str
    longest: int
    note: str
    is_declining: bool


class RevokedPage(Page, template="consents/revoked.html"):
    """The consent is withdrawn, or somebody declined to sign it; `by` is the signer who did it, if it was one of them."""

    form: ConsentForm
    by: str | None
    is_mine: bool
    place: Place | None


class UnconfirmedPage(Page, template="consents/revoke_unconfirmed.html"):
    """The response was lost; `is_readable` says that the record was read and doesn't show the withdrawal."""

    form: ConsentForm
    is_readable: bool
    is_declining: bool


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """One person's withdrawal of a consent, or refusal to sign; `was_lost`: it was sent before without a response."""

    care: Care
    form: ConsentForm
    person: Person
    operation: Operation
    reason: str
    was_lost: bool

    @property
    def is_declining(self) -> bool:
        """Whether the person is a signer who hasn't signed."""
        return would_decline(self.form, self.person)

    @property
    def event(self) -> str:
        """The audit event."""
        return "consent.decline" if self.is_declining else "consent.revoke"

    @property
    def attempt(self) -> Attempt:
        """The withdrawal as it is sent."""
        return Attempt(self.person.sub, self.operation, (self.form.concurrency_stamp, self.reason))

    def keep(self, reason: str) -> Withdrawal:
        """A copy with this reason, saved in the operation."""
        context().operations.keep(self.person.sub, self.operation.id, {"reason": reason})
        return replace(self, reason=reason)


def withdrawal_step(
    step: Callable[[Withdrawal], Response],
) -> Callable[[Care, Person, str], Response]:
    """Pass the step its open withdrawal; respond in its place if that is done, refused or unconfirmed."""

    @wraps(step)
    def resolved(care: Care, person: Person, consent_id: str) -> Response:
        form = get_consent(care, consent_id)
        if request.method == "GET":
            audit.note("consent.read", "done", kind="consent", id_=form.id)
        if is_revoked(form):
            return _revoked(care, form, person)
        if refusal := why_not_revoke(form, person):
            event = "consent.decline" if would_decline(form, person) else "consent.revoke"
            audit.note(event, "refused", kind="consent", id_=form.id)
            return show_refusal(care, form, person, refusal)
        withdrawal = _resume(care, form, person)
        if withdrawal.operation.state is State.OPEN:
            return step(withdrawal)
        if request.method == "GET":
            return _unconfirmed(withdrawal, is_readable=True, status=200)
        if withdrawal.operation.state is State.DONE:
            return _to_page(form)
        return _unconfirmed(withdrawal, is_readable=True, status=202)

    return resolved


@bp.get("/<record:consent_id>/revoke")
@signed_in(Side.PATIENT, Side.STAFF)
@withdrawal_step
def show(withdrawal: Withdrawal) -> Response:
    """Show the consequences and ask for the reason; afterwards, say that it is done."""
    if given := unsent.restored_form(url_for(".revoke", consent_id=withdrawal.form.id)):
        withdrawal = replace(withdrawal, reason=_reason(given.get("reason")))
    return _ask(withdrawal, note="unconfirmed" if withdrawal.was_lost else "")


@bp.post("/<record:consent_id>/revoke")
@signed_in(Side.PATIENT, Side.STAFF)
@unsent.typed_text("reason")
@withdrawal_step
def revoke(withdrawal: Withdrawal) -> Response:
    """Withdraw the consent or decline to sign it, once."""
    withdrawal = withdrawal.keep(_reason(request.form.get("reason")))
    form, reason = withdrawal.form, withdrawal.reason
    if request.form.get("operation") != withdrawal.operation.id:
        return _ask(withdrawal, status=409, note="stale")
    if not reason or len(reason) > _LONGEST_REASON:
        return _ask(withdrawal, status=422, note="refused")
    if not is_fresh(withdrawal.person):
        return to_sign_in(next_path=with_queue(url_for(".show", consent_id=form.id)), fresh=True)
    outcome = act_once(
        withdrawal.attempt,
        lambda key: revoke_consent(
            withdrawal.care, form.id, reason=reason, stamp=form.concurrency_stamp, operation=key
        ),
        shows=is_revoked,
        look=lambda: _read_if_revoked(withdrawal),
        event=withdrawal.event,
        kind="consent",
        id_=form.id,
        limit=context().settings.limit_signing,
    )
    match outcome:
        case Done() | Reopened():
            return _to_page(form)
        case Refused(error):
            return _refused(withdrawal, error)
        case NotSent():
            return _ask(withdrawal, status=503, note="undone")
        case Unknown(is_readable, status):
            return _unconfirmed(withdrawal, is_readable=is_readable, status=status)


def _resume(care: Care, form: ConsentForm, person: Person) -> Withdrawal:
    purpose = f"revoke:{form.id}"
    operation, was_lost = begin(person.sub, purpose, keeps_receipt=True)
    if operation.state is State.DONE and is_lost(operation):  # the record no longer shows it
        operation = context().operations.begin(person.sub, purpose)
    return Withdrawal(care, form, person, operation, str(operation.data.get("reason", "")), was_lost)


def _read_if_revoked(withdrawal: Withdrawal) -> ConsentForm | None:
    form = get_consent(withdrawal.care, withdrawal.form.id)
    return form if is_revoked(form) else None


def _refused(withdrawal: Withdrawal, error: errors.CareError) -> Response:
    if not isinstance(error, errors.Refused | errors.Conflict):
        raise error
    newest = get_consent(withdrawal.care, withdrawal.form.id)
    if is_revoked(newest):
        return _to_page(newest)
    if isinstance(error, errors.Refused):
        return show_refusal(withdrawal.care, newest, withdrawal.person, refusal_message(error.code))
    return _ask(replace(withdrawal, form=newest), status=409, note="changed")


def _reason(text: str | None) -> str:
    """The complete reason: one that is too long is refused and shown again in full."""
    return paragraphs(text, longest=_LONGEST_TYPED)


def _ask(withdrawal: Withdrawal, *, status: int = 200, note: str = "") -> Response:
    page = ReasonPage(
        form=withdrawal.form,
        operation=withdrawal.operation,
        reason=withdrawal.reason,
        longest=_LONGEST_REASON,
        note=note,
        is_declining=withdrawal.is_declining,
    )
    return render(page, status=status)


def _revoked(care: Care, form: ConsentForm, person: Person) -> Response:
    if form.declined_by:
        by = signer_name(form.declined_by)
    else:
        by = next((s.name for s in form.required_signers if s.person_id == form.revoked_by_id), None)
    is_mine, place = form.revoked_by_id == person.sub, place_in_list(care, person, form)
    return render(RevokedPage(form=form, by=by, is_mine=is_mine, place=place))


def _unconfirmed(withdrawal: Withdrawal, *, is_readable: bool, status: int) -> Response:
    """Say that the response is missing, and what the clinic's record shows now."""
    page = UnconfirmedPage(
        form=withdrawal.form, is_readable=is_readable, is_declining=withdrawal.is_declining
    )
    return render(page, status=status)


def _to_page(form: ConsentForm) -> Response:
    return redirect_to(with_queue(url_for(".show", consent_id=form.id)))
