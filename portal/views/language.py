"""Choosing the language of the pages."""

from __future__ import annotations

from flask import Blueprint, Response, g, request

from portal.parts import session
from portal.signin.flow import local_path
from portal.web.htmx import redirect_to
from portal.web.language import KEY

bp = Blueprint("language", __name__)


@bp.post("/language")
def choose() -> Response:
    """Remember the language for this session and show the page again."""
    wanted = request.form.get("language", "")
    if wanted in g.tenant.languages:
        session()[KEY] = wanted
    return redirect_to(local_path(request.form.get("next")))
