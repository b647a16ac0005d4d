"""What an act, or the API, demands of the person's sign-in (RFC 9470)."""

from __future__ import annotations

from portal.config.strong_sign_in import Act, Strength
from portal.values import Value

FRESH = 300
"""The maximum age of a sign-in, in seconds, for irreversible acts (RFC 9470)."""
FRESH_AT_WORK = 1200
"""The same for signatures by clinicians and witnesses, who give many in a row."""


class Demand(Value, frozen=True):
    """A sign-in at most `max_age` seconds old, and as strong as the clinic asks for `act`, or as `strength` says.

    `kind` is that of the consent form, if the act is signing one.
    """

    max_age: int | None = None
    act: Act | None = None
    kind: str | None = None
    strength: Strength | None = None
