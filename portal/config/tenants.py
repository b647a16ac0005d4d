"""Tenants: each clinic's hosts, sign-in and branding.

One TOML file lists every tenant (docs/configuration.md). It is read once, at startup, and every fault in it is
reported with its key, so that an operator can fix the file in one go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from portal.config.client_keys import ClientKey
from portal.config.contact import Contact
from portal.config.document_seal import DocumentSeal
from portal.config.dose_ranges import DoseRange
from portal.config.medicines import Medicine
from portal.config.modules import Module
from portal.config.protocol_choices import ProtocolChoices

LANGUAGES = ("en", "es", "ar")


class Side(StrEnum):
    """The two kinds of users: patients and staff."""

    PATIENT = "patient"
    STAFF = "staff"


class TenantsError(Exception):
    """The tenants file can't be used; `faults` holds one line for each error."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Client:
    """A client registered at the identity server (RFC 6749 §2)."""

    client_id: str
    client_secret: str = field(repr=False)
    key: ClientKey | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Roles:
    """Which values of which claim make a person a patient or staff."""

    claim: str = "role"
    patient: frozenset[str] = frozenset({"patient"})
    staff: frozenset[str] = frozenset()

    def side(self, held: frozenset[str]) -> Side | None:
        """Return the side that these claim values grant, staff before patient, or None."""
        if held & self.staff:
            return Side.STAFF
        return Side.PATIENT if held & self.patient else None


@dataclass(frozen=True, slots=True)
class Tenant:
    """One clinic."""

    key: str
    hosts: tuple[str, ...]
    name: str
    base_url: str
    auth_url: str
    scope: str
    client: Client
    authorize_params: Mapping[str, str]
    tenant_claim: str | None
    tenant_id: str | None
    roles: Roles
    service_client: Client | None
    time_zone: ZoneInfo
    country: str | None
    languages: tuple[str, ...]
    accent: str
    on_accent: str
    logo: str | None
    idempotency: bool
    id_token_hint: bool
    identity_origins: tuple[str, ...]
    document_seal: DocumentSeal | None
    contact: Contact | None
    dialect: Path | None
    protocol_choices: ProtocolChoices
    dose_ranges: tuple[DoseRange, ...]
    medicines: tuple[Medicine, ...]
    unpaid_storage: str | None
    modules_off: frozenset[Module] = frozenset()

    @property
    def auth_origin(self) -> str:
        """The identity server's origin, for `form-action` and the outbound allow-list."""
        parts = urlsplit(self.auth_url)
        return f"{parts.scheme}://{parts.netloc}"


@dataclass(frozen=True, slots=True)
class Tenants:
    """All clinics by key and by host."""

    by_key: Mapping[str, Tenant]
    by_host: Mapping[str, Tenant]

    def at(self, host: str) -> Tenant | None:
        """Return the tenant for a `Host` header's value, or None if there is none."""
        return self.by_host.get(host.lower())


@cache
def time_zones() -> frozenset[str]:
    """The names of all IANA time zones, cached because listing them walks hundreds of files."""
    return frozenset(available_timezones())


def read_secret(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the secret in variable `name`, or in the file that `name_FILE` points to; None if that can't be read."""
    if value := environ.get(name):
        return value
    file = environ.get(f"{name}_FILE")
    try:
        return Path(file).read_text(encoding="utf-8").strip() or None if file else None
    except (OSError, ValueError):  # bytes that aren't UTF-8, a NUL in the name
        return None


def contrast(one: str, other: str) -> float:
    """Return the WCAG 2.2 contrast ratio (1 to 21) of two `#rrggbb` colours."""

    def luminance(colour: str) -> float:
        channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
