"""What the care API has of each module that a clinic can switch off: the members of records that it shows."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from portal.config.modules import Module

_MEMBERS = {
    Module.MEDICINES: ("Episode.protocol", "Protocol."),
    Module.CHARTS: ("Episode.monitoring", "MonitoringDay."),
    Module.STORAGE: ("Episode.embryos", "EmbryoStorage."),
    Module.RESULTS: ("Episode.pgtResults", "PgtBrief.", "PgtResult."),
}
"""The members of records that only a module shows; a name that ends with a dot stands for all of that record."""


def is_of(member: str, off: AbstractSet[Module]) -> bool:
    """Whether a member such as `Episode.protocol` is shown by one of these modules only."""
    return any(member.startswith(_MEMBERS.get(module, ())) for module in off)
