"""What the portal uses each member of a record for, and on which pages; people lose this if an API doesn't send it.

Areas are the modules of `portal.views`. Members that aren't listed are ignored. tests/services/test_contract.py checks
the list against the code: listed members are read somewhere, others nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from portal.services.uses.people import PEOPLE
from portal.services.uses.treatment import TREATMENT

_EVERYWHERE: Mapping[str, str] = {
    "id": "record id in addresses and calls",
    "concurrencyStamp": "sent back with a change, so that nobody overwrites another person's",
    "creationTime": "when it was created; order, and which of two is newer",
    "lastModificationTime": "when it was last changed, shown when two versions conflict",
}

_USES = {**TREATMENT, **PEOPLE}


@dataclass(frozen=True, slots=True)
class Use:
    """What a member is used for, and in which areas of the portal."""

    purpose: str
    areas: tuple[str, ...]


def use_of(record: str, member: str) -> Use | None:
    """What the portal uses a member for; None if it ignores it."""
    areas, purposes = _USES.get(record, ("", {}))
    purpose = purposes.get(member) or (_EVERYWHERE.get(member) if record in _USES else None)
    return Use(purpose, tuple(areas.split())) if purpose else None
