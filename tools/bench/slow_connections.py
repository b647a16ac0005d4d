"""Slow and hostile clients: half requests, dripping bodies and slow readers, which reconnect when they are cut off.

They run in a process of their own, so that they don't disturb measurements.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field

from tests.support.stack import ROOT


@dataclass
class SlowClients:
    """So many of each kind, from addresses 127.0.1.x; `readers` are the fields that each reader asks with."""

    port: int
    host: str
    path: str
    half_heads: int
    slow_bodies: int
    readers: Sequence[dict[str, str]]
    authority: str | None = None
    """The PEM file that a server with TLS is believed by."""

    statuses: list[int] = field(default_factory=list)
    """Of the readers' answers; known when all is over."""

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Let them do so, once each has begun."""
        child = subprocess.Popen(
            [sys.executable, "-m", "tools.bench.slow_connections"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdin and child.stdout
        with child:
            child.stdin.write(json.dumps(asdict(self)) + "\n")
            child.stdin.flush()
            assert child.stdout.readline() == "begun\n"
            try:
                yield
            finally:
                child.stdin.close()
                self.statuses = json.loads(child.stdout.readline())


@dataclass
class _AtWork:
    """The same in the process that does it."""

    given: SlowClients
    tls: ssl.SSLContext | None = None
    begun: int = 0

    async def all(self, over: threading.Event) -> None:
        given = self.given
        numbers = itertools.count()
        ready = False
        many = [
            *(self._again(next(numbers), self._half_head) for _ in range(given.half_heads)),
            *(self._again(next(numbers), self._slow_body) for _ in range(given.slow_bodies)),
            *(self._again(next(numbers), self._reader, fields) for fields in given.readers),
        ]
        tasks = [asyncio.create_task(one) for one in many]
        while not over.is_set():
            if self.begun >= len(tasks) and not ready:
                ready = True
                print("begun", flush=True)
            await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _again(
        self, number: int, act: Callable[..., AsyncIterator[None]], *given: dict[str, str]
    ) -> None:
        is_first = True
        while True:
            writer = None
            try:
                reader, writer = await self._connect(number)
                steps = act(reader, writer, *given)
                await anext(steps)
                self.begun += is_first
                is_first = False
                async for _ in steps:
                    pass
            except (OSError, EOFError, ssl.SSLError):
                await asyncio.sleep(0.5)
            finally:
                if writer is not None:
                    writer.transport.abort()

    async def _connect(self, number: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        plain = socket.socket()
        plain.setblocking(False)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            plain.bind((f"127.0.1.{1 + number % 200}", 0))
            await asyncio.get_running_loop().sock_connect(plain, ("127.0.0.1", self.given.port))
            named = {"ssl": self.tls, "server_hostname": "localhost"} if self.tls else {}
            return await asyncio.open_connection(sock=plain, limit=2048, **named)
        except BaseException:
            plain.close()
            raise

    async def _half_head(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> AsyncIterator[None]:
        writer.write(f"GET / HTTP/1.1\r\nHost: {self.given.host}\r\nX-Half: ".encode())
        yield
        await reader.read()

    async def _slow_body(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> AsyncIterator[None]:
        head = f"POST /sign-out HTTP/1.1\r\nHost: {self.given.host}\r\nContent-Length: 1000\r\n\r\n"
        writer.write(head.encode())
        yield
        while not reader.at_eof():
            writer.write(b"x")
            with suppress(TimeoutError):
                await asyncio.wait_for(reader.read(1024), 1)

    async def _reader(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fields: dict[str, str]
    ) -> AsyncIterator[None]:
        asked = {"Host": self.given.host, **fields}
        lines = [f"GET {self.given.path} HTTP/1.1", *(f"{name}: {value}" for name, value in asked.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        first = await reader.readline()
        if not first:
            raise EOFError
        self.given.statuses.append(int(first.split()[1]))
        yield
        while await reader.read(1024):
            await asyncio.sleep(1)


def main() -> None:
    """Read what to do from a line of standard input; stop when that ends."""
    given = SlowClients(**json.loads(sys.stdin.readline()))
    tls = ssl.create_default_context(cafile=given.authority) if given.authority else None
    over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait).start()
    asyncio.run(_AtWork(given, tls).all(over))
    print(json.dumps(given.statuses), flush=True)


if __name__ == "__main__":
    main()
