"""Signing a consent form: read, acknowledge each statement, check, confirm it is you, type your name.

Every step is one POST form below `/consents/<id>/sign`, without htmx: a signature is given on whole pages. What was
shown and given is kept in an operation, so nothing is lost by signing in again, and one operation signs once:

* each step reads the form again. Other words than those shown: the difference is shown, and reading starts again.
  Another stamp alone (someone else has signed): go on.
* of many posts of the last step one alone claims the operation; the others come to the receipt.
* after a lost answer the form is read, and its signatures say what happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import msgspec
from flask import Blueprint, Response, request, url_for
from flask_babel import get_locale
from flask_limiter.errors import RateLimitExceeded
from werkzeug.datastructures import MultiDict

from portal.operations import Operation, State
from portal.parts import parts
from portal.services.client import Care
from portal.services.consents import get_consent, sign_consent, signed_by
from portal.services.errors import BadResponse, CareError, Conflict, Refused, Unavailable
from portal.services.records import ConsentForm, SignerRole
from portal.sessions import Person
from portal.tenants import Side
from portal.views.consents.shown import Shown, changes
from portal.views.consents.standing import (
    expected_name,
    open_role,
    same_name,
    standing,
    why_not_sign,
)
from portal.web import audit, unsent
from portal.web.extensions import limiter, person_or_address
from portal.web.guard import is_fresh, signed_in, to_sign_in
from portal.web.htmx import redirect_to, render
from portal.web.once import is_lost, key, settled
from portal.web.rules import said

bp = Blueprint("signing", __name__)

_TRIES = 3
_LONGEST_NAME = 200


class Step(StrEnum):
    """The steps by their place in the address."""

    READ = "read"
    STATEMENTS = "statements"
    CHECK = "check"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Signing:
    """One person signing one form in one role."""

    form: ConsentForm
    person: Person
    role: SignerRole
    operation: Operation
    shown: Shown

    @property
    def steps(self) -> list[Step]:
        """The steps of this form: one without statements has none to acknowledge."""
        return [step for step in Step if step is not Step.STATEMENTS or self.form.statements]

    @property
    def current(self) -> Step:
        """The first step that isn't done."""
        if not self.shown.has_read:
            return Step.READ
        if self.shown.missing():
            return Step.STATEMENTS
        return Step.NAME if self.shown.has_checked else Step.CHECK

    @property
    def changes(self) -> list[object]:
        """What is not as it was shown before; empty when nothing was, or when it has been read."""
        return list(changes(self.shown.before, self.shown.content)) if self.shown.before else []

    def kept(self, **given: object) -> Signing:
        """The same signing, with what the person has given now kept in its operation."""
        shown = msgspec.structs.replace(self.shown, **given)
        if shown != self.shown:
            parts().operations.keep(self.person.sub, self.operation.id, _data(shown))
        return Signing(self.form, self.person, self.role, self.operation, shown)


@bp.get("/<record:consent_id>/sign")
@bp.get("/<record:consent_id>/sign/<any(read, statements, check, name):step>", endpoint="step")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, consent_id: str, step: str = "") -> Response:
    """Show the step that is next, or an earlier one to look at again."""
    form = get_consent(care, consent_id)
    signing = _signing(form, person)
    if isinstance(signing, Response):
        return signing
    audit.note("consent.read", "done", kind="consent", id_=form.id)
    signing = _given_back(signing)
    wanted = Step(step) if step else signing.current
    return _show(signing, min(wanted, signing.current, key=list(Step).index))


@bp.post("/<record:consent_id>/sign/read")
@signed_in(Side.PATIENT, Side.STAFF)
def read(care: Care, person: Person, consent_id: str) -> Response:
    """The person has read the form; note in which language."""
    signing = _resumed(care, person, consent_id)
    if isinstance(signing, Response):
        return signing
    return _go(signing.kept(has_read=True, before=None, language=str(get_locale() or "en")))


@bp.post("/<record:consent_id>/sign/statements")
@signed_in(Side.PATIENT, Side.STAFF)
@unsent.typed_text("statement")
def statements(care: Care, person: Person, consent_id: str) -> Response:
    """The person acknowledges statements; every one is needed to go on."""
    signing = _resumed(care, person, consent_id)
    if isinstance(signing, Response):
        return signing
    signing = signing.kept(acknowledged=_acknowledged(signing, request.form), has_checked=False)
    if signing.shown.has_read and signing.shown.missing():
        return _show(signing, Step.STATEMENTS, status=422, is_refused=True)
    return _go(signing)


@bp.post("/<record:consent_id>/sign/check")
@signed_in(Side.PATIENT, Side.STAFF)
def check(care: Care, person: Person, consent_id: str) -> Response:
    """The person has looked over what they are about to sign."""
    signing = _resumed(care, person, consent_id)
    if isinstance(signing, Response):
        return signing
    return _go(signing.kept(has_checked=True) if signing.current is Step.CHECK else signing)


@bp.post("/<record:consent_id>/sign/confirm")
@signed_in(Side.PATIENT, Side.STAFF)
def confirm(care: Care, person: Person, consent_id: str) -> Response:
    """Sign in afresh, and come back to this step."""
    signing = _resumed(care, person, consent_id)
    if isinstance(signing, Response):
        return signing
    return _go(signing) if is_fresh(person) else _fresh_sign_in(signing)


@bp.post("/<record:consent_id>/sign/name")
@signed_in(Side.PATIENT, Side.STAFF)
@unsent.typed_text("signature")
def sign(care: Care, person: Person, consent_id: str) -> Response:
    """Sign with the typed name, once."""
    signing = _resumed(care, person, consent_id)
    if isinstance(signing, Response):
        return signing
    signing = signing.kept(typed=_name_typed(request.form))
    if signing.shown.has_read and signing.shown.missing():
        return _show(signing, Step.STATEMENTS, status=422, is_refused=True)
    if signing.current is not Step.NAME:
        return _go(signing)
    if not is_fresh(person):
        return _fresh_sign_in(signing)
    if not _is_name_right(signing):
        return _show(signing, Step.NAME, status=422, is_refused=True)
    if not parts().operations.claim(person.sub, signing.operation.id):
        return _under_way(signing)
    try:
        # Counted here, so that a repeat of what is done never meets the limit.
        with limiter.limit(parts().settings.limit_signing, key_func=person_or_address):
            return _send(care, signing)
    except RateLimitExceeded:
        parts().operations.reopen(person.sub, signing.operation.id)
        raise


def _acknowledged(signing: Signing, form: MultiDict[str, str]) -> tuple[str, ...]:
    ids = {statement.id for statement in signing.form.statements}
    return tuple(id_ for id_ in dict.fromkeys(form.getlist("statement")) if id_ in ids)


def _name_typed(form: MultiDict[str, str]) -> str:
    return " ".join(form.get("signature", "").split())[:_LONGEST_NAME]


def _given_back(signing: Signing) -> Signing:
    """The same signing with what was ticked or typed in a session that had ended."""
    if given := unsent.given_back(url_for(".statements", consent_id=signing.form.id)):
        signing = signing.kept(acknowledged=_acknowledged(signing, given), has_checked=False)
    if given := unsent.given_back(url_for(".sign", consent_id=signing.form.id)):
        signing = signing.kept(typed=_name_typed(given))
    return signing


def _resumed(care: Care, person: Person, consent_id: str) -> Signing | Response:
    """The signing that a posted step belongs to, or the answer when it can't go on."""
    form = get_consent(care, consent_id)
    signing = _signing(form, person, status=409)
    if isinstance(signing, Response):
        return signing
    if signing.operation.id != request.form.get("operation", ""):
        return _show(signing, Step.READ, status=409, is_stale=True)
    return signing


def _signing(form: ConsentForm, person: Person, *, status: int = 200) -> Signing | Response:
    """This person's signing of this form as it is now; or the answer when there is nothing to sign, or no more.

    `status` is that of the page which shows that the form has changed.
    """
    role = open_role(form, person)
    if role is None:
        return _nothing_to_sign(form, person)
    operation = _newest(person, _purpose(form, role))
    if operation is None:
        return _begin(form, person, role, Shown.of(form))
    shown = _shown(operation)
    if operation.state is not State.OPEN and not is_lost(operation):
        return _under_way(Signing(form, person, role, operation, shown))
    if operation.state is not State.OPEN:
        return _open_again(Signing(form, person, role, operation, shown))
    if not shown.is_of(form):
        audit.note("consent.sign", "changed", kind="consent", id_=form.id)
        signing = _succeed(form, person, role, operation, shown)
        return _show(signing, Step.READ, status=status) if status != 200 else signing
    signing = Signing(form, person, role, operation, shown)
    return signing.kept(stamp=form.concurrency_stamp, api_hash=form.content_hash)


def _begin(form: ConsentForm, person: Person, role: SignerRole, shown: Shown) -> Signing:
    operation = parts().operations.begin(person.sub, _purpose(form, role), _data(shown))
    return Signing(form, person, role, operation, shown)


def _succeed(form: ConsentForm, person: Person, role: SignerRole, old: Operation, shown: Shown) -> Signing:
    """Start again with a new operation, and close the old one; its outcome names the successor."""
    before = shown.before or shown.content
    signing = _begin(form, person, role, Shown.of(form, before=None if shown.is_of(form) else before))
    parts().operations.finish(person.sub, old.id, outcome=signing.operation.id)
    return signing


def _open_again(signing: Signing) -> Signing:
    """The answer to a signature was lost, and the record doesn't show it: it may be given again."""
    operations = parts().operations
    if not operations.reopen(signing.person.sub, signing.operation.id):
        return _succeed(signing.form, signing.person, signing.role, signing.operation, signing.shown)
    return signing.kept(is_unconfirmed=True)


def _newest(person: Person, purpose: str) -> Operation | None:
    operations = parts().operations
    operation = operations.newest(person.sub, purpose)
    while operation and operation.outcome:
        operation = operations.find(person.sub, operation.outcome, purpose)
    return operation


def _purpose(form: ConsentForm, role: SignerRole) -> str:
    return f"sign:{form.id}:{role}"


def _data(shown: Shown) -> dict[str, object]:
    return msgspec.to_builtins(shown)


def _shown(operation: Operation) -> Shown:
    return msgspec.convert(operation.data, Shown)


def _is_name_right(signing: Signing) -> bool:
    expected = expected_name(signing.form, signing.person, signing.role)
    return any(same_name(signing.shown.typed, name) for name in (expected, signing.person.name))


# ── the act ─────────────────────────────────────────────────────────────────────────────────────────────


def _send(care: Care, signing: Signing) -> Response:
    """Send the signature of a claimed operation; every way out settles the operation."""
    operations, person, form = parts().operations, signing.person, signing.form
    try:
        signed = _sign_in_step(care, signing)
    except (Unavailable, BadResponse) as error:
        if isinstance(error, Unavailable) and error.is_undone:
            return _undone(signing)
        operations.lose(person.sub, signing.operation.id)
        audit.note("consent.sign", "unknown", kind="consent", id_=form.id)
        return _look(care, signing)
    except CareError as error:
        operations.reopen(person.sub, signing.operation.id)
        audit.note("consent.sign", "refused", kind="consent", id_=form.id)
        if isinstance(error, Refused):
            return _refused(care, signing, error.code)
        if isinstance(error, Conflict):
            return redirect_to(url_for("consents.signing.show", consent_id=form.id))
        raise
    if not signed_by(signed, person.sub, signing.role):
        operations.lose(person.sub, signing.operation.id)
        return _look(care, signing)
    return _done(signing)


def _sign_in_step(care: Care, signing: Signing) -> ConsentForm:
    """Sign; when someone else has signed meanwhile, with the new stamp, as long as the words are the same."""
    shown = signing.shown
    for last in (False,) * (_TRIES - 1) + (True,):
        try:
            return sign_consent(
                care,
                signing.form.id,
                role=signing.role,
                signature=shown.typed,
                acknowledged=shown.acknowledged,
                content_hash=shown.api_hash,
                stamp=shown.stamp,
                language=shown.language,
                operation=key(signing.operation.id, shown.typed, shown.api_hash, shown.stamp),
            )
        except Conflict:
            form = get_consent(care, signing.form.id)
            if last or not shown.is_of(form) or open_role(form, signing.person) != signing.role:
                raise
            shown = shown.with_stamp_of(form)
    raise AssertionError("unreachable")


def _undone(signing: Signing) -> Response:
    """The signature surely did not reach the record: say so, and let it be given again at once."""
    parts().operations.reopen(signing.person.sub, signing.operation.id)
    audit.note("consent.sign", "not-sent", kind="consent", id_=signing.form.id)
    return _show(signing, Step.NAME, status=503, is_undone=True)


def _done(signing: Signing) -> Response:
    parts().operations.finish(signing.person.sub, signing.operation.id)
    audit.note("consent.sign", "done", kind="consent", id_=signing.form.id)
    return _to_receipt(signing.form)


def _look(care: Care, signing: Signing) -> Response:
    """No answer came: what does the clinic's record say now?"""
    try:
        form: ConsentForm | None = get_consent(care, signing.form.id)
    except (Unavailable, BadResponse):
        form = None
    if form and signed_by(form, signing.person.sub, signing.role):
        return _done(signing)
    return _unconfirmed(signing, form, status=503)


def _refused(care: Care, signing: Signing, code: str) -> Response:
    form = get_consent(care, signing.form.id)
    if open_role(form, signing.person) is None or code != "ContentChanged":
        return _nothing_to_sign(form, signing.person, code=code)
    return redirect_to(url_for("consents.signing.show", consent_id=form.id))


def _under_way(signing: Signing) -> Response:
    """Another post of the same signing came first: go where it ends."""
    operation = settled(signing.person, signing.operation)
    if operation.state is State.DONE:
        return _to_receipt(signing.form)
    if operation.state is State.OPEN:
        return redirect_to(url_for("consents.signing.show", consent_id=signing.form.id))
    return _unconfirmed(signing, signing.form, status=200 if request.method == "GET" else 202)


# ── the pages ───────────────────────────────────────────────────────────────────────────────────────────


def _go(signing: Signing) -> Response:
    return redirect_to(url_for("consents.signing.step", consent_id=signing.form.id, step=signing.current))


def _show(
    signing: Signing,
    step: Step,
    *,
    status: int = 200,
    is_refused: bool = False,
    is_stale: bool = False,
    is_undone: bool = False,
) -> Response:
    is_confirming = step is Step.NAME and not is_fresh(signing.person)
    return render(
        f"consents/sign/{'confirm' if is_confirming else step}.html",
        status=status,
        signing=signing,
        form=signing.form,
        step_number=signing.steps.index(step) + 1,
        expected=expected_name(signing.form, signing.person, signing.role),
        is_refused=is_refused,
        is_stale=is_stale,
        is_undone=is_undone,
    )


def _fresh_sign_in(signing: Signing) -> Response:
    step = url_for("consents.signing.step", consent_id=signing.form.id, step=Step.NAME)
    return to_sign_in(next_path=step, fresh=True)


def _nothing_to_sign(form: ConsentForm, person: Person, *, code: str | None = None) -> Response:
    """The receipt, if the person has signed; else the form again, with the reason why it can't be signed."""
    if signed_by(form, person.sub):
        return _to_receipt(form)
    audit.note("consent.sign", "refused", kind="consent", id_=form.id)
    return render(
        "consents/show.html",
        status=403,
        form=form,
        standing=standing(form, person),
        refusal=said(code) if code else why_not_sign(form, person),
    )


def _unconfirmed(signing: Signing, record: ConsentForm | None, *, status: int) -> Response:
    """Say honestly that the answer is missing, and what the clinic's record (None: can't be read) says now."""
    return render(
        "consents/sign/unconfirmed.html", status=status, signing=signing, form=signing.form, record=record
    )


def _to_receipt(form: ConsentForm) -> Response:
    return redirect_to(url_for("consents.receipt", consent_id=form.id))
