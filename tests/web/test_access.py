"""Access: every address refuses people without the right to open or change it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from portal.careservice.ids import sample_id
from portal.config.tenants import Side
from portal.web.guard import access_of
from tests.support.stack import PortalThread
from tests.web.test_headers import routes

STAFF = {
    "nora": "nurse",
    "victor": "physician",
    "elif": "embryologist",
    "colin": "coordinator",
    "ada": "admin",
}
REFUSED = "Your role at this clinic doesn’t include this page or this action."


def closed_to(portal: PortalThread, side: Side, role: str) -> Iterator[tuple[str, str]]:
    """Method and path of all that these people may not open or change."""
    for method, path, endpoint in routes(portal):
        mark = access_of(portal.app.view_functions[endpoint])
        if mark and (side not in mark.sides or (mark.roles is not None and role not in mark.roles)):
            yield method, path


@pytest.mark.parametrize("name", ["amelia", *STAFF])
@pytest.mark.asvs("8.2.1", "8.3.1")
def test_every_address_refuses_people_without_access(portal: PortalThread, name: str) -> None:
    visitor = portal.sign_in(name)
    side = Side.STAFF if name in STAFF else Side.PATIENT
    closed = list(closed_to(portal, side, STAFF.get(name, "patient")))
    assert len(closed) >= 5
    token = visitor.csrf_token()
    for method, path in closed:
        data = {"csrf_token": token} if method == "POST" else None
        answer = visitor.request(method, path, data=data, status=None, follow=False)
        assert (answer.status, REFUSED in answer.words) == (403, True), f"{method} {path}: {answer.status}"


WRITERS = {"nora", "victor", "colin", "ada"}
EXPECTED = {
    "/consents/new": WRITERS,
    "/consents/new/bundle": WRITERS,
    "/protocols/new": {"nora", "victor"},
    "/day-sheet": {"nora", "victor", "elif"},
    "/find": set(STAFF),
    "/open": set(STAFF),
    "/patients/{id}/edit": WRITERS,
    "/emr-endpoints/{id}/remove": {"ada"},
    "/prospects/{id}/merge": {"nora", "colin", "ada"},
    "/prospects/{id}/book": {"nora", "colin", "ada"},
    "/prospects/{id}/book-link": {"nora", "colin", "ada"},
    "/cases/{id}/edit": WRITERS,
    "/directories": set(STAFF),
    "/directories/{id}/move": set(STAFF),
    "/protocols/{id}/edit": {"nora", "victor"},
    "/relationships/{id}/remove": {*WRITERS, "amelia"},
    "/clinic-system": {"ada"},
}
"""Who may open what, written down by hand from the care API specification's roles and not from the code's marks."""


@pytest.mark.parametrize("name", ["amelia", *STAFF])
@pytest.mark.asvs("8.2.1", "8.3.1")
def test_each_staff_page_is_open_to_the_expected_roles(portal: PortalThread, name: str) -> None:
    visitor = portal.sign_in(name)
    for path, allowed in EXPECTED.items():
        address = path.replace("{id}", sample_id("none", "at all"))
        answer = visitor.request("GET", address, status=None, follow=False)
        assert (answer.status == 403 and REFUSED in answer.words) is (name not in allowed), f"{name} {path}"


CHANGED_BY = {
    "/cases/{id}/edit": WRITERS,
    "/consents/new": WRITERS,
    "/consents/{id}/revoke": {"amelia", *STAFF},
    "/consents/{id}/sign/confirm": {"amelia", *STAFF},
    "/directories/{id}/move": set(STAFF),
    "/emr-endpoints/{id}/remove": {"ada"},
    "/me": {"amelia"},
    "/patients/{id}/edit": WRITERS,
    "/prospects/{id}/book": {"nora", "colin", "ada"},
    "/prospects/{id}/book-link": {"nora", "colin", "ada"},
    "/prospects/{id}/merge": {"nora", "colin", "ada"},
    "/prospects/{id}/merge/confirm": {"nora", "colin", "ada"},
    "/protocols/days": {"nora", "victor"},
    "/protocols/new": {"nora", "victor"},
    "/protocols/new/create": {"nora", "victor"},
    "/protocols/{id}/back": {"nora", "victor"},
    "/protocols/{id}/edit": {"nora", "victor"},
    "/protocols/{id}/review": {"nora", "victor"},
    "/protocols/{id}/save": {"nora", "victor"},
    "/protocols/{id}/status": {"nora", "victor"},
    "/relationships/{id}/remove": {*WRITERS, "amelia"},
    "/storage/{id}": {"victor", "elif"},
    "/storage/{id}/second-person": {"victor", "elif"},
    "/storage/{id}/second-person/stop": {"victor", "elif"},
    "/storage/{id}/keep": {"amelia"},
}
"""Who may change what, written down by hand too."""


@pytest.mark.parametrize("name", ["amelia", *STAFF])
@pytest.mark.asvs("8.2.1", "8.3.1")
def test_each_form_is_open_to_the_expected_roles(portal: PortalThread, name: str) -> None:
    visitor = portal.sign_in(name)
    data = {"csrf_token": visitor.csrf_token()}
    for path, allowed in CHANGED_BY.items():
        address = path.replace("{id}", sample_id("none", "at all"))
        answer = visitor.request("POST", address, data=data, status=None, follow=False)
        assert answer.status < 500, f"{name} {path}: {answer.status}"
        assert (answer.status == 403 and REFUSED in answer.words) is (name not in allowed), f"{name} {path}"


def test_every_role_that_a_mark_names_is_tried(portal: PortalThread) -> None:
    marks = [mark for view in portal.app.view_functions.values() if (mark := access_of(view))]
    assert {role for mark in marks for role in mark.roles or ()} == set(STAFF.values())
