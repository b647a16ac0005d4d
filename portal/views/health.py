"""Whether this process lives, and whether it can serve."""

from __future__ import annotations

from flask import Blueprint, Response, make_response

from portal.parts import parts
from portal.store import StoreDown

bp = Blueprint("health", __name__)


@bp.get("/healthz")
def healthz() -> Response:
    """200 while the process answers."""
    return make_response("ok\n", 200, {"Content-Type": "text/plain"})


@bp.get("/readyz")
def readyz() -> Response:
    """200 while the store answers. A care API that is down takes no machine out: the pages say so themselves."""
    try:
        parts().vault.store.ping()
    except StoreDown:
        return make_response("store down\n", 503, {"Content-Type": "text/plain"})
    return make_response("ready\n", 200, {"Content-Type": "text/plain"})
