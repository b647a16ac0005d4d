"""Choosing the language of the pages."""

from __future__ import annotations

from flask import Blueprint, Response, g, request

from portal.signin.flow import local_path
from portal.web.htmx import redirect_to
from portal.web.locale_selector import COOKIE

bp = Blueprint("language", __name__)


@bp.post("/language")
def choose() -> Response:
    """Remember the language in this browser and show the page again."""
    wanted = request.form.get("language", "")
    response = redirect_to(local_path(request.form.get("next")))
    if wanted in g.tenant.languages:
        response.set_cookie(COOKIE, wanted, path="/", secure=True, httponly=True, samesite="Lax")
    return response
