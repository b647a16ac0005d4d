"""What was read of a list, and counts of it, which know whether they are whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from portal.values import Value

T = TypeVar("T")
OtherT = TypeVar("OtherT")


class Count(Value, frozen=True):
    """How many there are; if it isn't whole, there are at least that many.

    Templates write it with the filter `counted`. It is true if there is at least one.
    """

    number: int
    is_whole: bool = True

    @property
    def is_none(self) -> bool:
        """Whether it is known that there is none."""
        return self.number == 0 and self.is_whole

    @property
    def is_telling(self) -> bool:
        """Whether it says something: "at least 0" doesn't."""
        return self.is_whole or self.number > 0

    def __bool__(self) -> bool:
        return self.number > 0

    def __add__(self, other: Count) -> Count:
        return Count(self.number + other.number, self.is_whole and other.is_whole)


class Listed(Value, Generic[T], frozen=True):
    """Records of a list; `is_whole` says whether they are all, apart from the `left_out` that `first` has cut off.

    It has no `len`: a list that may be only part of another is counted by `count`, and chosen from by `where`, which keep
    that in mind. A page shows all `items` of a list that it is given: what isn't to be shown is cut off before, so that
    the audit trail tells what the page does.
    """

    items: tuple[T, ...] = ()
    is_whole: bool = True
    left_out: int = 0

    @property
    def count(self) -> Count:
        """How many there are, or at least."""
        return Count(len(self.items) + self.left_out, self.is_whole)

    @property
    def is_none(self) -> bool:
        """Whether it is known that there is none."""
        return self.count.is_none

    def where(self, fits: Callable[[T], bool]) -> Listed[T]:
        """Those that `fits` accepts."""
        return Listed(tuple(item for item in self.items if fits(item)), self.is_whole and not self.left_out)

    def through(self, change: Callable[[tuple[T, ...]], Iterable[OtherT]]) -> Listed[OtherT]:
        """What `change` makes of them: in another order, or something of each."""
        return Listed(tuple(change(self.items)), self.is_whole, self.left_out)

    def first(self, most: int) -> Listed[T]:
        """The first `most` of them; `count` stays that of all."""
        return Listed(self.items[:most], self.is_whole, self.left_out + len(self.items[most:]))

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __bool__(self) -> bool:
        return bool(self.items)
