"""Which changes of notifications are invalid, and their settings; what else is read and written is in `ledger/`."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from sqlalchemy.orm import Session

from portal.careservice.domain.embryos import EmbryoStorage
from portal.careservice.domain.enumerations import EmbryoStatus
from portal.careservice.domain.episodes import Episode
from portal.careservice.domain.inbound.payments import take_payment
from portal.careservice.ids import sample_id
from portal.careservice.webhooks.payloads import PaymentEvent
from tests.careservice.api.calls import GRACE_EPISODE, Api, code, created, members, patient, signer
from tests.careservice.api.clinic import Clinic

NOTIFICATIONS = "/api/app/notification"
SETTINGS = "/api/app/notification/settings"


@pytest.mark.parametrize(
    ("body", "member"),
    [
        ({"isRead": True}, "ids"),
        ({"ids": [], "all": True, "isRead": True}, "ids"),
        ({"all": True}, "isRead"),
        ({"ids": ["x"], "isRead": True}, "ids[0]"),
        ({"ids": "x", "isRead": True}, "ids"),
    ],
)
def test_an_incomplete_change_of_notifications_is_invalid(
    api: Api, body: dict[str, Any], member: str
) -> None:
    assert members(api("amelia", "PUT", NOTIFICATIONS, body))[0] == member


HERS, ANOTHERS = sample_id("embryo", "GO-1"), sample_id("embryo", "ZW-1")


def pay_for(session: Session, id_: str = "pay_1", **metadata: str) -> None:
    of = {"id": id_, "amount": 36000, "currency": "gbp", "status": "succeeded"}
    data = {"object": {**of, "metadata": {"purpose": "storage", **metadata}}}
    event = {
        "id": "evt_1",
        "type": "payment.succeeded",
        "created": 0,
        "account": "acct_riverside",
        "data": data,
    }
    session.flush()
    assert take_payment(session, msgspec.convert(event, PaymentEvent)) == id_


def test_nothing_is_paid_for_embryos_that_are_gone_or_of_one_of_two_patients(clinic: Clinic) -> None:
    """A partner of both has to say whose."""

    def pay(session: Session) -> None:
        gone, other = (session.get_one(EmbryoStorage, id_) for id_ in (HERS, ANOTHERS))
        before = gone.storage_expires_at, other.storage_expires_at
        gone.status = EmbryoStatus.DISCARDED
        session.get_one(Episode, other.episode_id).partner_id = patient("joseph")
        pay_for(session, patientId=patient("joseph"))
        assert (gone.storage_expires_at, other.storage_expires_at) == before
        pay_for(session, id_="pay_2", embryoStorageIds=HERS)
        assert gone.storage_expires_at == before[0]

    clinic.change(pay)


def test_a_payment_for_two_patients_tells_each_of_their_own_treatment(clinic: Clinic) -> None:
    """Grace's embryo is the second by its code."""

    def pay(session: Session) -> None:
        session.get_one(EmbryoStorage, ANOTHERS).embryo_code = "AA-1"
        pay_for(session, embryoStorageIds=f"{HERS},{ANOTHERS}")

    clinic.change(pay)
    (told, *_) = clinic.get("grace", f"{NOTIFICATIONS}?Type=PaymentReceived")["items"]
    assert told["entityId"] == told["data"]["episodeId"] == GRACE_EPISODE


def test_settings_are_stored_per_person_and_guarded_by_a_stamp(api: Api) -> None:
    before = api.get("victor", SETTINGS)
    items = before["items"]
    changed = next(item for item in items if item["type"] == "MessageReceived")
    changed |= {"email": False, "locked": True}
    quiet = {"start": "22:00", "end": "06:30", "timeZone": "Europe/London"}
    body = {
        "items": items, "quietHours": quiet, "language": "es", "concurrencyStamp": before["concurrencyStamp"],
    }  # fmt: skip
    after = api("victor", "PUT", SETTINGS, body).json()
    assert after["quietHours"] == quiet
    assert {**changed, "locked": False} in after["items"]
    assert api.get("victor", SETTINGS) == after
    assert code(api("victor", "PUT", SETTINGS, body)) == "ClientelePortal:ConcurrencyConflict"
    created(
        api, kind="Disclosure", requiredSigners=[signer("Patient", "amelia"), signer("Clinician", "victor")]
    )
    assert api.get("victor", NOTIFICATIONS)["items"][0]["title"] == "Tienes un formulario disponible"


@pytest.mark.parametrize("kind", ["AccountSecurity", "ConsentRevoked", "NoSuchKind", "ProspectReceived"])
def test_locked_and_unknown_kinds_are_invalid(api: Api, kind: str) -> None:
    stamp = api.get("grace", SETTINGS)["concurrencyStamp"]
    item = {"type": kind, "email": False, "sms": False, "push": False, "inApp": False, "locked": False}
    answer = api("grace", "PUT", SETTINGS, {"items": [item], "concurrencyStamp": stamp})
    assert members(answer) == ["items[0].type"]
