"""Tokens bound to a key, at the embedded identity server and care service, which demand their nonces (RFC 9449)."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import requests
from joserfc import jws

from portal.signin.dpop import Prover
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
    cookie = visitor.session_id
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


@contextmanager
def wrong_proofs(monkeypatch: pytest.MonkeyPatch, where: str) -> Generator[None]:
    """For addresses that contain this the portal proves another method."""
    right = Prover.proof

    def proof(prover: Prover, method: str, url: str, *rest: Any, **named: Any) -> str:
        return right(prover, "PATCH" if where in url else method, url, *rest, **named)

    with monkeypatch.context() as patched:
        patched.setattr(Prover, "proof", proof)
        yield


def test_a_proof_that_the_identity_server_refuses_ends_the_sign_in_in_words(
    bound: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, visitor = len(bound.audited()), bound.visitor()
    with wrong_proofs(monkeypatch, "/connect/token"):
        page = visitor.fill_sign_in(visitor.get("/consents"), "grace")
    assert (page.status, page.heading) == (400, "You couldn’t be signed in")
    (line,) = [line for line in bound.audited()[before:] if line["audit"] == "sign-in"]
    assert (line["outcome"], line["reason"]) == ("refused", "code refused: invalid_dpop_proof")


def test_a_refused_proof_at_the_refresh_ends_the_session_and_the_page_comes_back(
    bound: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = bound.sign_in("nora")
    try:
        bound.clock.advance(601)
        with wrong_proofs(monkeypatch, "/connect/token"):
            answer = visitor.request("GET", "/notifications", status=303, follow=False)
    finally:
        bound.clock.ahead = 0
    assert answer.headers["Location"] == "/sign-in?next=%2Fnotifications"


def test_a_proof_that_the_care_api_refuses_is_told_and_nothing_typed_is_lost(
    bound: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor = bound.sign_in("amelia")
    form = fresh_form(bound.plan)
    page = visitor.get(f"{form}/sign").form(f"{form}/sign/read").submit()
    page = page.form(f"{form}/sign/statements").submit(check_all=True)
    before = len(bound.audited())
    with wrong_proofs(monkeypatch, "/api/"):
        refused = page.form(f"{form}/sign/name").submit(signature="Amelia Hart", status=502)
        assert refused.heading == "The clinic’s system doesn’t accept your sign-in"
    lines = [(line["audit"], line["outcome"]) for line in bound.audited()[before:]]
    assert lines == [("consents.sign.sign", "TokenRefused")]
    page = visitor.get(f"{form}/sign/name")
    (typed,) = page.select("input[name=signature]")
    assert typed["value"] == "Amelia Hart"
    assert page.form(f"{form}/sign/name").submit().path == f"{form}/receipt"
