"""Signing a consent form: read, acknowledge each statement, sign in again, check and type the name, confirm with a passkey.

Every step is a POST form below `/consents/<id>/sign`, without htmx. Staff sign many forms in a row, so their steps are on
one page, below the form. The state is a `Signing` (portal.views.consents.signing), and an operation signs only once
(portal.web.act_once). Missing or mistyped input is answered with a redirect to the step, which keeps the input, so that
Back never asks to resubmit a form.
"""

from __future__ import annotations

from flask import Blueprint, Response, g, request, url_for
from werkzeug.datastructures import MultiDict

from portal.i18n.gettext import _
from portal.parse import line
from portal.services.consents.forms import ConsentForm
from portal.services.rules.signing import listed_role
from portal.views.consents import sign_pages
from portal.views.consents.passkey import confirm as confirm_with_passkey
from portal.views.consents.queue import to_receipt
from portal.views.consents.sign_pages import show_step, step_address
from portal.views.consents.signature import (
    Incomplete,
    SignInNeeded,
    open_signing,
    require_complete,
    sign_once,
)
from portal.views.consents.signing import Signing, Step, is_begun
from portal.web import opened_forms, unsent
from portal.web.handlers import Care, Person, Side, audit, redirect_to, signed_in

bp = Blueprint("sign", __name__)
sign_pages.register(bp)

_LONGEST_NAME = 200


@bp.get("/<record:consent_id>/sign")
@bp.get("/<record:consent_id>/sign/<any(read, statements, name):step>", endpoint="step")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, consent_id: str, step: str = "") -> Response:
    """Show the next step, or an earlier one to review."""
    signing = open_signing(care, person, consent_id, None)
    audit.shown("consent.read", "consent", signing.form.id)
    opened_forms.note(person, signing.form)
    signing = _restore_unsent(signing)
    wanted = Step(step) if step else signing.step
    shown = min(wanted, signing.step, key=list(Step).index)
    shown = shown if shown in signing.steps else Step.READ
    is_refused = request.args.get("refused") == "1" and _is_wanting(signing, shown)
    is_resumed = not step and shown is not Step.READ
    return show_step(care, signing, shown, is_refused=is_refused, is_resumed=is_resumed)


@bp.app_template_filter("sign_label")
def sign_label(form: ConsentForm, person: Person) -> str:
    """The label of the link to the steps: whether a patient goes on with what they began."""
    role = listed_role(form, person) if person.is_patient else None
    return _("Go on signing") if role and is_begun(form, person, role) else _("Read and sign")


@bp.post("/<record:consent_id>/sign/read")
@signed_in(Side.PATIENT, Side.STAFF)
@unsent.typed_text("reading_mode")
def read(care: Care, person: Person, consent_id: str) -> Response:
    """Record that the person has read the form, and how if its text isn't in the language of the screen."""
    signing = open_signing(care, person, consent_id, _mark()).read(request.form.get("reading_mode", ""))
    if not signing.progress.has_read:
        raise Incomplete(signing, Step.READ)
    return _go_on(signing)


@bp.post("/<record:consent_id>/sign/statements")
@signed_in(Side.PATIENT, Side.STAFF)
@unsent.typed_text("statement")
def statements(care: Care, person: Person, consent_id: str) -> Response:
    """Record the acknowledged statements or the declared sentence; all are required."""
    signing = _keep_statements(open_signing(care, person, consent_id, _mark()), request.form)
    if signing.step is Step.STATEMENTS:
        raise Incomplete(signing, Step.STATEMENTS)
    return _go_on(signing)


@bp.post("/<record:consent_id>/sign/confirm")
@signed_in(Side.PATIENT, Side.STAFF)
def confirm(care: Care, person: Person, consent_id: str) -> Response:
    """Ask for a fresh sign-in that returns to this step."""
    return _go_on(open_signing(care, person, consent_id, _mark()))


@bp.post("/<record:consent_id>/sign/name")
@signed_in(Side.PATIENT, Side.STAFF)
@unsent.typed_text("signature", "statement", "reading_mode")
def sign(care: Care, person: Person, consent_id: str) -> Response:
    """Sign with the typed name, once; staff declare their sentence with the same form, and may go on to the next one."""
    signing = _keep_last(open_signing(care, person, consent_id, _mark()), request.form)
    require_complete(signing)
    signing = confirm_with_passkey(signing, request.form.get("credential", ""))
    sign_once(care, signing)
    return to_receipt(signing.form, opens_next="open-next" in request.form)


def _mark() -> str:
    """The submitted page's mark."""
    return request.form.get("operation", "")


def _keep_declaration(signing: Signing, form: MultiDict[str, str]) -> Signing:
    """A copy with the input of staff's page: read, and declared or not."""
    if signing.declaration is None:
        return signing
    declared = signing.declaration.is_among(form.getlist("statement"), g.tenant.languages)
    if declared and declared != signing.progress.declared:
        audit.assure()
        audit.note("consent.declare", "done", id_=signing.form.id, declared=declared)
    return signing.read(form.get("reading_mode", "")).enter(declared=declared)


def _keep_statements(signing: Signing, form: MultiDict[str, str]) -> Signing:
    if signing.declaration:
        return _keep_declaration(signing, form)
    ticked = form.getlist("statement")
    return signing.enter(acknowledged=tuple(box for box, _s in signing.progress.boxes if box in ticked))


def _keep_last(signing: Signing, form: MultiDict[str, str]) -> Signing:
    """A copy with the input of the last step, or of staff's page, and how the person has signed in."""
    typed, person = line(form.get("signature"), longest=_LONGEST_NAME), signing.person
    return _keep_declaration(signing, form).enter(typed=typed, acr=person.acr, amr=person.amr)


def _restore_unsent(signing: Signing) -> Signing:
    """A copy with unsent input from a session that ended, given for the text as it is now.

    What stands on the page as a field is shown there, and counts once it is sent.
    """

    def given_to(action: str) -> MultiDict[str, str] | None:
        address = url_for(action, consent_id=signing.form.id)
        return unsent.restored_form(address, typed_for=signing.progress.content_hash)

    if not signing.declaration and (given := given_to(".statements")):
        signing = _keep_statements(signing, given)
    if not signing.progress.has_read and (given := given_to(".read")):
        signing = signing.showing(reading_mode=given.get("reading_mode", ""))
    if given := given_to(".sign"):
        signing = signing.showing(typed=line(given.get("signature"), longest=_LONGEST_NAME))
        if signing.declaration:
            declared = signing.declaration.is_among(given.getlist("statement"), g.tenant.languages)
            signing = signing.showing(declared=declared, reading_mode=given.get("reading_mode", ""))
    return signing


def _go_on(signing: Signing) -> Response:
    """To the next step; to the last one through a fresh sign-in if the current one is too old."""
    if signing.step is Step.NAME and not signing.is_fresh:
        raise SignInNeeded(signing)
    return redirect_to(step_address(signing.form.id, signing.step))


def _is_wanting(signing: Signing, step: Step) -> bool:
    """Whether this step's input is still incomplete, as the address may be outdated."""
    return signing.step is step if step is not Step.NAME else not signing.is_name_right
