"""The record types, sample answers, and an answer decoded as a form."""

from __future__ import annotations

import importlib
import json
import pkgutil

from portal import services
from portal.services.consents.forms import ConsentForm
from portal.services.decoding import decode

RECORD_TYPES = [
    value
    for module in pkgutil.walk_packages(services.__path__, f"{services.__name__}.")
    for value in vars(importlib.import_module(module.name)).values()
    if isinstance(value, type)
]
FORM = {"id": "c-1", "title": "Egg retrieval", "status": "Pending"}
NOTIFICATIONS = [
    {"id": "1", "type": "MessageReceived", "title": "T", "body": "B", "creationTime": "2026-01-01T00:00:00Z"}
]


def form(**members) -> ConsentForm:
    return decode(json.dumps({**FORM, **members}).encode(), ConsentForm)


def listed(*items: object, **members: object) -> bytes:
    return json.dumps({"items": list(items), **members}).encode()
