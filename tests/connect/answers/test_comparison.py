"""What a response is seen to contain, beside the record that it is decoded into."""

from __future__ import annotations

from typing import Any

import pytest

from portal.connect.answers.comparison import UNREAD, compare
from portal.services.decoding import PagedResult
from portal.services.storage import EmbryoStorage

SENT = {"id": "x", "status": "Stored"}
LOOKED_AT = [("EmbryoStorage", frozenset(SENT))]


@pytest.mark.parametrize(
    ("answer", "into", "records"),
    [
        (SENT, EmbryoStorage, LOOKED_AT),
        ({"items": [SENT, SENT]}, PagedResult[EmbryoStorage], 2 * LOOKED_AT),
        ([SENT, SENT], PagedResult[EmbryoStorage], 2 * LOOKED_AT),
        ([SENT], EmbryoStorage, []),
        ({"items": [SENT]}, EmbryoStorage, [("EmbryoStorage", frozenset())]),
        (None, EmbryoStorage, []),
    ],
    ids=["record", "page", "bare list", "list for a record", "page for a record", "nothing"],
)
def test_records_are_those_that_are_read(answer: Any, into: Any, records: list[Any]) -> None:
    assert compare(answer, into).records == records


def test_members_and_values_that_nobody_knows_are_counted() -> None:
    one = {**SENT, "status": "Vitrified", "colour": "red", f"{UNREAD}size": 3}
    found = compare([one, one, {**SENT, "status": None}], PagedResult[EmbryoStorage])
    assert found.unknown == {"EmbryoStorage.colour": 2, "EmbryoStorage.size": 2}
    assert found.values == {"EmbryoStorage.status": 2}
