"""What asking an API taught about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from portal.connect.dialects.naming import STYLES


@dataclass(slots=True)
class Learned:
    """What asking taught. `parameters` has what answered as it should, by the portal's name for it; `untold` what didn't
    by any likely name; `untried` what the records at hand can't tell.

    `success` says by what answers may tell that they are refusals, though their status is a successful one.
    `false_empty` says that a wrong address was taken for an empty list. `statuses` maps the API's statuses to the specification's; `code_at` lists where an error may hold its code.
    """

    base_path: str = ""
    addresses: dict[str, str] = field(default_factory=dict[str, str])
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    untold: list[str] = field(default_factory=list[str])
    untried: list[str] = field(default_factory=list[str])
    paging: str = "offset"
    first_page: int = 1
    first_record: int = 0
    next: str | None = None
    largest_page: int | None = None
    sorting: str = "field desc"
    statuses: dict[int, int] = field(default_factory=dict[int, int])
    code_at: list[str] = field(default_factory=list[str])
    calls: int = 0
    false_empty: str | None = None
    success: str | None = None

    def style(self) -> str | None:
        """The naming style of the parameters; filters first, because paging parameters often have names of their own."""
        order = ("PatientId", "MaxResultCount", "SkipCount", "Filter", "Sorting")
        for ours in order:
            theirs = self.parameters.get(ours)
            fitting = [name for name, spell in STYLES.items() if spell(ours) == theirs]
            if len(fitting) == 1:
                return fitting[0]
        return None
