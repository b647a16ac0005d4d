"""The portal's HTTP client in the shape that `requests` expects.

Authlib's OAuth client brings a `requests` session of its own. With this adapter mounted it goes through
`portal.http.transport`, so that every limit of it holds for it too. It is used while a lock is held, so its calls are
sent alone.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, Protocol

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPHeaderDict, HTTPResponse

from portal import tracing
from portal.config.variables import Timeouts
from portal.http import transport
from portal.http.transfer import Answer, Call, TransportError

_LARGEST_ANSWER = 1024 * 1024
_OWN = {"connection", "accept-encoding", "content-length"}


class Prover(Protocol):
    """Makes proofs of a key for requests (portal.signin.dpop)."""

    def proof(self, method: str, url: str, *, nonce: str | None = None) -> str: ...

    def learn(self, url: str, headers: Mapping[str, str]) -> str | None:
        """Take what an answer's headers ask of the next proof, and return it."""
        ...


class CurlAdapter(BaseAdapter):
    """Sends prepared requests through libcurl; raises requests' own ConnectionError and Timeout."""

    def __init__(self, timeouts: Timeouts, prover: Prover | None = None) -> None:
        super().__init__()
        self._timeouts = timeouts
        self._prover = prover
        self._nonce: str | None = None
        """What its last answer asked of the next proof: it may count once, and others get their own meanwhile."""

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: bool | str = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        body, url = request.body, request.url or ""
        proof = (
            [("DPoP", self._prover.proof(request.method or "GET", url, nonce=self._nonce))]
            if self._prover
            else []
        )
        call = Call(
            method=request.method or "GET",
            url=url,
            headers=[
                *proof,
                *(
                    (str(name), value if isinstance(value, str) else value.decode("latin-1"))
                    for name, value in request.headers.items()
                    if str(name).lower() not in _OWN
                ),
            ],
            body=body.encode() if isinstance(body, str) else body if isinstance(body, bytes) else None,
            connect_timeout=self._timeouts.connect,
            timeout=self._timeouts.read,
            max_bytes=_LARGEST_ANSWER,
        )
        try:
            with tracing.call(call.method, "identity"):
                answer = transport.send(call, alone=True)
                tracing.call_answered(answer.status)
        except TransportError as error:
            if error.reason == "timed out":
                raise requests.Timeout(error.reason, request=request) from error
            raise requests.ConnectionError(error.reason, request=request) from error
        if self._prover:
            self._nonce = self._prover.learn(url, answer.headers)
        return as_response(request, answer)

    def close(self) -> None:
        """Nothing to close: connections belong to the thread, not to the session."""


def mount(session: Any, timeouts: Timeouts, prover: Prover | None = None) -> None:
    """Make a `requests` session send only through this client, ignoring the environment; with proofs if it has a key."""
    adapter = CurlAdapter(timeouts, prover)
    session.trust_env = False
    session.max_redirects = 0
    session.adapters.clear()
    session.mount("https://", adapter)
    session.mount("http://", adapter)


def as_response(request: requests.PreparedRequest, answer: Answer) -> requests.Response:
    """Return the answer in the shape that `requests` expects."""
    response = requests.Response()
    response.status_code = answer.status
    response.headers = CaseInsensitiveDict(answer.headers)
    response.url = request.url or ""
    response.request = request
    response.encoding = "utf-8"
    response.raw = HTTPResponse(
        io.BytesIO(answer.body),
        headers=HTTPHeaderDict(answer.headers),
        status=answer.status,
        preload_content=False,
        decode_content=False,
        request_method=request.method,
        request_url=request.url,
    )
    return response
