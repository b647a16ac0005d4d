"""Writes what was measured into docs/performance.md, between two comments that name the measurement."""

from __future__ import annotations

from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "performance.md"


def keep(name: str, text: str) -> None:
    """Write `text` (Markdown) in place of what the last run of `make NAME` wrote."""
    begin, end = f"<!-- {name}: written by make {name} -->", f"<!-- end of {name} -->"
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    DOCUMENT.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
