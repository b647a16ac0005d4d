"""The documents of an episode: its folders from the root down, with their files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from portal.i18n.gettext import _
from portal.services.records.documents import Documents, File
from portal.web.filters import file_size


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder and its files."""

    name: str
    files: tuple[FileRow, ...]


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file: its type in words, and whether it can be viewed in the browser."""

    id: str
    name: str
    kind: str
    size: str
    made: datetime | None
    has_preview: bool


_TYPES = {
    "application/pdf": "PDF",
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "text/plain": "TXT",
}
"""Types that can be viewed in the browser."""


def folders_of(documents: Documents) -> list[Folder]:
    """Return the folders that contain files; files outside folders come first."""
    found: list[Folder] = []

    def walk(parent_id: str | None, name: str) -> None:
        files = tuple(_file_row(file) for file in documents.files_in(parent_id))
        if files:
            found.append(Folder(name, files))
        for directory in documents.directories_in(parent_id):
            walk(directory.id, directory.name)

    walk(None, _("Not in a folder"))
    return found


def _file_row(file: File) -> FileRow:
    kind = file.media_type.partition(";")[0].strip().lower()
    return FileRow(
        file.id,
        file.name or _("Document"),
        _TYPES.get(kind, ""),
        file_size(file.size),
        file.creation_time,
        kind in _TYPES,
    )
