"""Removing someone from a patient's record: the consequences, what stays signed, and the removal."""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, Response, url_for

from portal.context import context
from portal.i18n.gettext import _
from portal.services.episodes import Episode
from portal.services.errors import NotAllowed, NotFound, NotOffered, Refused, Unavailable
from portal.services.relationships import Relationship, delete_relationship
from portal.services.responses import read_back
from portal.state.operations import Operation
from portal.views.episodes.lookup import find_embedded
from portal.views.relationship_effects import ask
from portal.web.act_once import Attempt, Unconfirmed, act_once, begin, sent_operation
from portal.web.filters import today
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast
from portal.web.permissions import may
from portal.web.refusals import kept_elsewhere, refusal_message

bp = Blueprint("relationships", __name__, url_prefix="/relationships")


class GonePage(Page, template="relationships/gone.html"):
    """They have already been removed; `back` is where to continue."""

    back: str


@bp.get("/<record:relationship_id>/remove")
@signed_in(Side.PATIENT, Side.STAFF)
def confirm(care: Care, person: Person, relationship_id: str) -> Response:
    """Show the consequences of removing someone, and ask."""
    _require_right(person)
    try:
        episode, relationship = find_embedded(
            care, person, _of_id(relationship_id, person), within="Episode.relationships"
        )
    except NotFound:
        return _gone(person, relationship_id)
    audit.shown("relationship.read", "relationship", relationship.id)
    return ask(care, episode, relationship, _operation(person, episode, relationship))


@bp.post("/<record:relationship_id>/remove")
@signed_in(Side.PATIENT, Side.STAFF)
def remove(care: Care, person: Person, relationship_id: str) -> Response:
    """Remove them, once."""
    _require_right(person)
    operation = sent_operation(person.sub, _purpose(relationship_id))
    try:
        episode, relationship = find_embedded(
            care, person, _of_id(relationship_id, person), within="Episode.relationships"
        )
    except NotFound:
        return _removed(person, operation, is_first=False) if operation else _gone(person, relationship_id)
    if operation is None:
        fresh = _operation(person, episode, relationship)
        return ask(care, episode, relationship, fresh, status=409, note=_stale())
    try:
        done = act_once(
            Attempt(person.sub, operation),
            lambda _key: _delete(care, person, relationship_id),
            look=lambda: _is_gone(care, person, relationship_id),
            event="relationship.remove",
            id_=relationship_id,
            is_repeatable=True,
        )
    except NotOffered:
        return ask(care, episode, relationship, operation, status=501, note=kept_elsewhere())
    except Refused as error:
        return ask(care, episode, relationship, operation, status=403, note=refusal_message(error.code))
    except Unconfirmed as error:
        if not error.is_readable:
            raise
        return ask(care, episode, relationship, operation, status=503, note=_unconfirmed())
    return _removed(person, operation, is_first=done.result is True)


def _delete(care: Care, person: Person, relationship_id: str) -> bool:
    """Remove it; return False if it was already gone. Raises Unavailable if the record still has it."""
    is_first = True
    try:
        delete_relationship(care, relationship_id)
    except NotFound:
        is_first = False
    if not read_back(lambda: _is_gone(care, person, relationship_id)):
        raise Unavailable("it is still on the record", outcome_known=False)
    return is_first


def _is_gone(care: Care, person: Person, relationship_id: str) -> bool | None:
    """After a lost response, return True if the record no longer contains it, else None."""
    try:
        find_embedded(care, person, _of_id(relationship_id, person), within="Episode.relationships")
    except NotFound:
        return True
    return None


def _removed(person: Person, operation: Operation, *, is_first: bool) -> Response:
    name = str(operation.data.get("name") or "")
    if is_first:
        removed = _("%(name)s was removed.", name=name)
        told = removed if person.is_staff else _("%(name)s’s entry on your record has ended.", name=name)
        toast(told if name else _("Removed."))
    else:
        toast(_("This was removed already."), tone="info")
    episode_id = str(operation.data.get("episode") or "")
    if person.is_staff and episode_id:
        return redirect_to(url_for("episodes.show", episode_id=episode_id))
    return redirect_to(_back(person))


def _gone(person: Person, relationship_id: str) -> Response:
    """Not found: say that it was removed to the person who removed it; for everyone else, 404."""
    if context().operations.newest(person.sub, _purpose(relationship_id)) is None:
        raise NotFound
    return render(GonePage(back=_back(person)), status=404)


def _back(person: Person) -> str:
    return url_for("me.show" if person.is_patient else "episodes.index")


def _of_id(relationship_id: str, person: Person) -> Callable[[Episode], Relationship | None]:
    """Return a function that picks it from an episode: for patients only from their own record, and only if not ended."""

    def pick(episode: Episode) -> Relationship | None:
        mine = episode.patient_of(person.sub)
        for relationship in episode.relationships:
            is_own = mine is not None and relationship.patient_id in (mine.id, None)
            if relationship.id == relationship_id and (person.is_staff or is_own):
                return None if relationship.is_ended(today()) else relationship
        return None

    return pick


def _require_right(person: Person) -> None:
    if person.is_staff and not may(person, "relationship.remove"):
        audit.note_refusal("relationship.remove", "refused")
        raise NotAllowed


def _operation(person: Person, episode: Episode, relationship: Relationship) -> Operation:
    data = {"name": relationship.related_name, "episode": episode.id}
    operation, _was_lost = begin(person.sub, _purpose(relationship.id), data)
    return operation


def _purpose(relationship_id: str) -> str:
    return f"remove-relationship:{relationship_id}"


def _stale() -> str:
    return _(
        "The page you sent was from another visit, so nothing was removed. Please check and send it once more."
    )


def _unconfirmed() -> str:
    return _("The clinic’s system didn’t confirm this. Its record, read just now, still shows this person.")
