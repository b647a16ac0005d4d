"""All that the API tells of one patient: treatments, forms, conversations, plans and notifications, side by side.

No endpoint reads a patient. Forms are asked for by the patient's id, treatments by the ids that records name; conversations
and plans are searched by the patient's name, and notifications looked through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from portal.services.client import Care
from portal.services.consents import list_consents
from portal.services.consents.forms import PATIENT_ROLES, ConsentForm, SignerRole
from portal.services.conversations import Conversation, list_conversations
from portal.services.decoding import PagedResult
from portal.services.episodes import Episode, episode_ids
from portal.services.errors import CareError, NotFound, NotOffered, Unavailable
from portal.services.found_episodes import read_episodes
from portal.services.gather import gather, gather_all, ids_of, items_of, merged, needed
from portal.services.listed import Listed
from portal.services.notifications import Notification, list_notifications
from portal.services.patient_ref import PatientRef
from portal.services.patients import Patient
from portal.services.people import happened_at
from portal.services.protocols import Protocol, ProtocolStatus, list_protocols
from portal.services.rules.signing import same_name
from portal.values import Value

T = TypeVar("T")

_READ = 100
_CONVERSATIONS = 20
"""How many conversations are read; each comes with up to 50 messages."""
_MOST_EPISODES = 6
_MOST_NAMES = 2
"""By how many names conversations are searched: the patient's, and the other person's of the treatment."""


class Hint(Value, frozen=True):
    """What is known of a patient before anything is read: treatments, a name."""

    episode_ids: tuple[str, ...] = ()
    name: str = ""


class PatientOverview(Value, frozen=True):
    """What was read of a patient; a part that couldn't be read is its error.

    `record` is the patient's, from the newest treatment; None without one. `episodes` are those under way first, and whole
    only if all could be read.
    """

    patient_id: str
    name: str
    record: Patient | None
    episodes: Listed[Episode]
    forms: Listed[ConsentForm] | CareError
    conversations: Listed[Conversation] | CareError
    plans: Listed[Protocol] | CareError
    notifications: Listed[Notification] | CareError

    @property
    def patient_ref(self) -> PatientRef:
        newest = next(iter(self.episodes), None)
        return PatientRef(self.patient_id, self.name, newest.id if newest else None)

    def treatment_of(self, plan: Protocol) -> Episode | None:
        """The treatment of a plan, if it could be read."""
        return next(
            (
                episode
                for episode in self.episodes
                if episode.id == plan.episode_id or (episode.protocol and episode.protocol.id == plan.id)
            ),
            None,
        )

    def by_plan(self, episode: Episode) -> list[Episode]:
        """The treatment once for each plan that is begun and hasn't ended: its own record holds one of them, or none."""
        held = [episode.protocol] if episode.protocol else []
        named = [plan for plan in items_of(self.plans) if plan.episode_id == episode.id]
        begun = (
            plan for plan in (*held, *named) if plan.status != ProtocolStatus.DRAFT and not plan.is_ended
        )
        ongoing = sorted({plan.id: plan for plan in begun}.values(), key=lambda plan: not plan.is_active)
        return [replace(episode, protocol=plan) for plan in ongoing] or [episode]

    def others_plan(self, plan: Protocol) -> str:
        """Whose plan it is if not this patient's, such as their partner's; empty for their own, or one whose patient isn't given."""
        treatment = self.treatment_of(plan)
        owner = treatment.owner_of(plan) if treatment else None
        id_ = owner.id if owner else plan.patient_id
        if id_ in (None, self.patient_id):
            return ""
        return (owner.full_name if owner else plan.patient_name) or id_

    def is_partner_in(self, episode: Episode) -> bool:
        """Whether it is the treatment of the other person of the couple."""
        return episode.patient.id != self.patient_id


def account_in(forms: Iterable[ConsentForm]) -> str:
    """The id with which the patient of these forms signs, as far as they say; empty otherwise.

    A partner may be the gamete provider of a form about the patient, so any role but the patient's counts by name.
    """
    signers = [
        (signer, form) for form in forms for signer in form.required_signers if signer.role in PATIENT_ROLES
    ]
    ids = (
        *(signer.person_id for signer, _form in signers if signer.role == SignerRole.PATIENT),
        *(signer.person_id for signer, form in signers if same_name(signer.name, form.patient_name)),
    )
    return next((id_ for id_ in ids if id_), "")


def read_patient_overview(care: Care, patient_id: str, hint: Hint) -> PatientOverview:
    """Read what there is of a patient; raises NotFound if nothing is.

    GET consent-forms, episodes/{episodeId}, getconversations, fertility-protocols and notification (care API specification
    §4), in two rounds: by ids first, then by what those said.
    """
    asked = hint.episode_ids[:_MOST_EPISODES]
    forms, notifications, hinted = gather(
        lambda: list_consents(care, limit=_READ, patient_id=patient_id, sorting="sentAt desc"),
        lambda: list_notifications(care, limit=_READ),
        lambda: _read_episodes(care, asked, patient_id),
    )
    first = needed(hinted)
    own = _where(forms, lambda form: form.patient_id == patient_id)
    about = _where(notifications, lambda notification: notification.datum("patientId") == patient_id)
    mentioned = episode_ids(items_of(own), (), items_of(about))
    further = [id_ for id_ in mentioned if id_ not in asked][: _MOST_EPISODES - len(asked)]
    name = _name(first, own, hint, patient_id)
    partners = _others_in(first, patient_id)
    others = [person.full_name for episode in first for person in _people(episode) if person.id != patient_id]
    conversations, plans, read_later, signed = gather(
        lambda: _read_conversations(care, [name, *dict.fromkeys(others)][:_MOST_NAMES]),
        lambda: list_protocols(care, limit=_READ, text=name or None),
        lambda: _read_episodes(care, further, patient_id),
        lambda: _read_forms(care, partners),
    )
    more = needed(read_later)
    episodes = Listed(
        tuple(sorted((*first, *more), key=_order)),
        first.is_whole and more.is_whole and {*asked, *further}.issuperset((*hint.episode_ids, *mentioned)),
    )
    record = next(
        (person for episode in episodes for person in _people(episode) if person.id == patient_id), None
    )
    account = (record.user_id or record.id) if record else account_in(items_of(own)) or patient_id
    if not isinstance(own, CareError):
        late = _read_forms(care, [id_ for id_ in _others_in(more, patient_id) if id_ not in partners])
        own = _with_signed(own, account, needed(signed), late)
    their_own = [episode for episode in episodes if episode.patient.id == patient_id]
    ids = {episode.id for episode in their_own}
    if not isinstance(conversations, CareError):
        conversations = conversations.where(lambda talk: _is_with(talk, patient_id, account, ids))
        has_all = episodes.is_whole and _has_all_named(care, conversations, their_own)
        conversations = Listed(
            tuple(sorted(conversations, key=happened_at, reverse=True)), conversations.is_whole and has_all
        )
    shown = {*ids_of(own), *ids_of(conversations)}
    overview = PatientOverview(
        patient_id=patient_id,
        name=(record.full_name if record else "") or name,
        record=record,
        episodes=episodes,
        forms=own,
        conversations=conversations,
        plans=_with_current(
            _where(plans, lambda plan: plan.patient_id == patient_id or plan.episode_id in ids),
            [
                e.protocol
                for e in episodes
                if e.protocol and (e.id in ids or e.protocol.patient_id == patient_id)
            ],
        ),
        notifications=_where(
            notifications, lambda notification: _is_about(notification, patient_id, ids, shown)
        ),
    )
    _refuse_empty(overview)
    return overview


def _is_with(talk: Conversation, patient_id: str, account: str, episode_ids: set[str]) -> bool:
    is_among = any(participant.id == account for participant in talk.participants)
    return talk.patient_id == patient_id or talk.episode_id in episode_ids or is_among


def _has_all_named(care: Care, conversations: Listed[Conversation], episodes: Iterable[Episode]) -> bool:
    """Whether these are all that the treatments name; an API that never names any can't say that there are no others."""
    if care.observer is not None and care.observer.is_not_given("Episode.conversationIds"):
        return False
    return {id_ for episode in episodes for id_ in episode.conversation_ids}.issubset(ids_of(conversations))


def _is_about(notification: Notification, patient_id: str, episode_ids: set[str], shown: set[str]) -> bool:
    """Whether it names the patient, one of their treatments, or another record that is `shown` of them."""
    return (
        notification.datum("patientId") == patient_id
        or notification.datum("episodeId") in episode_ids
        or (notification.is_about("Episode") and notification.entity_id in episode_ids)
        or notification.entity_id in shown
    )


def _refuse_empty(overview: PatientOverview) -> None:
    """Raise NotFound where nothing is known of the patient, or the error because of which nothing is, also of a treatment."""
    parts = (overview.forms, overview.conversations, overview.plans, overview.notifications)
    if overview.episodes or any(part for part in parts if not isinstance(part, CareError)):
        return
    failures = [part for part in parts if isinstance(part, CareError)]
    lost = [error for error in failures if not isinstance(error, NotOffered)]
    if lost:
        raise lost[0]
    if len(failures) == len(parts):
        raise failures[0]
    raise NotFound() if overview.episodes.is_whole else Unavailable("an episode can't be read")


def _read_episodes(care: Care, ids: Sequence[str], patient_id: str) -> Listed[Episode]:
    """The patient's among them that can be read; whole unless one can't although it may be there."""
    found = read_episodes(care, ids)
    theirs = tuple(e for e in found.episodes if any(person.id == patient_id for person in _people(e)))
    return Listed(theirs, not found.is_incomplete)


def _others_in(episodes: Iterable[Episode], patient_id: str) -> list[str]:
    """The ids of the patients of these treatments in which this one is the partner."""
    return list(dict.fromkeys(e.patient.id for e in episodes if e.patient.id != patient_id))


def _read_forms(care: Care, patient_ids: Sequence[str]) -> Listed[ConsentForm]:
    """The forms of these patients; not whole if one's can't be read."""

    def call(id_: str) -> Callable[[], Listed[ConsentForm]]:
        return lambda: list_consents(care, limit=_READ, patient_id=id_).listed

    return merged(gather_all([call(id_) for id_ in patient_ids]))


def _with_signed(own: Listed[ConsentForm], account: str, *others: Listed[ConsentForm]) -> Listed[ConsentForm]:
    """The patient's forms, with those of others that they sign."""
    return merged([own, *(listed.where(lambda form: form.is_signer(account)) for listed in others)])


def _read_conversations(care: Care, names: Sequence[str]) -> Listed[Conversation]:
    """The conversations found by each name, each once; raises CareError if none could be read."""

    def call(name: str) -> Callable[[], Listed[Conversation]]:
        return lambda: (
            list_conversations(care, limit=_CONVERSATIONS, text=name or None, include_archived=True).listed
        )

    answers = gather_all([call(name) for name in names])
    failures = [answer for answer in answers if isinstance(answer, CareError)]
    if len(failures) == len(answers):
        raise failures[0]
    return merged(answers)


def _people(episode: Episode) -> list[Patient]:
    return [person for person in (episode.patient, episode.partner) if person]


def _name(
    episodes: Iterable[Episode], forms: Listed[ConsentForm] | CareError, hint: Hint, patient_id: str
) -> str:
    of_records = [
        person.full_name for episode in episodes for person in _people(episode) if person.id == patient_id
    ]
    names = (*of_records, *(form.patient_name for form in items_of(forms)), hint.name)
    return next((name for name in names if name), "")


def _order(episode: Episode) -> tuple[bool, int]:
    """Those under way first, then the newest."""
    return episode.is_ended, -(episode.start_date.toordinal() if episode.start_date else 0)


def _with_current(
    plans: Listed[Protocol] | CareError, standing: Iterable[Protocol]
) -> Listed[Protocol] | CareError:
    """The plans, with those that stand in the treatments, which can be read where the list can't."""
    current = {plan.id: plan for plan in standing}
    if isinstance(plans, CareError):
        return Listed(tuple(current.values()), is_whole=False) if current else plans
    others = [plan for plan in plans if plan.id not in current]
    ordered = sorted((*current.values(), *others), key=happened_at, reverse=True)
    return Listed(tuple(sorted(ordered, key=lambda plan: plan.is_ended)), plans.is_whole)


def _where(page: PagedResult[T] | CareError, fits: Callable[[T], bool]) -> Listed[T] | CareError:
    return page if isinstance(page, CareError) else page.listed.where(fits)
