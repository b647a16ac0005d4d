"""A clinic's staff, all behind one address, sign in as their shift begins."""

from __future__ import annotations

from collections import Counter

from portal.config.settings import Settings
from tests.support.stack import CareService, PortalThread


def test_a_hundred_people_at_one_address_can_begin_to_sign_in_within_a_minute(service: CareService) -> None:
    default = Settings.__dataclass_fields__["limit_sign_in"].default
    portal = PortalThread(service.plan, PORTAL_LIMIT_SIGN_IN=str(default))
    answers = Counter(
        portal.visitor().request("GET", "/sign-in", status=None, follow=False).status for _ in range(100)
    )
    forged = Counter(
        portal.visitor().request("GET", "/sign-in/callback?state=x&code=y", status=None).status
        for _ in range(100)
    )
    portal.stop()
    assert (answers, forged) == ({303: 100}, {400: 100})
