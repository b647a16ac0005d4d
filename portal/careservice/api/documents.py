"""Directory and file descriptors: move a folder, fetch a file's content (care API specification §4)."""

from __future__ import annotations

import io
from datetime import datetime

import msgspec
from flask import Response, send_file

from portal.careservice import database
from portal.careservice.api import payload
from portal.careservice.api.caller import Caller
from portal.careservice.api.endpoint import api, endpoint
from portal.careservice.api.records import AuditedRecord, Record, as_record
from portal.careservice.domain import documents
from portal.careservice.domain.permissions import Act
from portal.careservice.domain.rules import Invalid
from portal.careservice.ids import GivenId


class DirectoryRecord(AuditedRecord, kw_only=True):
    """A moved folder."""

    id: str
    parent_id: str | None
    name: str


class Move(msgspec.Struct, rename="camel", kw_only=True):
    """Which folder to move into which; without a new parent, to the root."""

    id: GivenId
    new_parent_id: GivenId | None


class FolderRecord(Record, kw_only=True):
    """A folder, as an episode lists it."""

    id: str
    parent_id: str | None
    name: str
    concurrency_stamp: str


class FileRecord(Record, kw_only=True):
    """A file, as an episode lists it; `size` in bytes."""

    id: str
    directory_id: str | None
    name: str
    media_type: str
    size: int
    creation_time: datetime


@api.post("/api/document-management/directory-descriptor/move")
@endpoint(Act.MOVE_DIRECTORY, "DocumentManagement")
def move_directory(caller: Caller) -> DirectoryRecord:
    """The moved folder."""
    session = database.session()
    move, stamp = payload.stamped(Move)
    directory = documents.move(session, caller.actor, move.id, move.new_parent_id, stamp)
    session.flush()
    return as_record(directory, DirectoryRecord)


@api.get("/api/file-management/file-descriptor/content")
@endpoint(Act.READ_FILE, "FileManagement")
def get_file_content(caller: Caller) -> Response:
    """The bytes of the file `id`, whole or in ranges (RFC 9110 §14)."""
    session = database.session()
    file_id = payload.query().identifier("id")
    if file_id is None:
        raise Invalid("This is missing.", "id")
    file = documents.find_file(session, caller.actor, file_id)
    response = send_file(
        io.BytesIO(documents.content_of(session, file)),
        mimetype=file.media_type,
        as_attachment=True,
        download_name=file.name,
        etag=file.sha256,
        conditional=True,
    )
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers.setdefault("Accept-Ranges", "bytes")
    response.vary.add("Authorization")
    return response
