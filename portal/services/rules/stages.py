"""The stages of a treatment: which there are, of which days are counted, and when a patient must know whom to call."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, tzinfo

from portal.dates import in_zone
from portal.services.episodes import Episode, EpisodeStage, TimelineEvent
from portal.services.protocols import ProtocolType

COUNTED = (EpisodeStage.BASELINE, EpisodeStage.STIMULATION, EpisodeStage.TRIGGER)
COUNTED_DAYS = 42
"""For how long days are counted from a transfer: the early scan comes before, and nobody tells the portal of a loss."""
SINCE_TRANSFER = (
    EpisodeStage.TRANSFER,
    EpisodeStage.LUTEAL_SUPPORT,
    EpisodeStage.PREGNANCY_TEST,
    EpisodeStage.EARLY_SCAN,
)
_NEEDS_CALL_NOW = tuple(EpisodeStage)[
    tuple(EpisodeStage).index(EpisodeStage.STIMULATION) : tuple(EpisodeStage).index(EpisodeStage.EARLY_SCAN)
    + 1
]
_DAYS_AFTER_THE_END = 14
"""For how many days after its end a treatment may still cause signs on which to call."""
_FROZEN = (ProtocolType.FET_NATURAL, ProtocolType.FET_MEDICATED)
_IN_EVERY_CYCLE = (
    EpisodeStage.BASELINE,
    EpisodeStage.STIMULATION,
    EpisodeStage.TRIGGER,
    EpisodeStage.RETRIEVAL,
    EpisodeStage.FERTILISATION,
    EpisodeStage.CULTURE,
)
_FROM_TRANSFER = (EpisodeStage.TRANSFER, EpisodeStage.PREGNANCY_TEST, EpisodeStage.EARLY_SCAN)


def needs_call_now(episode: Episode, day: date, zone: tzinfo) -> bool:
    """Whether a patient may have signs on which to call at once: from stimulation to the early scan, and shortly after.

    Where it isn't given when a treatment ended, shortly after the last that is known of it, by the clinic's `zone`; an end that may be any day counts.
    """
    if episode.is_ended:
        end = episode.end_date or _last_known_day(episode, day, zone)
        return end is None or (day - end).days <= _DAYS_AFTER_THE_END
    return episode.stage is None or not episode.stage.known or episode.stage in _NEEDS_CALL_NOW


def _last_known_day(episode: Episode, day: date, zone: tzinfo) -> date | None:
    """The day of the last event, visit or measurement until `day`."""
    days = (
        *(in_zone(event.occurred_at, zone).date() for event in episode.timeline if event.occurred_at),
        *(in_zone(visit.start, zone).date() for visit in episode.appointments if not visit.is_cancelled),
        *(measured.date for measured in episode.monitoring),
    )
    return max((known for known in days if known <= day), default=None)


def steps_of(episode: Episode, timeline: Sequence[TimelineEvent]) -> list[EpisodeStage]:
    """The stages of this kind of treatment, and any others that it went through."""
    kind = ProtocolType(episode.type) if episode.type else None
    if kind in _FROZEN:
        usual = (EpisodeStage.BASELINE, *_FROM_TRANSFER)
    elif kind == ProtocolType.EGG_FREEZING:
        usual = (*_IN_EVERY_CYCLE[:4], EpisodeStage.FREEZE)
    elif kind == ProtocolType.IUI:
        usual = (*_IN_EVERY_CYCLE[:3], EpisodeStage.PREGNANCY_TEST, EpisodeStage.EARLY_SCAN)
    else:
        usual = (*_IN_EVERY_CYCLE, *_FROM_TRANSFER)
    seen = {event.stage for event in timeline} | {episode.stage}
    return [
        stage for stage in EpisodeStage if stage in usual or (stage in seen and stage != EpisodeStage.PLANNED)
    ]
