"""The pages of signing: one for each step, all steps on one for staff, and one for each way in which it fails."""

from __future__ import annotations

from flask import Blueprint, Response, g, request, url_for

from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.services.consents import get_consent
from portal.services.consents.forms import ConsentForm
from portal.services.rules.signing import has_signed, open_role, same_name
from portal.signin.passkeys import PasskeyRefused
from portal.views.consents.declarations import Declaration
from portal.views.consents.eligibility import why_not_sign
from portal.views.consents.embryos import embryo_names, named, read_codes
from portal.views.consents.missing import unseen_words
from portal.views.consents.passkey import Offer, offer
from portal.views.consents.queue import Place, place_in_list, to_receipt, with_queue
from portal.views.consents.show import show_refusal
from portal.views.consents.signature import (
    CannotSign,
    HasSigned,
    Incomplete,
    NameNotTaken,
    NotSigned,
    SignatureRefused,
    SignatureUnconfirmed,
    SignInNeeded,
    StalePage,
    StartOver,
)
from portal.views.consents.signing import Signing, Step
from portal.views.consents.snapshot import Change
from portal.web.guard import to_sign_in
from portal.web.handlers import Care, Page, audit, redirect_to, render, toast
from portal.web.refusals import refusal_message

_NOT_TAKEN = "not-taken"


class StepPage(Page, about="form", is_pinned=True):
    """A step; `is_stale` says that the submitted page was from another visit, `is_resumed` that the steps go on after a break."""

    signing: Signing
    form: ConsentForm
    step_number: int
    is_stale: bool
    is_resumed: bool = False


class ReadPage(StepPage, template="consents/sign/read.html"):
    """The text to read, with `changes` since it was shown before."""

    changes: list[Change]
    embryos: list[str]
    is_refused: bool


class StatementsPage(StepPage, template="consents/sign/statements.html"):
    is_refused: bool


class CountersignPage(Page, template="consents/sign/countersign.html", about="form", is_pinned=True):
    """The single page for staff: the form to read, the sentence to declare, the name to type.

    `mark` is the checkbox's value; `faults` are errors by field; `is_stale` says that the submitted page was from another
    visit, `is_undone` that a signature certainly didn't arrive. `unseen` tells a witness who hasn't signed yet.
    """

    signing: Signing
    form: ConsentForm
    changes: list[Change]
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
    """The last step: what will be signed, and the name, with its `fault`; `is_undone`: a signature certainly didn't arrive.

    `offer` is how a passkey confirms it, if the clinic offers that; `is_passkey_refused`: it wasn't accepted.
    """

    embryos: list[str]
    fault: str
    is_undone: bool
    offer: Offer | None
    is_passkey_refused: bool


class UnconfirmedPage(Page, template="consents/sign/unconfirmed.html", about="form"):
    """The response was lost; `is_readable` says that the record was read and doesn't show the signature.

    `again` is the address to check again, in the same list.
    """

    signing: Signing
    form: ConsentForm
    is_readable: bool
    again: str


def register(bp: Blueprint) -> None:
    """Answer what is raised in place of a signature."""
    bp.register_error_handler(HasSigned, lambda error: to_receipt(error.form))
    bp.register_error_handler(CannotSign, _cannot_sign)
    bp.register_error_handler(SignatureRefused, _refused)
    bp.register_error_handler(StalePage, _stale)
    bp.register_error_handler(Incomplete, _incomplete)
    bp.register_error_handler(NameNotTaken, _not_taken)
    bp.register_error_handler(SignInNeeded, _sign_in)
    bp.register_error_handler(StartOver, _start_over)
    bp.register_error_handler(NotSigned, _not_signed)
    bp.register_error_handler(SignatureUnconfirmed, _unconfirmed)
    bp.register_error_handler(PasskeyRefused, _passkey_refused)


def _cannot_sign(error: CannotSign) -> Response:
    """What the person has signed, or the form with the reason why it can't be."""
    if has_signed(error.form, g.person):
        return to_receipt(error.form)
    audit.note("consent.sign", "refused", id_=error.form.id)
    return show_refusal(error.care, error.form, g.person, why_not_sign(error.form, g.person))


def _refused(error: SignatureRefused) -> Response:
    """What the form is now: signed, of another text, or not to be signed, for the API's reason."""
    care, signing = error.care, error.signing
    form = get_consent(care, signing.form.id)
    if error.code == "ContentChanged" and open_role(form, signing.person):
        return _to_steps(form)
    if has_signed(form, signing.person):
        return to_receipt(form)
    audit.note("consent.sign", "refused", id_=form.id)
    return show_refusal(care, form, signing.person, refusal_message(error.code))


def step_address(form_id: str, step: Step, *, refused: str = "") -> str:
    """The address of a step; `refused` says that something is missing there ("1"), or what was refused."""
    address = url_for("consents.sign.step", consent_id=form_id, step=step, refused=refused or None)
    return with_queue(address)


def _incomplete(error: Incomplete) -> Response:
    return redirect_to(step_address(error.signing.form.id, error.step, refused="1"))


def _not_taken(error: NameNotTaken) -> Response:
    """Back to the last step, which says so; everything typed is kept."""
    return redirect_to(step_address(error.signing.form.id, Step.NAME, refused=_NOT_TAKEN))


def _name_fault(signing: Signing, *, is_refused: bool) -> str:
    """What is wrong with the typed name; empty if nothing is known to be."""
    if request.args.get("refused") == _NOT_TAKEN:
        if same_name(signing.progress.typed, signing.person.name):
            return _("The clinic’s system has your name in another way. Please call the clinic.")
        return _(
            "The clinic’s system didn’t accept that name. Type this one: %(name)s", name=signing.person.name
        )
    if is_refused and not signing.is_name_right:
        return _("Type your name as it appears on the form: %(name)s", name=signing.expected_name)
    return ""


def _sign_in(error: SignInNeeded) -> Response:
    """To a fresh sign-in, which returns to the last step."""
    address = step_address(error.signing.form.id, Step.NAME)
    return to_sign_in(next_path=address, demand=error.signing.demand)


def _to_steps(form: ConsentForm) -> Response:
    return redirect_to(with_queue(url_for("consents.sign.show", consent_id=form.id)))


def _start_over(error: StartOver) -> Response:
    if error.was_changed:
        toast(
            _(
                "Your signature wasn’t recorded, because the form was changed or signed at the same moment. Please go on from here."
            ),
            tone="attention",
        )
    return _to_steps(error.form)


def _not_signed(error: NotSigned) -> Response:
    return show_step(error.care, error.signing, Step.NAME, status=503, is_undone=True)


def _stale(error: StalePage) -> Response:
    is_stale = not error.signing.changes({})
    return show_step(error.care, error.signing, Step.READ, status=409, is_stale=is_stale)


def _unconfirmed(error: SignatureUnconfirmed) -> Response:
    """Say that the response is missing, and what the clinic's record shows now."""
    form = error.signing.form
    again = with_queue(url_for("consents.sign.show", consent_id=form.id))
    page = UnconfirmedPage(signing=error.signing, form=form, is_readable=error.is_readable, again=again)
    return render(page, status=error.status)


def _passkey_refused(error: PasskeyRefused) -> Response:
    """Back to the last step, which says so; everything typed is kept."""
    consent_id = (request.view_args or {})["consent_id"]
    audit.note("consent.passkey", "refused", id_=consent_id, reason=str(error))
    return redirect_to(step_address(consent_id, Step.NAME, refused="passkey"))


def show_step(
    care: Care,
    signing: Signing,
    step: Step,
    *,
    status: int = 200,
    is_refused: bool = False,
    is_stale: bool = False,
    is_undone: bool = False,
    is_resumed: bool = False,
) -> Response:
    """Show a step; `is_refused` says that its input was incomplete, `is_resumed` that the steps go on after a break."""
    if signing.declaration:
        page = _countersign_page(care, signing, is_refused=is_refused, is_stale=is_stale, is_undone=is_undone)
        return render(page, status=status)
    form, number = signing.form, signing.steps.index(step) + 1
    match step:
        case Step.READ:
            codes = read_codes(care, form, signing.embryos_before)
            page = ReadPage(
                signing=signing,
                form=form,
                changes=signing.changes(codes),
                step_number=number,
                is_stale=is_stale,
                is_refused=is_refused and signing.asks_reading_mode,
                embryos=named(form.embryo_storage_ids or (), codes),
            )
        case Step.STATEMENTS:
            page = StatementsPage(
                signing=signing,
                form=form,
                step_number=number,
                is_stale=is_stale,
                is_resumed=is_resumed,
                is_refused=is_refused,
            )
        case Step.NAME if not signing.is_fresh:
            page = ConfirmPage(
                signing=signing, form=form, step_number=number, is_stale=is_stale, is_resumed=is_resumed
            )
        case Step.NAME:
            signing, offered = offer(signing)
            page = NamePage(
                signing=signing,
                form=form,
                step_number=number,
                is_stale=is_stale,
                is_resumed=is_resumed,
                fault=_name_fault(signing, is_refused=is_refused),
                is_undone=is_undone,
                embryos=embryo_names(care, form),
                offer=offered,
                is_passkey_refused=offered is not None and request.args.get("refused") == "passkey",
            )
    return render(page, status=status)


def _countersign_page(
    care: Care, signing: Signing, *, is_refused: bool, is_stale: bool, is_undone: bool
) -> CountersignPage:
    declaration, form = signing.declaration, signing.form
    assert declaration
    codes = read_codes(care, form, signing.embryos_before)
    faults: list[tuple[str, str]] = []
    if is_refused and signing.asks_reading_mode and not signing.progress.reading_mode:
        faults.append(("reading-mode", _("Choose how you read the form.")))
    if is_refused and not signing.progress.declared:
        faults.append(("declaration", _("Tick this to go on. If it isn’t true, leave the form unsigned.")))
    if words := _name_fault(signing, is_refused=is_refused):
        faults.append(("signature", words))
    return CountersignPage(
        signing=signing,
        form=form,
        changes=signing.changes(codes),
        embryos=named(form.embryo_storage_ids or (), codes),
        declaration=declaration,
        mark=declaration.shown_in(language()),
        faults=faults,
        unseen=unseen_words(form, signing.role),
        is_stale=is_stale,
        is_undone=is_undone,
        place=place_in_list(care, g.person, form),
    )
