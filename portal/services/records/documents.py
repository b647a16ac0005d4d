"""Folders and files of an episode."""

from __future__ import annotations

from datetime import datetime

from portal.services.decoding import Id, Record, Timed, Whole

DEEPEST = 20
"""How many folders may lie in each other; deeper ones are shown at the root."""


class Directory(Record, frozen=True, kw_only=True):
    """A folder; `parent_id` None is the root's."""

    id: Id
    name: str = ""
    parent_id: Id | None = None
    concurrency_stamp: str | None = None


class File(Timed, frozen=True, kw_only=True):
    """A document's name, media type and size in bytes; its bytes are read by its id."""

    id: Id
    name: str = ""
    directory_id: Id | None = None
    media_type: str = ""
    size: Whole | None = None
    creation_time: datetime | None = None


class Documents(Record, frozen=True, kw_only=True):
    """The folders and files of an episode, flat; the tree follows from the parents."""

    directories: tuple[Directory, ...] = ()
    files: tuple[File, ...] = ()

    def directories_in(self, parent_id: Id | None) -> tuple[Directory, ...]:
        """The folders right below one, by name.

        At the root (None) are also those whose parent isn't there, that lie in a ring, or more than `DEEPEST` deep.
        """
        parents = self._parents()
        below = (directory for directory in self.directories if parents[directory.id] == parent_id)
        return tuple(sorted(below, key=lambda directory: directory.name.casefold()))

    def _parents(self) -> dict[Id, Id | None]:
        """Where each folder is shown, so that following it upwards always ends at the root."""
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
        """The files right in a folder, by name; a file whose folder isn't there counts as at the root."""
        known = {directory.id for directory in self.directories}
        here = (
            f for f in self.files if (f.directory_id if f.directory_id in known else None) == directory_id
        )
        return tuple(sorted(here, key=lambda file: file.name.casefold()))

    def within(self, directory_id: Id) -> frozenset[Id]:
        """The ids of a folder and all below it: where it can't be moved to."""
        inside = {directory_id}
        while found := {d.id for d in self.directories if d.parent_id in inside} - inside:
            inside |= found
        return frozenset(inside)
