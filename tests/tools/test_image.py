"""The contents of the image; `make image` builds it without Docker."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path, PurePosixPath
from threading import Thread

import pytest

from portal.operate import health_check
from tools.image import ROOT, context, stages

BUILD, FINAL = stages((ROOT / "Dockerfile").read_text(encoding="utf-8"))


def test_the_image_has_only_the_portal() -> None:
    files = context()
    top = {PurePosixPath(name).parts[0] for name in files}
    assert top == {"gunicorn.conf.py", "portal", "requirements", "static", "templates", "wsgi.py"}
    unwanted = ("portal/careservice/", "portal/demo/")
    assert not [name for name in files if name.startswith(unwanted) or name.endswith((".br", ".mo", ".pyc"))]
    assert "sqlalchemy" not in (ROOT / "requirements/portal.txt").read_text(encoding="utf-8").lower()


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the image, without what is built from them."""
    folder = tmp_path_factory.mktemp("image")
    for name in context():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_the_portal_runs_without_the_files_left_out_of_the_image(image: Path) -> None:
    done = run(
        image, "-c", "import portal.app, portal.operate.check, portal.operate.supervisor, portal.printing"
    )
    assert done.returncode == 0, done.stderr


def test_running_the_demo_in_the_image_says_that_it_is_missing(image: Path) -> None:
    done = run(image, "-m", "portal", "demo")
    assert done.returncode == 2
    assert done.stderr == (
        "The demo isn't part of the image: run `make demo` in a checkout of the repository.\n"
    )


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def test_every_copied_path_exists() -> None:
    files = context()
    for stage in (BUILD, FINAL):
        for step in stage.steps:
            if step.word == "COPY" and not step.argument.startswith("--from="):
                for source in step.argument.split()[:-1]:
                    assert any(name == source or name.startswith(f"{source}/") for name in files), source


def test_the_image_runs_unprivileged_with_a_health_check() -> None:
    assert FINAL.base == BUILD.base, "both stages must use the same base image"
    user, group = FINAL.last("USER").split(":")
    assert int(user) > 999 and int(group) > 999
    assert json.loads(FINAL.last("CMD")) == ["gunicorn", "wsgi:app"]
    assert json.loads(FINAL.last("HEALTHCHECK").partition("CMD ")[2])[1:] == ["-m", health_check.__name__]
    assert all("--require-hashes" in line for line in _installing())


@pytest.mark.parametrize(
    ("listens", "variables"),
    [
        (("127.0.0.1", 0), {"PORTAL_BIND": "0.0.0.0:@"}),
        (("127.0.0.1", 0), {"PORTAL_BIND": "[::]:@", "PORTAL_HEALTH_BIND": ""}),
        (("127.0.0.11", 0), {"PORTAL_BIND": ":1", "PORTAL_HEALTH_BIND": "127.0.0.11:@"}),
        (("::1", 0), {"PORTAL_BIND": "[::1]:@"}),
        ("portal.sock", {"PORTAL_BIND": "unix:portal.sock"}),
        ("portal.sock", {"PORTAL_BIND": "unix://portal.sock"}),
    ],
)
@pytest.mark.parametrize("code", [200, 503])
def test_the_health_check_asks_where_health_is_listened_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    listens: str | tuple[str, int],
    variables: dict[str, str],
    code: int,
) -> None:
    monkeypatch.chdir(tmp_path)
    family = (
        socket.AF_UNIX
        if isinstance(listens, str)
        else socket.AF_INET6
        if "::" in listens[0]
        else socket.AF_INET
    )
    with socket.socket(family) as listener:
        listener.bind(listens)
        listener.listen()

        def answer() -> None:
            with listener.accept()[0] as client:
                assert client.recv(4096).startswith(b"GET /healthz HTTP/1.1\r\n")
                client.sendall(b"HTTP/1.1 %d Said\r\nContent-Length: 0\r\n\r\n" % code)

        port = "" if isinstance(listens, str) else str(listener.getsockname()[1])
        asked = Thread(target=answer, daemon=True)
        asked.start()
        told = health_check.status({name: text.replace("@", port) for name, text in variables.items()})
        assert told == code
        asked.join()


def test_a_socket_that_was_opened_before_makes_no_container_unhealthy() -> None:
    assert health_check.status({"PORTAL_BIND": "fd://3"}) is None


def _installing() -> list[str]:
    runs = [step.argument for step in BUILD.steps if step.word == "RUN"]
    return [part for run in runs for part in run.split(" && ") if " install " in part]
