"""The clinics, their people and their OAuth clients. None of them exists."""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from portal.careservice.identity import passwords
from portal.careservice.identity.tables import Client, Person, Tenant, digest
from portal.careservice.ids import sample_id


@dataclass(frozen=True)
class SampleTenant:
    """A clinic: `name` is its key in addresses and settings, `display_name` what people read.

    `phone_number` is one that Ofcom reserves for drama.
    """

    name: str
    display_name: str
    accent: str
    phone_number: str

    @property
    def id(self) -> str:
        """The clinic's id, the `tenantid` of its people's tokens."""
        return sample_id("tenant", self.name)


@dataclass(frozen=True)
class SamplePerson:
    """Somebody who can sign in; `role` is one of the six of the identity server."""

    username: str
    given_name: str
    family_name: str
    role: str
    tenant: str

    @property
    def id(self) -> str:
        """The person's `sub`."""
        return sample_id("person", self.username)

    @property
    def name(self) -> str:
        """The full name, given name first."""
        return f"{self.given_name} {self.family_name}"

    @property
    def email(self) -> str:
        """A synthetic address under a reserved name (RFC 2606)."""
        return f"{self.username}@{self.tenant}.example"

    @property
    def totp_secret(self) -> str | None:
        """What their authenticator app would hold (base32); None for who has no second way to sign in."""
        if self.username == "grace":
            return None
        return base64.b32encode(sha256(f"totp of {self.username}".encode()).digest()[:20]).decode()


TENANTS = (
    SampleTenant("riverside", "Riverside Fertility", "#0b6e4f", "020 7946 0199"),
    SampleTenant("harbour", "Harbour Fertility", "#1d5c8f", "01632 960199"),
)

PEOPLE = (
    SamplePerson("amelia", "Amelia", "Hart", "patient", "riverside"),
    SamplePerson("daniel", "Daniel", "Hart", "patient", "riverside"),
    SamplePerson("grace", "Grace", "Okafor", "patient", "riverside"),
    SamplePerson("nora", "Nora", "Lindqvist", "nurse", "riverside"),
    SamplePerson("victor", "Victor", "Castellanos", "physician", "riverside"),
    SamplePerson("elif", "Elif", "Demir", "embryologist", "riverside"),
    SamplePerson("colin", "Colin", "Byrne", "coordinator", "riverside"),
    SamplePerson("ada", "Ada", "Whitfield", "admin", "riverside"),
    SamplePerson("maya", "Maya", "Fernandes", "patient", "harbour"),
    SamplePerson("omar", "Omar", "Haddad", "nurse", "harbour"),
)

SECRET_VARIABLES = {
    f"{tenant.name}-{kind}": f"{tenant.name.upper()}_{variable}_SECRET"
    for tenant in TENANTS
    for kind, variable in (("portal", "CLIENT"), ("service", "SERVICE"))
}
"""The environment variable that holds each client's secret, by client id."""


def secrets_from_environment(environment: Mapping[str, str] = os.environ) -> tuple[dict[str, str], list[str]]:
    """The sample clients' secrets by client id, and the ids of those whose secret had to be generated."""
    given = {client: environment.get(variable, "") for client, variable in SECRET_VARIABLES.items()}
    generated = [client for client, secret in given.items() if not secret]
    return given | {client: secrets.token_urlsafe(32) for client in generated}, generated


def add(session: Session, password: str) -> None:
    """Add clinics, people and clients to an empty database; every person's password is `password`."""
    for tenant in TENANTS:
        session.add(
            Tenant(
                id=tenant.id,
                name=tenant.name,
                display_name=tenant.display_name,
                accent=tenant.accent,
                country="GB",
                time_zone="Europe/London",
                phone_number=tenant.phone_number,
            )
        )
    session.flush()
    password_hash = passwords.hash_password(password)
    session.add_all(_person(person, password_hash) for person in PEOPLE)
    for tenant in TENANTS:
        session.add(
            Client(
                client_id=f"{tenant.name}-portal",
                name=f"{tenant.display_name} portal",
                tenant_id=tenant.id,
                grant_types=["authorization_code", "refresh_token"],
                scopes=["openid", "profile", "email", "roles", "offline_access", "ClientelePortal"],
            )
        )
        session.add(
            Client(
                client_id=f"{tenant.name}-service",
                name=f"{tenant.display_name} servers",
                tenant_id=tenant.id,
                grant_types=["client_credentials"],
                scopes=["ClientelePortal"],
            )
        )


def refresh(
    session: Session, password: str, client_secrets: Mapping[str, str], origins: Mapping[str, tuple[str, ...]]
) -> None:
    """Update existing data to this start's password, client secrets and portal addresses."""
    people = session.scalars(select(Person).where(Person.id.in_([person.id for person in PEOPLE]))).all()
    if people and not all(
        passwords.matches(password, hashed) for hashed in {p.password_hash for p in people}
    ):
        session.execute(
            update(Person)
            .where(Person.id.in_([person.id for person in people]))
            .values(password_hash=passwords.hash_password(password))
        )
    for client_id in SECRET_VARIABLES:
        client = session.get(Client, client_id)
        if client is None:
            continue
        client.secret_hash = digest(client_secrets[client_id])
        tenant_origins = origins.get(client_id.removesuffix("-portal"), ())
        if tenant_origins:
            client.redirect_uris = [f"{origin}/sign-in/callback" for origin in tenant_origins]
            client.post_logout_redirect_uris = [f"{origin}/signed-out" for origin in tenant_origins]
            client.backchannel_logout_uri = f"{tenant_origins[0]}/sign-out/back-channel"


def _person(person: SamplePerson, password_hash: str) -> Person:
    return Person(
        id=person.id,
        tenant_id=sample_id("tenant", person.tenant),
        username=person.username,
        password_hash=password_hash,
        given_name=person.given_name,
        family_name=person.family_name,
        email=person.email,
        email_verified=True,
        locale="en",
        roles=[person.role],
        totp_secret=person.totp_secret,
    )
