"""For what the portal reads each member of a record: what is lost on which pages where an API doesn't give it.

Areas are the modules of `portal.views`. A member that isn't listed is ignored. tests/services/test_contract.py holds the
list against the code: what is listed is read somewhere, what isn't is read nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from portal.services.uses.people import PEOPLE
from portal.services.uses.treatment import TREATMENT

_EVERYWHERE: Mapping[str, str] = {
    "id": "names the record in addresses and calls",
    "concurrencyStamp": "sent back with a change, so that nobody overwrites another's",
    "creationTime": "when it was made: order, and which of two is newer",
    "lastModificationTime": "when it was last changed, beside two versions that differ",
}

_USES = {**TREATMENT, **PEOPLE}


@dataclass(frozen=True, slots=True)
class Use:
    """For what a member is read, and in which areas of the portal."""

    purpose: str
    areas: tuple[str, ...]


def use_of(record: str, member: str) -> Use | None:
    """For what the portal reads a member; None where it ignores it."""
    areas, purposes = _USES.get(record, ("", {}))
    purpose = purposes.get(member) or (_EVERYWHERE.get(member) if record in _USES else None)
    return Use(purpose, tuple(areas.split())) if purpose else None
