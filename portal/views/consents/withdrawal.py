"""The end of a form by one person: what was typed, kept in an operation, and sent once.

What is raised in place of a withdrawal has a page of its own (portal.views.consents.revoke).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from flask import g
from msgspec.structs import replace

from portal.context import context
from portal.i18n.gettext import _
from portal.i18n.locale import speaking
from portal.parse import calendar_date, line, paragraphs, time_of_day
from portal.services.client import Care
from portal.services.consents import WithdrawalNotice, get_consent, revoke_consent
from portal.services.consents.forms import ConsentForm, Signer, SignerRole, ToldBy
from portal.services.errors import Conflict, Invalid, Refused, Unavailable
from portal.services.rules.ending import Ending
from portal.services.rules.signing import same_name
from portal.state.operations import Operation, State
from portal.state.session_records import Person
from portal.values import Value
from portal.web.act_once import Attempt, Reopened, Unconfirmed, act_once, begin, is_lost
from portal.web.filters import now
from portal.web.locale_selector import language_of

LONGEST_REASON = 2000
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
        on, at = calendar_date(self.told_on), time_of_day(self.told_time)
        return datetime.combine(on, at.replace(tzinfo=None), g.tenant.time_zone) if on and at else None


class Withdrawal(Value, frozen=True):
    """One person's end of a form; `was_lost`: it was sent before without a response."""

    care: Care
    form: ConsentForm
    person: Person
    operation: Operation
    given: Given
    was_lost: bool
    ending: Ending

    @property
    def event(self) -> str:
        return EVENTS[self.ending]

    @property
    def attempt(self) -> Attempt:
        return Attempt(
            self.person.sub, self.operation, (self.form.concurrency_stamp, *asdict(self.given).values())
        )

    @property
    def told(self) -> WithdrawalNotice | None:
        """What staff record of how they were told; None unless they do, without faults."""
        at = self.given.told_at
        if self.ending is not Ending.RECORD or at is None:
            return None
        return WithdrawalNotice(on_behalf_of=self.given.who, at=at, by=ToldBy(self.given.told_by))

    def keep(self, given: Given) -> Withdrawal:
        """A copy with what was typed, saved in the operation."""
        context().operations.keep(self.person.sub, self.operation.id, asdict(given))
        return replace(self, given=given)

    def faults(self) -> dict[str, str]:
        """The errors by field, in the order of the page."""
        found = _faults_of_told(self.form, self.given) if self.ending is Ending.RECORD else {}
        if len(self.given.reason) > LONGEST_REASON:
            found["reason"] = _(
                "Write a shorter reason, at most %(longest)s characters.", longest=LONGEST_REASON
            )
        return found


EVENTS = {
    Ending.WITHDRAW: "consent.revoke",
    Ending.DECLINE: "consent.decline",
    Ending.RECORD: "consent.record-withdrawal",
    Ending.CANCEL: "consent.cancel",
}


def _faults_of_told(form: ConsentForm, given: Given) -> dict[str, str]:
    found: dict[str, str] = {}
    signer = next(
        (signer for signer in form.patients_side if signer.person_id == given.who and given.who), None
    )
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
    name = name_on(form, signer) if signer else ""
    if name and not same_name(given.name, name):
        found["name"] = _("Type the name as it is on the form: %(name)s", name=name)
    return found


def name_on(form: ConsentForm, signer: Signer) -> str:
    """The signer's name as the form has it; empty if it names nobody."""
    signature = form.signature_for(signer)
    of_patient = form.patient_name if signer.role == SignerRole.PATIENT else ""
    return signer.name or (signature.name if signature else "") or of_patient


@dataclass(eq=False)
class NotWithdrawn(Exception):
    """The withdrawal certainly didn't arrive."""

    withdrawal: Withdrawal


@dataclass(eq=False)
class WithdrawalRefused(Exception):
    withdrawal: Withdrawal
    reason: Invalid | Refused | Conflict


@dataclass(eq=False)
class WithdrawalUnconfirmed(Exception):
    """It was sent, and nothing says whether it arrived; `is_readable`: the record doesn't show it."""

    withdrawal: Withdrawal
    is_readable: bool
    status: int


def resume(care: Care, form: ConsentForm, person: Person, ending: Ending) -> Withdrawal:
    """Start or resume this person's end of the form, just read; it may already be sent or done."""
    purpose = f"revoke:{form.id}"
    operation, was_lost = begin(person.sub, purpose, keeps_receipt=True)
    if operation.state is State.DONE and is_lost(operation):  # the record no longer shows it
        operation = context().operations.begin(person.sub, purpose)
    return Withdrawal(care, form, person, operation, Given.of(operation.data), was_lost, ending)


def withdraw_once(withdrawal: Withdrawal) -> None:
    """End the form, unless an earlier post did or didn't. Raises the errors of this module."""
    form, given = withdrawal.form, withdrawal.given
    without_reason = _no_reason(form)
    try:
        act_once(
            withdrawal.attempt,
            lambda key: revoke_consent(
                withdrawal.care,
                form.id,
                reason=given.reason,
                without_reason=without_reason,
                stamp=form.concurrency_stamp,
                told=withdrawal.told,
                operation=key,
            ),
            shows=lambda form: form.is_revoked,
            look=lambda: get_consent(withdrawal.care, form.id),
            event=withdrawal.event,
            id_=form.id,
            limit=context().settings.limit_signing,
        )
    except Reopened:
        return
    except Unconfirmed as error:
        raise WithdrawalUnconfirmed(withdrawal, error.is_readable, error.status) from error
    except Unavailable as error:
        raise NotWithdrawn(withdrawal) from error
    except (Invalid, Refused, Conflict) as error:
        raise WithdrawalRefused(withdrawal, error) from error


def _no_reason(form: ConsentForm) -> str:
    """What is sent to an API that demands a reason: in the form's language, else the clinic's first."""
    with speaking(language_of(form.language)):
        return _("No reason given")
