"""The care API, one module per resource."""

from __future__ import annotations

from flask import Blueprint

blueprints: list[Blueprint] = []
