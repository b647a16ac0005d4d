"""What this process did lately, kept in memory: so that doing it again can be left out without asking the store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from portal.clock import lasts

_MOST = 4096


class Lately:
    """Remembers keys for some seconds, the most recent few thousand of them."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: OrderedDict[Hashable, float] = OrderedDict()
        self._lock = threading.Lock()

    def knew(self, key: Hashable, now: float) -> bool:
        """Whether the key is remembered; it is from now on."""
        with self._lock:
            known = lasts(self._until.get(key, 0.0), self._seconds, now)
            if not known:
                self._until[key] = now + self._seconds
                self._until.move_to_end(key)
                if len(self._until) > _MOST:
                    self._until.popitem(last=False)
            return known
