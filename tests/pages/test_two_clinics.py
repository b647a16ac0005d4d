"""The same person at two clinics of one identity server: nothing that is kept at one is shown or taken at the other."""

from __future__ import annotations

from typing import Any

import pytest

from portal.services.api import AnyEndpoint
from portal.services.consents import LIST_CONSENTS
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.episodes import READ_EPISODE
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.protocols import LIST_PROTOCOLS
from portal.web.unsent import ONLY_KEEP
from tests.support.fake_api import FakeApi, samples
from tests.support.visitor import SignIn, Visitor

SUB = "amelia-of-two"


@pytest.fixture
def both(visitor: SignIn, fake_api: FakeApi) -> tuple[Visitor, Visitor]:
    """Her at Riverside and at Harbour; each says that the record is her own."""
    episode = samples(READ_EPISODE)
    episode["id"], episode["patient"]["userId"] = "e-1", SUB
    fake_api.gives(READ_EPISODE, episode)
    for row in (LIST_CONSENTS, LIST_CONVERSATIONS, LIST_NOTIFICATIONS, LIST_PROTOCOLS):
        fake_api.gives(row, of_one_episode(row))
    return visitor(SUB), visitor(SUB, clinic="harbour")


def of_one_episode(row: AnyEndpoint, **more: Any) -> dict[str, Any]:
    answer = samples(row)
    return {**answer, "items": [{**item, "episodeId": "e-1"} for item in answer["items"]], **more}


def test_the_bell_counts_each_clinics_notifications(both: tuple[Visitor, Visitor], fake_api: FakeApi) -> None:
    for clinic, count in zip(both, (3, 5), strict=True):
        fake_api.gives(LIST_NOTIFICATIONS, of_one_episode(LIST_NOTIFICATIONS, unreadCount=count))
        bell = clinic.get("/notifications/bell", headers={"Sec-Fetch-Dest": "empty"})
        assert str(count) in bell.words, bell.words


def typed(clinic: Visitor) -> str:
    """What stands in her address as this clinic's page has it."""
    return dict(clinic.get("/me").form("/me").fields())["address_line2"]


def test_a_text_that_waits_is_in_the_form_of_its_own_clinic(both: tuple[Visitor, Visitor]) -> None:
    for clinic, floor in zip(both, ("Floor 1", "Floor 2"), strict=True):
        clinic.get("/me").form("/me").submit(status=None, address_line2=floor, **{ONLY_KEEP: "1"})
    assert [typed(clinic) for clinic in both] == ["Floor 1", "Floor 2"]


def test_another_clinics_form_is_neither_taken_nor_kept(
    both: tuple[Visitor, Visitor], fake_api: FakeApi
) -> None:
    riverside, harbour = both
    saved = typed(harbour)
    token = dict(riverside.get("/me").form("/me").fields())["csrf_token"]
    fields = {
        **dict(harbour.get("/me").form("/me").fields()),
        "csrf_token": token,
        "address_line2": "Floor 3",
    }
    harbour.post("/me", fields, status=400)
    assert not [call for call in fake_api.calls if not call.row.is_safe]
    assert typed(harbour) == saved
