"""Booking links: a signed address that lets one enquirer choose one appointment, until it expires.

The address holds the clinic, the enquiry's opaque id, the expiry and a number of its own, nothing personal. It is
signed, not encrypted (itsdangerous, HMAC-SHA-256): the first of the portal's secret keys signs, every one verifies,
so that links outlive a change of keys. What became of a link is a record in the store that lives as long as the
link does, so that one link books once, whoever opens it and however often.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
from itsdangerous import BadSignature, URLSafeSerializer

from portal.clock import Clock
from portal.operations import State
from portal.store.vault import Vault

_LONGEST = 1024
_KEPT_SECONDS = 48 * 3600
"""How long the receipt can be read after the link has expired."""


@dataclass(frozen=True, slots=True)
class BookingLink:
    """What a link says: whose enquiry at which clinic, until when; `id` is the link's own."""

    id: str
    clinic: str
    prospect_id: str
    expires_at: datetime


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a link: the window that was asked for, when, and whether the clinic has confirmed it."""

    state: State
    start: datetime
    end: datetime
    with_whom: str
    where: str = ""
    asked_at: float = 0.0
    window: str = ""


class _Signed(msgspec.Struct, frozen=True):
    """The part of the address that is signed; short names, because people copy it."""

    i: str
    c: str
    p: str
    e: int


class BookingLinks:
    """Makes, reads and uses up the links of all clinics."""

    def __init__(self, secret_keys: tuple[str, ...], vault: Vault, clock: Clock) -> None:
        self._serializer = URLSafeSerializer(
            list(reversed(secret_keys)),  # itsdangerous signs with the last
            salt="booking-link",
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )
        self._vault = vault
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

    def use_of(self, link: BookingLink) -> Use | None:
        """Return what became of the link, or None while it is unused."""
        held = self._vault.get(_name(link), Use)
        return held.value if held else None

    def claim(self, link: BookingLink, use: Use) -> bool:
        """Take the right to book by this link: of many posts one alone gets True."""
        return self._vault.insert(_name(link), use, expires_at=link.expires_at.timestamp() + _KEPT_SECONDS)

    def release(self, link: BookingLink) -> None:
        """Nothing was booked: the link can be used again."""
        self._vault.delete(_name(link))

    def settle(self, link: BookingLink, state: State) -> None:
        """Keep how the act ended: done, or unknown because no answer came."""
        held = self._vault.get(_name(link), Use)
        if held is not None:
            ended = msgspec.structs.replace(held.value, state=state)
            self._vault.replace(_name(link), ended, version=held.version, expires_at=held.expires_at)


def _name(link: BookingLink) -> str:
    return "booking-link:" + hashlib.sha256(f"{link.clinic}\0{link.id}".encode()).hexdigest()
