"""Short hashes of what all machines must have in common, for `/metrics`: secret keys, tenants, settings.

They are keyed with the first secret key, so that they say nothing about a secret, however short it is. Machines with other keys
therefore differ in all three.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from portal.config.settings import Settings
from portal.config.variables import Variables
from portal.store.sealer import derived

_OF_THE_MACHINE = frozenset(
    {
        "bind",
        "health_bind",
        "workers",
        "threads",
        "max_requests",
        "tenants_file",
        "secrets_folder",
        "audit",
        "version",
    }
)
"""Settings that may differ between machines."""


def fingerprints(settings: Settings) -> dict[str, str]:
    """Return the fingerprints by what they are of: twelve hexadecimal digits each."""
    key = derived(settings.secret_keys[0], "fingerprints")
    return {
        "keys": _fingerprint(key, settings.secret_keys),
        "tenants": _fingerprint(key, _tenants(settings)),
        "settings": _fingerprint(key, _settings(settings)),
    }


def _fingerprint(key: bytes, parts: Iterable[str]) -> str:
    digest = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        digest.update(f"{len(part)}:{part}".encode())
    return digest.hexdigest()[:12]


def _tenants(settings: Settings) -> Iterable[str]:
    """The clinics with their secrets, and the files that they are read from."""
    for key, tenant in sorted(settings.tenants.by_key.items()):
        clients = (tenant.client, *([tenant.service_client] if tenant.service_client else []))
        yield key
        yield from (client.client_secret or (client.key.kid if client.key else "") for client in clients)
    file = settings.tenants_file
    dialects = {tenant.dialect for tenant in settings.tenants.by_key.values() if tenant.dialect}
    files = {
        *(file.rglob("*") if file.is_dir() else [file]),
        *settings.consent_templates.rglob("*"),
        *dialects,
    }
    for path in sorted((path for path in files if path.is_file()), key=lambda path: (path.name, path)):
        yield path.name
        yield hashlib.sha256(path.read_bytes()).hexdigest()


def _settings(settings: Settings) -> Iterable[str]:
    for field in fields(Variables):
        if field.name not in _OF_THE_MACHINE and field.name != "secret_keys":
            yield f"{field.name}={_content(getattr(settings, field.name))}"
    yield repr(settings.timeouts)


def _content(value: object) -> object:
    """The value, or of a file its content: its path may be another on each machine."""
    if isinstance(value, str) and value.startswith("/") and Path(value).is_file():
        return hashlib.sha256(Path(value).read_bytes()).hexdigest()
    return value
