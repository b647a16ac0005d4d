"""What the service is told at start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Literal, cast

from flask import Flask, current_app

SampleSize = Literal["none", "small", "large"]

WEBHOOKS = ("sms", "email", "payment")
"""The kinds of calls from outside, each with secrets of its own."""

_EXTENSION = "careservice.settings"


def _no_secrets() -> Mapping[str, str]:
    return MappingProxyType({})


def _no_keys() -> Mapping[str, Mapping[str, Any]]:
    return MappingProxyType({})


def _no_tuples() -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class Lifetimes:
    """How long each thing that the identity server gives out is good for (docs/assumptions.md)."""

    access_token: timedelta = timedelta(minutes=10)
    id_token: timedelta = timedelta(minutes=20)
    code: timedelta = timedelta(seconds=60)
    pushed_request: timedelta = timedelta(seconds=60)
    refresh_token: timedelta = timedelta(days=14)
    refresh_grace: timedelta = timedelta(seconds=30)
    sign_in: timedelta = timedelta(hours=12)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that may differ between two runs of the service; made once, never changed.

    `issuer` is the identity server's address, without a slash at its end, and here the API's too.
    `client_secrets` is by client id, as are `client_keys`, the JWK Sets of those that sign assertions; `portal_origins` by tenant name, the first origin of a tenant being
    the one that gets back-channel logout. `webhook_secrets` are by kind (`WEBHOOKS`); any of a kind's may sign, so
    that they can be rotated, and without one none of that kind is taken. `twilio_tokens` are the Auth Tokens of
    clinics, by tenant name, whose texts Twilio signs in its own way. `mail_receiver` is the name under which the
    clinics' mail server writes Authentication-Results (RFC 8601 §2.5). Without `metrics_token` there is no `/metrics`.
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
    lifetimes: Lifetimes = field(default_factory=Lifetimes)


def init_app(app: Flask, settings: Settings) -> None:
    """Make `settings` what `current_settings()` gives while `app` is at work."""
    app.extensions[_EXTENSION] = settings


def current_settings() -> Settings:
    """The settings of the running app."""
    return cast("Settings", current_app.extensions[_EXTENSION])
