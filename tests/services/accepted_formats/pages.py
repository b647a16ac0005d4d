"""Signing in to either portal, and the count on its bell."""

from __future__ import annotations

from portal.careservice.ids import sample_id
from portal.demo.stack import PEOPLE
from tests.support.stack import PASSWORD, PortalThread
from tests.support.walks import Careful

AMELIAS = sample_id("episode", "amelia-1")
GRACES = sample_id("episode", "grace-2")
GRACE = sample_id("patient", "grace")


def sign_in(portal: PortalThread, name: str) -> Careful:
    visitor = Careful(portal.origin(next(key for key, people in PEOPLE.items() if name in dict(people))))
    visitor.password = PASSWORD
    visitor.sign_in(name)
    return visitor
