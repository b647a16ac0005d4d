"""Creating."""

from __future__ import annotations

from flask import Blueprint, Response

from portal.services.client import Care
from portal.sessions import Person
from portal.tenants import Side
from portal.views.consents.standing import CREATORS
from portal.web.guard import signed_in
from portal.web.htmx import render

bp = Blueprint("creating", __name__)


@bp.get("/new")
@signed_in(Side.STAFF, roles=set(CREATORS))
def choose(care: Care, person: Person) -> Response:
    return render("consents/new.html")
