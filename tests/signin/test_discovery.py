"""The identity server's token endpoint: not called while it fails, tried again when its metadata can be read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import pytest
import requests
from authlib.integrations.base_client import OAuthError

from portal.config.variables import Timeouts
from portal.signin.discovery import Metadata, Provider, ProviderDown
from tests.support.clock import Clock
from tests.support.upstream import Make, Upstream, ok

FAILURES = 3


@pytest.fixture
def server(upstream: Make) -> Iterator[Upstream]:
    """Answers with its metadata, or with nothing while `down`."""
    made: list[Upstream] = []

    def script(line: str, number: int) -> bytes | None:
        url = made[0].url
        document = {
            "issuer": url,
            "authorization_endpoint": f"{url}/a",
            "token_endpoint": f"{url}/t",
            "jwks_uri": f"{url}/k",
        }
        return ok(json.dumps(document).encode())

    made.append(upstream(script))
    yield made[0]


@pytest.fixture
def provider(server: Upstream, clock: Clock) -> Provider:
    return Provider(server.url, (), Timeouts(connect=1, read=1, page=3), clock, FAILURES)


def call(provider: Provider, error: Exception | None = None) -> None:
    with provider.token_call():
        if error:
            raise error


KEY = cast("Any", object())


@pytest.mark.parametrize(
    ("offered", "key", "secret", "auth", "sent"),
    [
        ((), KEY, "", None, "private_key_jwt"),
        (("client_secret_basic",), KEY, "", None, "private_key_jwt"),
        (("client_secret_basic",), KEY, "s", None, "client_secret_basic"),
        (("private_key_jwt",), KEY, "s", None, "private_key_jwt"),
        (("private_key_jwt",), None, "s", None, "client_secret_basic"),
        (("client_secret_post",), None, "s", None, "client_secret_post"),
        (("client_secret_post", "client_secret_basic"), None, "s", None, "client_secret_basic"),
        (("client_secret_basic",), None, "s", "client_secret_post", "client_secret_post"),
    ],
)
def test_how_a_client_authenticates(
    offered: tuple[str, ...], key: Any, secret: str, auth: Any, sent: str
) -> None:
    metadata = Metadata(
        issuer="i", authorization_endpoint="a", token_endpoint="t", jwks_uri="k",
        token_endpoint_auth_methods_supported=offered,
    )  # fmt: skip
    client = SimpleNamespace(key=key, client_secret=secret, auth=auth)
    assert metadata.auth_method(cast("Any", client)) == sent


def fail(provider: Provider) -> None:
    for _ in range(FAILURES):
        with pytest.raises(requests.ConnectionError):
            call(provider, requests.ConnectionError("connection refused"))


def test_after_failures_in_a_row_the_token_endpoint_is_not_called(
    provider: Provider, server: Upstream
) -> None:
    fail(provider)
    with pytest.raises(ProviderDown):
        call(provider)
    assert server.seen == []


def test_refusals_do_not_count_as_failures(provider: Provider) -> None:
    for _ in range(10):
        with pytest.raises(OAuthError):
            call(provider, OAuthError("invalid_grant"))
    call(provider)


@pytest.mark.parametrize(
    ("status", "counts"), [(500, True), (502, True), (503, True), (504, True), (501, False), (404, False)]
)
def test_which_answers_count_as_failures(
    provider: Provider, server: Upstream, clock: Clock, status: int, counts: bool
) -> None:
    server.script = lambda line, number: f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n".encode()
    for _ in range(FAILURES):
        clock.now += 2
        with pytest.raises(ProviderDown):
            provider.metadata()
    reached: list[bool] = []
    with suppress(ProviderDown), provider.token_call():
        reached.append(True)
    assert reached == ([] if counts else [True])


def test_after_a_pause_the_metadata_are_fetched_before_the_next_token_call(
    provider: Provider, server: Upstream, clock: Clock
) -> None:
    fail(provider)
    clock.now += 2
    call(provider)
    assert len(server.seen) == 1
    assert server.seen[0].startswith("GET /.well-known/openid-configuration")
    call(provider)
    assert len(server.seen) == 1


def test_a_token_call_is_never_the_probe(provider: Provider, server: Upstream, clock: Clock) -> None:
    fail(provider)
    server.script = lambda line, number: None
    for _ in range(5):
        clock.now += 2
        reached: list[bool] = []
        with pytest.raises(ProviderDown), provider.token_call():
            reached.append(True)
        assert not reached
