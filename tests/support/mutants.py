"""Mutation testing: changes the code in small ways, one at a time, and sees whether a test fails (`make mutants`).

cosmic-ray makes the mutants of the modules named in `mutants.toml`, in a copy of the project under var/mutants, and keeps
what became of each; so a run that was stopped goes on where it was. A module that changed begins anew; where its tests
changed alone, those that survived are tried again. `tests/MUTANTS.md` is written at the end, from what was found.

Not mutmut: it runs the tests in forks of one process that has run them before, with the threads, servers and handles of
libcurl that they left, and it changes no function that has a decorator, as every page and endpoint has. Starting Python and
what the tests import takes longer than most tests here, so the tests run in forks of a process that has imported the
libraries, and nothing of the project.

Where a module has more mutants than its tests can try in good time, `sample` in `mutants.toml` is how many are tried: the
first ones of an order that its path alone decides, so that nobody picks them and a larger sample holds the smaller one.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib
import json
import os
import random
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import tomllib
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "MUTANTS.md"
LIST = Path(__file__).with_name("mutants.toml")
COSMIC_RAY = "cosmic-ray==8.7.0"
ASKED = 0.9
_WORK = ROOT / "var" / "mutants"
_LIBRARIES = (
    *(
        "pytest",
        "flask",
        "flask_babel",
        "flask_limiter",
        "flask_wtf",
        "msgspec",
        "pycurl",
        "redis",
    ),
    *(
        "authlib.integrations.requests_client",
        "joserfc.jwt",
        "sqlalchemy.orm",
        "requests_cache",
        "bs4",
        "html5lib",
    ),
    *("babel.dates", "phonenumbers", "prometheus_client", "cryptography.x509", "argon2", "standardwebhooks"),
    *("whitenoise", "icalendar", "rcssmin", "rjsmin", "rfc8785", "alembic.command", "jsonschema_rs", "pypdf"),
)
_OPERATORS = """
exclude-operators = [
  # `|` stands in types alone; of the other arithmetic one change each, and of comparisons those that can differ.
  'core/ReplaceBinaryOperator_BitOr_.*',
  'core/ReplaceBinaryOperator_(?!(Add_Sub|Sub_Add|Mul_Div|Div_Mul|FloorDiv_Mul|Mod_Mul|BitAnd_BitOr)$).*',
  'core/ReplaceComparisonOperator_(?!(Eq_NotEq|NotEq_Eq|Lt_LtE|Lt_GtE|LtE_Lt|LtE_Gt|Gt_GtE|Gt_LtE|GtE_Gt|GtE_Lt|Is_IsNot|IsNot_Is)$).*',
  'core/ReplaceUnaryOperator_(?!(Delete_Not|USub_UAdd)$).*',
]
"""
_CLIENT = """
import socket, sys
asked = socket.socket(socket.AF_UNIX)
asked.connect(sys.argv[1])
asked.sendall(" ".join(sys.argv[2:]).encode() + b"\\n")
sys.exit(asked.recv(1)[0])
"""
_SUBREAPER = 36
"""prctl(2): whoever loses its parent becomes a child of this process."""
_LEFT_OUT = "not in the sample"
_HEAD = """# Evidence: mutation testing

Written by `make mutants`: each mutant is one small change of a module named in `tests/support/mutants.toml`, and the unit
and API tests named there ran against it. *Killed*: a test failed, or ran for more than its time. *Equivalent*: the change
changes nothing that could be seen, for the reason given below. The rate asked for is 90 % of those that aren't equivalent.
*Sampled N of M*: N of its M mutants are meant to be tried, chosen by a seed and not by what they change.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A module, by its path in the project, and the tests that hold it; `about` is what it is for.

    `sample` is how many of its mutants are tried, None for all.
    """

    about: str
    module: str
    tests: tuple[str, ...]
    sample: int | None = None

    @property
    def session(self) -> Path:
        return _WORK / "sessions" / (self.module.replace("/", "_").removesuffix(".py") + ".sqlite")


@dataclass(frozen=True, slots=True)
class Equivalent:
    """A change that no test can see: the module or a folder, the line or a part of it, a part of the operator's name, and why."""

    module: str
    line: str
    operator: str
    why: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change; `outcome` is killed, survived or, while it wasn't tried, empty."""

    id: str
    operator: str
    row: int
    function: str
    outcome: str


def targets() -> list[Target]:
    """Return what `mutants.toml` names, in its order."""
    return [
        Target(one["about"], one["module"], tuple(one["tests"]), one.get("sample"))
        for one in _listed()["target"]
    ]


def equivalents() -> list[Equivalent]:
    """Return the mutants that are known to change nothing."""
    return [Equivalent(**one) for one in _listed().get("equivalent", [])]


def _listed() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("--minutes", type=float, default=90, help="stop after so many; the next run goes on")
    parser.add_argument("only", nargs="*", help="modules, by a part of their path")
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    os.nice(10)
    program = _cosmic_ray()
    tree = _copied()
    for target in targets():
        if given.only and not any(part in target.module for part in given.only):
            continue
        _prepare(program, tree, target)
        if until <= time.monotonic() or not _left(target):
            continue
        with _fork_server(tree):
            if not _passes(tree, target):
                print(f"{target.module}: its tests fail without a change", file=sys.stderr)
                return 1
            _run(program, tree, target, until)
        print(_row(target), flush=True)
    TABLE.write_text(table(date.today()), encoding="utf-8")
    return 0


def _cosmic_ray() -> Path:
    """Where cosmic-ray is, in an environment of its own: it reads the project's text and imports none of it."""
    place = _WORK / COSMIC_RAY
    if not (place / "bin" / "cosmic-ray").exists():
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "--quiet", "--clear", place], check=True)
        command = [uv, "pip", "install", "--quiet", COSMIC_RAY]
        subprocess.run(command, env={**os.environ, "VIRTUAL_ENV": str(place)}, check=True)
    return place / "bin"


def _copied() -> Path:
    """A copy of the project as it stands, whose compiled files tell by the text whether they are of it."""
    tree = _WORK / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    leave_out = shutil.ignore_patterns("var", ".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
    shutil.copytree(ROOT, tree, ignore=leave_out)
    command = (
        sys.executable,
        "-m",
        "compileall",
        "-q",
        "--invalidation-mode",
        "checked-hash",
        "portal",
        "tests",
    )
    subprocess.run(command, cwd=tree, check=True)
    return tree


def _prepare(program: Path, tree: Path, target: Target) -> None:
    """Make the module's mutants, unless they are there; try survivors again when the tests are others."""
    source = hashlib.sha256((tree / target.module).read_bytes() + _OPERATORS.encode()).hexdigest()
    tests = hashlib.sha256(
        b"".join((tree / one.partition("::")[0]).read_bytes() for one in target.tests)
    ).hexdigest()
    marks = target.session.with_suffix(".json")
    seen = json.loads(marks.read_text()) if marks.exists() else {}
    if seen.get("source") != source:
        target.session.parent.mkdir(parents=True, exist_ok=True)
        target.session.unlink(missing_ok=True)
        _configure(tree, target)
        for command in (
            ("cosmic-ray", "init", _config(target), target.session),
            ("cr-filter-operators", target.session, _config(target)),
        ):
            subprocess.run([program / command[0], *command[1:]], cwd=tree, check=True, capture_output=True)
    elif seen.get("tests") != tests:
        with closing(sqlite3.connect(target.session)) as session, session:
            session.execute("DELETE FROM work_results WHERE test_outcome = 'SURVIVED'")
    _leave_out(target)
    marks.write_text(json.dumps({"source": source, "tests": tests}))


def _leave_out(target: Target) -> None:
    """Mark what isn't in the sample as if it were tried; cosmic-ray tries whatever has no result."""
    with closing(sqlite3.connect(target.session)) as session, session:
        session.execute("DELETE FROM work_results WHERE output = ?", (_LEFT_OUT,))
        rows = session.execute(
            "SELECT m.job_id, r.test_outcome FROM mutation_specs m LEFT JOIN work_results r ON r.job_id = m.job_id"
            " WHERE r.worker_outcome IS NULL OR r.worker_outcome != 'SKIPPED'"
            " ORDER BY m.start_pos_row, m.start_pos_col, m.operator_name, m.occurrence"
        ).fetchall()
        random.Random(target.module).shuffle(rows)  # a choice that anybody can make again
        session.executemany(
            "INSERT INTO work_results (worker_outcome, output, job_id) VALUES ('SKIPPED', ?, ?)",
            [(_LEFT_OUT, id_) for id_, outcome in rows[target.sample :] if target.sample and outcome is None],
        )


def _config(target: Target) -> Path:
    return target.session.with_suffix(".toml")


def _configure(tree: Path, target: Target) -> None:
    client = _WORK / "client.py"
    client.write_text(_CLIENT)
    command = f"{sys.executable} -S -E {client} {_WORK / 'socket'} {' '.join(target.tests)}"
    _config(target).write_text(
        f'[cosmic-ray]\nmodule-path = ["{target.module}"]\ntimeout = 60.0\nexcluded-modules = []\n'
        f'test-command = "{command}"\n[cosmic-ray.distributor]\nname = "local"\n'
        f"[cosmic-ray.filters.operators-filter]{_OPERATORS}"
    )


def _left(target: Target) -> int:
    return sum(not mutant.outcome for mutant in mutants(target))


def _passes(tree: Path, target: Target) -> bool:
    command = (sys.executable, "-S", "-E", _WORK / "client.py", _WORK / "socket", *target.tests)
    return subprocess.run(command, cwd=tree, check=False).returncode == 0


def _run(program: Path, tree: Path, target: Target, until: float) -> None:
    _configure(tree, target)
    original = (tree / target.module).read_bytes()
    command = [program / "cosmic-ray", "exec", _config(target), target.session]
    running = subprocess.Popen(command, cwd=tree, start_new_session=True)
    try:
        running.wait(max(0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        running.terminate()
        running.wait()
    finally:
        (tree / target.module).write_bytes(original)


@contextmanager
def _fork_server(tree: Path) -> Iterator[None]:
    """Runs pytest in a fork of a process that has imported the libraries, for whoever asks at the socket."""
    (_WORK / "socket").unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(_WORK / "socket"))
    listener.listen()
    server = os.fork()
    if server == 0:
        try:
            _serve(listener, tree)
        except Exception:  # noqa: BLE001 - whatever it is, it ends in this process
            traceback.print_exc()
        finally:
            os._exit(1)
    listener.close()
    try:
        yield
    finally:
        os.kill(server, signal.SIGTERM)
        os.waitpid(server, 0)


def _serve(listener: socket.socket, tree: Path) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    os.chdir(tree)
    sys.path[:] = [str(tree), *(one for one in sys.path if Path(one or ".").resolve() not in (ROOT, tree))]
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    for name in [one for one in sys.modules if one.split(".")[0] in ("tests", "portal")]:
        del sys.modules[name]
    for library in _LIBRARIES:
        importlib.import_module(library)
    while True:
        asking, _ = listener.accept()
        with asking:
            arguments = asking.makefile().readline().split()
            child = os.fork()
            if child == 0:
                _test(arguments)
            status = _ended(child, asking)
            if status is not None:
                asking.sendall(bytes([status]))


def _test(arguments: list[str]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    output = os.open(_WORK / "last-run.log", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for one in (1, 2):
        os.dup2(output, one)
    status = 1
    try:
        status = int(
            importlib.import_module("pytest").main(["-q", "-x", "-p", "no:cacheprovider", *arguments])
        )
    except Exception:  # noqa: BLE001 - whatever it is, the change broke it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)


def _ended(child: int, asking: socket.socket) -> int | None:
    """The exit status of the child; or None when nobody waits for it any longer. Whatever it left running is killed."""
    try:
        while True:
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status) & 0xFF
            if select.select([asking], [], [], 0.02)[0]:
                return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        while left := Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            for one in left:  # servers that it left running, now children of this process
                with suppress(ProcessLookupError, ChildProcessError):
                    os.kill(int(one), signal.SIGKILL)
                    os.waitpid(int(one), 0)


def mutants(target: Target) -> list[Mutant]:
    """Return the module's mutants, or none while they aren't made."""
    if not target.session.exists():
        return []
    with closing(sqlite3.connect(target.session)) as session:
        rows = session.execute(
            "SELECT m.job_id, m.operator_name, m.start_pos_row, m.definition_name, r.test_outcome, r.worker_outcome"
            " FROM mutation_specs m LEFT JOIN work_results r ON r.job_id = m.job_id ORDER BY 3, m.start_pos_col, 2"
        ).fetchall()
    return [
        Mutant(id_, operator.removeprefix("core/"), row, function or "", (outcome or "").lower())
        for id_, operator, row, function, outcome, worker in rows
        if worker != "SKIPPED"
    ]


def _left_out(target: Target) -> int:
    """How many mutants aren't in the sample."""
    with closing(sqlite3.connect(target.session)) as session:
        return int(
            session.execute("SELECT count(*) FROM work_results WHERE output = ?", (_LEFT_OUT,)).fetchone()[0]
        )


def survivors(target: Target) -> list[tuple[Mutant, str, Equivalent | None]]:
    """Return the mutants that no test noticed, each with its line and, where that is known, why none could."""
    lines = (ROOT / target.module).read_text(encoding="utf-8").splitlines()
    known = [one for one in equivalents() if target.module.startswith(one.module)]
    return [
        (
            mutant,
            line := lines[mutant.row - 1].strip(),
            next((one for one in known if one.line in line and one.operator in mutant.operator), None),
        )
        for mutant in mutants(target)
        if mutant.outcome == "survived"
    ]


def _row(target: Target) -> str:
    found = mutants(target)
    tried = [one for one in found if one.outcome]
    same = sum(known is not None for *_, known in survivors(target))
    killed = sum(one.outcome != "survived" for one in tried)
    counted = len(tried) - same
    if not tried:
        said = "not yet run | | | |"
    else:
        part = "" if len(tried) == len(found) else f" of {len(found)}"
        if left_out := _left_out(target):
            part += f" (sampled {len(found)} of {len(found) + left_out})"
        said = f"{len(tried)}{part} | {killed} | {same} | {killed / counted if counted else 1:.0%} |"
    tests = ", ".join(f"`{one}`" for one in target.tests)
    return f"| {target.about} | `{target.module}` | {said} {tests} |"


def table(today: date) -> str:
    """Return the document; figures are those of the sessions under var/mutants."""
    lines = [_HEAD, f"Measured until {today.isoformat()}.", ""]
    lines += [
        "| What | Module | Tried | Killed | Equivalent | Rate | By |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [_row(target) for target in targets()]
    lines += ["", "## Equivalent", ""]
    seen = {known: None for target in targets() for *_, known in survivors(target) if known is not None}
    lines += [f"- `{one.module}`: `{one.line}` ({one.operator}): {one.why}" for one in seen] or ["None."]
    lines += ["", "## Survived", ""]
    left = [
        f"- `{target.module}` line {mutant.row}, `{line}`: {mutant.operator}"
        for target in targets()
        for mutant, line, known in survivors(target)
        if known is None
    ]
    return "\n".join([*lines, *(left or ["None."])]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
