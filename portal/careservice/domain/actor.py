"""On whose behalf the rules are asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Actor:
    """A person at a clinic, as the rules see one; `sub` is None for a server that acts for nobody."""

    sub: str | None
    tenant_id: str
    is_staff: bool
    is_admin: bool = False

    @property
    def person_id(self) -> str:
        """The person's `sub`; only acts that are a person's ask for it."""
        if self.sub is None:
            raise LookupError("nobody's act")
        return self.sub
