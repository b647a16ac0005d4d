"""Folders and files of an episode."""

from __future__ import annotations

from datetime import datetime

from portal.services.decoding import Id, Record, Timed, Whole

DEEPEST = 20
"""The maximum depth of nested folders; deeper ones are shown at the root."""


class Directory(Record, frozen=True, kw_only=True):
    """A folder; a `parent_id` of None means the root."""

    id: Id
    name: str = ""
    parent_id: Id | None = None
    concurrency_stamp: str | None = None


class File(Timed, frozen=True, kw_only=True):
    """A document's name, media type and size in bytes; its content is read by its id."""

    id: Id
    name: str = ""
    directory_id: Id | None = None
    media_type: str = ""
    size: Whole | None = None
    creation_time: datetime | None = None


class Documents(Record, frozen=True, kw_only=True):
    """The folders and files of an episode as flat lists; parents define the tree."""

    directories: tuple[Directory, ...] = ()
    files: tuple[File, ...] = ()

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
