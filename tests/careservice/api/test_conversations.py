"""Which conversations can't be archived; who reads and archives which is in `ledger/`."""

from __future__ import annotations

import pytest

from tests.careservice.api.calls import Api, members


@pytest.mark.parametrize(("ids", "member"), [([], "conversationIds"), (["x"], "conversationIds[0]")])
def test_conversations_without_ids_are_invalid(api: Api, ids: list[str], member: str) -> None:
    answer = api("amelia", "POST", "/api/messaging/archive", {"conversationIds": ids})
    assert members(answer) == [member]
