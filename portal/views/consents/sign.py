"""Signing a consent form: read, acknowledge each statement, sign in again, check and type the name.

Every step is a POST form below `/consents/<id>/sign`, without htmx. Staff sign many forms in a row, so their steps are on
one page, below the form. The state is a `Signing` (portal.views.consents.signing), and an operation signs only once
(portal.web.act_once). Missing or mistyped input is answered with a redirect to the step, which keeps the input, so that
Back never asks to resubmit a form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from flask import Blueprint, Response, g, request, url_for
from werkzeug.datastructures import MultiDict

from portal.config.tenants import Side
from portal.context import context
from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.parse import line
from portal.services.client import Care
from portal.services.consents import get_consent
from portal.services.errors import Conflict, Refused, Unavailable
from portal.services.records.consents import ConsentForm
from portal.services.rules.signing import has_signed, open_role
from portal.state.operations import State
from portal.state.session_records import Person
from portal.views.consents.declarations import Declaration
from portal.views.consents.eligibility import why_not_sign
from portal.views.consents.embryos import embryo_names
from portal.views.consents.missing import unseen_words
from portal.views.consents.queue import place_in_list, with_queue
from portal.views.consents.show import show_refusal
from portal.views.consents.signing import Signing, Step, resume
from portal.views.consents.worklist import Place
from portal.web import audit, unsent
from portal.web.act_once import Reopened, Unconfirmed, act_once
from portal.web.guard import signed_in, to_sign_in
from portal.web.htmx import redirect_to, render
from portal.web.pages import Page
from portal.web.refusals import refusal_message

bp = Blueprint("sign", __name__)

P = ParamSpec("P")

_LONGEST_NAME = 200


class StepPage(Page):
    """A step; `is_stale` says that the submitted page was from another visit."""

    signing: Signing
    form: ConsentForm
    step_number: int
    is_stale: bool


class ReadPage(StepPage, template="consents/sign/read.html"):
    """The form to read, with what has changed since it was shown."""

    embryos: list[str]
    is_refused: bool


class StatementsPage(StepPage, template="consents/sign/statements.html"):
    """The statements to acknowledge."""

    is_refused: bool


class CountersignPage(Page, template="consents/sign/countersign.html"):
    """The single page for staff: the form to read, the sentence to declare, the name to type.

    `mark` is the checkbox's value; `faults` are errors by field; `is_stale` says that the submitted page was from another
    visit, `is_undone` that a signature certainly didn't arrive. `unseen` tells a witness who hasn't signed yet.
    """

    signing: Signing
    form: ConsentForm
    embryos: list[str]
    declaration: Declaration
    mark: str
    faults: list[tuple[str, str]]
    unseen: str
    is_stale: bool
    is_undone: bool
    place: Place | None


class ConfirmPage(StepPage, template="consents/sign/confirm.html"):
    """The last step, if a fresh sign-in is needed."""


class NamePage(StepPage, template="consents/sign/name.html"):
    """The last step: what will be signed, and the name; `is_undone`: a signature certainly didn't arrive."""

    embryos: list[str]
    is_refused: bool
    is_undone: bool


class UnconfirmedPage(Page, template="consents/sign/unconfirmed.html"):
    """The response was lost; `is_readable` says that the record was read and doesn't show the signature.

    `again` is the address to check again, in the same list.
    """

    signing: Signing
    form: ConsentForm
    is_readable: bool
    again: str


def signing_step(
    step: Callable[Concatenate[Signing, P], Response],
) -> Callable[Concatenate[Care, Person, str, P], Response]:
    """Pass the step its open signing, or respond in its place.

    That is if the person has signed or can't sign, if another submission is being sent, or if the submitted page is from
    another visit or shows another text.
    """

    @wraps(step)
    def resolved(care: Care, person: Person, consent_id: str, *args: P.args, **kwargs: P.kwargs) -> Response:
        form = get_consent(care, consent_id)
        role = open_role(form, person)
        if role is None:
            return _cannot_sign(care, form, person, why_not_sign(form, person))
        signing = resume(care, form, person, role)
        is_post = request.method == "POST"
        if signing.operation.state is State.DONE:
            return _to_receipt(form)
        if signing.operation.state is not State.OPEN:
            return _unconfirmed(signing, is_readable=True, status=202 if is_post else 200)
        if is_post and request.form.get("operation") != signing.mark:
            return _show(signing, Step.READ, status=409, is_stale=not signing.changes)
        return step(signing, *args, **kwargs)

    return resolved


@bp.get("/<record:consent_id>/sign")
@bp.get("/<record:consent_id>/sign/<any(read, statements, name):step>", endpoint="step")
@signed_in(Side.PATIENT, Side.STAFF)
@signing_step
def show(signing: Signing, step: str = "") -> Response:
    """Show the next step, or an earlier one to review."""
    audit.note("consent.read", "done", kind="consent", id_=signing.form.id)
    signing = _restore_unsent(signing)
    wanted = Step(step) if step else signing.step
    shown = min(wanted, signing.step, key=list(Step).index)
    return _show(signing, shown, is_refused="refused" in request.args and _is_wanting(signing, shown))


@bp.post("/<record:consent_id>/sign/read")
@signed_in(Side.PATIENT, Side.STAFF)
@unsent.typed_text("reading_mode")
@signing_step
def read(signing: Signing) -> Response:
    """Record that the person has read the form, and how if its text isn't in the language of the screen."""
    signing = signing.read(request.form.get("reading_mode", ""))
    return _go_on(signing) if signing.progress.has_read else _once_more(signing, Step.READ)


@bp.post("/<record:consent_id>/sign/statements")
@signed_in(Side.PATIENT, Side.STAFF)
@unsent.typed_text("statement")
@signing_step
def statements(signing: Signing) -> Response:
    """Record the acknowledged statements or the declared sentence; all are required."""
    signing = _keep_statements(signing, request.form)
    if signing.step is Step.STATEMENTS:
        return _once_more(signing, Step.STATEMENTS)
    return _go_on(signing)


@bp.post("/<record:consent_id>/sign/confirm")
@signed_in(Side.PATIENT, Side.STAFF)
@signing_step
def confirm(signing: Signing) -> Response:
    """Ask for a fresh sign-in that returns to this step."""
    return _go_on(signing)


@bp.post("/<record:consent_id>/sign/name")
@signed_in(Side.PATIENT, Side.STAFF)
@unsent.typed_text("signature", "statement", "reading_mode")
@signing_step
def sign(signing: Signing) -> Response:
    """Sign with the typed name, once; staff declare their sentence with the same form."""
    signing = _keep_name(_keep_declaration(signing, request.form), request.form)
    if signing.step is not Step.NAME:
        return _once_more(signing, signing.step)
    if not signing.is_fresh:
        return _fresh_sign_in(signing)
    if not signing.is_name_right:
        return _once_more(signing, Step.NAME)
    try:
        act_once(
            signing.attempt,
            lambda _key: signing.send(),
            shows=signing.is_shown_by,
            look=signing.read_if_signed,
            event="consent.sign",
            kind="consent",
            id_=signing.form.id,
            limit=context().settings.limit_signing,
        )
    except (Reopened, Conflict):
        return _to_steps(signing)
    except Unconfirmed as error:
        return _unconfirmed(signing, is_readable=error.is_readable, status=error.status)
    except Unavailable:
        return _show(signing, Step.NAME, status=503, is_undone=True)
    except Refused as error:
        return _refused(signing, error.code)
    return _to_receipt(signing.form)


def _refused(signing: Signing, code: str) -> Response:
    form = get_consent(signing.care, signing.form.id)
    if code == "ContentChanged" and open_role(form, signing.person):
        return _to_steps(signing)
    return _cannot_sign(signing.care, form, signing.person, refusal_message(code))


def _keep_declaration(signing: Signing, form: MultiDict[str, str]) -> Signing:
    """A copy with the input of staff's page: read, and declared or not."""
    if signing.declaration is None:
        return signing
    declared = signing.declaration.is_among(form.getlist("statement"), g.tenant.languages)
    if declared and declared != signing.progress.declared:
        audit.assure()
        audit.note("consent.declare", "done", kind="consent", id_=signing.form.id, declared=declared)
    return signing.read(form.get("reading_mode", "")).keep(declared=declared)


def _keep_statements(signing: Signing, form: MultiDict[str, str]) -> Signing:
    if signing.declaration:
        return _keep_declaration(signing, form)
    ids = {statement.id for statement in signing.form.statements or ()}
    ticked = tuple(id_ for id_ in dict.fromkeys(form.getlist("statement")) if id_ in ids)
    return signing.keep(acknowledged=ticked)


def _keep_name(signing: Signing, form: MultiDict[str, str]) -> Signing:
    return signing.keep(typed=line(form.get("signature"), longest=_LONGEST_NAME))


def _restore_unsent(signing: Signing) -> Signing:
    """A copy with unsent input from a session that ended."""
    if given := unsent.restored_form(url_for(".read", consent_id=signing.form.id)):
        signing = signing.keep(reading_mode=given.get("reading_mode", ""))
    if given := unsent.restored_form(url_for(".statements", consent_id=signing.form.id)):
        signing = _keep_statements(signing, given)
    if given := unsent.restored_form(url_for(".sign", consent_id=signing.form.id)):
        signing = _keep_name(_keep_declaration(signing, given), given)
    return signing


# ── redirects ──────────────────────────────────────────────────────────────────────────────────


def _go_on(signing: Signing) -> Response:
    """To the next step; to the last one through a fresh sign-in if the current one is too old."""
    if signing.step is Step.NAME and not signing.is_fresh:
        return _fresh_sign_in(signing)
    return redirect_to(_address(signing, signing.step))


def _once_more(signing: Signing, step: Step) -> Response:
    """To the same step, because something is missing."""
    return redirect_to(_address(signing, step, is_refused=True))


def _to_steps(signing: Signing) -> Response:
    return redirect_to(with_queue(url_for("consents.sign.show", consent_id=signing.form.id)))


def _address(signing: Signing, step: Step, *, is_refused: bool = False) -> str:
    address = url_for("consents.sign.step", consent_id=signing.form.id, step=step)
    return with_queue(f"{address}?refused=1" if is_refused else address)


def _is_wanting(signing: Signing, step: Step) -> bool:
    """Whether this step's input is still incomplete, as the address may be outdated."""
    return signing.step is step if step is not Step.NAME else not signing.is_name_right


def _show(
    signing: Signing,
    step: Step,
    *,
    status: int = 200,
    is_refused: bool = False,
    is_stale: bool = False,
    is_undone: bool = False,
) -> Response:
    if signing.declaration:
        page = _countersign_page(signing, is_refused=is_refused, is_stale=is_stale, is_undone=is_undone)
        return render(page, status=status)
    form, number = signing.form, signing.steps.index(step) + 1
    match step:
        case Step.READ:
            page = ReadPage(
                signing=signing,
                form=form,
                step_number=number,
                is_stale=is_stale,
                is_refused=is_refused and signing.asks_reading_mode,
                embryos=embryo_names(signing.care, form),
            )
        case Step.STATEMENTS:
            page = StatementsPage(
                signing=signing, form=form, step_number=number, is_stale=is_stale, is_refused=is_refused
            )
        case Step.NAME if not signing.is_fresh:
            page = ConfirmPage(signing=signing, form=form, step_number=number, is_stale=is_stale)
        case Step.NAME:
            page = NamePage(
                signing=signing,
                form=form,
                step_number=number,
                is_stale=is_stale,
                is_refused=is_refused,
                is_undone=is_undone,
                embryos=embryo_names(signing.care, form),
            )
    return render(page, status=status)


def _countersign_page(
    signing: Signing, *, is_refused: bool, is_stale: bool, is_undone: bool
) -> CountersignPage:
    declaration = signing.declaration
    assert declaration
    faults: list[tuple[str, str]] = []
    if is_refused and signing.asks_reading_mode and not signing.progress.reading_mode:
        faults.append(("reading-mode", _("Choose how you read the form.")))
    if is_refused and not signing.progress.declared:
        faults.append(("declaration", _("Tick this to go on. If it isn’t true, leave the form unsigned.")))
    if is_refused and not signing.is_name_right:
        name = _("Type your name as it appears on the form: %(name)s", name=signing.expected_name)
        faults.append(("signature", name))
    return CountersignPage(
        signing=signing,
        form=signing.form,
        embryos=embryo_names(signing.care, signing.form),
        declaration=declaration,
        mark=declaration.shown_in(language()),
        faults=faults,
        unseen=unseen_words(signing.form, signing.role),
        is_stale=is_stale,
        is_undone=is_undone,
        place=place_in_list(signing.care, signing.person, signing.form),
    )


def _fresh_sign_in(signing: Signing) -> Response:
    return to_sign_in(next_path=_address(signing, Step.NAME), fresh=True)


def _cannot_sign(care: Care, form: ConsentForm, person: Person, refusal: str) -> Response:
    """The receipt if the person has signed; else the form with the reason why it can't be signed."""
    if has_signed(form, person):
        return _to_receipt(form)
    audit.note("consent.sign", "refused", kind="consent", id_=form.id)
    return show_refusal(care, form, person, refusal)


def _unconfirmed(signing: Signing, *, is_readable: bool, status: int) -> Response:
    """Say that the response is missing, and what the clinic's record shows now."""
    again = with_queue(url_for("consents.sign.show", consent_id=signing.form.id))
    page = UnconfirmedPage(signing=signing, form=signing.form, is_readable=is_readable, again=again)
    return render(page, status=status)


def _to_receipt(form: ConsentForm) -> Response:
    return redirect_to(with_queue(url_for("consents.receipt", consent_id=form.id)))
