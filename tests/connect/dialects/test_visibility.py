"""The list of staff-only members matches the list of members that pages show."""

from __future__ import annotations

from portal.connect.dialects.named_records import all_marked
from portal.services.uses import Mark
from tests.support.allowed_members import PATIENTS, STAFF, members

SHOWN_TO_PATIENTS_OTHERWISE = {
    "Directory.concurrencyStamp",  # a stamp reveals nothing
    "Protocol.concurrencyStamp",
    "PgtBrief.embryoCode",  # patients see it on the embryo
    "PgtResult.embryoCode",
}


def test_the_staff_only_members_match_those_the_pages_show_only_to_staff() -> None:
    def shown(pages: dict[str, str]) -> set[str]:
        return {name for row in pages.values() for name in members(row, for_staff=pages is STAFF)}

    staffs = {
        name
        for name in shown(STAFF) - shown(PATIENTS) - SHOWN_TO_PATIENTS_OTHERWISE
        if name[0].isupper() and not name.startswith("Notification.data.")
    }
    assert all_marked(Mark.STAFF) - {"EmbryoStorage.location"} == staffs
