"""What the portal makes of times that a clock set back since has dated."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from portal.clock import LEEWAY, age, lasts
from portal.services.capabilities import SECONDS, Capabilities
from portal.services.consents import LIST_CONSENTS
from portal.store import open_store
from portal.store.vault import Vault
from tests.support.clock import Clock

NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("at", "expected"), [(NOW, 0), (NOW - 5, 5), (NOW + LEEWAY, -LEEWAY), (NOW + LEEWAY + 0.1, math.inf)]
)
def test_what_is_dated_ahead_of_now_is_as_old_as_can_be(at: float, expected: float) -> None:
    assert age(at, NOW) == expected


@pytest.mark.parametrize(
    ("until", "expected"),
    [(NOW, False), (NOW + 1, True), (NOW + 10 + LEEWAY, True), (NOW + 10 + LEEWAY + 0.1, False)],
)
def test_what_ends_later_than_if_it_began_now_has_ended(until: float, expected: bool) -> None:
    assert lasts(until, 10, NOW) is expected


def test_a_list_that_is_not_offered_is_asked_for_again_after_the_clock_was_set_back(tmp_path: Path) -> None:
    clock = Clock()
    vault = Vault(open_store(f"sqlite:///{tmp_path}/store.db", clock), ("a key",), clock)
    capabilities = Capabilities(vault, clock)
    capabilities.note_missing("riverside", LIST_CONSENTS)
    assert capabilities.missing("riverside") == {LIST_CONSENTS.template}
    clock.advance(-SECONDS)
    assert capabilities.missing("riverside") == set()
