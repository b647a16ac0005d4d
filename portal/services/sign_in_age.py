"""How many seconds ago somebody may have signed in at most, to do what can't be taken back (RFC 9470)."""

from __future__ import annotations

FRESH = 300
"""For a grave act."""

FRESH_AT_WORK = 1200
"""For a clinician's or a witness's signature, of which they give many in a row."""
