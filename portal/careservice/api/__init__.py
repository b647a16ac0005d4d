"""The care API, one module per resource (care API specification §4)."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from flask import Blueprint

from portal.careservice.api import webhooks
from portal.careservice.api.endpoint import api

for module in iter_modules(__path__):
    import_module(f"{__name__}.{module.name}")  # adds the module's endpoints to `api`

blueprints: list[Blueprint] = [api, webhooks.bp]
