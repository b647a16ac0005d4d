"""Concurrent writes of counters, the bell and the list of unsent forms."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from flask import Flask, Request, g
from flask.sessions import SessionInterface

from portal.config.tenants import Side
from portal.services.capabilities import Capabilities
from portal.services.consents import LIST_CONSENTS
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.protocols import LIST_PROTOCOLS
from portal.state.session_records import Person
from portal.store import Store
from portal.store.vault import Vault
from portal.web import bell
from portal.web.extensions import CountsInStore
from tests.support.together import at_once

T = TypeVar("T")
THREADS = 8
PERSON = Person(
    sub="amelia",
    issuer="https://id.example",
    name="",
    given_name="",
    side=Side.PATIENT,
    roles=frozenset(),
    auth_time=0,
)


@pytest.fixture
def vault(store: Store) -> Vault:
    return Vault(store, ("k" * 40,))


class _NothingRead(SessionInterface):
    """Sessions that have read nothing of the store."""

    def open_session(self, app: Flask, request: Request) -> Any:
        return SimpleNamespace(is_loaded=False, records=lambda *_names: {}, take=lambda _name: ...)


@pytest.fixture
def app(vault: Vault) -> Flask:
    app = Flask(__name__)
    app.session_interface = _NothingRead()
    app.extensions["portal"] = SimpleNamespace(vault=vault, clock=time.time)
    return app


def in_requests(app: Flask, act: Callable[[int], T]) -> list[T]:
    """Do it in threads that begin together, as requests of one clinic."""

    def run(number: int) -> T:
        with app.test_request_context():
            g.tenant = SimpleNamespace(key="riverside")
            return act(number)

    return at_once(*(partial(run, number) for number in range(THREADS)))


def test_a_limit_counts_every_request(app: Flask) -> None:
    counts = CountsInStore("portal://")
    told = in_requests(app, lambda _number: [counts.incr("sign-in/192.0.2.1", 60) for _ in range(20)])
    assert sorted(count for one in told for count in one) == list(range(1, 20 * THREADS + 1))


def test_one_of_many_concurrent_requests_refreshes_the_bell(app: Flask) -> None:
    for _ in range(10):
        with app.app_context():
            g.tenant = SimpleNamespace(key="riverside")
            context_vault: Vault = app.extensions["portal"].vault
            context_vault.delete(bell.KNOWN.record_name(PERSON))
        claims = in_requests(app, lambda _number: bell.claim(PERSON))
        assert sorted(claims) == [False] * (THREADS - 1) + [True]


def test_concurrently_noted_missing_endpoints_are_all_kept(app: Flask, vault: Vault) -> None:
    lists = (LIST_CONSENTS, LIST_CONVERSATIONS, LIST_NOTIFICATIONS, LIST_PROTOCOLS)
    for clinic in ("riverside", "harbour", "hillside", "lakeside"):

        def note(number: int, clinic: str = clinic) -> None:
            Capabilities(vault, time.time).note_missing(clinic, lists[number % len(lists)])

        in_requests(app, note)
        assert Capabilities(vault, time.time).missing(clinic) == {one.template for one in lists}
