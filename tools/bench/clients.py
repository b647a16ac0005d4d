"""`python -m tools.bench.clients`: CPU of this process for two calls of 5.7 kB with several HTTP clients.

The results are why `portal.http.transport` uses libcurl's multi interface (docs/performance.md).
"""

from __future__ import annotations

import http.client
import statistics
import sys
import time
from collections.abc import Callable

import requests
import urllib3

from portal.http import transport
from tools.bench.answers import EPISODE

PATHS = (f"/api/patient-portal/episodes/{EPISODE}", "/api/care/consent-forms")
_HEADERS = {"Authorization": "Bearer " + "t" * 900, "Accept": "application/json"}


def measure(port: int, *, rounds: int = 5, count: int = 200) -> dict[str, float]:
    """Return the CPU milliseconds of two calls by client: the median of rounds in which the clients take turns."""
    clients = _clients(port)
    for ask in clients.values():
        ask()
    found: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(rounds):
        for name, ask in clients.items():
            began = time.process_time()
            for _ in range(count):
                ask()
            found[name].append((time.process_time() - began) / count * 1000)
    return {name: round(statistics.median(costs), 3) for name, costs in found.items()}


def _clients(port: int) -> dict[str, Callable[[], None]]:
    origin = f"http://127.0.0.1:{port}"
    urls = [origin + path for path in PATHS]
    calls = [transport.Call("GET", url, list(_HEADERS.items())) for url in urls]
    session = requests.Session()
    pool = urllib3.PoolManager()
    connection = http.client.HTTPConnection("127.0.0.1", port)

    def by_connection() -> None:
        for path in PATHS:
            connection.request("GET", path, headers=_HEADERS)
            connection.getresponse().read()

    return {
        "pycurl, side by side (the portal's)": lambda: _read(
            transport.side_by_side([lambda call=call: transport.send(call) for call in calls])
        ),
        "http.client, one after another": by_connection,
        "urllib3 pool": lambda: _read([pool.request("GET", url, headers=_HEADERS) for url in urls]),
        "requests.Session": lambda: _read([session.get(url, headers=_HEADERS) for url in urls]),
        "requests.get": lambda: _read([requests.get(url, headers=_HEADERS, timeout=8) for url in urls]),
    }


def _read(answers: object) -> None:
    if not isinstance(answers, list):
        raise TypeError(answers)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer


if __name__ == "__main__":
    for name, cost in measure(int(sys.argv[1])).items():
        sys.stdout.write(f"{cost:6.3f} ms  {name}\n")
