"""Identifiers of records: UUIDs as text."""

from __future__ import annotations

import uuid

_SAMPLES = uuid.uuid5(uuid.NAMESPACE_URL, "urn:clinic-portal:sample")


def new_id() -> str:
    """A fresh random identifier, 36 characters."""
    return str(uuid.uuid4())


def sample_id(kind: str, name: str) -> str:
    """The identifier of a sample record, the same on every machine: `sample_id("person", "amelia")`."""
    return str(uuid.uuid5(_SAMPLES, f"{kind}:{name}"))
