"""The passkeys that a patient confirms signatures with: their list, adding and removing one.

Both need a fresh sign-in, so that whoever finds an unlocked device can't make it sign for its owner.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from flask import Blueprint, Response, abort, g, request, url_for

from portal.context import context, session
from portal.i18n.gettext import _
from portal.services.rules.passkey_proof import challenge_of
from portal.signin.passkeys import PasskeyRefused, created, to_create
from portal.state.operations import Operation
from portal.state.signing_passkeys import MOST, SigningPasskey
from portal.web.act_once import begin, sent_operation
from portal.web.guard import is_fresh, to_sign_in
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast
from portal.web.passkeys import are_offered, has_passkeys, known_here, passkeys, relying_party
from portal.web.routing import RecordId

bp = Blueprint("passkeys", __name__, url_prefix="/me/passkeys")

_PURPOSE = "add a passkey"


class ListPage(Page, template="passkeys/index.html"):
    """The person's passkeys; `options` is what the browser is asked for, None unless one may be added now.

    `asks_first` says that adding or removing needs a fresh sign-in, `form_id` names the form that is being signed.
    """

    passkeys: list[SigningPasskey]
    options: str | None
    operation: str
    asks_first: bool
    is_full: bool
    is_refused: bool
    form_id: str


class RemovePage(Page, template="passkeys/remove.html"):
    passkey: SigningPasskey
    asks_first: bool


bp.add_app_template_global(has_passkeys, "has_passkeys")


@bp.app_template_filter("since_1970")
def moment_of(at: float) -> datetime:
    """A time in seconds since 1970."""
    return datetime.fromtimestamp(at, UTC)


@bp.before_request
def _only_where_offered() -> None:
    if not are_offered():
        abort(404)


@bp.get("")
@signed_in(Side.PATIENT)
def index(care: Care, person: Person) -> Response:
    """Show the passkeys, and after a fresh sign-in let the browser make one."""
    held, may_add = passkeys().of(person), is_fresh(person)
    is_full = len(held) >= MOST
    operation = _begun(person) if may_add and not is_full else None
    page = ListPage(
        passkeys=list(held),
        options=_options(person, operation) if operation else None,
        operation=operation.id if operation else "",
        asks_first=not may_add,
        is_full=is_full,
        is_refused="refused" in request.args,
        form_id=_form_id(request.args),
    )
    return render(page)


@bp.post("")
@signed_in(Side.PATIENT)
def add(care: Care, person: Person) -> Response:
    """Add the passkey that the browser made, once; without one, sign in first."""
    form_id = _form_id(request.form)
    here = url_for(".index", consent=form_id or None)
    if not is_fresh(person):
        return to_sign_in(next_path=here, fresh=True)
    try:
        _add(person, request.form.get("credential", ""))
    except PasskeyRefused as error:
        audit.note("passkey.add", "refused", reason=str(error))
        return redirect_to(url_for(".index", consent=form_id or None, refused=1))
    toast(_("Your passkey is added."))
    return redirect_to(url_for("consents.sign.show", consent_id=form_id) if form_id else url_for(".index"))


@bp.get("/<handle>/remove")
@signed_in(Side.PATIENT)
def confirm_removal(care: Care, person: Person, handle: str) -> Response:
    found = next((passkey for passkey in passkeys().of(person) if passkey.handle == handle), None)
    if found is None:
        return _is_gone()
    return render(RemovePage(passkey=found, asks_first=not is_fresh(person)))


@bp.post("/<handle>/remove")
@signed_in(Side.PATIENT)
def remove(care: Care, person: Person, handle: str) -> Response:
    """Remove one, after a fresh sign-in; what it confirmed stays confirmed."""
    if not is_fresh(person):
        return to_sign_in(next_path=url_for(".confirm_removal", handle=handle), fresh=True)
    found = next((passkey for passkey in passkeys().of(person) if passkey.handle == handle), None)
    audit.assure()
    if found is None or not passkeys().remove(person, handle):
        return _is_gone()
    audit.note("passkey.remove", "done", also={"credential": found.id})
    toast(_("The passkey is removed."))
    return redirect_to(url_for(".index"))


def _add(person: Person, credential: str) -> None:
    """Add the passkey, whose challenge counts once. Raises PasskeyRefused."""
    operation = sent_operation(person.sub, _PURPOSE)
    if operation is None or not context().operations.claim(person.sub, operation.id):
        raise PasskeyRefused("another challenge")
    context().operations.drop(person.sub, operation.id)
    audit.assure()
    record = session().record
    made = created(
        relying_party(),
        credential,
        _challenge(operation),
        device=record.device if record else "",
        now=context().clock(),
    )
    if not passkeys().add(person, made):
        raise PasskeyRefused("known already, or too many")
    audit.note("passkey.add", "done", also={"credential": made.id, "publicKey": made.public_key})


def _begun(person: Person) -> Operation:
    operation, _was_lost = begin(person.sub, _PURPOSE)
    return operation


def _options(person: Person, operation: Operation) -> str:
    return to_create(
        relying_party(),
        user=passkeys().user_handle(person),
        name=person.name,
        challenge=_challenge(operation),
        known=known_here(person),
    )


def _challenge(operation: Operation) -> bytes:
    """What only this person's browser is asked: the operation is random, and its owner's."""
    return challenge_of(f"{_PURPOSE}\0{g.tenant.key}\0{operation.id}")


def _form_id(given: Mapping[str, str]) -> str:
    """The form that is being signed; empty if none is, or what is given can't be an id."""
    id_ = given.get("consent", "")
    return id_ if re.fullmatch(RecordId.regex, id_) else ""


def _is_gone() -> Response:
    toast(_("That passkey is removed already."), tone="info")
    return redirect_to(url_for(".index"))
