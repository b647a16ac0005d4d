"""The passkeys that people confirm their signatures with, for each person and clinic.

Only public keys are kept, sealed like everything in the store. A passkey that wasn't used for two years is forgotten; a
signature that it confirmed carries its public key, so it can be checked for good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import msgspec

from portal.clock import Clock
from portal.state.session_records import Person
from portal.store.vault import Vault

MOST = 10
"""How many a person may have."""

_SECONDS = 2 * 365 * 24 * 3600


class SigningPasskey(msgspec.Struct, frozen=True, kw_only=True):
    """A passkey for the pages of one domain; `id` and `public_key` (COSE) are base64url, times in seconds since 1970.

    `sign_count` is the authenticator's counter (WebAuthn §6.1.1), `last_use` a hash of what it signed last.
    """

    id: str
    domain: str
    public_key: str
    sign_count: int
    is_synced: bool
    device: str
    added_at: float
    used_at: float | None = None
    last_use: bytes = b""

    @property
    def handle(self) -> str:
        """What identifies it in addresses."""
        return hashlib.sha256(f"passkey:{self.id}".encode()).hexdigest()[:32]


class _Held(msgspec.Struct, frozen=True):
    passkeys: tuple[SigningPasskey, ...] = ()


class SigningPasskeys:
    """The passkeys of a clinic's people. Every method may raise StoreDown."""

    def __init__(self, vault: Vault, clock: Clock, tenant: str) -> None:
        self._vault = vault
        self._clock = clock
        self._tenant = tenant

    def of(self, person: Person) -> tuple[SigningPasskey, ...]:
        held = self._vault.get(self._name(person), _Held)
        return held.value.passkeys if held else ()

    def user_handle(self, person: Person) -> bytes:
        """Return what authenticators know the person by: it reveals nothing (WebAuthn §14.6.1)."""
        return self._vault.name("passkey-user", person.issuer, self._tenant, person.sub).encode()

    def add(self, person: Person, passkey: SigningPasskey) -> bool:
        """Add a passkey; return False if it is known already, or the person has as many as they may."""

        def add(held: _Held) -> _Held | None:
            if len(held.passkeys) >= MOST or any(other.id == passkey.id for other in held.passkeys):
                return None
            return _Held((*held.passkeys, passkey))

        return self._change(person, add)

    def remove(self, person: Person, handle: str) -> bool:
        """Remove a passkey; return False if it is gone already."""

        def remove(held: _Held) -> _Held | None:
            left = tuple(passkey for passkey in held.passkeys if passkey.handle != handle)
            return None if left == held.passkeys else _Held(left)

        return self._change(person, remove)

    def use(self, person: Person, id_: str, sign_count: int, use: bytes) -> bool:
        """Take down a use; return False if the passkey is gone, or counted no further since another use.

        A passkey that doesn't count says 0. The same use again, as when a form is sent twice, is no other.
        """

        def count(held: _Held) -> _Held | None:
            passkey = next((passkey for passkey in held.passkeys if passkey.id == id_), None)
            if passkey is None:
                return None
            counts = sign_count > 0 or passkey.sign_count > 0
            if counts and sign_count <= passkey.sign_count and use != passkey.last_use:
                return None
            used = msgspec.structs.replace(
                passkey, sign_count=max(sign_count, passkey.sign_count), used_at=self._clock(), last_use=use
            )
            return _Held(tuple(used if passkey.id == id_ else passkey for passkey in held.passkeys))

        return self._change(person, count)

    def _change(self, person: Person, change: Callable[[_Held], _Held | None]) -> bool:
        expires_at = self._clock() + _SECONDS
        name = self._name(person)
        written = self._vault.update(name, _Held, change, initial=_Held(), expires_at=expires_at)
        return written is not None

    def _name(self, person: Person) -> str:
        return self._vault.name("signing-passkeys", person.issuer, self._tenant, person.sub)
