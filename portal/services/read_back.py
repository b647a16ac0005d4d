"""Reads a record after an act whose response didn't include it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from portal.services.errors import CareError, Unavailable

T = TypeVar("T")


def read_back(read: Callable[[], T]) -> T:
    """Return what `read` returns; turn any CareError into `Unavailable` with an unknown outcome.

    The act has been carried out, so a read that is refused, times out or isn't signed in must not look like a refusal of
    the act.
    """
    try:
        return read()
    except CareError as error:
        raise Unavailable("not read back", outcome_known=False) from error
