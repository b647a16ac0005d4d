"""Compression of responses with brotli or gzip (RFC 9110 §8.4.1, RFC 7932), at the levels that docs/performance.md compares.

An observer of response lengths could otherwise guess secrets that repeat in compressed pages (BREACH). So the CSRF token
is masked differently in each response, the CSP nonce is new each time, and session ids and access tokens are in no page.
Streams aren't compressed; static files are compressed beforehand (`portal.web.static`).
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import Any, Literal, cast

import brotli
from flask import Flask, Response, request
from werkzeug.datastructures import Accept
from werkzeug.http import parse_accept_header

Encoding = Literal["br", "gzip"]

_brotli = cast("Any", brotli)
_TYPES = frozenset({"text/html", "text/css", "application/json", "application/manifest+json"})
_SMALLEST = 1024
"""Bytes; smaller responses aren't worth compressing."""
_BROTLI_LEVEL, _GZIP_LEVEL = 5, 1
_WINDOW = 18
"""Brotli's window as a power of two: 256 KiB, larger than any page; a larger one only costs memory."""


def init_app(app: Flask) -> None:
    """Compress responses after all other handlers."""
    app.after_request(_compress)


def _compress(response: Response) -> Response:
    if (
        response.mimetype not in _TYPES
        or response.is_streamed
        or response.direct_passthrough
        or response.status_code in (204, 206, 304)
        or "Content-Encoding" in response.headers
        or "no-transform" in response.headers.get("Cache-Control", "")
    ):
        return response
    body = response.get_data()
    if len(body) < _SMALLEST:
        return response
    response.vary.add("Accept-Encoding")
    encoding = best_encoding(request.headers.get("Accept-Encoding", ""))
    if encoding is None:
        return response
    response.set_data(_encoded(body, encoding))
    response.headers["Content-Encoding"] = encoding
    etag, is_weak = response.get_etag()
    if etag is not None and not is_weak:
        response.set_etag(etag, weak=True)  # other bytes with the same meaning (RFC 9110 §8.8.1)
    return response


@lru_cache(512)
def best_encoding(accepted: str) -> Encoding | None:
    """Return the encoding that an `Accept-Encoding` header prefers, brotli if both are equal; None if it accepts neither."""
    offered = parse_accept_header(accepted[:200], Accept)
    encodings: tuple[Encoding, ...] = ("br", "gzip")
    qualities: dict[Encoding, float] = {encoding: offered.quality(encoding) for encoding in encodings}
    preferred = max(encodings, key=lambda encoding: qualities[encoding])
    return preferred if qualities[preferred] > 0 else None


def compress_fully(body: bytes, encoding: Encoding | None) -> bytes:
    """Return the body compressed at the highest level, for content that is cached; unchanged if `encoding` is None."""
    return _encoded(body, encoding, brotli_quality=11, gzip_level=9) if encoding else body


class Stream:
    """A body compressed part by part, so that each can be read when it comes; `encoding` None leaves it as it is."""

    def __init__(self, encoding: Encoding | None) -> None:
        self.encoding = encoding
        self._brotli: Any = None
        self._gzip: Any = None
        if encoding == "br":
            self._brotli = _brotli.Compressor(mode=_brotli.MODE_TEXT, quality=_BROTLI_LEVEL, lgwin=_WINDOW)
        elif encoding == "gzip":
            self._gzip = zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)

    def part(self, body: bytes) -> bytes:
        if self._brotli:
            return self._brotli.process(body) + self._brotli.flush()
        return self._gzip.compress(body) + self._gzip.flush(zlib.Z_SYNC_FLUSH) if self._gzip else body

    def last(self, body: bytes) -> bytes:
        """Return what to send of the last part, and the end."""
        if self._brotli:
            return self._brotli.process(body) + self._brotli.finish()
        return self._gzip.compress(body) + self._gzip.flush() if self._gzip else body


def _encoded(
    body: bytes, encoding: Encoding, *, brotli_quality: int = _BROTLI_LEVEL, gzip_level: int = _GZIP_LEVEL
) -> bytes:
    if encoding == "br":
        return _brotli.compress(body, mode=_brotli.MODE_TEXT, quality=brotli_quality, lgwin=_WINDOW)
    packing = zlib.compressobj(gzip_level, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return packing.compress(body) + packing.flush()
