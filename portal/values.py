"""What functions give each other: immutable, equal if all members are, made in C; never decoded, sent or kept."""

from __future__ import annotations

from msgspec import Struct


class Value(Struct, frozen=True):
    """The base of values; what is kept in the store or comes from the API is a Struct of its own (portal/struct_types.py)."""
