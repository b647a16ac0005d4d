"""How gunicorn runs the portal: sound defaults, each to be changed by a variable of the environment."""

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path


def _number(name: str, default: int) -> int:
    return int(os.environ.get(name) or default)


bind = os.environ.get("PORTAL_BIND", "127.0.0.1:8000")
# gthread, which sees to it that stopping leaves no one standing at the door.
worker_class = "portal.worker.Worker"
workers = _number("PORTAL_WORKERS", 2)
threads = _number("PORTAL_THREADS", 8)
# Longer than the page deadline of 10 s and a slow identity server together; a worker that hangs is replaced.
timeout = _number("PORTAL_WORKER_TIMEOUT", 60)
graceful_timeout = 30
keepalive = 15
# Workers are renewed now and then, not all at once.
max_requests = _number("PORTAL_MAX_REQUESTS", 20000)
max_requests_jitter = max_requests // 10
# What only processes share needs no disk: the heartbeat file, which must not wait for one, and the metrics.
_memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108, PTH112
worker_tmp_dir = _memory
# Which addresses may say over which scheme and host a request came is the portal's own setting: PORTAL_PROXY_HOPS.
forwarded_allow_ips = ""
# No control socket in the home folder.
control_socket_disable = True
# The portal writes its own access log, with the route's template instead of the address.
accesslog = None
limit_request_line = 8190


_libc = ctypes.CDLL(None)
_M_ARENA_MAX = -8  # mallopt(3)


def _settings_are_good() -> bool:
    """Whether new workers could start; says everything that is wrong. A process of its own reads code and files anew."""
    check = [sys.executable, "-m", "portal", "check", "--settings"]
    done = subprocess.run(check, cwd=Path(__file__).parent, stdout=subprocess.DEVNULL, check=False)  # noqa: S603
    return done.returncode == 0


def on_starting(server):
    """Stop before any worker starts when the settings are wrong."""
    if not _settings_are_good():
        sys.exit(2)


def when_ready(server):
    """Make the folder of the metrics; from now on refuse a reload (HUP) with wrong settings: the workers go on.

    Without that gunicorn would stop them, find that no new one starts, and end.
    """
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="portal-metrics-", dir=_memory)
    reload = server.reload

    def reload_if_good() -> None:
        if _settings_are_good():
            reload()
        else:
            server.log.error("Not reloaded: the settings are wrong, the workers go on with those they have.")

    server.reload = reload_if_good


def pre_fork(server, worker):
    """Give the worker the lowest slot that is free: its metrics go on where the last one there ended."""
    taken = {other.slot for other in server.WORKERS.values()}
    worker.slot = next(slot for slot in count() if slot not in taken)


def post_fork(server, worker):
    """Tell the worker its slot, and let its threads share two heaps: glibc would keep one for each thread."""
    os.environ["PORTAL_WORKER_SLOT"] = str(worker.slot)
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_ARENA_MAX, 2)


def child_exit(server, worker):
    """Forget what is only true of a worker that lives, such as its breakers."""
    for file in Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).glob(f"gauge_live*_{worker.slot}.db"):
        file.unlink(missing_ok=True)


def on_exit(server):
    """Leave nothing behind."""
    shutil.rmtree(os.environ["PROMETHEUS_MULTIPROC_DIR"], ignore_errors=True)
