"""The generated documents say what the code says."""

from __future__ import annotations

import pytest

from tools.definitions import ROOT
from tools.documents import DOCUMENTS


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_generated_document_is_up_to_date(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == DOCUMENTS[name](), f"{name}: run `make documents`"
