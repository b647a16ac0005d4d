"""Ending a form: consequences, reason, fresh sign-in; done once.

Signers withdraw or, before signing, decline; staff record that a signer did, or cancel a form that nobody of the patient's
side has signed. All are the same act in the care API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import wraps

from flask import Blueprint, Response, g, request, url_for

from portal.config.tenants import Side
from portal.context import context
from portal.i18n.gettext import _, catalogue_of
from portal.parse import calendar_date, line, paragraphs, time_of_day
from portal.services import errors
from portal.services.client import Care
from portal.services.consents import Told, get_consent, revoke_consent
from portal.services.consents.forms import ConsentForm, ToldBy
from portal.services.rules.ending import Ending, ending_of
from portal.services.rules.signing import same_name
from portal.state.operations import Operation, State
from portal.state.session_records import Person
from portal.views.consents.eligibility import why_not_revoke
from portal.views.consents.ending import told_words
from portal.views.consents.labels import signer_name
from portal.views.consents.queue import place_in_list, with_queue
from portal.views.consents.show import show_refusal
from portal.views.consents.worklist import Place
from portal.web import audit, unsent
from portal.web.act_once import Attempt, Reopened, Unconfirmed, act_once, begin, is_lost
from portal.web.filters import now
from portal.web.guard import is_fresh, signed_in, to_sign_in
from portal.web.htmx import redirect_to, render
from portal.web.pages import Page
from portal.web.refusals import refusal_message

bp = Blueprint("revoke", __name__)

_LONGEST_REASON = 2000
_LONGEST_TYPED = 1_000_000
_LONGEST_FIELD = 300


@dataclass(frozen=True, slots=True)
class Given:
    """What was typed: the reason and, to record a withdrawal, who told when (clinic time) and how, and their name."""

    reason: str = ""
    who: str = ""
    told_on: str = ""
    told_time: str = ""
    told_by: str = ""
    name: str = ""

    @classmethod
    def of(cls, fields: Mapping[str, object]) -> Given:
        """From submitted or kept fields; a reason that is too long is kept in full, to be shown again."""
        typed = {name: str(fields.get(name) or "") for name in cls.__slots__}
        reason = paragraphs(typed.pop("reason"), longest=_LONGEST_TYPED)
        return cls(reason, **{name: line(text, longest=_LONGEST_FIELD) for name, text in typed.items()})

    @property
    def told_at(self) -> datetime | None:
        """When the clinic was told."""
        on, at = calendar_date(self.told_on), time_of_day(self.told_time)
        return datetime.combine(on, at.replace(tzinfo=None), g.tenant.time_zone) if on and at else None


class ReasonPage(Page, template="consents/revoke.html", about="form", is_pinned=True):
    """The confirmation page; `note` is why it is shown again: stale, refused, changed, undone, unconfirmed, or "".

    `signers` are those for whom staff can record a withdrawal, `ways` how they can have told it.
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


class RevokedPage(Page, template="consents/revoked.html", about="form"):
    """The form has ended; `by` is the signer who withdrew or declined it, if it was one of them."""

    form: ConsentForm
    by: str | None
    is_mine: bool
    place: Place | None


class UnconfirmedPage(Page, template="consents/revoke_unconfirmed.html", about="form"):
    """The response was lost; `is_readable` says that the record was read and doesn't show the withdrawal."""

    form: ConsentForm
    is_readable: bool
    is_declining: bool


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """One person's end of a form; `was_lost`: it was sent before without a response."""

    care: Care
    form: ConsentForm
    person: Person
    operation: Operation
    given: Given
    was_lost: bool
    ending: Ending

    @property
    def is_declining(self) -> bool:
        """Whether the person is a signer of the patient's side who hasn't signed."""
        return self.ending is Ending.DECLINE

    @property
    def event(self) -> str:
        """The audit event."""
        return _EVENTS[self.ending]

    @property
    def attempt(self) -> Attempt:
        """The withdrawal as it is sent."""
        return Attempt(
            self.person.sub, self.operation, (self.form.concurrency_stamp, *asdict(self.given).values())
        )

    @property
    def told(self) -> Told | None:
        """What staff record of how they were told; None unless they do, without faults."""
        at = self.given.told_at
        if self.ending is not Ending.RECORD or at is None:
            return None
        return Told(on_behalf_of=self.given.who, at=at, by=ToldBy(self.given.told_by))

    def keep(self, given: Given) -> Withdrawal:
        """A copy with what was typed, saved in the operation."""
        context().operations.keep(self.person.sub, self.operation.id, asdict(given))
        return replace(self, given=given)

    def faults(self) -> dict[str, str]:
        """The errors by field, in the order of the page."""
        found = _faults_of_told(self.form, self.given) if self.ending is Ending.RECORD else {}
        if len(self.given.reason) > _LONGEST_REASON:
            found["reason"] = _(
                "Write a shorter reason, at most %(longest)s characters.", longest=_LONGEST_REASON
            )
        return found


_EVENTS = {
    Ending.WITHDRAW: "consent.revoke",
    Ending.DECLINE: "consent.decline",
    Ending.RECORD: "consent.record-withdrawal",
    Ending.CANCEL: "consent.cancel",
}


def _faults_of_told(form: ConsentForm, given: Given) -> dict[str, str]:
    found: dict[str, str] = {}
    signer = next((one for one in form.patients_side if one.person_id == given.who and given.who), None)
    if signer is None:
        found["who"] = _("Choose who withdrew")
    if calendar_date(given.told_on) is None:
        found["told_on"] = _("Give the day when you were told")
    elif time_of_day(given.told_time) is None:
        found["told_time"] = _("Give the time when you were told, such as 14:30")
    elif given.told_at and given.told_at > now():
        found["told_on"] = _("That is in the future; give when you were told")
    if given.told_by not in list(ToldBy):
        found["told_by"] = _("Choose how you were told")
    if signer and not same_name(given.name, signer.name):
        found["name"] = _("Type the name as it is on the form: %(name)s", name=signer.name)
    return found


def withdrawal_step(
    step: Callable[[Withdrawal], Response],
) -> Callable[[Care, Person, str], Response]:
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
            audit.note(_EVENTS[ending or Ending.WITHDRAW], "refused", kind="consent", id_=form.id)
            return show_refusal(care, form, person, refusal or refusal_message("WithdrawalNotYours"))
        withdrawal = _resume(care, form, person, ending)
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
    try:
        act_once(
            withdrawal.attempt,
            lambda key: revoke_consent(
                withdrawal.care,
                form.id,
                reason=withdrawal.given.reason,
                without_reason=_no_reason(form),
                stamp=form.concurrency_stamp,
                told=withdrawal.told,
                operation=key,
            ),
            shows=lambda form: form.is_revoked,
            look=lambda: get_consent(withdrawal.care, form.id),
            event=withdrawal.event,
            kind="consent",
            id_=form.id,
            limit=context().settings.limit_signing,
        )
    except Reopened:
        return _to_page(form)
    except Unconfirmed as error:
        return _unconfirmed(withdrawal, is_readable=error.is_readable, status=error.status)
    except errors.Unavailable:
        return _ask(withdrawal, status=503, note="undone")
    except (errors.Invalid, errors.Refused, errors.Conflict) as error:
        return _refused(withdrawal, error)
    return _to_page(form)


def _no_reason(form: ConsentForm) -> str:
    """What is sent to an API that demands a reason: in the form's language, else the clinic's first."""
    said = form.language if form.language in g.tenant.languages else None
    return catalogue_of(said or g.tenant.languages[0]).gettext("No reason given")


def _resume(care: Care, form: ConsentForm, person: Person, ending: Ending) -> Withdrawal:
    purpose = f"revoke:{form.id}"
    operation, was_lost = begin(person.sub, purpose, keeps_receipt=True)
    if operation.state is State.DONE and is_lost(operation):  # the record no longer shows it
        operation = context().operations.begin(person.sub, purpose)
    return Withdrawal(care, form, person, operation, Given.of(operation.data), was_lost, ending)


def _refused(withdrawal: Withdrawal, error: errors.Invalid | errors.Refused | errors.Conflict) -> Response:
    if isinstance(error, errors.Invalid):
        return _ask(withdrawal, status=422, note="invalid")
    newest = get_consent(withdrawal.care, withdrawal.form.id)
    if newest.is_revoked:
        return _to_page(newest)
    if isinstance(error, errors.Refused):
        return show_refusal(withdrawal.care, newest, withdrawal.person, refusal_message(error.code))
    return _ask(replace(withdrawal, form=newest), status=409, note="changed")


def _ask(withdrawal: Withdrawal, *, status: int = 200, note: str = "") -> Response:
    page = ReasonPage(
        form=withdrawal.form,
        operation=withdrawal.operation,
        given=withdrawal.given,
        longest=_LONGEST_REASON,
        note=note,
        ending=withdrawal.ending,
        faults=withdrawal.faults() if note == "refused" else {},
        signers=[(one.person_id, signer_name(one)) for one in withdrawal.form.patients_side if one.person_id],
        ways=[(str(way), words) for way, words in told_words().items()],
    )
    return render(page, status=status)


def _revoked(care: Care, form: ConsentForm, person: Person) -> Response:
    by = signer_name(form.ended_by) if form.ended_by else None
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
