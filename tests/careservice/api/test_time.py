"""What happens as time passes, with a clock that the test moves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from portal.careservice import database
from portal.careservice.domain.policies import ClinicPolicy
from portal.careservice.ids import sample_id
from tests.careservice.api.calls import CONSENTS, form, signature
from tests.careservice.api.clinic import Clinic


def test_a_form_expires_at_its_expiry_time(clinic: Clinic) -> None:
    until = (clinic.moment + timedelta(hours=3)).isoformat()
    made = clinic("nora", "POST", CONSENTS, form(expiresAt=until)).json
    path = f"{CONSENTS}/{made['id']}"
    clinic.moment += timedelta(hours=3)
    expired = clinic("amelia", "GET", path).json
    assert expired["status"] == "Expired"
    refused = clinic("amelia", "POST", f"{path}/sign", signature(made))
    assert refused.json["error"]["code"] == "ClientelePortal:FormExpired"


def test_a_procedure_may_be_today_by_the_clinics_clock_and_not_yesterday(clinic: Clinic) -> None:
    clinic.moment = datetime(2027, 7, 1, 23, 30, tzinfo=UTC)  # half past midnight in London
    today, yesterday = (
        clinic("nora", "POST", CONSENTS, form(procedureDate=day)) for day in ("2027-07-02", "2027-07-01")
    )
    assert (today.status_code, yesterday.status_code) == (200, 400)
    assert "procedureDate" in yesterday.text


def test_an_idempotency_key_is_forgotten_after_a_day(clinic: Clinic) -> None:
    def create(title: str) -> Any:
        return clinic("nora", "POST", CONSENTS, form(title=title), Idempotency_Key="one")

    first = create("First").json
    clinic.moment += timedelta(hours=23)
    assert create("First").json == first
    assert create("Second").status_code == 400
    clinic.moment += timedelta(hours=2)
    assert create("Second").json["title"] == "Second"


def test_a_module_that_a_clinic_switches_off_is_not_offered(clinic: Clinic) -> None:
    path = "/api/messaging/getconversations"
    assert clinic("nora", "GET", path).status_code == 200
    with clinic.app.app_context(), database.new_session(database.engine()) as session:
        session.add(ClinicPolicy(tenant_id=sample_id("tenant", "riverside"), modules_off=["Messaging"]))
        session.commit()
    assert clinic("nora", "GET", path).status_code == 501
    assert clinic("nora", "GET", CONSENTS).status_code == 200
