"""Staff's home: the work list, who waits for an answer, and what is new."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import timedelta

from portal.services.consents import list_expired, list_open_consents, list_withdrawn
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.errors import CareError
from portal.services.gather import attempt, gather, ids_of
from portal.services.listed import Listed
from portal.services.notifications import Notification, new_enquiries, newest_unread, notable, unread_among
from portal.views.consents.worklist import Work, WorkRow, read_work, work_of
from portal.views.conversations.view import Row, waiting_row
from portal.views.notification_words import name_of, names_by_record
from portal.views.recent import Opened, show_recent
from portal.views.staff_duties import Duty, duties_of, regions_of, storage_duty
from portal.views.storage.cryo_room import count_ending, ending_as_kept
from portal.views.storage.pending_moves import PendingMove, pending_moves
from portal.views.waiting_conversations import Waiting, read_waiting
from portal.web import bell, section_counts
from portal.web.filters import now, today
from portal.web.handlers import Care, Page, Person
from portal.web.permissions import may

_WITHDRAWN_WEEKS = 8
"""For how long staff's home names a form that was withdrawn: about as long as a treatment is under way. The page says it."""


_MOST_OPENED = 5


_MOST_AT_WORK, _MOST_FORMS = 6, 12
"""How many messages and notifications staff's home shows, and how many forms that wait."""


class WorklistPage(Page, template="home/worklist.html"):
    """Staff's home, by region; a region that couldn't be read is its error, one that wasn't requested None.

    `regions` is their order; `duties` are what is this person's, counted;
    `ending` is the storage that ends, which the page has counted afterwards if `counts_ending`;
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
    pending_moves: list[PendingMove] = field(default_factory=list[PendingMove])
    regions: tuple[str, ...] = ("consents", "messages", "news")
    duties: tuple[Duty, ...] = ()
    ending: Duty | None = None
    counts_ending: bool = False

    def shown(self) -> dict[str, list[str]]:
        """Return the ids of the records shown on the page, by kind."""
        return {
            "consent": [*ids_of(self.withdrawn), *(row.form.id for row in self.home_rows)],
            "conversation": ids_of(self.waiting_rows),
            "notification": ids_of(self.news),
        }


def staff_home(care: Care, person: Person) -> WorklistPage:
    withdrawn, pending, partial, expired, conversations, news = gather(
        lambda: _withdrawn(care),
        lambda: list_open_consents(care, ConsentStatus.PENDING),
        lambda: list_open_consents(care, ConsentStatus.PARTIALLY_SIGNED),
        lambda: list_expired(care, today()),
        lambda: read_waiting(care, person),
        lambda: newest_unread(care),
    )
    if not isinstance(news, CareError):
        bell.learn(person, unread_among(care, news))
        if may(person, "prospect.edit"):
            section_counts.learn(person, "/prospects", new_enquiries(news.listed))
    if isinstance(pending, CareError):
        work = pending
    elif isinstance(partial, CareError):
        work = partial
    else:
        heads = {ConsentStatus.PENDING: pending, ConsentStatus.PARTIALLY_SIGNED: partial}
        work = work_of(care, heads, expired, person)
    ending = ending_as_kept() if may(person, "embryo.edit") else None
    noted = news if isinstance(news, CareError) else notable(news)
    return WorklistPage(
        withdrawn=withdrawn,
        consents=work,
        home_rows=_first_rows(work),
        messages=conversations,
        waiting_rows=_waiting_rows(conversations, person),
        regions=regions_of(person, conversations),
        duties=duties_of(person, work, conversations, noted),
        ending=storage_duty(person, ending),
        counts_ending=ending is None,
        news=noted if isinstance(noted, CareError) else noted.first(_MOST_AT_WORK),
        whose=_whose(noted, work),
        opened=show_recent(_MOST_OPENED),
        pending_moves=pending_moves(person),
    )


def _whose(news: Listed[Notification] | CareError, work: Work | CareError | None = None) -> dict[str, str]:
    """The names of those whom notifications are about, by notification."""
    names = names_by_record(work.forms if isinstance(work, Work) else ())
    return (
        {}
        if isinstance(news, CareError)
        else {notification.id: name_of(notification, names, notification.body) for notification in news}
    )


def _withdrawn(care: Care) -> Listed[ConsentForm]:
    """The forms withdrawn lately. Whether their treatment is under way isn't in the list of forms, nor asked for."""
    return list_withdrawn(care, now() - timedelta(weeks=_WITHDRAWN_WEEKS)).first(_MOST_AT_WORK)


def _waiting_rows(waiting: Waiting | CareError, person: Person) -> list[Row]:
    if isinstance(waiting, CareError):
        return []
    return [waiting_row(item, person) for item in waiting.conversations.items[:_MOST_AT_WORK]]


def _waiting_alone(care: Care, person: Person) -> WorklistPage:
    waiting = attempt(lambda: read_waiting(care, person))
    return WorklistPage(messages=waiting, waiting_rows=_waiting_rows(waiting, person))


def _work_alone(care: Care, person: Person) -> WorklistPage:
    work = attempt(lambda: read_work(care, person))
    return WorklistPage(consents=work, home_rows=_first_rows(work))


def _news_alone(care: Care) -> WorklistPage:
    news = attempt(lambda: notable(newest_unread(care)).first(_MOST_AT_WORK))
    return WorklistPage(news=news, whose=_whose(news))


def _ending_alone(care: Care, person: Person) -> WorklistPage:
    is_theirs = storage_duty(person, None) is not None
    return WorklistPage(ending=storage_duty(person, count_ending(care)) if is_theirs else None)


def _first_rows(work: Work | CareError) -> tuple[WorkRow, ...]:
    """The first rows of this person's work list."""
    return () if isinstance(work, CareError) else work.rows_of(work.usual(), 0, _MOST_FORMS)


STAFF_REGIONS: dict[str, Callable[[Care, Person], WorklistPage]] = {
    "ending": _ending_alone,
    "withdrawn": lambda care, _person: WorklistPage(withdrawn=attempt(lambda: _withdrawn(care))),
    "consents": _work_alone,
    "messages": _waiting_alone,
    "news": lambda care, _person: _news_alone(care),
}
