"""Mutants drawn by chance from everything that people meet: portal/, templates/ and static/scripts/ (`make mutants`).

`mutants.toml` names modules that somebody chose; here nobody chooses. Files are drawn by their length (a line of a template
or script counts for three), then one of the small slips that can be made in a file: a comparison or a condition turned
round, a number one more, an argument, a call or a value left out, another member shown. The week seeds the draw, so that
whoever runs it in one week tries the same mutants.

Each is tried with the tests that run the changed function, as `tools/reach.py` saw before: the quick ones of those nearest to
its file and those that run least else first, then the whole pages, those of its own part before others, then the slower near
ones, and then those that run least else. At least one of them is run, and further ones while together they took no longer
than a quarter of a minute when they were watched; after ten minutes they are stopped, which counts as noticed. What survived
is tried again with `--again`, with sixteen times as many: so it is once a test for it has been written. They are run in a
fork of a process that has shown pages before (`tools/fork_server.py`), which takes seconds. The result, by area, is a part
of `tests/MUTANTS.md`. What was tried is kept under var/mutants: a run that was stopped goes on. The areas take turns, so
that a run that was stopped has tried some of each.
"""

from __future__ import annotations

import argparse
import ast
import copy
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TypeGuard

from tools.fork_server import NOT_MADE, collected, command_for, failed_test, fork_server
from tools.mutants import BY_CHANCE, ROOT, TABLE, copied, equivalents
from tools.reach import FOLDER, Reached, read

_WORK = ROOT / "var" / "mutants"
_WARM, _COLD, _BEFORE = _WORK / "warm", _WORK / "cold", _WORK / "before"
_COUNT = 200
_TIMEOUT = 600.0

AREAS = {
    "consents, embryos, doses": r"(consent|signing|embryo|storage|protocol|dose|pgt)",
    "sign-in and access": r"portal/(signin|state)|guard|csrf|permissions|headers|session",
    "audit": r"audit",
    "care service": r"^portal/careservice/",
    "pages": r"^portal/(views|web|printing|i18n)/",
    "templates": r"^templates/",
    "scripts": r"^static/",
    "services": r"^portal/(services|connect|http|store)/",
    "operation": r"",
}
"""What a file belongs to: the first whose pattern is found in its path."""

_MORE_TESTS = {
    "portal/careservice/domain/": ("tests/careservice/migrations/test_migrations.py",),
    **dict.fromkeys(
        ("portal/config/", "portal/connect/needs.py", "portal/careservice/openapi/"),
        ("tests/tools/test_generated_documents.py",),
    ),
    "static/scripts/": ("tests/browser/test_journeys.py", "tests/browser/test_session_end.py"),
}
"""Tests of a whole folder, tried first: of documents and tables that are derived from it, and of what no function runs."""

_WHOLE_PAGES = tuple(
    f"tests/pages/test_{name}.py" for name in ("facts", "states", "acts", "refused_acts", "queries")
)
"""Compare whole pages, and so notice most."""

_QUICK, _SLOW = 0.5, 5.0
"""Seconds; slow ones are tried only where they are near, or nothing else is."""

_OWN_FOLDER = 3
"""How many parts a path has more of where its folder is of one thing: portal/views/storage/moves.py."""

_SECONDS, _SECONDS_AGAIN = 15.0, 240.0
"""How long the tests of one mutant took together at most when they were watched, cold; the first may alone."""


@dataclass(frozen=True, slots=True)
class Change:
    """A piece of a file's text, by its first and last position, and what stands there instead."""

    start: int
    end: int
    new: str
    what: str

    def made_in(self, text: str) -> str:
        """Return the file's text with this change."""
        return text[: self.start] + self.new + text[self.end :]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file; `line` and `text` are where it is."""

    path: str
    line: int
    text: str
    change: Change


def area_of(path: str) -> str:
    """Return the area of a file, by its path in the project."""
    return next(area for area, pattern in AREAS.items() if re.search(pattern, path))


def week_of(now: datetime) -> str:
    """Return the ISO week, such as 2026-W48, that seeds the draw."""
    return "{}-W{:02}".format(*now.isocalendar())


def drawn(week: str, count: int = _COUNT, root: Path = ROOT) -> list[Mutant]:
    """Return this week's mutants, each of another place."""
    files = sorted(
        path
        for folder, kind in (("portal", "*.py"), ("templates", "*.html"), ("static/scripts", "*.js"))
        for path in (root / folder).rglob(kind)
        if not {"migrations", "translations", "sample"} & set(path.parts)
    )
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    weights = [text.count("\n") * (1 if path.suffix == ".py" else 3) for path, text in texts.items()]
    chance = random.Random(week)
    found: dict[tuple[Path, int], Mutant] = {}
    while len(found) < count:
        (path,) = chance.choices(files, weights)
        text = texts[path]
        if changes := changes_of(path.suffix, text):
            change = chance.choice(changes)
            line = text.count("\n", 0, change.start) + 1
            place = path.relative_to(root).as_posix()
            found.setdefault((path, line), Mutant(place, line, text.splitlines()[line - 1].strip(), change))
    return list(found.values())


def in_turns(mutants: Iterable[Mutant]) -> list[Mutant]:
    """Return them so that the first have one of each area, and so on."""
    before: Counter[str] = Counter()
    turns: list[tuple[int, int, Mutant]] = []
    for mutant in mutants:
        area = area_of(mutant.path)
        turns.append((before[area], [*AREAS].index(area), mutant))
        before[area] += 1
    return [mutant for *_, mutant in sorted(turns, key=lambda turn: turn[:2])]


@cache
def changes_of(suffix: str, text: str) -> tuple[Change, ...]:
    """Every slip that can be made in a file of this kind."""
    match suffix:
        case ".py":
            return (*_in_python(text),)
        case ".html":
            return (*_in_template(text),)
        case _:
            return (*_in_script(text),)


_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def _in_python(text: str) -> Iterator[Change]:
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    raw = text.encode()

    def place(line: int, column: int) -> int:
        return len(raw[: starts[line - 1] + column].decode())

    for node in _nodes(ast.parse(text)):
        for new, what in _slips(node):
            start = place(node.lineno, node.col_offset)
            end = place(node.end_lineno or node.lineno, node.end_col_offset or 0)
            yield Change(start, end, new, what)


_NOT_DONE = ("annotation", "returns", "decorator_list", "bases")


def _nodes(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield what a program does: no annotations, decorators or docstrings."""
    for name, value in ast.iter_fields(node):
        if name in _NOT_DONE or (name == "keywords" and isinstance(node, ast.ClassDef)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.expr | ast.stmt):
                yield child
            if isinstance(child, ast.AST):
                yield from _nodes(child)


def _slips(node: ast.expr | ast.stmt) -> Iterator[tuple[str, str]]:
    other = copy.deepcopy(node)
    match other:
        case ast.Compare(ops=[operator]) if type(operator) in _TURNED:
            other.ops = [_TURNED[type(operator)]()]
            yield f"({ast.unparse(other)})", "comparison turned"
        case ast.BoolOp():
            other.op = ast.Or() if isinstance(other.op, ast.And) else ast.And()
            yield f"({ast.unparse(other)})", "and or or"
        case ast.UnaryOp(op=ast.Not()):
            yield f"({ast.unparse(other.operand)})", "not left out"
        case ast.Constant(value=bool() as value):
            yield str(not value), "truth turned"
        case ast.Constant(value=int() as value):
            yield str(value + 1), "one more"
        case ast.Expr(value=ast.Call()):
            yield "pass", "call left out"
        case ast.Call(keywords=[_, *_]):
            del other.keywords[-1]
            yield ast.unparse(other), "argument left out"
        case ast.Call(args=[_, _, _, *_]):
            del other.args[-1]
            yield ast.unparse(other), "argument left out"
        case ast.Tuple(elts=[_, _, _, *_], ctx=ast.Load()):
            del other.elts[-1]
            yield ast.unparse(other), "value left out"
        case _:
            return


def _in_template(text: str) -> Iterator[Change]:
    bare = re.sub(r"(?s)\{#.*?#\}", lambda found: " " * len(found[0]), text)
    for found in re.finditer(r"\{\{-? (?!.*?csrf)(.+?) -?\}\}", bare):
        yield Change(found.start(1), found.end(1), "''", "value left out")
    for found in re.finditer(r"\{%-? (?:el)?if (.+?) -?%\}", bare):
        yield Change(found.start(1), found.end(1), f"not ({found[1]})", "condition turned")
    members = list(re.finditer(r"(?<![\w.'])([a-z]\w+)\.([a-z]\w+)\b(?!\()", bare))
    for found in members:
        others = [one[2] for one in members if one[1] == found[1] and one[2] != found[2]]
        if others and found[1] not in ("ui", "loop", "request"):
            yield Change(found.start(2), found.end(2), others[0], "another member")


_IN_SCRIPTS = (
    (r"===", "!==", "comparison turned"),
    (r"!==", "===", "comparison turned"),
    (r"&&", "||", "and or or"),
    (r"\|\|", "&&", "and or or"),
    (r"\btrue\b", "false", "truth turned"),
    (r"\bfalse\b", "true", "truth turned"),
    (r"(?m)^ +[\w.?]+\([^\n]*\);$", ";", "call left out"),
    (r"(?<=if \()!", "", "not left out"),
)


def _in_script(text: str) -> Iterator[Change]:
    bare = re.sub(r"(?m)//.*$", lambda found: " " * len(found[0]), text)
    for pattern, new, what in _IN_SCRIPTS:
        for found in re.finditer(pattern, bare):
            yield Change(found.start(), found.end(), new, what)


class Watched:
    """Which tests to try a change with, by what they were seen to run (`tools/reach.py`)."""

    def __init__(self, reached: list[Reached], root: Path = ROOT, seconds: float = _SECONDS) -> None:
        self._root, self._seconds = root, seconds
        self._files = {_file(test) for test in reached}
        self._by_path: dict[str, list[Reached]] = {}
        for test in reached:
            for path in {path for path, _ in test.calls}:
                self._by_path.setdefault(path, []).append(test)

    def is_called(self, mutant: Mutant) -> bool:
        """Whether a test calls the changed function; others run only while a module is imported, and a template is none."""
        function = _function_at(mutant, self._root)
        return any((mutant.path, function) in test.calls for test in self._by_path.get(mutant.path, ()))

    def for_(self, mutant: Mutant) -> list[str]:
        """Return the tests that run the function of a change, or its file where no function does; the likeliest first.

        They are chosen so that together they take no longer than `seconds`.
        """
        near = _nearest(mutant.path, self._root)
        function = _function_at(mutant, self._root)
        reaching = self._by_path.get(mutant.path, [])
        inside = [test for test in reaching if (mutant.path, function) in test.calls] or reaching
        inside = [
            one for one in inside if one.seconds < _SLOW or _file(one) in (*near, *_WHOLE_PAGES)
        ] or inside

        quick = sorted((one for one in inside if one.seconds < _QUICK), key=lambda one: len(one.calls))
        spent = itertools.accumulate(one.seconds for one in quick)
        narrow = {one.test for one, until in zip(quick, spent, strict=True) if until < self._seconds / 6}

        def likelihood(test: Reached) -> tuple[int, bool, int, int]:
            file = _file(test)
            part = test.test.rpartition("[")[2].removesuffix("]")
            order = _WHOLE_PAGES.index(file) if file in _WHOLE_PAGES else 0
            kinds = (
                file in near and test.seconds < _QUICK,
                test.test in narrow,
                file in _WHOLE_PAGES,
                file in near,
                file.startswith("tests/pages"),
                True,
            )
            return kinds.index(True), f"/{part}/" not in f"/{mutant.path}", order, len(test.calls)

        chosen: list[str] = []
        seconds = 0.0
        for test in sorted(inside, key=likelihood):
            if (seconds := seconds + test.seconds) > self._seconds and chosen:
                break
            chosen.append(test.test)
        more = [
            test
            for folder, group in _MORE_TESTS.items()
            if mutant.path.startswith(folder) and not function
            for test in group
        ]
        unwatched = [file for file in near if file not in self._files]
        return [*more, *chosen, *(unwatched[:3] if chosen else [*near[:12], _WHOLE_PAGES[0]])]


def _file(test: Reached) -> str:
    return test.test.partition("::")[0]


def _function_at(mutant: Mutant, root: Path) -> str:
    """The qualified name of the innermost function around a change, as Python has it; "" outside of any."""
    if not mutant.path.endswith(".py"):
        return ""
    parts: list[str] = []
    function = ""
    within: ast.AST = ast.parse((root / mutant.path).read_text(encoding="utf-8"))
    while inner := next(
        (node for node in ast.walk(within) if node is not within and _holds(node, mutant.line)), None
    ):
        parts.append(inner.name)
        if isinstance(inner, ast.FunctionDef):
            function = ".".join(parts)
            parts.append("<locals>")
        within = inner
    return function


def _holds(node: ast.AST, line: int) -> TypeGuard[ast.FunctionDef | ast.ClassDef]:
    """Whether a function or class has this line, its decorators with it."""
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return False
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return first <= line <= (node.end_lineno or 0)


def _nearest(path: str, root: Path = ROOT) -> list[str]:
    """The test files that bear a file's name, its own first, or speak of it, then those of its folder (`tests/views/storage`)."""
    file = Path(path).parent if path.endswith("/__init__.py") else Path(path)
    names = (path, file.with_suffix("").as_posix().replace("/", "."))
    tests = sorted((root / "tests").rglob("test_*.py"))
    named = [
        test
        for test in tests
        if test.stem.removeprefix("test_").startswith(file.stem.strip("_"))
        or any(name in test.read_text(encoding="utf-8") for name in names)
    ]
    folder = root.joinpath("tests", *file.parts[1:-1])
    named.sort(key=lambda test: (test.stem != f"test_{file.stem}", test.parent != folder))
    beside = [test for test in tests if test.parent == folder and len(file.parts) > _OWN_FOLDER]
    return [test.relative_to(root).as_posix() for test in dict.fromkeys([*named, *beside])]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("--minutes", type=float, default=120, help="stop after so many; the next run goes on")
    parser.add_argument("--week", default=week_of(datetime.now(UTC)), help="the seed, such as 2026-W48")
    parser.add_argument("--again", action="store_true", help="try what survived again, with more tests")
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    os.nice(10)
    mutants = drawn(given.week)
    tree = copied()
    watched = _watched(tree, given.week)
    kept = _WORK / f"chance-{given.week}.json"
    outcomes: dict[str, str] = json.loads(kept.read_text()) if kept.exists() else {}
    with fork_server(tree, _COLD), fork_server(tree, _WARM, _WHOLE_PAGES[:1]):
        there = collected(tree, _WARM)  # a run of one that was there when they were watched would fail
        seconds = _SECONDS_AGAIN if given.again else _SECONDS
        tests = Watched([test for test in watched if test.test in there], seconds=seconds)
        for mutant in in_turns(mutants):
            if until <= time.monotonic():
                break
            key = json.dumps(asdict(mutant))
            if key not in outcomes or (given.again and outcomes[key] == "survived"):
                before = time.monotonic()
                outcomes[key] = _tried(tree, mutant, tests)
                kept.write_text(json.dumps(outcomes, indent=1))
                took = f"{time.monotonic() - before:.0f} s"
                print(outcomes[key], mutant.path, mutant.line, mutant.change.what, took, flush=True)
    found = [(mutant, outcomes.get(json.dumps(asdict(mutant)), "")) for mutant in mutants]
    found = [
        (mutant, "equivalent" if outcome == "survived" and why_equivalent(mutant) else outcome)
        for mutant, outcome in found
    ]
    before, _, _ = TABLE.read_text(encoding="utf-8").partition(BY_CHANCE)
    TABLE.write_text(before.rstrip() + "\n\n" + section(given.week, found), encoding="utf-8")
    return 0


def _watched(tree: Path, week: str) -> list[Reached]:
    """What the tests run: watched once in a week, all of them but the browser's."""
    kept = _WORK / f"reach-{week}"
    if not kept.exists():
        command = (
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "tools.reach",
            "-n",
            "auto",
            "--dist",
            "loadfile",
        )
        subprocess.run([*command, "--ignore", "tests/browser"], cwd=tree, check=False)
        shutil.move(tree / FOLDER.relative_to(ROOT), kept)
    return read(kept)


def _tried(tree: Path, mutant: Mutant, watched: Watched) -> str:
    """Whether the tests notice this: "noticed", "survived"; "none" if it can't be told, as its tests fail anyway."""
    if not (tests := watched.for_(mutant)):
        return "survived"
    file = tree / mutant.path
    text = file.read_text(encoding="utf-8")
    _BEFORE.write_text(text, encoding="utf-8")
    is_python = file.suffix == ".py"
    server = _COLD if is_python and not watched.is_called(mutant) else _WARM
    try:
        file.write_text(mutant.change.made_in(text), encoding="utf-8")
        change = [str(file), str(_BEFORE)] if is_python and server is _WARM else []
        if (status := _run(tree, server, tests, change)) == NOT_MADE:
            server = _COLD
            status = _run(tree, server, tests)
        if status == 0:
            return "survived"
    finally:
        file.write_text(text, encoding="utf-8")
    failed = [test] if (test := failed_test(server)) else tests
    if not _sound.issuperset(failed):
        if _run(tree, server, failed) != 0:
            return "none"
        _sound.update(failed)
    return "noticed"


_sound: set[str] = set()
"""Tests that pass without a change, too."""


def _run(tree: Path, server: Path, tests: list[str], change: Sequence[str] = ()) -> int:
    """Return the tests' exit status; 1 also if they take too long."""
    try:
        command = command_for(server, tests, change)
        return subprocess.run(command, cwd=tree, check=False, timeout=_TIMEOUT).returncode
    except subprocess.TimeoutExpired:
        return 1


def why_equivalent(mutant: Mutant) -> str:
    """Return why no test can see this change, as `mutants.toml` has it; "" if one could."""
    known = (
        one.why
        for one in equivalents()
        if mutant.path.startswith(one.module)
        and one.line in mutant.text
        and one.operator == mutant.change.what
    )
    return next(known, "")


def section(week: str, found: list[tuple[Mutant, str]]) -> str:
    """Return the document's part: a row for each area, and what survived."""
    lines = [
        BY_CHANCE,
        "",
        f"{len(found)} small slips in `portal/`, `templates/` and `static/scripts/`, drawn by chance with the seed {week} "
        f"(`tools/random_mutants.py`); {sum(bool(outcome) for _, outcome in found)} were tried, each with "
        "the nearest of the tests that run the changed function, and further ones while together they usually take no longer "
        f"than {_SECONDS:.0f} seconds; `--again` tries what survived with up to {_SECONDS_AGAIN:.0f}. The whole suite may notice more.",
        "",
        "| Area | Drawn | Tried | Noticed | Rate |",
        "| --- | --- | --- | --- | --- |",
    ]
    for area in (*AREAS, "all"):
        here = [outcome for mutant, outcome in found if area in ("all", area_of(mutant.path))]
        tried = [outcome for outcome in here if outcome in ("noticed", "survived")]
        noticed = tried.count("noticed")
        rate = f"{noticed / len(tried):.0%}" if tried else "–"
        lines.append(f"| {area} | {len(here)} | {len(tried)} | {noticed} | {rate} |")
    lines += ["", "Survived:", ""]
    lines += [
        f"- `{mutant.path}` line {mutant.line}, `{mutant.text}`: {mutant.change.what}"
        for mutant, outcome in found
        if outcome == "survived"
    ] or ["- None."]
    same = [
        f"- `{mutant.path}` line {mutant.line}, `{mutant.text}`: {mutant.change.what}: {why_equivalent(mutant)}"
        for mutant, outcome in found
        if outcome == "equivalent"
    ]
    return "\n".join([*lines, *(["", "Equivalent, and not counted:", "", *same] if same else [])]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
