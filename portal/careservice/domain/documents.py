"""Folders and files of an episode."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ForeignKey, LargeBinary, String, exists, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column
from sqlalchemy.sql import ColumnElement

from portal.careservice.clock import now
from portal.careservice.database import Base, Id
from portal.careservice.domain import conversations, episodes, pgt_results
from portal.careservice.domain.actor import Actor
from portal.careservice.domain.columns import Audited
from portal.careservice.domain.consents import forms
from portal.careservice.domain.pgt_results import PgtResult
from portal.careservice.domain.rules import Invalid, NotThere, Refused, Rule, require_stamp


class Directory(Audited, Base):
    """A folder; those without a parent are at the root of their episode."""

    __tablename__ = "directories"

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36))
    episode_id: Mapped[str] = mapped_column(ForeignKey("episodes.id"), index=True)
    parent_id: Mapped[str | None] = mapped_column(String(36))
    name: Mapped[str]


class File(Base):
    """A file's metadata; `size` is in bytes.

    `is_patient_copy` marks a report that the laboratory wrote for the patient, which doesn't reveal a sex.
    """

    __tablename__ = "files"

    id: Mapped[Id] = mapped_column(primary_key=True)
    tenant_id: Mapped[str] = mapped_column(String(36))
    episode_id: Mapped[str | None] = mapped_column(ForeignKey("episodes.id"), index=True)
    directory_id: Mapped[str | None] = mapped_column(String(36))
    name: Mapped[str]
    media_type: Mapped[str]
    size: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    is_patient_copy: Mapped[bool] = mapped_column(default=False)
    creation_time: Mapped[datetime] = mapped_column(default=now)


class FileContent(Base):
    """The bytes of a file, in a table of their own so that lists don't read them."""

    __tablename__ = "file_contents"

    file_id: Mapped[str] = mapped_column(ForeignKey("files.id"), primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)


def directories_of(session: Session, episode_id: str) -> list[Directory]:
    """The folders of an episode, by name."""
    return list(
        session.scalars(
            select(Directory).where(Directory.episode_id == episode_id).order_by(Directory.name, Directory.id)
        )
    )


def files_of(session: Session, actor: Actor, episode_id: str) -> list[File]:
    """The files of an episode that `actor` may see, by name; withheld reports only for staff."""
    chosen = select(File).where(File.episode_id == episode_id).order_by(File.name, File.id)
    if not actor.is_staff:
        chosen = chosen.where(~_is_withheld(session, actor))
    return list(session.scalars(chosen))


def _is_withheld(session: Session, actor: Actor) -> ColumnElement[bool]:
    """The condition that selects reports of a result that isn't released, or whose sex isn't disclosed.

    A patient's copy may be seen as soon as all results in it are released.
    """
    could_reveal_sex = ~pgt_results.is_sex_disclosed(session, actor.tenant_id) & ~File.is_patient_copy
    return exists().where(PgtResult.report_file_id == File.id, ~pgt_results.is_released() | could_reveal_sex)


def find_file(session: Session, actor: Actor, file_id: str) -> File:
    """The file, if it belongs to an episode, form or conversation that `actor` may see; raises NotThere."""
    chosen = select(File).where(File.id == file_id, File.tenant_id == actor.tenant_id)
    if not actor.is_staff:
        chosen = chosen.where(~_is_withheld(session, actor))
    file = session.scalars(chosen).one_or_none()
    if file is None or not (actor.is_staff or _may_see(session, actor, file)):
        raise NotThere
    return file


def visible_report(session: Session, actor: Actor, file_id: str | None) -> str | None:
    """The id of a result's report, None if `actor` may not see it."""
    if file_id is None or actor.is_staff:
        return file_id
    return session.scalar(select(File.id).where(File.id == file_id, ~_is_withheld(session, actor)))


def withheld_of(session: Session, actor: Actor, file_ids: Collection[str]) -> frozenset[str]:
    """Those of the files that `actor` may not even know by name: withheld reports, for everyone but staff."""
    if actor.is_staff or not file_ids:
        return frozenset()
    chosen = select(File.id).where(File.id.in_(file_ids), _is_withheld(session, actor))
    return frozenset(session.scalars(chosen))


def _may_see(session: Session, actor: Actor, file: File) -> bool:
    if file.episode_id is not None and episodes.is_visible(session, actor, file.episode_id):
        return True
    consent = forms.visible(actor).where(forms.ConsentForm.file_id == file.id)
    if session.scalars(forms.without_body(consent).limit(1)).first() is not None:
        return True
    return conversations.is_attached(session, actor, file.id)


def content_of(session: Session, file: File) -> bytes:
    """The bytes of a file."""
    return session.get_one(FileContent, file.id).content


def move(
    session: Session, actor: Actor, directory_id: str, new_parent_id: str | None, stamp: str
) -> Directory:
    """Move a folder into another of the same episode, or to its root (None); raises Refused, Invalid or NotThere."""
    directory = session.get(Directory, directory_id)
    if directory is None or directory.tenant_id != actor.tenant_id:
        raise NotThere
    if new_parent_id is not None:
        _require_destination(session, directory, new_parent_id)
    if _has_namesake(session, directory, new_parent_id):
        raise Refused(Rule.DUPLICATE_NAME)
    require_stamp(directory.concurrency_stamp, stamp)
    directory.parent_id = new_parent_id
    directory.touch(actor.sub)
    return directory


def _require_destination(session: Session, directory: Directory, parent_id: str) -> None:
    parent = session.get(Directory, parent_id)
    if parent is None or parent.tenant_id != directory.tenant_id:
        raise NotThere
    if parent.episode_id != directory.episode_id:
        raise Invalid("The folder belongs to another episode.", "newParentId")
    passed = {directory.id}
    step: Directory | None = parent
    while step is not None:
        if step.id in passed:  # the folder itself, or a cycle above it that an import may have left
            raise Refused(Rule.MOVE_INTO_DESCENDANT)
        passed.add(step.id)
        step = session.get(Directory, step.parent_id) if step.parent_id else None


def _has_namesake(session: Session, directory: Directory, parent_id: str | None) -> bool:
    under = Directory.parent_id.is_(None) if parent_id is None else Directory.parent_id == parent_id
    namesake = select(Directory.id).where(
        Directory.episode_id == directory.episode_id,
        under,
        Directory.id != directory.id,
        func.lower(Directory.name) == directory.name.lower(),
    )
    return session.scalar(namesake.limit(1)) is not None
