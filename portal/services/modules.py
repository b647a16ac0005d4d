"""What the care API has of each module that a clinic can switch off: its endpoints, and its part of an episode."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from portal.config.modules import Module
from portal.services.records.episodes import Episode

_MEMBERS = {
    Module.MEDICINES: ("Episode.protocol", "Protocol."),
    Module.CHARTS: ("Episode.monitoring", "MonitoringDay."),
    Module.STORAGE: ("Episode.embryos", "EmbryoStorage."),
    Module.RESULTS: ("Episode.pgtResults", "PgtBrief.", "PGTResult."),
}
"""The members of records that only a module shows; a name that ends with a dot stands for all of that record."""


def is_of(member: str, off: AbstractSet[Module]) -> bool:
    """Whether a member such as `Episode.protocol` is shown by one of these modules only."""
    return any(member.startswith(_MEMBERS.get(module, ())) for module in off)


def without(episode: Episode, off: AbstractSet[Module]) -> Episode:
    """The episode as if the clinic's system had nothing of these modules: what isn't there is shown nowhere."""
    if not off:
        return episode
    embryos = () if Module.STORAGE in off else episode.embryos
    if Module.RESULTS in off:
        embryos = tuple(replace(embryo, pgt_result_id=None) for embryo in embryos)
    return replace(
        episode,
        embryos=embryos,
        protocol=None if Module.MEDICINES in off else episode.protocol,
        monitoring=() if Module.CHARTS in off else episode.monitoring,
        pgt_results=() if Module.RESULTS in off else episode.pgt_results,
    )
