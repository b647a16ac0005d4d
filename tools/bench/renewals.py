"""What ten-minute access tokens cost: the page that renews one, and how often a person has one renewed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from http.server import BaseHTTPRequestHandler

import msgspec

from portal.demo.stack import DemoSetup, portal_environment
from portal.state.session_records import Tokens, record_name, tokens_name
from portal.store import open_store
from portal.store.vault import Vault
from tests.support.proxy import Proxy, body_of
from tests.support.stack import SECRETS, CareService, free_port
from tools.bench.measures import Row, Size, _ratio, in_turns
from tools.bench.servers import PAGE, Bench, Server

_MOST = 5.0
_CALLS_AN_HOUR = 16


class Counting(Proxy):
    """Passes everything on, and notes what was asked."""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        headers: Mapping[str, str] = dict(handler.headers.items())
        given = self.forward(handler.command, handler.path, headers, body_of(handler))
        self.end(handler, handler.path.partition("?")[0], *given)


def renewed_tokens(bench: Bench, size: Size) -> list[Row]:
    """The measured page with a token that is good and with one that is due, in turns; then what the server is asked."""
    portal = bench.portal()
    portal.headers.update(bench.sign_in(portal, "nora"))
    session = _Session(bench, portal)
    pages = max(5, size.pages // 10)
    asked = {"good": lambda: _wait(portal, pages), "due": lambda: _wait(portal, pages, session.make_due)}
    found = in_turns(asked, size.rounds)
    portal.stop()
    calls, lifetime = _calls_of_a_renewal(bench)
    an_hour = 3600 / lifetime * len(calls)
    waited = statistics.median(found["due"])
    return [
        _ratio(
            "Wait for a page that renews its token ÷ for one that doesn't",
            _MOST,
            found["due"],
            found["good"],
            waited,
        ),
        Row(
            "Calls at the identity server for a person who never pauses",
            f"≤ {_CALLS_AN_HOUR} an hour",
            f"{an_hour:.1f} an hour: {len(calls)} each {lifetime / 60:.1f} minutes ({', '.join(calls)})",
            an_hour <= _CALLS_AN_HOUR,
            {"calls": an_hour, "seconds": lifetime},
        ),
    ]


def _wait(portal: Server, pages: int, before: Callable[[], object] = lambda: None) -> float:
    """The median time of a page in milliseconds, each after `before`."""
    took: list[float] = []
    with closing(portal.connect()) as connection:
        for _ in range(pages):
            before()
            answer = connection.get(PAGE)
            if answer.status != 200:
                raise AssertionError(f"{PAGE}: {answer.status}")
            took.append(answer.seconds)
    return statistics.median(took) * 1000


class _Session:
    """The tokens of the session that a server's headers are of."""

    def __init__(self, bench: Bench, server: Server) -> None:
        environment = portal_environment(bench.plan, bench.tenants)
        store = open_store(environment["PORTAL_STORE_URL"], time.time)
        self._vault = Vault(store, (SECRETS["PORTAL_SECRET_KEYS"],))
        self._name = tokens_name(record_name(server.headers["Cookie"].partition("=")[2]))

    def make_due(self) -> Tokens:
        """Let the next page renew the token; return the tokens as they are now."""

        def due(tokens: Tokens) -> Tokens:
            return msgspec.structs.replace(tokens, refresh_at=0.0)

        changed = self._vault.update(self._name, Tokens, due)
        if changed is None:
            raise AssertionError("the session has ended")
        return changed

    def refresh_at(self) -> float:
        held = self._vault.get(self._name, Tokens)
        if held is None:
            raise AssertionError("the session has ended")
        return held.value.refresh_at


def _calls_of_a_renewal(bench: Bench) -> tuple[list[str], float]:
    """What the identity server is asked when a token is renewed, and after how many seconds that is due again.

    A worker's first renewal in an hour also reads the server's metadata and keys, so it isn't the one that counts.
    """
    folder = bench.folder / "renewals"
    folder.mkdir()
    where = DemoSetup(bench.plan.portal_port, free_port(), folder, SECRETS)
    proxy = Counting(where.service)
    care = CareService(where, "--issuer", proxy.base_url, "--sample", "small")
    tenants = folder / "tenants.toml"
    tenants.write_text(bench.tenants_text().replace(bench.plan.service, proxy.base_url))
    portal = bench.portal(PORTAL_TENANTS=str(tenants))
    try:
        portal.headers.update(bench.sign_in(portal, "nora"))
        portal.get(PAGE)
        session = _Session(bench, portal)
        for _ in range(20):
            session.make_due()
            proxy.calls.clear()
            began = time.time()
            portal.get(PAGE)
            calls = [path for _method, path, _status in proxy.calls]
            if not any(path.startswith("/.well-known/") for path in calls):
                return calls, session.refresh_at() - began
        raise AssertionError("each renewal reads the metadata")
    finally:
        portal.stop()
        care.stop()
        proxy.stop()
