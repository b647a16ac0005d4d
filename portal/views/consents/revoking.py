"""Withdrawing a consent: what follows, the reason, a fresh sign-in; once."""

from __future__ import annotations

from flask import Blueprint, Response, request, url_for
from flask_limiter.errors import RateLimitExceeded

from portal.operations import Operation, State
from portal.parts import parts
from portal.services.client import Care
from portal.services.consents import get_consent, is_revoked, revoke_consent
from portal.services.errors import BadResponse, CareError, Conflict, Refused, Unavailable
from portal.services.records import ConsentForm
from portal.sessions import Person
from portal.tenants import Side
from portal.views.consents.standing import standing
from portal.web import audit, unsent
from portal.web.extensions import limiter, person_or_address
from portal.web.guard import is_fresh, signed_in, to_sign_in
from portal.web.htmx import redirect_to, render
from portal.web.once import is_lost, key, settled
from portal.web.rules import said

bp = Blueprint("revoking", __name__)

_LONGEST_REASON = 2000


@bp.get("/<record:consent_id>/revoke")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, consent_id: str) -> Response:
    """Say what follows from withdrawing and ask for the reason; afterwards, say that it is done."""
    form = get_consent(care, consent_id)
    audit.note("consent.read", "done", kind="consent", id_=form.id)
    return _answer(form, person)


@bp.post("/<record:consent_id>/revoke")
@signed_in(Side.PATIENT, Side.STAFF)
@unsent.typed_text("reason")
def revoke(care: Care, person: Person, consent_id: str) -> Response:
    """Withdraw the consent, once."""
    form = get_consent(care, consent_id)
    if is_revoked(form) or not standing(form, person).can_revoke:
        return _answer(form, person, status=200 if is_revoked(form) else 403)
    operations = parts().operations
    reason = request.form.get("reason", "").strip()
    operation = operations.find(person.sub, request.form.get("operation", ""), _purpose(form))
    if operation is None:
        operation = _operation(form, person)
        operations.keep(person.sub, operation.id, {"reason": reason})
        return _ask(form, operation, reason, status=409, note="stale")
    operations.keep(person.sub, operation.id, {"reason": reason})
    if not reason or len(reason) > _LONGEST_REASON:
        return _ask(form, operation, reason, status=422, note="refused")
    if not is_fresh(person):
        return to_sign_in(next_path=url_for("consents.revoking.show", consent_id=form.id), fresh=True)
    if not operations.claim(person.sub, operation.id):
        return _under_way(form, person, operation)
    try:
        # Counted here, so that a repeat of what is done never meets the limit.
        with limiter.limit(parts().settings.limit_signing, key_func=person_or_address):
            return _send(care, person, form, operation, reason)
    except RateLimitExceeded:
        operations.reopen(person.sub, operation.id)
        raise


def _send(care: Care, person: Person, form: ConsentForm, operation: Operation, reason: str) -> Response:
    operations = parts().operations
    try:
        revoked = revoke_consent(
            care,
            form.id,
            reason=reason,
            stamp=form.concurrency_stamp,
            operation=key(operation.id, form.concurrency_stamp, reason),
        )
    except (Unavailable, BadResponse) as error:
        if isinstance(error, Unavailable) and error.is_undone:
            return _undone(person, form, operation, reason)
        return _look(care, person, form, operation)
    except CareError as error:
        operations.reopen(person.sub, operation.id)
        audit.note("consent.revoke", "refused", kind="consent", id_=form.id)
        return _refused(care, person, form, operation, reason, error)
    if not is_revoked(revoked):
        return _look(care, person, form, operation)
    return _done(person, form, operation)


def _refused(
    care: Care, person: Person, form: ConsentForm, operation: Operation, reason: str, error: CareError
) -> Response:
    if not isinstance(error, Refused | Conflict):
        raise error
    newest = get_consent(care, form.id)
    if is_revoked(newest):
        return _done(person, form, operation)
    if isinstance(error, Refused):
        return _answer(newest, person, status=403, refusal=said(error.code))
    return _ask(newest, operation, reason, status=409, note="changed")


def _undone(person: Person, form: ConsentForm, operation: Operation, reason: str) -> Response:
    """The withdrawal surely did not reach the record: say so, and let it be sent again at once."""
    parts().operations.reopen(person.sub, operation.id)
    audit.note("consent.revoke", "not-sent", kind="consent", id_=form.id)
    return _ask(form, operation, reason, status=503, note="undone")


def _look(care: Care, person: Person, form: ConsentForm, operation: Operation) -> Response:
    """No answer came: what does the clinic's record say now?"""
    parts().operations.lose(person.sub, operation.id)
    audit.note("consent.revoke", "unknown", kind="consent", id_=form.id)
    try:
        newest: ConsentForm | None = get_consent(care, form.id)
    except (Unavailable, BadResponse):
        newest = None
    if newest and is_revoked(newest):
        return _done(person, form, operation)
    return _unconfirmed(form, newest, status=503)


def _done(person: Person, form: ConsentForm, operation: Operation) -> Response:
    parts().operations.finish(person.sub, operation.id)
    audit.note("consent.revoke", "done", kind="consent", id_=form.id)
    return redirect_to(url_for("consents.revoking.show", consent_id=form.id))


def _answer(form: ConsentForm, person: Person, *, status: int = 200, refusal: str | None = None) -> Response:
    """The page that fits the form's state: it is done, it can't be done, or the question."""
    if is_revoked(form):
        by = next((s.name for s in form.required_signers if s.person_id == form.revoked_by_id), None)
        return render("consents/revoked.html", form=form, by=by, is_mine=form.revoked_by_id == person.sub)
    where = standing(form, person)
    if refusal or not where.can_revoke:
        audit.note("consent.revoke", "refused", kind="consent", id_=form.id)
        return render(
            "consents/show.html",
            status=403,
            form=form,
            standing=where,
            refusal=refusal or where.cannot_revoke,
        )
    operation = _operation(form, person)
    given = unsent.given_back(url_for(".revoke", consent_id=form.id)) or operation.data
    reason = str(given.get("reason", ""))
    if operation.state is State.OPEN:
        return _ask(form, operation, reason, status=status)
    if not is_lost(operation):
        return _under_way(form, person, operation)
    parts().operations.reopen(person.sub, operation.id)
    return _ask(form, operation, reason, note="unconfirmed")


def _ask(
    form: ConsentForm,
    operation: Operation,
    reason: str,
    *,
    status: int = 200,
    note: str = "",
) -> Response:
    return render(
        "consents/revoke.html",
        status=status,
        form=form,
        operation=operation,
        reason=reason,
        longest=_LONGEST_REASON,
        note=note,
    )


def _under_way(form: ConsentForm, person: Person, operation: Operation) -> Response:
    """Another post of the same withdrawal came first: go where it ends."""
    ended = settled(person, operation)
    is_post = request.method == "POST"
    if ended.state is State.OPEN or (ended.state is State.DONE and is_post):
        return redirect_to(url_for("consents.revoking.show", consent_id=form.id))
    return _unconfirmed(form, form, status=202 if is_post else 200)


def _unconfirmed(form: ConsentForm, record: ConsentForm | None, *, status: int) -> Response:
    """Say honestly that the answer is missing, and what the clinic's record (None: can't be read) says now."""
    return render("consents/revoke_unconfirmed.html", status=status, form=form, record=record)


def _operation(form: ConsentForm, person: Person) -> Operation:
    operations = parts().operations
    operation = operations.newest(person.sub, _purpose(form))
    if operation is None or (operation.state is State.DONE and is_lost(operation)):
        return operations.begin(person.sub, _purpose(form))
    return operation


def _purpose(form: ConsentForm) -> str:
    return f"revoke:{form.id}"
