"""Ending a form: consequences, reason, fresh sign-in; done once.

Signers withdraw or, before signing, decline; staff record that a signer did, or cancel a form that nobody of the patient's
side has signed. All are the same act in the care API.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from flask import Blueprint, Response, request, url_for
from msgspec.structs import replace

from portal.services.consents import get_consent
from portal.services.consents.forms import ConsentForm
from portal.services.errors import Invalid, Refused
from portal.services.rules.ending import Ending, ending_of
from portal.state.operations import Operation, State
from portal.views.consents.eligibility import why_not_revoke
from portal.views.consents.ending import may_read_reason, told_words
from portal.views.consents.labels import signer_name
from portal.views.consents.queue import Place, place_in_list, with_queue
from portal.views.consents.show import show_refusal
from portal.views.consents.withdrawal import (
    EVENTS,
    LONGEST_REASON,
    Given,
    NotWithdrawn,
    Withdrawal,
    WithdrawalRefused,
    WithdrawalUnconfirmed,
    name_on,
    resume,
    withdraw_once,
)
from portal.web import unsent
from portal.web.guard import is_fresh, to_sign_in
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in
from portal.web.refusals import refusal_message

bp = Blueprint("revoke", __name__)


class ReasonPage(Page, template="consents/revoke.html", about="form", is_pinned=True):
    """The confirmation page; `note` is why it is shown again: stale, refused, changed, undone, unconfirmed, or "".

    `signers` are those for whom staff can record a withdrawal, `ways` how they can have told it. `asks_name` is false where
    the form has no name to compare with.
    """

    form: ConsentForm
    operation: Operation
    given: Given
    longest: int
    note: str
    ending: Ending
    faults: dict[str, str]
    signers: list[tuple[str, str]]
    ways: list[tuple[str, str]]
    asks_name: bool


class RevokedPage(Page, template="consents/revoked.html", about="form"):
    """The form has ended; `by` is the signer who withdrew or declined it, if it was one of them.

    `is_mine`: this person withdrew, declined or cancelled it. `has_reason`: they may read why, as far as a reason was given.
    `was_in_force`: everyone had signed, as far as is told.
    """

    form: ConsentForm
    by: str | None
    is_mine: bool
    has_reason: bool
    was_in_force: bool
    place: Place | None


class UnconfirmedPage(Page, template="consents/revoke_unconfirmed.html", about="form"):
    """The response was lost; `is_readable` says that the record was read and doesn't show the withdrawal."""

    form: ConsentForm
    is_readable: bool
    ending: Ending


def withdrawal_step(step: Callable[[Withdrawal], Response]) -> Callable[[Care, Person, str], Response]:
    """Pass the step its open withdrawal; respond in its place if that is done, refused or unconfirmed."""

    @wraps(step)
    def resolved(care: Care, person: Person, consent_id: str) -> Response:
        form = get_consent(care, consent_id)
        if request.method == "GET":
            audit.shown("consent.read", "consent", form.id)
        if form.is_revoked:
            return _revoked(care, form, person)
        ending = ending_of(form, person)
        refusal = why_not_revoke(form, person)
        if refusal or ending is None:
            audit.note(EVENTS[ending or Ending.WITHDRAW], "refused", id_=form.id)
            return show_refusal(care, form, person, refusal or refusal_message("WithdrawalNotYours"))
        withdrawal = resume(care, form, person, ending)
        if withdrawal.operation.state is State.OPEN:
            return step(withdrawal)
        if request.method == "GET":
            return _show_unconfirmed(withdrawal, is_readable=True, status=200)
        if withdrawal.operation.state is State.DONE:
            return _to_page(form)
        return _show_unconfirmed(withdrawal, is_readable=True, status=202)

    return resolved


@bp.get("/<record:consent_id>/revoke")
@signed_in(Side.PATIENT, Side.STAFF)
@withdrawal_step
def show(withdrawal: Withdrawal) -> Response:
    """Show the consequences and ask for the reason; afterwards, say that it is done."""
    if given := unsent.restored_form(url_for(".revoke", consent_id=withdrawal.form.id)):
        withdrawal = replace(withdrawal, given=Given.of(given))
    return _ask(withdrawal, note="unconfirmed" if withdrawal.was_lost else "")


@bp.post("/<record:consent_id>/revoke")
@signed_in(Side.PATIENT, Side.STAFF)
@unsent.typed_text("reason", "who", "told_on", "told_time", "told_by", "name")
@withdrawal_step
def revoke(withdrawal: Withdrawal) -> Response:
    """End the form, once."""
    withdrawal = withdrawal.keep(Given.of(request.form))
    form = withdrawal.form
    if request.form.get("operation") != withdrawal.operation.id:
        return _ask(withdrawal, status=409, note="stale")
    if withdrawal.faults():
        return _ask(withdrawal, status=422, note="refused")
    if not is_fresh(withdrawal.person):
        return to_sign_in(next_path=with_queue(url_for(".show", consent_id=form.id)), fresh=True)
    withdraw_once(withdrawal)
    return _to_page(form)


def _unconfirmed(error: WithdrawalUnconfirmed) -> Response:
    return _show_unconfirmed(error.withdrawal, is_readable=error.is_readable, status=error.status)


def _refused(error: WithdrawalRefused) -> Response:
    """What the form is now: ended, not to be ended for the API's reason, or changed."""
    withdrawal, reason = error.withdrawal, error.reason
    if isinstance(reason, Invalid):
        return _ask(withdrawal, status=422, note="invalid")
    newest = get_consent(withdrawal.care, withdrawal.form.id)
    if newest.is_revoked:
        return _to_page(newest)
    if isinstance(reason, Refused):
        return show_refusal(withdrawal.care, newest, withdrawal.person, refusal_message(reason.code))
    ending = ending_of(newest, withdrawal.person) or withdrawal.ending
    return _ask(replace(withdrawal, form=newest, ending=ending), status=409, note="changed")


bp.register_error_handler(WithdrawalUnconfirmed, _unconfirmed)
bp.register_error_handler(NotWithdrawn, lambda error: _ask(error.withdrawal, status=503, note="undone"))
bp.register_error_handler(WithdrawalRefused, _refused)


def _ask(withdrawal: Withdrawal, *, status: int = 200, note: str = "") -> Response:
    form = withdrawal.form
    people = [signer for signer in form.patients_side if signer.person_id]
    page = ReasonPage(
        form=form,
        operation=withdrawal.operation,
        given=withdrawal.given,
        longest=LONGEST_REASON,
        note=note,
        ending=withdrawal.ending,
        faults=withdrawal.faults() if note == "refused" else {},
        signers=[(signer.person_id or "", name_on(form, signer) or signer_name(signer)) for signer in people],
        ways=[(str(way), words) for way, words in told_words().items()],
        asks_name=any(name_on(form, signer) for signer in people),
    )
    return render(page, status=status)


def _revoked(care: Care, form: ConsentForm, person: Person) -> Response:
    by = signer_name(form.ended_by) if form.ended_by else None
    page = RevokedPage(
        form=form,
        by=by,
        is_mine=form.ended_by_id == person.sub,
        has_reason=may_read_reason(form, person),
        was_in_force=form.in_force_at is not None or form.lacks_signatures or not form.missing_signers,
        place=place_in_list(care, person, form),
    )
    return render(page)


def _show_unconfirmed(withdrawal: Withdrawal, *, is_readable: bool, status: int) -> Response:
    """Say that the response is missing, and what the clinic's record shows now."""
    page = UnconfirmedPage(form=withdrawal.form, is_readable=is_readable, ending=withdrawal.ending)
    return render(page, status=status)


def _to_page(form: ConsentForm) -> Response:
    return redirect_to(with_queue(url_for(".show", consent_id=form.id)))
