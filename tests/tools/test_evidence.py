"""The table of evidence covers every requirement."""

from __future__ import annotations

import re

from tools.evidence import KINDS, TESTS, marks, requirements


def test_each_asvs_requirement_has_a_test_or_a_reason() -> None:
    rows = requirements()
    assert [row.id for row in rows if not row.tests and not row.reason] == []
    assert {row.reason.partition(":")[0] for row in rows if row.reason} <= set(KINDS)


def test_every_requirement_of_the_two_levels_is_listed() -> None:
    """ASVS 5.0.0 has 70 requirements of level 1 and 183 of level 2."""
    rows = requirements()
    assert len({row.id for row in rows}) == len(rows) == 253
    assert [sum(row.level == level for row in rows) for level in (1, 2)] == [70, 183]


def test_asvs_marks_name_existing_requirements() -> None:
    assert set(marks()) <= {row.id for row in requirements()}


def test_reasons_refer_to_existing_sections() -> None:
    for row in requirements():
        for file, part in re.findall(r"(README|SECURITY\.md), ([A-Z][\w ]+)", row.reason):
            document = TESTS.parent / (f"{file}.md" if file == "README" else file)
            assert f"## {part.partition(' and ')[0].strip()}" in document.read_text(encoding="utf-8"), (
                f"{row.id}: {part}"
            )
