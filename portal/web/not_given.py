"""Whether a member's absence says nothing, so that no page takes it for "none"."""

from __future__ import annotations

from flask import g

from portal.context import context
from portal.services.modules import is_of
from portal.web import modules


def not_given(*members: str) -> bool:
    """Return whether the absence of this member (such as `Episode.alerts`), or of all these, means nothing: the API has never sent
    it, or what it sent now can't be read.

    Asked of the endpoints that this page was read from."""
    return all(map(_is_not_given, members))


def _is_not_given(member: str) -> bool:
    if "tenant" not in g or is_of(member, modules.off()):
        return False
    if member in g.get("lost_members", ()):
        return True
    return context().answers.members.is_not_given(g.tenant.key, member, g.get("endpoints_read", ()))
