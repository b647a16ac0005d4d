"""How fast pages were for those who opened them (Core Web Vitals), as their browsers report it, if the clinic asks for that.

Nothing says whose page it was: neither cookie nor token is read, no address of a page is sent, and only counts are kept.
"""

from __future__ import annotations

import math

from flask import Blueprint, Response, abort, current_app, g, make_response, request
from werkzeug.exceptions import BadRequest, HTTPException, NotFound, TooManyRequests

from portal import metrics
from portal.web.csrf import is_same_origin
from portal.web.extensions import csrf, limiter

bp = Blueprint("page_speed", __name__)

_LARGEST = {"lcp": 60_000.0, "inp": 60_000.0, "cls": 100.0}
"""By figure: milliseconds until the largest part was painted, of the slowest interaction; and how much the layout shifted."""


@bp.post("/page-speed")
@csrf.exempt
@limiter.limit("600 per minute")
def report() -> Response:
    """Count the figures of one page, whose kind is named by its endpoint; 400 for anything else."""
    if not g.tenant.page_speed or not is_same_origin():
        abort(404)
    page = request.form.get("page", "")
    given = {name: _number(request.form[name]) for name in _LARGEST if name in request.form}
    if page not in current_app.view_functions or not given:
        abort(400)
    if any(not 0 <= value <= _LARGEST[name] for name, value in given.items()):
        abort(400)
    for name, value in given.items():
        metrics.page_speed(name, page, g.tenant.key, value if name == "cls" else value / 1000)
    return make_response("", 204)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _refused(error: HTTPException) -> Response:
    """Nothing but the status: a page would read the session, and the audit line of too many reports would say whose."""
    return make_response("", error.code)


for refusal in (BadRequest, NotFound, TooManyRequests):
    bp.register_error_handler(refusal, _refused)
