"""msgspec crashes on a struct that another thread is resolving (docs/decisions/0008-msgspec-types.md)."""

from __future__ import annotations

import signal
import subprocess
import sys

DECODED_WHILE_RESOLVED = """
import resource
import sys
import threading

import msgspec

from portal import struct_types

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resolving, decoded = threading.Event(), threading.Event()
may_pause = False


def pause():
    if may_pause:
        resolving.set()
        decoded.wait(5)
    return int


class Inner(msgspec.Struct):
    value: "pause()"


class Outer(msgspec.Struct):
    inner: Inner


if "resolved" in sys.argv:
    struct_types.resolve_structs()
may_pause = True
thread = threading.Thread(target=lambda: (msgspec.json.Decoder(Outer), resolving.set()))
thread.start()
resolving.wait(5)
msgspec.json.decode(b'{"inner": {"value": 1}}', type=Outer)
decoded.set()
thread.join()
"""


def _returncode(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-c", DECODED_WHILE_RESOLVED, *arguments], timeout=60).returncode


def test_msgspec_still_crashes_on_a_struct_that_another_thread_is_resolving() -> None:
    assert _returncode() == -signal.SIGSEGV, "msgspec is fixed: portal/struct_types.py can go"


def test_a_struct_that_was_resolved_before_is_decoded_by_all_threads() -> None:
    assert _returncode("resolved") == 0
