"""All rows of the care API, in the order of their addresses. Each resource's module declares its own; the methods and paths
of the care API specification §4 are defined only there.

The webhooks are listed separately, because others call them, never the portal.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from portal import services
from portal.services.api import AnyEndpoint, Endpoint, declared_rows

for module in iter_modules(services.__path__):
    import_module(f"{services.__name__}.{module.name}")  # declares its rows

ALL = tuple(sorted(declared_rows(), key=lambda row: (row.template, row.method)))
"""All endpoints that the portal may call."""

WEBHOOKS: tuple[AnyEndpoint, ...] = (
    Endpoint("POST", "/smsinbound", "Webhook", object),
    Endpoint("POST", "/emailinbound", "Webhook", object),
    Endpoint("POST", "/api/payment/webhook/payment-provider", "Webhook", object),
)
"""Endpoints of the specification that others call, never the portal."""
