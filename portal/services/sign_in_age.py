"""The maximum age of a sign-in, in seconds, for acts that can't be undone (RFC 9470)."""

from __future__ import annotations

FRESH = 300
"""For irreversible acts."""

FRESH_AT_WORK = 1200
"""For signatures by clinicians and witnesses, who give many in a row."""
