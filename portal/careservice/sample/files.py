"""Small realistic files, generated in code: PDFs and pictures."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Sequence
from math import isqrt


def pdf(title: str, lines: Sequence[str]) -> bytes:
    """A PDF of one page: a title and lines of text (Latin-1)."""
    text = ["BT /F1 18 Tf 56 780 Td", f"({_escaped(title)}) Tj", "/F1 11 Tf 0 -34 Td 16 TL"]
    text += [f"({_escaped(line)}) Tj T*" for line in lines]
    stream = " ".join([*text, "ET"]).encode("latin-1", "replace")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    out = bytearray(b"%PDF-1.4\n")
    offsets: list[int] = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def scan(width: int = 320, height: int = 240) -> bytes:
    """A grey PNG with dark round follicles, like an ultrasound scan."""
    circles = ((90, 100, 34), (150, 70, 30), (200, 130, 28), (120, 170, 24), (245, 90, 20))
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        for x in range(width):
            inside = any((x - cx) ** 2 + (y - cy) ** 2 < r * r for cx, cy, r in circles)
            rows.append(18 if inside else 90 + (x * 7 + y * 13) % 60)
    return _png(width, height, 0, bytes(rows))


def time_lapse_still(seed: str) -> bytes:
    """A grey PNG of about 3 MB: an embryo of four cells with a camera's grain, like a still from a time-lapse incubator."""
    grain, five_bits = random.Random(seed), int.from_bytes(b"\x1f" * _STILL)
    rows = bytearray()
    for y in range(_STILL):
        row = bytearray(b"\x48" * _STILL)
        for cx, cy, radius, grey in _EMBRYO:
            if (reach := radius**2 - (y - cy) ** 2) > 0:
                half = isqrt(reach)
                row[cx - half : cx + half] = bytes([grey]) * (2 * half)
        # No byte of a row exceeds 224, so that none carries over when the grain is added.
        noise = int.from_bytes(grain.randbytes(_STILL)) & five_bits
        rows += b"\0" + (int.from_bytes(row) + noise).to_bytes(_STILL)
    return _png(_STILL, _STILL, 0, bytes(rows))


_STILL = 2048
_CELLS = ((800, 860, 300), (1240, 850, 290), (850, 1270, 285), (1260, 1240, 305))
_EMBRYO = (
    *((1024, 1024, 960 - 24 * step, 90 + 2 * step) for step in range(12)),  # the well
    *((1040, 1050, 720 - 6 * step, 150 + 3 * (8 - abs(8 - step))) for step in range(16)),  # zona pellucida
    (1040, 1050, 622, 128),
    *(
        (x + 4 * step, y + 5 * step, radius - 18 * step, 108 + 5 * step)
        for x, y, radius in _CELLS
        for step in range(10)
    ),
    *((x + 30, y + 20, radius // 6, 120) for x, y, radius in _CELLS),  # nuclei
)
"""Discs, each painted over those before it: centre, radius and grey."""


def _png(width: int, height: int, colour: int, rows: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
