"""A patient with several treatments: each that is under way stands on home, at every look."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

import pytest
from msgspec.structs import replace

from portal.services.cases import CareStatus
from portal.services.consents import LIST_CONSENTS
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.episodes import READ_EPISODE
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.storage import EmbryoStatus, EmbryoStorage
from tests.pages.test_tonight import PLAN, episode
from tests.support.fake_api import FakeApi
from tests.support.visitor import Visitor

SignIn = Callable[..., Visitor]
FROZEN = (EmbryoStorage(id="s-1", embryo_code="AH-1", status=EmbryoStatus.STORED),)


def has(fake_api: FakeApi, **treatments: CareStatus) -> None:
    """She has these treatments, each with embryos and its own medicine but the last, which conversations name."""
    fake_api.gives(LIST_CONSENTS, [])
    fake_api.gives(LIST_NOTIFICATIONS, [])
    fake_api.gives(LIST_CONVERSATIONS, [{"id": f"t-{key}", "episodeId": key} for key in treatments])
    for number, (key, status) in enumerate(treatments.items()):
        rows = tuple(replace(row, drug=f"Medicine-{key}") for row in PLAN.medications)
        one = replace(
            episode(replace(PLAN, id=f"p-{key}", episode_id=key, medications=rows)),
            id=key,
            status=status,
            start_date=date(2026, 11, 1) - timedelta(days=number),
            embryos=() if number == len(treatments) - 1 else FROZEN,
        )
        fake_api.gives(READ_EPISODE, one, id_=key)


@pytest.mark.parametrize("look", [1, 2, 3])
def test_each_treatment_under_way_is_told_at_every_look(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], look: int
) -> None:
    at("25 12:00")
    has(fake_api, a=CareStatus.ACTIVE, b=CareStatus.ON_HOLD, c=CareStatus.PLANNED, d=CareStatus.ACTIVE)
    amelia = visitor("amelia")
    for _ in range(look):
        home = amelia.get("/")
    assert {key for key in "abcd" if f"Medicine-{key}" in home.words} == set("abcd")


def test_treatments_that_ended_are_not_read_at_every_look(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 12:00")
    ended = dict.fromkeys("bcdef", CareStatus.FINISHED)
    has(fake_api, a=CareStatus.ACTIVE, **ended)
    amelia = visitor("amelia")
    amelia.get("/")
    asked = len(fake_api.sent(READ_EPISODE))
    amelia.get("/")
    assert len(fake_api.sent(READ_EPISODE)) - asked == 2
