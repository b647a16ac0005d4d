"""Members that may not be given are named as the records name them."""

from __future__ import annotations

import re
from pathlib import Path

import portal
from portal.connect.dialects.named_records import records
from portal.services.members import members_of
from portal.web import not_given


def test_every_member_that_only_a_module_shows_is_one() -> None:
    for name in (name for names in not_given._MEMBERS.values() for name in names):
        record, _, member = name.partition(".")
        assert member in ("", *(one.name for one in members_of(records()[record]))), name


def test_every_member_that_is_asked_for_is_one_of_a_record() -> None:
    root = Path(portal.__file__).parents[1]
    for file in (*root.glob("templates/**/*.html"), *root.glob("portal/**/*.py")):
        for asked in re.findall(r"\bnot_given\(([^()]*)\)", file.read_text(encoding="utf-8")):
            for record, member in re.findall(r"""['"](\w+)\.(\w+)['"]""", asked):
                assert member in {one.name for one in members_of(records()[record])}, (
                    f"{file}: {record}.{member}"
                )
