"""Messages that arrive."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from tests.support.stack import CareService
from tests.views.conversations.threads import in_records, message


@pytest.fixture
def arrive(service: CareService) -> Iterator[Callable[[str, str], str]]:
    """Let a message of Nora's arrive in a thread; it is removed after the test."""
    came: list[str] = []

    def arrive(thread: str, body: str) -> str:
        came.append(str(uuid.uuid4()))
        with in_records(service) as records:
            records.execute(
                "INSERT INTO messages (id, conversation_id, tenant_id, sender_id, sender_name, folded_sender, side, channel,"
                " body, sent_at)"
                " SELECT ?, ?, tenant_id, sender_id, sender_name, folded_sender, side, channel, ?, ? FROM messages WHERE id = ?",
                (
                    came[-1],
                    thread,
                    body,
                    str(datetime.now(UTC).replace(tzinfo=None)),
                    message("amelia-scan-0"),
                ),
            )
        return came[-1]

    yield arrive
    with in_records(service) as records:
        records.executemany("DELETE FROM messages WHERE id = ?", [(one,) for one in came])
