"""The application: its parts, put together."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flask import Flask, g, request
from werkzeug.middleware.proxy_fix import ProxyFix

from portal import VERSION, metrics, struct_types, tracing
from portal.audit import output
from portal.audit.checkpoints import Checkpoints
from portal.audit.trail import Audit
from portal.clock import Clock
from portal.config.settings import Settings
from portal.connect.answers.observer import Answers
from portal.context import Context
from portal.http import transfer
from portal.http.circuit_breaker import Breakers
from portal.i18n import locale
from portal.operate.fingerprints import fingerprints
from portal.operate.readiness import Readiness
from portal.services.capabilities import Capabilities
from portal.services.reference_cache import ReferenceCache
from portal.signin.discovery import Providers
from portal.signin.flow import SignIn
from portal.signin.refresh import Refresher
from portal.state.copies import Copies
from portal.state.operations import Operations
from portal.state.read_only import ReadOnly
from portal.state.sessions import Sessions
from portal.store import StoreDown, open_store
from portal.store.vault import Vault
from portal.views import blueprints, health
from portal.web import (
    as_patient,
    audit,
    compression,
    errors,
    filters,
    first_part,
    guard,
    headers,
    locale_selector,
    logs,
    pages,
    routing,
    static,
    template_globals,
    templates,
    unchanged_bell,
    unsent,
)
from portal.web.extensions import csrf, limiter
from portal.web.form_parser import BoundedRequest
from portal.web.framework_internals import look_through_directly
from portal.web.templates import PortalEnvironment

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from portal.connect.dialects.dialect import Dialect

ROOT = Path(__file__).parents[1]
look_through_directly()


class Portal(Flask):
    """Flask, with templates that are compiled for each language, and addresses that are built once."""

    jinja_environment = PortalEnvironment
    request_class = BoundedRequest

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._address = lru_cache(maxsize=4096)(super().url_for)

    def wsgi_app(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request, counted among those under way unless it has a thread of its own."""
        if environ["PATH_INFO"] in health.PATHS:
            return super().wsgi_app(environ, start_response)
        is_bell = environ["PATH_INFO"] == unchanged_bell.PATH
        as_patient.pass_on(environ)
        metrics.thread_taken()
        try:
            with tracing.request(environ):
                answer = unchanged_bell.answer(self, environ, start_response) if is_bell else None
                return super().wsgi_app(environ, start_response) if answer is None else answer
        finally:
            metrics.thread_freed()

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function as it is: none is a coroutine, for which Flask would look 25 times a request."""
        return func

    def url_for(self, endpoint: str, **values: Any) -> str:
        """Return the address within this portal; an absolute one, which depends on the request, is built anew.

        Where the portal is mounted (`SCRIPT_NAME`) is the same for all requests of a process.
        """
        if values.get("_external") or values.get("_scheme"):
            return super().url_for(endpoint, **values)
        if endpoint.startswith("."):  # within the blueprint of this request
            endpoint = f"{request.blueprint}{endpoint}" if request.blueprint else endpoint[1:]
        return self._address(endpoint, **values)


def create_app(settings: Settings, *, clock: Clock = time.time) -> Flask:
    """Return the portal as a WSGI application."""
    if settings.ca_file:
        transfer.trust(settings.ca_file)
    app = Portal(__name__, template_folder=str(ROOT / "templates"), static_folder=None)
    app.config.from_mapping(
        SECRET_KEY=settings.secret_keys[0],
        SECRET_KEY_FALLBACKS=list(settings.secret_keys[1:]),
        MAX_CONTENT_LENGTH=1024 * 1024,
        MAX_FORM_MEMORY_SIZE=1024 * 1024,
    )
    settings, dialects = _with_dialects(settings)
    made = _new_context(settings, dialects, clock)
    app.extensions["portal"] = made
    app.session_interface = made.sessions
    compression.init_app(app)
    logs.init_app(app, settings.log)
    if settings.traces_url:
        version = settings.version or VERSION
        tracing.start(settings.traces_url, version=version, continues=bool(settings.proxy_hops))
    routing.init_app(app)
    guard.init_app(app)
    first_part.init_app(app)
    audit.init_app(app)
    unsent.init_app(app)
    locale.init_app(app, locale_selector.choose)
    csrf.init_app(app)
    limiter.init_app(app)
    static.init_app(app)
    headers.init_app(app)
    template_globals.init_app(app)
    as_patient.init_app(app)
    errors.init_app(app)
    for blueprint in blueprints():
        app.register_blueprint(blueprint)
    pages.refuse_collisions(app.jinja_env.globals)
    struct_types.resolve_structs()
    _measure(made)
    first_languages = {tenant.languages[0] for tenant in settings.tenants.by_key.values()}
    templates.prepare(app, first_languages)
    filters.prepare(first_languages)
    if hops := settings.proxy_hops:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops)
    return app


def _measure(made: Context) -> None:
    """Let `/metrics` tell how much room store and audit have, and what is configured."""

    def store_room() -> float | None:
        try:
            return made.vault.store.free_bytes()
        except StoreDown:
            return None

    tenants = made.settings.tenants
    metrics.tenants(tenants.by_key)
    metrics.configured(fingerprints(made.settings))
    metrics.files_at_fault(left_out=tenants.left_out, kept=tenants.kept)
    metrics.sample(
        "portal_ready",
        "Whether requests should be sent here (1), as /readyz says.",
        lambda: float(made.readiness.probe()[0]),
    )
    metrics.sample(
        "portal_read_only_clinics",
        "Clinics in read-only mode: nothing is changed there.",
        lambda: float(len(made.read_only.clinics())),
    )
    metrics.sample("portal_store_free_bytes", "Room that is left to the store.", store_room)
    metrics.sample(
        "portal_audit_free_bytes",
        "Room that is left on the disk of the audit.",
        lambda: output.free_bytes(made.settings.audit),
    )


def _with_dialects(settings: Settings) -> tuple[Settings, Mapping[str, Dialect]]:
    """The settings without the clinics whose dialect can't be used, and the others' dialects.

    A portal whose APIs have none doesn't even load what reads them.
    """
    if not any(tenant.dialect for tenant in settings.tenants.by_key.values()):
        return settings, {}
    from portal.connect.dialects.load import leave_out_unusable, load_dialects

    tenants = leave_out_unusable(settings.tenants, os.environ)
    return replace(settings, tenants=tenants), load_dialects(tenants, os.environ)


def _declared(dialects: Mapping[str, Dialect], clinic: str) -> frozenset[str]:
    """The members that a clinic's dialect says are left out where they are empty."""
    dialect = dialects.get(clinic)
    return dialect.absent_means_none if dialect else frozenset()


def _new_context(settings: Settings, dialects: Mapping[str, Dialect], clock: Clock) -> Context:
    vault = Vault(open_store(settings.store_url, clock), settings.secret_keys, clock)
    sessions = Sessions(vault, settings.tenants, settings.sessions, clock)
    providers = Providers(settings.timeouts, clock, settings.breaker)
    checkpoints = Checkpoints(vault.store, clock, days=settings.audit_days)
    audit_trail = Audit(settings.audit, settings.secret_keys[0], clock, checkpoints)
    return Context(
        settings=settings,
        clock=clock,
        vault=vault,
        sessions=sessions,
        providers=providers,
        sign_in=SignIn(vault, providers, settings.timeouts, clock, max_age=settings.shortest_idle),
        refresher=Refresher(sessions, vault.store, settings.timeouts, clock),
        references=ReferenceCache(vault, settings.secret_keys, clock, settings.cache_url),
        adapters=dialects,
        breakers=Breakers(settings.breaker, clock),
        capabilities=Capabilities(vault, clock),
        answers=Answers(vault, clock, partial(_declared, dialects)),
        operations=Operations(vault, clock, clinic=lambda: g.tenant.key),
        copies=Copies(vault, clock),
        read_only=ReadOnly(vault, clock),
        readiness=Readiness(
            vault.store,
            providers.of_all(settings.tenants),
            clock,
            audit=audit_trail,
            check_keys=vault.check_keys,
            files_at_fault=(*settings.tenants.left_out, *settings.tenants.kept),
        ),
        audit=audit_trail,
    )
