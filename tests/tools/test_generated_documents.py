"""The generated documents say what the code says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import documents


@pytest.mark.parametrize("name", documents.WITH_EACH_CHANGE)
def test_a_document_that_is_edited_too_is_up_to_date(name: str) -> None:
    assert not documents.outdated({name: documents.DOCUMENTS[name]}), f"{name}: run `make documents`"


def test_a_release_is_refused_while_a_document_is_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(documents, "ROOT", tmp_path)
    monkeypatch.setattr(documents, "DOCUMENTS", {name: lambda: "now\n" for name in ("a.md", "b.md")})
    (tmp_path / "a.md").write_text("then\n")
    (tmp_path / "b.md").write_text("now\n")
    monkeypatch.setattr(sys, "argv", ["documents", "--check"])
    assert documents.main() == 1
    assert capsys.readouterr().err.startswith("a.md isn't what the code says")
    monkeypatch.setattr(sys, "argv", ["documents"])
    assert documents.main() == 0
    assert (tmp_path / "a.md").read_text() == "now\n"


def test_the_documents_for_a_release_are_made_from_the_code() -> None:
    assert all(written() for written in documents.AT_RELEASE.values())
