"""What msgspec must know before threads use it.

▲ Fresh workers under 50 parallel requests sometimes ended with a segmentation fault inside msgspec 0.22's `mpack_decode`,
at a field whose type was not there. The reading that fits: msgspec learns a type when it is first used, in steps between
which another thread may run and find it half known. That was not reproduced apart from the portal. So each process
learns its types at start, in one thread, and decoders that are made later are made one at a time.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Iterator

import msgspec

creation_lock = threading.Lock()
"""To be held while a decoder of a type is made."""


def learn() -> None:
    """Let msgspec learn every struct and dataclass of the portal that is imported so far."""
    with creation_lock:
        for type_ in {*_structs(msgspec.Struct), *_dataclasses()}:
            try:
                msgspec.json.Decoder(type_)
            except (TypeError, NameError):
                continue  # a dataclass that isn't decoded, such as one that holds a function


def _structs(base: type) -> Iterator[type]:
    for subclass in base.__subclasses__():
        yield subclass
        yield from _structs(subclass)


def _dataclasses() -> Iterator[type]:
    for name, module in list(sys.modules.items()):
        if name.startswith("portal."):
            for value in list(vars(module).values()):
                if isinstance(value, type) and dataclasses.is_dataclass(value):
                    yield value
