"""The identity server's tables."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from portal.careservice.database import Base, Id


def digest(secret: str) -> str:
    """The SHA-256 that is stored in place of a random secret, as 64 hex digits."""
    return sha256(secret.encode()).hexdigest()


class Tenant(Base):
    """A clinic.

    `country` (ISO 3166-1 alpha-2), None if unknown, is how its national telephone numbers are read; `phone_number`, as
    people write it, is whom to call who can't sign in.
    """

    __tablename__ = "tenants"

    id: Mapped[Id] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    display_name: Mapped[str]
    accent: Mapped[str] = mapped_column(String(7))
    country: Mapped[str | None] = mapped_column(String(2))
    time_zone: Mapped[str] = mapped_column(String(64), default="UTC")
    phone_number: Mapped[str | None] = mapped_column(String(32))


class Person(Base):
    """Somebody who can sign in; `id` is the `sub` of the tokens.

    `email_verified`: the person has proved that mail to `email` reaches them. `totp_secret` (base32) makes the person's
    one-time codes (RFC 6238), and `totp_used_step` is the time step of the last one used.
    """

    __tablename__ = "people"
    __table_args__ = (UniqueConstraint("tenant_id", "username"), Index(None, "username"))

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[Id] = mapped_column(ForeignKey(Tenant.id))
    username: Mapped[str] = mapped_column(String(64))
    password_hash: Mapped[str]
    given_name: Mapped[str]
    family_name: Mapped[str]
    email: Mapped[str]
    email_verified: Mapped[bool] = mapped_column(default=False)
    locale: Mapped[str] = mapped_column(String(16))
    roles: Mapped[list[str]]
    is_active: Mapped[bool] = mapped_column(default=True)
    totp_secret: Mapped[str | None] = mapped_column(String(64))
    totp_used_step: Mapped[int] = mapped_column(default=0)

    tenant: Mapped[Tenant] = relationship(lazy="joined", innerjoin=True)
    passkeys: Mapped[list[Passkey]] = relationship(order_by="Passkey.created_at")

    @property
    def name(self) -> str:
        """The full name, given name first."""
        return f"{self.given_name} {self.family_name}"


class Passkey(Base):
    """A person's key for signing in without a password (WebAuthn); `credential_id` and `public_key` (COSE) are base64url.

    `is_synced`: its owner's devices share it, so that it isn't bound to one piece of hardware.
    """

    __tablename__ = "passkeys"

    credential_id: Mapped[str] = mapped_column(String(1400), primary_key=True)
    person_id: Mapped[Id] = mapped_column(ForeignKey(Person.id), index=True)
    public_key: Mapped[str] = mapped_column(Text)
    sign_count: Mapped[int]
    is_synced: Mapped[bool]
    created_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class RecoveryCode(Base):
    """A code that stands in once for a one-time code or a passkey that is lost."""

    __tablename__ = "recovery_codes"

    code_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    person_id: Mapped[Id] = mapped_column(ForeignKey(Person.id), index=True)


class Client(Base):
    """An OAuth client of the clinic `tenant_id`; its methods are those of Authlib's `ClientMixin`.

    Redirect URIs have to match exactly (RFC 9700 §2.1). A client with `jwks` (its public keys, RFC 7517)
    authenticates by them only, any other by its secret.
    """

    __tablename__ = "clients"

    client_id: Mapped[str] = mapped_column(String(128), primary_key=True)
    name: Mapped[str]
    tenant_id: Mapped[Id] = mapped_column(ForeignKey(Tenant.id))
    secret_hash: Mapped[str] = mapped_column(String(64), default="")
    jwks: Mapped[dict[str, Any] | None]
    grant_types: Mapped[list[str]]
    scopes: Mapped[list[str]]
    redirect_uris: Mapped[list[str]] = mapped_column(default=list)
    post_logout_redirect_uris: Mapped[list[str]] = mapped_column(default=list)
    backchannel_logout_uri: Mapped[str | None]

    def get_client_id(self) -> str:
        """The client's id."""
        return self.client_id

    def get_default_redirect_uri(self) -> None:
        """None: the request has to name one."""

    def get_allowed_scope(self, scope: str | None) -> str | None:
        """The scope to grant for the requested one; None if any part of it isn't allowed."""
        wanted = dict.fromkeys((scope or "").split()) or {"ClientelePortal": None}
        return " ".join(wanted) if self.scopes and set(wanted) <= set(self.scopes) else None

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        """Whether exactly this URI is registered."""
        return redirect_uri in self.redirect_uris

    def check_client_secret(self, client_secret: str) -> bool:
        """Whether the secret is the client's; compared in constant time."""
        return bool(self.secret_hash) and compare_digest(digest(client_secret), self.secret_hash)

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        """A signed assertion if the client has keys, else its secret in the header or the form; at every endpoint."""
        if self.jwks is not None:
            return method == "private_key_jwt"
        return method in ("client_secret_basic", "client_secret_post")

    def check_response_type(self, response_type: str) -> bool:
        """Only the code flow is supported."""
        return response_type == "code" and self.check_grant_type("authorization_code")

    def check_grant_type(self, grant_type: str) -> bool:
        """Whether the client was registered for this grant."""
        return grant_type in self.grant_types

    @property
    def is_server(self) -> bool:
        """Whether it is a server-to-server client."""
        return self.check_grant_type("client_credentials")


class SignIn(Base):
    """A person's sign-in in one browser; `sid` identifies it to the clients.

    `cookie_hash` is the digest of the browser's cookie, which is replaced whenever the password is entered. `amr` is how
    they signed in (RFC 8176).
    """

    __tablename__ = "sign_ins"

    sid: Mapped[Id] = mapped_column(primary_key=True)
    cookie_hash: Mapped[str] = mapped_column(String(64), unique=True)
    person_id: Mapped[Id] = mapped_column(ForeignKey(Person.id))
    auth_time: Mapped[datetime]
    amr: Mapped[list[str]]
    expires_at: Mapped[datetime] = mapped_column(index=True)

    person: Mapped[Person] = relationship(lazy="joined", innerjoin=True)


class FailedSignIn(Base):
    """A wrong password, counted by user name and address, or by browser if that is known (`KnownBrowser`)."""

    __tablename__ = "failed_sign_ins"
    __table_args__ = (Index(None, "username", "address"),)

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36))
    username: Mapped[str] = mapped_column(String(64))
    address: Mapped[str] = mapped_column(String(64), index=True)
    browser: Mapped[str | None] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(index=True)


class KnownBrowser(Base):
    """A browser in which a person has signed in before; `cookie_hash` is the digest of its cookie."""

    __tablename__ = "known_browsers"

    cookie_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    person_id: Mapped[Id] = mapped_column(ForeignKey(Person.id), primary_key=True)
    expires_at: Mapped[datetime] = mapped_column(index=True)


class AuthorizationRequest(Base):
    """The parameters of an authorization request, pushed (RFC 9126) or waiting for a sign-in.

    `place` is the browser or network of a waiting one (`throttle.place`), so that nobody can add any number of them.
    """

    __tablename__ = "authorization_requests"

    handle_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    client_id: Mapped[str] = mapped_column(ForeignKey(Client.client_id))
    parameters: Mapped[dict[str, Any]]
    is_pushed: Mapped[bool]
    place: Mapped[str | None] = mapped_column(String(64), index=True)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    used_at: Mapped[datetime | None]


class Grant(Base):
    """What a person's sign-in granted one client: the family of all tokens issued from one code.

    Revoking it, alone or with all others of its `sid`, revokes all its tokens. `auth_time` is when the person
    signed in, `amr` how, `acr` the class that the client is told, `dpop_jkt` the key that its tokens are bound to (RFC 9449),
    if any; `ends_at` is when its last token expires.
    """

    __tablename__ = "grants"

    id: Mapped[Id] = mapped_column(primary_key=True)
    client_id: Mapped[str] = mapped_column(ForeignKey(Client.client_id))
    person_id: Mapped[Id] = mapped_column(ForeignKey(Person.id))
    sid: Mapped[Id] = mapped_column(index=True)
    scope: Mapped[str]
    auth_time: Mapped[datetime]
    amr: Mapped[list[str]]
    acr: Mapped[str] = mapped_column(String(255))
    dpop_jkt: Mapped[str | None] = mapped_column(String(43))
    ends_at: Mapped[datetime] = mapped_column(index=True)
    revoked_at: Mapped[datetime | None]


class AuthorizationCode(Base):
    """An authorization code; its methods are those of Authlib's `AuthorizationCodeMixin`."""

    __tablename__ = "authorization_codes"

    code_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    client_id: Mapped[str] = mapped_column(ForeignKey(Client.client_id))
    person_id: Mapped[Id] = mapped_column(ForeignKey(Person.id))
    redirect_uri: Mapped[str]
    scope: Mapped[str]
    nonce: Mapped[str | None]
    code_challenge: Mapped[str] = mapped_column(String(128))
    sid: Mapped[Id]
    auth_time: Mapped[datetime]
    amr: Mapped[list[str]]
    acr: Mapped[str] = mapped_column(String(255))
    dpop_jkt: Mapped[str | None] = mapped_column(String(43))
    expires_at: Mapped[datetime] = mapped_column(index=True)
    grant_id: Mapped[Id | None]

    code_challenge_method = "S256"

    def get_redirect_uri(self) -> str:
        """The URI that the code was sent to."""
        return self.redirect_uri

    def get_scope(self) -> str:
        """The scope that was requested and granted."""
        return self.scope


class RefreshToken(Base):
    """A refresh token; `replaced_at` is when its successor was issued, `sealed_answer` the response with it."""

    __tablename__ = "refresh_tokens"

    token_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    grant_id: Mapped[Id] = mapped_column(ForeignKey(Grant.id, ondelete="CASCADE"), index=True)
    issued_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)
    replaced_at: Mapped[datetime | None]
    sealed_answer: Mapped[str | None] = mapped_column(Text)

    grant: Mapped[Grant] = relationship(lazy="joined", innerjoin=True)

    def check_client(self, client: Client) -> bool:
        """Whether it was issued to this client."""
        return self.grant.client_id == client.client_id

    def get_scope(self) -> str:
        """The scope of its family."""
        return self.grant.scope


class ClientAssertion(Base):
    """A client's assertion that was used, stored so that it is accepted once only."""

    __tablename__ = "client_assertions"

    jti_hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    expires_at: Mapped[datetime] = mapped_column(index=True)


class RevokedToken(Base):
    """The `jti` of an access token that was revoked before it expired."""

    __tablename__ = "revoked_tokens"

    jti: Mapped[Id] = mapped_column(primary_key=True)
    expires_at: Mapped[datetime] = mapped_column(index=True)
