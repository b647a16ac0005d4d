"""A conversation whose sender isn't known for sure: staff read who it may be from, patients don't see it."""

from __future__ import annotations

import json

import pytest

from portal.careservice.ids import sample_id
from tests.support.stack import CareService
from tests.support.visitor import Visitor
from tests.views.conversations.threads import in_records

THREAD = sample_id("conversation", "unsure")


@pytest.fixture(autouse=True)
def _unsure(service: CareService) -> None:  # pyright: ignore[reportUnusedFunction]
    possible = [sample_id("patient", "amelia"), sample_id("patient", "grace")]
    values = (THREAD, sample_id("tenant", "riverside"), "+447700900182", json.dumps(possible))
    with in_records(service) as records:
        records.execute(
            "INSERT OR IGNORE INTO conversations (id, tenant_id, subject, folded_subject, channel, last_message_at,"
            " stranger, possible_sender_ids) VALUES (?, ?, 'A question', 'a question', 'Sms', datetime('now'), ?, ?)",
            values,
        )


def test_staff_are_told_who_it_may_be_from(nora: Visitor) -> None:
    page = nora.get(f"/conversations/{THREAD}")
    assert "We can’t be sure who wrote this" in page.words
    names = [one.words for one in page.select(".notice li")]
    assert names == ["Amelia Hart", "Grace Okafor"]
    assert "Sender not known for sure" in nora.get("/conversations?all=1").words


def test_patients_do_not_see_it(amelia: Visitor) -> None:
    assert amelia.get(f"/conversations/{THREAD}", status=404).heading == "We can’t find that"
    assert "A question" not in amelia.get("/conversations").words
