"""No test uses the system's resolver for a clinic's host name."""

from __future__ import annotations

import socket

import pytest
import requests

from tests.support.resolver import CLINIC, AskedTheSystem, report
from tests.support.stack import PortalThread


@pytest.mark.parametrize(
    "ask",
    [
        lambda: socket.getaddrinfo(CLINIC, 80),
        lambda: socket.create_connection((f"{CLINIC}.", 80)),
        lambda: socket.gethostbyname(CLINIC.upper()),
        lambda: requests.get(f"http://{CLINIC}:8000/", timeout=2),
    ],
    ids=["getaddrinfo", "create_connection", "gethostbyname", "requests"],
)
def test_resolving_a_clinics_host_name_by_the_system_is_refused(system_resolver: list[str], ask) -> None:
    with pytest.raises(AskedTheSystem):
        ask()
    assert [name.lower().rstrip(".") for name in system_resolver] == [CLINIC]
    system_resolver.clear()  # otherwise the fixture would fail this test


def test_other_names_are_resolved_normally(system_resolver: list[str]) -> None:
    assert socket.getaddrinfo("localhost", 80)
    assert system_resolver == []


def test_a_visitor_needs_no_system_resolver(portal: PortalThread) -> None:
    assert portal.visitor("harbour").get("/signed-out").status == 200


def test_the_report_says_whether_the_system_resolves_the_host_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [])
    assert report() == f"{CLINIC} is resolved by this system; the suite doesn't need it"

    def unknown(*_: object) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert report() == f"{CLINIC} is not resolved by this system; the suite doesn't need it"
