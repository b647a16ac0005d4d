"""Developer tools: the flask command, `make t`, `make shell` and `make dev`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from portal.demo import reload
from portal.demo.processes import Process
from portal.demo.stack import portal_environment, tenants_file
from portal.services.notifications import count_unread
from tests.support.stack import PASSWORD, ROOT, free_port, plan
from tests.support.visitor import Visitor
from tools.shell import signed_in_as


def flask_routes(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PORTAL_")}
    return subprocess.run(
        [sys.executable, "-m", "flask", "--app", "wsgi", "routes"],
        cwd=ROOT, env=clean | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_flask_without_settings_names_the_missing_ones() -> None:
    done = flask_routes({})
    assert done.returncode == 2
    assert "PORTAL_TENANTS" in done.stderr
    assert "make dev" in done.stderr
    assert "Traceback" not in done.stderr


def test_flask_lists_the_routes(tmp_path: Path) -> None:
    made = plan(tmp_path)
    tenants = tmp_path / "tenants.toml"
    tenants.write_text(tenants_file(made))
    done = flask_routes(portal_environment(made, tenants))
    assert "consents.show" in done.stdout, done.stderr


def test_make_t_runs_the_named_file_and_requires_one() -> None:
    planned = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "t", "F=tests/test_parse.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert planned.stdout.rstrip().endswith("-m pytest -q -x tests/test_parse.py")


def test_the_shell_is_signed_in_as_the_person() -> None:
    with signed_in_as("nora") as known:
        assert known["person"].roles == {"nurse"}
        assert count_unread(known["care"]) >= 0
        assert known["get"]("/").heading == "Worklist"


def test_changed_created_and_removed_files_are_detected_once(tmp_path: Path) -> None:
    (tmp_path / "portal").mkdir()
    (tmp_path / "static").mkdir()
    kept, gone = tmp_path / "portal" / "kept.py", tmp_path / "portal" / "gone.py"
    kept.write_text("")
    gone.write_text("")
    files = reload.Files(tmp_path)
    assert not files.changed()
    os.utime(kept, (1, 1))
    gone.unlink()
    (tmp_path / "static" / "new.css").write_text("")
    (tmp_path / "static" / "styles.css").write_text("built")
    assert files.changed() == {Path("portal/kept.py"), Path("portal/gone.py"), Path("static/new.css")}
    assert not files.changed()


def test_code_with_a_syntax_error_is_reported_and_restarts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.py").write_text("def x(:\n")
    monkeypatch.setattr(reload, "ROOT", tmp_path)
    unused = Process("care service", [], tmp_path / "log", lambda: True)
    assert not reload.take({Path("broken.py")}, unused)
    assert "SyntaxError" in capsys.readouterr().out


def test_a_care_service_that_cannot_start_starts_again_with_the_next_change(tmp_path: Path) -> None:
    good = tmp_path / "good"
    command = ["bash", "-c", f"test -e {good} && exec sleep 60"]
    service = Process("care service", command, tmp_path / "log", good.exists)
    try:
        assert not reload.take({Path("portal/careservice/gone.py")}, service)
        assert not service.is_running
        good.touch()
        assert reload.take({Path("portal/views/gone.py")}, service)
        assert service.is_running
    finally:
        service.kill()


def test_a_reload_signals_the_process_and_not_its_children(tmp_path: Path) -> None:
    loop = "echo ready; while :; do sleep 0.05; done"
    script = f"(trap 'echo child' HUP; {loop}) & trap 'echo parent' HUP; {loop}"
    log = tmp_path / "log"
    process = Process(
        "shell",
        ["env", "--default-signal=HUP", "bash", "-c", script],
        log,
        lambda: log.read_text().count("ready") == 2,
    )
    process.start()
    try:
        process.wait()
        process.reload()
        until = time.monotonic() + 60
        while "parent" not in log.read_text() and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.2)  # as long as the child would take
        assert log.read_text().split() == ["ready", "ready", "parent"]
        assert process.is_running
    finally:
        process.kill()


def test_make_dev_reloads_a_change_and_keeps_people_signed_in(tmp_path: Path) -> None:
    ports = free_port(), free_port()
    demo = subprocess.Popen(
        [
            *(sys.executable, "-u", "-m", "portal", "demo", "--reload", "--data", str(tmp_path / "data")),
            *("--portal-port", str(ports[0]), "--service-port", str(ports[1])),
        ],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ | {"PORTAL_DEMO_PASSWORD": PASSWORD},
    )  # fmt: skip
    assert demo.stdout is not None
    log = tmp_path / "data" / "portal.log"
    try:
        for line in demo.stdout:
            if "Stop with Ctrl-C" in line:
                break
        visitor = Visitor(f"http://localhost:{ports[0]}", PASSWORD)
        visitor.sign_in("amelia")
        (ROOT / "portal" / "views" / "me.py").touch()
        until = time.monotonic() + 30
        while log.read_text().count("Worker exiting") < 1 and time.monotonic() < until:
            time.sleep(0.05)
        assert log.read_text().count("Booting worker") == 2
        assert visitor.get("/").heading == "Hello, Millie"
    finally:
        demo.send_signal(signal.SIGINT)
        shown, _ = demo.communicate(timeout=30)
    assert "Changed: portal/views/me.py" in shown


def test_a_new_column_gets_its_migration(tmp_path: Path) -> None:
    """As CONTRIBUTING says under "Add a field to a record", in a copy of the code."""
    kept = shutil.copytree(ROOT / "portal", tmp_path / "portal")
    model = kept / "careservice" / "domain" / "physicians.py"
    column = "    specialty: Mapped[Returned[str]]\n"
    model.write_text(model.read_text().replace(column, f"{column}    room: Mapped[Returned[str | None]]\n"))
    ask = [sys.executable, "-m", "portal.careservice.migrations", "the room of a physician"]
    made = subprocess.run(ask, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()[-1]
    assert made.endswith("_the_room_of_a_physician.py")
    assert "sa.Column('room', sa.String(), nullable=True)" in (tmp_path / made).read_text()
