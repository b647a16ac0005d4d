"""A scripted care API on loopback, whose answers carry the mark of the request's token, and the cache in front of it."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from portal.config.variables import Timeouts
from portal.services.client import Care
from portal.services.physicians import LIST_PHYSICIANS, PhysicianQuery
from portal.services.reference_cache import ReferenceCache
from portal.store.sqlite import SqliteStore
from portal.store.vault import Vault

KEYS = ("a-key-for-tests-a-key-for-tests-a-key-for-tests",)
ISSUER = "https://id.example"


@dataclass
class Answer:
    """The API's next answer: its status, further headers, and a body instead of the usual one."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    hang_up: bool = False


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@dataclass
class Upstream:
    """A care API that answers with the mark of the request's token, or with what the script says."""

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
        """Let the next read fail, and its retry where there is one."""
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
    """The present as requests-cache sees it, moved by tests."""

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
    asked = PhysicianQuery(skip_count=0, max_result_count=200, **query) if query else None
    return care.reference(LIST_PHYSICIANS, query=asked).value.items[0].name


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
