"""The application factory."""

from __future__ import annotations

import logging

import msgspec
from flask import Flask
from sqlalchemy import Engine, select
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.middleware.proxy_fix import ProxyFix

from portal.careservice import clock, database, metrics, transactions
from portal.careservice.api import blueprints
from portal.careservice.identity import dpop, endpoints, server
from portal.careservice.openapi.document import serve
from portal.careservice.settings import Settings
from portal.careservice.settings import init_app as init_settings

_log = logging.getLogger(__name__)


def create_app(
    settings: Settings, *, engine: Engine | None = None, time: clock.Clock = clock.system_clock
) -> Flask:
    """The whole service as one WSGI application over `settings.database_url`.

    `time` is the clock that the app reads; tests pass one that they can move.
    """
    app = Flask("portal.careservice", static_url_path="/static")
    init_settings(app, settings)
    clock.init_app(app, time)
    database.init_app(app, engine or database.connect(settings.database_url))
    server.init_app(app)
    dpop.init_app(app)
    app.register_blueprint(endpoints.bp)
    for blueprint in blueprints:
        app.register_blueprint(blueprint)
    transactions.init_app(app, [endpoints.bp, *blueprints])
    _resolve_structs(msgspec.Struct)
    app.add_url_rule("/openapi.json", "openapi", view_func=serve)
    app.add_url_rule("/healthz", view_func=healthz)
    app.add_url_rule("/metrics", "metrics", view_func=metrics.serve)
    app.add_url_rule("/favicon.ico", "favicon", view_func=no_icon)
    if settings.proxy_hops:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=settings.proxy_hops, x_proto=0, x_host=0)
    return app


def _resolve_structs(base: type) -> None:
    """Let msgspec resolve the service's structs before threads use them (docs/decisions/0008-msgspec-types.md)."""
    for struct in base.__subclasses__():
        if struct.__module__.startswith("portal.careservice."):
            msgspec.json.Decoder(struct)
        _resolve_structs(struct)


def no_icon() -> tuple[str, int]:
    """Empty: browsers ask for an icon on every sign-in page."""
    return "", 204


def healthz() -> tuple[str, int]:
    """200 while the database answers, else 503."""
    try:
        database.session().execute(select(1))
    except SQLAlchemyError:
        _log.exception("The database doesn't answer")
        return "The database doesn't answer.\n", 503
    return "ok\n", 200
