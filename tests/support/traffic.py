"""Many concurrent browsers on keepalive connections, which record every request without a proper response."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Ask:
    """One kind of request, and the status that it must get."""

    method: str
    path: str
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def over_the_wire(self, host: str) -> bytes:
        lines = [f"{self.method} {self.path} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.method == "POST":
            lines.append(f"Content-Length: {len(self.body)}")
        return "\r\n".join([*lines, "", ""]).encode() + self.body


@dataclass
class Traffic:
    """What happened so far. `failed` holds a line for each request that was sent and not answered as it must be."""

    port: int
    host: str
    asks: Sequence[Ask]
    answered: int = 0
    failed: list[str] = field(default_factory=list)
    turned_away: int = 0
    """Browsers that found the door closed, and left: nothing of theirs was sent."""

    slowest: float = 0.0

    @contextmanager
    def of(self, browsers: int, *, pause: float) -> Iterator[None]:
        """Let so many browsers ask without end, each with a pause (in seconds) after every answer."""
        over = threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(self._all(browsers, pause, over)))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(60)
            assert not thread.is_alive(), "browsers still wait for answers"

    def wait_for(self, reached: Callable[[], bool], what: str, seconds: float = 60) -> None:
        """Return when `reached`; requests go on meanwhile."""
        done = threading.Event()
        for _ in range(int(seconds / 0.02)):
            if reached():
                return
            done.wait(0.02)
        raise AssertionError(f"not reached: {what}")

    def wait_for_more(self, answers: int) -> None:
        """Return when so many more requests were answered."""
        goal = self.answered + answers
        self.wait_for(lambda: self.answered >= goal or bool(self.failed), f"{answers} more answers")

    async def _all(self, browsers: int, pause: float, over: threading.Event) -> None:
        await asyncio.gather(*(self._browser(number, pause, over) for number in range(browsers)))

    async def _browser(self, number: int, pause: float, over: threading.Event) -> None:
        kept: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        asks = itertools.islice(itertools.cycle(self.asks), number, None)
        while not over.is_set():
            ask = next(asks)
            if kept is not None and kept[0].at_eof():  # closed by the server while idle
                kept[1].close()
                kept = None
            try:
                kept = kept or await asyncio.open_connection("127.0.0.1", self.port)
            except ConnectionRefusedError:
                self.turned_away += 1
                return
            began = asyncio.get_running_loop().time()
            try:
                status, stays = await asyncio.wait_for(self._answer(kept, ask), 30)
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                self.failed.append(f"{ask.method} {ask.path}: {error!r}")
                kept[1].close()
                kept = None
                continue
            self.slowest = max(self.slowest, asyncio.get_running_loop().time() - began)
            if status == ask.status:
                self.answered += 1
            else:
                self.failed.append(f"{ask.method} {ask.path}: {status}")
            if not stays:
                kept[1].close()
                kept = None
            await asyncio.sleep(pause * (0.5 + number % 7 / 6))
        if kept:
            kept[1].close()
            with suppress(OSError):
                await kept[1].wait_closed()

    async def _answer(
        self, kept: tuple[asyncio.StreamReader, asyncio.StreamWriter], ask: Ask
    ) -> tuple[int, bool]:
        reader, writer = kept
        writer.write(ask.over_the_wire(self.host))
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = next(
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.startswith(b"content-length:")
        )
        await reader.readexactly(length)
        return int(head.split()[1]), b"connection: close" not in head
