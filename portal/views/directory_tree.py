"""The folders of an episode's documents as a tree, and where one can be moved."""

from __future__ import annotations

from portal.i18n.gettext import _
from portal.services.directories import Directory, Documents
from portal.values import Value

ROOT = "root"
"""The form's value for the root, where a folder's parent id is None."""


class Place(Value, frozen=True):
    """A folder in the tree as a destination; `closed` says why it can't be one."""

    id: str
    name: str
    depth: int
    files: int
    closed: str = ""


def tree_of(documents: Documents, moving: Directory | None) -> list[Place]:
    """Every destination from the root down, with the reason if it isn't allowed for `moving`."""
    inside = documents.within(moving.id) if moving else frozenset[str]()
    found: list[Place] = []

    def closed(id_: str, parent_id: str | None) -> str:
        if moving is None:
            return ""
        if id_ == moving.id:
            return _("This folder")
        if id_ in inside:
            return _("Inside this folder")
        if is_at(moving, id_):
            return _("It is here now")
        names = {d.name.casefold() for d in documents.directories_in(parent_id) if d.id != moving.id}
        return _("Has a folder of that name") if moving.name.casefold() in names else ""

    def walk(parent_id: str | None, depth: int) -> None:
        for directory in documents.directories_in(parent_id):
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


def is_at(directory: Directory, place: str) -> bool:
    return (directory.parent_id or ROOT) == place


def closed_words(place: Place | None) -> str:
    if place is None:
        return _("That folder isn’t there any more. Choose another.")
    return _("It can’t go there: %(why)s.", why=place.closed)
