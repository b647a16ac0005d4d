"""`make shell`: a Python prompt inside a request of a sample person, before a care service of its own.

`care` is the care API as that person, `person` who it is, `app` the portal, `get(path)` opens a page as they would.
"""

from __future__ import annotations

import argparse
import code
import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from portal.config.tenants import Side
from portal.demo.stack import PEOPLE
from portal.web.guard import Access, admit, care_of
from tests.support.stack import CareService, PortalThread, plan

_NAMES = [name for people in PEOPLE.values() for name, _what in people]


@contextmanager
def signed_in_as(name: str) -> Iterator[dict[str, Any]]:
    """Start care service and portal, sign the person in, and lend what the prompt knows, within their request."""
    with tempfile.TemporaryDirectory(prefix="portal-shell-") as folder:
        service = CareService(plan(Path(folder)))
        try:
            portal = PortalThread(service.plan)
            try:
                visitor = portal.sign_in(name)
                cookies = "; ".join(f"{one.name}={one.value}" for one in visitor.http.cookies)
                with portal.app.test_request_context(
                    "/", base_url=visitor.origin, headers={"Cookie": cookies}
                ):
                    portal.app.preprocess_request()
                    person = admit(Access(frozenset(Side), roles=None, background=False))
                    yield {"app": portal.app, "person": person, "care": care_of(person), "get": visitor.get}
            finally:
                portal.stop()
        finally:
            service.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="make shell", description=__doc__)
    parser.add_argument("name", nargs="?", default="amelia", choices=_NAMES)
    name = parser.parse_args().name
    with suppress(ImportError):
        import readline  # noqa: F401  # history, and keys that move
    logging.disable(logging.INFO)
    with signed_in_as(name) as known:
        banner = (
            f"You are {name}. There are: {', '.join(known)}.\n"
            "Try: from portal.services.notifications import count_unread; count_unread(care)"
        )
        code.interact(banner=banner, local=known, exitmsg="")


if __name__ == "__main__":
    sys.exit(main())
