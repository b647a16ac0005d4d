"""How slow clients affect everyone else: page times with and without them, directly on gunicorn and behind nginx with TLS.

    make bench-slow                      1,000 unfinished requests, 100 slow bodies, 40 readers of 100 MB at 1 kB/s, for 60 s
    python -m tools.bench.slow_clients --seconds 10

nginx is configured as in deploy/nginx. Other people request pages meanwhile, from another address.
"""

from __future__ import annotations

import argparse
import http.client
import ssl
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tests.support.nginx import Nginx
from tools.bench.answers import FILE
from tools.bench.load import memory, quantile
from tools.bench.servers import PAGE, Bench, Server, bench
from tools.bench.slow_connections import SlowClients

READERS = ("nora", "victor", "elif", "colin", "ada")
_BY = 4
_PAUSE = 0.15


@dataclass(frozen=True, slots=True)
class Outcome:
    """Seconds that other people's pages took: `before` without slow clients, `during` with them."""

    where: str
    before: list[float]
    during: list[float]
    wrong: list[str]
    readers: list[int]
    megabytes: float

    @property
    def ratio(self) -> float:
        return statistics.median(self.during) / statistics.median(self.before)

    @property
    def last(self) -> float:
        return quantile(self.during, 0.99)

    @property
    def is_reached(self) -> bool:
        return self.ratio <= 1.5 and self.last < 1 and not self.wrong

    def __str__(self) -> str:
        before, during = (statistics.median(some) * 1000 for some in (self.before, self.during))
        return (
            f"{'reached' if self.is_reached else 'MISSED ':<8} {self.where}: {before:.1f} ms before, {during:.1f} ms"
            f" during ({self.ratio:.2f} ×, target ≤ 1.50), 99th percentile {self.last * 1000:.0f} ms (< 1000)"
            f" of {len(self.during)} pages; {len(self.wrong)} failed; {self.readers.count(200)} of"
            f" {len(self.readers)} readers served; largest worker {self.megabytes:.0f} MB"
        )


def run(
    made: Bench, *, half_heads: int, slow_bodies: int, readers: int, seconds: float, behind_nginx: bool
) -> Outcome:
    """Measure page times without slow clients, then with them, for this many seconds each."""
    portal = made.portal(PORTAL_PROXY_HOPS="1" if behind_nginx else "0")
    people = [made.sign_in(portal, name) for name in READERS]
    nginx = Nginx(made.folder / "nginx", portal.port) if behind_nginx else None
    try:
        port, tls = (nginx.port, nginx.trust()) if nginx else (portal.port, None)
        visitor = Visitors(port, portal, people[0], tls)
        visitor.ask(min(2.0, seconds))
        before, _ = visitor.ask(min(20.0, seconds))
        clients = SlowClients(
            port,
            portal.host,
            f"/files/{FILE}",
            half_heads,
            slow_bodies,
            [people[number % len(people)] for number in range(readers)],
            str(nginx.authority) if nginx else None,
        )
        with clients.at_work():
            during, wrong = visitor.ask(seconds)
            megabytes = max(memory(pid)[0] for pid in portal.workers)
        if nginx is not None and (left := nginx.files_held()):
            wrong.append(f"left on disk: {left}")
        where = "behind nginx" if nginx else "directly on gunicorn"
        return Outcome(where, before, during, wrong, clients.statuses, megabytes)
    finally:
        if nginx is not None:
            nginx.stop()
        portal.stop()


class Visitors:
    """A few people who request a page now and then, over keepalive connections."""

    def __init__(self, port: int, portal: Server, fields: dict[str, str], tls: ssl.SSLContext | None) -> None:
        self._port = port
        self._fields = {**fields, "Host": portal.host}
        self._tls = tls

    def ask(self, seconds: float) -> tuple[list[float], list[str]]:
        """Return how long each page took, and the failures."""
        took: list[float] = []
        wrong: list[str] = []
        until = time.monotonic() + seconds
        threads = [threading.Thread(target=self._one, args=(until, took, wrong)) for _ in range(_BY)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return took, wrong

    def _one(self, until: float, took: list[float], wrong: list[str]) -> None:
        connection: http.client.HTTPConnection | None = None
        while time.monotonic() < until:
            began = time.perf_counter()
            try:
                connection = connection or self._connect()
                connection.request("GET", PAGE, headers=self._fields)
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    wrong.append(f"{answer.status}")
            except (OSError, http.client.HTTPException) as error:
                wrong.append(repr(error))
                connection = None
            took.append(time.perf_counter() - began)
            time.sleep(_PAUSE)
        if connection is not None:
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        return http.client.HTTPSConnection("localhost", self._port, timeout=30, context=self._tls)


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tools.bench.slow_clients")
    asked.add_argument("--half-heads", type=int, default=1000)
    asked.add_argument("--slow-bodies", type=int, default=100)
    asked.add_argument("--readers", type=int, default=40)
    asked.add_argument("--seconds", type=float, default=60)
    given = asked.parse_args()
    outcomes: list[Outcome] = []
    for behind_nginx in (False, True):
        with tempfile.TemporaryDirectory(prefix="portal-bench-") as folder, bench(Path(folder)) as made:
            outcomes.append(run(made, **vars(given), behind_nginx=behind_nginx))
            sys.stdout.write(f"{outcomes[-1]}\n")
            for what in outcomes[-1].wrong[:5]:
                sys.stdout.write(f"         {what}\n")
            sys.stdout.flush()
    return 0 if all(one.is_reached for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
