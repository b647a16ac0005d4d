"""An account that is disabled, or loses a role, loses it in the portal's open sessions too, on every device."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import msgspec
import pytest

from portal.services.errors import Unavailable
from portal.signin.refresh import Refresher
from portal.state.session_records import record_name
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Page, Visitor
from tests.web.test_call_budget import BUDGET, FORM

SIGN_IN = "/sign-in?"


def set_account(service: CareService, who: str, *, roles: str | None = None, is_active: bool = True) -> None:
    """Change the account as an administrator of the identity server does."""
    change = "UPDATE people SET is_active = ?, roles = coalesce(?, roles) WHERE username = ?"
    with closing(sqlite3.connect(service.plan.data / "care.db", timeout=20)) as database, database:
        assert database.execute(change, (is_active, roles, who)).rowcount == 1


@pytest.fixture
def account(service: CareService, request: pytest.FixtureRequest) -> Iterator[str]:
    """A member of staff whose account is as it was afterwards."""
    with closing(sqlite3.connect(service.plan.data / "care.db")) as database:
        who = getattr(request, "param", "nora")
        (roles,) = database.execute("SELECT roles FROM people WHERE username = ?", (who,)).fetchone()
    yield who
    set_account(service, who, roles=roles)


def leads_to_sign_in(page: Page) -> bool:
    leads = page.headers.get("Location") or page.headers.get("HX-Redirect") or ""
    return leads.startswith(SIGN_IN) and "Set-Cookie" not in page.headers


def name_of(visitor: Visitor) -> str:
    """The name of the visitor's session in the store."""
    return record_name(visitor.session_id)


def ask(visitor: Visitor, path: str) -> Page:
    return visitor.request("GET", path, status=None, follow=False)


def let_tokens_be_due(portal: PortalThread, visitor: Visitor) -> None:
    name = name_of(visitor)
    tokens = portal.context.sessions.tokens_of(name)
    portal.context.sessions.replace_tokens(name, tokens, msgspec.structs.replace(tokens, refresh_at=0.0))


@pytest.mark.asvs("7.4.2")
@pytest.mark.parametrize("account", ["nora", "amelia"], indirect=True)
def test_a_disabled_accounts_sessions_end_with_their_next_page_on_every_device(
    service: CareService, portal: PortalThread, account: str
) -> None:
    paths = [path for who, path, calls in BUDGET if who == account and calls]
    devices = [portal.sign_in(account) for _ in paths]
    set_account(service, account, is_active=False)
    open_still = [
        path
        for path, device in zip(paths, devices, strict=True)
        if not leads_to_sign_in(ask(device, path)) and not leads_to_sign_in(ask(device, "/"))
    ]
    assert open_still == []
    assert not any(portal.context.sessions.tokens_of(name_of(device)) for device in devices)


@pytest.mark.asvs("7.4.2")
@pytest.mark.parametrize("path", ["/find", "/me", "/consents/new/fill", "/notifications/bell"])
def test_a_page_without_a_call_ends_a_disabled_accounts_session_when_its_token_is_due(
    service: CareService, portal: PortalThread, account: str, path: str
) -> None:
    device = portal.sign_in(account)
    set_account(service, account, is_active=False)
    let_tokens_be_due(portal, device)
    assert leads_to_sign_in(ask(device, path)) or path.endswith("bell")
    assert portal.context.sessions.tokens_of(name_of(device)) is None


def test_a_page_without_a_call_is_shown_while_the_identity_server_is_down(
    service: CareService, portal: PortalThread, account: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise Unavailable("identity server")

    device = portal.sign_in(account)
    let_tokens_be_due(portal, device)
    monkeypatch.setattr(Refresher, "refresh", fail)
    assert ask(device, "/find").status == 200
    assert ask(device, "/notifications").status == 503


def test_parts_of_pages_send_a_disabled_accounts_page_to_sign_in(
    service: CareService, portal: PortalThread, account: str
) -> None:
    page, poll, form = (portal.sign_in(account) for _ in range(3))
    token = form.csrf_token()
    set_account(service, account, is_active=False)
    assert leads_to_sign_in(page.fragment("/consents?q=genetic", "list", status=None))
    assert poll.fragment("/notifications/bell?known=1", "bell", status=None).status in (200, 204), (
        "it polls on"
    )
    assert leads_to_sign_in(ask(poll, "/"))
    search = {"q": "amelia", "csrf_token": token}
    headers = {"HX-Request": "true", "HX-Target": "div#found"}
    assert leads_to_sign_in(form.request("POST", "/find", data=search, status=None, headers=headers))


def test_physicians_kept_in_the_cache_are_not_shown_to_an_account_whose_session_ended(
    service: CareService, portal: PortalThread, account: str
) -> None:
    device, other = portal.sign_in(account), portal.sign_in(account)
    device.get("/consents/new")
    set_account(service, account, is_active=False)
    assert leads_to_sign_in(ask(device, FORM))
    assert leads_to_sign_in(ask(device, "/consents/new"))
    assert leads_to_sign_in(ask(other, "/care-team"))


@pytest.mark.parametrize("account", ["ada"], indirect=True)
def test_a_removed_role_counts_from_the_page_after_the_next(
    service: CareService, portal: PortalThread, account: str
) -> None:
    one, other = portal.sign_in(account), portal.sign_in(account)
    assert ask(one, "/clinic-system").status == ask(other, "/clinic-system").status == 200
    set_account(service, account, roles='["nurse"]')
    for device in (one, other):
        assert ask(device, "/notifications").status == 200
        assert ask(device, "/clinic-system").status == 403
        assert portal.context.sessions.person_of(name_of(device)).roles == {"nurse"}


@pytest.mark.parametrize("roles", ["[]", '["lab"]', '["patient"]'])
def test_losing_the_last_role_of_a_side_ends_the_sessions(
    service: CareService, portal: PortalThread, account: str, roles: str
) -> None:
    one, other = portal.sign_in(account), portal.sign_in(account)
    set_account(service, account, roles=roles)
    assert leads_to_sign_in(ask(one, FORM))
    assert leads_to_sign_in(other.fragment("/consents?q=genetic", "list", status=None))
