"""Tokens bound to a key, at the embedded identity server and care service, which demand their nonces (RFC 9449)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import requests
from joserfc import jws

from portal.state.session_records import record_name
from tests.support.signing import fresh_form, sign
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor


@pytest.fixture
def bound(portal: PortalThread, monkeypatch: pytest.MonkeyPatch) -> Iterator[PortalThread]:
    """The portal, whose clinics bind tokens from now on."""
    tenants = portal.context.settings.tenants
    for host, clinic in list(tenants.by_host.items()):
        monkeypatch.setitem(tenants.by_host, host, replace(clinic, dpop=True))
    portal.context.providers._made.clear()
    yield portal
    portal.context.providers._made.clear()


def tokens_of(portal: PortalThread, visitor: Visitor) -> Any:
    cookie = next(one.value or "" for one in visitor.http.cookies if one.name == "__Host-sid")
    return portal.context.sessions.tokens_of(record_name(cookie))


def claims_of(token: str) -> dict[str, Any]:
    import json

    return json.loads(jws.extract_compact(token.encode()).payload)


def test_pages_acts_and_files_work_with_tokens_that_are_worth_nothing_without_the_key(
    bound: PortalThread,
) -> None:
    visitor = bound.sign_in("amelia")
    tokens = tokens_of(bound, visitor)
    assert tokens.dpop_key and '"d"' in tokens.dpop_key
    assert len(claims_of(tokens.access_token)["cnf"]["jkt"]) == 43
    assert visitor.get("/consents").status == 200
    assert visitor.get("/care-team").status == 200, "reference data"
    form = fresh_form(bound.plan)
    assert sign(visitor, form, "Amelia Hart").path == f"{form}/receipt"
    stolen = {"Authorization": f"Bearer {tokens.access_token}"}
    answer = requests.get(f"{bound.plan.service}/api/care/consent-forms", headers=stolen, timeout=10)
    assert answer.status_code == 401
    stolen = {"Authorization": f"DPoP {tokens.access_token}"}
    answer = requests.get(f"{bound.plan.service}/api/care/consent-forms", headers=stolen, timeout=10)
    assert answer.status_code == 401
    assert 'DPoP error="invalid_dpop_proof"' in answer.headers["WWW-Authenticate"]


def test_a_refresh_keeps_the_key(bound: PortalThread) -> None:
    visitor = bound.sign_in("nora")
    before = tokens_of(bound, visitor)
    try:
        bound.clock.advance(601)
        assert visitor.get("/notifications").status == 200
        after = tokens_of(bound, visitor)
    finally:
        bound.clock.ahead = 0
    assert after.access_token != before.access_token
    assert after.dpop_key == before.dpop_key
    assert claims_of(after.access_token)["cnf"] == claims_of(before.access_token)["cnf"]


def test_each_sign_in_has_a_key_of_its_own_and_old_sessions_go_on(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = portal.sign_in("grace")
    tenants = portal.context.settings.tenants
    for host, clinic in list(tenants.by_host.items()):
        monkeypatch.setitem(tenants.by_host, host, replace(clinic, dpop=True))
    assert tokens_of(portal, old).dpop_key is None
    assert old.get("/consents").status == 200
    keys = {tokens_of(portal, portal.sign_in("grace")).dpop_key for _ in range(2)}
    assert len(keys) == 2 and None not in keys


def test_signing_out_needs_no_proof(bound: PortalThread) -> None:
    visitor = bound.sign_in("daniel")
    page = visitor.get("/consents")
    page.form("/sign-out").submit(status=None)
    assert "/sign-in" in visitor.request("GET", "/consents", follow=False, status=303).headers["Location"]
