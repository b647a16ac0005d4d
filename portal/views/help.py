"""Help for patients: contact details, how the portal works, a glossary, and the welcome on a first visit."""

from __future__ import annotations

from flask import Blueprint, Response, g, request

from portal.config.tenants import Side
from portal.services.client import Care
from portal.state.session_records import Person
from portal.web.glossary import Word, glossary
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render
from portal.web.pages import Page

bp = Blueprint("help", __name__, url_prefix="/help")

_WELCOMED = "welcomed"
_A_YEAR = 365 * 24 * 3600


class HelpPage(Page, template="help/show.html"):
    """How the portal works."""


class WordsPage(Page, template="help/words.html"):
    """The glossary."""

    words: tuple[Word, ...]


@bp.get("")
@signed_in(Side.PATIENT)
def show(care: Care, person: Person) -> Response:
    """Show how to reach the clinic and how the portal works."""
    return render(HelpPage())


@bp.get("/words")
@signed_in(Side.PATIENT)
def words(care: Care, person: Person) -> Response:
    """Show the glossary of treatment terms."""
    return render(WordsPage(words=glossary()))


@bp.post("/welcome")
@signed_in(Side.PATIENT)
def hide_welcome(care: Care, person: Person) -> Response:
    """Dismiss the welcome on this browser's home page; the cookie doesn't identify anyone."""
    response = redirect_to("/")
    response.set_cookie(_WELCOMED, "1", max_age=_A_YEAR, path="/", secure=True, httponly=True, samesite="Lax")
    return response


def is_new() -> bool:
    """Whether the welcome hasn't been dismissed in this browser."""
    return _WELCOMED not in request.cookies and "seen" not in g
