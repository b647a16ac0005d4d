"""A session with tokens to refresh, and a token endpoint that answers, fails or calls a test meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import msgspec

from portal.config.identity import Client
from portal.config.settings import SessionLimits
from portal.config.tenants import Roles, Side, Tenants
from portal.config.variables import Timeouts
from portal.signin.discovery import Metadata
from portal.signin.dpop import Nonces
from portal.signin.refresh import Refresher
from portal.signin.tokens import Expected
from portal.state.session_records import Tokens, record_name
from portal.state.sessions import Session, Sessions
from portal.store import Store
from portal.store.vault import Vault
from tests.support.builders import person
from tests.support.clock import Clock

ISSUER = "https://id.example"
HOST, CLINIC = "riverside.localhost", "riverside"
NOW = 1_000_000.0
METADATA = Metadata(
    issuer=ISSUER, authorization_endpoint=f"{ISSUER}/a", token_endpoint=f"{ISSUER}/t", jwks_uri=f"{ISSUER}/k"
)
OLD = Tokens(access_token="a0", refresh_token="r0", id_token="i0", expires_at=NOW + 100, refresh_at=NOW + 40)
OVER = msgspec.structs.replace(OLD, expires_at=NOW, refresh_at=NOW - 60)


@dataclass
class Identity:
    """The token endpoint: answers or fails, after calling what a test does meanwhile."""

    metadata_: Metadata = METADATA
    answer: dict[str, Any] = field(
        default_factory=lambda: {"access_token": "a1", "refresh_token": "r1", "expires_in": 600}
    )
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] | Exception = field(default_factory=dict)
    fault: Exception | None = None
    keys_fault: Exception | None = None
    meanwhile: Callable[[], object] = lambda: None
    asked: list[Any] = field(default_factory=list)
    nonces: Nonces = field(default_factory=Nonces)
    verified: dict[str, Any] = field(default_factory=dict)

    def metadata(self) -> Metadata:
        return self.metadata_

    @contextmanager
    def token_call(self, client_id: str) -> Any:
        assert client_id == "portal"
        yield

    def refresh_token(self, url: str, *, refresh_token: str) -> dict[str, Any]:
        self.asked.append((url, refresh_token))
        self.meanwhile()
        if self.fault:
            raise self.fault
        return self.answer

    def verify(
        self, token: str, _provider: object, expected: Expected, now: float, **of: Any
    ) -> dict[str, Any]:
        self.verified = {"token": token, "expected": expected, "now": now, **of}
        if self.keys_fault:
            raise self.keys_fault
        return self.claims

    def told(
        self,
        _tenant: object,
        provider: object,
        answer: object,
        sub: str,
        _timeouts: Timeouts,
        _prover: object,
    ) -> dict[str, Any]:
        assert (provider, answer, sub) == (self, self.answer, "amelia")
        self.asked.append("userinfo")
        if isinstance(self.userinfo, Exception):
            raise self.userinfo
        return self.userinfo


TENANT: Any = SimpleNamespace(
    profile=None,
    client=Client("portal", "secret"),
    id_token_hint=True,
    roles=Roles(staff=frozenset({"nurse"})),
    record_claim=None,
)


class RefreshedSession:
    """A session of Amelia's with tokens, and the refresher of these."""

    def __init__(self, store: Store, clock: Clock, identity: Identity) -> None:
        limits = dict.fromkeys(Side, SessionLimits(1800, 43200))
        self.clock, self.store, self.identity = clock, store, identity
        self.sessions = Sessions(Vault(store, ("k" * 40,)), Tenants({}, {}), limits, clock)
        self.takes_at_most(5)
        self.here = Session(self.sessions, None, CLINIC, HOST)

    def takes_at_most(self, seconds: float) -> None:
        """Limit calls of the identity server, and waiting for another's call, to so many seconds."""
        self.refresher = Refresher(self.sessions, self.store, Timeouts(read=seconds), self.clock)

    def signed_in(self, tokens: Tokens = OLD, **more: Any) -> str:
        who = person(**{"roles": frozenset({"patient"}), "auth_time": 7.0, **more})
        self.here.sign_in(who, tokens, device="")
        assert self.here.fresh_cookie
        self.name = record_name(self.here.fresh_cookie)
        return self.name

    def renew(self, seen: Tokens = OLD, *, refused: bool = False) -> Tokens:
        provider: Any = self.identity
        return self.refresher.refresh(self.name, seen, TENANT, provider, refused=refused)

    @property
    def kept(self) -> Tokens | None:
        return self.sessions.tokens_of(self.name)

    @property
    def is_over(self) -> bool:
        assert self.here.fresh_cookie
        return Session(self.sessions, self.here.fresh_cookie, CLINIC, HOST).person is None
