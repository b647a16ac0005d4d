"""PDFs are made here as they are on a server: each by a Python of its own."""

from __future__ import annotations

import pytest

from tests.support import forked


@pytest.fixture(autouse=True)
def _as_deployed(monkeypatch: pytest.MonkeyPatch) -> None:
    forked.print_as_deployed(monkeypatch)
