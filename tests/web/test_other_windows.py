"""A stranger's page learns nothing from the windows and frames that it opens (Fetch Metadata)."""

from __future__ import annotations

from typing import Any

import pytest

from portal.careservice.ids import sample_id
from tests.support.stack import PortalThread

POLLED = ("/notifications/bell", "/conversations/new")
FILE = f"/files/{sample_id('file', 'amelia-plan')}"


def metadata(dest: str, site: str) -> dict[str, str]:
    return {"Sec-Fetch-Dest": dest, "Sec-Fetch-Site": site}


@pytest.mark.parametrize("path", POLLED)
@pytest.mark.parametrize(
    "headers",
    [
        metadata("document", "cross-site"),
        metadata("document", "none"),
        metadata("iframe", "same-origin"),
        metadata("empty", "same-site"),
        {"Sec-Fetch-Dest": None},
    ],
)
def test_what_pages_ask_for_by_themselves_answers_to_no_window(
    amelia: Any, portal: PortalThread, path: str, headers: dict[str, Any]
) -> None:
    for visitor in (amelia, portal.visitor()):
        visitor.request("GET", path, status=404, headers=headers, follow=False)


@pytest.mark.parametrize("path", POLLED)
def test_what_pages_ask_for_by_themselves_answers_to_their_scripts(amelia: Any, path: str) -> None:
    for headers in (metadata("empty", "same-origin"), {"HX-Request": "true"}):
        assert amelia.request("GET", path, status=None, headers=headers, follow=False).status in (
            200,
            204,
            303,
        )


def test_files_and_pages_answer_to_no_frame_on_another_site(amelia: Any) -> None:
    for dest in ("iframe", "embed", "object"):
        for path in (FILE, f"{FILE}?download=1", f"{FILE}/preview", "/"):
            for site in ("cross-site", "same-site"):
                amelia.get(path, status=404, headers=metadata(dest, site))
    assert amelia.get(FILE, headers=metadata("iframe", "same-origin")).status == 200
    assert amelia.get(FILE, headers=metadata("document", "cross-site")).status == 200
