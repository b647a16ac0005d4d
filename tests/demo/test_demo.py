"""`make demo` on its first use."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests

from portal.demo.processes import DemoError
from portal.demo.stack import check_ports
from tests.support.command_lines import command_lines
from tests.support.stack import ROOT, free_port
from tests.support.visitor import Visitor


def run(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "portal", "demo", *options],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_demo_runs_lists_its_people_and_cleans_up(tmp_path: Path) -> None:
    portal_port, service_port = free_port(), free_port()
    demo = subprocess.Popen(
        [
            *("env", "--default-signal=HUP"),  # under nohup it is ignored, and stays so
            *(sys.executable, "-u", "-m", "portal", "demo"),
            *(
                "--portal-port",
                str(portal_port),
                "--service-port",
                str(service_port),
                "--data",
                str(tmp_path),
            ),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert demo.stdout is not None
    shown = ""
    until = time.monotonic() + 60
    while "Stop with Ctrl-C" not in shown and time.monotonic() < until:
        shown += demo.stdout.readline()
    try:
        for word in ("amelia", "daniel", "grace", "nora", "victor", "elif", "colin", "ada", "maya", "omar"):
            assert re.search(rf"\b{word}\b", shown), word
        password = re.search(r"Password for everyone: (\S+)", shown)
        assert password
        visitor = Visitor(f"http://localhost:{portal_port}", password[1])
        assert visitor.sign_in("amelia").heading == "Hello, Millie"
    finally:
        demo.send_signal(signal.SIGHUP)  # the terminal is closed
        assert any(line == "Stopping.\n" for line in demo.stdout)
        demo.send_signal(signal.SIGINT)  # in vain: it is stopping
        assert demo.wait(timeout=20) == 0
        demo.stdout.close()
    for port in (portal_port, service_port):
        with pytest.raises(requests.ConnectionError):
            requests.get(f"http://127.0.0.1:{port}/healthz", timeout=2)
    left = command_lines()
    assert str(tmp_path) not in left
    assert f"127.0.0.1:{portal_port}" not in left


def test_a_port_in_use_is_one_clear_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("--portal-port", str(port), "--service-port", str(free_port()))
    assert done.returncode == 2
    assert (
        done.stderr.strip()
        == f"Port {port} is taken: stop what uses it, or choose another with --portal-port."
    )


def test_ports_that_cannot_be_used_are_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DemoError, match="Both can't have port 8000: choose another with --service-port"):
        check_ports(8000, 8000)
    for port in (0, 65536):
        with pytest.raises(DemoError, match=f"--portal-port: {port} isn't a port number"):
            check_ports(port, 8001)

    def bind(_socket: socket.socket, _address: object) -> None:
        raise PermissionError

    monkeypatch.setattr(socket.socket, "bind", bind)
    with pytest.raises(DemoError, match=r"Port 80 is for root alone: .* with --portal-port"):
        check_ports(80, 8001)


def test_an_unwritable_folder_is_one_clear_line(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    done = run(
        "--portal-port", str(free_port()), "--service-port", str(free_port()), "--data", str(file / "data")
    )
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "can't be written to" in done.stderr


def test_a_folder_readable_by_others_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    ports = ("--portal-port", str(free_port()), "--service-port", str(free_port()))
    done = run(*ports, "--data", str(tmp_path))
    assert done.returncode == 2
    assert f"chmod 700 {tmp_path}" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_given_password_and_data_folder_are_used_again(tmp_path: Path) -> None:
    from tests.support.stack import Process

    unread: list[int] = []
    for _ in range(2):
        portal_port, service_port = free_port(), free_port()
        ports = ["--portal-port", str(portal_port), "--service-port", str(service_port)]
        demo = Process(
            [sys.executable, "-m", "portal", "demo", *ports, "--data", str(tmp_path)],
            {"PORTAL_DEMO_PASSWORD": "a chosen password"},
            tmp_path / "demo.log",
        )
        demo.wait_for(f"http://127.0.0.1:{portal_port}/readyz")
        visitor = Visitor(f"http://harbour.localhost:{portal_port}", "a chosen password")
        visitor.sign_in("omar")
        page = visitor.get("/notifications?unread=1")
        unread.append(len(page.select(".notification")))
        visitor.post("/notifications/read")
        demo.stop(signal.SIGINT)
    others = {path: path.stat().st_mode & 0o077 for path in tmp_path.glob("care.db*")}
    assert others and not any(others.values()), "files must be accessible only to their owner"
    assert unread[0] > 0
    assert unread[1] == 0, "the read message must stay read"
