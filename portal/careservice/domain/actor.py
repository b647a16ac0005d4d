"""The person or server on whose behalf the rules are applied."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Actor:
    """A person at a clinic, as the rules need it; `sub` is None for a server that acts on nobody's behalf.

    `acr` and `amr` tell how the person signed in (RFC 9068 §2.2.1).
    """

    sub: str | None
    tenant_id: str
    is_staff: bool
    is_admin: bool = False
    acr: str | None = None
    amr: tuple[str, ...] = ()

    @property
    def person_id(self) -> str:
        """The person's `sub`; raises LookupError for a server."""
        if self.sub is None:
            raise LookupError("a server has no person_id")
        return self.sub
