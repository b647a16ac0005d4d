"""What people lose on the portal's pages where a member doesn't come: by what the portal reads it for, and where."""

from __future__ import annotations

from portal.services.uses import use_of


def loss_of(member: str) -> str | None:
    """What is lost without a member ("Episode.alerts"), and on which pages; None where the portal has no use for it."""
    kind, _, name = member.partition(".")
    use = use_of(kind, name)
    if use is None:
        return None
    pages = ", ".join(area.replace("_", " ") for area in use.areas)
    return f"{member}: {use.purpose} (on {pages})"
