"""Folders of an episode's documents: the tree, and moving a folder somewhere else in it."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, Response, request, url_for

from portal.services.client import Care
from portal.services.directories import move_directory
from portal.services.episodes import get_episode
from portal.services.errors import BadResponse, CareError, Conflict, NotFound, Refused, Unavailable
from portal.services.records import Directory, Documents, Episode
from portal.sessions import Person
from portal.tenants import Side
from portal.web import audit, unsent
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.rules import said
from portal.words import _

bp = Blueprint("directories", __name__, url_prefix="/directories")

ROOT = "root"
"""What a form sends for the top of the tree: a folder's parent id is None there."""
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Place:
    """A folder in the tree as a place to move to; `closed` says why it can't be one, in words."""

    id: str
    name: str
    depth: int
    files: int
    closed: str = ""


@bp.get("")
@signed_in(Side.STAFF)
def index(care: Care, person: Person) -> Response:
    """Show all folders of an episode (`?episode=`), the empty ones too."""
    episode = _episode(care)
    audit.note("episode.read", "done", kind="episode", id_=episode.id)
    return render("directories/index.html", episode=episode, places=_tree(episode.documents, None))


@bp.get("/<record:directory_id>/move")
@signed_in(Side.STAFF)
def show(care: Care, person: Person, directory_id: str) -> Response:
    """Ask where the folder should go."""
    episode = _episode(care)
    audit.note("episode.read", "done", kind="episode", id_=episode.id)
    given = unsent.given_back(url_for(".move", directory_id=directory_id))
    return _ask(episode, _directory(episode, directory_id), to=given.get("to", "") if given else "")


@bp.post("/<record:directory_id>/move")
@signed_in(Side.STAFF)
@unsent.typed_text("to")
def move(care: Care, person: Person, directory_id: str) -> Response:
    """Move the folder. Sent twice it moves once: the second finds it in its place."""
    episode = _episode(care)
    directory = _directory(episode, directory_id)
    to, stamp = request.form.get("to", ""), request.form.get("stamp") or directory.concurrency_stamp
    if not to:
        return _ask(episode, directory, status=422, is_missing=True)
    if _is_at(directory, to):
        return _to_tree(episode)
    chosen = next((place for place in _tree(episode.documents, directory) if place.id == to), None)
    if chosen is None or chosen.closed:
        audit.note("directory.move", "refused", kind="directory", id_=directory_id)
        return _ask(episode, directory, status=403, to=to, refusal=_closed_words(chosen))
    before = directory.parent_id or ROOT
    try:
        moved = move_directory(care, directory_id, new_parent_id=None if to == ROOT else to, stamp=stamp)
    except (Refused, Conflict, Unavailable, BadResponse) as error:
        return _failed(care, directory_id, to, error)
    audit.note("directory.move", "done", kind="directory", id_=directory_id)
    return _moved(episode, directory, before, moved.concurrency_stamp if moved else None)


def _failed(care: Care, directory_id: str, to: str, error: CareError) -> Response:
    """Look how it stands now: another post, or the one whose answer was lost, may have moved it."""
    if isinstance(error, Unavailable) and error.outcome_known:
        raise error
    episode = _episode(care)
    directory = _directory(episode, directory_id)
    if _is_at(directory, to):
        audit.note("directory.move", "done", kind="directory", id_=directory_id)
        toast(_("“%(name)s” was moved.", name=directory.name))
        return _to_tree(episode)
    audit.note("directory.move", "refused", kind="directory", id_=directory_id)
    if isinstance(error, Refused):
        return _ask(episode, directory, status=403, to=to, refusal=said(error.code))
    status, note = (409, "changed") if isinstance(error, Conflict) else (503, "unconfirmed")
    return _ask(episode, directory, status=status, to=to, note=note)


def _moved(episode: Episode, directory: Directory, before: str, stamp: str | None) -> Response:
    undo = url_for(".move", directory_id=directory.id, episode=episode.id)
    fields = {"to": before} | ({"stamp": stamp} if stamp else {})
    toast(_("“%(name)s” was moved.", name=directory.name), undo=undo, fields=fields)
    return _to_tree(episode)


def _to_tree(episode: Episode) -> Response:
    return redirect_to(url_for(".index", episode=episode.id))


def _ask(
    episode: Episode,
    directory: Directory,
    *,
    status: int = 200,
    to: str = "",
    note: str = "",
    refusal: str = "",
    is_missing: bool = False,
) -> Response:
    return render(
        "directories/move.html",
        status=status,
        episode=episode,
        directory=directory,
        places=_tree(episode.documents, directory),
        to=to,
        note=note,
        refusal=refusal,
        is_missing=is_missing,
    )


def _episode(care: Care) -> Episode:
    """The episode that the address names: folders are read as part of it."""
    episode_id = request.args.get("episode", "")
    if not episode_id:
        raise NotFound
    return get_episode(care, episode_id)


def _directory(episode: Episode, directory_id: str) -> Directory:
    found = next((d for d in episode.documents.directories if d.id == directory_id), None)
    if found is None:
        raise NotFound
    return found


def _tree(documents: Documents, moving: Directory | None) -> list[Place]:
    """Every place from the top down, with the word why it is closed to `moving`."""
    inside = documents.within(moving.id) if moving else frozenset[str]()
    found: list[Place] = []

    def closed(id_: str, parent_id: str | None) -> str:
        if moving is None:
            return ""
        if id_ == moving.id:
            return _("This folder")
        if id_ in inside:
            return _("Inside this folder")
        if _is_at(moving, id_):
            return _("It is here now")
        names = {d.name.casefold() for d in documents.directories_in(parent_id) if d.id != moving.id}
        return _("Has a folder of that name") if moving.name.casefold() in names else ""

    def walk(parent_id: str | None, depth: int) -> None:
        for directory in documents.directories_in(parent_id) if depth <= _DEEPEST else ():
            found.append(
                Place(
                    directory.id,
                    directory.name or _("Folder"),
                    depth,
                    len(documents.files_in(directory.id)),
                    closed(directory.id, directory.id),
                )
            )
            walk(directory.id, depth + 1)

    found.append(Place(ROOT, _("Top level"), 0, len(documents.files_in(None)), closed(ROOT, None)))
    walk(None, 1)
    return found


def _is_at(directory: Directory, place: str) -> bool:
    return (directory.parent_id or ROOT) == place


def _closed_words(place: Place | None) -> str:
    if place is None:
        return _("That folder isn’t there any more. Choose another.")
    return _("It can’t go there: %(why)s.", why=place.closed)
