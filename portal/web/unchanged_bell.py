"""The answer to a bell's refresh when there is nothing new, 204, without Flask's way through a request.

Pages ask for it more often than for anything else: where a person has several, or comes back to one, mostly within the seconds
for which the count is kept. Only the most ordinary request is answered here, by the checks that any other goes through: what isn't quite like that, or fails, is left to
the view (`answer` returns None), whose session goes on with the records that were read. So this can refuse nobody, and writes
nothing but the log.
docs/decisions/0020-unchanged-bell.md says what it saves.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.sansio.http import parse_cookie
from werkzeug.wsgi import get_host

from portal.config.tenants import Tenant
from portal.context import Context
from portal.services.errors import NotAllowed, StepUpNeeded
from portal.state.session_records import SessionRecord
from portal.state.sessions import COOKIE, READ
from portal.store import StoreDown, StoredRecord
from portal.web import bell, guard, logs, routing

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

PATH, ENDPOINT = "/notifications/bell", "notifications.show_bell"

_QUERY = re.compile(r"known=(0|[1-9][0-9]{0,8})", re.ASCII)
_BY_OWN_SCRIPT = ("GET", "empty", "same-origin")
"""Method, `Sec-Fetch-Dest` and `Sec-Fetch-Site` of what a page's script sends."""


def answer(app: Flask, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes] | None:
    """Answer 204 if the bell's count is the one that its page knows; None, with nothing done, if the view has to answer."""
    told = environ["REQUEST_METHOD"], environ.get("HTTP_SEC_FETCH_DEST"), environ.get("HTTP_SEC_FETCH_SITE")
    asked = _QUERY.fullmatch(environ.get("QUERY_STRING", ""))
    if asked is None or told != _BY_OWN_SCRIPT:
        return None
    started, the = time.monotonic(), cast("Context", app.extensions["portal"])
    access = guard.access_of(app.view_functions[ENDPOINT])
    try:
        host = get_host(environ)
        tenant = the.settings.tenants.at(host)
        cookie = parse_cookie(environ.get("HTTP_COOKIE")).get(COOKIE)
        if tenant is None or not cookie or access is None:
            return None
        along: dict[str, StoredRecord | None] = {}
        environ[READ] = along
        record, tokens = the.sessions.load(cookie, tenant.key, host, along, kind=bell.KNOWN.kind)
        if record is None or tokens is None or tokens.refresh_at <= the.clock():
            return None
        guard.require_access(access, record.person, tenant)
        if asked[1] != _count(the, tenant, record, along):
            return None
    except (HTTPException, StoreDown, NotAllowed, StepUpNeeded):
        return None
    request_id = routing.request_id(environ, the.settings.proxy_hops)
    fields = [
        ("X-Request-Id", request_id),
        (guard.SESSION_TAG, record.tag),
        (guard.LASTS, str(the.sessions.lasts(record))),
    ]
    logs.answered(environ, PATH, 204, tenant=tenant, request_id=request_id, started=started)
    start_response("204 NO CONTENT", fields)
    return ()


def _count(
    the: Context, tenant: Tenant, record: SessionRecord, along: dict[str, StoredRecord | None]
) -> str | None:
    """The person's unread count, as a page says it, if it needn't be read anew."""
    name = bell.KNOWN.name_at(tenant.key, record.person, the.vault)
    held = along.get(name)
    known = the.vault.open(name, held, bell.LastCount) if held else None
    return str(known.value.count) if known and bell.is_fresh(known.value, the.clock()) else None
