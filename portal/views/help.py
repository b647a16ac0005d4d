"""Help: for patients contact details and how the portal works, for staff how work is found and done; a glossary; the welcome."""

from __future__ import annotations

from flask import Blueprint, Response, request

from portal.parse import line
from portal.request_values import is_seen_by_staff
from portal.web.glossary import Word, glossary
from portal.web.handlers import Care, Page, Person, Side, redirect_to, render, signed_in

bp = Blueprint("help", __name__, url_prefix="/help")

_WELCOMED = "welcomed"
_A_YEAR = 365 * 24 * 3600


class HelpPage(Page, template="help/show.html"):
    """How the portal works."""


class StaffHelpPage(Page, template="help/staff.html"):
    """The same for staff."""


class WordsPage(Page, template="help/words.html"):
    words: tuple[Word, ...]
    searched: str


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Show how to reach the clinic and how the portal works; to staff how they work with it."""
    if person.is_staff:
        return render(StaffHelpPage())
    return render(HelpPage())


@bp.get("/words")
@signed_in(Side.PATIENT, Side.STAFF)
def words(care: Care, person: Person) -> Response:
    """Show the glossary of treatment terms, or search it."""
    searched = line(request.args.get("q"), longest=100)
    return render(WordsPage(words=glossary(searched), searched=searched), fragment="words")


@bp.post("/welcome")
@signed_in(Side.PATIENT)
def hide_welcome(care: Care, person: Person) -> Response:
    """Dismiss the welcome on this browser's home page; the cookie doesn't identify anyone."""
    response = redirect_to("/")
    response.set_cookie(_WELCOMED, "1", max_age=_A_YEAR, path="/", secure=True, httponly=True, samesite="Lax")
    return response


def is_new() -> bool:
    """Whether the welcome hasn't been dismissed in this browser."""
    return _WELCOMED not in request.cookies and not is_seen_by_staff()
