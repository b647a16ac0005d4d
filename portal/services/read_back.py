"""How a record is read after an act that the API answered without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from portal.services.errors import CareError, Unavailable

T = TypeVar("T")


def read_back(read: Callable[[], T]) -> T:
    """Return what `read` returns; raise `Unavailable`, its outcome unknown, whatever CareError it raises.

    The act was done by then: a read that is refused, times out or finds nobody signed in must not look like a refusal
    of the act.
    """
    try:
        return read()
    except CareError as error:
        raise Unavailable("not read back", outcome_known=False) from error
