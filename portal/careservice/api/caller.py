"""The caller of a request, by its bearer token, and the clinic that the request is about."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from flask import request
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from portal.careservice.api.errors import NotPermitted, NotSignedIn, OtherScope, SignInTooOld
from portal.careservice.clock import is_recent
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.permissions import ADMIN, SERVICE_CLIENTS, STAFF, Act, allows
from portal.careservice.identity.dpop import ProofRefused, challenge
from portal.careservice.identity.tables import Client, Tenant
from portal.careservice.identity.tokens import InsufficientScope, InvalidToken, NoToken, verify_presented


@dataclass(frozen=True, kw_only=True)
class Caller:
    """A person at a clinic or, without a `sub`, one of the clinic's servers."""

    sub: str | None
    client_id: str
    tenant_id: str
    roles: frozenset[str]
    scopes: frozenset[str]
    auth_time: datetime | None
    acr: str | None = None
    amr: tuple[str, ...] = ()

    @property
    def is_staff(self) -> bool:
        """Whether the person works for the clinic."""
        return not STAFF.isdisjoint(self.roles)

    @property
    def actor(self) -> Actor:
        """The caller as the rules see one."""
        return Actor(
            sub=self.sub,
            tenant_id=self.tenant_id,
            is_staff=self.is_staff,
            is_admin=ADMIN in self.roles,
            acr=self.acr,
            amr=self.amr,
        )

    @property
    def owner(self) -> str:
        """The owner of the request's idempotency key."""
        return f"person:{self.sub}" if self.sub else f"client:{self.client_id}@{self.tenant_id}"

    def may(self, act: Act) -> bool:
        """Whether roles or registration allow `act` at all."""
        return act in SERVICE_CLIENTS if self.sub is None else allows(act, self.roles)

    def require_sign_in_within(self, max_age: timedelta) -> None:
        """Raise SignInTooOld if the person signed in longer ago than `max_age`, in the future or at an unknown time."""
        if self.auth_time is None or not is_recent(self.auth_time, max_age):
            raise SignInTooOld(max_age)


def identify(session: Session) -> Caller:
    """The caller of this request, by its bearer token and `__tenant`; raises NotSignedIn, OtherScope or NotPermitted."""
    authorization = request.headers.get("Authorization", "")
    try:
        claims = verify_presented(session, authorization)
    except InsufficientScope:
        raise OtherScope from None
    except NoToken:
        raise NotSignedIn("Bearer") from None
    except ProofRefused as refused:
        raise NotSignedIn(refused.challenge) from None
    except InvalidToken:
        is_bound = authorization[:5].casefold() == "dpop "
        raise NotSignedIn(
            challenge("invalid_token") if is_bound else 'Bearer error="invalid_token"'
        ) from None
    own_tenant = _text(claims.get("tenantid"))
    client_id = _text(claims.get("client_id")) or ""
    return Caller(
        # A server's token may name the client itself as its subject (RFC 9068 §2.2); a person's has a clinic.
        sub=_text(claims.get("sub")) if own_tenant else None,
        client_id=client_id,
        tenant_id=_clinic(session, own_tenant, client_id),
        roles=_roles(claims.get("role")),
        scopes=frozenset((_text(claims.get("scope")) or "").split()),
        auth_time=_instant(claims.get("auth_time")),
        acr=_text(claims.get("acr")),
        amr=tuple(claims.get("amr", ())),
    )


def _clinic(session: Session, own: str | None, client_id: str) -> str:
    asked = request.args.get("__tenant")
    if asked is None:
        if own is None:
            raise NotPermitted
        return own
    if "\0" in asked:
        raise NotPermitted  # PostgreSQL refuses text with NUL in it
    found = session.scalar(select(Tenant.id).where(or_(Tenant.id == asked.lower(), Tenant.name == asked)))
    if found is None:
        raise NotPermitted
    allowed = own or session.scalar(select(Client.tenant_id).where(Client.client_id == client_id))
    if found != allowed:
        raise NotPermitted
    return found


def _roles(claim: Any) -> frozenset[str]:
    if isinstance(claim, str):
        return frozenset({claim})
    return frozenset(map(str, claim)) if isinstance(claim, list) else frozenset()  # pyright: ignore[reportUnknownArgumentType]


def _text(claim: Any) -> str | None:
    return claim if isinstance(claim, str) else None


def _instant(claim: Any) -> datetime | None:
    return datetime.fromtimestamp(claim, UTC) if isinstance(claim, int) else None
