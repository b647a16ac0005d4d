"""Copies in memory and in Redis: bounded, without tokens, encrypted for one person."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from portal.services import reference_cache
from portal.services.reference_cache import Memory
from portal.store.sealer import Sealer
from tests.services.reference_cache.care_api import KEYS, cache, care_of, read, wait_for_redis
from tests.support.stack import free_port


def test_the_memory_cache_is_bounded_and_drops_the_least_recently_used(upstream, store, monkeypatch):
    monkeypatch.setattr(reference_cache, "_MEMORY", 3000)
    references = cache(store)
    care = care_of(upstream.url, references)
    kept = references.copies
    assert isinstance(kept, Memory)
    for number in range(20):
        read(care, filter="first")
        read(care, filter=str(number))
    assert 1 < len(kept.held) < 10
    assert kept.size == sum(map(len, kept.held.values())) <= 3000
    assert [call["path"] for call in upstream.seen].count(
        "/api/calendar/resources/physicians?SkipCount=0&MaxResultCount=200&Filter=first"
    ) == 1


def test_no_copy_contains_a_token(upstream, store):
    references = cache(store)
    read(care_of(upstream.url, references))
    ((name, sealed),) = references.copies.held.items()
    written = Sealer(KEYS, "cache").open(sealed, name.removeprefix(b"reference:"))
    assert written is not None
    assert b"riverside.nora.1.en v1" in _content(written)
    assert b"Bearer" not in written
    assert b"nora.1.en/0" not in written


@pytest.mark.asvs("14.2.2", "14.2.4")
def test_a_shared_copy_is_encrypted_for_its_own_partition(upstream, store, redis_url):
    from redis import Redis

    wait_for_redis(redis_url)
    references = cache(store, redis_url)
    read(care_of(upstream.url, references))
    with Redis.from_url(redis_url) as client:
        (name,) = client.keys("*")
        sealed = client.get(name)
        assert b"riverside" not in sealed
        assert b"_content" not in sealed
        assert 0 < client.ttl(name) <= 24 * 3600
        read(care_of(upstream.url, references, sub="victor"))
        for other in client.keys("*"):  # someone with access to Redis puts nora's copy in victor's place
            client.set(other, sealed)
    assert read(care_of(upstream.url, references, sub="victor")) == "riverside.victor.1.en v1"
    assert len(upstream.seen) == 3


def test_a_copy_encrypted_with_a_removed_key_is_ignored(upstream, store, redis_url):
    wait_for_redis(redis_url)
    second = "another-key-another-key-another-key-another"
    for keys, calls in [(KEYS, 1), ((second, *KEYS), 1), ((second,), 2)]:
        references = cache(store, redis_url, keys)
        assert read(care_of(upstream.url, references)) == "riverside.nora.1.en v1"
        assert len(upstream.seen) == calls


def test_during_a_redis_outage_every_read_asks_the_api(upstream, store):
    references = cache(store, f"redis://127.0.0.1:{free_port()}/0")
    care = care_of(upstream.url, references)
    assert read(care) == read(care) == "riverside.nora.1.en v1"
    assert len(upstream.seen) == 2


def test_concurrent_people_never_see_each_others_answers(upstream, references):
    people = [f"person{number}" for number in range(6)]

    def visit(number: int) -> bool:
        sub = people[number % len(people)]
        care = care_of(upstream.url, references, sub=sub, tenant=("riverside", "harbour")[number % 2])
        if number % 10 == 0:
            references.move_on(care)
        return f".{sub}." in read(care, filter=str(number % 3))

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(copy_context().run, visit, number) for number in range(300)]
        assert all(future.result() for future in futures)


def _content(written: bytes) -> bytes:
    import base64

    return base64.b64decode(json.loads(written)["_content"])
