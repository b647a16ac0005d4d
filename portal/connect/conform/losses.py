"""What the portal's pages lack when a member is missing: what the portal uses it for, and where."""

from __future__ import annotations

from portal.connect.dialects.shapes import use_of_member


def loss_of(member: str) -> str | None:
    """What is lost without a member ("Episode.alerts"), and on which pages; None if the portal doesn't use it."""
    use = use_of_member(member)
    if use is None:
        return None
    pages = ", ".join(area.replace("_", " ") for area in use.areas)
    return f"{member}: {use.purpose} (on {pages})"
