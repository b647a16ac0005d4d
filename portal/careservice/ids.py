"""Identifiers of records: UUIDs as text."""

from __future__ import annotations

import uuid
from typing import Annotated

import msgspec

GivenId = Annotated[
    str,
    msgspec.Meta(
        extra_json_schema={
            "format": "uuid",
            "pattern": "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$",
        }
    ),
]
"""An id in a request; it is compared as it is stored, in lower case."""

_SAMPLES = uuid.uuid5(uuid.NAMESPACE_URL, "urn:clinic-portal:sample")


def new_id() -> str:
    """A fresh random identifier, 36 characters."""
    return str(uuid.uuid4())


def sample_id(kind: str, name: str) -> str:
    """The identifier of a sample record, the same on every machine: `sample_id("person", "amelia")`."""
    return str(uuid.uuid5(_SAMPLES, f"{kind}:{name}"))
