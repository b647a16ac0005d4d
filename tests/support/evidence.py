"""Which test proves which requirement of OWASP ASVS 5.0 (levels 1 and 2), read from the marks on the tests.

`make evidence` writes tests/ASVS.md from the marks (`@pytest.mark.asvs("3.4.1")`) and from `asvs.csv`, which holds the
requirements in words of our own and, where no test stands for the whole of one, the reason; and tests/ACCESS.md.
"""

from __future__ import annotations

import ast
import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
TABLE = TESTS / "ASVS.md"
_LIST = Path(__file__).with_name("asvs.csv")
KINDS = {
    "none": "don't apply",
    "code": "by the way it is built, without a test of its own",
    "document": "in a document",
    "operator": "up to who runs the portal",
    "identity": "up to the identity server",
    "api": "up to the care API",
    "gap": "not met, or not wholly",
}
_CHAPTERS = {
    1: "Encoding and sanitization",
    2: "Validation and business logic",
    3: "Web frontend",
    4: "API and web service",
    5: "File handling",
    6: "Authentication",
    7: "Session management",
    8: "Authorization",
    9: "Self-contained tokens",
    10: "OAuth and OpenID Connect",
    11: "Cryptography",
    12: "Secure communication",
    13: "Configuration",
    14: "Data protection",
    15: "Secure coding and architecture",
    16: "Security logging and error handling",
    17: "WebRTC",
}
_HEAD = """# Evidence: OWASP ASVS 5.0, level 2

Written by `make evidence` from the marks on the tests (`@pytest.mark.asvs`) and from `tests/support/asvs.csv`; a test
fails when it is out of date, or when a requirement has neither a test nor a reason. Numbers and levels are those of the
[OWASP Application Security Verification Standard 5.0.0](https://github.com/OWASP/ASVS) (CC BY-SA 4.0); the words are
short paraphrases, so read a requirement there. The table is about the portal alone: the embedded care service is for
demos and sandboxes. A test's name says what it shows, not all that the requirement may mean to you. Where a reason stands
before tests, they show the portal's part alone, and the row isn't counted among those held by tests.
"""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One row: its id, its level (1 or 2), what it asks, and why there is no (whole) test; tests as `file::name`."""

    id: str
    level: int
    asks: str
    reason: str
    tests: tuple[str, ...]

    @property
    def kind(self) -> str:
        """One of KINDS; or "test", when the tests leave nothing to anyone else."""
        return self.reason.partition(":")[0] or "test"


def requirements() -> list[Requirement]:
    """Return every requirement of levels 1 and 2 in the standard's order."""
    proved = marks()
    with _LIST.open(newline="", encoding="utf-8") as stream:
        return [
            Requirement(
                row["id"], int(row["level"]), row["requirement"], row["reason"], tuple(proved[row["id"]])
            )
            for row in csv.DictReader(stream)
        ]


def marks() -> defaultdict[str, list[str]]:
    """Return the tests that each id is marked on."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                for id_ in _ids(node):
                    found[id_].append(f"{file.relative_to(TESTS).as_posix()}::{node.name}")
    return found


def _ids(node: ast.FunctionDef) -> Iterator[str]:
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.asvs":
            yield from (ast.literal_eval(argument) for argument in decorator.args)


def table() -> str:
    """Return the document."""
    rows = requirements()
    counted = Counter(row.kind for row in rows)
    lines = [_HEAD, f"Of {len(rows)} requirements:", "", f"- {counted['test']} are held by tests"]
    lines += [f"- {counted[kind]} {words}" for kind, words in KINDS.items()]
    for chapter, title in _CHAPTERS.items():
        lines += [
            "",
            f"## V{chapter} {title}",
            "",
            "| | Level | Requirement | Held by |",
            "| --- | --- | --- | --- |",
        ]
        lines += [
            f"| {row.id} | {row.level} | {row.asks} | {_held_by(row)} |"
            for row in rows
            if int(row.id.partition(".")[0]) == chapter
        ]
    return "\n".join(lines) + "\n"


def _held_by(row: Requirement) -> str:
    tests = ", ".join(_linked(test) for test in row.tests)
    kind, _, words = row.reason.partition(":")
    reason = f"**{kind}**: {words.strip()}" if row.reason else ""
    return "; ".join(part for part in (reason, tests) if part)


def _linked(test: str) -> str:
    file, _, name = test.partition("::")
    return f"[{name.removeprefix('test_').replace('_', ' ')}]({file})"


if __name__ == "__main__":
    from tests.support import access
    from tests.support.coverage_table import application

    TABLE.write_text(table(), encoding="utf-8")
    access.TABLE.write_text(access.table(application()), encoding="utf-8")
    print(f"{TABLE}: {sum(row.kind == 'test' for row in requirements())} requirements are held by tests")
    sys.exit(0)
