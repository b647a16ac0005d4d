"""The audit record of a request: what was done, by whom, to what."""

from __future__ import annotations

from flask import g

from portal.parts import parts
from portal.sessions import Person


def note(
    event: str, outcome: str, *, person: Person | None = None, kind: str | None = None, id_: str | None = None
) -> None:
    """Record an event of this request; the person is the signed-in one unless given."""
    actor = person or g.get("person")
    parts().audit.record(
        event,
        outcome,
        tenant=g.tenant.key if "tenant" in g else "-",
        request_id=g.request_id,
        actor=actor.sub if actor else None,
        role=",".join(sorted(actor.roles)) if actor else None,
        kind=kind,
        id_=id_,
    )
