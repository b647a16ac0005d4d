"""Builds and runs the image without Docker: carries out the Dockerfile's steps in a bare folder.

`python -m tools.image` takes the files of the repository that `.dockerignore` lets through, gives each
stage a root folder, carries out its COPY and RUN steps there with a virtual environment of its own, and starts the
last stage's CMD from files that nobody may write to, as the image's user where this is root. Then it asks what the
HEALTHCHECK asks. Steps that change the system itself (apt-get) are named and left out.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import requests

from portal.demo.processes import free_port
from portal.demo.stack import DemoSetup, portal_environment, secrets_of, tenants_file

ROOT = Path(__file__).parents[1]
_OF_THE_SYSTEM = ("apt-get", "rm -rf /var/lib/apt", "python -m pip uninstall", "rm -rf /usr/local")
_ITS_PATHS = re.compile(r"(?<![\w./])/(?=(venv|uv|build|srv|var/lib/portal)\b)")
"""The absolute paths that the Dockerfile makes: they lie in the stage's root folder here."""


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction with its argument, continued lines joined."""

    word: str
    argument: str


@dataclass(slots=True)
class Stage:
    """What stands between one FROM and the next."""

    name: str
    base: str
    steps: list[Step] = field(default_factory=list)

    def last(self, word: str) -> str:
        """The argument of the last instruction of this kind."""
        return next(step.argument for step in reversed(self.steps) if step.word == word)


def stages(text: str) -> list[Stage]:
    """The Dockerfile's stages (Dockerfile reference: comments, continued lines, FROM … AS)."""
    read: list[Stage] = []
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in filter(None, (line.strip() for line in lines.replace("\\\n", " ").splitlines())):
        word, _, argument = line.partition(" ")
        if word == "FROM":
            base, _, name = argument.partition(" AS ")
            read.append(Stage(name or "final", base))
        else:
            read[-1].steps.append(Step(word, " ".join(argument.split())))
    return read


def context() -> list[str]:
    """The files of the repository that `.dockerignore` lets through; the last rule that fits decides."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    matchers = [(_matcher(rule.removeprefix("!")), rule.startswith("!")) for rule in rules]

    def is_in(name: str) -> bool:
        return next((lets_in for matcher, lets_in in reversed(matchers) if matcher.match(name)), True)

    def is_looked_into(name: str) -> bool:
        return is_in(name) or any(rule.startswith(f"!{name}/") for rule in rules)

    found: list[str] = []
    for folder, folders, files in os.walk(ROOT):
        at = Path(folder).relative_to(ROOT)
        folders[:] = sorted(name for name in folders if is_looked_into((at / name).as_posix()))
        found += [name for file in sorted(files) if is_in(name := (at / file).as_posix())]
    return found


def _matcher(pattern: str) -> re.Pattern[str]:
    """A pattern fits a path and all that is below it; `**` stands for any number of folders."""
    parts = {"**/": "(?:.*/)?", "*": "[^/]*"}
    text = "".join(parts.get(piece) or re.escape(piece) for piece in re.split(r"(\*\*/|\*)", pattern))
    return re.compile(f"{text}(?:/.*)?$")


class Build:
    """The stages, one after the other, each in the same place: what it leaves is moved aside for the next."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.context = folder / "context"
        self.environment: dict[str, str] = {}
        self.workdir = self.root
        for name in context():
            (self.context / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self.context / name)
        programs = folder / "programs"
        programs.mkdir()
        (programs / "python").symlink_to(_python_of_the_system())
        self._path = f"{programs}:{os.environ['PATH']}"

    def carry_out(self, stage: Stage) -> None:
        self.root.mkdir()
        self.workdir, self.environment = self.root, {"PATH": self._path}
        for step in stage.steps:
            match step.word:
                case "WORKDIR":
                    self.workdir = self._inside(step.argument)
                    self.workdir.mkdir(parents=True, exist_ok=True)
                case "ENV":
                    self._set(step.argument)
                case "COPY":
                    self._copy(shlex.split(step.argument))
                case "RUN":
                    self._run(step.argument)
                case _:
                    pass  # used when running: USER, VOLUME, EXPOSE, HEALTHCHECK, CMD

    def set_aside(self, stage: Stage) -> None:
        self.root.rename(self.folder / stage.name)

    def here(self, text: str) -> str:
        """The same words with the image's absolute paths as they are here."""
        return _ITS_PATHS.sub(f"{self.root}/", text)

    def _inside(self, path: str) -> Path:
        return self.root / path.lstrip("/") if path.startswith("/") else self.workdir / path

    def _set(self, argument: str) -> None:
        for pair in shlex.split(argument):
            name, _, value = pair.partition("=")
            self.environment[name] = self.here(value).replace("$PATH", self.environment["PATH"])

    def _copy(self, words: list[str]) -> None:
        came_from = self.context
        if words[0].startswith("--from="):
            came_from = self.folder / words.pop(0).removeprefix("--from=")
        *sources, target = words
        for source in sources:
            found = came_from / source.lstrip("/")
            into = self._inside(target)
            if found.is_dir():
                shutil.copytree(found, into, symlinks=True, dirs_exist_ok=True)
            else:
                into = into / found.name if target.endswith("/") else into
                into.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(found, into)

    def _run(self, command: str) -> None:
        kept: list[str] = []
        for part in command.split(" && "):
            if part.startswith(_OF_THE_SYSTEM):
                print(f"left out: {part}")
            elif os.geteuid() != 0 and part.startswith("install -d "):
                kept.append(re.sub(r"-[og] \d+ ", "", part))
            else:
                kept.append(part)
        if kept:
            command = ["/bin/sh", "-c", self.here(" && ".join(kept))]
            environment = {**os.environ, **self.environment}
            subprocess.run(command, check=True, cwd=self.workdir, env=environment)


def _python_of_the_system() -> str:
    """A Python 3.11 that every account may start, as in the image; else this one."""
    for name in ("/usr/local/bin/python3", "/usr/bin/python3"):
        ask = [name, "-c", "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"]
        if Path(name).exists() and subprocess.run(ask, check=False, capture_output=True).returncode == 0:
            return name
    return sys.executable


def check(build: Build, final: Stage) -> Iterator[str]:
    """Start the last stage's CMD and ask after its health; yield each thing that isn't as it should be."""
    unwanted = ("portal/careservice", "portal/demo", "tests", "tools", ".git")
    left_in = [name for name in unwanted if (build.workdir / name).exists()]
    yield from (f"{name} is in the image" for name in left_in)
    packages = (build.root / "venv").glob("lib/python*/site-packages/*")
    yield from (
        f"{one.name} is in the image" for one in packages if one.name in ("pip", "setuptools", "wheel")
    )
    data = build.root / "var/lib/portal"
    plan = DemoSetup(free_port(), free_port(), data, secrets_of(build.folder))
    tenants = build.folder / "tenants.toml"
    tenants.write_text(tenants_file(plan), encoding="utf-8")
    subprocess.run(["chmod", "-R", "a-w,a+rX", str(build.workdir), str(build.root / "venv")], check=True)
    user, group = (int(one) for one in final.last("USER").split(":"))
    identity = {"user": user, "group": group, "extra_groups": []} if os.geteuid() == 0 else {}
    environment = {**build.environment, **portal_environment(plan, tenants), "HOME": "/nonexistent"}
    command = shlex.split(build.here(shlex.join(json.loads(final.last("CMD")))))
    asks = json.loads(final.last("HEALTHCHECK").partition("CMD ")[2])
    log = build.folder / "log"
    with log.open("wb") as output:
        running = subprocess.Popen(
            [shutil.which(command[0], path=environment["PATH"]) or command[0], *command[1:]],
            cwd=build.workdir,
            env=environment,
            stdout=output,
            stderr=output,
            **identity,
        )
    try:
        if not _answers(asks, environment, running):
            yield f"{command} doesn't answer: {log.read_text()[-2000:]}"
        else:
            yield from _faults_of_a_page(plan)
        written = [path for path in build.workdir.rglob("*") if path.stat().st_mtime > log.stat().st_ctime]
        yield from (f"{path} was written while it ran" for path in written)
    finally:
        running.terminate()
        if running.wait(timeout=20) != 0:
            yield f"it ended with {running.returncode}: {log.read_text()[-2000:]}"


def _answers(asks: list[str], environment: dict[str, str], running: subprocess.Popen[bytes]) -> bool:
    until = time.monotonic() + 30
    while time.monotonic() < until and running.poll() is None:
        python = shutil.which(asks[0], path=environment["PATH"]) or asks[0]
        if subprocess.run([python, *asks[1:]], env=environment, capture_output=True).returncode == 0:
            return True
        time.sleep(0.2)
    return False


def _faults_of_a_page(plan: DemoSetup) -> Iterator[str]:
    """A page has its templates, and everything static that it names."""
    origin = f"http://127.0.0.1:{plan.portal_port}"
    host = {"Host": plan.hosts("riverside")[0]}
    page = requests.get(f"{origin}/signed-out?lang=ar", headers=host, timeout=10)
    if page.status_code != 200:
        yield f"a page answers with {page.status_code}"
    named = set(re.findall(r'(?:src|href)="(/static/[^"#]+)', page.text))
    if not named:
        yield "a page names no static files"
    for path in sorted(named):
        answer = requests.get(f"{origin}{path}", headers={**host, "Accept-Encoding": "br"}, timeout=10)
        if answer.status_code != 200:
            yield f"{path} answers with {answer.status_code}"


def main() -> int:
    *before, final = stages((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="portal-image-") as made:
        Path(made).chmod(0o755)
        build = Build(Path(made))
        for stage in before:
            build.carry_out(stage)
            build.set_aside(stage)
        build.carry_out(final)
        faults = list(check(build, final))
        for fault in faults:
            print(fault, file=sys.stderr)
        if not faults:
            size = subprocess.run(["du", "-sm", str(build.root)], capture_output=True, text=True, check=True)
            print(f"The image's steps work; what they add takes {size.stdout.split()[0]} MB.")
        return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
