"""What of a record is sent to change it: nothing that would erase what the API keeps to itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec

from portal.services.api import AnyEndpoint

Members = Mapping[str, object]
"""A record as JSON values, by the portal's names."""


def written(endpoint: AnyEndpoint, body: object) -> object:
    """The body without the members that this endpoint isn't to be sent."""
    if not endpoint.without and not endpoint.if_known:
        return body
    members = members_in(body)
    left_out = endpoint.without | {name for name in endpoint.if_known if members[name] is None}
    return {name: value for name, value in members.items() if name not in left_out}


def without_empty(endpoint: AnyEndpoint, body: object, before: object) -> Members:
    """The body without what is as empty as it was `before`: it may never have come, and an empty value may erase what it is.

    Of a record within it only what is missing is left out: an API may need all that it has of it, though empty.
    """
    was = members_in(before)
    return {
        name: kept
        for name, value in members_in(body).items()
        if (kept := _without_missing(value, was.get(name))) not in (None, "", {})
        or name in endpoint.always
        or was.get(name) != value
    }


def _without_missing(value: object, was: object) -> object:
    if not isinstance(value, dict) or not isinstance(was, dict):
        return cast("object", value)
    held = cast("Members", was)
    return {
        name: part
        for name, part in cast("Members", value).items()
        if part is not None or held.get(name) is not None
    }


def members_in(record: object) -> Members:
    """A record as JSON values."""
    return cast("Members", msgspec.to_builtins(record))
