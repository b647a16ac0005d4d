"""What the portal uses a record's members for, said on their fields; people lose this if an API doesn't send one.

A field's purpose and marks are the metadata of its type: `notes: Annotated[str | None, "notes", STAFF] = None`. A record
names the modules of `portal.views` that show it in `shown_on`. A member without a purpose is ignored.
tests/connect/test_needs.py compares this with the code: members with a purpose are read somewhere, others nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import cast, get_args

import msgspec
from msgspec import structs

from portal.values import Value


class Mark(Enum):
    """Who gets a member, and when."""

    STAFF = "pages show it only to staff"
    NOT_SENT = "the API doesn't send it to patients, or a reason only to whoever gave it"
    SOMETIMES = "the API omits it if it has no value"
    WITHHELD = "withheld while an embryo's sex isn't disclosed"


STAFF, NOT_SENT, SOMETIMES, WITHHELD = Mark

_EVERYWHERE: Mapping[str, str] = {
    "id": "record id in addresses and calls",
    "concurrencyStamp": "sent back with a change, so that nobody overwrites another person's",
    "creationTime": "when it was created; order, and which of two is newer",
    "lastModificationTime": "when it was last changed, shown when two versions conflict",
}


class Use(Value, frozen=True):
    """What a member is used for, and in which modules of `portal.views`."""

    purpose: str
    areas: tuple[str, ...]


def use_of(record: type[object], member: str) -> Use | None:
    """What the portal uses a member of a record for, by its JSON name; None if it ignores it."""
    areas = vars(record).get("shown_on")
    said = [note for note in _said(record).get(member, ()) if isinstance(note, str)]
    purpose = next(iter(said), _EVERYWHERE.get(member))
    return Use(purpose, areas) if areas and purpose else None


def marked(record: type[object], mark: Mark) -> frozenset[str]:
    """The members of a record that have a mark, by their JSON names."""
    return frozenset(member for member, said in _said(record).items() if mark in said)


@cache
def _said(record: type[object]) -> Mapping[str, tuple[object, ...]]:
    return {
        field.encode_name: get_args(field.type)[1:]
        for field in structs.fields(cast("type[msgspec.Struct]", record))
    }
