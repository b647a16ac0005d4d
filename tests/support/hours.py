"""The hour that pages tell, so that what they say about doses and opening hours doesn't depend on when tests run."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from portal.context import Context, context
from portal.web import filters

_CLINIC = ZoneInfo("Europe/London")


@contextmanager
def pages_at(hour: int) -> Generator[None]:
    """Let pages of a portal in this process say that it is this hour, today, at the sample clinics.

    Sessions and tokens go on with the present: the care service's clock isn't moved.
    """
    at = datetime.now(_CLINIC).replace(hour=hour, minute=0, second=0).timestamp()

    def there() -> Context:
        return replace(context(), clock=lambda: at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filters, "context", there)
        yield
