"""Whether a member's absence says nothing, so that no page takes it for "none"."""

from __future__ import annotations

from flask import g

from portal.config.modules import Module
from portal.context import context
from portal.web import modules

_MEMBERS = {
    Module.MEDICINES: ("Episode.protocol", "Protocol."),
    Module.CHARTS: ("Episode.monitoring", "MonitoringDay."),
    Module.STORAGE: ("Episode.embryos", "EmbryoStorage."),
    Module.RESULTS: ("Episode.pgtResults", "PgtBrief.", "PgtResult."),
}
"""The members of records that only a module shows; a name that ends with a dot stands for all of that record."""


def not_given(*members: str) -> bool:
    """Return whether the absence of this member (such as `Episode.alerts`), or of all these, means nothing: the API has never sent
    it, or what it sent now can't be read.

    Asked of the endpoints that this page was read from."""
    return all(map(_is_not_given, members))


def _is_not_given(member: str) -> bool:
    if "tenant" not in g or _is_switched_off(member):
        return False
    if member in g.get("lost_members", ()):
        return True
    return context().answers.members.is_not_given(g.tenant.key, member, g.get("endpoints_read", ()))


def _is_switched_off(member: str) -> bool:
    """Whether a member such as `Episode.protocol` is shown only by a module that this clinic has switched off."""
    return any(member.startswith(_MEMBERS.get(module, ())) for module in modules.off())
