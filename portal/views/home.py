"""Home: what needs attention now. For patients a task list and today's treatment, for staff their work list.

Its regions are read concurrently and fail independently; each can be reloaded separately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TypeVar

from flask import Blueprint, Response, g

from portal.config.tenants import Side
from portal.i18n.gettext import _
from portal.services import decoding
from portal.services.client import Care
from portal.services.consents import list_consents, list_open_consents, list_withdrawn
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.conversations import Conversation, list_conversations
from portal.services.episodes import Episode
from portal.services.errors import CareError
from portal.services.found_episodes import Found, mentioned, read_episodes
from portal.services.gather import attempt, gather
from portal.services.listed import Listed
from portal.services.notifications import Notification, list_notifications, unread_among
from portal.services.storage import EmbryoStorage
from portal.state.session_records import Person
from portal.views import day_sheet, help
from portal.views.consents.list import Due, Item, group, with_text_in_doubt
from portal.views.consents.worklist import Work, WorkRow, read_work, work_of
from portal.views.conversations.view import Row, waiting_row
from portal.views.episodes.lookup import remember, remembered
from portal.views.episodes.tonight import Tonight
from portal.views.episodes.view import EpisodeView
from portal.views.first_page import Duty, duties_of, regions_of
from portal.views.notifications import name_of, names_by_record
from portal.views.recent import Opened, show_recent
from portal.views.storage.first_steps import FirstStep, first_steps
from portal.views.storage.view import nearness, paid_until, renewal_window
from portal.views.waiting_conversations import Waiting, read_waiting
from portal.web import audit, bell, preferred_name
from portal.web.filters import now, today
from portal.web.guard import signed_in
from portal.web.htmx import render, target, wants
from portal.web.pages import Page
from portal.web.plan_changes import PlanNotice

T = TypeVar("T")

bp = Blueprint("home", __name__)

_MOST_EPISODES = 2
"""How many episodes home reads: the ongoing one, and one with embryos in storage."""
_NEAR_DAYS = 60
_WITHDRAWN_WEEKS = 8
"""For how long staff's home names a form that was withdrawn: about as long as a treatment is under way. The page says it."""
_MOST_OPENED = 5
_MOST_AT_WORK, _MOST_FORMS = 6, 12
"""How many messages and notifications staff's home shows, and how many forms that wait."""


@bp.get("/")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Show what needs this person's attention, most urgent first."""
    regions = _STAFF_REGIONS if person.is_staff else _PATIENT_REGIONS
    if wants(*regions):
        name = target() or ""
        return _answer(regions[name](care, person), fragment=name)
    page = _worklist(care, person) if person.is_staff else _needs(care, person)
    return _answer(page, unread=bell.count(person))


def _answer(
    page: NeedsPage | WorklistPage, *, fragment: str | tuple[str, ...] = (), unread: int | None = None
) -> Response:
    """Render the page and record only the records shown on it, which are fewer than were read."""
    for kind, ids in page.shown().items():
        audit.shown(f"{kind}.list", kind, ids)
    return render(page, fragment=fragment, bell=unread)


def _ids(
    records: Iterable[ConsentForm | Conversation | Notification] | CareError | None, most: int
) -> list[str]:
    """The ids of a region's first records; none if it couldn't be read or wasn't requested."""
    return [] if records is None or isinstance(records, CareError) else [one.id for one in records][:most]


# ── patients ────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class NearDate:
    """A date of a stored embryo that is near or has passed."""

    code: str
    what: str
    on: date
    due: Due
    embryo_id: str
    episode_id: str


@dataclass(frozen=True, slots=True)
class Treatment:
    """The episodes on the home page: ongoing ones, else the latest; and near storage dates.

    `has_embryos` says whether any embryo is stored; `is_none_left` that no episode is available to this person any more.
    """

    views: tuple[EpisodeView, ...]
    storage: tuple[NearDate, ...]
    is_incomplete: bool
    has_embryos: bool
    is_none_left: bool
    plan_notice: PlanNotice | None = None
    tonight: tuple[Tonight, ...] = ()

    @property
    def episode_ids(self) -> list[str]:
        """The episodes shown, at least in part."""
        return [*(view.episode.id for view in self.views), *(near.episode_id for near in self.storage)]

    @property
    def is_pressing(self) -> bool:
        """Whether something comes before all else: doses, a plan that may change, a withdrawn consent, a warning, a visit."""
        return bool(
            self.tonight
            or self.plan_notice
            or any(
                view.episode.withdrawn or view.upcoming or any(one.is_pressing for one in view.alerts)
                for view in self.views
            )
        )

    def tonight_of(self, view: EpisodeView) -> Tonight | None:
        """The doses around now of this episode."""
        return next((one for one in self.tonight if one.episode_id == view.episode.id), None)


class NeedsPage(Page, template="home/needs.html"):
    """A patient's home, by region; a region that couldn't be read is its error.

    `is_part` if htmx requested one region; the others are then None.
    """

    consents: Listed[Item] | CareError | None = None
    messages: Listed[Conversation] | CareError | None = None
    treatment: Treatment | CareError | None = None
    news: Listed[Notification] | CareError | None = None
    is_done: bool = False
    is_part: bool = True
    is_new: bool = False
    most: int = 3
    """How many messages and notifications it shows."""

    def shown(self) -> dict[str, list[str]]:
        """Return the ids of the records shown on the page, by kind."""
        return {
            "consent": [item.form.id for item in self.consents] if isinstance(self.consents, Listed) else [],
            "episode": self.treatment.episode_ids if isinstance(self.treatment, Treatment) else [],
            "conversation": _ids(self.messages, self.most),
            "notification": _ids(self.news, self.most),
        }


def _needs(care: Care, person: Person) -> NeedsPage:
    ids = remembered()
    forms, talks, news, found = gather(
        lambda: _forms(care),
        lambda: _talks(care),
        lambda: _news(care),
        lambda: read_episodes(care, ids[:_MOST_EPISODES]),
    )
    if isinstance(found, Found):
        found = _with_mentioned(care, ids, found, lambda: mentioned(forms, talks, news))
    consents = forms if isinstance(forms, CareError) else _to_sign(care, forms, person)
    messages = talks if isinstance(talks, CareError) else _unread(talks)
    treatment = found if isinstance(found, CareError) else _treatment(found, person)
    if isinstance(found, Found) and (record := found.record_of(person.sub)):
        preferred_name.learn(record)
    if not isinstance(news, CareError):
        bell.learn(person, unread_among(care, news))
    return NeedsPage(
        consents=consents,
        messages=messages,
        treatment=treatment,
        news=news if isinstance(news, CareError) else notable(news),
        is_done="seen" not in g
        and not isinstance(consents, CareError)
        and consents.is_none
        and not isinstance(messages, CareError)
        and messages.is_none,
        is_part=False,
        is_new=help.is_new(),
    )


def _with_mentioned(
    care: Care, ids: list[str], found: Found, mentioned_now: Callable[[], list[str]]
) -> Found | CareError:
    """The episodes read so far and those newly mentioned in records; stores their ids."""
    named = attempt(mentioned_now)
    if isinstance(named, CareError):
        return found if found.episodes else named
    new = [id_ for id_ in named if id_ not in ids]
    if new:
        more = read_episodes(care, new[:6])
        found = found.with_more(more)
    remember(found, [*ids, *new])
    return found


def _forms(care: Care) -> decoding.Page[ConsentForm]:
    return list_consents(care, limit=100)


def _talks(care: Care) -> decoding.Page[Conversation]:
    return list_conversations(care, limit=50)


def _news(care: Care) -> decoding.Page[Notification]:
    return list_notifications(care, limit=50, is_read=False)


def _to_sign(care: Care, forms: decoding.Page[ConsentForm], person: Person) -> Listed[Item]:
    whole = forms.listed.through(lambda listed: with_text_in_doubt(care, listed, person))
    return group(whole, person).mine


def _unread(talks: decoding.Page[Conversation]) -> Listed[Conversation]:
    unread = talks.listed.where(lambda talk: talk.unread_count > 0 and not talk.is_archived)
    return unread.through(lambda waiting: sorted(waiting, key=_last_message, reverse=True))


def _last_message(talk: Conversation) -> float:
    return talk.last_message_at.timestamp() if talk.last_message_at else 0.0


def notable(news: decoding.Page[Notification]) -> Listed[Notification]:
    """Unread notifications, the pressing ones first; others only about records not already on this page."""
    shown = ("Conversation", "ConsentForm")
    found = news.listed.where(
        lambda one: not one.is_read and (is_pressing(one) or not any(map(one.is_about, shown)))
    )
    return found.through(lambda unread: sorted(unread, key=is_pressing, reverse=True))


@bp.app_template_filter("is_pressing")
def is_pressing(one: Notification) -> bool:
    """Whether it comes first: it is urgent, somebody withdrew a consent, or a couple shares no more."""
    return one.is_urgent or one.type in ("ConsentRevoked", "SharingEnded")


def _treatment(found: Found, person: Person) -> Treatment:
    views = [EpisodeView(episode, person) for episode in found.newest_first]
    live = [view for view in views if not view.episode.is_ended]
    near = [one for episode in found.episodes for one in storage_dates(episode, today())]
    shown = live or views[:1]
    return Treatment(
        tuple(shown),
        tuple(sorted(near, key=lambda one: one.on)),
        found.is_incomplete,
        any(not embryo.is_terminal for episode in found.episodes for embryo in episode.embryos),
        found.is_none_left,
        shown[0].plan_notice if shown else None,
        tuple(tonight for view in shown if (tonight := view.tonight)),
    )


def storage_dates(episode: Episode, day: date) -> list[NearDate]:
    """Return the dates of stored embryos that are near on `day`, or have passed: within two months, or for the consent
    within the window in which the law asks to renew it.
    """
    found: list[NearDate] = []
    for embryo in episode.embryos:
        for what, on, near in _dates_of(embryo):
            days = (on - day).days if on else near + 1
            if on and days <= near and not embryo.is_terminal:
                found.append(
                    NearDate(embryo.embryo_code, what, on, Due(*nearness(days)), embryo.id, episode.id)
                )
    return found


def _dates_of(embryo: EmbryoStorage) -> list[tuple[str, date | None, int]]:
    """What each date is, the day, and from how many days before it is near."""
    return [
        (_("Storage is paid until"), paid_until(embryo), _NEAR_DAYS),
        (_("You consented to storage until"), embryo.storage_consented_until, renewal_window(_NEAR_DAYS)),
        (_("The law allows storage until"), embryo.statutory_limit, _NEAR_DAYS),
    ]


def _treatment_alone(care: Care, person: Person) -> Treatment:
    ids = remembered()
    if not ids:
        forms, talks, news = gather(lambda: _forms(care), lambda: _talks(care), lambda: _news(care))
        ids = mentioned(forms, talks, news)
    found = read_episodes(care, ids[:_MOST_EPISODES])
    remember(found, ids)
    return _treatment(found, person)


_PATIENT_REGIONS: dict[str, Callable[[Care, Person], NeedsPage]] = {
    "consents": lambda care, person: NeedsPage(
        consents=attempt(lambda: _to_sign(care, _forms(care), person))
    ),
    "messages": lambda care, person: NeedsPage(messages=attempt(lambda: _unread(_talks(care)))),
    "treatment": lambda care, person: NeedsPage(treatment=attempt(lambda: _treatment_alone(care, person))),
    "news": lambda care, person: NeedsPage(news=attempt(lambda: notable(_news(care)))),
}


# ── staff ───────────────────────────────────────────────────────────────────────────────────────────────


class WorklistPage(Page, template="home/worklist.html"):
    """Staff's home, by region; a region that couldn't be read is its error, one that wasn't requested None.

    `regions` is their order; `duties` are what is this person's, counted;
    `whose` are the names of those whom notifications are about, by notification.
    """

    withdrawn: Listed[ConsentForm] | CareError | None = None
    consents: Work | CareError | None = None
    home_rows: tuple[WorkRow, ...] = ()
    messages: Waiting | CareError | None = None
    news: Listed[Notification] | CareError | None = None
    opened: list[Opened] = field(default_factory=list[Opened])
    whose: Mapping[str, str] = field(default_factory=dict[str, str])
    waiting_rows: list[Row] = field(default_factory=list[Row])
    first_steps: list[FirstStep] = field(default_factory=list[FirstStep])
    regions: tuple[str, ...] = ("consents", "messages", "news")
    duties: tuple[Duty, ...] = ()
    has_day_sheet: bool = False
    most: int = _MOST_AT_WORK
    """How many forms, messages and notifications its lists show."""

    def shown(self) -> dict[str, list[str]]:
        """Return the ids of the records shown on the page, by kind."""
        return {
            "consent": [*_ids(self.withdrawn, self.most), *(row.form.id for row in self.home_rows)],
            "conversation": _ids(_talks_of(self.messages), self.most),
            "notification": _ids(self.news, self.most),
        }


def _worklist(care: Care, person: Person) -> WorklistPage:
    withdrawn, pending, partial, talks, news = gather(
        lambda: _withdrawn(care),
        lambda: list_open_consents(care, ConsentStatus.PENDING),
        lambda: list_open_consents(care, ConsentStatus.PARTIALLY_SIGNED),
        lambda: read_waiting(care, person),
        lambda: _news(care),
    )
    if not isinstance(news, CareError):
        bell.learn(person, unread_among(care, news))
    if isinstance(pending, CareError):
        work = pending
    elif isinstance(partial, CareError):
        work = partial
    else:
        heads = {ConsentStatus.PENDING: pending, ConsentStatus.PARTIALLY_SIGNED: partial}
        work = work_of(care, heads, person)
    noted = news if isinstance(news, CareError) else notable(news)
    return WorklistPage(
        withdrawn=withdrawn,
        consents=work,
        home_rows=_first_rows(work),
        messages=talks,
        waiting_rows=_waiting_rows(talks, person),
        regions=regions_of(person, talks),
        duties=duties_of(person, work, talks, noted),
        has_day_sheet=bool(person.roles & day_sheet.ROLES),
        news=noted,
        whose=_whose(noted, work),
        opened=show_recent(_MOST_OPENED),
        first_steps=first_steps(person),
    )


def _whose(news: Listed[Notification] | CareError, work: Work | CareError | None = None) -> dict[str, str]:
    """The names of those whom notifications are about, by notification."""
    names = names_by_record(work.forms if isinstance(work, Work) else ())
    return {} if isinstance(news, CareError) else {one.id: name_of(one, names, one.body) for one in news}


def _withdrawn(care: Care) -> Listed[ConsentForm]:
    """The forms withdrawn lately. Whether their treatment is under way isn't in the list of forms, nor asked for."""
    return list_withdrawn(care, now() - timedelta(weeks=_WITHDRAWN_WEEKS))


def _waiting_rows(waiting: Waiting | CareError, person: Person) -> list[Row]:
    if isinstance(waiting, CareError):
        return []
    return [waiting_row(one, person) for one in waiting.conversations.items[:_MOST_AT_WORK]]


def _waiting_alone(care: Care, person: Person) -> WorklistPage:
    waiting = attempt(lambda: read_waiting(care, person))
    return WorklistPage(messages=waiting, waiting_rows=_waiting_rows(waiting, person))


def _talks_of(waiting: Waiting | CareError | None) -> Listed[Conversation] | None:
    if waiting is None or isinstance(waiting, CareError):
        return None
    return waiting.conversations.through(lambda listed: [one.conversation for one in listed])


def _work_alone(care: Care, person: Person) -> WorklistPage:
    work = attempt(lambda: read_work(care, person))
    return WorklistPage(consents=work, home_rows=_first_rows(work))


def _news_alone(care: Care) -> WorklistPage:
    news = attempt(lambda: notable(_news(care)))
    return WorklistPage(news=news, whose=_whose(news))


def _first_rows(work: Work | CareError) -> tuple[WorkRow, ...]:
    """The first rows of this person's work list."""
    return () if isinstance(work, CareError) else work.rows_of(work.usual(), 0, _MOST_FORMS)


_STAFF_REGIONS: dict[str, Callable[[Care, Person], WorklistPage]] = {
    "withdrawn": lambda care, _person: WorklistPage(withdrawn=attempt(lambda: _withdrawn(care))),
    "consents": _work_alone,
    "messages": _waiting_alone,
    "news": lambda care, _person: _news_alone(care),
}
