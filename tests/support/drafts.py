"""Pages of drafts that the portal keeps while a record is being created."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from portal.careservice.ids import sample_id
from tests.support.signing import TREATMENT_OF_AMELIA
from tests.support.visitor import Visitor


def drafts(visitor: Visitor, name: str) -> Iterator[str]:
    """Pages of drafts that the portal keeps while a record is being created."""
    if name == "victor":
        form = visitor.get(f"/consents/new?template=treatment&episode={TREATMENT_OF_AMELIA}").form(
            "/consents/new/fill"
        )
        operation = dict(form.fields())["operation"]
        yield f"/consents/new/fill?operation={operation}"
        form.submit(
            title="Another",
            procedure_date=(date.today() + timedelta(days=30)).isoformat(),
            **{"signer-2": sample_id("person", "victor")},
        )
        yield f"/consents/new/preview?operation={operation}"
        form = visitor.get(f"/protocols/new?copy={sample_id('protocol', 'amelia')}").form("/protocols/new")
        operation = dict(form.fields())["operation"]
        form.submit(name="Another", episode=TREATMENT_OF_AMELIA, button=("do", "review"))
        yield f"/protocols/new/preview?operation={operation}"
        yield f"/protocols/new/back?operation={operation}"
