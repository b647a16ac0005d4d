"""Builds the addresses of calls: an endpoint's path with ids, and its query string."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from portal.services.api import Query
from portal.services.errors import NotFound


def path_text(template: str, ids: Mapping[str, str]) -> str:
    """Return the path with the ids filled in; raise NotFound for an id that would change the path's structure."""
    path = template
    for name, value in ids.items():
        if value in ("", ".", ".."):  # resolved to another path (RFC 3986 §5.2.4)
            raise NotFound
        path = path.replace(f"{{{name}}}", quote(value, safe=""))
    return path


def query_text(query: Query | None) -> str:
    """Return the query string with its question mark, or an empty string."""
    pairs: list[tuple[str, str]] = []
    for name, value in (query or {}).items():
        if value is None:
            continue
        if isinstance(value, bool):
            pairs.append((name, "true" if value else "false"))
        elif isinstance(value, str | int):
            pairs.append((name, str(value)))
        else:
            pairs += [(name, item) for item in value]
    return f"?{urlencode(pairs)}" if pairs else ""
