"""What the store holds of a session: its record, its tokens, and who owned it once it has ended."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import msgspec

from portal.config.tenants import Side
from portal.store.names import hashed_name


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """The person who signed in, from the ID token's claims; times in seconds since 1970.

    `roles_from` is where the roles can be read, "id_token", "userinfo" or both with a space; empty if not known. `acr` and
    `amr` say how they signed in, as far as the identity server tells, and `nonce` is what the portal asked with. `record` is
    the number by which the API names them, if a claim says it.
    """

    sub: str
    issuer: str
    name: str
    given_name: str
    side: Side
    roles: frozenset[str]
    auth_time: float
    sid: str | None = None
    locale: str | None = None
    roles_from: str = ""
    acr: str = ""
    amr: tuple[str, ...] = ()
    nonce: str = ""
    record: str = ""

    @property
    def is_staff(self) -> bool:
        return self.side is Side.STAFF

    @property
    def is_patient(self) -> bool:
        return self.side is Side.PATIENT


class SessionRecord(msgspec.Struct, kw_only=True):
    """A session as stored. `data` is Flask's session: pending toasts, recently opened records.

    `epoch` is a random number of the session, which a fresh sign-in of the same person keeps. `knows_all_episodes` says
    whether all that may mention an episode was searched for `episode_ids`.
    """

    tenant: str
    host: str
    created_at: float
    used_at: float
    epoch: str
    person: Person
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    episode_ids: list[str] = msgspec.field(default_factory=list)
    knows_all_episodes: bool = False
    device: str = ""

    @property
    def tag(self) -> str:
        """What the session's pages and answers are told by: a hash of the epoch, so that it reveals nothing."""
        return base64.urlsafe_b64encode(hashlib.sha256(f"page\0{self.epoch}".encode()).digest()[:9]).decode()


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The owner of a session that ended without a sign-out in its browser."""

    issuer: str
    sub: str
    tenant: str
    host: str

    @classmethod
    def of(cls, record: SessionRecord) -> Ended:
        """The owner of this session."""
        return cls(issuer=record.person.issuer, sub=record.person.sub, tenant=record.tenant, host=record.host)


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """A person's tokens (RFC 6749 §5.1): refreshed from `refresh_at` on, expired at `expires_at` (seconds since 1970).

    `dpop_key` is the private key that they are bound to, as a JWK (RFC 9449).
    """

    access_token: str = msgspec.field(name="a")
    refresh_token: str | None = msgspec.field(default=None, name="r")
    id_token: str | None = msgspec.field(default=None, name="i")
    expires_at: float
    refresh_at: float
    dpop_key: str | None = msgspec.field(default=None, name="k")


def record_name(cookie: str) -> str:
    """The name of the stored session that this cookie belongs to."""
    return hashed_name("session", cookie)


def tokens_name(name: str) -> str:
    """The name of the record that holds the session's tokens."""
    return "tokens:" + name.removeprefix("session:")


def ended_name(name: str) -> str:
    """The name of the record of who owned the session, once it has ended."""
    return "ended:" + name.removeprefix("session:")


def known_people_name(name: str) -> str:
    """The name of the record of the people whom the session knows (`portal/web/known_people.py`)."""
    return "known:" + name.removeprefix("session:")
