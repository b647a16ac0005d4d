"""Home: what needs the person now."""

from __future__ import annotations

from flask import Blueprint, Response

from portal.services.client import Care
from portal.sessions import Person
from portal.tenants import Side
from portal.web.guard import signed_in
from portal.web.htmx import render

bp = Blueprint("home", __name__)


@bp.get("/")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Show what needs this person, the most pressing first."""
    return render("home/show.html")
