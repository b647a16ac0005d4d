"""The hooks of gunicorn.conf.py; `test_reload.py` and `test_left_behind.py` test them under gunicorn."""

from __future__ import annotations

import gc
import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from portal.operate import scratch, supervisor


class Server:
    """gunicorn's master, whose settings are good or not; `reloads` counts how often it reloaded."""

    def __init__(self, *, is_good: bool) -> None:
        self.WORKERS: dict[int, SimpleNamespace] = {}
        self.worker_age = 7
        self.pid, self.slot = os.getppid(), 0
        self.asked_by = SimpleNamespace(close=lambda: None)
        self.num_workers = 2
        self.log = logging.getLogger("gunicorn.error")
        self.files = SimpleNamespace(read=lambda: is_good)
        self.reloads = 0

    def stop(self, graceful: bool) -> None:
        """End the workers."""

    def reload(self) -> None:
        self.reloads += 1


@pytest.fixture(autouse=True)
def metrics_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("PROMETHEUS_MULTIPROC_DIR", "PORTAL_WORKER_SLOT"):
        monkeypatch.setenv(name, "")  # restored after the test
    monkeypatch.setattr(scratch, "new_folder", lambda prefix: tmp_path)
    yield
    shutil.rmtree(tmp_path)


def test_a_reload_takes_the_hooks_of_the_current_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "forget_worker", None)  # as in an older version
    server = Server(is_good=True)
    supervisor.prepare_reload(server)
    server.reload()
    assert server.reloads == 1
    assert supervisor.forget_worker is not None


def test_workers_that_a_reload_replaces_stay_until_all_new_ones_serve() -> None:
    server = Server(is_good=True)
    supervisor.prepare_reload(server)
    old, others = SimpleNamespace(slot=0, age=7), [SimpleNamespace(slot=1, age=age) for age in (8, 9)]
    for worker in (old, *others):
        supervisor.prepare_worker(server, worker)
    assert old.may_stop(), "without a reload, a worker may leave at once"
    server.reload()
    assert not old.may_stop()
    others[0].on_ready()
    assert not old.may_stop()
    others[1].on_ready()
    assert old.may_stop()
    assert all(worker.may_stop() for worker in others)


def test_wrong_settings_prevent_a_reload(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(is_good=False)
    supervisor.prepare_reload(server)
    server.reload()
    assert server.reloads == 0
    assert "Not reloaded" in caplog.text


def test_a_workers_loaded_objects_are_frozen_for_the_garbage_collector() -> None:
    threshold = gc.get_threshold()
    gc.unfreeze()  # what `tests/conftest.py` froze
    try:
        supervisor.settle(worker=SimpleNamespace())  # pyright: ignore[reportArgumentType]
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
        gc.set_threshold(*threshold)


def test_a_worker_takes_the_lowest_free_slot() -> None:
    server = Server(is_good=True)
    server.WORKERS = {1: SimpleNamespace(slot=0), 2: SimpleNamespace(slot=2)}
    asked: list[tuple[int, int]] = []
    server.generation = SimpleNamespace(fork=lambda age, slot: asked.append((age, slot)) or (4711, None))
    assert supervisor.spawn_worker(server) == 4711
    assert asked == [(8, 1)] and server.WORKERS[4711].slot == 1


def test_a_worker_that_cannot_be_forked_is_tried_again_by_a_new_parent() -> None:
    def fork(_age: int, _slot: int) -> None:
        raise BrokenPipeError

    server, ended = Server(is_good=True), []
    server.generation = SimpleNamespace(fork=fork, end=lambda: ended.append(True))
    assert supervisor.spawn_worker(server) == 0
    assert server.generation is None and ended and not server.WORKERS


@pytest.mark.parametrize(("listeners", "of_checks"), [(["pages"], None), (["pages", "checks"], "checks")])
def test_a_worker_with_one_listener_serves_pages_there(
    listeners: list[str], of_checks: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """gunicorn listens at no address where it was given sockets."""
    worker = SimpleNamespace(sockets=listeners, log=logging.getLogger("gunicorn.error"))
    assert supervisor.listener_of_checks(worker) == of_checks
    assert ("PORTAL_HEALTH_BIND" in caplog.text) is (of_checks is None)
