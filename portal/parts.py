"""The parts that one portal process is made of, put together once by `portal.app.create_app`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from flask import current_app

from portal.audit import Audit
from portal.breaker import Breakers
from portal.clock import Clock
from portal.operations import Operations
from portal.readiness import Readiness
from portal.services.client import ReferenceCache
from portal.services.offered import Offered
from portal.sessions import Session, Sessions
from portal.settings import Settings
from portal.signin.flow import SignIn
from portal.signin.provider import Providers
from portal.signin.tokens import Refresher
from portal.store.vault import Vault


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that lives as long as the process."""

    settings: Settings
    clock: Clock
    vault: Vault
    sessions: Sessions
    providers: Providers
    sign_in: SignIn
    refresher: Refresher
    references: ReferenceCache
    breakers: Breakers
    offered: Offered
    operations: Operations
    readiness: Readiness
    audit: Audit


def parts() -> Parts:
    """Return the parts of the running application."""
    return cast("Parts", current_app.extensions["portal"])


def session() -> Session:
    """Return this request's session with its portal side (Flask's `session` is the same object)."""
    from flask import session as flask_session

    return cast("Session", cast("object", flask_session._get_current_object()))  # pyright: ignore[reportUnknownMemberType, reportPrivateUsage, reportAttributeAccessIssue]
