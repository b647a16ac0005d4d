"""A clinic that asks for a strong sign-in, at an identity server that gives one, doesn't, or only sometimes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from portal.config.strong_sign_in import Act, StrongSignIn
from tests.signin.hostile_identity.sign_ins import admitted, person_of, sign_in
from tests.support.hostile import HostileServer
from tests.support.stack import PortalThread

Set = Callable[[StrongSignIn | None], None]

TO_COME_IN = StrongSignIn(acr=("urn:phr",), roles=frozenset({"patient"}))
TO_SIGN = StrongSignIn(acr=("urn:phr",), amr=("hwk",), acts=frozenset({Act.SIGNING}))


@pytest.fixture
def asks(portal: PortalThread, monkeypatch: pytest.MonkeyPatch) -> Set:
    """Has the clinic ask for this from now on."""

    def asks(strong: StrongSignIn | None) -> None:
        tenants = portal.context.settings.tenants
        clinic = replace(tenants.by_key["riverside"], strong=strong)
        monkeypatch.setitem(tenants.by_key, "riverside", clinic)
        for host in clinic.hosts:
            monkeypatch.setitem(tenants.by_host, host, clinic)

    return asks


def test_people_whose_role_needs_it_are_asked_and_come_in_with_it_alone(
    portal: PortalThread, identity: HostileServer, asks: Set
) -> None:
    asks(TO_COME_IN)
    identity.claims = {"acr": "urn:pwd", "amr": ["pwd"]}
    visitor = portal.visitor()
    page = sign_in(visitor)
    assert (page.status, page.heading) == (403, "More than a password is needed")
    assert "lets people in your role in only if they sign in with more than a password" in page.words
    assert (
        "call your clinic" in page.words
        and "If you call the clinic about this, give the number" in page.words
    )
    assert person_of(visitor) is None
    first, second = identity.authorized
    assert first["acr_values"] == "tenant:riverside", "who it is isn't known before"
    assert second["acr_values"] == "tenant:riverside urn:phr" and "prompt" not in second
    line = portal.audited()[-1]
    assert (line["audit"], line["outcome"]) == ("sign-in", "not-strong")
    assert line["reason"] == "ID token: acr urn:pwd, amr pwd: too weak"
    identity.claims = {"acr": "urn:phr", "amr": ["pwd", "otp"]}
    page = visitor.get(page.link("Sign in again"), status=None)
    assert person_of(visitor).acr == "urn:phr", "asked for the password, so that another way can be chosen"
    assert identity.authorized[2]["prompt"] == "login"
    line = [one for one in portal.audited() if one["audit"] == "sign-in"][-1]
    assert (line["outcome"], line["acr"], line["amr"]) == ("fresh", "urn:phr", ["pwd", "otp"])


def test_a_refresh_keeps_how_somebody_signed_in(
    portal: PortalThread, identity: HostileServer, asks: Set
) -> None:
    asks(TO_COME_IN)
    identity.claims, identity.token = {"acr": "urn:phr"}, {"expires_in": 60}
    visitor = admitted(portal)
    identity.claims = {"acr": None}
    portal.clock.advance(61)
    visitor.request("GET", "/help", follow=False, status=None)
    assert identity.count("/token") == 2
    assert person_of(visitor).acr == "urn:phr"


def test_a_session_from_before_the_clinic_asked_needs_a_stronger_sign_in_at_its_next_page(
    portal: PortalThread, identity: HostileServer, asks: Set
) -> None:
    visitor = admitted(portal)
    asks(TO_COME_IN)
    answer = visitor.request("GET", "/help", follow=False, status=303)
    assert answer.headers["Location"] == "/sign-in?next=%2Fhelp&fresh=1"
    identity.claims = {"acr": "urn:phr"}
    assert visitor.get("/help").path == "/help"
    assert (identity.authorized[-1]["acr_values"], identity.authorized[-1]["prompt"]) == (
        "tenant:riverside urn:phr",
        "login",
    )
    assert portal.audited()[-2]["outcome"] == "fresh" or portal.audited()[-1]["outcome"] == "fresh"


def test_a_step_up_that_comes_back_weak_changes_nothing(
    portal: PortalThread, identity: HostileServer, asks: Set
) -> None:
    """The person stays signed in as before; what an address asks for is never what the server is asked for."""
    asks(TO_SIGN)
    identity.claims = {"acr": "urn:phr"}
    visitor = admitted(portal)
    visitor.get("/sign-in?next=/signed-out&fresh=1&acr_values=urn:other", status=None)
    assert identity.authorized[-1]["acr_values"] == "tenant:riverside"
    identity.callback = {"code": None, "error": "unmet_authentication_requirements"}
    page = sign_in(visitor, fresh=True)
    assert page.heading == "You couldn’t be signed in", "nobody asked for it"
    assert person_of(visitor).acr == "urn:phr"
