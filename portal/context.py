"""The parts that one portal process is made of, put together once by `portal.app.create_app`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import flask
from flask import Flask, current_app

from portal.audit.trail import Audit
from portal.clock import Clock
from portal.config.settings import Settings
from portal.connect.answers.observer import Answers
from portal.http.circuit_breaker import Breakers
from portal.operate.readiness import Readiness
from portal.services.adapter import Adapter
from portal.services.capabilities import Capabilities
from portal.services.reference_cache import ReferenceCache
from portal.signin.discovery import Providers
from portal.signin.flow import SignIn
from portal.signin.refresh import Refresher
from portal.state.copies import Copies
from portal.state.operations import Operations
from portal.state.read_only import ReadOnly
from portal.state.sessions import Session, Sessions
from portal.store.vault import Vault


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that lives as long as the process."""

    settings: Settings
    clock: Clock
    vault: Vault
    sessions: Sessions
    providers: Providers
    sign_in: SignIn
    refresher: Refresher
    references: ReferenceCache
    adapters: Mapping[str, Adapter]
    breakers: Breakers
    capabilities: Capabilities
    answers: Answers
    operations: Operations
    copies: Copies
    read_only: ReadOnly
    readiness: Readiness
    audit: Audit


_app: Callable[[], Flask] = cast("Any", current_app)._get_current_object
_session: Callable[[], Session] = cast("Any", flask.session)._get_current_object
"""The application and the session themselves: each look through their proxies would find them anew."""


def context() -> Context:
    return _app().extensions["portal"]


def session() -> Session:
    """Return this request's session with its portal side (Flask's `session` is the same object)."""
    return _session()
