"""Episodes of treatment (care API specification §4, group PatientPortal).

No endpoint lists them: an episode is found by an id in another record.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from portal.services.client import Care
from portal.services.endpoints import READ_EPISODE
from portal.services.modules import without
from portal.services.pgt_results import known_only
from portal.services.records.consents import ConsentForm
from portal.services.records.conversations import Conversation
from portal.services.records.episodes import Episode
from portal.services.records.notifications import Notification


def get_episode(care: Care, episode_id: str) -> Episode:
    """One episode with all its embedded records.

    GET /api/patient-portal/episodes/{episodeId} (care API specification §4).
    """
    episode = without(care.read(READ_EPISODE, episodeId=episode_id), care.modules_off)
    if not episode.pgt_results:
        return episode
    return replace(episode, pgt_results=tuple(known_only(brief) for brief in episode.pgt_results))


def episode_ids(
    consents: Iterable[ConsentForm] = (),
    conversations: Iterable[Conversation] = (),
    notifications: Iterable[Notification] = (),
    claimed: Iterable[str] = (),
) -> tuple[str, ...]:
    """The distinct ids of all episodes mentioned, those from the sign-in's claims first."""
    mentioned = (
        *claimed,
        *(form.episode_id for form in consents),
        *(conversation.episode_id for conversation in conversations),
        *(n.entity_id for n in notifications if n.is_about("Episode")),
    )
    return tuple(dict.fromkeys(episode_id for episode_id in mentioned if episode_id))
