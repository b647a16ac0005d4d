"""Folders of documents (care API specification §4, group Document management); read as part of an episode."""

from __future__ import annotations

from typing import Annotated, ClassVar

from portal.services.api import Group
from portal.services.client import Care
from portal.services.decoding import Id, Record
from portal.services.files import File

DEEPEST = 20
"""The maximum depth of nested folders; deeper ones are shown at the root."""


class Directory(Record, frozen=True, kw_only=True):
    """A folder; a `parent_id` of None means the root."""

    shown_on: ClassVar = ("directories", "episodes")

    id: Id
    name: Annotated[str, "folder name"] = ""
    parent_id: Annotated[Id | None, "parent folder; without it, all folders are at the root"] = None
    concurrency_stamp: str | None = None


class Documents(Record, frozen=True, kw_only=True):
    """The folders and files of an episode as flat lists; parents define the tree."""

    shown_on: ClassVar = ("episodes", "directories", "files")
    separable: ClassVar = frozenset({"directories", "files"})

    directories: Annotated[tuple[Directory, ...], "folders"] = ()
    files: Annotated[tuple[File, ...], "files"] = ()

    def directories_in(self, parent_id: Id | None) -> tuple[Directory, ...]:
        """The direct subfolders of a folder, by name.

        The root (None) also shows folders whose parent is missing, that form a cycle, or are nested more than `DEEPEST`
        deep.
        """
        parents = self._parents()
        below = (directory for directory in self.directories if parents[directory.id] == parent_id)
        return tuple(sorted(below, key=lambda directory: directory.name.casefold()))

    def _parents(self) -> dict[Id, Id | None]:
        """The parent under which each folder is shown, so that following parents always ends at the root."""
        told = {directory.id: directory.parent_id for directory in self.directories}
        shown: dict[Id, Id | None] = {}
        for directory, parent in told.items():
            passed, step = {directory}, parent
            while step in told and step not in passed and len(passed) < DEEPEST:
                passed.add(step)
                step = told[step]
            is_shown_there = parent in told and step != directory and (step not in told or step in passed)
            shown[directory] = parent if is_shown_there else None
        return shown

    def files_in(self, directory_id: Id | None) -> tuple[File, ...]:
        """The files directly in a folder, by name; files whose folder is missing are at the root."""
        known = {directory.id for directory in self.directories}
        here = (
            f for f in self.files if (f.directory_id if f.directory_id in known else None) == directory_id
        )
        return tuple(sorted(here, key=lambda file: file.name.casefold()))

    def within(self, directory_id: Id) -> frozenset[Id]:
        """The ids of a folder and all folders below it, which are invalid destinations for it."""
        inside = {directory_id}
        while found := {d.id for d in self.directories if d.parent_id in inside} - inside:
            inside |= found
        return frozenset(inside)


class DirectoryMove(Record, frozen=True, kw_only=True):
    """What is sent to move a folder; `new_parent_id` None is the root."""

    id: Id
    new_parent_id: Id | None
    concurrency_stamp: str | None


MOVE_DIRECTORY = Group("Document management").post(
    "/api/document-management/directory-descriptor/move", Directory, DirectoryMove
)


def move_directory(
    care: Care, directory_id: str, *, new_parent_id: str | None, stamp: str | None
) -> Directory | None:
    """Move a folder (to the root if None) and return it; None if the API returns no body: read its episode again.

    Raises `Refused` for a destination inside itself or a name that is taken there, `Conflict` if it was changed
    meanwhile.
    """
    move = DirectoryMove(id=directory_id, new_parent_id=new_parent_id, concurrency_stamp=stamp)
    return care.act(MOVE_DIRECTORY, move)
