"""Accounts: what is changed in one counts for the tokens that it already has."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.orm import Session

from portal.careservice.identity.tables import Person
from portal.careservice.ids import sample_id
from tests.careservice.api.calls import CONSENTS, form
from tests.careservice.api.clinic import Clinic


def set_account(clinic: Clinic, who: str, **changes: Any) -> None:
    def change(session: Session) -> None:
        for name, value in changes.items():
            setattr(session.get_one(Person, sample_id("person", who)), name, value)

    clinic.change(change)


@pytest.mark.parametrize("who", ["amelia", "nora"])
def test_a_disabled_account_is_refused_at_once(clinic: Clinic, who: str) -> None:
    token = clinic.token(who)
    assert clinic.call(token, "GET", CONSENTS).status_code == 200
    set_account(clinic, who, is_active=False)
    refused = clinic.call(token, "GET", CONSENTS)
    assert (refused.status_code, refused.data) == (401, b"")
    assert refused.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


def test_a_role_taken_away_is_gone_at_once(clinic: Clinic) -> None:
    token = clinic.token("nora")
    assert clinic.call(token, "GET", CONSENTS).json["totalCount"] > 10
    set_account(clinic, "nora", roles=["patient"])
    assert clinic.call(token, "GET", CONSENTS).json["totalCount"] < 10
    answer = clinic.call(token, "POST", CONSENTS, form())
    assert (answer.status_code, answer.data) == (403, b"")
    set_account(clinic, "nora", roles=[])
    assert clinic.call(token, "GET", CONSENTS).status_code == 403


def test_a_role_given_counts_at_once(clinic: Clinic) -> None:
    token = clinic.token("elif")
    assert clinic.call(token, "POST", CONSENTS, form()).status_code == 403
    set_account(clinic, "elif", roles=["embryologist", "nurse"])
    assert clinic.call(token, "POST", CONSENTS, form()).status_code == 200
