"""HTTP to the two upstreams: the care API and the identity server. Nothing else in the portal opens a connection.

libcurl's multi interface, one kept handle a thread: connections are reused, and `side_by_side` lets several
calls of one page run at the same time in one thread. Each of its tasks runs in a greenlet of its own and is
switched out while it waits, so that a task is plain code, however many calls it makes, one after another.

Limits that always hold: http and https alone, TLS verified, no redirects, no cookies, no proxy or `.netrc` of the
environment, a body no larger than asked for, and no call beyond its own time or that of the page it is made for
(`portal.http.deadline`).
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from typing import TypeVar, cast

import greenlet
import pycurl

from portal import metrics, parse
from portal.http import deadline
from portal.http.transfer import Answer, Call, Transfer, TransportError, new_handle, prepare

T = TypeVar("T")

_WAIT = 1.0
_CONNECTIONS = 16
_CLOCK_SECONDS = 10.0
_clock_seen: dict[str, float] = {}
_MOMENT = 0.1
_LONGEST = 3600.0
_RECEIVED = 128 * 1024


class _Loop:
    """A thread's multi handle with its idle easy handles."""

    def __init__(self) -> None:
        self.multi = pycurl.CurlMulti()
        self.multi.setopt(pycurl.M_MAXCONNECTS, _CONNECTIONS)
        self.idle: list[pycurl.Curl] = []
        self.active: dict[pycurl.Curl, Transfer] = {}
        self.hub: greenlet.greenlet | None = None
        self.pausing: dict[greenlet.greenlet, float] = {}

    def begin(self, call: Call) -> Transfer:
        seconds = deadline.left(call.timeout)
        if not seconds:
            raise TransportError("timed out", sent=False)
        curl = self.idle.pop() if self.idle else new_handle()
        transfer = Transfer(curl, call.max_bytes)
        prepare(curl, call, transfer, seconds)
        self.active[curl] = transfer
        self.multi.add_handle(curl)
        return transfer

    def finish(self, transfer: Transfer) -> None:
        """Remove the transfer from the loop and keep its handle for the next call."""
        if self.active.pop(transfer.curl, None) is not None:
            self.multi.remove_handle(transfer.curl)
            self.idle.append(transfer.curl)

    def turn(self, *, wait: bool) -> list[Transfer]:
        """Move all transfers on; return those that ended."""
        if wait and self.active:
            _wait(self.multi, deadline.wait_at_most(self._until_next_pause_ends()))
        elif wait:
            time.sleep(deadline.wait_at_most(self._until_next_pause_ends()))
        self.multi.perform()
        ended: list[Transfer] = []
        while True:
            queued, good, bad = self.multi.info_read()
            for curl in good:
                self.active[curl].done = True
                ended.append(self.active[curl])
            for curl, code, message in bad:
                self.active[curl].done = True
                self.active[curl].error = (code, message)
                ended.append(self.active[curl])
            if not queued:
                return ended

    def rested(self) -> list[greenlet.greenlet]:
        """Remove the tasks whose pause is over."""
        now = time.monotonic()
        over = [task for task, until in self.pausing.items() if until <= now] if self.pausing else []
        for task in over:
            del self.pausing[task]
        return over

    def _until_next_pause_ends(self) -> float:
        return max(0.0, min(self.pausing.values()) - time.monotonic()) if self.pausing else _WAIT

    def run_until(self, ready: Callable[[], bool]) -> None:
        """Run the loop until `ready`; transfers of others that end meanwhile are only marked as done."""
        self.turn(wait=False)
        while not ready():
            self.turn(wait=True)


_local = threading.local()


def _loop(name: str = "shared") -> _Loop:
    loop: _Loop | None = getattr(_local, name, None)
    if loop is None:
        loop = _Loop()
        setattr(_local, name, loop)
    return loop


def send(call: Call, *, alone: bool = False) -> Answer:
    """Send one call and return its answer, whatever its status; raise TransportError when none came.

    With `alone` no other task of this thread runs meanwhile: for a call that is made while a lock is held.
    """
    loop = _loop("alone" if alone else "shared")
    transfer = loop.begin(call)
    try:
        if loop.hub is not None and greenlet.getcurrent() is not loop.hub:
            transfer.waiter = greenlet.getcurrent()
            loop.hub.switch()
        else:
            loop.run_until(lambda: transfer.done)
        answer = transfer.answer()
        _note_clock(call.url, answer.headers)
        return answer
    finally:
        loop.finish(transfer)


def _note_clock(url: str, headers: Mapping[str, str]) -> None:
    """Measure the upstream's clock by its `Date` (RFC 9110 §6.6.1), every few seconds."""
    origin, now = "/".join(url.split("/", 3)[:3]), time.monotonic()
    if now - _clock_seen.get(origin, float("-inf")) < _CLOCK_SECONDS:
        return
    _clock_seen[origin] = now
    if there := parse.http_date(headers.get("date")):
        metrics.clock_skew(origin, there.timestamp() - time.time())


def pause(seconds: float) -> None:
    """Pause this task; the other tasks of `side_by_side` go on meanwhile."""
    loop = _loop()
    me = greenlet.getcurrent()
    if loop.hub is None or me is loop.hub:
        time.sleep(seconds)
        return
    loop.pausing[me] = time.monotonic() + seconds
    loop.hub.switch()


def stream(call: Call) -> tuple[int, Mapping[str, str], Iterator[bytes]]:
    """Send one call and return status, headers and the body piece by piece.

    The next piece is read when the last was taken, so a large file never stands in memory. A piece is empty where nothing
    came for a moment: whoever reads several bodies can go on with another one. The iterator raises TransportError when the
    body ends early, when nothing comes for the call's time while it is waited for, and after an hour; closing it ends the
    transfer. How long the reader takes between two pieces doesn't count. Different threads may read it, one at a time.
    """
    multi = pycurl.CurlMulti()
    curl = new_handle()
    transfer = Transfer(curl, call.max_bytes)
    prepare(curl, call, transfer, call.timeout)
    curl.setopt(pycurl.TIMEOUT_MS, 0)  # libcurl would count the time that the reader takes
    curl.setopt(pycurl.SOCKOPTFUNCTION, _receive_little)
    multi.add_handle(curl)
    started = time.monotonic()

    def turn(*, wait: float = 0.0) -> None:
        if wait:
            _wait(multi, wait)
        multi.perform()
        _, good, bad = multi.info_read()
        transfer.done = bool(good or bad)
        if bad:
            transfer.error = (bad[0][1], bad[0][2])

    def end() -> None:
        multi.remove_handle(curl)
        curl.close()
        multi.close()

    def pieces() -> Iterator[bytes]:
        silent = 0.0
        try:
            while transfer.body or not transfer.done:
                held, transfer.body = transfer.body, []
                yield from held
                if transfer.done:
                    continue
                asked = time.monotonic()
                turn(wait=_MOMENT)
                now = time.monotonic()
                silent = 0.0 if transfer.body else silent + now - asked
                if silent > call.timeout or now - started > _LONGEST:
                    raise TransportError("timed out", sent=True)
                if not transfer.body and not transfer.done:
                    yield b""
            transfer.raise_error()
        finally:
            end()

    try:
        turn()
        while not transfer.body and not transfer.done:
            if time.monotonic() - started > call.timeout:
                transfer.error, transfer.done = (pycurl.E_OPERATION_TIMEDOUT, ""), True
                break
            turn(wait=_WAIT)
        if not transfer.body:
            transfer.raise_error()
    except BaseException:
        end()
        raise
    return int(curl.getinfo(pycurl.RESPONSE_CODE)), transfer.headers, pieces()


def _receive_little(descriptor: int, _: int) -> int:
    """Make the kernel buffer little of a body that isn't being read."""
    with socket.fromfd(descriptor, socket.AF_INET, socket.SOCK_STREAM) as same:
        same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)
    return pycurl.SOCKOPT_OK


def side_by_side(tasks: Sequence[Callable[[], T]]) -> list[T | BaseException]:
    """Run the tasks at the same time in this thread; return each one's value or what it raised, in order.

    A task runs with a copy of the caller's context variables (Flask's request among them). Within a task, those of a
    further `side_by_side` run one after another.
    """
    if len(tasks) == 1:
        return [_outcome(tasks[0])]
    loop = _loop()
    outer = loop.hub
    me = greenlet.getcurrent()
    results: list[T | BaseException | None] = [None] * len(tasks)
    running: set[greenlet.greenlet] = set()

    def run(index: int) -> None:
        results[index] = _outcome(tasks[index])

    if outer is not None and outer is not me:
        for index, _ in enumerate(tasks):  # nested in another task: run sequentially
            run(index)
        return cast("list[T | BaseException]", results)
    loop.hub = me
    try:
        for index, _ in enumerate(tasks):
            task = greenlet.greenlet(run)
            task.gr_context = copy_context()
            task.switch(index)
            if not task.dead:
                running.add(task)
        wait = False
        while running:
            ended = loop.turn(wait=wait)
            rested = loop.rested()
            for task in (*(transfer.waiter for transfer in ended if transfer.waiter is not None), *rested):
                task.switch()
            # A resumed task may have started a new call.
            wait = not ended and not rested
            running = {task for task in running if not task.dead}
    finally:
        loop.hub = None
    return cast("list[T | BaseException]", results)


def _outcome(task: Callable[[], T]) -> T | BaseException:
    try:
        return task()
    except Exception as error:  # noqa: BLE001 (handed to the caller, who raises what it can't show)
        return error


def _wait(multi: pycurl.CurlMulti, at_most: float = _WAIT) -> None:
    """Sleep until a socket moves or libcurl's own next time-out is due, but not longer than `at_most` seconds."""
    due = multi.timeout()
    seconds = min(_WAIT, at_most) if due < 0 else min(_WAIT, at_most, due / 1000)
    if multi.select(seconds) < 0:
        time.sleep(0.001)  # no socket yet (a name is being resolved)
