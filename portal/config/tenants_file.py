"""Reads the tenants file: TOML tables into clinics, and every fault in them with its key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from babel.core import get_global

from portal.config.client_keys import ClientKey, read_client_key
from portal.config.contact import Contact, read_contact
from portal.config.document_seal import DocumentSeal, read_document_seal
from portal.config.dose_ranges import DoseRange, read_dose_ranges
from portal.config.medicines import Medicine, read_medicines
from portal.config.modules import Module
from portal.config.protocol_choices import ProtocolChoices, read_protocol_choices
from portal.config.tenants import (
    LANGUAGES,
    Client,
    Roles,
    Tenant,
    Tenants,
    TenantsError,
    contrast,
    read_secret,
    time_zones,
)

SHARED = frozenset(
    {"base_url", "auth_url", "scope", "idempotency", "id_token_hint", "identity_origins", "dialect"}
)
"""Settings that `[care]` may hold for all clinics, and each clinic's table for itself."""

CLIENT = frozenset({"client_id", "client_secret_env", "client_key_env"})
ROLES = frozenset({"claim", "patient", "staff"})
SETTINGS = (
    SHARED
    | CLIENT
    | {"hosts", "name", "authorize_params", "tenant_claim", "tenant_id", "time_zone", "country", "languages"}
    | {
        "accent",
        "logo",
        "roles",
        "service_client",
        "document_seal",
        "contact",
        "protocol_choices",
        "dose_ranges",
        "medicines",
        "unpaid_storage",
        "modules_off",
    }
)
"""The settings of a clinic's table; docs/configuration.md explains them."""

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?")
_COLOUR = re.compile(r"#[0-9a-f]{6}", re.IGNORECASE)
_COUNTRY = re.compile(r"[A-Z]{2}")
_LOGO = re.compile(r"[a-z0-9][a-z0-9._-]*\.svg", re.IGNORECASE)
_SCOPE = "openid profile email roles offline_access ClientelePortal"


def load_tenants(path: Path, environ: Mapping[str, str]) -> Tenants:
    """Read the tenants file, or a folder of such files; raise TenantsError with every fault."""
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    if not files:
        raise TenantsError([f"{path}: contains no .toml file"])
    reader = _Reader(environ)
    for file in files:
        reader.read(file)
    if not reader.tenants and not reader.faults:
        reader.faults.append(f"{path}: contains no [tenants.<key>]")
    if reader.faults:
        raise TenantsError(reader.faults)
    by_host = {host: tenant for tenant in reader.tenants.values() for host in tenant.hosts}
    return Tenants(by_key=reader.tenants, by_host=by_host)


_Table = dict[str, object]


class _Reader:
    """Turns TOML tables into tenants and collects their faults."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.tenants: dict[str, Tenant] = {}
        self.faults: list[str] = []
        self._hosts: dict[str, str] = {}
        self._folder = Path()

    def read(self, file: Path) -> None:
        self._folder = file.parent
        try:
            document = cast("_Table", tomllib.loads(file.read_text(encoding="utf-8")))
        except OSError as error:
            self.faults.append(f"{file}: cannot be read ({error.strerror})")
            return
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            self.faults.append(f"{file}: is not TOML ({error})")
            return
        self._unknown(document, {"care", "tenants"}, "", "the tenants file")
        care = self._table(document, "care", "")
        self._unknown(care, SHARED, "care", "[care]")
        for key, value in self._table(document, "tenants", "").items():
            where = f"tenants.{key}"
            if not isinstance(value, dict):
                self.faults.append(f"{where}: must be a table ([{where}])")
            elif key in self.tenants:
                self.faults.append(f"{where}: is defined twice")
            else:
                before = len(self.faults)
                tenant = self._tenant(key, where, cast("_Table", value), care)
                if len(self.faults) == before:
                    self.tenants[key] = tenant

    def _tenant(self, key: str, where: str, table: _Table, care: _Table) -> Tenant:
        self._unknown(table, SETTINGS, where, "a tenant")
        shared = {**care, **table}
        accent = self._text(table, "accent", where, default="#0b6e4f").lower()
        tenant_claim = self._text(table, "tenant_claim", where, default="") or None
        tenant_id = self._text(table, "tenant_id", where, default="") or None
        if (tenant_claim is None) != (tenant_id is None):
            self.faults.append(f"{where}.tenant_id: must be set together with tenant_claim")
        country = self._country(table, where)
        scope = self._text(shared, "scope", where, default=_SCOPE)
        if "openid" not in scope.split():
            self.faults.append(f"{where}.scope: must include openid, or there is no ID token to check")
        return Tenant(
            key=key,
            hosts=self._host_names(table, where, key),
            name=self._text(table, "name", where),
            base_url=self._address(shared, "base_url", where),
            auth_url=self._address(shared, "auth_url", where),
            scope=scope,
            client=self._client(table, where),
            authorize_params=self._params(table, where),
            tenant_claim=tenant_claim,
            tenant_id=tenant_id,
            roles=self._roles(self._table(table, "roles", where), f"{where}.roles"),
            service_client=self._service_client(table, where),
            time_zone=self._zone(table, where),
            country=country,
            languages=self._languages(table, where),
            accent=accent,
            on_accent=self._on_accent(accent, where),
            logo=self._logo(table, where),
            idempotency=self._flag(shared, "idempotency", where),
            id_token_hint=self._flag(shared, "id_token_hint", where),
            identity_origins=tuple(self._texts(shared, "identity_origins", where, default=[])),
            document_seal=self._document_seal(table, where),
            contact=self._contact(table, where, country),
            dialect=self._dialect(shared, where),
            protocol_choices=self._protocol_choices(table, where),
            dose_ranges=self._dose_ranges(table, where),
            medicines=self._medicines(table, where),
            unpaid_storage=self._text(table, "unpaid_storage", where, default="") or None,
            modules_off=self._modules(table, where),
        )

    def _unknown(self, table: _Table, known: AbstractSet[str], where: str, what: str) -> None:
        self.faults += [
            f"{where}.{name}: isn't a setting of {what}".lstrip(".") for name in sorted(table.keys() - known)
        ]

    def _table(self, table: _Table, key: str, where: str) -> _Table:
        value = table.get(key, {})
        if isinstance(value, dict):
            return cast("_Table", value)
        self.faults.append(f"{where}.{key}: must be a table".lstrip("."))
        return {}

    def _text(self, table: _Table, key: str, where: str, default: str | None = None) -> str:
        value = table.get(key, default)
        if isinstance(value, str) and (value.strip() or default == ""):
            return value.strip()
        self.faults.append(
            f"{where}.{key}: {'is missing' if value is None else 'must be a non-empty string'}"
        )
        return ""

    def _texts(self, table: _Table, key: str, where: str, default: list[str] | None = None) -> list[str]:
        value = table.get(key, default)
        if isinstance(value, list):
            items = cast("list[object]", value)
            if all(isinstance(item, str) and item for item in items):
                return [str(item) for item in items]
        self.faults.append(f"{where}.{key}: {'is missing' if value is None else 'must be a list of strings'}")
        return []

    def _flag(self, table: _Table, key: str, where: str) -> bool:
        value = table.get(key, False)
        if not isinstance(value, bool):
            self.faults.append(f"{where}.{key}: must be true or false")
        return value is True

    def _address(self, table: _Table, key: str, where: str) -> str:
        value = self._text(table, key, where)
        parts = urlsplit(value)
        if value and (
            parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment
        ):
            self.faults.append(
                f"{where}.{key}: must be an http or https address without a query (found {value!r})"
            )
        return value.rstrip("/")

    def _host_names(self, table: _Table, where: str, key: str) -> tuple[str, ...]:
        hosts = tuple(host.lower() for host in self._texts(table, "hosts", where))
        if "hosts" in table and not hosts:
            self.faults.append(f"{where}.hosts: must name at least one host")
        for host in hosts:
            if not _HOST.fullmatch(host):
                self.faults.append(
                    f"{where}.hosts: {host!r} isn't a host name (with its port unless it is 80 or 443)"
                )
            elif (other := self._hosts.setdefault(host, key)) != key:
                self.faults.append(f"{where}.hosts: {host!r} already belongs to {other}")
        return hosts

    def _client(self, table: _Table, where: str) -> Client:
        client_id = self._text(table, "client_id", where)
        key = self._client_key(table, where)
        variable = self._text(
            table, "client_secret_env", where, default="" if "client_key_env" in table else None
        )
        secret = read_secret(variable, self.environ) if variable else None
        if variable and secret is None:
            self.faults.append(
                f"{where}.client_secret_env: set {variable} (or {variable}_FILE) in the environment"
            )
        return Client(client_id, secret or "", key)

    def _service_client(self, table: _Table, where: str) -> Client | None:
        if "service_client" not in table:
            return None
        client = self._table(table, "service_client", where)
        self._unknown(client, CLIENT, f"{where}.service_client", "a client")
        return self._client(client, f"{where}.service_client")

    def _client_key(self, table: _Table, where: str) -> ClientKey | None:
        """The key that authenticates the client at the identity server, if one is configured."""
        if "client_key_env" not in table:
            return None
        variable = self._text(table, "client_key_env", where)
        pem = read_secret(variable, self.environ) if variable else None
        key = read_client_key(pem) if pem else None
        if variable and key is None:
            self.faults.append(
                f"{where}.client_key_env: set {variable} (or {variable}_FILE) to a private key as PEM: "
                "RSA of 2048 bits or more, or EC on P-256"
            )
        return key

    def _document_seal(self, table: _Table, where: str) -> DocumentSeal | None:
        if "document_seal" not in table:
            return None
        if not isinstance(table["document_seal"], dict):
            self.faults.append(f"{where}.document_seal: must be a table")
            return None
        where = f"{where}.document_seal"
        seal, faults = read_document_seal(cast("_Table", table["document_seal"]), where)
        self.faults += faults
        return seal

    def _contact(self, table: _Table, where: str, country: str | None) -> Contact | None:
        if "contact" not in table:
            return None
        contact, faults = read_contact(self._table(table, "contact", where), f"{where}.contact", country)
        self.faults += faults
        return contact

    def _dialect(self, table: _Table, where: str) -> Path | None:
        """The clinic's dialect file, next to the tenants file; the services validate its content."""
        name = self._text(table, "dialect", where, default="")
        return self._folder / name if name else None

    def _protocol_choices(self, table: _Table, where: str) -> ProtocolChoices:
        given = self._table(table, "protocol_choices", where)
        choices, faults = read_protocol_choices(given, f"{where}.protocol_choices")
        self.faults += faults
        return choices

    def _dose_ranges(self, table: _Table, where: str) -> tuple[DoseRange, ...]:
        ranges, faults = read_dose_ranges(table.get("dose_ranges", []), f"{where}.dose_ranges")
        self.faults += faults
        return ranges

    def _medicines(self, table: _Table, where: str) -> tuple[Medicine, ...]:
        medicines, faults = read_medicines(table.get("medicines", []), f"{where}.medicines")
        self.faults += faults
        return medicines

    def _params(self, table: _Table, where: str) -> Mapping[str, str]:
        params = self._table(table, "authorize_params", where)
        reserved = {"client_id", "redirect_uri", "response_type", "scope", "state", "nonce", "code_challenge"}
        for name, value in params.items():
            if not isinstance(value, str) or name in reserved:
                self.faults.append(
                    f"{where}.authorize_params.{name}: must be a string, and not a parameter that the portal sets itself"
                )
        return {name: str(value) for name, value in params.items()}

    def _roles(self, table: _Table, where: str) -> Roles:
        self._unknown(table, ROLES, where, "roles")
        roles = Roles(
            claim=self._text(table, "claim", where, default="role"),
            patient=frozenset(self._texts(table, "patient", where, default=["patient"])),
            staff=frozenset(
                self._texts(
                    table,
                    "staff",
                    where,
                    default=["nurse", "physician", "embryologist", "coordinator", "admin"],
                )
            ),
        )
        if both := sorted(roles.patient & roles.staff):
            self.faults.append(f"{where}.staff: {', '.join(both)} cannot be both patient and staff")
        return roles

    def _zone(self, table: _Table, where: str) -> ZoneInfo:
        name = self._text(table, "time_zone", where, default="UTC")
        if name in time_zones():
            return ZoneInfo(name)
        if name:
            self.faults.append(f"{where}.time_zone: {name!r} isn't an IANA time zone such as Europe/London")
        return ZoneInfo("UTC")

    def _country(self, table: _Table, where: str) -> str | None:
        """The country (ISO 3166-1 alpha-2) of telephone numbers without a country code, or None if not configured."""
        country = self._text(table, "country", where, default="")
        if country and not (_COUNTRY.fullmatch(country) and country in get_global("territory_currencies")):
            self.faults.append(
                f"{where}.country: must be a country code like GB (ISO 3166-1), found {country!r}"
            )
        return country or None

    def _languages(self, table: _Table, where: str) -> tuple[str, ...]:
        languages = self._texts(table, "languages", where, default=["en"])
        for language in languages:
            if language not in LANGUAGES:
                self.faults.append(f"{where}.languages: {language!r} is none of {', '.join(LANGUAGES)}")
        return tuple(languages) or ("en",)

    def _modules(self, table: _Table, where: str) -> frozenset[Module]:
        names = self._texts(table, "modules_off", where, default=[])
        known = {module.value for module in Module}
        self.faults += [
            f"{where}.modules_off: {name!r} is none of {', '.join(Module)}"
            for name in names
            if name not in known
        ]
        return frozenset(Module(name) for name in names if name in known)

    def _on_accent(self, accent: str, where: str) -> str:
        if not _COLOUR.fullmatch(accent):
            self.faults.append(f"{where}.accent: must be a colour as #rrggbb (found {accent!r})")
            return "#ffffff"
        on_accent = max(("#ffffff", "#14171a"), key=lambda text: contrast(accent, text))
        if contrast(accent, "#ffffff") < 3:
            self.faults.append(
                f"{where}.accent: {accent} has a contrast of {contrast(accent, '#ffffff'):.1f} with white; "
                "choose a darker one (at least 3.0 for buttons to be visible; 4.5 for text)"
            )
        return on_accent

    def _logo(self, table: _Table, where: str) -> str | None:
        logo = self._text(table, "logo", where, default="")
        if logo and not _LOGO.fullmatch(logo):
            self.faults.append(f"{where}.logo: must be the plain name of an .svg file in static/brand")
        return logo or None
