"""The clinic by which the server shares out its threads: the one that the application will find by the same host."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.web.routing import tenant_of
from tests.support.clock import Clock
from tests.support.in_process import InProcess

RIVERSIDE, HARBOUR, PROXY = "riverside.localhost", "harbour.localhost", "10.0.0.1"


@pytest.mark.parametrize(
    ("hops", "cases"),
    [
        (
            "0",
            [
                (RIVERSIDE, None, "riverside"),
                (RIVERSIDE.upper(), None, "riverside"),
                ("elsewhere.example", None, ""),
                (None, None, ""),
                (RIVERSIDE, HARBOUR, "riverside"),
            ],
        ),
        (
            "1",
            [
                (RIVERSIDE, None, "riverside"),
                (PROXY, RIVERSIDE, "riverside"),
                (PROXY, f"{HARBOUR}, {RIVERSIDE}", "riverside"),
            ],
        ),
        ("2", [(PROXY, f"{RIVERSIDE}, 10.0.0.2", "riverside"), (RIVERSIDE, PROXY, "riverside")]),
    ],
)
def test_a_requests_clinic_is_known_before_the_application_sees_it(
    tmp_path: Path, clock: Clock, hops: str, cases: list[tuple[str | None, str | None, str]]
) -> None:
    find = tenant_of(InProcess(tmp_path, clock, PORTAL_PROXY_HOPS=hops).app)
    assert find is not None
    for host, forwarded, key in cases:
        fields = {"HTTP_HOST": host, "HTTP_X_FORWARDED_HOST": forwarded}
        environ = {name: value for name, value in fields.items() if value is not None}
        assert find(environ) == key, (host, forwarded)
