"""Booking links: a signed address that lets one enquirer choose one appointment, until it expires.

The address holds the clinic, the enquiry's opaque id, the expiry and a number of its own, nothing personal. It is
signed, not encrypted (itsdangerous, HMAC-SHA-256): the first of the portal's secret keys signs, every one verifies,
so that links outlive a change of keys. What became of a link is the operation (`portal.state.operations`) of its id, so
that one link books once, whoever opens it and however often.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
from itsdangerous import BadSignature, URLSafeSerializer

from portal.clock import Clock

_LONGEST = 1024
_RECEIPT = timedelta(days=2)
OWNER = "booking link"
"""Whose operations those of links are."""


@dataclass(frozen=True, slots=True)
class BookingLink:
    """What a link says: whose enquiry at which clinic, until when; `id` is the link's own."""

    id: str
    clinic: str
    prospect_id: str
    expires_at: datetime

    @property
    def purpose(self) -> str:
        """What its operation is for."""
        return f"book:{self.clinic}:{self.prospect_id}"

    @property
    def receipt_ends_at(self) -> datetime:
        """Until when what was booked can be looked up."""
        return self.expires_at + _RECEIPT


class _Signed(msgspec.Struct, frozen=True):
    """The part of the address that is signed; short names, because people copy it."""

    i: str
    c: str
    p: str
    e: int


class BookingLinks:
    """Makes and reads the links of all clinics."""

    def __init__(self, secret_keys: tuple[str, ...], clock: Clock) -> None:
        self._serializer = URLSafeSerializer(
            list(reversed(secret_keys)),  # itsdangerous signs with the last
            salt="booking-link",
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )
        self._clock = clock

    def make(self, *, clinic: str, prospect_id: str, lifetime: timedelta) -> str:
        """Return the signed text of a new link."""
        expires_at = int(self._clock() + lifetime.total_seconds())
        signed = _Signed(i=secrets.token_urlsafe(9), c=clinic, p=prospect_id, e=expires_at)
        return str(self._serializer.dumps(msgspec.to_builtins(signed)))

    def read(self, signed: str, *, clinic: str) -> BookingLink | None:
        """Return the link, be it expired or not; None when it was not made here for this clinic."""
        if len(signed) > _LONGEST:
            return None
        try:
            said = msgspec.convert(self._serializer.loads(signed), _Signed)
        except (BadSignature, msgspec.ValidationError):
            return None
        if said.c != clinic:
            return None
        return BookingLink(said.i, said.c, said.p, datetime.fromtimestamp(said.e, UTC))

    def is_expired(self, link: BookingLink) -> bool:
        """Whether nothing can be booked by it any more."""
        return self._clock() >= link.expires_at.timestamp()
