"""Telling the clients of a sign-out (OpenID Connect Back-Channel Logout 1.0 §2.5)."""

from __future__ import annotations

import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable
from urllib.parse import urlencode

from sqlalchemy.orm import Session

from portal.careservice.identity.tables import Client, Grant, SignIn
from portal.careservice.identity.tokens import logout_token

_log = logging.getLogger(__name__)
_TIMEOUT = 3.0


def announce(session: Session, sign_in: SignIn, grants: Iterable[Grant]) -> None:
    """Post a logout token to every client that held a live grant of this sign-in, without waiting for any."""
    told = {grant.client_id for grant in grants}
    posts: list[tuple[str, bytes]] = []
    for client_id in sorted(told):
        client = session.get(Client, client_id)
        if client is not None and client.backchannel_logout_uri:
            token = logout_token(session, client, sign_in.person_id, sign_in.sid)
            posts.append((client.backchannel_logout_uri, urlencode({"logout_token": token}).encode()))
    if posts:
        threading.Thread(target=_post_all, args=(posts,), daemon=True).start()


def _post_all(posts: list[tuple[str, bytes]]) -> None:
    for address, body in posts:
        try:
            with urllib.request.urlopen(address, data=body, timeout=_TIMEOUT):  # noqa: S310 (registered by the operator)
                pass
        except (urllib.error.URLError, OSError) as error:
            _log.warning("Back-channel logout at %s failed: %s", address, type(error).__name__)
