"""Text from outside: every value is cut to a bound before anything reads it, and holds only what a database stores.

All functions here are total and take time in proportion to what they read.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

T = TypeVar("T")

MAX_TEXT = 100_000
"""The longest text of a message that is stored, in characters."""

FIELD_BYTES = 8 * 1024
"""The longest single field or header that is read, in bytes."""

JSON_DEPTH = 10
"""How deeply JSON may be nested."""

_MAX_NAME = 200
_UNSTORABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_NESTING = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|[\[{]|[\]}]', re.DOTALL)

_CODECS = (
    *("ascii", "utf_8", "utf_8_sig", "utf_16", "utf_16_le", "utf_16_be", "gb18030", "gbk", "big5", "euc_jp", "shift_jis"),
    *("cp932", "iso2022_jp", "euc_kr", "koi8_r", "koi8_u", "mac_roman", "cp874", "tis_620", "latin_1"),
    *(f"iso8859_{part}" for part in range(1, 17) if part != 12),
    *(f"cp125{page}" for page in range(9)),
)  # fmt: skip
_ALIASES = {
    "usascii": "ascii",
    "utf8": "utf_8",
    "gb2312": "gb18030",
    "ksc56011987": "euc_kr",
    "windows31j": "cp932",
    "macintosh": "mac_roman",
    "windows874": "cp874",
    **{f"windows125{page}": f"cp125{page}" for page in range(9)},
    **{re.sub(r"[^a-z0-9]", "", codec): codec for codec in _CODECS},
}
"""The charsets that are read, without their separators; Python knows others that take too long or aren't charsets."""


def decoded(text: bytes, charset: str = "utf-8") -> str:
    """`text` in one of the known charsets, else in UTF-8; what can't be decoded becomes U+FFFD."""
    codec = _ALIASES.get(re.sub(r"[^a-z0-9]", "", charset[:40].lower()), "utf_8")
    return text.decode(codec, "replace")


def cleaned(text: str, longest: int = MAX_TEXT) -> str:
    """`text` with Unix line ends, without control characters and halves of surrogate pairs, cut to `longest`."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSTORABLE.sub("", unified).strip()[:longest]


def one_line(text: str) -> str:
    """`text` on one line, without marks of direction, cut to the length of a title or name."""
    return " ".join(_DIRECTION.sub("", cleaned(text, 4 * _MAX_NAME)).split())[:_MAX_NAME]


def json_of(text: str | bytes, shape: type[T]) -> T | None:
    """The JSON `text` as a `shape`, None if it is something else or nested too deeply."""
    if _depth(decoded(text) if isinstance(text, bytes) else text) > JSON_DEPTH:
        return None
    try:
        return msgspec.json.decode(text, type=shape)
    except (msgspec.MsgspecError, ValueError):
        return None


def _depth(text: str) -> int:
    depth = deepest = 0
    for found in _NESTING.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        deepest = max(deepest, depth)
    return deepest
