"""Calls whose failure is a value."""

from __future__ import annotations

import pytest

from portal.services.errors import NotFound, NotSignedIn
from portal.services.gather import attempt, gather_all


def failing(error: Exception) -> object:
    raise error


def test_an_attempt_returns_the_value_or_the_failure_that_a_region_shows() -> None:
    missing = NotFound()
    assert attempt(lambda: "read") == "read"
    assert attempt(lambda: failing(missing)) is missing


@pytest.mark.parametrize("error", [NotSignedIn(), ValueError("a fault of ours")])
def test_what_concerns_the_whole_page_is_raised(error: Exception) -> None:
    with pytest.raises(type(error)):
        attempt(lambda: failing(error))


def test_of_calls_side_by_side_each_failure_stands_in_its_place_and_a_fault_is_raised() -> None:
    missing = NotFound()
    assert gather_all([lambda: "read", lambda: failing(missing)]) == ["read", missing]
    with pytest.raises(ValueError, match="ours"):
        gather_all([lambda: "read", lambda: failing(ValueError("a fault of ours"))])
