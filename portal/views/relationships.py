"""Removing someone from a patient's record: what follows, then once."""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, Response, request, url_for

from portal.operations import Operation, State
from portal.parts import parts
from portal.services.client import Care
from portal.services.errors import BadResponse, NotAllowed, NotFound, NotOffered, Refused, Unavailable
from portal.services.records import Episode, Relationship
from portal.services.relationships import delete_relationship
from portal.sessions import Person
from portal.tenants import Side
from portal.views.reach import reach
from portal.web import audit
from portal.web.conflicts import kept_elsewhere
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.once import settled
from portal.web.permitted import may
from portal.web.rules import said
from portal.words import _

bp = Blueprint("relationships", __name__, url_prefix="/relationships")


@bp.get("/<record:relationship_id>/remove")
@signed_in(Side.PATIENT, Side.STAFF)
def confirm(care: Care, person: Person, relationship_id: str) -> Response:
    """Say what follows from removing someone, and ask."""
    _require_right(person)
    try:
        episode, relationship = reach(care, person, _of_id(relationship_id, person))
    except NotFound:
        return _gone(person, relationship_id)
    audit.note("relationship.read", "done", kind="relationship", id_=relationship.id)
    return _ask(episode, relationship, _operation(person, episode, relationship))


@bp.post("/<record:relationship_id>/remove")
@signed_in(Side.PATIENT, Side.STAFF)
def remove(care: Care, person: Person, relationship_id: str) -> Response:
    """Remove them, once."""
    _require_right(person)
    operations = parts().operations
    operation = operations.find(person.sub, request.form.get("operation", ""), _purpose(relationship_id))
    try:
        episode, relationship = reach(care, person, _of_id(relationship_id, person))
    except NotFound:
        return _done(person, operation, is_first=False) if operation else _gone(person, relationship_id)
    if operation is None:
        return _ask(
            episode, relationship, _operation(person, episode, relationship), status=409, note=_stale()
        )
    if not operations.claim(person.sub, operation.id):
        operation = settled(person, operation)
        if operation.state is State.DONE:
            return _done(person, operation, is_first=False)
        return _ask(episode, relationship, operation, status=409, note=_unconfirmed())
    return _delete(care, person, episode, relationship, operation)


def _delete(
    care: Care, person: Person, episode: Episode, relationship: Relationship, operation: Operation
) -> Response:
    operations = parts().operations
    try:
        delete_relationship(care, relationship.id)
    except NotFound:
        return _done(person, operation, is_first=False)
    except (Refused, NotOffered) as error:
        operations.reopen(person.sub, operation.id)
        audit.note("relationship.remove", "refused", kind="relationship", id_=relationship.id)
        if isinstance(error, NotOffered):
            return _ask(episode, relationship, operation, status=501, note=kept_elsewhere())
        return _ask(episode, relationship, operation, status=403, note=said(error.code))
    except (Unavailable, BadResponse) as error:
        if isinstance(error, Unavailable) and error.outcome_known:
            operations.reopen(person.sub, operation.id)
            raise
        return _look(care, person, episode, relationship, operation)
    except NotAllowed:
        operations.reopen(person.sub, operation.id)
        raise
    audit.note("relationship.remove", "done", kind="relationship", id_=relationship.id)
    return _done(person, operation, is_first=True)


def _look(
    care: Care, person: Person, episode: Episode, relationship: Relationship, operation: Operation
) -> Response:
    """No answer came: is it still there? Removing it once more does no harm, so it may be tried again."""
    operations = parts().operations
    operations.lose(person.sub, operation.id)
    audit.note("relationship.remove", "unknown", kind="relationship", id_=relationship.id)
    try:
        reach(care, person, _of_id(relationship.id, person))
    except NotFound:
        return _done(person, operation, is_first=True)
    operations.reopen(person.sub, operation.id)
    return _ask(episode, relationship, operation, status=503, note=_unconfirmed())


def _done(person: Person, operation: Operation, *, is_first: bool) -> Response:
    parts().operations.finish(person.sub, operation.id)
    name = str(operation.data.get("name") or "")
    if is_first:
        toast(_("%(name)s was removed.", name=name) if name else _("Removed."))
    else:
        toast(_("This was removed already."), tone="info")
    episode_id = str(operation.data.get("episode") or "")
    if person.is_staff and episode_id:
        return redirect_to(url_for("episodes.show", episode_id=episode_id))
    return redirect_to(url_for("me.show" if person.is_patient else "episodes.index"))


def _gone(person: Person, relationship_id: str) -> Response:
    """Not there: told as removed to the one who removed it, and to everybody else as never seen."""
    ended = parts().operations.newest(person.sub, _purpose(relationship_id))
    if ended is None:
        raise NotFound
    back = url_for("me.show") if person.is_patient else url_for("episodes.index")
    return render("relationships/gone.html", status=404, back=back)


def _ask(
    episode: Episode, relationship: Relationship, operation: Operation, *, status: int = 200, note: str = ""
) -> Response:
    return render(
        "relationships/remove.html",
        status=status,
        episode=episode,
        relationship=relationship,
        operation=operation,
        note=note,
    )


def _of_id(relationship_id: str, person: Person) -> Callable[[Episode], Relationship | None]:
    """Patients reach those of their own record alone; staff all that an episode holds."""

    def pick(episode: Episode) -> Relationship | None:
        mine = episode.patient_of(person.sub)
        for one in episode.relationships:
            is_own = mine is not None and one.patient_id in (mine.id, None)
            if one.id == relationship_id and (person.is_staff or is_own):
                return one
        return None

    return pick


def _require_right(person: Person) -> None:
    if person.is_staff and not may(person, "relationship.remove"):
        audit.note("relationship.remove", "refused")
        raise NotAllowed


def _operation(person: Person, episode: Episode, relationship: Relationship) -> Operation:
    operations = parts().operations
    newest = operations.newest(person.sub, _purpose(relationship.id))
    if newest is not None and newest.state is State.OPEN:
        return newest
    data = {"name": relationship.related_name, "episode": episode.id}
    return operations.begin(person.sub, _purpose(relationship.id), data)


def _purpose(relationship_id: str) -> str:
    return f"remove-relationship:{relationship_id}"


def _stale() -> str:
    return _(
        "The page you sent was from another visit, so nothing was removed. Please check and send it once more."
    )


def _unconfirmed() -> str:
    return _("The clinic’s system didn’t confirm this. Its record, read just now, still shows this person.")
