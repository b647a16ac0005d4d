"""A treatment's plans besides the one that its record holds: their doses are told with those of that one."""

from __future__ import annotations

from portal.config.modules import Module
from portal.services.client import Care
from portal.services.errors import CareError, NotAllowed, NotFound, NotOffered
from portal.services.gather import attempt
from portal.services.listed import Listed
from portal.services.protocols import Protocol, list_begun_plans, list_plans_of
from portal.web import modules


def read_plans(care: Care) -> Listed[Protocol]:
    """A patient's plans but drafts; none where the API keeps them from patients, and not whole where they can't be read."""
    if Module.MEDICINES in modules.off():
        return Listed[Protocol]()
    plans = attempt(lambda: list_begun_plans(care))
    if isinstance(plans, CareError):
        return Listed[Protocol](is_whole=isinstance(plans, NotAllowed | NotFound | NotOffered))
    return plans


def read_plans_of(care: Care, episode_id: str) -> Listed[Protocol] | CareError:
    """The plans that go on in a treatment, also the one that its record holds, or why they couldn't be read; none where the API
    keeps them from the reader."""
    if Module.MEDICINES in modules.off():
        return Listed[Protocol]()
    plans = attempt(lambda: list_plans_of(care, episode_id))
    return Listed[Protocol]() if isinstance(plans, NotAllowed | NotFound | NotOffered) else plans
