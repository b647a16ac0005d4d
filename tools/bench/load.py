"""A lightweight HTTP load generator over keepalive connections, and the servers' CPU and memory from /proc."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


class Connection:
    """A keepalive connection to a server on this machine."""

    def __init__(self, port: int, host: str, headers: Mapping[str, str]) -> None:
        self._port = port
        self._fixed = f"Host: {host}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._socket: socket.socket | None = None

    def get(self, path: str) -> Answer:
        """Request `path`, again if the server has closed the connection meanwhile."""
        began = time.perf_counter()
        request = f"GET {path} HTTP/1.1\r\n{self._fixed}\r\n".encode()
        for _ in range(2):
            kept = self._socket or self._connect()
            kept.sendall(request)
            if raw := self._read(kept):
                return Answer(int(raw[9:12]), raw, time.perf_counter() - began)
            self.close()
        raise AssertionError(f"no answer for {path}")

    def drain(self, path: str) -> int:
        """Request `path`, discard the response and return its size in bytes."""
        asked = self._connect()
        asked.sendall(f"GET {path} HTTP/1.1\r\n{self._fixed}Connection: close\r\n\r\n".encode())
        received = 0
        while piece := asked.recv(262144):
            received += len(piece)
        self.close()
        return received

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> socket.socket:
        self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _read(self, kept: socket.socket) -> bytes:
        raw = b""
        length: int | None = None
        while True:
            piece = kept.recv(262144)
            if not piece:
                if raw and length is None:
                    self.close()
                    return raw
                return b""
            raw += piece
            end = raw.find(b"\r\n\r\n")
            if end < 0:
                continue
            if length is None:
                found = re.search(rb"\r\ncontent-length: *(\d+)", raw[: end + 2], re.IGNORECASE)
                length = int(found[1]) if found else 0 if raw[9:12] in (b"204", b"304") else None
                if re.search(rb"\r\ntransfer-encoding: *chunked", raw[: end + 2], re.IGNORECASE):
                    raise AssertionError(
                        "a chunked answer's end would be seen only when the connection closes"
                    )
            if length is not None and len(raw) >= end + 4 + length:
                if re.search(rb"\r\nconnection: *close", raw[: end + 2], re.IGNORECASE):
                    self.close()
                return raw


@dataclass(frozen=True, slots=True)
class Answer:
    """A raw response, and how long it took."""

    status: int
    raw: bytes
    seconds: float

    @property
    def body(self) -> bytes:
        return self.raw.partition(b"\r\n\r\n")[2]

    def header(self, name: str) -> str:
        head = self.raw.partition(b"\r\n\r\n")[0].decode("latin-1")
        found = re.search(rf"^{name}: *(.*?)\r?$", head, re.IGNORECASE | re.MULTILINE)
        return found[1] if found else ""


def at_once(connect: Callable[[], Connection], path: str, *, count: int, by: int) -> list[float]:
    """Send `count` requests over `by` connections; return how long each took, in seconds."""
    took: list[float] = []
    wrong: list[str] = []

    def ask(times: int) -> None:
        connection = connect()
        for _ in range(times):
            answer = connection.get(path)
            if answer.status not in (200, 204):
                wrong.append(f"{path}: {answer.status}")
                return
            took.append(answer.seconds)
        connection.close()

    threads = [threading.Thread(target=ask, args=(count // by,)) for _ in range(by)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise AssertionError(wrong[0])
    return took


def cpu_seconds(pids: list[int]) -> float:
    """The processes' CPU time in user and kernel mode, as counted by the scheduler."""
    return sum(_cpu(pid) for pid in pids)


def _cpu(pid: int) -> float:
    # schedstat counts nanoseconds for each thread; stat counts only ticks of 10 ms.
    total = 0
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(ProcessLookupError):  # a thread that has ended
                total += int((task / "schedstat").read_text().split()[0])
        return total / 1e9
    except (FileNotFoundError, ValueError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


def memory(pid: int) -> tuple[float, float]:
    """The process's resident and proportional memory, in MB."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    kb = {name: int(size) for name, size in re.findall(r"^(Rss|Pss): +(\d+) kB", text, re.MULTILINE)}
    return kb["Rss"] / 1024, kb["Pss"] / 1024


def quantile(values: list[float], share: float) -> float:
    """The quantile of the values: the one below which this share lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
