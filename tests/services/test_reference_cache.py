"""The reference cache: nobody is shown what was fetched for someone else, and only cacheable answers are cached.

Against a scripted care API on loopback, whose answers carry the mark of the token that asked.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from requests import Request

from portal.config.settings import Timeouts
from portal.http.circuit_breaker import Breakers
from portal.services import cached_session
from portal.services.cached_session import Memory
from portal.services.client import Care
from portal.services.decoding import Page
from portal.services.endpoints import LIST_CONSENTS, LIST_PHYSICIANS, UPDATE_CASE
from portal.services.errors import (
    BadResponse,
    CareError,
    CircuitOpen,
    NotAllowed,
    NotFound,
    TokenRefused,
    Unavailable,
)
from portal.services.records.physicians import Physician
from portal.services.reference_cache import ReferenceCache
from portal.store import StoreDown
from portal.store.sqlite import SqliteStore
from portal.store.vault import Vault
from tests.support.stack import free_port

KEYS = ("a-key-for-tests-a-key-for-tests-a-key-for-tests",)
ISSUER = "https://id.example"


@dataclass
class Answer:
    """What the API says next: a status, more headers, and a body in place of the usual one."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    hang_up: bool = False


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@dataclass
class Upstream:
    """A care API that answers with the mark of the token it was asked with, and whatever the script says."""

    script: deque[Answer] = field(default_factory=deque)
    seen: list[dict[str, str]] = field(default_factory=list)
    version: int = 1
    etag: bool = True

    def __post_init__(self) -> None:
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                upstream.seen.append({"path": self.path, **{k.lower(): v for k, v in self.headers.items()}})
                answer = upstream.script.popleft() if upstream.script else Answer()
                if answer.hang_up:
                    self.close_connection = True
                    return
                mark = self.headers["Authorization"].removeprefix("Bearer ").split("/")[0]
                name = f"{mark} v{upstream.version}"
                body = json.dumps({"items": [{"id": "1", "name": name}], "totalCount": 1}).encode()
                body = body if answer.body is None else answer.body
                status, etag = answer.status, f'"{name}"'
                if status == 200 and upstream.etag and self.headers.get("If-None-Match") == etag:
                    status, body = 304, b""
                self.send_response(status)
                if upstream.etag:
                    self.send_header("ETag", etag)
                for header, value in answer.headers:
                    self.send_header(header, value)
                self.send_header("Content-Type", "application/json")
                if status != 304:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_PUT = handle_any  # noqa: N815 (http.server's names)

            def log_message(self, format: str, *args: object) -> None:
                """Silence."""

        self.server = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def next(self, status: int = 200, *headers: tuple[str, str], **others: Any) -> None:
        self.script.append(Answer(status, headers, **others))

    def fail(self, status: int, *headers: tuple[str, str]) -> None:
        """Fail the next read for good: what may pass is tried once more."""
        for _ in range(1 if status == 500 else 2):
            self.next(status, *headers)

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@dataclass
class Token:
    """A person's token; it counts how often it was renewed."""

    mark: str
    renewed: int = 0

    def token(self) -> str:
        return f"{self.mark}/{self.renewed}"

    def renew(self, refused: str) -> str:
        self.renewed += 1
        return self.token()


class Clock:
    """requests-cache's own idea of the present, which tests move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = timedelta()
        for module in ("policy.actions", "policy.expiration", "models.response"):
            monkeypatch.setattr(f"requests_cache.{module}.utcnow", self.now)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def advance(self, **time: float) -> None:
        self.ahead += timedelta(**time)


def care_of(
    url: str,
    references: ReferenceCache,
    *,
    tenant: str = "riverside",
    sub: str = "nora",
    epoch: str = "1",
    language: str = "en",
    by_patient: bool = False,
    seconds: float = 10,
) -> Care:
    return Care(
        base_url=url,
        bearer=Token(f"{tenant}.{sub}.{epoch}.{language}"),
        timeouts=Timeouts(connect=1, read=2),
        deadline=time.monotonic() + seconds,
        language=language,
        correlation_id="1",
        references=references,
        partition=(ISSUER, tenant, sub, epoch),
        by_patient=by_patient,
    )


def read(care: Care, **query: str) -> str:
    return care.reference(LIST_PHYSICIANS, Page[Physician], query=query).value.items[0].name


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    running = Upstream()
    yield running
    running.stop()


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(str(tmp_path / "store.db"), time.time)


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Redis server of these tests' own, on loopback."""
    server, port = shutil.which("redis-server"), free_port()
    assert server, "tests/support/machine.py installs redis-server"
    folder = tmp_path_factory.mktemp("redis")
    command = [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    url = f"redis://127.0.0.1:{port}/0"
    wait_for_redis(url)
    yield url
    child.terminate()
    child.wait(timeout=10)


def wait_for_redis(url: str) -> None:
    from redis import ConnectionError, Redis

    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            with Redis.from_url(url) as client:
                client.flushdb()
                return
        except ConnectionError:
            time.sleep(0.02)
    raise AssertionError("Redis didn't start")


def cache(store: SqliteStore, url: str = "memory:", keys: tuple[str, ...] = KEYS) -> ReferenceCache:
    """The cache as another process would open it."""
    return ReferenceCache(Vault(store, KEYS), keys, time.time, url)


@pytest.fixture(params=["memory", "redis"])
def references(request: pytest.FixtureRequest, store: SqliteStore) -> ReferenceCache:
    if request.param == "memory":
        return cache(store)
    url = request.getfixturevalue("redis_url")
    wait_for_redis(url)
    return cache(store, url)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


# ── what is served from where ───────────────────────────────────────────────────────────────────────────


def test_a_person_is_served_their_cached_copy_for_five_minutes(upstream, references, clock):
    care = care_of(upstream.url, references)
    assert read(care) == read(care) == "riverside.nora.1.en v1"
    assert len(upstream.seen) == 1
    clock.advance(minutes=4, seconds=50)
    read(care)
    assert len(upstream.seen) == 1
    clock.advance(seconds=20)
    read(care)
    assert len(upstream.seen) == 2


@pytest.mark.parametrize(
    "other",
    [{"tenant": "harbour"}, {"sub": "victor"}, {"epoch": "2"}, {"language": "es"}],
    ids=["clinic", "person", "session", "language"],
)
def test_clinics_people_sessions_and_languages_have_separate_copies(upstream, references, other):
    read(care_of(upstream.url, references))
    asked = {"tenant": "riverside", "sub": "nora", "epoch": "1", "language": "en"} | other
    care = care_of(upstream.url, references, **asked)
    assert read(care) == ".".join(asked.values()) + " v1"
    assert len(upstream.seen) == 2


def test_another_query_has_its_own_copy(upstream, references):
    care = care_of(upstream.url, references)
    read(care, Filter="a")
    read(care, Filter="b")
    assert len(upstream.seen) == 2


def test_an_expired_copy_is_revalidated_by_etag(upstream, references, clock):
    care = care_of(upstream.url, references)
    read(care)
    for _ in range(2):
        clock.advance(minutes=6)
        assert read(care) == "riverside.nora.1.en v1"
        read(care)
    assert [call.get("if-none-match") for call in upstream.seen] == [None, *['"riverside.nora.1.en v1"'] * 2]


def test_a_changed_answer_replaces_an_expired_copy(upstream, references, clock):
    care = care_of(upstream.url, references)
    read(care)
    clock.advance(minutes=6)
    upstream.version = 2
    assert read(care) == read(care) == "riverside.nora.1.en v2"


def test_a_vary_on_language_does_not_prevent_caching(upstream, references):
    care = care_of(upstream.url, references)
    upstream.next(200, ("Vary", "Accept-Language, Authorization"))
    read(care, From="2026-11-16T00:00:00Z")
    read(care, From="2026-11-16T00:00:00Z")
    assert len(upstream.seen) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, (("Cache-Control", "private, No-Store"),)),
        Answer(200, (("Cache-Control", "no-store"), ("Cache-Control", "private"))),
        Answer(200, (("Cache-Control", "no-cache"),)),
        Answer(200, (("Set-Cookie", "who=nora"),)),
        Answer(200, (("Vary", "*"),)),
        Answer(200, (("X-Large", "1"),), b'{"items":[{"id":"1","name":"' + b"x" * 1024 * 1024 + b'"}]}'),
    ],
    ids=["no-store", "no-store in the first of two", "no-cache", "set-cookie", "vary *", "large"],
)
def test_an_uncacheable_answer_is_not_cached(upstream, references, answer):
    care = care_of(upstream.url, references)
    upstream.script.append(answer)
    read(care)
    read(care)
    assert len(upstream.seen) == 2
    assert "cookie" not in upstream.seen[1]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (203, BadResponse),
        (302, BadResponse),
        (400, CareError),
        (403, NotAllowed),
        (404, NotFound),
        (429, Unavailable),
    ],
)
def test_only_a_200_is_cached_and_a_refusal_does_not_serve_an_old_copy(
    upstream, references, clock, status, error
):
    care = care_of(upstream.url, references)
    read(care)
    clock.advance(minutes=6)
    upstream.next(status, ("Location", "http://elsewhere.example/"))
    with pytest.raises(error):
        read(care)
    assert read(care) == "riverside.nora.1.en v1"
    assert len(upstream.seen) == 3


def test_an_unreadable_answer_is_not_cached(upstream, references):
    care = care_of(upstream.url, references)
    upstream.next(200, body=b'{"items": [{"id"')
    with pytest.raises(BadResponse):
        read(care)
    assert read(care) == "riverside.nora.1.en v1"


@pytest.mark.asvs("14.2.2")
def test_no_endpoint_but_the_physicians_is_cached(references):
    with pytest.raises(ValueError, match="not reference data"):
        references.get(care_of("http://127.0.0.1:1", references), LIST_CONSENTS, Page[Physician], {})


def test_a_session_finds_only_its_own_persons_copies(upstream, references):
    care = care_of(upstream.url, references)
    read(care)
    url = f"{upstream.url}/api/calendar/resources/physicians"
    request = Request("GET", url, headers={"Accept": "application/json", "Accept-Language": "en"}).prepare()
    own = references._session(care, LIST_PHYSICIANS, "").cache
    assert own.get_response(own.create_key(request)) is not None
    victor = references._session(replace(care, partition=("", "", "", "")), LIST_PHYSICIANS, "").cache
    assert victor.get_response(victor.create_key(request)) is None


# ── failures ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_failing_api_is_covered_by_an_older_copy_with_its_time(upstream, references, clock, status):
    care = care_of(upstream.url, references)
    read(care)
    clock.advance(minutes=6)
    upstream.fail(status, ("Cache-Control", "no-store"))
    found = care.reference(LIST_PHYSICIANS, Page[Physician])
    assert found.value.items[0].name == "riverside.nora.1.en v1"
    assert found.as_of is not None
    assert abs(found.as_of - datetime.now(UTC)) < timedelta(seconds=5)
    assert care.reference(LIST_PHYSICIANS, Page[Physician]).as_of is None


def test_an_older_copy_says_when_it_was_last_found_unchanged(upstream, references, clock):
    care = care_of(upstream.url, references)
    read(care)
    clock.advance(minutes=30)
    read(care)
    clock.advance(minutes=6)
    upstream.fail(503)
    as_of = care.reference(LIST_PHYSICIANS, Page[Physician]).as_of
    assert as_of is not None
    assert abs(as_of - datetime.now(UTC) - timedelta(minutes=30)) < timedelta(seconds=5)


def test_a_truncated_answer_or_missing_server_is_covered_by_an_older_copy(upstream, references, clock):
    care = care_of(upstream.url, references)
    read(care)
    clock.advance(minutes=6)
    upstream.script.extend([Answer(hang_up=True)] * 3)
    assert care.reference(LIST_PHYSICIANS, Page[Physician]).as_of is not None
    upstream.stop()
    assert care.reference(LIST_PHYSICIANS, Page[Physician]).as_of is not None


def test_a_transient_failure_is_retried_unnoticed(upstream, references):
    upstream.next(503)
    found = care_of(upstream.url, references).reference(LIST_PHYSICIANS, Page[Physician])
    assert found.as_of is None
    assert found.value.items[0].name == "riverside.nora.1.en v1"


def test_an_api_behind_an_open_breaker_is_covered_by_an_older_copy(upstream, references, clock):
    care = replace(care_of(upstream.url, references), breakers=Breakers(2, lambda: 0.0))
    read(care)
    clock.advance(minutes=6)
    upstream.fail(503)
    assert care.reference(LIST_PHYSICIANS, Page[Physician]).as_of is not None
    asked = len(upstream.seen)
    assert care.reference(LIST_PHYSICIANS, Page[Physician]).as_of is not None
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


def test_the_page_s_deadline_holds_for_a_call_through_the_cache(upstream, references):
    with pytest.raises(Unavailable, match="page deadline"):
        read(care_of(upstream.url, references, seconds=0))
    assert upstream.seen == []


# ── generations ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_persons_write_invalidates_their_copies(upstream, references):
    care = care_of(upstream.url, references, by_patient=True)
    other = care_of(upstream.url, references, sub="grace", by_patient=True)
    read(care)
    read(other)
    care.act(UPDATE_CASE, object, body={}, id="1")
    upstream.version = 2
    assert read(care).endswith("v2")
    assert read(other).endswith("v1")


def test_a_staff_write_invalidates_the_clinics_copies_in_all_processes(upstream, store, references):
    nora, grace = care_of(upstream.url, references), care_of(upstream.url, references, sub="grace")
    maya = care_of(upstream.url, references, tenant="harbour", sub="maya")
    for care in (grace, maya):
        read(care)
    elsewhere = cache(store)
    nora_elsewhere = care_of(upstream.url, elsewhere)
    upstream.version = 2
    upstream.next(503)  # no answer that can be trusted: it may have happened
    with pytest.raises(Unavailable):
        nora_elsewhere.act(UPDATE_CASE, object, body={}, id="1")
    assert read(grace).endswith("v2")
    assert read(nora).endswith("v2")
    assert read(maya).endswith("v1")


def test_a_write_succeeds_even_if_the_store_cannot_record_the_invalidation(
    upstream, references, store, monkeypatch
):
    def down(*_: object, **__: object) -> None:
        raise StoreDown

    care = care_of(upstream.url, references)
    monkeypatch.setattr(store, "get", down)
    assert care.act(UPDATE_CASE, object, body={}, id="1") is not None


# ── where copies lie ────────────────────────────────────────────────────────────────────────────────────


def test_the_memory_cache_is_bounded_and_drops_the_least_recently_used(upstream, store, monkeypatch):
    monkeypatch.setattr(cached_session, "_MEMORY", 3000)
    references = cache(store)
    care = care_of(upstream.url, references)
    kept = references.copies.kept
    assert isinstance(kept, Memory)
    for number in range(20):
        read(care, Filter="first")
        read(care, Filter=str(number))
    assert 1 < len(kept.held) < 10
    assert kept.size == sum(map(len, kept.held.values())) <= 3000
    assert [call["path"] for call in upstream.seen].count(
        "/api/calendar/resources/physicians?Filter=first"
    ) == 1


def test_no_copy_contains_a_token(upstream, store):
    references = cache(store)
    read(care_of(upstream.url, references))
    (written,) = references.copies.kept.held.values()
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


def test_a_copy_encrypted_with_a_removed_key_counts_as_none(upstream, store, redis_url):
    wait_for_redis(redis_url)
    second = "another-key-another-key-another-key-another"
    for keys, calls in [(KEYS, 1), ((second, *KEYS), 1), ((second,), 2)]:
        references = cache(store, redis_url, keys)
        assert read(care_of(upstream.url, references)) == "riverside.nora.1.en v1"
        assert len(upstream.seen) == calls


def test_a_redis_outage_is_an_empty_cache(upstream, store):
    references = cache(store, f"redis://127.0.0.1:{free_port()}/0")
    care = care_of(upstream.url, references)
    assert read(care) == read(care) == "riverside.nora.1.en v1"
    assert len(upstream.seen) == 2


def test_threads_of_many_people_never_see_each_other_s_answers(upstream, references):
    people = [f"person{number}" for number in range(6)]

    def visit(number: int) -> bool:
        sub = people[number % len(people)]
        care = care_of(upstream.url, references, sub=sub, tenant=("riverside", "harbour")[number % 2])
        if number % 10 == 0:
            references.move_on(care)
        return f".{sub}." in read(care, Filter=str(number % 3))

    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(copy_context().run, visit, number) for number in range(300)]
        assert all(future.result() for future in futures)


def _content(written: bytes) -> bytes:
    import base64

    return base64.b64decode(json.loads(written)["_content"])


# ── the property ────────────────────────────────────────────────────────────────────────────────────────

HEADERS = st.lists(
    st.sampled_from(
        [
            ("Cache-Control", "private, max-age=300"),
            ("Cache-Control", "public, max-age=3600, stale-if-error=86400"),
            ("Cache-Control", "no-store"),
            ("CACHE-CONTROL", "Private, NO-STORE"),
            ("Cache-Control", "immutable"),
            ("Set-Cookie", "sid=upstream; Path=/"),
            ("Vary", "Accept-Language"),
            ("Vary", "Authorization"),
            ("Vary", "*"),
            ("Last-Modified", "Sat, 21 Nov 2026 09:00:00 GMT"),
            ("ETag", '"the same for all"'),
            ("Expires", "Sat, 21 Nov 2099 09:00:00 GMT"),
            ("Expires", "9" * 5000),
            ("Cache-Control", f"max-age={'9' * 5000}, stale-while-revalidate={'9' * 5000}"),
            ("Age", "9" * 5000),
        ]
    ),
    max_size=3,
    unique=True,
).map(tuple)
ANSWERS = st.lists(st.just(()) | HEADERS, min_size=4, max_size=4)
EVERYONE = [(tenant, sub) for tenant in ("riverside", "harbour") for sub in ("nora", "grace")]
TENANTS, SUBS = st.sampled_from(["riverside", "harbour"]), st.sampled_from(["nora", "grace"])
FAILURES = st.one_of(
    st.sampled_from([400, 401, 403, 404, 409, 429, 500, 501, 502, 503, 504, 204, 206, 304, 302]).map(
        lambda status: Answer(status, (("Location", "/elsewhere"),), b"")
    ),
    st.just(Answer(hang_up=True)),
    st.just(Answer(body=b'{"items": [')),
)


class NobodySeesAnother(RuleBasedStateMachine):
    """Two clinics, two people of the same name in each: whatever happens, each sees their own mark alone."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: dict[tuple[str, str], int] = {}
        self.version_after_write: dict[str, int] = {}

    @initialize(etag=st.booleans(), shared=st.booleans())
    def start(self, etag: bool, shared: bool) -> None:
        self.upstream = type(self).running
        self.upstream.script.clear()
        self.upstream.etag = etag
        type(self).examples += 1
        store = SqliteStore(str(type(self).folder / f"{type(self).examples}.db"), time.time)
        self.references = cache(store, type(self).redis_url if shared else "memory:")

    def care(self, tenant: str, sub: str, language: str = "en") -> Care:
        epoch = f"{type(self).examples}-{self.epochs.get((tenant, sub), 1)}"
        return care_of(
            self.upstream.url,
            self.references,
            tenant=tenant,
            sub=sub,
            epoch=epoch,
            language=language,
            by_patient=sub == "grace",
        )

    @rule(
        order=st.permutations(EVERYONE), language=st.sampled_from(["en", "en", "en", "ar"]), answers=ANSWERS
    )
    def everyone_reads(
        self, order: list[tuple[str, str]], language: str, answers: list[tuple[tuple[str, str], ...]]
    ) -> None:
        for (tenant, sub), headers in zip(order, answers, strict=True):
            self.upstream.script.append(Answer(headers=headers))
            self.sees_own(self.care(tenant, sub, language), tenant, sub, language)

    @rule(tenant=TENANTS, sub=SUBS, failure=FAILURES)
    def reads_while_it_fails(self, tenant: str, sub: str, failure: Answer) -> None:
        self.upstream.script.append(failure)
        self.sees_own(self.care(tenant, sub), tenant, sub, "en")

    @rule(tenant=TENANTS, sub=SUBS)
    def writes(self, tenant: str, sub: str) -> None:
        self.upstream.version += 1
        self.care(tenant, sub).act(UPDATE_CASE, object, body={}, id="1")
        self.version_after_write[f"{tenant}.{sub}"] = self.upstream.version
        if sub == "nora":
            self.version_after_write[tenant] = self.upstream.version

    @rule(tenant=TENANTS, sub=SUBS)
    def signs_out_and_in(self, tenant: str, sub: str) -> None:
        self.epochs[tenant, sub] = self.epochs.get((tenant, sub), 1) + 1

    @rule(minutes=st.sampled_from([1, 2, 6, 60 * 25]))
    def time_passes(self, minutes: int) -> None:
        type(self).clock.advance(minutes=minutes)

    def sees_own(self, care: Care, tenant: str, sub: str, language: str) -> None:
        try:
            name = read(care)
        except CareError:
            return
        finally:
            self.upstream.script.clear()
        mark, _, version = name.partition(" v")
        assert mark == f"{tenant}.{sub}.{care.partition[3]}.{language}"
        for own in (tenant, f"{tenant}.{sub}"):
            assert int(version) >= self.version_after_write.get(own, 0), "a copy from before their own write"


@pytest.mark.asvs("8.2.2", "14.2.2")
def test_no_sequence_of_events_shows_another_persons_copy(upstream, tmp_path, redis_url, clock):
    from hypothesis.stateful import run_state_machine_as_test

    wait_for_redis(redis_url)
    for name, value in {
        "running": upstream, "folder": tmp_path, "redis_url": redis_url, "clock": clock, "examples": 0
    }.items():  # fmt: skip
        setattr(NobodySeesAnother, name, value)
    run_state_machine_as_test(
        NobodySeesAnother,
        settings=settings(
            max_examples=30,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
