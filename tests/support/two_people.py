"""A clinic that asks for a second person, and a form that allows a move to both of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from portal.demo.stack import DemoSetup
from tests.support.stack import PortalThread


@contextmanager
def second_person_asked(portal: PortalThread) -> Generator[None]:
    """Riverside asks for a second person meanwhile."""
    tenants = portal.context.settings.tenants
    tenant = tenants.by_key["riverside"]

    def use(changed: object) -> None:
        tenants.by_key["riverside"] = changed
        tenants.by_host.update(dict.fromkeys(tenant.hosts, changed))

    use(replace(tenant, second_person_for_embryos=True))
    try:
        yield
    finally:
        use(tenant)


def signed_by(plan: DemoSetup, form: str, sub: str = "another") -> None:
    """Let the clinic's signature on the form be this person's; by default, of somebody who makes no moves."""
    with sqlite3.connect(plan.data / "care.db", timeout=10) as database:
        database.execute(
            "UPDATE consent_signatures SET person_id = ? WHERE form_id = ? AND role IN ('Clinician', 'Witness')",
            (sub, form),
        )
