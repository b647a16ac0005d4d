"""Tenants: each clinic's hosts, sign-in and branding, as the tenants file's tables declare them (docs/configuration.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from babel.core import get_global

from portal.config.contact import Contact
from portal.config.document_seal import DocumentSeal
from portal.config.dose_ranges import DoseRange, usual_ranges
from portal.config.errors import ConfigurationError
from portal.config.identity import (
    PATIENT,
    STAFF,
    Client,
    Par,
    choice,
    claim_path,
    logout_params,
    role_map,
    separator,
)
from portal.config.medicines import Medicine, folded_drug
from portal.config.modules import Module
from portal.config.profile import Profile
from portal.config.protocol_choices import ProtocolChoices
from portal.config.strong_sign_in import StrongSignIn, strong_sign_in
from portal.config.table import Source, flag, https_address, setting, table, tables, text, texts, words
from portal.config.time_zones import time_zones
from portal.config.visits import Place, VisitAdvice, folded_kind

LANGUAGES = ("en", "es", "ar")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?")
_COLOUR = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
_LOGO = re.compile(r"[a-z0-9][a-z0-9._-]*\.svg", re.IGNORECASE)
_SCOPE = "openid profile email roles offline_access ClientelePortal"
_RESERVED = {"client_id", "redirect_uri", "response_type", "scope", "state", "nonce", "code_challenge"}
"""Parameters of an authorization request that the portal sets itself."""


class Side(StrEnum):
    """The two kinds of users: patients and staff."""

    PATIENT = "patient"
    STAFF = "staff"


class PasskeySignatures(StrEnum):
    """Whether patients may, or have to, confirm a signature with a passkey."""

    OFF = "off"
    OFFERED = "offered"
    REQUIRED = "required"


class TenantsError(ConfigurationError):
    """The tenants file can't be used."""


def _staff(value: Any, source: Source) -> frozenset[str]:
    staff, patient = words(value, source), source.table.get("patient", ["patient"])
    if both := sorted(role for role in staff if isinstance(patient, list) and role in patient):
        raise ValueError(f"{', '.join(both)} cannot be both patient and staff")
    return staff


def _hosts(value: Any, source: Source) -> tuple[str, ...]:
    hosts = tuple(host.lower() for host in texts(value, source))
    wrong = [
        f"{host!r} isn't a host name (with its port unless it is 80 or 443)"
        for host in hosts
        if not _HOST.fullmatch(host) or host.endswith((":80", ":443"))
    ]
    if wrong or not hosts:
        raise ValueError(*(wrong or ["must name at least one host"]))
    return hosts


def _address(value: Any, source: Source) -> str:
    address = text(value, source)
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ValueError(f"must be an http or https address without a query (found {address!r})")
    return address.rstrip("/")


def _scope(value: Any, source: Source) -> str:
    if "openid" not in text(value, source).split():
        raise ValueError("must include openid, or there is no ID token to check")
    return text(value, source)


def _params(value: Any, source: Source) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise ValueError("must be a table")
    params = cast("dict[str, Any]", value)
    wrong = [name for name, text in params.items() if not isinstance(text, str) or name in _RESERVED]
    if wrong:
        said = "must be a string, and not a parameter that the portal sets itself"
        raise ValueError(*(f".{name}: {said}" for name in wrong))
    return params


def _tenant_id(value: Any, source: Source) -> str | None:
    if bool(value) != bool(source.table.get("tenant_claim")):
        raise ValueError("must be set together with tenant_claim")
    return text(value, source) if value else None


def _zone(value: Any, source: Source) -> ZoneInfo:
    if text(value, source) not in time_zones():
        raise ValueError(f"{value!r} isn't an IANA time zone such as Europe/London")
    return ZoneInfo(value.strip())


def _country(value: Any, source: Source) -> str:
    if not re.fullmatch("[A-Z]{2}", text(value, source)) or value not in get_global("territory_currencies"):
        raise ValueError(f"must be a country code like GB (ISO 3166-1), found {value!r}")
    return value


def _languages(value: Any, source: Source) -> tuple[str, ...]:
    if wrong := [code for code in texts(value, source) if code not in LANGUAGES]:
        raise ValueError(*(f"{code!r} is none of {', '.join(LANGUAGES)}" for code in wrong))
    return texts(value, source) or ("en",)


def _modules(value: Any, source: Source) -> frozenset[Module]:
    if wrong := [module for module in texts(value, source) if module not in set(Module)]:
        raise ValueError(*(f"{module!r} is none of {', '.join(Module)}" for module in wrong))
    return frozenset(map(Module, texts(value, source)))


def _accent(value: Any, source: Source) -> str:
    accent = text(value, source).lower()
    if not _COLOUR.fullmatch(accent):
        raise ValueError(f"must be a colour as #rrggbb (found {accent!r})")
    if contrast(accent, "#ffffff") < 3:
        raise ValueError(
            f"{accent} has a contrast of {contrast(accent, '#ffffff'):.1f} with white; "
            "choose a darker one (at least 3.0 for buttons to be visible; 4.5 for text)"
        )
    return accent


def _logo(value: Any, source: Source) -> str:
    if not _LOGO.fullmatch(text(value, source)):
        raise ValueError("must be the plain name of an .svg file in static/brand")
    return text(value, source)


def _file(value: Any, source: Source) -> Path:
    if ".." in Path(text(value, source)).parts:
        raise ValueError("must stand beside this file or in a folder there, or be an absolute path")
    return source.folder / value


@dataclass(frozen=True, slots=True)
class Roles:
    """Which values of which claim make a person a patient or staff."""

    claim: tuple[str, ...] = setting(
        claim_path, "role", 'inside another one: ["realm_access", "roles"]', "role"
    )
    separator: str = setting(separator, ",", "between roles in one text", "", commented=True)
    patient: frozenset[str] = setting(words, PATIENT, "", PATIENT)
    staff: frozenset[str] = setting(_staff, STAFF, "", STAFF)

    map: Mapping[str, str] = setting(
        role_map,
        {"Clinic nurses": "nurse"},
        "the identity server's words in the portal's; others then don't count",
        {},
        commented=True,
    )

    def named(self, words: Iterable[str]) -> frozenset[str]:
        """Return the portal's words for the identity server's."""
        return (
            frozenset(self.map[word] for word in words if word in self.map) if self.map else frozenset(words)
        )

    def shared_with(self, other: Roles) -> bool:
        """Whether the identity server can say a role of one that is one of the other too."""
        return self.claim == other.claim and not self._words.isdisjoint(other._words)

    @property
    def _words(self) -> frozenset[str]:
        """The identity server's words that grant something."""
        granting = self.staff | self.patient
        return (
            frozenset(word for word, role in self.map.items() if role in granting) if self.map else granting
        )

    def side(self, held: frozenset[str]) -> Side | None:
        """Return the side that these claim values grant, staff before patient, or None."""
        if held & self.staff:
            return Side.STAFF
        return Side.PATIENT if held & self.patient else None


_BOOKING = {"client_id": "riverside-booking", "client_secret_env": "RIVERSIDE_BOOKING_SECRET"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """One clinic. Keys that are `shared` may stand in `[care]` for all clinics."""

    key: str
    base_url: str = setting(_address, "https://api.example", "{base_url}", shared=True)
    auth_url: str = setting(
        _address, "https://id.example", "{auth_url}; the rest is found by discovery", shared=True
    )
    scope: str = setting(_scope, _SCOPE, "", _SCOPE, shared=True)
    idempotency: bool = setting(flag, False, "true if the API honours Idempotency-Key", False, shared=True)
    id_token_hint: bool = setting(
        flag,
        False,
        "true if the identity server needs it at sign-out; it puts a token into a URL",
        False,
        shared=True,
    )
    identity_origins: tuple[str, ...] = setting(
        texts, [], 'other origins that discovery may name, such as "https://keys.example"', [], shared=True
    )
    par: Par = setting(
        choice(Par), "auto", 'or "off" or "required": whether sign-ins are pushed', "auto", shared=True
    )
    dpop: bool = setting(
        flag,
        False,
        "true: tokens are bound to a key of the sign-in (RFC 9449); identity server and API must know it",
        False,
        shared=True,
    )
    profile: Profile | None = setting(
        choice(Profile),
        "fapi2",
        "optional: FAPI 2.0 (docs/identity-servers.md); implies par and dpop, and keys instead of secrets",
        None,
        shared=True,
        commented=True,
    )
    logout_params: Mapping[str, str] = setting(
        logout_params,
        {"client_id": "{client_id}", "logout_uri": "{signed_out}"},
        "the sign-out's parameters, if not the standard's",
        {},
        shared=True,
        commented=True,
    )
    dialect: Path | None = setting(
        _file,
        "their.dialect.toml",
        "beside this file: how the API differs from the specification (docs/dialects.md)",
        None,
        shared=True,
        commented=True,
    )
    hosts: tuple[str, ...] = setting(
        _hosts, ["portal.riverside.example"], "{tenant_portal_url}; with the port unless it is 80 or 443"
    )
    name: str = setting(text, "Riverside Fertility")
    client: Client = table(Client, "a tenant", name="")
    authorize_params: Mapping[str, str] = setting(_params, {"acr_values": "tenant:riverside"}, "", {})
    tenant_claim: tuple[str, ...] | None = setting(
        claim_path,
        "tenantid",
        "a sign-in must carry this claim with this value, or with a list of it; clinics with one auth_url and the same roles need it",
        None,
    )
    record_claim: tuple[str, ...] | None = setting(
        claim_path,
        "patient_number",
        "the claim with the number by which the API names a person as a signer, if the dialect says so (`values.signers`)",
        None,
    )
    tenant_id: str | None = setting(_tenant_id, "3f0c…", "", "")
    time_zone: ZoneInfo = setting(_zone, "Europe/London", "", "UTC")
    country: str | None = setting(
        _country,
        "GB",
        "whose law consent forms are checked against (GB, ES); without it telephone numbers need +44…",
        None,
    )
    unpaid_storage: str | None = setting(
        text,
        "We write to you twice before anything is decided.",
        "optional: what happens if storage isn't paid",
        None,
    )
    storage_payment: str | None = setting(
        https_address,
        "https://pay.example/riverside",
        "optional: where patients pay for storage; nothing about them is in the address",
        None,
    )
    second_person_for_embryos: bool = setting(
        flag,
        False,
        "true: two staff, each signed in, read the straw before an embryo's irreversible move is sent",
        False,
    )
    fresh_sign_in_for_each_signature: bool = setting(
        flag,
        False,
        "true: a sign-in proves one signature; whoever signs several forms signs in for each (21 CFR 11.200)",
        False,
    )
    passkey_signatures: PasskeySignatures = setting(
        choice(PasskeySignatures),
        "off",
        'or "offered" or "required": patients confirm a signature with a passkey (docs/passkey-signatures.md)',
        "off",
    )
    modules_off: frozenset[Module] = setting(
        _modules, [], 'optional: parts of the portal that the clinic doesn\'t use, such as ["medicines"]', []
    )
    page_speed: bool = setting(
        flag,
        False,
        "true: browsers report how fast pages were, without saying whose (docs/operations.md)",
        False,
    )
    languages: tuple[str, ...] = setting(_languages, ["en", "es", "ar"], "", ["en"])
    accent: str = setting(_accent, "#0b6e4f", "its contrast is checked at start", "#0b6e4f")
    logo: str | None = setting(_logo, "riverside.svg", "in static/brand", None)
    roles: Roles = table(Roles, "roles", "which values of the claim mean patient, which staff", {})
    strong: StrongSignIn | None = setting(
        strong_sign_in,
        {},
        "optional: who must sign in with more than a password, and for what (docs/identity-servers.md)",
        None,
        of=StrongSignIn,
    )
    service_client: Client | None = table(
        Client,
        "a client",
        "optional: client credentials for the public booking page; no booking without it (or client_key_env)",
        example=_BOOKING,
    )
    contact: Contact | None = table(
        Contact,
        "a contact",
        "shown wherever patients are told to call; `portal check` warns if it is missing",
    )
    protocol_choices: ProtocolChoices = table(
        ProtocolChoices,
        "protocol choices",
        "optional: choices for protocols, in addition to the portal's own",
        {},
    )
    own_dose_ranges: tuple[DoseRange, ...] = tables(
        DoseRange,
        "have drug and unit (texts) and least below most (numbers)",
        "optional: a dose outside is typed again; before portal/config/dose_ranges.toml",
        name="dose_ranges",
    )
    medicines: tuple[Medicine, ...] = tables(
        Medicine,
        "have drug, and at least one of the others",
        "optional: what the clinic hands out and advises, told to patients beside the medicine's name",
        lambda medicine: folded_drug(medicine.drug),
    )
    places: tuple[Place, ...] = tables(
        Place,
        "have location and address (texts)",
        "optional: the addresses of visits, told beside their location and in calendar files",
        lambda place: place.location.casefold(),
    )
    visits: tuple[VisitAdvice, ...] = tables(
        VisitAdvice,
        "have kind (a text), and arrive_minutes or prepare",
        "optional: how to prepare for a visit",
        lambda visit: folded_kind(visit.kind),
    )
    document_seal: DocumentSeal | None = table(
        DocumentSeal, "a seal", "optional: seals copies of consent forms (docs/operations.md)"
    )

    @property
    def auth_origin(self) -> str:
        """The identity server's origin, for `form-action` and the outbound allow-list."""
        parts = urlsplit(self.auth_url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def on_accent(self) -> str:
        """The colour of text on the accent: what has more contrast."""
        return _on_accent(self.accent)

    @property
    def dose_ranges(self) -> tuple[DoseRange, ...]:
        """The clinic's ranges, followed by the portal's."""
        return (*self.own_dose_ranges, *usual_ranges())


@cache
def _on_accent(accent: str) -> str:
    return max(("#ffffff", "#14171a"), key=lambda text: contrast(accent, text))


@dataclass(frozen=True, slots=True)
class Tenants:
    """All clinics by key and by host.

    With a folder of tenants files, `file_of` has each clinic's, and `left_out` the files that can't be used, with their faults;
    `kept` are those used as they were before a reload, because they can't be used as they are now. `closed_hosts` are those
    of clinics that are left out, as far as their files can be read.
    """

    by_key: Mapping[str, Tenant]
    by_host: Mapping[str, Tenant]
    file_of: Mapping[str, str] = field(default_factory=dict[str, str])
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    kept: tuple[str, ...] = ()
    closed_hosts: frozenset[str] = frozenset()

    def without(self, file: str, faults: Iterable[str]) -> Tenants:
        """Return them without the clinics of this file."""
        by_key = {key: tenant for key, tenant in self.by_key.items() if self.file_of.get(key) != file}
        by_host = {host: tenant for host, tenant in self.by_host.items() if tenant.key in by_key}
        left_out = {**self.left_out, file: (*self.left_out.get(file, ()), *faults)}
        closed = self.closed_hosts | (self.by_host.keys() - by_host.keys())
        return replace(self, by_key=by_key, by_host=by_host, left_out=left_out, closed_hosts=closed)

    def at(self, host: str) -> Tenant | None:
        """Return the tenant for a `Host` header's value, or None if there is none."""
        return self.by_host.get(host.lower())

    def is_closed(self, host: str) -> bool:
        """Whether a `Host` header's value is that of a clinic that is left out."""
        return host.lower() in self.closed_hosts and self.at(host) is None


def contrast(one: str, other: str) -> float:
    """Return the WCAG 2.2 contrast ratio (1 to 21) of two `#rrggbb` colours."""

    def luminance(colour: str) -> float:
        channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
