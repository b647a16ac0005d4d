"""What the search box can do besides finding: the sections, and what is begun most often."""

from __future__ import annotations

from flask import url_for

from portal.folding import folded
from portal.i18n.gettext import _
from portal.state.session_records import Person
from portal.values import Value
from portal.views.known_search import is_place
from portal.web import modules
from portal.web.navigation import navigation
from portal.web.permissions import may
from portal.web.routing import endpoint_at


class Action(Value, frozen=True):
    words: str
    href: str
    icon: str


def usual_actions(person: Person) -> list[Action]:
    """Return what this person begins from everywhere, which is offered before anything is typed."""
    found = [Action(_("Sign my forms"), url_for("consents.list", list="mine"), "signed")]
    if may(person, "consent.create"):
        found.append(Action(_("New consent form"), url_for("consents.create.choose"), "add"))
    if may(person, "protocol.edit"):
        found.append(Action(_("New protocol"), "/protocols/new", "add"))
    return [action for action in found if not modules.off() or endpoint_at(action.href.partition("?")[0])]


def matching_actions(person: Person, text: str) -> list[Action]:
    """Return those of which the text's words begin words, and the place in the store that it may be."""
    wanted = folded(text).split()
    sections = [Action(item.label, item.href, item.icon) for item in navigation(person)]
    sheet = (
        [Action(_("Day sheet"), url_for("day_sheet.show"), "print")] if may(person, "day-sheet.see") else []
    )
    by_id = Action(_("Open by id"), url_for("open_by_id.show"), "open")
    every = (*usual_actions(person), *sections, *sheet, by_id)
    found = [action for action in every if _begins(folded(action.words).split(), wanted)]
    if is_place(text) and may(person, "embryo.edit") and endpoint_at("/storage"):
        words = _("Look for “%(place)s” in embryo storage", place=text)
        found.insert(0, Action(words, url_for("storage.index", q=text), "storage"))
    return found


def _begins(words: list[str], wanted: list[str]) -> bool:
    return bool(wanted) and all(any(word.startswith(start) for word in words) for start in wanted)
