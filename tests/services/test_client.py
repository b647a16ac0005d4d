"""The client of the care API: what it retries, and what it never does."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import pytest
from joserfc import jws

from portal.config.strong_sign_in import Strength
from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.file import DialectError, parse_dialect
from portal.http import transport
from portal.http.circuit_breaker import Breakers
from portal.services import client
from portal.services.client import Care
from portal.services.consents import READ_CONSENT, SIGN_CONSENT
from portal.services.conversations import LIST_CONVERSATIONS, ConversationQuery
from portal.services.demand import Demand
from portal.services.errors import (
    BadResponse,
    CareError,
    CircuitOpen,
    Invalid,
    NotFound,
    SortRefused,
    StepUpNeeded,
    TokenRefused,
    Unavailable,
)
from portal.services.files import READ_FILE_CONTENT, FileQuery
from portal.services.gather import gather
from portal.services.prospects import MERGE_PROSPECTS
from portal.signin.dpop import Nonces, Prover
from portal.signin.service_client import ServiceCare
from tests.support.care import Bearer, untyped
from tests.support.upstream import Make, ok


def cutting(times: int, answer: bytes) -> Callable[[str, int], bytes | None]:
    """A script that closes the first connections without an answer."""
    left = [times]

    def script(line: str, number: int) -> bytes | None:
        left[0] -= 1
        return None if left[0] >= 0 else answer

    return script


def sign(care: Care) -> object:
    return care.act(untyped(SIGN_CONSENT), {}, operation="one", id="form")


def test_a_read_is_retried_after_a_cut_connection(upstream: Make, care_at: Callable[..., Care]) -> None:
    server = upstream(cutting(1, ok(b'{"id": "form"}')))
    assert care_at(server).read(untyped(READ_CONSENT), id="form") == {"id": "form"}


def one_nonce_each() -> Callable[[str, int], bytes | None]:
    """A script that refuses what has no nonce of its own, and gives one."""
    refused = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nDPoP-Nonce: own\r\n"
    left = [refused.encode() + b'WWW-Authenticate: DPoP error="use_dpop_nonce"\r\n\r\n']
    return lambda line, number: left.pop() if left else ok()


@pytest.mark.parametrize(
    "call",
    [
        lambda care: care.read(untyped(READ_CONSENT), id="form"),
        lambda care: care.act(untyped(SIGN_CONSENT), {}, operation="one", id="form"),
        lambda care: b"".join(care.open(READ_FILE_CONTENT, query=FileQuery(id="file")).chunks),
    ],
    ids=["read", "act", "file"],
)
def test_a_call_refused_for_want_of_a_nonce_is_sent_once_more_with_its_own(
    upstream: Make, care_at: Callable[..., Care], call: Callable[[Care], object]
) -> None:
    class Others(Prover):
        """Of a person whose other calls have got nonces meanwhile."""

        def proof(self, *args: Any, **named: Any) -> str:
            self.learn(server.url, {"DPoP-Nonce": "another's"})
            return super().proof(*args, **named)

    server = upstream(one_nonce_each())
    call(care_at(server, prover=Others.new(Nonces())))
    nonces = []
    for head in server.heads:
        (proof,) = re.findall(r"^DPoP: (\S+)", head, re.MULTILINE)
        nonces.append(json.loads(jws.extract_compact(proof.encode()).payload)["nonce"])
    assert nonces == ["another's", "own"]


@pytest.mark.parametrize("is_dpop", [True, False])
def test_a_file_that_was_refused_is_given_back_before_it_is_asked_for_again(
    upstream: Make, care_at: Callable[..., Care], monkeypatch: pytest.MonkeyPatch, is_dpop: bool
) -> None:
    given_back: list[object] = []
    monkeypatch.setattr(client, "close", given_back.append)
    refusals = [b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"]
    server = upstream(
        one_nonce_each() if is_dpop else lambda line, number: refusals.pop() if refusals else ok()
    )
    care = care_at(server, prover=Prover.new(Nonces())) if is_dpop else care_at(server)
    file = care.open(READ_FILE_CONTENT, query=FileQuery(id="file"))
    assert len(given_back) == 1 and given_back != [file.chunks]


def test_an_act_without_a_response_is_not_retried_and_its_outcome_is_unknown(
    upstream: Make, care_at: Callable[..., Care]
) -> None:
    server = upstream(cutting(1, ok()))
    with pytest.raises(Unavailable) as caught:
        sign(care_at(server))
    assert not caught.value.outcome_known
    assert len(server.seen) == 1


def test_an_act_is_retried_if_the_api_honours_idempotency_keys(
    upstream: Make, care_at: Callable[..., Care]
) -> None:
    server = upstream(cutting(1, ok(b"{}")))
    assert sign(care_at(server, idempotency=True)) == {}
    assert len(server.seen) == 2
    assert all("Idempotency-Key: one" in head for head in server.heads)


def test_an_act_without_a_response_twice_has_an_unknown_outcome(
    upstream: Make, care_at: Callable[..., Care]
) -> None:
    server = upstream(cutting(5, ok(b"{}")))
    with pytest.raises(Unavailable) as caught:
        sign(care_at(server, idempotency=True))
    assert not caught.value.outcome_known
    assert len(server.seen) == 2


def test_a_refused_token_is_renewed_once(upstream: Make, care_at: Callable[..., Care]) -> None:
    refused = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
    server = upstream(lambda line, number: refused)
    with pytest.raises(TokenRefused):
        care_at(server).read(untyped(READ_CONSENT), id="form")
    assert [head.partition("Bearer ")[2].split()[0] for head in server.heads] == ["first", "second"]


def test_a_challenge_for_a_fresh_sign_in_does_not_renew_the_token(
    upstream: Make, care_at: Callable[..., Care]
) -> None:
    challenge = b'Bearer realm="care", error="insufficient_user_authentication", max_age="300"'
    refused = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: %b\r\nContent-Length: 0\r\n\r\n" % challenge
    server = upstream(lambda line, number: refused)
    with pytest.raises(StepUpNeeded) as caught:
        sign(care_at(server))
    assert caught.value.demand == Demand(300)
    assert len(server.seen) == 1, "the call must not be repeated"


def test_a_challenge_for_a_strength_that_the_sign_in_has_refuses_the_token(
    upstream: Make, care_at: Callable[..., Care]
) -> None:
    challenge = b'Bearer error="insufficient_user_authentication", acr_values="mfa phr"'
    refused = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: %b\r\nContent-Length: 0\r\n\r\n" % challenge
    server = upstream(lambda line, number: refused)
    weak = replace(care_at(server), suffices=lambda demand: demand.strength is None)
    with pytest.raises(StepUpNeeded) as caught:
        sign(weak)
    assert caught.value.demand == Demand(strength=Strength(acr=("mfa", "phr")))
    with pytest.raises(TokenRefused):  # it would go round for ever
        sign(care_at(server))


@pytest.mark.parametrize(
    "challenge", [b"Bearer", b'Bearer error="insufficient_user_authentication", max_age="1"']
)
def test_a_service_clients_refused_token_is_no_fault_of_who_sees_the_page(
    upstream: Make, care_at: Callable[..., Care], challenge: bytes
) -> None:
    refused = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: %b\r\nContent-Length: 0\r\n\r\n" % challenge
    care = care_at(upstream(lambda line, number: refused))
    service = ServiceCare(clinic="riverside", **{one.name: getattr(care, one.name) for one in fields(care)})
    with pytest.raises(Unavailable, match="service client refused") as caught:
        sign(service)
    assert caught.value.is_undone


def test_an_act_that_needs_a_fresh_sign_in_is_not_sent_after_an_old_one(
    upstream: Make, care_at: Callable[..., Care]
) -> None:
    server = upstream(lambda line, number: ok(b"{}"))
    care = replace(care_at(server), suffices=lambda demand: demand.max_age >= 1000)
    with pytest.raises(StepUpNeeded):
        sign(care)
    assert server.seen == []
    assert care.act(untyped(SIGN_CONSENT), {}, operation="one", demand=Demand(1200), id="form") == {}


@pytest.mark.parametrize("record", ["a/b", "a b", "%2e%2e", "é", "?x=1", "..;", "..."])
@pytest.mark.asvs("1.1.2", "1.2.2", "1.3.3")
def test_an_id_stays_one_segment_of_the_path(
    upstream: Make, care_at: Callable[..., Care], record: str
) -> None:
    server = upstream(lambda line, number: ok(b'{"id": "x"}'))
    care_at(server).read(untyped(READ_CONSENT), id=record)
    path = server.seen[0].split()[1]
    assert path.startswith("/api/care/consent-forms/")
    assert path.count("/") == 4
    assert "?" not in path


def answers(*statuses: int, headers: str = "") -> Callable[[str, int], bytes | None]:
    """A script that answers with these statuses in turn, the last one for ever."""
    left = list(statuses)

    def script(line: str, number: int) -> bytes | None:
        status = left.pop(0) if len(left) > 1 else left[0]
        body = b'{"id": "form"}'
        return f"HTTP/1.1 {status} Some\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body

    return script


def read(care: Care) -> object:
    return care.read(untyped(READ_CONSENT), id="form")


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_read_is_retried_after_a_transient_failure(
    upstream: Make, care_at: Callable[..., Care], status: int
) -> None:
    server = upstream(answers(status, 200))
    assert read(care_at(server)) == {"id": "form"}


@pytest.mark.parametrize("status", [400, 403, 404, 429, 500, 501])
def test_a_read_is_not_retried_after_a_permanent_failure(
    upstream: Make, care_at: Callable[..., Care], status: int
) -> None:
    server = upstream(answers(status, 200))
    with pytest.raises(CareError):
        read(care_at(server))
    assert len(server.seen) == 1


def test_a_short_retry_after_is_waited_for_and_a_long_one_is_not(
    upstream: Make, care_at: Callable[..., Care]
) -> None:
    server = upstream(answers(503, 200, headers="Retry-After: 3600\r\n"))
    began = time.monotonic()
    assert read(care_at(server)) == {"id": "form"}
    assert 1.0 <= time.monotonic() - began < 4


def test_nothing_is_retried_shortly_before_the_pages_deadline(
    upstream: Make, care_at: Callable[..., Care]
) -> None:
    server = upstream(answers(503, 200, headers="Retry-After: 7\r\n"))
    care = replace(care_at(server), deadline=time.monotonic() + 0.9)
    with pytest.raises(Unavailable) as caught:
        read(care)
    assert caught.value.retry_after == 7
    assert len(server.seen) == 1


def test_a_call_waiting_for_its_retry_does_not_block_the_others(
    upstream: Make, care_at: Callable[..., Care]
) -> None:
    slow = care_at(upstream(answers(503, 200, headers="Retry-After: 1\r\n")))
    quick = care_at(upstream(answers(200)))
    began = time.monotonic()
    took: list[float] = []

    def timed() -> object:
        found = read(quick)
        took.append(time.monotonic() - began)
        return found

    assert gather(lambda: read(slow), lambda: (timed(), timed())[1]) == ({"id": "form"}, {"id": "form"})
    assert took[-1] < 0.9


class Stopped:
    """A clock that stands still."""

    def __call__(self) -> float:
        return 1000.0


@pytest.fixture
def breakers() -> Breakers:
    return Breakers(3, Stopped())


@pytest.mark.parametrize("status", [500, 502, 503, 504, None])
def test_calls_that_keep_failing_are_blocked_by_the_breaker(
    upstream: Make, care_at: Callable[..., Care], breakers: Breakers, status: int | None
) -> None:
    server = upstream(answers(status) if status else cutting(100, ok()))
    care = care_at(server, breakers=breakers)
    for _ in range(3):
        with pytest.raises(Unavailable):
            read(care)
    asked = len(server.seen)
    assert asked == 3, "no retry once the breaker is open"
    with pytest.raises(CircuitOpen) as held_back:
        read(care)
    with pytest.raises(CircuitOpen):
        care.open(READ_CONSENT, query={})
    assert held_back.value.retry_after is not None
    assert len(server.seen) == asked


def test_an_act_blocked_by_the_breaker_is_known_not_to_have_been_sent(
    upstream: Make, care_at: Callable[..., Care], breakers: Breakers
) -> None:
    server = upstream(answers(500))
    care = care_at(server, breakers=breakers)
    for _ in range(3):
        with pytest.raises(Unavailable):
            read(care)
    with pytest.raises(CircuitOpen) as held_back:
        sign(care)
    assert held_back.value.outcome_known
    assert held_back.value.is_undone
    assert not any("/sign" in line for line in server.seen)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 412, 422, 429, 501])
def test_refusals_never_open_the_breaker(
    upstream: Make, care_at: Callable[..., Care], breakers: Breakers, status: int
) -> None:
    care = care_at(upstream(answers(status)), breakers=breakers)
    for _ in range(10):
        with pytest.raises(CareError) as caught:
            read(replace(care, bearer=Bearer()))
        assert not isinstance(caught.value, CircuitOpen)


def test_acts_of_a_group_without_reads_are_never_blocked(
    upstream: Make, care_at: Callable[..., Care], breakers: Breakers
) -> None:
    server = upstream(answers(500))
    care = care_at(server, breakers=breakers)
    for _ in range(10):
        with pytest.raises(Unavailable) as caught:
            care.act(untyped(MERGE_PROSPECTS), None, id="one", mergeId="other")
        assert not caught.value.outcome_known
    assert len(server.seen) == 10


def test_a_timeout_at_the_pages_deadline_does_not_count_for_the_breaker(
    upstream: Make, care_at: Callable[..., Care], breakers: Breakers
) -> None:
    server = upstream(lambda line, number: b"")
    for _ in range(5):
        with pytest.raises(Unavailable):
            read(replace(care_at(server, breakers=breakers), deadline=time.monotonic() + 0.05))
    assert breakers.of(server.url, READ_CONSENT.group).is_closed


@pytest.mark.parametrize(("given", "logged"), [("api-7f3", "api-7f3"), ("a-test", None), ("<b>\u00e9", None)])
def test_the_apis_request_id_of_a_failed_call_is_logged(
    upstream: Make,
    care_at: Callable[..., Care],
    caplog: pytest.LogCaptureFixture,
    given: str,
    logged: str | None,
) -> None:
    server = upstream(answers(500, headers=f"X-Correlation-Id: {given}\r\n"))
    logger = logging.getLogger("portal")
    logger.addHandler(caplog.handler)
    try:
        with pytest.raises(Unavailable):
            read(care_at(server))
    finally:
        logger.removeHandler(caplog.handler)
    line = next(record for record in caplog.records if record.getMessage() == "call failed")
    assert getattr(line, "upstream", None) == logged
    assert getattr(line, "group") == "ConsentForm"  # noqa: B009
    assert "X-Correlation-Id: a-test" in server.heads[0]


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "+2", "1e3", "0x10", "\u0662", "two", "", "2, 2"])
def test_an_invalid_content_length_counts_as_unknown(
    care_at: Callable[..., Care], monkeypatch: pytest.MonkeyPatch, length: str
) -> None:
    """libcurl refuses most of these itself; the portal doesn't lean on it."""
    status = 200
    monkeypatch.setattr(transport, "stream", lambda call: (status, {"content-length": length}, iter([b"{}"])))
    care = care_at(SimpleNamespace(url="http://127.0.0.1:9"))
    assert care.open(READ_FILE_CONTENT, query=FileQuery(id="file")).size is None
    status = 404
    with pytest.raises(NotFound):
        care.open(READ_FILE_CONTENT, query=FileQuery(id="file"))


def in_dialect(care: Care, text: str) -> Care:
    return replace(care, adapter=Dialect(parse_dialect(text)))


@pytest.mark.parametrize(("status", "said"), [(204, b""), (404, b'{"code": "NO-ROWS"}')])
def test_an_answer_that_says_that_a_list_is_empty(
    status: int, said: bytes, upstream: Make, care_at: Callable[..., Care]
) -> None:
    head = f"HTTP/1.1 {status} Some\r\nContent-Length: {len(said)}\r\n\r\n".encode()
    care = care_at(upstream(lambda _line, _number: head + said))
    query = ConversationQuery(skip_count=0, max_result_count=10)
    with pytest.raises((BadResponse, NotFound)):
        care.read(LIST_CONVERSATIONS, query=query)
    told = '[lists]\nempty = [204, "NO-ROWS"]\n[errors]\ncode = "code"'
    page = in_dialect(care, told).read(LIST_CONVERSATIONS, query=query)
    assert page.listed.is_whole
    assert page.items == ()


def test_a_dialect_names_the_method(upstream: Make, care_at: Callable[..., Care]) -> None:
    server = upstream(lambda line, _number: ok() if line.startswith("PATCH ") else None)
    in_dialect(care_at(server), '[methods]\nPOST = "PATCH"').act(untyped(SIGN_CONSENT), {}, id="form")
    assert server.seen[0].startswith("PATCH ")


def test_a_file_is_fetched_only_from_a_named_origin_and_without_the_token(
    upstream: Make, care_at: Callable[..., Care], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = upstream(lambda _line, _number: ok(b"%PDF"))
    care = care_at(upstream(answers(302, headers=f"Location: {store.url}/signed?x=1\r\n")))
    with pytest.raises(BadResponse, match="status 302"):
        care.open(READ_FILE_CONTENT, query=FileQuery(id="f"))
    assert store.seen == []
    monkeypatch.setattr(Dialect, "redirects_to", lambda _self, address: address.startswith(store.url))
    content = in_dialect(care, "").open(READ_FILE_CONTENT, query=FileQuery(id="f"), range_header="bytes=0-3")
    assert b"".join(content.chunks) == b"%PDF"
    assert store.seen[0].startswith("GET /signed?x=1 ")
    assert "authorization" not in store.heads[0].lower()


def test_redirects_go_to_named_origins_alone() -> None:
    dialect = Dialect(parse_dialect('files.redirects = ["https://files.example.org"]'))
    assert dialect.redirects_to("https://files.example.org/a?b")
    for other in (
        "http://files.example.org/a",
        "https://files.example.org.evil.example/a",
        "https://files.example.org@evil.example/a",
        "//files.example.org/a",
        "",
    ):
        assert not dialect.redirects_to(other), other
    with pytest.raises(DialectError, match="must be origins"):
        parse_dialect('files.redirects = ["http://files.example.org"]')


@pytest.mark.parametrize(
    ("sorting", "text", "error"),
    [("title desc", None, SortRefused), (None, "scan", Invalid), (None, None, BadResponse)],
)
def test_a_refused_read_is_no_fault_of_what_was_entered_unless_something_was(
    sorting: str | None,
    text: str | None,
    error: type[CareError],
    upstream: Make,
    care_at: Callable[..., Care],
) -> None:
    query = ConversationQuery(skip_count=0, max_result_count=10, sorting=sorting, filter=text)
    with pytest.raises(error):
        care_at(upstream(answers(400))).read(LIST_CONVERSATIONS, query=query)
