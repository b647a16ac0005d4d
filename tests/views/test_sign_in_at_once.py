"""A clinic's staff, all behind one address, sign in as their shift begins."""

from __future__ import annotations

from collections import Counter

from portal.config.settings import Settings
from portal.demo.stack import portal_environment, tenants_file
from tests.support.stack import CareService, PortalThread


def test_a_hundred_people_at_one_address_can_begin_to_sign_in_within_a_minute(service: CareService) -> None:
    tenants = service.plan.data / "tenants.toml"
    tenants.write_text(tenants_file(service.plan))
    default = Settings.from_env(portal_environment(service.plan, tenants)).limit_sign_in
    portal = PortalThread(service.plan, PORTAL_LIMIT_SIGN_IN=default)
    answers = Counter(
        portal.visitor().request("GET", "/sign-in", status=None, follow=False).status for _ in range(100)
    )
    forged = Counter(
        portal.visitor().request("GET", "/sign-in/callback?state=x&code=y", status=None).status
        for _ in range(100)
    )
    portal.stop()
    assert (answers, forged) == ({303: 100}, {400: 100})
