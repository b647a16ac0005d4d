"""Staff's home: how much a form presses, and where a notification leads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentForm, ConsentStatus, Signer, SignerRole
from portal.services.notifications import LIST_NOTIFICATIONS, Notification, Severity
from tests.support.fake_api import ZONE, FakeApi
from tests.support.visitor import Visitor

SignIn = Callable[..., Visitor]


def form(days: int) -> ConsentForm:
    """A form that waits for its patient, for a procedure in so many days at the clinic."""
    day = datetime.now(ZONE).date()
    return ConsentForm(
        id=f"c-{days}",
        title="Consent to IVF",
        status=ConsentStatus.PENDING,
        patient_id="p-1",
        patient_name="Amelia Hart",
        required_signers=(Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart", order=1),),
        procedure_date=day + timedelta(days=days),
    )


@pytest.mark.parametrize(
    ("days", "words", "tone"),
    [
        (-1, "Date has passed", "urgent"),
        (0, "Needed today", "urgent"),
        (1, "Needed tomorrow", "attention"),
        (2, "Needed in 2 days", "attention"),
        (3, "Needed in 3 days", None),
    ],
)
def test_only_what_is_late_or_needed_today_is_red(
    visitor: SignIn, fake_api: FakeApi, days: int, words: str, tone: str | None
) -> None:
    fake_api.gives(LIST_CONSENTS, [form(days)])
    (cell,) = visitor("nora", "nurse").get("/consents?list=all").select('td[data-label="Due"]')
    assert words in cell.get_text(" ", strip=True)
    assert [tag["data-tone"] for tag in cell.select(".tag")] == ([tone] if tone else [])


def test_a_notification_leads_to_what_it_is_about(visitor: SignIn, fake_api: FakeApi) -> None:
    about = Notification(
        id="n-1",
        type="ProspectReceived",
        title="A new enquiry",
        severity=Severity.URGENT,
        entity_type="Prospect",
        entity_id="e-1",
    )
    fake_api.gives(LIST_NOTIFICATIONS, [about])
    colin = visitor("colin", "coordinator")
    (row,) = colin.get("/").select("#news li form")
    assert row.get_text(" ", strip=True).startswith("A new enquiry")
    sent = colin.post(str(row["action"]))
    assert sent.path == "/prospects/e-1/book"
