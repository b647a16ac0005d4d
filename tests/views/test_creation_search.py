"""A record that was sent without an answer is only told as missing where all of its like could be read."""

from __future__ import annotations

from typing import Any, cast

import pytest

from portal.services.decoding import PagedResult
from portal.services.listed import Listed
from portal.services.protocols import Protocol
from portal.views.creation import Search
from portal.views.protocols import new_protocol
from portal.views.protocols.new_protocol import NewProtocol
from portal.views.protocols.plan import Plan
from portal.web.act_once import Unconfirmed

DRAFT = NewProtocol(Plan(name="Long", type="Antagonist", status="Draft"))


def of(name: str, number: int) -> Protocol:
    made = DRAFT.draft()
    return Protocol(id=f"p-{number}", name=name, type=made.type, status=made.status)


@pytest.mark.parametrize("is_whole", [True, False])
def test_what_is_not_among_a_part_may_be_in_the_rest(is_whole: bool) -> None:
    search = Search[NewProtocol, Protocol](
        alike=lambda _content: Listed((of("Long", 1),), is_whole=is_whole),
        recognise=lambda records, _content: next(iter(records), None),
    )
    assert search.find(DRAFT) == of("Long", 1)
    known = NewProtocol(DRAFT.plan, known_ids=("p-1",))
    if is_whole:
        assert search.find(known) is None
        return
    with pytest.raises(Unconfirmed) as raised:
        search.find(known)
    assert raised.value.is_readable is False


def test_a_protocol_is_found_on_a_later_page_of_an_api_that_does_not_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    everything = [*(of("Short", number) for number in range(230)), of("Long", 230), of("Long", 231)]

    def page(_care: object, *, skip: int, limit: int, text: str) -> PagedResult[Protocol]:
        return PagedResult(items=tuple(everything[skip : skip + limit]), total_count=len(everything))

    monkeypatch.setattr(new_protocol, "list_protocols", page)
    search = new_protocol.search_in(cast("Any", None))
    assert search.find(NewProtocol(DRAFT.plan, known_ids=("p-230",))) == of("Long", 231)
    assert [one.id for one in search.alike(DRAFT)] == ["p-230", "p-231"]
