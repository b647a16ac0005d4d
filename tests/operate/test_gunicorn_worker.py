"""The portal's worker overrides methods of gunicorn's that no documentation describes; this notices when they change."""

from __future__ import annotations

import hashlib
import inspect
import re
import textwrap

import pytest
from gunicorn.workers.gthread import ThreadWorker

from portal.operate.gunicorn_worker import Worker

KNOWN = {
    "__init__": "a53cfb3b9a0bb8ad",
    "set_accept_enabled": "33822c6e3df0a6c3",
    "enqueue_req": "4c7f48d00b885e21",
    "accept": "ad48332f98ddbd24",
    "finish_request": "d18d79ae80962858",
    "run": "f72655efc8d20db5",
}
"""What `Worker` overrides, and what calls that, with a hash of the code that it was written for (gunicorn 27.0.1)."""


@pytest.mark.parametrize("name", KNOWN)
def test_gunicorns_own_code_is_the_one_that_the_worker_was_written_for(name: str) -> None:
    source = textwrap.dedent(inspect.getsource(getattr(ThreadWorker, name)))
    found = hashlib.sha256(source.encode()).hexdigest()[:16]
    assert found == KNOWN[name], (
        f"ThreadWorker.{name} of this gunicorn is another: read it, see whether portal/operate/gunicorn_worker.py is"
        f" still needed and still right (tests/operate/test_reload.py), then note {found!r} here"
    )


def test_every_method_that_is_overridden_is_known() -> None:
    overridden = {name for name in vars(Worker) if callable(getattr(ThreadWorker, name, None))}
    assert {name for name in overridden if not re.match(r"__.+__$", name)} <= KNOWN.keys()
