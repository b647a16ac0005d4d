"""Reads the addresses of a From or To header (RFC 5322 §3.4), in one pass and without failing."""

from __future__ import annotations

import re

MAX_ADDRESSES = 50
"""How many addresses of a header are read."""

_LEXEME = re.compile(r"""\\.|[()"<>,:;]|[^\\()"<>,:;]+|\\""", re.DOTALL)
_ADDRESS = re.compile(r"[^@\s\x00-\x1f<>]{1,64}@[^@\s\x00-\x1f<>]{1,190}")


def is_address(text: str) -> bool:
    """Whether `text` is an address such as `name@host.example`."""
    return _ADDRESS.fullmatch(text) is not None


def addresses_of(header: str) -> list[tuple[str, str]]:
    """Name and address of each mailbox, at most `MAX_ADDRESSES`; the address is empty where it can't be read."""
    found: list[tuple[str, str]] = []
    words: list[str] = []
    inside: list[str] = []
    has_angle = is_quoted = in_angle = False
    depth = 0

    def end() -> None:
        nonlocal words, inside, has_angle
        name = " ".join("".join(words).split())
        address = "".join(inside if has_angle else words).strip()
        if address or name:
            found.append((name if has_angle else "", address if is_address(address) else ""))
        words, inside, has_angle = [], [], False

    for lexeme in _LEXEME.findall(header):
        target = inside if in_angle else words
        if is_quoted:
            if lexeme == '"':
                is_quoted = False
            else:
                target.append(lexeme[1:] if lexeme[0] == "\\" and len(lexeme) > 1 else lexeme)
        elif lexeme in "()":
            depth = max(0, depth + (1 if lexeme == "(" else -1))
        elif depth:
            continue
        elif lexeme == '"':
            is_quoted = True
        elif lexeme == "<":
            # A second one, or one inside another, leaves no address that can be read.
            inside.append("<" * has_angle)
            in_angle = has_angle = True
        elif lexeme == ">" and in_angle:
            in_angle = False
        elif lexeme in ",;" and not in_angle:
            end()
            if len(found) == MAX_ADDRESSES:
                return found
        elif lexeme == ":" and not in_angle:
            words = []
        else:
            target.append(lexeme)
            if has_angle and not in_angle and lexeme.strip():
                inside.append("<")
    if in_angle or is_quoted or depth:
        has_angle = True
        inside.append("<")
    end()
    return found
