"""A few of the slow clients of `make bench-slow`: other people's pages go on, and every reader is served."""

from __future__ import annotations

from pathlib import Path

from tests.bench.servers import bench
from tests.bench.slow import run


def test_slow_clients_do_not_delay_other_peoples_pages(tmp_path: Path) -> None:
    with bench(tmp_path) as made:
        told = run(made, half_heads=200, slow_bodies=20, readers=10, seconds=3, behind_nginx=False)
    assert told.wrong == []
    assert told.readers == [200] * 10
    assert len(told.during) > 20
    assert told.last < 1
