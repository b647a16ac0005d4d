"""Folders of an episode's documents: the tree, and moving a folder within it."""

from __future__ import annotations

from flask import Blueprint, Response, request, url_for

from portal.i18n.gettext import _
from portal.parse import record_id
from portal.services.directories import Directory, move_directory
from portal.services.episodes import Episode, get_episode
from portal.services.errors import Conflict, NotFound, Refused
from portal.views.directory_tree import ROOT, Place, closed_words, is_at, tree_of
from portal.views.episodes.lookup import absent_from
from portal.web import unsent
from portal.web.act_once import Attempt, Unconfirmed, act_once, begin_edit
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast
from portal.web.refusals import refusal_message

bp = Blueprint("directories", __name__, url_prefix="/directories")


class TreePage(Page, template="directories/index.html", about="episode"):
    episode: Episode
    places: list[Place]


class MovePage(Page, template="directories/move.html", about="episode"):
    """The destinations for a folder; `to` is the one chosen, `refusal`, `note` and `is_missing` say why it wasn't moved."""

    episode: Episode
    directory: Directory
    places: list[Place]
    to: str
    note: str
    refusal: str
    is_missing: bool


@bp.get("")
@signed_in(Side.STAFF)
def index(care: Care, person: Person) -> Response:
    """Show all folders of an episode (`?episode=`), including empty ones."""
    episode = _episode(care)
    audit.shown("episode.read", "episode", episode.id)
    return render(TreePage(episode=episode, places=tree_of(episode.documents, None)))


@bp.get("/<record:directory_id>/move")
@signed_in(Side.STAFF)
def show(care: Care, person: Person, directory_id: str) -> Response:
    """Ask where to move the folder."""
    episode = _episode(care)
    audit.shown("episode.read", "episode", episode.id)
    given = unsent.restored_form(url_for(".move", directory_id=directory_id))
    return _ask(episode, _directory(episode, directory_id), to=given.get("to", "") if given else "")


@bp.post("/<record:directory_id>/move")
@signed_in(Side.STAFF)
@unsent.typed_text("to")
def move(care: Care, person: Person, directory_id: str) -> Response:
    """Move the folder. A second submission finds it already moved."""
    episode = _episode(care)
    directory = _directory(episode, directory_id)
    to = record_id(request.form.get("to"))
    stamp = request.form.get("stamp") or directory.concurrency_stamp
    if to is None:
        return _ask(episode, directory, status=422, is_missing=True)
    if is_at(directory, to):
        return _to_tree(episode)
    chosen = next((place for place in tree_of(episode.documents, directory) if place.id == to), None)
    if chosen is None or chosen.closed:
        audit.note("directory.move", "refused", id_=directory_id)
        return _ask(episode, directory, status=403, to=to, refusal=closed_words(chosen))
    before = directory.parent_id or ROOT
    try:
        done = act_once(
            Attempt(person.sub, begin_edit(person.sub, f"move-directory:{directory_id}", stamp, before, to)),
            lambda _key: move_directory(
                care, directory_id, new_parent_id=None if to == ROOT else to, stamp=stamp
            ),
            shows=lambda moved: moved is not None and is_at(moved, to),
            look=lambda: _directory_at(care, directory_id, to),
            event="directory.move",
            id_=directory_id,
            is_repeatable=True,
        )
    except (Conflict, Refused) as error:
        return _refused(care, directory_id, to, error)
    except Unconfirmed as error:
        if not error.is_readable:
            raise
        return _ask(episode, directory, status=503, to=to, note="unconfirmed")
    if not done.is_first:
        return _to_tree(episode)
    return _moved(episode, directory, before, done.result.concurrency_stamp if done.result else None)


def _refused(care: Care, directory_id: str, to: str, error: Conflict | Refused) -> Response:
    """Check the current state after a conflict: another submission may have moved it to the same place."""
    episode = _episode(care)
    directory = _directory(episode, directory_id)
    if is_at(directory, to):
        toast(_("“%(name)s” was moved.", name=directory.name))
        return _to_tree(episode)
    if isinstance(error, Refused):
        return _ask(episode, directory, status=403, to=to, refusal=refusal_message(error.code))
    return _ask(episode, directory, status=409, to=to, note="changed")


def _directory_at(care: Care, directory_id: str, place: str) -> Directory | None:
    """After a lost response, return the folder if it is at the destination now."""
    directory = _directory(_episode(care), directory_id)
    return directory if is_at(directory, place) else None


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
    page = MovePage(
        episode=episode,
        directory=directory,
        places=tree_of(episode.documents, directory),
        to=to,
        note=note,
        refusal=refusal,
        is_missing=is_missing,
    )
    return render(page, status=status)


def _episode(care: Care) -> Episode:
    """The episode named in the query; folders are read as part of it."""
    episode_id = record_id(request.args.get("episode"))
    if episode_id is None:
        raise NotFound
    return get_episode(care, episode_id)


def _directory(episode: Episode, directory_id: str) -> Directory:
    found = next((d for d in episode.documents.directories if d.id == directory_id), None)
    if found is None:
        raise absent_from("Documents.directories")
    return found
