"""Folders of documents (care API specification §4, group Document management); read as part of an episode."""

from __future__ import annotations

from portal.services.client import Care
from portal.services.endpoints import MOVE_DIRECTORY
from portal.services.exchanges import DirectoryMove
from portal.services.records.documents import Directory


def move_directory(
    care: Care, directory_id: str, *, new_parent_id: str | None, stamp: str | None
) -> Directory | None:
    """Move a folder (to the root if None) and return it; None if the API returns no body: read its episode again.

    POST /api/document-management/directory-descriptor/move (care API specification §4). Raises `Refused` for
    a destination inside itself or a name that is taken there, `Conflict` if it was changed meanwhile.
    """
    move = DirectoryMove(id=directory_id, new_parent_id=new_parent_id, concurrency_stamp=stamp)
    return care.act(MOVE_DIRECTORY, move)
