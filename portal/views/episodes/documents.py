"""Papers: the documents of an episode and whatever else a patient signed or was given, as lists by date."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import PurePath

from flask import g, url_for

from portal.i18n.gettext import _
from portal.services.directories import Documents
from portal.values import Value
from portal.web.filters import day, file_size, in_a_row
from portal.web.plan_changes import is_before_change
from portal.web.text_language import with_lang


class Paper(Value, frozen=True):
    """Something that a patient signed or was given: what it is, from whom and when, its page, and its file to save.

    `label` says what the file is: PDF, or another type. `at` orders a list of them.
    """

    title: str
    kind: str
    sender: str
    at: datetime | None
    href: str
    download: str
    label: str
    size: str = ""
    note: str = ""
    icon: str = "file"

    @property
    def facts(self) -> str:
        """Kind, sender, date and size in one line."""
        at = day(self.at) if self.at else ""
        return in_a_row([fact for fact in (self.kind, self.sender, at, self.size, self.note) if fact], " · ")


_TYPES = {"application/pdf": "PDF", "image/png": "PNG", "image/jpeg": "JPEG", "text/plain": "TXT"}
"""Types that can be viewed in the browser."""


def papers_of(documents: Documents, changed_at: datetime | None) -> list[Paper]:
    """Return the files, newest first, each with its folder as its kind. The plan changed last at `changed_at`."""
    folders = {directory.id: directory.name for directory in documents.directories}
    return by_date(
        file_paper(
            file.id,
            file.name,
            file.media_type,
            size=file.size,
            kind=folders.get(file.directory_id or "", ""),
            sender=with_lang(g.tenant.name),
            at=file.creation_time,
            note=_("made before the plan changed")
            if is_before_change(file.creation_time, changed_at)
            else "",
        )
        for file in documents.files
    )


def file_paper(
    file_id: str,
    name: str,
    media_type: str,
    *,
    size: int | None,
    kind: str,
    sender: str,
    at: datetime | None,
    note: str = "",
) -> Paper:
    """Return a file, of `size` bytes, as a paper."""
    label = _TYPES.get(media_type.partition(";")[0].strip().lower(), "")
    return Paper(
        title=(PurePath(name).stem if label else name) or _("Document"),
        kind=kind,
        sender=sender,
        at=at,
        href=url_for("files.preview" if label else "files.content", file_id=file_id),
        download=url_for("files.content", file_id=file_id, download=1),
        label=label or _("File"),
        size=file_size(size),
        note=note,
    )


def by_date(papers: Iterable[Paper]) -> list[Paper]:
    return sorted(papers, key=lambda paper: paper.at.timestamp() if paper.at else float("-inf"), reverse=True)
