"""The audit record of a request: what was done, by whom, to what."""

from __future__ import annotations

import re

from flask import g

from portal.context import context
from portal.operate import metrics
from portal.state.sessions import Person

_OPAQUE = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26}|[0-9]{1,9}", re.IGNORECASE
)
"""An id that says nothing about anyone: a UUID (RFC 9562), a ULID or a short number."""


def note(
    event: str, outcome: str, *, person: Person | None = None, kind: str | None = None, id_: str | None = None
) -> None:
    """Record an event of this request; the person is the signed-in one unless given.

    An address may name any id, so that one of another shape is recorded under a pseudonym.
    """
    actor = person or g.get("person")
    if outcome == "refused":
        g.is_refusal_noted = True
    metrics.event(event, outcome)
    context().audit.record(
        event,
        outcome,
        tenant=g.tenant.key if "tenant" in g else "-",
        request_id=g.request_id,
        actor=actor.sub if actor else None,
        role=",".join(sorted(actor.roles)) if actor else None,
        kind=kind,
        id_=_opaque(id_) if id_ else None,
    )


def note_refusal(event: str, outcome: str) -> None:
    """Record that the API refused, unless the handler has said so itself of what it tried."""
    if not g.get("is_refusal_noted"):
        note(event, outcome)


def _opaque(id_: str) -> str:
    return id_ if _OPAQUE.fullmatch(id_) else f"~{context().audit.pseudonym(id_)}"
