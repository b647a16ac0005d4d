"""Finds people by the records that mention them, because no endpoint searches patients.

GET /api/care/consent-forms, /api/messaging/getconversations, /api/care/fertility-protocols and /api/app/notification,
are called concurrently with `Filter` (care API specification §4). The records are grouped by patient or enquiry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from typing import TypeVar

from portal.config.modules import Module
from portal.folding import folded
from portal.services.client import Care
from portal.services.consents import list_consents
from portal.services.consents.forms import ConsentForm
from portal.services.conversations import Conversation, MessageSide, list_conversations
from portal.services.episodes import Episode, get_episode
from portal.services.errors import CareError, NotAllowed, NotFound, NotOffered
from portal.services.gather import gather, gather_all, items_of, known
from portal.services.listed import Listed
from portal.services.notifications import Notification, list_notifications
from portal.services.patients import Patient
from portal.services.protocols import Protocol, list_protocols
from portal.values import Value

T = TypeVar("T")

_READ = 100
"""How many records of each kind are searched, newest first."""
_CONVERSATIONS = 20
"""How many conversations are searched; each comes with up to 50 messages."""
_MOST = 8
_MOST_EPISODES = 4
"""For how many people the episode is read, for the record number and date of birth."""
_APOSTROPHES = "'’‘ʼ`´"
_NO_APOSTROPHES = str.maketrans(dict.fromkeys(_APOSTROPHES, ""))
_APOSTROPHES_AND_HYPHENS = str.maketrans(dict.fromkeys(f"{_APOSTROPHES}-", " "))
NO_MATCH = 2
"""The rank of a person whom a record mentions without a name like the text."""
_SHORTEST_NEAR = 4
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class FoundPerson:
    """A patient or enquirer, with the records that mention them, newest first.

    `episode` is their treatment, if it was read.
    """

    patient_id: str | None
    prospect_id: str | None = None
    name: str = ""
    episode_id: str | None = None
    episode: Episode | None = None
    forms: list[ConsentForm] = field(default_factory=list[ConsentForm])
    conversations: list[Conversation] = field(default_factory=list[Conversation])
    protocols: list[Protocol] = field(default_factory=list[Protocol])
    notifications: list[Notification] = field(default_factory=list[Notification])

    @property
    def record(self) -> Patient | None:
        """The person's patient record, from the episode that was read."""
        both = (self.episode.patient, self.episode.partner) if self.episode else ()
        return next((person for person in both if person and person.id == self.patient_id), None)

    @property
    def latest(self) -> ConsentForm | Conversation | Protocol | Notification:
        """The most recently changed record."""
        return max((*self.forms, *self.conversations, *self.protocols, *self.notifications), key=happened_at)


class People(Value, frozen=True):
    """The people found, matches by name first; `is_partial` if there may be more, `is_lost` if a list couldn't be read.

    `among` is 0, or how many records were looked through for names like the one typed, because nobody was found by it.
    """

    people: tuple[FoundPerson, ...]
    is_partial: bool
    is_lost: bool = False
    among: int = 0


def find_people(care: Care, text: str, *, is_found: bool = False) -> People:
    """Find people by part of a name, a record number, or words in their messages.

    An API may compare letter by letter: if it finds nobody, the newest forms and protocols are looked through for names that
    are alike without accents and apostrophes, or but for one letter; not if `is_found` says that somebody is known already.
    Raises CareError if no list could be read.
    """
    answers = gather(
        lambda: list_consents(care, limit=_READ, sorting="sentAt desc", text=text),
        lambda: list_conversations(care, limit=_CONVERSATIONS, text=text, include_archived=True),
        lambda: list_protocols(care, limit=_READ, text=text),
        lambda: list_notifications(care, limit=_READ, text=text),
    )
    failures = [
        answer for answer in answers if isinstance(answer, CareError) and not _is_switched_off(care, answer)
    ]
    if len(failures) == len(answers):
        raise failures[0]
    forms, conversations, protocols, notifications = answers
    found = group_people(
        items_of(forms),
        items_of(conversations),
        items_of(protocols),
        [item for item in items_of(notifications) if _begins_a_word_of(item, text)],
    )
    if not found and not failures and not is_found:
        return _alike(care, text)
    ranked = sorted(
        found, key=lambda person: (rank_of(person.name, text), -happened_at(person.latest).timestamp())
    )
    best = ranked[:_MOST]
    _read_episodes(care, best)
    was_cut = len(ranked) > _MOST or any(page.total > len(page.items) for page in map(known, answers) if page)
    return People(tuple(best), is_partial=bool(failures) or was_cut, is_lost=bool(failures))


class NewestPeople(Value, frozen=True):
    """The patients found; whole if they are all. `is_lost` says that a list couldn't be read."""

    found: Listed[FoundPerson]
    is_lost: bool


def newest_people(care: Care) -> NewestPeople:
    """The patients whom the newest forms, conversations and protocols are about, the latest first.

    A list that the clinic doesn't use has nobody. Raises CareError if none could be read.
    """
    answers = gather(
        lambda: list_consents(care, limit=_READ, sorting="sentAt desc"),
        lambda: list_conversations(care, limit=_CONVERSATIONS, include_archived=True),
        lambda: list_protocols(care, limit=_READ, sorting="lastModificationTime desc"),
    )
    failures = [answer for answer in answers if isinstance(answer, CareError)]
    if len(failures) == len(answers):
        raise failures[0]
    forms, conversations, protocols = answers
    found = group_people(items_of(forms), items_of(conversations), items_of(protocols), ())
    patients = [person for person in found if person.patient_id]
    is_lost = any(not isinstance(failure, NotOffered) for failure in failures)
    is_whole = not is_lost and all(page.listed.is_whole for page in map(known, answers) if page)
    newest = sorted(patients, key=lambda person: happened_at(person.latest), reverse=True)
    return NewestPeople(Listed(tuple(newest), is_whole), is_lost)


def _alike(care: Care, text: str) -> People:
    """People with a name like this, among the newest records."""
    forms, protocols = gather(
        lambda: list_consents(care, limit=_READ, sorting="sentAt desc"),
        lambda: list_protocols(care, limit=_READ),
    )
    known_forms, known_protocols = items_of(forms), items_of(protocols)
    everyone = group_people(known_forms, (), known_protocols, ())
    alike = [
        person for person in everyone if rank_of(person.name, text) < NO_MATCH or is_near(person.name, text)
    ][:_MOST]
    _read_episodes(care, alike)
    return People(tuple(alike), is_partial=True, among=len(known_forms) + len(known_protocols))


def _begins_a_word_of(notification: Notification, text: str) -> bool:
    """Whether `text` begins words of a notification: a part of one (“came”) would find every enquiry."""
    return (
        rank_of(
            " ".join((notification.title, notification.body, *map(str, notification.data.values()))), text
        )
        == 0
    )


def is_near(name: str, text: str) -> bool:
    """Whether each word of `text`, of four letters or more, is a word of the name but for one letter."""
    words = _joined(name).replace("-", " ").split()
    return all(
        len(wanted) >= _SHORTEST_NEAR and any(_differ_by_one(word, wanted) for word in words)
        for wanted in _joined(text).split()
    )


def _differ_by_one(one: str, other: str) -> bool:
    """Whether the words are equal but for one letter more, less or different, or two neighbours swapped."""
    start = _alike_at_start(one, other)
    one, other = one[start:], other[start:]
    end = _alike_at_start(one[::-1], other[::-1])
    one, other = one[: len(one) - end], other[: len(other) - end]
    return max(len(one), len(other)) <= 1 or (len(one) == 2 and one == other[::-1])


def _alike_at_start(one: str, other: str) -> int:
    """How many letters they begin with are the same."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _is_switched_off(care: Care, error: CareError) -> bool:
    return isinstance(error, NotOffered) and Module.MEDICINES in care.modules_off


def group_people(
    forms: Iterable[ConsentForm],
    conversations: Iterable[Conversation],
    protocols: Iterable[Protocol],
    notifications: Iterable[Notification],
) -> list[FoundPerson]:
    """Group records by patient, else by enquiry; records about neither are left out."""
    found: dict[tuple[str | None, str | None], FoundPerson] = {}

    def of(patient_id: str | None, prospect_id: str | None = None) -> FoundPerson | None:
        key = (patient_id, None if patient_id else prospect_id)
        return found.setdefault(key, FoundPerson(*key)) if any(key) else None

    for form in forms:
        if person := of(form.patient_id):
            person.forms.append(form)
            person.name = person.name or form.patient_name
    for talk in conversations:
        if person := of(talk.patient_id, talk.prospect_id):
            person.conversations.append(talk)
    for protocol in protocols:
        if person := of(protocol.patient_id):
            person.protocols.append(protocol)
            person.name = person.name or protocol.patient_name or ""
    for person in found.values():
        person.name = person.name or next(
            (name for talk in person.conversations if (name := _name_in(talk))), ""
        )
    for notification in notifications:
        is_enquiry = notification.is_about("Prospect")
        if person := of(notification.datum("patientId"), notification.entity_id if is_enquiry else None):
            person.notifications.append(notification)
            if is_enquiry:
                told = (notification.datum("firstName"), notification.datum("lastName"))
                person.name = person.name or " ".join(part for part in told if part)
    for person in found.values():
        mentions = sorted(
            (*person.forms, *person.conversations, *person.protocols), key=happened_at, reverse=True
        )
        person.episode_id = next((mention.episode_id for mention in mentions if mention.episode_id), None)
    return list(found.values())


def happened_at(record: ConsentForm | Conversation | Protocol | Notification) -> datetime:
    """When a record last changed, as far as it says; otherwise `_NEVER`."""
    match record:
        case ConsentForm():
            times = [
                record.revoked_at,
                record.sent_at,
                *(signature.signed_at for signature in record.signatures),
            ]
        case Conversation():
            times = [record.last_message_at]
        case Protocol():
            times = [record.last_modification_time, record.creation_time]
        case Notification():
            times = [record.creation_time]
    return max((time for time in times if time), default=_NEVER)


def rank_of(name: str, text: str) -> int:
    """The rank of a match: 0 if each word of `text` starts a word of the name, 1 if the name contains them, else 2."""
    apart = folded(name).translate(_APOSTROPHES_AND_HYPHENS)
    whole, wanted = _joined(name), _joined(text).split()
    if all(any(word.startswith(start) for word in (*apart.split(), *whole.split())) for start in wanted):
        return 0
    return 1 if all(part in whole for part in wanted) else NO_MATCH


def _joined(text: str) -> str:
    """The text folded, without apostrophes: `O’Sullivan` and `osullivan` are alike."""
    return folded(text).translate(_NO_APOSTROPHES)


def _read_episodes(care: Care, people: list[FoundPerson]) -> None:
    """Read the episodes of the first few people; failures are ignored."""
    with_episode = [person for person in people if person.episode_id][:_MOST_EPISODES]
    reads = gather_all([partial(get_episode, care, person.episode_id or "") for person in with_episode])
    for person, episode in zip(with_episode, reads, strict=True):
        if isinstance(episode, Episode):
            person.episode = episode
            person.name = (person.record.full_name if person.record else "") or person.name
        elif isinstance(episode, NotFound | NotAllowed | NotOffered):
            person.episode_id = None


def _name_in(talk: Conversation) -> str:
    """Whose conversation it is: the participant with a patient's account, else the person who wrote.

    Of several it may be any one's, and so it names them all.
    """
    patients = [participant.name for participant in talk.participants if participant.is_patient]
    writers = [message.sender_name for message in talk.in_order if message.side == MessageSide.INBOUND]
    return ", ".join(dict.fromkeys(filter(None, patients)) or dict.fromkeys(filter(None, writers)))
