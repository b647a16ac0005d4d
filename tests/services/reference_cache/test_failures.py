"""While the API fails, a person is served their own older copy with its time, for at most a day."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from portal.http.circuit_breaker import Breakers
from portal.services.errors import CircuitOpen, TokenRefused, Unavailable
from portal.services.physicians import LIST_PHYSICIANS
from tests.services.reference_cache.care_api import ISSUER, Answer, Clock, care_of, read


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_failing_api_is_covered_by_an_older_copy_with_its_time(upstream, references, clock, status):
    care = care_of(upstream.url, references)
    read(care)
    clock.advance(minutes=6)
    upstream.fail(status, ("Cache-Control", "no-store"))
    found = care.reference(LIST_PHYSICIANS)
    assert found.value.items[0].name == "riverside.nora.1.en v1"
    assert found.as_of is not None
    assert abs(found.as_of - datetime.now(UTC)) < timedelta(seconds=5)
    assert care.reference(LIST_PHYSICIANS).as_of is None


def test_an_older_copy_says_when_it_was_last_found_unchanged(upstream, references, clock):
    care = care_of(upstream.url, references)
    read(care)
    clock.advance(minutes=30)
    read(care)
    clock.advance(minutes=6)
    upstream.fail(503)
    as_of = care.reference(LIST_PHYSICIANS).as_of
    assert as_of is not None
    assert abs(as_of - datetime.now(UTC) - timedelta(minutes=30)) < timedelta(seconds=5)


def test_a_truncated_answer_or_missing_server_is_covered_by_an_older_copy(upstream, references, clock):
    care = care_of(upstream.url, references)
    read(care)
    clock.advance(minutes=6)
    upstream.script.extend([Answer(hang_up=True)] * 3)
    assert care.reference(LIST_PHYSICIANS).as_of is not None
    upstream.stop()
    assert care.reference(LIST_PHYSICIANS).as_of is not None


def test_a_transient_failure_is_retried_unnoticed(upstream, references):
    upstream.next(503)
    found = care_of(upstream.url, references).reference(LIST_PHYSICIANS)
    assert found.as_of is None
    assert found.value.items[0].name == "riverside.nora.1.en v1"


def test_an_api_behind_an_open_breaker_is_covered_by_an_older_copy(upstream, references, clock):
    care = replace(care_of(upstream.url, references), breakers=Breakers(2, lambda: 0.0))
    read(care)
    clock.advance(minutes=6)
    upstream.fail(503)
    assert care.reference(LIST_PHYSICIANS).as_of is not None
    asked = len(upstream.seen)
    assert care.reference(LIST_PHYSICIANS).as_of is not None
    assert len(upstream.seen) == asked
    with pytest.raises(CircuitOpen):
        read(replace(care, partition=(ISSUER, "riverside", "victor", "1")))


def test_a_failure_without_a_copy_is_an_error(upstream, references):
    upstream.fail(503, ("Retry-After", "7"))
    with pytest.raises(Unavailable) as raised:
        read(care_of(upstream.url, references))
    assert raised.value.retry_after == 7


def test_another_persons_copy_is_never_served(upstream, references, clock):
    read(care_of(upstream.url, references))
    upstream.fail(503)
    with pytest.raises(Unavailable):
        read(care_of(upstream.url, references, sub="victor"))


def test_a_copy_older_than_a_day_is_not_served(upstream, references, monkeypatch):
    care = care_of(upstream.url, references)
    with monkeypatch.context() as then:
        Clock(then).advance(hours=-25)
        read(care)
    upstream.fail(503)
    with pytest.raises(Unavailable):
        read(care)


def test_a_token_refused_again_after_renewal_is_an_error(upstream, references, clock):
    care = care_of(upstream.url, references)
    upstream.next(401)
    assert read(care) == "riverside.nora.1.en v1"
    assert upstream.seen[-1]["authorization"] == "Bearer riverside.nora.1.en/1"
    clock.advance(minutes=6)
    upstream.next(401)
    upstream.next(401)
    with pytest.raises(TokenRefused):
        read(care)


def test_the_pages_deadline_applies_to_a_call_through_the_cache(upstream, references):
    with pytest.raises(Unavailable, match="page deadline"):
        read(care_of(upstream.url, references, seconds=0))
    assert upstream.seen == []
