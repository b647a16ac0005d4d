"""What a response of a successful status says of itself: that it was well, that it wasn't, or neither clearly.

Many systems answer 200 whatever happened, and say in the body how it went: `"success": false`, or an `error` with a code and a
message. Where these contradict each other, nobody knows what happened: an act then counts as one whose answer was lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from portal.services import decoding


def says_well(body: bytes) -> bool | None:
    """Whether a response says that it was well; None if it contradicts itself. One that says nothing of it was well.

    A top-level flag such as `success` counts, an `error`, true, in words or with a code or message, and `errors`.
    """
    begin = body[:_FIRST].lower()
    may_say = b"succe" in begin or b'"ok"' in begin or b'"error' in begin
    if not (may_say and _MAY_SAY_NO.search(begin)):
        return True
    answer = decoding.plain(body)
    told = list(_told(cast("dict[str, object]", answer))) if isinstance(answer, dict) else []
    if False in told:
        return None if True in told else False
    return None if None in told else True


_FIRST = 4096
_MAY_SAY_NO = re.compile(
    rb'"(?:ok|success|succeeded|is_?success|is_?successful)"\s*:\s*(?:false\b|"(?:false|no|0)"|0\b)'
    rb'|"error"\s*:\s*[{\["t1-9-]|"errors"\s*:\s*[{\[]\s*[^}\]\s]'
)
_FLAGS = {"ok", "success", "succeeded", "issuccess", "issuccessful"}
_YES = {"true", "yes", "1"}
_NO = {"false", "no", "0"}


def _told(answer: dict[str, object]) -> Iterator[bool | None]:
    """What each member says: that it was well, that it wasn't, or (None) neither clearly."""
    for name, value in answer.items():
        match name.lower().replace("_", ""):
            case flag if flag in _FLAGS and (text := _text(value)) in _YES | _NO:
                yield text in _YES
            case "error" if (is_none := _is_none(value)) is not True:
                yield is_none
            case "errors" if value and isinstance(value, dict | list):
                yield None
            case _:
                pass


def _is_none(error: object) -> bool | None:
    """Whether an `error` says that there was none; None if it doesn't say, or says two things.

    Words that aren't known for success tell of a failure; beside a code for none, that is a contradiction.
    """
    if not isinstance(error, dict):
        return not error if isinstance(error, list) else _is_fine(_text(error))
    members = {name.lower(): value for name, value in cast("dict[str, object]", error).items()}
    code, words = _text(members.get("code")), [_text(members.get(name)) for name in _WORDS]
    told = {_is_fine(text) for text in (code, *words) if text}
    if not told:
        return None if any(members.values()) else True
    return told.pop() if len(told) == 1 else None


_WORDS = ("message", "description", "detail", "details", "reason")


def _text(value: object) -> str:
    """A value in one spelling; empty if it is neither a text nor a number nor a truth value."""
    return str(value).strip().lower() if isinstance(value, str | int | float) else ""


def _is_fine(text: str) -> bool:
    """Whether what stands in an `error` says that there was none: nothing, zeros, or words for success and no others."""
    if not text.strip("0 ") or text in _NOTHING:
        return True
    words = set(_NO_ERROR.sub("fine", " ".join(_WORD.findall(text))).split())
    return words <= _FINE | _BESIDE and bool(words & _FINE)


_NOTHING = frozenset({"200", "false", "no", "none", "null"})
_WORD = re.compile(r"[^\W_]+")
_NO_ERROR = re.compile(r"\b(?:no|without|0) errors?\b")
_FINE = frozenset(
    {
        *("completed", "done", "fine", "ok", "okay", "performed", "processed"),
        *("succeeded", "success", "successful", "successfully"),
    }
)
_BESIDE = frozenset({"200", "action", "been", "call", "has", "is", "operation", "request", "the", "was"})
