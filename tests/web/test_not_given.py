"""What only a module shows is named as the records name it."""

from __future__ import annotations

from portal.connect.dialects.shapes import records
from portal.services.members import members_of
from portal.web import not_given


def test_every_member_that_only_a_module_shows_is_one() -> None:
    for name in (name for names in not_given._MEMBERS.values() for name in names):
        record, _, member = name.partition(".")
        assert member in ("", *(one.name for one in members_of(records()[record]))), name
