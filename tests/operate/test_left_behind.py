"""Files that a killed portal left in /dev/shm are removed at the next start; those of a running one are kept."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from portal.demo.stack import DemoSetup
from tests.support.stack import CareService, PortalProcess, free_port


@contextmanager
def running(folder: Path, service: CareService) -> Iterator[PortalProcess]:
    where = DemoSetup(free_port(), service.plan.service_port, folder, service.plan.secrets)
    process = PortalProcess(where, PORTAL_WORKERS="1")
    try:
        yield process
    finally:
        process.stop()


def folders_of(process: PortalProcess) -> list[Path]:
    """The folders whose locks this master holds."""
    held = Path(f"/proc/{process.child.pid}/fd")
    return sorted(one.readlink() for one in held.iterdir() if one.readlink().suffix == ".held")


def test_a_killed_portals_folders_are_removed_at_the_next_start(service: CareService, tmp_path: Path) -> None:
    for name in ("killed", "lives", "next"):
        (tmp_path / name).mkdir()
    with running(tmp_path / "lives", service) as lives, running(tmp_path / "killed", service) as killed:
        left, in_use = folders_of(killed), folders_of(lives)
        assert len(left) == len(in_use) == 2
        killed.stop(signal.SIGKILL)
        assert all(folder.is_dir() for folder in left)
        with running(tmp_path / "next", service) as following:
            assert not any(folder.exists() for folder in left)
            assert all(folder.is_dir() for folder in in_use)
            own = folders_of(following)
        assert not any(folder.exists() for folder in own)
        assert all(folder.is_dir() for folder in in_use)
