"""The benchmark's baselines render the same page as the portal, with the current templates."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.stack import ROOT, Process, free_port
from tools.bench.answers import ROWS
from tools.bench.load import Connection
from tools.bench.servers import PAGE


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    port = free_port()
    log = tmp_path_factory.mktemp("bench") / "upstream.log"
    stub = Process([sys.executable, "-m", "tools.bench.upstream", str(port)], {}, log)
    stub.wait_for(f"http://127.0.0.1:{port}/calls")
    yield port
    stub.stop()


@pytest.mark.parametrize("name", ["fastapi_app", "django_app"])
def test_an_asynchronous_baseline_makes_both_calls_and_shows_all_rows(
    upstream: int, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("BENCH_UPSTREAM", f"http://127.0.0.1:{upstream}")
    monkeypatch.setenv("BENCH_TOKEN", "t" * 900)
    module: Any = importlib.import_module(f"tools.bench.{name}")
    calls_of(upstream)
    with ThreadPoolExecutor(1) as elsewhere:  # browser tests leave an event loop running in this thread
        status, text = elsewhere.submit(lambda: asyncio.run(answer_of(module, PAGE))).result()
    assert status == 200
    assert text.count('class="link-row"') == ROWS
    assert "</html>" in text
    assert sorted(calls_of(upstream).values()) == [1, 1]


async def answer_of(module: Any, path: str) -> tuple[int, str]:
    """The response of a module's ASGI application, run with its lifespan."""
    sent: list[Any] = []

    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        return asked.pop() if asked else await asyncio.Event().wait()  # the client stays

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "http_version": "1.1", "method": "GET", "path": path, "raw_path": path.encode()}
    more = {"query_string": b"", "headers": [], "scheme": "http", "server": ("bench", 80), "root_path": ""}
    async with module.lifespan(module.app):
        await module.app({**scope, **more}, receive, send)
    return sent[0]["status"], b"".join(one.get("body", b"") for one in sent).decode()


@pytest.mark.parametrize("name", ["bare_flask", "typical_flask"])
def test_a_baseline_makes_both_calls_and_shows_all_rows(
    upstream: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("BENCH_UPSTREAM", f"http://127.0.0.1:{upstream}")
    monkeypatch.setenv("BENCH_TOKEN", "t" * 900)
    monkeypatch.setenv("BENCH_SESSIONS", str(tmp_path))
    app: Any = importlib.import_module(f"tools.bench.{name}").app
    visitor = app.test_client()
    visitor.get("/sign-in")
    calls_of(upstream)
    answer = visitor.get(PAGE)
    assert answer.status_code == 200
    assert answer.text.count('class="link-row"') == ROWS
    assert "</html>" in answer.text
    assert sorted(calls_of(upstream).values()) == [1, 1]
    if name == "bare_flask":
        app.view_functions["consents"].__globals__["pool"].clear()


def calls_of(upstream: int) -> dict[str, int]:
    with closing(Connection(upstream, "upstream", {})) as connection:
        return json.loads(connection.get("/calls").body)


def test_the_bench_describes_its_options() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "tools.bench", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "--quick" in told.stdout
