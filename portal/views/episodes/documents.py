"""The documents of an episode: its folders from the root down, with their files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from portal.i18n.gettext import _
from portal.services.directories import Documents
from portal.services.files import File
from portal.web.filters import file_size
from portal.web.plan_changes import is_before_change


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder and its files."""

    name: str
    files: tuple[FileRow, ...]


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file: its type in words, whether it can be viewed in the browser, and whether the plan changed after it."""

    id: str
    name: str
    kind: str
    size: str
    made: datetime | None
    has_preview: bool
    is_before_change: bool


_TYPES = {
    "application/pdf": "PDF",
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "text/plain": "TXT",
}
"""Types that can be viewed in the browser."""


def folders_of(documents: Documents, changed_at: datetime | None) -> list[Folder]:
    """Return the folders that contain files; files outside folders come first. The plan changed last at `changed_at`."""
    found: list[Folder] = []

    def walk(parent_id: str | None, name: str) -> None:
        files = tuple(_file_row(file, changed_at) for file in documents.files_in(parent_id))
        if files:
            found.append(Folder(name, files))
        for directory in documents.directories_in(parent_id):
            walk(directory.id, directory.name)

    walk(None, _("Not in a folder"))
    return found


def _file_row(file: File, changed_at: datetime | None) -> FileRow:
    kind = file.media_type.partition(";")[0].strip().lower()
    return FileRow(
        file.id,
        file.name or _("Document"),
        _TYPES.get(kind, ""),
        file_size(file.size),
        file.creation_time,
        kind in _TYPES,
        is_before_change(file.creation_time, changed_at),
    )
