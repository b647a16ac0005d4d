"""The RSA keys that sign tokens: kept in the database, rotated with an overlap."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache

from joserfc.jwk import KeySet, RSAKey
from sqlalchemy import or_, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from portal.careservice.clock import now
from portal.careservice.database import Base
from portal.careservice.settings import current_settings

_BITS = 2048


class SigningKey(Base):
    """A private key; the newest one signs, and each is published until it retires."""

    __tablename__ = "signing_keys"

    kid: Mapped[str] = mapped_column(primary_key=True)
    private_pem: Mapped[str]
    created_at: Mapped[datetime]
    retires_at: Mapped[datetime | None]


def ensure_key(session: Session) -> None:
    """Create the first key if there is none."""
    if session.scalars(select(SigningKey.kid).limit(1)).first() is None:
        session.add(_new_key())


def rotate(session: Session, overlap: timedelta) -> str:
    """Sign with a new key from now on and publish the older ones for another `overlap`; return the new `kid`."""
    moment = now()
    for key in session.scalars(select(SigningKey).where(SigningKey.retires_at.is_(None))):
        key.retires_at = moment + overlap
    fresh = _new_key()
    session.add(fresh)
    return fresh.kid


def signing_key(session: Session) -> RSAKey:
    """The private key that currently signs."""
    key = session.scalars(
        select(SigningKey)
        .where(SigningKey.retires_at.is_(None))
        .order_by(SigningKey.created_at.desc(), SigningKey.kid)
        .limit(1)
    ).one()
    return _private_key(key.private_pem, current_settings().signing_algorithm)


def verification_keys(session: Session) -> KeySet:
    """The public keys whose signatures are currently accepted (RFC 7517).

    One small query; each key is parsed once per process.
    """
    published = session.scalars(
        select(SigningKey.private_pem)
        .where(or_(SigningKey.retires_at.is_(None), SigningKey.retires_at > now()))
        .order_by(SigningKey.created_at.desc(), SigningKey.kid)
    )
    algorithm = current_settings().signing_algorithm
    return KeySet([_public_key(pem, algorithm) for pem in published])


def _new_key() -> SigningKey:
    key = RSAKey.generate_key(_BITS, auto_kid=True)
    return SigningKey(kid=key.kid, private_pem=key.as_pem(private=True).decode(), created_at=now())


@lru_cache(maxsize=32)
def _private_key(pem: str, algorithm: str) -> RSAKey:
    key = RSAKey.import_key(pem, {"use": "sig", "alg": algorithm})
    key.ensure_kid()
    return key


@lru_cache(maxsize=32)
def _public_key(pem: str, algorithm: str) -> RSAKey:
    public = _private_key(pem, algorithm).as_pem(private=False)
    key = RSAKey.import_key(public, {"use": "sig", "alg": algorithm})
    key.ensure_kid()
    return key
