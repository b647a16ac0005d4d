"""The care API, one module per resource (care API specification §4)."""

from __future__ import annotations

from flask import Blueprint

from portal.careservice.api import (
    cases,
    consents,
    conversations,
    documents,
    embryos,
    emr_endpoints,
    episodes,
    notifications,
    patients,
    pgt_results,
    physicians,
    prospects,
    protocols,
    relationships,
    webhooks,
)
from portal.careservice.api.endpoint import api

RESOURCES = (
    consents,
    protocols,
    patients,
    cases,
    relationships,
    embryos,
    pgt_results,
    episodes,
    physicians,
    emr_endpoints,
    documents,
    conversations,
    notifications,
    prospects,
)
"""The modules whose endpoints `api` holds, in the specification's order."""

blueprints: list[Blueprint] = [api, webhooks.bp]
