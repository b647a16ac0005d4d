"""Refreshes access tokens before they expire, once for all requests that need it at the same time.

A page waits for a refresh only once and within its deadline: a failure is remembered for some seconds for all the
person's calls and tabs. An ID token that comes with it must be for the same person (OpenID Connect Core §12.2).
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from typing import Any, cast

import msgspec
import requests
from authlib.integrations.base_client import OAuthError

from portal import metrics
from portal.clock import Clock
from portal.config.settings import Timeouts
from portal.config.tenants import Tenant
from portal.http import deadline
from portal.services.errors import NotSignedIn, Unavailable
from portal.signin.claims import person_of, userinfo
from portal.signin.discovery import ClientRefused, Provider, ProviderDown, ProviderRefused
from portal.signin.tokens import (
    AnotherPerson,
    Expected,
    SignInFailed,
    oauth_session,
    read_tokens,
    verify_refreshed_id_token,
)
from portal.state.session_records import Person, Tokens
from portal.state.sessions import Session, Sessions
from portal.store import Store

log = logging.getLogger("portal")

_POLL = 0.03
_REMEMBERED_SECONDS = 5.0
"""How long a failure is remembered for all calls and tabs of a session."""


class Refresher:
    """Gets one new access token when many requests need it at once (RFC 6749 §6, with one-time refresh tokens)."""

    def __init__(self, sessions: Sessions, store: Store, timeouts: Timeouts, clock: Clock) -> None:
        self._sessions = sessions
        self._store = store
        self._timeouts = timeouts
        self._clock = clock
        self._stripes = [threading.Lock() for _ in range(256)]

    def refresh(
        self, session: str, seen: Tokens, tenant: Tenant, provider: Provider, *, refused: bool
    ) -> Tokens:
        """Return tokens newer than `seen` for the session with this record name.

        `refused` says that the API rejected the old token, so that it can't be used while another process refreshes.
        Raises NotSignedIn if the session has ended, Unavailable if it continues but there is no token.
        """
        is_usable = not refused and seen.expires_at > self._clock()
        stripe = self._stripes[hash(session) % len(self._stripes)]
        if not stripe.acquire(timeout=0 if is_usable else deadline.left(self._timeouts.read)):
            return self._newer(session, seen) or self._later(seen, "under way", refused=refused)
        try:
            return self._refreshed(session, seen, tenant, provider, refused=refused)
        finally:
            stripe.release()

    def _refreshed(
        self, session: str, seen: Tokens, tenant: Tenant, provider: Provider, *, refused: bool
    ) -> Tokens:
        until = time.monotonic() + deadline.left(self._timeouts.read)
        owner = secrets.token_hex(8)
        lock = f"refresh:{session}"
        while not self._store.lock(lock, owner, seconds=3 * self._timeouts.read):
            newer = self._newer(session, seen)
            if newer:
                return newer
            if time.monotonic() > until or (not refused and seen.expires_at > self._clock()):
                return self._later(seen, "under way", refused=refused)
            time.sleep(_POLL)
        try:
            return self._newer(session, seen) or self._fetch(session, seen, tenant, provider, refused=refused)
        finally:
            self._store.unlock(lock, owner)

    def _newer(self, session: str, seen: Tokens) -> Tokens | None:
        tokens = self._sessions.tokens_of(session)
        if tokens is None:
            raise NotSignedIn
        return tokens if tokens.access_token != seen.access_token else None

    def _fetch(
        self, session: str, seen: Tokens, tenant: Tenant, provider: Provider, *, refused: bool
    ) -> Tokens:
        before, person = self._sessions.tokens_of(session), self._sessions.person_of(session)
        if before is None or person is None:
            raise NotSignedIn
        if not before.refresh_token:
            return self._over(session)
        if self._store.get(_failed(session)):
            return self._later(seen, "failed just now", refused=refused)
        try:
            metadata = provider.metadata()
            client = cast("Any", oauth_session(tenant.client, metadata, self._timeouts))
            with provider.token_call(tenant.client.client_id):
                answer = client.refresh_token(metadata.token_endpoint, refresh_token=before.refresh_token)
            tokens = read_tokens(answer, self._clock(), keep_id_token=tenant.id_token_hint, before=before)
            try:
                newest = self._newest(person, answer, tenant, provider)
            except ProviderDown:
                # Without the keys nothing in the response is trusted except the new refresh token, because the old one
                # is used up (RFC 9700 §4.14.2); the next refresh is verified like this one.
                kept = msgspec.structs.replace(before, refresh_token=tokens.refresh_token)
                self._sessions.replace_tokens(session, before, kept)
                raise
        except OAuthError as error:
            if error.error != "invalid_grant":
                return self._failed(session, seen, "oauth error", refused=refused)
            newer = self._newer(session, seen)
            return newer or self._over(session)
        except ClientRefused:
            return self._failed(session, seen, "client refused", refused=refused, outcome="client-refused")
        except (_RolesGone, AnotherPerson) as error:
            log.warning("session ended at a refresh: %s", error)
            return self._over(session)
        except (
            *(requests.RequestException, ValueError),
            *(ProviderDown, ProviderRefused, SignInFailed),
        ) as error:
            return self._failed(session, seen, type(error).__name__, refused=refused)
        if not self._sessions.replace_tokens(session, before, tokens):
            raise NotSignedIn
        self._sessions.replace_roles(session, newest.roles)
        metrics.refreshed("renewed")
        return tokens

    def _newest(self, person: Person, answer: Any, tenant: Tenant, provider: Provider) -> Person:
        """Return the person with their current roles, if the identity server provides them."""
        metadata, claims = provider.metadata(), {}
        if answer.get("id_token") is not None:
            expected = Expected(tenant.client.client_id, None, answer.get("access_token"))
            claims = verify_refreshed_id_token(
                answer["id_token"],
                provider,
                expected,
                self._clock(),
                sub=person.sub,
                auth_time=person.auth_time,
            )
        if tenant.roles.claim not in claims and metadata.userinfo_endpoint:
            try:
                claims = {**userinfo(metadata, answer, person.sub, self._timeouts), **claims}
            except (
                Unavailable
            ):  # the tokens are valid and the refresh token is new: the next refresh asks again
                log.warning("roles not read at a refresh")
        if tenant.roles.claim not in claims:
            return person
        try:
            newest = person_of(tenant, metadata.issuer, {"sub": person.sub, **claims})
        except SignInFailed as error:
            raise _RolesGone("no role at this clinic any more") from error
        if newest.side is not person.side:
            raise _RolesGone("a role of the other side now")
        return newest

    def _over(self, session: str) -> Tokens:
        metrics.refreshed("ended")
        self._sessions.end_unasked(session)
        raise NotSignedIn

    def _failed(
        self, session: str, seen: Tokens, reason: str, *, refused: bool, outcome: str = "postponed"
    ) -> Tokens:
        """Remember the failure for some seconds for all calls and tabs of the session."""
        self._store.insert(
            _failed(session), reason.encode()[:100], expires_at=self._clock() + _REMEMBERED_SECONDS
        )
        return self._later(seen, reason, refused=refused, outcome=outcome)

    def _later(self, seen: Tokens, reason: str, *, refused: bool, outcome: str = "postponed") -> Tokens:
        """Return the old tokens while they are usable, else raise Unavailable; the session continues either way."""
        metrics.refreshed(outcome)
        if not refused and seen.expires_at > self._clock():
            return seen
        raise Unavailable(f"token refresh: {reason}")


class _RolesGone(Exception):
    """The person may no longer use the portal, or this side of it."""


def _failed(session: str) -> str:
    return f"refresh-failed:{session}"


class SessionBearer:
    """The signed-in person's access token for one page, which tries to refresh it at most once."""

    def __init__(
        self, session: Session, refresher: Refresher, tenant: Tenant, provider: Provider, clock: Clock
    ) -> None:
        if session.name is None or session.tokens is None:
            raise NotSignedIn
        self._name = session.name
        self._tokens = session.tokens
        self._refresher = refresher
        self._tenant = tenant
        self._provider = provider
        self._clock = clock
        self._has_tried = False
        self._failure: Unavailable | None = None

    def token(self) -> str:
        if self._failure is not None:
            raise self._failure
        if not self._has_tried and self._tokens.refresh_at <= self._clock():
            self._refresh(refused=False)
        return self._tokens.access_token

    def renew(self, refused: str) -> str:
        if self._failure is not None:
            raise self._failure
        if self._tokens.access_token == refused:
            self._refresh(refused=True)
        return self._tokens.access_token

    def _refresh(self, *, refused: bool) -> None:
        self._has_tried = True
        try:
            self._tokens = self._refresher.refresh(
                self._name, self._tokens, self._tenant, self._provider, refused=refused
            )
        except Unavailable as failure:
            self._failure = failure
            raise
