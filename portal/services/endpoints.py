"""All rows of the care API. Each resource's module declares its own; the methods and paths of the care API specification §4
are defined only there.

The webhooks are listed separately, because others call them, never the portal.
"""

from __future__ import annotations

from typing import cast

from portal.services import (
    cases,
    consents,
    conversations,
    directories,
    emr_endpoints,
    episodes,
    files,
    notifications,
    patients,
    pgt_results,
    physicians,
    prospects,
    protocols,
    relationships,
    storage,
)
from portal.services.api import AnyEndpoint, Endpoint

_MODULES = (
    consents,
    protocols,
    patients,
    cases,
    relationships,
    storage,
    pgt_results,
    episodes,
    physicians,
    emr_endpoints,
    directories,
    files,
    conversations,
    notifications,
    prospects,
)
ROWS: dict[AnyEndpoint, tuple[str, str]] = {
    cast("AnyEndpoint", value): (module.__name__, name)
    for module in _MODULES
    for name, value in vars(module).items()
    if isinstance(value, Endpoint)
}
"""All endpoints that the portal may call, in the specification's order, each with the module and name of its row."""

ALL = tuple(ROWS)

WEBHOOKS: tuple[AnyEndpoint, ...] = (
    Endpoint("POST", "/smsinbound", "Webhook", object),
    Endpoint("POST", "/emailinbound", "Webhook", object),
    Endpoint("POST", "/api/payment/webhook/payment-provider", "Webhook", object),
)
"""Endpoints of the specification that others call, never the portal."""
