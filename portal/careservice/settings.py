"""The settings that the service is started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Literal, cast

from flask import Flask, current_app

SampleSize = Literal["none", "small", "large"]

SigningAlgorithm = Literal["RS256", "PS256"]

WEBHOOKS = ("sms", "email", "payment")
"""The kinds of webhooks, each with its own secrets."""

_EXTENSION = "careservice.settings"


def _no_secrets() -> Mapping[str, str]:
    return MappingProxyType({})


def _no_keys() -> Mapping[str, Mapping[str, Any]]:
    return MappingProxyType({})


def _no_tuples() -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Lifetimes:
    """How long what the identity server issues stays valid (docs/assumptions.md)."""

    access_token: timedelta = timedelta(minutes=10)
    id_token: timedelta = timedelta(minutes=20)
    code: timedelta = timedelta(seconds=60)
    pushed_request: timedelta = timedelta(seconds=60)
    refresh_token: timedelta = timedelta(days=14)
    refresh_grace: timedelta = timedelta(seconds=30)
    sign_in: timedelta = timedelta(hours=12)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that may differ between two runs of the service; immutable.

    `issuer` is the address of the identity server and here also of the API, without a trailing slash.
    `client_secrets` and `client_keys` (the JWK Sets of clients that sign assertions) are keyed by client id,
    `portal_origins` by tenant name; a tenant's first origin receives back-channel logouts. `webhook_secrets` are
    keyed by kind (`WEBHOOKS`): any secret of a kind may sign, so that they can be rotated, and a kind without one is
    refused. `twilio_tokens`, by tenant name, are the Auth Tokens of clinics whose text messages Twilio signs in its
    own way. `mail_receiver` is the authserv-id with which the clinics' mail server writes Authentication-Results
    (RFC 8601 §2.5). Without `metrics_token` there is no `/metrics`. `signing_algorithm` is that of all tokens: RS256, which
    every client takes, or PS256, which FAPI 2.0 demands. `proxy_hops` is how many proxies in front set X-Forwarded-For.
    """

    database_url: str
    issuer: str
    sample: SampleSize = "none"
    demo: bool = False
    sample_password: str = ""
    client_secrets: Mapping[str, str] = field(default_factory=_no_secrets)
    client_keys: Mapping[str, Mapping[str, Any]] = field(default_factory=_no_keys)
    portal_origins: Mapping[str, tuple[str, ...]] = field(default_factory=_no_tuples)
    webhook_secrets: Mapping[str, tuple[str, ...]] = field(default_factory=_no_tuples)
    twilio_tokens: Mapping[str, tuple[str, ...]] = field(default_factory=_no_tuples)
    mail_receiver: str = ""
    metrics_token: str = field(default="", repr=False)
    signing_algorithm: SigningAlgorithm = "RS256"
    proxy_hops: int = 0
    lifetimes: Lifetimes = field(default_factory=Lifetimes)


def init_app(app: Flask, settings: Settings) -> None:
    """Have `current_settings()` return `settings` inside the contexts of `app`."""
    app.extensions[_EXTENSION] = settings


def current_settings() -> Settings:
    """The settings of the running app."""
    return cast("Settings", current_app.extensions[_EXTENSION])
