"""Flask's `g` itself, for what a page asks for hundreds of times: each look through the proxy finds it anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import g, request

request_g: Callable[[], Any] = g._get_current_object  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportPrivateUsage]
"""Return this request's `g`. Raises RuntimeError outside a request, as `g` does."""


def clinic() -> Any:
    """Return this request's clinic (`portal.config.tenants.Tenant`); None if it has none, or outside a request."""
    try:
        return getattr(request_g(), "tenant", None)
    except RuntimeError:
        return None


def is_seen_by_staff() -> bool:
    """Whether staff see a patient's page here as the patient does (`portal.web.as_patient`), where nothing can be done."""
    return "as_seen" in request_g()


def is_fetched_ahead() -> bool:
    """Whether a browser fetches a page that nobody may ever look at."""
    return "prefetch" in request.headers.get("Sec-Purpose", "")


def reader_is_staff() -> bool:
    """Whether the reader is staff, who have no clinic to ask or call; not while they see a patient's pages as the patient does."""
    person = getattr(request_g(), "person", None) or getattr(request_g(), "signed_in", None)
    return person is not None and person.is_staff
