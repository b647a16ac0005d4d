"""With a few of the slow clients of `make bench-slow`, other people's pages stay fast and every reader is served."""

from __future__ import annotations

from pathlib import Path

from tools.bench.servers import bench
from tools.bench.slow_clients import run


def test_slow_clients_do_not_delay_other_peoples_pages(tmp_path: Path) -> None:
    with bench(tmp_path) as made:
        outcome = run(made, half_heads=200, slow_bodies=20, readers=10, seconds=3, behind_nginx=False)
    assert outcome.wrong == []
    assert outcome.readers == [200] * 10
    assert len(outcome.during) > 20
    assert outcome.last < 1
