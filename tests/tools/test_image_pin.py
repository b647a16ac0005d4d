"""Pinning the base image by the registry's digest, or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hostile import Answer, _Handler, _Local
from tests.support.stack import free_port
from tools.image_pin import DOCKERFILE, NoDigest, pin

MANIFEST = b'{"schemaVersion": 2, "manifests": []}'
DIGEST = f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}"


class Registry:
    """Wants a token, as the usual one does, and names `digest` for its one manifest."""

    def __init__(self) -> None:
        import threading

        self.digest = DIGEST
        self._server = _Local(("127.0.0.1", 0), _Handler)
        self._server.answer = self._answer  # type: ignore[attr-defined]
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()

    def _answer(self, handler: _Handler, _body: bytes) -> None:
        if handler.path.startswith("/token?service=registry&scope=pull"):
            handler.reply(Answer('{"token": "t"}'))
        elif handler.headers.get("Authorization") != "Bearer t":
            challenge = f'Bearer realm="{self.address}/token",service="registry",scope="pull"'
            handler.reply(Answer(status=401, headers={"WWW-Authenticate": challenge}))
        elif handler.path == "/v2/library/python/manifests/3.11-slim-bookworm":
            handler.reply(Answer(MANIFEST, headers={"Docker-Content-Digest": self.digest}))
        else:
            handler.reply(Answer(status=404))

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def registry() -> Iterator[Registry]:
    running = Registry()
    yield running
    running.stop()


@pytest.fixture
def dockerfile(tmp_path: Path) -> Path:
    copy = tmp_path / "Dockerfile"
    copy.write_text(DOCKERFILE.read_text())
    return copy


def test_every_stage_is_pinned_to_the_digest_and_updated_later(dockerfile: Path, registry: Registry) -> None:
    pinned = f"FROM python:3.11-slim-bookworm@{DIGEST}"
    assert pin(dockerfile, registry.address) == [f"python:3.11-slim-bookworm@{DIGEST}"]
    assert dockerfile.read_text().count(pinned) == 2
    dockerfile.write_text(dockerfile.read_text().replace(DIGEST, f"sha256:{'0' * 64}"))
    pin(dockerfile, registry.address)
    assert dockerfile.read_text().count(pinned) == 2


def test_a_digest_that_does_not_match_the_manifest_is_refused(dockerfile: Path, registry: Registry) -> None:
    registry.digest = f"sha256:{'0' * 64}"
    before = dockerfile.read_text()
    with pytest.raises(NoDigest, match="another digest"):
        pin(dockerfile, registry.address)
    assert dockerfile.read_text() == before


def test_without_a_registry_nothing_is_pinned(dockerfile: Path) -> None:
    before = dockerfile.read_text()
    with pytest.raises(NoDigest, match="can't be reached"):
        pin(dockerfile, f"http://127.0.0.1:{free_port()}")
    assert dockerfile.read_text() == before
