"""Two other vendors' APIs that misbehave while the portal runs: pages say what is missing, and state nothing that may be false."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from portal.http import transport
from portal.http.transfer import TransportError
from portal.services.api import AnyEndpoint
from portal.services.consents import LIST_CONSENTS
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.protocols import LIST_PROTOCOLS
from tests.pages.test_facts import PENDING, ROLES
from tests.pages.test_vendors import foreign, said, vendor
from tests.support.fake_api import FakeApi, samples
from tests.support.in_process import InProcess
from tests.support.vendors import Vendor, VendorsApi
from tests.support.vendors.vendor import FIRST_ID

__all__ = ["foreign", "vendor"]
ROWS = {
    LIST_CONSENTS: PENDING[LIST_CONSENTS]["items"][0],
    **{row: samples(row)["items"][0] for row in (LIST_CONVERSATIONS, LIST_NOTIFICATIONS, LIST_PROTOCOLS)},
}
PAGES = {
    ("amelia", "/consents"): ("Nothing to sign right now", "Waiting for others 5"),
    ("amelia", "/conversations"): ("There are no messages", "4505 unread messages\n"),
    ("amelia", "/notifications"): ("There are no notifications",),
    ("nora", "/consents?list=all"): ("\n5 forms\n", "\n1 form\n", "There are no forms"),
    ("nora", "/conversations"): ("Every conversation has been answered",),
    ("victor", "/protocols"): ("\n5 protocols\n", "\n1 protocol\n", "There are no protocols"),
    ("nora", "/"): (
        "Every conversation has been answered",
        "\n5 forms have been overdue",
        "Waiting for an answer 0",
    ),
}
"""What nobody may read on a page whose list isn't whole."""

MISSING = ("can’t be shown", "may be more", "isn’t complete", "at least", "newest", "on this page")
"""One of which is said instead."""


def rows_of(vendor: Vendor, answer: Any) -> dict[str, Any]:
    """Where a list's rows and count stand in an answer."""
    return answer["Konvolutt"]["Kropp"] if vendor.name == "fiord" else answer


def fails_on_page_2(vendor: Vendor) -> Callable[[AnyEndpoint, Any], Any]:
    seen: list[AnyEndpoint] = []

    def change(row: AnyEndpoint, answer: Any) -> Any:
        seen.append(row)
        if row in ROWS and seen.count(row) > 1:
            raise TransportError("timed out", sent=True)
        if row in ROWS:  # an API that cuts pages without a word
            names = rows_of(vendor, answer)
            key = "Rader" if vendor.name == "fiord" else "entry"
            names[key] = names[key][:2]
        return answer

    return change


def changed(change: Callable[[dict[str, Any], str, str], None]) -> Callable[[Vendor], Any]:
    """What does this to a list: its object, and the names of rows and count in it."""

    def made(vendor: Vendor) -> Callable[[AnyEndpoint, Any], Any]:
        rows, total = ("Rader", "Totalt") if vendor.name == "fiord" else ("entry", "total")

        def of_list(row: AnyEndpoint, answer: Any) -> Any:
            if row in ROWS:
                change(rows_of(vendor, answer), rows, total)
            return answer

        return of_list

    return made


def one_broken(names: dict[str, Any], rows: str, _total: str) -> None:
    for row in names.get(rows, ()):
        record = row.get("resource", row)
        for key in ("Id", "id"):
            if record.get(key) == FIRST_ID:
                del record[key]


MISBEHAVIOURS: dict[str, Callable[[Vendor], Any]] = {
    "its rows have another name now": changed(
        lambda names, rows, _total: names.update(neu=names.pop(rows, None))
    ),
    "its second page fails": fails_on_page_2,
    "it counts more than there are": changed(lambda names, _rows, total: names.update({total: 50})),
    "a record of many is broken": changed(one_broken),
}


@pytest.mark.parametrize("what", MISBEHAVIOURS)
def test_a_list_that_is_not_whole_says_so(
    foreign: InProcess, fake_api: FakeApi, vendor: Vendor, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for row, one in ROWS.items():
        named = {name for name in ("title", "subject", "name") if name in one}
        fake_api.gives(
            row, [{**one, "id": f"id-{900 + n}", **{name: f"{name} {n}" for name in named}} for n in range(5)]
        )
    for (who, path), never in PAGES.items():
        api = VendorsApi(fake_api, vendor)
        api.number("id-902")  # the one that breaks has the first number
        monkeypatch.setattr(transport, "send", api.send)
        visitor = foreign.visitor(who, ROLES.get(who, "patient"))
        visitor.http.get(visitor.origin + path)
        api.change = MISBEHAVIOURS[what](vendor)
        words = "\n".join(said(visitor.http.get(visitor.origin + path).text))
        is_counted = "1 record can’t be shown" in words  # and then the whole count is true
        said_wrongly = [one for one in never if one in words and not (is_counted and "\n5 " in one)]
        assert not said_wrongly, (path, words)
        if (path, what) != (
            "/notifications",
            "it counts more than there are",
        ):  # nothing shown there is a count
            assert any(one in words for one in MISSING), (path, words)
