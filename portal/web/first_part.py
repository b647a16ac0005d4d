"""The first part of a page, sent while the clinic's system keeps it waiting: the bars and a word, a fifth of a second on.

First part and page are one response, and the page follows as any other, doctype and all: an HTML parser leaves out the second
doctype, gives the attributes of the second `html` and `body` to the first ones, and takes the first `title` that it meets,
which is the page's (HTML Living Standard, 13.2.6). A rule in static/styles/utilities/first_part.css hides the first part as soon
as `main` comes. No script takes part.

The status is sent with the first part, so it is 200 whatever follows; a redirect follows as a refresh. Only browsers that
open an address in a window get one (Fetch Metadata): programs see every status as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, current_app, g, request
from markupsafe import Markup

from portal.http import deadline
from portal.i18n.gettext import _
from portal.request_values import is_fetched_ahead
from portal.web import as_patient, guard, headers, templates
from portal.web.compression import Stream, best_encoding
from portal.web.routing import current_address

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

SECONDS = 0.2
"""How long the clinic's system is waited for before the first part is sent."""

_KEY = "portal.first_part"

log = logging.getLogger("portal")


class FirstPart:
    """What was sent of a response before the rest."""

    def __init__(self, start_response: StartResponse) -> None:
        self._start_response = start_response
        self._stream: Stream | None = None

    def send(self, response: Response, stream: Stream) -> None:
        """Send headers and body of this response, and keep it open for the rest."""
        write = self._start_response("200 OK", response.headers.to_wsgi_list())
        self._stream = stream
        write(stream.part(response.get_data()))

    def start(self, status: str, fields: list[tuple[str, str]], *error: Any) -> Callable[[bytes], object]:
        """Start the response unless that was done; `start_response` of PEP 3333."""
        return _nothing if self._stream else self._start_response(status, fields, *error)

    def rest(self, response: Response) -> Response:
        """Return the response with what is to be sent of it after the first part, if there was one."""
        if self._stream is not None:
            response.set_data(self._stream.last(_document(response)))
            response.headers["Content-Encoding"] = self._stream.encoding or "identity"
        return response


def init_app(app: Flask) -> None:
    """Send the first part of pages that wait. Call it after `guard.init_app`, before `headers.init_app`."""
    app.before_request(_expect)
    app.after_request(_rest)
    app.wsgi_app = _with_first_part(app.wsgi_app)  # pyright: ignore[reportAttributeAccessIssue]


def _with_first_part(inner: WSGIApplication) -> WSGIApplication:
    def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        first = environ[_KEY] = FirstPart(start_response)
        try:
            return inner(environ, first.start)
        finally:
            del environ[_KEY]  # a ring: it would hold the request's body until garbage is collected

    return application


def _of_request() -> FirstPart:
    return request.environ[_KEY]


def _expect() -> None:
    """Have the first part sent in time, if a browser opens a page."""
    is_opened = (
        request.method == "GET"
        and request.headers.get("Sec-Fetch-Mode") == "navigate"
        and request.headers.get("Sec-Fetch-Dest") == "document"
        and not is_fetched_ahead()
        and as_patient.patient_id() is None  # its policy is stricter, and would come too late
    )
    access = guard.access_of(current_app.view_functions.get(request.endpoint or "")) if is_opened else None
    if access is not None and not access.is_file:
        deadline.when_waiting(g.started + SECONDS, _send)


def _rest(response: Response) -> Response:
    return _of_request().rest(response)


def _send() -> None:
    """Send the first part to the person who was admitted; the page goes on being made."""
    if "person" not in g:
        return
    try:
        response = Response(templates.render("first_part.html", {}), mimetype="text/html")
        headers.set_for_request(response)
        del response.headers["Content-Length"]
        response.headers["X-Accel-Buffering"] = "no"  # nginx would keep it until there is more
        response.vary.update(("HX-Request", "HX-Target", "Accept-Encoding"))
        encoding = best_encoding(request.headers.get("Accept-Encoding", ""))
        if encoding:
            response.headers["Content-Encoding"] = encoding
        _of_request().send(response, Stream(encoding))
    except Exception:
        log.exception("first part not sent")


def _document(response: Response) -> bytes:
    """What follows the first part: the page, or a word that leads to where a redirect does."""
    if location := response.headers.get("Location"):
        return _refresh(location).encode()
    if response.mimetype != "text/html":
        log.error("a view that makes no page is to say so: %s", request.endpoint)
        return _link(current_address()).encode()
    return response.get_data()


def _refresh(address: str) -> Markup:
    return Markup('<meta http-equiv="refresh" content="0;url={}">').format(address) + _link(address)


def _link(address: str) -> Markup:
    return Markup('<main id="main"><p><a href="{}">{}</a></p></main>').format(address, _("Go on"))


def _nothing(_piece: bytes) -> None:
    """What is written after the first part comes with the response."""
