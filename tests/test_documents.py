"""Files, headings and make targets that documents and code refer to exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stack import ROOT

DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("portal/**/*.md"),
        *ROOT.glob("templates/**/*.md"),
        *ROOT.glob("tests/*.md"),
    ]
)
CODE = sorted(
    path
    for folder in ("portal", "tests", "tools", "templates", "static")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".py", ".html", ".css", ".js", ".toml", ".conf"}
)
MADE = {"var/dev", "var/ledger", "messages.po", ".venv/bin/flask"}
"""What commands make, and a file that is named without its folder."""
HEADINGS = {"README": ROOT / "README.md", "SECURITY.md": ROOT / "SECURITY.md"}


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def headings(path: Path) -> set[str]:
    return {found.strip().casefold() for found in re.findall(r"^#+ (.+)$", text_of(path), re.MULTILINE)}


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_link_of_a_document_has_a_target(document: Path) -> None:
    dead: list[str] = []
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text_of(document)):
        file, _, fragment = target.partition("#")
        found = document.parent / file if file else document
        if not found.exists() or (fragment and fragment not in map(anchor, headings(found))):
            dead.append(target)
    assert not dead


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_path_in_a_document_exists(document: Path) -> None:
    named = re.findall(r"`((?:portal|tests|templates|static|docs|requirements)/[\w./-]*)`", text_of(document))
    assert not [
        path for path in named if not (ROOT / path).exists() and not (document.parent / path).exists()
    ]


def test_every_file_and_name_in_contributing_exists() -> None:
    text = text_of(ROOT / "CONTRIBUTING.md")
    files = re.findall(r"(?:`|F=\"?)([\w.-]+(?:/[\w.-]+)+|[\w-]+\.(?:py|md|toml))(?=[`\s])", text)
    named = re.findall(r"`(\w+)`\s+in\s+`([\w./-]+\.py)`", text)
    assert len(files) > 30
    assert len(named) > 8
    missing = [file for file in files if not ((ROOT / file).exists() or file in MADE)]
    missing += [
        f"{symbol} in {file}"
        for symbol, file in named
        if not re.search(
            rf"^(?:(?:class|def) {symbol}\b|{symbol}\b.* = )", text_of(ROOT / file), re.MULTILINE
        )
    ]
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_make_target_in_a_document_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", text_of(document))) <= targets


def references() -> Iterator[tuple[Path, str, str]]:
    """Each "SECURITY.md: sessions" and "docs/operations.md" in the code and the documents, with what it names."""
    for path in [*CODE, *DOCUMENTS]:
        if path == Path(__file__):
            continue
        text = re.sub(r"\s*\n\s*(?:#\s?)?", " ", text_of(path))
        for document, heading in re.findall(r"\b(README|SECURITY\.md)[:,] ([\w' -]{3,40})", text):
            yield path, document, heading.casefold()
        for document in re.findall(r"\bdocs/[\w/-]+\.md", text):
            yield path, document, ""


def test_every_referenced_document_and_heading_exists() -> None:
    dead: list[str] = []
    for path, document, heading in references():
        file = HEADINGS.get(document, ROOT / document)
        if not file.exists() or (heading and not any(heading.startswith(one) for one in headings(file))):
            dead.append(f"{name(path)}: {document} {heading}")
    assert not dead
