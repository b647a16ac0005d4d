"""The clinic by which the server shares out its threads: the one that the application will find by the same host."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.web.routing import tenant_of
from tests.support.clock import Clock
from tests.support.in_process import InProcess

RIVERSIDE = "riverside.localhost"


@pytest.mark.parametrize(
    ("hops", "environ", "key"),
    [
        ("0", {"HTTP_HOST": RIVERSIDE}, "riverside"),
        ("0", {"HTTP_HOST": RIVERSIDE.upper()}, "riverside"),
        ("0", {"HTTP_HOST": "elsewhere.example"}, ""),
        ("0", {}, ""),
        ("0", {"HTTP_HOST": RIVERSIDE, "HTTP_X_FORWARDED_HOST": "harbour.localhost"}, "riverside"),
        ("1", {"HTTP_HOST": RIVERSIDE}, "riverside"),
        ("1", {"HTTP_HOST": "10.0.0.1", "HTTP_X_FORWARDED_HOST": RIVERSIDE}, "riverside"),
        (
            "1",
            {"HTTP_HOST": "10.0.0.1", "HTTP_X_FORWARDED_HOST": f"harbour.localhost, {RIVERSIDE}"},
            "riverside",
        ),
        ("2", {"HTTP_HOST": "10.0.0.1", "HTTP_X_FORWARDED_HOST": f"{RIVERSIDE}, 10.0.0.2"}, "riverside"),
    ],
)
def test_a_requests_clinic_is_known_before_the_application_sees_it(
    tmp_path: Path, clock: Clock, hops: str, environ: dict[str, str], key: str
) -> None:
    find = tenant_of(InProcess(tmp_path, clock, PORTAL_PROXY_HOPS=hops).app)
    assert find is not None
    assert find(environ) == key
