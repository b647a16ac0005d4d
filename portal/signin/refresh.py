"""Refreshes access tokens before they expire, once for all requests that need it at the same time.

A page waits for a refresh only once and within its deadline: a failure is remembered for some seconds for all the
person's calls and tabs. An ID token that comes with it must be for the same person (OpenID Connect Core §12.2).

A refresh that the identity server refuses ends the session; one that fails in between, with a proxy's page, a 404, 408,
429 or 5xx, doesn't, because a broken proxy would otherwise sign everybody out.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from functools import partial
from typing import Any, cast

import msgspec
import requests
from authlib.integrations.base_client import OAuthError

from portal import metrics
from portal.clock import Clock, lasts
from portal.config.tenants import Tenant
from portal.config.variables import Timeouts
from portal.http import deadline
from portal.services.errors import NotSetUp, NotSignedIn, Unavailable
from portal.signin.claims import ID_TOKEN, USERINFO, NoRole, claim_at, merged, person_of, userinfo
from portal.signin.discovery import ClientRefused, Provider, ProviderDown, ProviderRefused
from portal.signin.dpop import Prover, with_nonce
from portal.signin.errors import AnotherPerson, SignInFailed
from portal.signin.logout import revoke_soon
from portal.signin.signatures import accepted_algorithms
from portal.signin.tokens import Expected, code_for_log, oauth_session, read_tokens, verify_refreshed_id_token
from portal.state.session_records import Person, Tokens
from portal.state.sessions import Session, Sessions
from portal.store import Store

log = logging.getLogger("portal")

_POLL = 0.03
_REMEMBERED_SECONDS = 5.0
"""How long a failure is remembered for all calls and tabs of a session."""

_PASSING = frozenset({"temporarily_unavailable", "server_error", "slow_down"})
"""The error codes that say nothing about the refresh token (RFC 6749 §4.1.2.1, RFC 8628 §3.5)."""

_CALLS = 3
"""How many calls a refresh may make: token, keys and UserInfo. Its lock lasts as long as they may."""

_CLIENT_REFUSED = "client refused"
_UNDER_WAY = "token refresh: under way"


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
            return self._newer(session, seen) or self._later(seen, Unavailable(_UNDER_WAY), refused=refused)
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
        calls = 2 * _CALLS if seen.dpop_key else _CALLS  # each may be repeated for a nonce
        while not self._store.lock(lock, owner, seconds=calls * self._timeouts.read):
            newer = self._newer(session, seen)
            if newer:
                return newer
            if time.monotonic() > until or (not refused and seen.expires_at > self._clock()):
                return self._later(seen, Unavailable(_UNDER_WAY), refused=refused)
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
            return self._over(session, "no refresh token")
        is_usable = not refused and seen.expires_at > self._clock()
        failed = self._store.get(_failed(session))
        if failed and lasts(failed.expires_at, _REMEMBERED_SECONDS, self._clock()):
            kind = NotSetUp if failed.value == _CLIENT_REFUSED.encode() else Unavailable
            return self._later(seen, kind("token refresh: failed just now"), refused=refused)
        tokens: Tokens | None = None
        try:
            metadata = provider.metadata()
            prover = Prover.of(before.dpop_key, provider.nonces)
            client = cast("Any", oauth_session(tenant.client, metadata, self._timeouts, prover=prover))
            refresh = partial(
                client.refresh_token, metadata.token_endpoint, refresh_token=before.refresh_token
            )
            with provider.token_call(tenant.client.client_id):
                answer = with_nonce(refresh)
            tokens = read_tokens(
                answer, self._clock(), keep_id_token=tenant.id_token_hint, before=before, prover=prover
            )
            try:
                newest = self._newest(person, answer, tenant, provider, prover)
            except (ProviderDown, SignInFailed):
                # Nothing in the response is trusted then except the new refresh token, because the old one is used up
                # (RFC 9700 §4.14.2); the next refresh is verified like this one.
                kept = msgspec.structs.replace(before, refresh_token=tokens.refresh_token)
                self._sessions.replace_tokens(session, before, kept)
                raise
        except OAuthError as error:
            code = code_for_log(error.error)
            if error.error in _PASSING:
                return self._failed(session, seen, code, refused=refused)
            newer = self._newer(session, seen)
            return newer or self._over(session, code)
        except ClientRefused:
            return self._failed(session, seen, _CLIENT_REFUSED, refused=refused)
        except (NoRole, AnotherPerson) as error:
            revoke_soon(tenant, provider, tokens, self._timeouts)
            return self._over(session, str(error))
        except SignInFailed as error:
            # The server answers what must not be accepted. While the old token lasts that may pass, as when its new
            # keys aren't published yet; after that only a new sign-in helps, or tells what is wrong.
            if is_usable:
                return self._failed(session, seen, str(error), refused=refused)
            revoke_soon(tenant, provider, tokens, self._timeouts)
            return self._over(session, str(error))
        except (requests.RequestException, ValueError, ProviderDown, ProviderRefused) as error:
            return self._failed(session, seen, type(error).__name__, refused=refused)
        if not self._sessions.replace_tokens(session, before, tokens):
            if kept := self._sessions.tokens_of(session):  # another process was first, after this one's lock
                return kept
            revoke_soon(tenant, provider, tokens, self._timeouts)
            raise NotSignedIn
        self._sessions.replace_roles(session, newest.roles, newest.roles_from)
        metrics.refreshed("renewed")
        return tokens

    def _newest(
        self, person: Person, answer: Any, tenant: Tenant, provider: Provider, prover: Prover | None
    ) -> Person:
        """Return the person with their current roles; as they were, if nothing that was read tells them.

        Providers leave out a claim that would be empty. So the claim's absence means that there are no roles, if it was
        read before from where it is missing now: raises NoRole.
        """
        metadata, claims = provider.metadata(), {}
        claim, read = tenant.roles.claim, set[str]()
        if answer.get("id_token") is not None:
            expected = Expected(
                tenant.client.client_id,
                None,
                answer.get("access_token"),
                algorithms=accepted_algorithms(tenant),
            )
            claims = verify_refreshed_id_token(
                answer["id_token"], provider, expected, self._clock(), of=person
            )
            read.add(ID_TOKEN)
        roles_from = ID_TOKEN
        if claim_at(claims, claim) is None and metadata.userinfo_endpoint:
            try:
                told = userinfo(tenant, provider, answer, person.sub, self._timeouts, prover)
                claims = merged(told, claims, claim)
                read.add(USERINFO)
                roles_from = USERINFO
            except (
                Unavailable
            ):  # the tokens are valid and the refresh token is new: the next refresh asks again
                log.warning("roles not read at a refresh")
        if claim_at(claims, claim) is None:
            known = person.roles_from.split()
            if read.intersection(known) or (not known and read == {ID_TOKEN, USERINFO}):
                raise NoRole(f"the roles are gone from {' and '.join(sorted(read))}")
            return person
        is_gone_from_id_token = roles_from == USERINFO and ID_TOKEN in read
        if roles_from in person.roles_from.split() and not is_gone_from_id_token:
            roles_from = person.roles_from
        newest = person_of(tenant, metadata.issuer, {"sub": person.sub, **claims}, roles_from=roles_from)
        if newest.side is not person.side:
            raise NoRole("a role of the other side now")
        return newest

    def _over(self, session: str, reason: str) -> Tokens:
        log.warning("session ended at a refresh", extra={"reason": reason})
        metrics.refreshed("ended")
        self._sessions.end_unasked(session)
        raise NotSignedIn

    def _failed(self, session: str, seen: Tokens, reason: str, *, refused: bool) -> Tokens:
        """Remember the failure for some seconds for all calls and tabs of the session."""
        log.warning("token refresh failed", extra={"reason": reason})
        self._store.insert(
            _failed(session), reason.encode()[:100], expires_at=self._clock() + _REMEMBERED_SECONDS
        )
        kind = NotSetUp if reason == _CLIENT_REFUSED else Unavailable
        return self._later(seen, kind(f"token refresh: {reason}"), refused=refused)

    def _later(self, seen: Tokens, failure: Unavailable, *, refused: bool) -> Tokens:
        """Return the old tokens while they are usable, else raise `failure`; the session continues either way."""
        metrics.refreshed("client-refused" if isinstance(failure, NotSetUp) else "postponed")
        if not refused and seen.expires_at > self._clock():
            return seen
        raise failure


def _failed(session: str) -> str:
    return f"refresh-failed:{session}"


class SessionBearer:
    """The signed-in person's access token for one page, which tries to refresh it at most once."""

    def __init__(
        self, session: Session, refresher: Refresher, tenant: Tenant, provider: Provider, clock: Clock
    ) -> None:
        if session.name is None or session.tokens is None:
            raise NotSignedIn
        self.prover = Prover.of(session.tokens.dpop_key, provider.nonces)
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
