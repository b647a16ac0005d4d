"""Read-only mode of a clinic (portal.state.read_only): pages say so, and nothing is sent to the clinic's system that changes it."""

from __future__ import annotations

from flask import g

from portal.context import context
from portal.services.errors import ReadOnlyMode
from portal.web import audit


def is_read_only() -> bool:
    """Whether nothing may be changed at this request's clinic."""
    tenant = g.get("tenant")
    return tenant is not None and tenant.key in context().read_only.clinics()


def before_act() -> None:
    """Raise Unavailable, before an act is sent, if it must not be: in read-only mode, or if it couldn't be recorded."""
    if is_read_only():
        raise ReadOnlyMode
    audit.assure()
