"""The portal's clients at an identity server, and what else the tenants file says of one (docs/identity-servers.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, cast

from portal.config.client_keys import ALGORITHMS, ClientKey, read_client_key
from portal.config.table import Source, setting, text, texts

E = TypeVar("E", bound=StrEnum)

PATIENT = ["patient"]
STAFF = ["nurse", "physician", "embryologist", "coordinator", "admin"]
"""What means which side unless the file says so."""

_PLACEHOLDER = re.compile(r"\{(client_id|signed_out)\}")


class ClientAuth(StrEnum):
    """How a client sends its secret (OpenID Connect Core §9)."""

    BASIC = "client_secret_basic"
    POST = "client_secret_post"


class KeyAudience(StrEnum):
    """For whom a client's key signs (`aud`): RFC 7523bis wants the issuer, some servers their token endpoint."""

    ISSUER = "issuer"
    TOKEN_ENDPOINT = "token_endpoint"  # noqa: S105


class Par(StrEnum):
    """Whether sign-ins are pushed (RFC 9126): if the identity server offers it, never, or always."""

    AUTO = "auto"
    OFF = "off"
    REQUIRED = "required"


def choice(of: type[E]) -> Callable[[Any, Source], E]:
    """A parser for one of these words."""

    def parse(value: Any, source: Source) -> E:
        if value not in list(of):
            raise ValueError(f"{value!r} is none of {', '.join(of)}")
        return of(value)

    return parse


def _secret(variable: Any, source: Source) -> str:
    if not variable and "client_key_env" in source.table:
        return ""
    if not variable:
        raise ValueError("is missing")
    secret = read_secret(text(variable, source), source.environ)
    if secret is None:
        raise ValueError(
            f"set {variable} (or {variable}_FILE) in the environment, or put it into the folder PORTAL_SECRETS"
        )
    return secret


def _client_key(variable: Any, source: Source) -> ClientKey:
    pem = read_secret(text(variable, source), source.environ)
    found = read_client_key(pem) if pem else None
    if found is None:
        raise ValueError(
            f"set {variable} (or {variable}_FILE) to a private key as PEM: RSA of 2048 bits or more, EC on P-256, or Ed25519"
        )
    return found


def _key_algorithm(value: Any, source: Source) -> str:
    variable = source.table.get("client_key_env")
    pem = read_secret(variable, source.environ) if isinstance(variable, str) else None
    key = read_client_key(pem) if pem else None
    if key is None:
        raise ValueError("needs a usable client_key_env")
    if key.by(text(value, source)) is None:
        raise ValueError(f"must be one of this key's: {', '.join(ALGORITHMS[key.key.key_type])}")
    return value


@dataclass(frozen=True, slots=True)
class Client:
    """A client registered at the identity server (RFC 6749 §2)."""

    client_id: str = setting(text, "riverside-portal")
    client_secret: str = setting(
        _secret, "RIVERSIDE_CLIENT_SECRET", "", "", secret=True, name="client_secret_env"
    )
    key: ClientKey | None = setting(
        _client_key,
        "RIVERSIDE_KEY",
        "or a private key (PEM) instead of the secret: private_key_jwt; published at /.well-known/jwks.json",
        None,
        secret=True,
        commented=True,
        name="client_key_env",
    )
    key_algorithm: str | None = setting(
        _key_algorithm,
        "PS256",
        "what the key signs with, if not RS256 (RSA), ES256 (EC) or EdDSA",
        None,
        commented=True,
        name="client_key_alg",
    )
    key_audience: KeyAudience = setting(
        choice(KeyAudience),
        "token_endpoint",
        "for whom it signs, if not for the issuer",
        "issuer",
        commented=True,
        name="client_key_audience",
    )
    auth: ClientAuth | None = setting(
        choice(ClientAuth),
        "client_secret_post",
        "if the secret isn't accepted by HTTP Basic",
        None,
        commented=True,
        name="client_auth",
    )

    @property
    def signing_key(self) -> ClientKey | None:
        """The key with the algorithm that it is to sign with."""
        return self.key.by(self.key_algorithm) if self.key and self.key_algorithm else self.key


def claim_path(value: Any, source: Source) -> tuple[str, ...]:
    """A claim's name, or the names that lead to it inside objects."""
    if isinstance(value, str) and value.strip():
        return (value.strip(),)
    path = texts(value, source) if isinstance(value, list) else ()
    if not path:
        raise ValueError("must be a claim's name, or a list of the names that lead to it")
    return path


def separator(value: Any, source: Source) -> str:
    """What stands between words in one text; it may be a space."""
    if not isinstance(value, str):
        raise ValueError('must be a string such as ","')
    return value


def role_map(value: Any, source: Source) -> Mapping[str, str]:
    """The identity server's words for roles, each with the portal's, which is among patient or staff."""
    given = _texts_by_name(value)
    known = [*source.table.get("patient", PATIENT), *source.table.get("staff", STAFF)]
    wrong = [word for word, role in given.items() if role not in known]
    if wrong:
        raise ValueError(*(f".{word}: {given[word]!r} is among neither patient nor staff" for word in wrong))
    return given


def logout_params(value: Any, source: Source) -> Mapping[str, str]:
    """The query of the end-session address, with `{client_id}` and `{signed_out}` in place of their values."""
    given = _texts_by_name(value)
    wrong = [name for name, text in given.items() if re.search(r"[{}]", _PLACEHOLDER.sub("", text))]
    if wrong:
        said = "must have no other placeholders than {client_id} and {signed_out}"
        raise ValueError(*(f".{name}: {said}" for name in wrong))
    return given


def _texts_by_name(value: Any) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise ValueError("must be a table")
    given = cast("dict[str, Any]", value)
    if wrong := [name for name, text in given.items() if not isinstance(text, str)]:
        raise ValueError(*(f".{name}: must be a string" for name in wrong))
    return given


def read_secret(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the secret in variable `name`, in the file that `name_FILE` points to or in the folder PORTAL_SECRETS.

    None if it can't be read.
    """
    if value := environ.get(name):
        return value
    file, folder = environ.get(f"{name}_FILE"), environ.get("PORTAL_SECRETS")
    if not file and folder and re.fullmatch(r"\w+", name):
        file = f"{folder}/{name}"
    try:
        return Path(file).read_text(encoding="utf-8").strip() or None if file else None
    except (OSError, ValueError):  # bytes that aren't UTF-8, a NUL in the name
        return None
