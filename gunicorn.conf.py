"""How gunicorn runs the portal: sound defaults, each to be changed by a variable of the environment."""

import ctypes
import fcntl
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


_LARGEST_SECRET = 16_384
_HELD = ".held"
_libc = ctypes.CDLL(None)
_M_ARENA_MAX = -8  # mallopt(3)


class _Files:
    """What the settings are read from, as it was when it was last found good; workers start with that alone.

    So a file that is changed counts from the next reload (HUP) on. Otherwise a fault in one would end the portal hours
    later, when a worker is renewed and can't start. Secrets go into the environment, the rest is copied.
    """

    _COPIED = ("PORTAL_TENANTS", "PORTAL_CA_FILE")

    def __init__(self) -> None:
        self.folder = _folder("portal-files-")
        self._copied = {name: Path(os.environ[name]) for name in self._COPIED if os.environ.get(name)}
        self._secrets = {
            name.removesuffix("_FILE"): Path(value)
            for name, value in os.environ.items()
            if name.endswith("_FILE")
            and name not in self._COPIED
            and name.removesuffix("_FILE") not in os.environ
        }
        self._number = count()
        self._before: Path | None = None
        self._now: Path | None = None

    def read(self) -> bool:
        """Take all as it is now and return True, if it is good; else say everything that is wrong.

        A process of its own looks, which has the code that is there now.
        """
        there = self.folder / str(next(self._number))
        taken = {name: str(_copy(source, there / name)) for name, source in self._copied.items()}
        taken |= {name: text for name, file in self._secrets.items() if (text := _secret(file))}
        done = subprocess.run(
            [sys.executable, "-m", "portal", "check", "--settings"],
            cwd=Path(__file__).parent,
            env={name: value for name, value in os.environ.items() if name not in self._secrets} | taken,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        said = done.stderr
        for name, source in self._copied.items():
            said = said.replace(taken[name], str(source))
        print(said, end="", file=sys.stderr)  # noqa: T201
        if done.returncode != 0:
            shutil.rmtree(there, ignore_errors=True)
            return False
        os.environ.update(taken)
        *older, self._before, self._now = (self._before, self._now, there)
        for folder in filter(None, older):  # workers that end now still have the one before
            shutil.rmtree(folder, ignore_errors=True)
        return True


def _folder(prefix: str) -> Path:
    """Make a folder whose lock lasts as long as this process, or a worker of it, lives (flock(2))."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=_HELD, dir=_memory))
        fcntl.flock(os.open(folder, os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_EX)
        # It was there without its lock for a moment, in which another portal may have cleared it.
        if folder.exists():
            return folder


def _clear_left_behind() -> None:
    """Remove the folders of portals that were killed: those that nobody holds."""
    for folder in Path(_memory or tempfile.gettempdir()).glob(f"portal-*{_HELD}"):
        try:
            held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # another's, or gone
            continue
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(held)


def _secret(file: Path) -> str | None:
    """The text of a small file; others are none of ours (SSL_CERT_FILE)."""
    try:
        return file.read_text(encoding="utf-8").strip() if file.stat().st_size < _LARGEST_SECRET else None
    except (OSError, UnicodeDecodeError):
        return None


def _copy(source: Path, folder: Path) -> Path:
    """Copy a file, with the consent templates that may lie beside it, or a folder; what isn't there stays so."""
    copy = folder / source.name
    if source.is_dir():
        shutil.copytree(source, copy)
    elif source.is_file():
        folder.mkdir(parents=True)
        shutil.copyfile(source, copy)
        if (beside := source.parent / "consent-templates").is_dir():
            shutil.copytree(beside, folder / beside.name)
    return copy


def on_starting(server):
    """Stop before any worker starts when the settings are wrong."""
    _clear_left_behind()
    server.files = _Files()
    if not server.files.read():
        shutil.rmtree(server.files.folder)
        sys.exit(2)


def when_ready(server):
    """Make the folder of the metrics; from now on refuse a reload (HUP) with wrong settings: the workers go on.

    Without that gunicorn would stop them, find that no new one starts, and end.
    """
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(_folder("portal-metrics-"))
    reload = server.reload

    def reload_if_good() -> None:
        if server.files.read():
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
    shutil.rmtree(server.files.folder, ignore_errors=True)
