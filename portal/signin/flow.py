"""Signing in: Authorization Code with PKCE (OpenID Connect Core §3.1, RFC 7636, RFC 9126, RFC 9207).

`start` sends the browser to the identity server; `finish` handles the response that it brings back. In between, state,
nonce and verifier are stored in one record per browser, bound to it by a short-lived cookie, for at most five sign-ins.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec
import requests
from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError

from portal.clock import Clock, age
from portal.config.strong_sign_in import Strength
from portal.config.tenants import Tenant
from portal.config.variables import Timeouts
from portal.parse import is_local
from portal.services.demand import FRESH
from portal.services.errors import Unavailable
from portal.signin.claims import (
    ID_TOKEN,
    USERINFO,
    NoRole,
    claim_at,
    is_of_clinic,
    merged,
    person_of,
    userinfo,
)
from portal.signin.discovery import ClientRefused, Provider, ProviderDown, ProviderRefused, Providers
from portal.signin.dpop import Prover, with_nonce
from portal.signin.errors import NotStrong, SignInFailed
from portal.signin.pushed_requests import are_used, push
from portal.signin.signatures import accepted_algorithms
from portal.signin.tokens import LEEWAY, Expected, code_for_log, oauth_session, read_tokens, verify_id_token
from portal.state.session_records import Person, Tokens
from portal.state.sign_outs import SignOuts
from portal.store.names import hashed_name
from portal.store.vault import Vault
from portal.values import Value

BROWSER_COOKIE = "__Host-signin"

_UNMET = "unmet_authentication_requirements"
"""The error of a server that can't sign the person in as strongly as asked for (OpenID Connect Unmet Authentication
Requirements 1.0)."""

_LIFETIME = 15 * 60
_AT_MOST = 5
_LOOP_RETURNS, _LOOP_RETURNS_SIGNED_IN = 3, 10
"""Who is signed in may sign in again for one form after the other, or hand over to somebody else, but not for ever."""
_LOOP_SECONDS = 60
_COOKIE = re.compile(r"[A-Za-z0-9_-]{43}")


class SignInLoop(Exception):
    """The browser has returned from the identity server again and again in a minute, and wants to sign in once more."""


class PasswordNeeded(Exception):
    """The identity server let someone in by a sign-in that doesn't count any more: they have to enter the password.

    `next` and `whose` are those of the sign-in; `tokens` came with it and aren't used.
    """

    def __init__(self, next_path: str, whose: tuple[str, str] | None, tokens: Tokens) -> None:
        super().__init__("sign-in too old")
        self.next = next_path
        self.whose = whose
        self.tokens = tokens


class StrengthNeeded(Exception):
    """The person's roles need a stronger sign-in than was asked for: they have to be asked for it now.

    `next`, `whose` and `tokens` are as in PasswordNeeded.
    """

    def __init__(
        self, next_path: str, whose: tuple[str, str] | None, tokens: Tokens, strength: Strength
    ) -> None:
        super().__init__("sign-in too weak")
        self.next = next_path
        self.whose = whose
        self.tokens = tokens
        self.strength = strength


class Transaction(msgspec.Struct, frozen=True, kw_only=True):
    """One pending sign-in; times in seconds since 1970. `whose` is the owner of the page `next`, if known: issuer and
    `sub`. `is_second` follows one that didn't count, and asks for the password. `strength` is what it has to have.
    `dpop_key` is the key that its tokens are to be bound to."""

    state: str
    nonce: str
    verifier: str
    next: str
    redirect_uri: str
    tenant: str
    started_at: float
    fresh: bool
    whose: tuple[str, str] | None = None
    is_second: bool = False
    strength: Strength | None = None
    dpop_key: str | None = None

    @property
    def follows_another(self) -> bool:
        """Whether it began at the return of one that wasn't enough, without a page in between."""
        return self.is_second or (self.strength is not None and not self.fresh)


class Browser(msgspec.Struct, frozen=True, kw_only=True):
    """The pending sign-ins of one browser, and when it last returned."""

    under_way: list[Transaction]
    returns: list[float]


class Started(Value, frozen=True):
    """Where to send the browser, and the cookie that binds the sign-in to it."""

    location: str
    cookie: str


class Finished(Value, frozen=True):
    """A successful sign-in: the person, the tokens, and where to go: back to the page left, if it was this person's."""

    person: Person
    tokens: Tokens
    next: str
    fresh: bool


def local_path(address: str | None) -> str:
    """Return the address if it is a path on this portal, else `/`; prevents open redirects."""
    return address if address and len(address) < 2000 and is_local(address) else "/"


class SignIn:
    """Starts and finishes sign-ins at the clinics' identity servers."""

    def __init__(
        self, vault: Vault, providers: Providers, timeouts: Timeouts, clock: Clock, *, max_age: int
    ) -> None:
        """Take sign-ins that are at most `max_age` seconds old when the person comes from the portal."""
        self._vault = vault
        self._sign_outs = SignOuts(vault, clock)
        self._max_age = max_age
        self._providers = providers
        self._timeouts = timeouts
        self._clock = clock

    def start(
        self,
        tenant: Tenant,
        *,
        redirect_uri: str,
        next_path: str,
        cookie: str | None,
        language: str,
        fresh: bool = False,
        is_another: bool = False,
        login_hint: str | None = None,
        whose: tuple[str, str] | None = None,
        is_signed_in: bool = False,
        is_second: bool = False,
        strength: Strength | None = None,
    ) -> Started:
        """Start a sign-in; `fresh` requires the password again, and so does the second after PasswordNeeded. It has to be
        as strong as `strength` says. One that `is_another`'s asks for no name that the identity server remembers.

        Raises SignInLoop, ProviderDown or ProviderRefused.

        `whose` (issuer and `sub`) is the owner of the page `next_path`: anyone else is sent to the home page. A browser where
        somebody `is_signed_in` keeps cookies.
        """
        provider = self.provider(tenant)
        metadata = provider.metadata()
        cookie = cookie if cookie and _COOKIE.fullmatch(cookie) else secrets.token_urlsafe(32)
        prover = Prover.new(provider.nonces) if tenant.dpop else None
        transaction = Transaction(
            state=generate_token(43),
            nonce=generate_token(43),
            verifier=generate_token(64),
            next=local_path(next_path),
            redirect_uri=redirect_uri,
            tenant=tenant.key,
            started_at=self._clock(),
            fresh=fresh,
            whose=whose,
            is_second=is_second,
            strength=strength,
            dpop_key=prover.kept if prover else None,
        )
        most = _LOOP_RETURNS_SIGNED_IN if is_signed_in else _LOOP_RETURNS
        # Its record may belong to processes with newer secret keys.
        if not self._remember(cookie, transaction, most):
            cookie = secrets.token_urlsafe(32)
            self._remember(cookie, transaction, most)
        params: dict[str, str] = {
            **tenant.authorize_params,
            "nonce": transaction.nonce,
            "ui_locales": language,
            "max_age": str(FRESH if fresh else self._max_age),
        }
        if strength and strength.acr:
            params["acr_values"] = " ".join((*params.get("acr_values", "").split(), *strength.acr))
        if metadata.claims_parameter_supported:
            params.setdefault("claims", _claims(strength))
        if fresh or is_second:
            params["prompt"] = "login"
        if is_another and "select_account" in (metadata.prompt_values_supported or ()):
            params["prompt"] = "login select_account"
        if login_hint:
            params["login_hint"] = login_hint
        if prover:
            params["dpop_jkt"] = prover.thumbprint
        client = oauth_session(
            tenant.client,
            metadata,
            self._timeouts,
            scope=tenant.scope,
            redirect_uri=redirect_uri,
            prover=prover,
        )
        location, _ = cast("Any", client).create_authorization_url(
            metadata.authorization_endpoint,
            state=transaction.state,
            code_verifier=transaction.verifier,
            **params,
        )
        if are_used(tenant, metadata):
            location = push(client, tenant, provider, location)
        return Started(location, cookie)

    def finish(self, tenant: Tenant, *, cookie: str | None, answer: Mapping[str, str]) -> Finished | None:
        """Complete the sign-in that this authorization response belongs to; None if the browser has none.

        Raises SignInFailed if the response must not be accepted, NoRole if it is of somebody without access, Unavailable if
        the identity server fails, ClientRefused if it rejects the portal's client, PasswordNeeded if it asked for no password
        but should have, StrengthNeeded if the person's roles need a stronger sign-in.
        """
        transaction = self._take(cookie, answer.get("state", ""))
        if transaction is None or transaction.tenant != tenant.key:
            return None
        try:
            return self._complete(tenant, transaction, answer)
        except ClientRefused:
            raise
        except (ProviderDown, ProviderRefused) as error:
            raise Unavailable(f"identity server: {error}") from error

    def forget(self, cookie: str | None) -> None:
        """Drop this browser's pending sign-ins, after a sign-out or to start over."""
        if cookie:
            self._vault.delete(_browser_name(cookie))

    def provider(self, tenant: Tenant) -> Provider:
        """Return the clinic's identity server."""
        return self._providers.of(tenant.auth_url, tenant.identity_origins)

    def _complete(self, tenant: Tenant, transaction: Transaction, answer: Mapping[str, str]) -> Finished:
        provider = self.provider(tenant)
        metadata = provider.metadata()
        issuer = answer.get("iss")
        names_issuer = metadata.authorization_response_iss_parameter_supported
        if issuer is None and (names_issuer or tenant.profile):  # FAPI 2.0 Security Profile §5.3.3.2
            raise SignInFailed("answer without iss")
        if issuer is not None and issuer != metadata.issuer:
            raise SignInFailed("answer of another issuer")
        if answer.get("error") == _UNMET and transaction.strength:
            raise NotStrong(
                "the identity server can't meet it", transaction.next, to_come_in=transaction.follows_another
            )
        if "error" in answer or not answer.get("code"):
            raise SignInFailed(f"identity server said no: {code_for_log(answer.get('error'))}")
        prover = Prover.of(transaction.dpop_key, provider.nonces)
        response = self._exchange(tenant, provider, transaction, answer["code"], prover)
        now = self._clock()
        claims = verify_id_token(
            response.get("id_token"),
            provider,
            Expected(
                client_id=tenant.client.client_id,
                nonce=transaction.nonce,
                access_token=response.get("access_token"),
                auth_time_after=transaction.started_at if transaction.fresh else None,
                algorithms=accepted_algorithms(tenant),
            ),
            now,
        )
        roles_from = ID_TOKEN
        if claim_at(claims, tenant.roles.claim) is None and metadata.userinfo_endpoint:
            told = userinfo(tenant, provider, response, claims["sub"], self._timeouts, prover)
            claims = merged(told, claims, tenant.roles.claim)
            roles_from = USERINFO
        elif self._tells_roles_too(tenant, provider, response, claims["sub"], prover):
            roles_from = f"{ID_TOKEN} {USERINFO}"
        if not is_of_clinic(tenant, claims):
            raise NoRole("person of another clinic")
        person = person_of(tenant, metadata.issuer, claims, roles_from=roles_from)
        tokens = read_tokens(response, now, keep_id_token=tenant.id_token_hint, prover=prover)
        if not (transaction.fresh or self._counts(tenant, transaction, person)):
            raise PasswordNeeded(transaction.next, transaction.whose, tokens)
        _check_strength(tenant, transaction, person, tokens)
        is_theirs = transaction.whose in (None, (person.issuer, person.sub))
        return Finished(
            person=person, tokens=tokens, next=transaction.next if is_theirs else "/", fresh=transaction.fresh
        )

    def _tells_roles_too(
        self, tenant: Tenant, provider: Provider, response: Mapping[str, Any], sub: str, prover: Prover | None
    ) -> bool:
        """Whether UserInfo has the roles that the ID token has: a refresh may bring no ID token.

        Asked once in a process, or again after a failure, which no sign-in fails by.
        """
        known = provider.roles_in_userinfo
        which = (tenant.client.client_id, tenant.roles.claim)
        if which not in known and provider.metadata().userinfo_endpoint:
            try:
                told = userinfo(tenant, provider, response, sub, self._timeouts, prover)
            except (Unavailable, SignInFailed, ProviderDown, ProviderRefused):
                return False
            known[which] = claim_at(told, tenant.roles.claim) is not None
        return known.get(which, False)

    def _counts(self, tenant: Tenant, transaction: Transaction, person: Person) -> bool:
        """Whether the sign-in is no older than was asked for, nor than the person's last sign-out.

        Without `auth_time` (OpenID Connect Core §2 demands it with `max_age`) only a sign-out is known to be later. The
        second sign-in counts then, because it asked for the password: else nobody could sign in at such a server.
        """
        at = person.auth_time
        if transaction.is_second:
            if at and at < transaction.started_at - LEEWAY:
                raise SignInFailed("ID token: the password wasn't asked for")
            return True
        signed_out_at = self._sign_outs.last(person.issuer, tenant.key, person.sub)
        if at and at < transaction.started_at - self._max_age - LEEWAY:
            return False
        return signed_out_at is None or at >= int(signed_out_at)  # auth_time is in whole seconds

    def _exchange(
        self, tenant: Tenant, provider: Provider, transaction: Transaction, code: str, prover: Prover | None
    ) -> Mapping[str, Any]:
        metadata = provider.metadata()
        client = cast("Any", oauth_session(tenant.client, metadata, self._timeouts, prover=prover))

        def exchange() -> Mapping[str, Any]:
            return client.fetch_token(
                metadata.token_endpoint,
                grant_type="authorization_code",
                code=code,
                redirect_uri=transaction.redirect_uri,
                code_verifier=transaction.verifier,
            )

        try:
            with provider.token_call(tenant.client.client_id):
                return with_nonce(exchange)
        except OAuthError as error:
            raise SignInFailed(f"code refused: {code_for_log(error.error)}") from error
        except (requests.RequestException, ValueError) as error:
            raise Unavailable(f"token endpoint: {type(error).__name__}") from error

    def _remember(self, cookie: str, transaction: Transaction, most_returns: int) -> bool:
        now = self._clock()

        def begin(browser: Browser) -> Browser:
            under_way = [*browser.under_way[-(_AT_MOST - 1) :], transaction]
            if transaction.follows_another:  # the return that it follows led no further round
                return Browser(under_way=under_way, returns=browser.returns[:-1])
            if len([at for at in browser.returns if age(at, now) < _LOOP_SECONDS]) >= most_returns:
                raise SignInLoop
            return msgspec.structs.replace(browser, under_way=under_way)

        try:
            return self._update(cookie, begin, initial=Browser(under_way=[], returns=[])) is not None
        except SignInLoop:
            self.forget(cookie)
            raise

    def _take(self, cookie: str | None, state: str) -> Transaction | None:
        """Remove and return the browser's pending sign-in with this state, so that only one response can use it."""
        held = self._vault.get(_browser_name(cookie), Browser) if cookie else None
        transaction = _of_state(held.value.under_way, state) if held else None
        if not cookie or transaction is None:
            return None
        now = self._clock()

        def take(browser: Browser) -> Browser | None:
            if transaction not in browser.under_way:
                return None
            under_way = [other for other in browser.under_way if other != transaction]
            returns = [*(at for at in browser.returns if age(at, now) < _LOOP_SECONDS), now]
            return Browser(under_way=under_way, returns=returns)

        is_taken = self._update(cookie, take) is not None
        return transaction if is_taken and age(transaction.started_at, now) < _LIFETIME else None

    def _update(
        self, cookie: str, change: Callable[[Browser], Browser | None], *, initial: Browser | None = None
    ) -> Browser | None:
        expires_at = self._clock() + _LIFETIME
        return self._vault.update(
            _browser_name(cookie), Browser, change, initial=initial, expires_at=expires_at
        )


def _claims(strength: Strength | None) -> str:
    """Ask for claims of the ID token (OpenID Connect Core §5.5.1).

    Some servers don't send the time of the sign-in for `max_age` alone; a class that is essential is met or refused.
    """
    wanted: dict[str, object] = {"auth_time": {"essential": True}}
    if strength and strength.acr and not strength.amr:
        wanted["acr"] = {"essential": True, "values": strength.acr}
    if strength and strength.amr:
        wanted["amr"] = {"essential": True}
    return msgspec.json.encode({"id_token": wanted}).decode()


def _check_strength(tenant: Tenant, transaction: Transaction, person: Person, tokens: Tokens) -> None:
    """Raise NotStrong unless the sign-in is as strong as was asked for, StrengthNeeded unless as the person's roles need.

    That it was asked for proves nothing: servers may ignore it (OpenID Connect Core §3.1.2.1, `acr_values`).
    """
    role_needs = tenant.strong.to_come_in(person.roles) if tenant.strong else None
    for strength in (transaction.strength, role_needs):
        if strength is None or strength.is_met(person.acr, person.amr):
            continue
        if strength != transaction.strength:
            raise StrengthNeeded(transaction.next, transaction.whose, tokens, strength)
        methods = " ".join(person.amr)
        reason = f"ID token: acr {person.acr or 'missing'}, amr {methods or 'missing'}: too weak"
        raise NotStrong(reason, transaction.next, to_come_in=strength == role_needs, tokens=tokens)


def _of_state(under_way: list[Transaction], state: str) -> Transaction | None:
    of_state = (
        transaction
        for transaction in under_way
        if secrets.compare_digest(transaction.state.encode(), state.encode())
    )
    return next(of_state, None)


def _browser_name(cookie: str) -> str:
    return hashed_name("browser", cookie)
