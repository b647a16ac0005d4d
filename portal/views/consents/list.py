"""Lists of forms: a patient's by whose turn it is; staff's as a table whose state is in its address."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from functools import partial

from portal.i18n.gettext import _, ngettext
from portal.services.client import Care
from portal.services.consents import get_consent
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.gather import gather_all, known
from portal.services.listed import Listed
from portal.services.rules.ending import is_for_others_alone
from portal.services.rules.signing import (
    is_awaited,
    listed_gap,
    listed_role,
    missing_party,
    others_missing,
    without_account,
)
from portal.state.session_records import Person
from portal.values import Value
from portal.views.consents.labels import is_in_force_later, names_of, text_gap_words, whose
from portal.views.consents.missing import account_words, missing_words
from portal.web.filters import day, in_a_row, local, moment, today
from portal.web.labels import tone_of_days
from portal.web.listing import Listing
from portal.web.refusals import refusal_message

LISTING = Listing(
    "consents.list",
    ConsentStatus,
    orders={
        "patient": "patientName",
        "title": "title",
        "status": "status",
        "sent": "sentAt",
        "procedure": "procedureDate",
        "expires": "expiresAt",
    },
    usual="-sent",
    fixed={"list": "all"},
)
_MOST_READ = 10


class Due(Value, frozen=True):
    """When a form is needed by, in words, with its tone."""

    word: str
    tone: str


class Item(Value, frozen=True):
    """One of a patient's forms, with a line that says who it is waiting for."""

    form: ConsentForm
    line: str
    due: Due | None


class Groups(Value, frozen=True):
    """A patient's forms by whose turn it is; `drafts` haven't been sent, and only staff are told of them."""

    mine: Listed[Item]
    others: Listed[Item]
    signed: Listed[Item]
    ended: Listed[Item]
    unknown: Listed[Item]
    drafts: Listed[Item]


def group(forms: Listed[ConsentForm], person: Person) -> Groups:
    """Group a patient's forms by whose turn it is, soonest needed first.

    A form whose status isn't known may belong to any group, so that none is known to be whole.
    """
    mine: list[Item] = []
    others: list[Item] = []
    signed: list[Item] = []
    ended: list[Item] = []
    unknown: list[Item] = []
    drafts: list[Item] = []
    for form in sorted(forms, key=_urgency):
        if form.is_draft:
            drafts.append(_item(form, person))
        elif not form.status.known:
            unknown.append(_item(form, person))
        elif form.is_ended:
            ended.append(_item(form, person))
        elif form.is_signed:
            signed.append(_item(form, person))
        else:
            is_mine = listed_role(form, person) is not None
            (mine if is_mine else others).append(_item(form, person, is_mine=is_mine))
    is_whole = forms.is_whole and not unknown

    def listed(items: list[Item]) -> Listed[Item]:
        return Listed(tuple(items), is_whole)

    return Groups(
        mine=listed(mine),
        others=listed(others),
        signed=listed(signed[::-1]),
        ended=listed(ended[::-1]),
        unknown=Listed(tuple(unknown), forms.is_whole),
        drafts=listed(drafts),
    )


def with_text_in_doubt(care: Care, forms: Iterable[ConsentForm], person: Person) -> tuple[ConsentForm, ...]:
    """The forms of a list; those with a file are read individually to find out whether `person` can sign them here.

    A form that can't be read stays as listed.
    """
    listed = tuple(forms)
    doubtful = [form for form in listed if form.file_id and form.body is None and listed_role(form, person)]
    if not doubtful:
        return listed
    read = gather_all([partial(get_consent, care, form.id) for form in doubtful[:_MOST_READ]])
    whole = {form.id: form for form in map(known, read) if form}
    return tuple(whole.get(form.id, form) for form in listed)


def due(form: ConsentForm) -> Due | None:
    """When the form's signatures are needed by; None if that isn't told, or if none are missing.

    A form that can be signed only until a day before the procedure is needed by then.
    """
    if not form.is_open or form.is_signed_by_all:
        return None
    last = _last_day(form.expires_at) if form.expires_at else None
    if form.expires_at and last and (form.procedure_date is None or last < form.procedure_date):
        return Due(_sign_by(form.expires_at), tone_of_days((last - today()).days))
    if form.procedure_date is None:
        return None
    days = (form.procedure_date - today()).days
    near = {0: _("Needed today"), 1: _("Needed tomorrow")}
    word = near.get(days) or ngettext("Needed in %(num)s day", "Needed in %(num)s days", days)
    return Due(word if days >= 0 else _("Date has passed"), tone_of_days(days))


def _last_day(expires_at: datetime) -> date:
    """The last day on which a form can be signed: one that ends at midnight can be until the end of the day before."""
    return local(expires_at - timedelta(microseconds=1)).date()


def _sign_by(expires_at: datetime) -> str:
    """Until when it can be signed: the day, and the time too if more than a minute of that day is left then."""
    last = _last_day(expires_at)
    if local(expires_at + timedelta(minutes=1)).date() == last:
        return _("Sign by %(moment)s", moment=moment(expires_at))
    return _("Sign by %(day)s", day=day(last))


def _item(form: ConsentForm, person: Person, *, is_mine: bool = False) -> Item:
    return Item(form, line(form, person, is_mine=is_mine), due(form))


def _with_accounts(words: str, form: ConsentForm, person: Person) -> str:
    return in_a_row(filter(None, [words, *account_words(without_account(form, person))]), " · ")


def line(form: ConsentForm, person: Person, *, is_mine: bool) -> str:
    """What a list says of the form: whom it waits for or whose it is, and its latest event.

    `is_mine` says whether it is the reader's to sign now (`listed_role`).
    """
    if not form.is_open:
        is_anothers = person.is_staff or is_for_others_alone(form, person)
        who = whose(form) if is_anothers else ""
        return in_a_row(filter(None, [who, _history(form)]), " · ")
    if is_mine:
        later = others_missing(form, person)
        words = _("After you: %(names)s", names=names_of(later)) if later else ""
        told = _with_accounts(words, form, person)
        return told or ("" if form.lacks_signatures else _("Only your signature is missing"))
    if is_awaited(form, person):
        if obstacle := _obstacle(form):
            return obstacle
        turn = form.whose_turn()
        words = ngettext(
            "%(names)s signs first, then you",
            "%(names)s sign first, then you",
            len(turn),
            names=names_of(turn),
        )
        return _with_accounts(words, form, person)
    return in_a_row(missing_words(form, person), " · ")


def _obstacle(form: ConsentForm) -> str:
    """Why nobody can sign the form here, as far as a list shows."""
    if missing := missing_party(form):
        return refusal_message(missing)
    gap = listed_gap(form)
    return text_gap_words(gap) if gap else ""


def _history(form: ConsentForm) -> str:
    """The time of a form's latest event, as far as known."""
    if form.is_revoked and form.revoked_at:
        on = day(form.revoked_at)
        if form.is_cancelled:
            return _("Cancelled %(day)s", day=on)
        return _("Declined %(day)s", day=on) if form.declined_by else _("Withdrawn %(day)s", day=on)
    if form.is_expired and form.expires_at:
        return _("Could be signed until %(day)s", day=day(_last_day(form.expires_at)))
    if form.is_signed and form.in_force_at:
        on = day(form.in_force_at)
        if is_in_force_later(form):
            return _("In force from %(day)s", day=on)
        return _("In force since %(day)s", day=on)
    return _("Version %(version)s", version=form.version) if form.version else ""


def _urgency(form: ConsentForm) -> tuple[date, float]:
    last = _last_day(form.expires_at) if form.expires_at else date.max
    needed = min(form.procedure_date or date.max, last)
    return needed, form.sent_at.timestamp() if form.sent_at else 0.0
