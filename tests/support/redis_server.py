"""A Redis server for tests, on loopback; its data survive a restart."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from pathlib import Path

from redis import Redis, RedisError

from tests.support.stack import free_port


class RedisServer:
    """Running from the start, until `stop`; `start` goes on with the same port and data."""

    def __init__(self, folder: Path, *options: str) -> None:
        """`options` are more of Redis's own."""
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self._options = options
        self.start()

    def start(self) -> None:
        server = shutil.which("redis-server")
        assert server, "python -m tools.machine installs redis-server"
        options = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        keeping = ["--save", "", "--appendonly", "yes", "--appendfsync", "no"]
        self._child = subprocess.Popen(
            [server, *options, *keeping, *self._options], stdout=subprocess.DEVNULL
        )
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                with Redis.from_url(self.url) as client:
                    client.ping()
                    return
            except RedisError:
                time.sleep(0.02)
        raise AssertionError("Redis didn't start")

    def empty(self) -> None:
        with Redis.from_url(self.url) as client:
            client.flushall()

    def limit(self, size: str) -> None:
        """Let it hold so much and refuse what is more; "0" takes the limit away."""
        with Redis.from_url(self.url) as client:
            client.config_set("maxmemory", size)

    def send_signal(self, number: signal.Signals) -> None:
        """Stop it in its tracks, let it go on, or kill it."""
        self._child.send_signal(number)
        if number is signal.SIGKILL:
            self._child.wait(timeout=10)

    def stop(self) -> None:
        self._child.terminate()
        self._child.wait(timeout=10)
