"""The types of structs, which msgspec has to resolve before threads use them (docs/decisions/0008-msgspec-types.md)."""

from __future__ import annotations

import threading
from contextlib import suppress

import msgspec

creation_lock = threading.Lock()
"""Held while a decoder is created."""


def resolve_structs() -> None:
    """Let msgspec resolve every struct that has been imported; to be called before threads start."""
    with creation_lock:
        _resolve(msgspec.Struct)


def _resolve(base: type[msgspec.Struct]) -> None:
    for struct in base.__subclasses__():
        with suppress(TypeError, NameError):  # it isn't meant for decoding: a field holds a function, say
            msgspec.json.Decoder(struct)
        _resolve(struct)
