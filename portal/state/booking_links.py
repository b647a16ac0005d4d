"""Booking links: a signed address that lets one enquirer choose one appointment, until it expires.

The address holds the clinic, the enquiry's opaque id, the expiry and the link's own random id, nothing personal. It is
signed, not encrypted (itsdangerous, HMAC-SHA-256): the first of the portal's secret keys signs and all of them verify,
so that links survive key rotation. A link's state is the operation (`portal.state.operations`) with its id, so that a
link books only once, whoever opens it and however often.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime, timedelta

import msgspec
from itsdangerous import BadSignature, URLSafeSerializer

from portal.clock import Clock
from portal.values import Value

_LONGEST = 1024
_RECEIPT = timedelta(days=2)
OWNER = "booking link"
"""The owner of the links' operations."""


class BookingLink(Value, frozen=True):
    """The content of a link: the clinic, the enquiry and the expiry; `id` is the link's own."""

    id: str
    clinic: str
    prospect_id: str
    expires_at: datetime

    @property
    def purpose(self) -> str:
        return f"book:{self.clinic}:{self.prospect_id}"

    def receipt_ends_at(self, visit_ends: datetime) -> datetime:
        """When the booking of a visit can no longer be looked up through the link, which may expire weeks before it."""
        return max(self.expires_at, visit_ends) + _RECEIPT


class _Signed(msgspec.Struct, frozen=True):
    """The signed payload; its names are short because people copy the address."""

    i: str
    c: str
    p: str
    e: int


class BookingLinks:
    """Creates and reads the links of all clinics."""

    def __init__(self, secret_keys: tuple[str, ...], clock: Clock) -> None:
        self._serializer = URLSafeSerializer(
            list(reversed(secret_keys)),  # itsdangerous signs with the last
            salt="booking-link",
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )
        self._clock = clock

    def make(self, *, clinic: str, prospect_id: str, lifetime: timedelta) -> str:
        """Return a new link in its signed form."""
        expires_at = int(self._clock() + lifetime.total_seconds())
        signed = _Signed(i=secrets.token_urlsafe(9), c=clinic, p=prospect_id, e=expires_at)
        return str(self._serializer.dumps(msgspec.to_builtins(signed)))

    def read(self, signed: str, *, clinic: str) -> BookingLink | None:
        """Return the link, expired or not; None if the signature is wrong or it is for another clinic."""
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
        """Whether it can no longer be used to book."""
        return self._clock() >= link.expires_at.timestamp()
