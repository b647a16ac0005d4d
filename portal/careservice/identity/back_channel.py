"""Notifies clients of a sign-out (OpenID Connect Back-Channel Logout 1.0)."""

from __future__ import annotations

import logging
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from urllib.parse import urlencode, urlsplit

from sqlalchemy.orm import Session

from portal.careservice.identity.tables import Client, Grant, SignIn
from portal.careservice.identity.tokens import logout_token

_TIMEOUT_SECONDS = 3.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Notice:
    """A logout token and the client to post it to."""

    client_id: str
    address: str
    token: str


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: object, **_kwargs: object) -> None:
        """A logout token goes to the registered address and nowhere else."""


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects())


def notices(session: Session, sign_in: SignIn | Grant, client_ids: Iterable[str]) -> list[Notice]:
    """The notices for those of this sign-in's clients that registered an address (§2.4)."""
    clients = (session.get_one(Client, client_id) for client_id in sorted(client_ids))
    return [
        Notice(
            client.client_id,
            client.backchannel_logout_uri,
            logout_token(session, client, sign_in.person_id, sign_in.sid),
        )
        for client in clients
        if client.backchannel_logout_uri
    ]


def send(pending: Sequence[Notice]) -> None:
    """Post the notices in the background (§2.5), so that signing out doesn't wait for clients."""
    if pending:
        threading.Thread(target=_send_all, args=(pending,), daemon=True).start()


def _send_all(pending: Sequence[Notice]) -> None:
    for notice in pending:
        try:
            _opener.open(_post(notice), timeout=_TIMEOUT_SECONDS).close()
        except (urllib.error.URLError, OSError, HTTPException) as error:
            _log.warning("%s was not notified of a sign-out: %s", notice.client_id, type(error).__name__)


def _post(notice: Notice) -> urllib.request.Request:
    parts = urlsplit(notice.address)
    address = notice.address
    if (parts.hostname or "").endswith(".localhost"):
        # These names mean this machine (RFC 6761 §6.3), but its resolver may not know them.
        address = parts._replace(netloc=f"127.0.0.1:{parts.port or 80}").geturl()
    form = urlencode({"logout_token": notice.token}).encode()
    return urllib.request.Request(address, data=form, headers={"Host": parts.netloc})  # noqa: S310 (registered)
