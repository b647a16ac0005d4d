"""gunicorn's threaded worker, mended where a stop under traffic would drop requests."""

# gunicorn has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false

from __future__ import annotations

from typing import Any

from gunicorn.workers.gthread import ThreadWorker


class Worker(ThreadWorker):
    """Takes in who has come before it closes the door, and closes it at once.

    ▲ gunicorn 27's own stops accepting and keeps the listening socket open while it ends its work. Meanwhile the
    kernel goes on connecting clients; nobody answers them, and they are cut off when the socket closes at last.
    """

    def set_accept_enabled(self, enabled: bool | None) -> None:
        super().set_accept_enabled(enabled)
        if enabled or self.alive:
            return
        doors, self.sockets = self.sockets, []
        for door in doors:
            self._let_in(door)
            door.close()

    def _let_in(self, door: Any) -> None:
        """Take everyone who is connected by now."""
        before = -1
        while before != self.nr_conns:
            before = self.nr_conns
            self.accept(door)
