"""Home for patients: a list of what is to be done, and today's treatment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from portal.request_values import is_seen_by_staff
from portal.services import decoding
from portal.services.consents import list_consents
from portal.services.consents.forms import ConsentForm
from portal.services.conversations import Conversation, list_conversations
from portal.services.episodes import Episode
from portal.services.errors import CareError
from portal.services.found_episodes import Found, is_whole, mentioned, read_episodes
from portal.services.gather import attempt, gather, ids_of, needed
from portal.services.listed import Listed
from portal.services.notifications import Notification, newest_unread, notable, unread_among
from portal.services.protocols import Protocol
from portal.services.rules.doses import remaining
from portal.values import Value
from portal.views import help
from portal.views.consents.list import Item, group, with_text_in_doubt
from portal.views.episodes.further_plans import read_plans
from portal.views.episodes.lookup import (
    MOST_REMEMBERED,
    every_notification,
    knows_all,
    reachable,
    remember,
    remembered,
)
from portal.views.episodes.tonight import Tonight
from portal.views.episodes.view import EpisodeView
from portal.views.since_last_visit import SinceLastVisit, note_and_compare
from portal.views.storage.near_dates import NearDate, storage_dates
from portal.web import bell, preferred_name
from portal.web.filters import in_a_row, today
from portal.web.handlers import Care, Page, Person
from portal.web.plan_changes import PlanNotice, notice_of

_AT_ONCE = 2
"""How many episodes home reads at once: mostly the ongoing one, and one with embryos in storage."""
_MOST_NEWS = 3
"""How many messages, and how many notifications, home shows."""


class TreatmentRegion(Value, frozen=True):
    """The episodes on the home page: ongoing ones, else the latest; and near storage dates.

    `has_embryos` says whether any embryo is stored; `is_none_left` that no episode is available to this person any more;
    `other_plans` are ones that are active or on hold, of no treatment that they can reach, as after sharing has ended;
    `held_plan_ids` those that the records of their treatments hold.
    """

    views: tuple[EpisodeView, ...]
    storage: tuple[NearDate, ...]
    is_incomplete: bool
    has_embryos: bool
    is_none_left: bool
    plan_notices: tuple[PlanNotice, ...] = ()
    tonight: tuple[Tonight, ...] = ()
    other_plans: tuple[Protocol, ...] = ()
    held_plan_ids: tuple[str, ...] = ()

    @property
    def told_plans(self) -> list[str]:
        """The plans of which an open page doesn't ask for a card any more: that it has one, or that a treatment's record holds them."""
        return [*self.held_plan_ids, *filter(None, (tonight.further_plan for tonight in self.tonight))]

    @property
    def episode_ids(self) -> list[str]:
        """The episodes shown, at least in part."""
        return [*(view.episode.id for view in self.views), *(near.episode_id for near in self.storage)]

    @property
    def further_plan_ids(self) -> list[str]:
        """The plans shown that no treatment's record holds."""
        told = [tonight.further_plan for tonight in self.tonight if tonight.further_plan]
        held = {view.episode.protocol.id for view in self.views if view.episode.protocol}
        changed = [notice.plan.id for notice in self.plan_notices if notice.plan.id not in held]
        return list(dict.fromkeys((*told, *changed, *(plan.id for plan in self.other_plans))))

    @property
    def is_pressing(self) -> bool:
        """Whether something comes before all else: doses, a plan that may change, a withdrawn consent, a warning, a visit."""
        return bool(
            self.tonight
            or self.plan_notices
            or any(
                view.episode.withdrawn or view.upcoming or any(alert.is_pressing for alert in view.alerts)
                for view in self.views
            )
        )

    def title_among(self, view: EpisodeView) -> str:
        """Which of several treatments it is; empty for the only one."""
        return view.title if len(self.views) > 1 else ""

    def tonight_of(self, view: EpisodeView) -> Tonight | None:
        """The doses around now of this episode."""
        return next((tonight for tonight in self.tonight if tonight.episode_id == view.episode.id), None)


class NeedsPage(Page, template="home/needs.html"):
    """A patient's home, by region; a region that couldn't be read is its error.

    `is_part` if htmx requested one region; the others are then None.
    """

    consents: Listed[Item] | CareError | None = None
    messages: Listed[Conversation] | CareError | None = None
    treatment: TreatmentRegion | CareError | None = None
    news: Listed[Notification] | CareError | None = None
    is_done: bool = False
    is_part: bool = True
    is_new: bool = False
    since: SinceLastVisit | None = None

    def shown(self) -> dict[str, list[str]]:
        """Return the ids of the records shown on the page, by kind."""
        waiting = [item.form.id for item in self.consents] if isinstance(self.consents, Listed) else []
        return {
            "consent": [*waiting, *(self.since.form_ids if self.since else ())],
            "episode": self.treatment.episode_ids if isinstance(self.treatment, TreatmentRegion) else [],
            "protocol": self.treatment.further_plan_ids
            if isinstance(self.treatment, TreatmentRegion)
            else [],
            "conversation": ids_of(self.messages),
            "notification": ids_of(self.news),
        }


def patient_home(care: Care, person: Person) -> NeedsPage:
    ids, are_all = remembered(), knows_all()
    forms, conversations, news, all_news, found, plans = gather(
        lambda: _forms(care),
        lambda: _conversations(care, include_archived=not are_all),
        lambda: newest_unread(care),
        lambda: None if are_all else every_notification(care),
        lambda: _ongoing(care, ids),
        lambda: read_plans(care),
    )
    if isinstance(found, Found):
        told = news if isinstance(all_news, CareError | None) else all_news
        found = _with_mentioned(
            care,
            ids,
            found,
            lambda: mentioned(forms, conversations, told),
            are_all=is_whole(forms, conversations, all_news),
        )
    consents = forms if isinstance(forms, CareError) else _to_sign(care, forms, person)
    messages = conversations if isinstance(conversations, CareError) else _unread(conversations)
    treatment = found if isinstance(found, CareError) else _treatment(found, person, needed(plans))
    near = () if isinstance(treatment, CareError) else treatment.storage
    if isinstance(found, Found) and (record := found.record_of(person.sub)):
        preferred_name.learn(record)
    if not isinstance(news, CareError):
        bell.learn(person, unread_among(care, news))
    return NeedsPage(
        consents=consents,
        messages=messages,
        treatment=treatment,
        news=news if isinstance(news, CareError) else _not_shown(notable(news), near).first(_MOST_NEWS),
        is_done=not is_seen_by_staff()
        and not isinstance(consents, CareError)
        and consents.is_none
        and not isinstance(messages, CareError)
        and messages.is_none,
        is_part=False,
        is_new=help.is_new(),
        since=note_and_compare(
            person,
            treatment.views if isinstance(treatment, TreatmentRegion) else (),
            () if isinstance(forms, CareError) else forms.items,
        ),
    )


def _ongoing(care: Care, ids: Sequence[str]) -> Found:
    """Every episode under way, which are remembered first, and the first that aren't."""
    found = Found(())
    for begin in range(0, len(ids), _AT_ONCE):
        found = found.with_more(read_episodes(care, ids[begin : begin + _AT_ONCE]))
        if found.is_incomplete or any(episode.is_ended for episode in found.episodes):
            break
    return found


def _with_mentioned(
    care: Care, ids: list[str], found: Found, mentioned_now: Callable[[], list[str]], *, are_all: bool
) -> Found | CareError:
    """The episodes read so far and those newly mentioned in records; stores their ids, and whether they `are_all`."""
    named = attempt(mentioned_now)
    if isinstance(named, CareError):
        return found if found.episodes else named
    new = [id_ for id_ in named if id_ not in ids]
    if new:
        more = read_episodes(care, new[:MOST_REMEMBERED])
        found = found.with_more(more)
    remember(found, [*ids, *new], are_all=are_all)
    return found


def _forms(care: Care) -> decoding.PagedResult[ConsentForm]:
    return list_consents(care, limit=100)


def _conversations(care: Care, *, include_archived: bool = False) -> decoding.PagedResult[Conversation]:
    return list_conversations(care, limit=50, include_archived=include_archived)


def _to_sign(care: Care, forms: decoding.PagedResult[ConsentForm], person: Person) -> Listed[Item]:
    whole = forms.listed.through(lambda listed: with_text_in_doubt(care, listed, person))
    return group(whole, person).mine


def _unread(conversations: decoding.PagedResult[Conversation]) -> Listed[Conversation]:
    unread = conversations.listed.where(lambda talk: talk.unread_count > 0 and not talk.is_archived)
    return unread.through(lambda waiting: sorted(waiting, key=_last_message, reverse=True)).first(_MOST_NEWS)


def _not_shown(news: Listed[Notification], storage: Iterable[NearDate]) -> Listed[Notification]:
    """The notifications but reminders of storage dates that stand on the page."""
    near = {date_.embryo_id for date_ in storage}
    return news.where(
        lambda notification: not (_reminds_of_storage(notification) and notification.entity_id in near)
    )


def _reminds_of_storage(notification: Notification) -> bool:
    return notification.type == "StorageReminder"


def _last_message(talk: Conversation) -> float:
    return talk.last_message_at.timestamp() if talk.last_message_at else 0.0


def _treatment(found: Found, person: Person, plans: Listed[Protocol]) -> TreatmentRegion:
    live = [episode for episode in found.newest_first if not episode.is_ended]
    episodes = live or found.newest_first[:1]
    further = _further_plans(found, episodes, plans.items)
    shown = [EpisodeView(episode, person, further_plans=further[episode.id]) for episode in episodes]
    return TreatmentRegion(
        tuple(shown),
        _near_dates(found),
        found.is_incomplete or (bool(live) and not plans.is_whole),
        any(not embryo.is_terminal for embryo, _episode in found.embryos),
        found.is_none_left,
        _plan_notices(shown),
        tuple(tonight for view in shown for tonight in view.tonights),
        _plans_elsewhere(found, further, plans.items),
        tuple(episode.protocol.id for episode in found.episodes if episode.protocol),
    )


def _near_dates(found: Found) -> tuple[NearDate, ...]:
    return tuple(sorted(storage_dates(found.embryos), key=lambda date_: date_.on))


def _further_plans(
    found: Found, episodes: Sequence[Episode], plans: Sequence[Protocol]
) -> dict[str, tuple[Protocol, ...]]:
    """Of each of these treatments the plans that no treatment's record holds; one that names none belongs to the first that fits."""
    left = {plan.id: plan for plan in plans}
    for episode in found.episodes:
        if episode.protocol:
            left.pop(episode.protocol.id, None)
    further: dict[str, tuple[Protocol, ...]] = {}
    for episode in episodes:
        further[episode.id] = tuple(filter(episode.is_further_plan, left.values()))
        left = {id_: plan for id_, plan in left.items() if plan not in further[episode.id]}
    return further


def _plans_elsewhere(
    found: Found, further: Mapping[str, tuple[Protocol, ...]], plans: Sequence[Protocol]
) -> tuple[Protocol, ...]:
    """The plans on hold or with doses to come of no treatment that this person can reach: whether others go on, it says itself."""
    told = {plan.id for plans_ in further.values() for plan in plans_}
    told |= {episode.protocol.id for episode in found.episodes if episode.protocol}
    reached = {*remembered(), *(episode.id for episode in found.episodes)} - found.absent
    return tuple(
        plan
        for plan in plans
        if plan.id not in told
        and plan.episode_id not in reached
        and (plan.is_on_hold or remaining(plan, None, today()))
    )


def _plan_notices(views: Sequence[EpisodeView]) -> tuple[PlanNotice, ...]:
    """What is known of each treatment's plan; of several each is named, and only the first stands there unchanged, to ask again."""
    found = [(view, notice) for view in views if (notice := view.plan_notice)]
    if len(found) > 1:
        found = [(view, _named(notice, view.title)) for view, notice in found]
    told = (notice for place, (_view, notice) in enumerate(found) if not place or notice.title)
    return (*told, *_further_notices(views))


def _further_notices(views: Sequence[EpisodeView]) -> Iterator[PlanNotice]:
    """What has changed in the further plans of the treatments."""
    for view in views:
        for plan in view.further_plans:
            notice = notice_of(view.person, plan, view.episode)
            if notice.title:
                yield _named(notice, plan.name)


def _named(notice: PlanNotice, name: str) -> PlanNotice:
    return replace(notice, title=notice.title and in_a_row((notice.title, name), " · "))


def _treatment_alone(care: Care, person: Person) -> TreatmentRegion:
    found, plans = gather(lambda: _found_alone(care, person), lambda: read_plans(care))
    return _treatment(needed(found), person, needed(plans))


def _found_alone(care: Care, person: Person) -> Found:
    """The episodes of the region of treatments, where another region isn't read with it."""
    is_known, ids = knows_all(), remembered()
    found = _ongoing(care, ids) if is_known else reachable(care, person, MOST_REMEMBERED)
    if is_known:
        remember(found, ids)
    return found


def _news_alone(care: Care, person: Person) -> Listed[Notification]:
    """The news; the treatments are read only where a reminder may stand among them."""
    news = notable(newest_unread(care))
    if any(map(_reminds_of_storage, news)):
        found = attempt(lambda: _found_alone(care, person))
        news = _not_shown(news, () if isinstance(found, CareError) else _near_dates(found))
    return news.first(_MOST_NEWS)


PATIENT_REGIONS: dict[str, Callable[[Care, Person], NeedsPage]] = {
    "consents": lambda care, person: NeedsPage(
        consents=attempt(lambda: _to_sign(care, _forms(care), person))
    ),
    "messages": lambda care, person: NeedsPage(messages=attempt(lambda: _unread(_conversations(care)))),
    "treatment": lambda care, person: NeedsPage(treatment=attempt(lambda: _treatment_alone(care, person))),
    "news": lambda care, person: NeedsPage(news=attempt(lambda: _news_alone(care, person))),
}
