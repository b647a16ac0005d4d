"""What this process did lately, kept in memory: so that doing it again can be left out without asking the store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from portal.clock import lasts

_MOST = 4096


class Lately:
    """Remembers keys for some seconds, each with its last value; the most recent few thousand of them."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._held: OrderedDict[Hashable, tuple[float, Hashable]] = OrderedDict()
        self._lock = threading.Lock()

    def repeats(self, key: Hashable, now: float, value: Hashable = None) -> bool:
        """Whether this was noted lately, with the same value; otherwise note it now."""
        with self._lock:
            until, last = self._held.get(key, (0.0, None))
            known = last == value and lasts(until, self._seconds, now)
            if not known:
                self._held[key] = now + self._seconds, value
                self._held.move_to_end(key)
                if len(self._held) > _MOST:
                    self._held.popitem(last=False)
            return known

    def forget(self, key: Hashable) -> None:
        """Forget the key: what was to be remembered couldn't be done."""
        with self._lock:
            self._held.pop(key, None)
