"""An identity server that misbehaves on request, and a counting proxy in front of an honest one.

`HostileServer` signs everyone in at once. A test changes what it says: `discovery`, `claims`, `header` and `token`
are laid over the right values (None removes a member); `answers` replaces a whole answer of one path.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

from portal.demo.stack import DemoSetup

REMOVED = None


@dataclass(slots=True)
class Answer:
    """A whole answer; `wait` seconds pass before it, `drip` seconds before each of its bytes; `is_half` ends in the middle."""

    body: bytes | str = b""
    status: int = 200
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    drip: float = 0.0
    is_half: bool = False


class _Local(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave early are part of these tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self.server.answer(self, b"")  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.answer(self, body)  # type: ignore[attr-defined]

    def reply(self, answer: Answer) -> None:
        body = answer.body.encode() if isinstance(answer.body, str) else answer.body
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if answer.is_half:
            body, self.close_connection = body[: len(body) // 2], True
        if not answer.drip:
            self.wfile.write(body)
            return
        for byte in body:
            time.sleep(answer.drip)
            self.wfile.write(bytes([byte]))


class HostileServer:
    """The identity server of a test, at the address that the plan gives the care service."""

    def __init__(self, plan: DemoSetup, tenant_id: str) -> None:
        self.plan = plan
        self.origin = plan.service
        self.asked: list[str] = []
        self.forms: list[tuple[str, dict[str, str], str]] = []
        self._tenant_id = tenant_id
        self.behave()
        self.start()

    def behave(self) -> None:
        """Be honest from now on, with a key that nobody has seen."""
        self.key: RSAKey | ECKey | OKPKey = RSAKey.generate_key(2048, {"use": "sig"}, auto_kid=True)
        self.discovery: dict[str, Any] = {}
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.token: dict[str, Any] = {}
        self.userinfo: dict[str, Any] | None = None
        self.callback: dict[str, Any] = {}
        self.answers: dict[str, Answer] = {}
        self.published: list[RSAKey | ECKey | OKPKey] | None = None
        self.accepts: Callable[[dict[str, str], str], bool] = lambda _form, _authorization: True
        self.sign: Callable[[dict[str, Any], bytes], str] = self.signed
        self._codes: dict[str, dict[str, str]] = {}
        self._pushed: dict[str, str] = {}
        self.token_error = ""
        self.authorized: list[dict[str, str]] = []
        self.asked.clear()
        self.forms.clear()

    def start(self) -> None:
        self._server = _Local(("127.0.0.1", self.plan.service_port), _Handler)
        self._server.answer = self._answer  # type: ignore[attr-defined]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join(timeout=5)
        self._server.server_close()

    def count(self, path: str) -> int:
        """How often this path was asked for."""
        return self.asked.count(path)

    # Ways of signing a JWT.

    def signed(self, header: dict[str, Any], payload: bytes) -> str:
        header = {name: value for name, value in header.items() if value is not REMOVED}
        with warnings.catch_warnings(action="ignore"):  # about the name EdDSA
            return jws.serialize_compact(header, payload, self.key, algorithms=[header["alg"]])

    def unsigned(self, header: dict[str, Any], payload: bytes) -> str:
        return f"{_b64(json.dumps({**header, 'alg': 'none'}).encode())}.{_b64(payload)}."

    def by_public_key(self, header: dict[str, Any], payload: bytes) -> str:
        """HS256, with the public key as the secret."""
        signed = f"{_b64(json.dumps({**header, 'alg': 'HS256'}).encode())}.{_b64(payload)}"
        public = self.key.as_pem(private=False)
        return f"{signed}.{_b64(hmac.new(public, signed.encode(), hashlib.sha256).digest())}"

    def with_raw_header(self, header: bytes) -> Callable[[dict[str, Any], bytes], str]:
        return lambda _, payload: f"{_b64(header)}.{_b64(payload)}.{_b64(b'signature')}"

    def jwt(self, claims: dict[str, Any]) -> str:
        """Return these claims, signed as all its JWTs are now."""
        claims = _laid_over(claims, self.claims)
        return self.sign({"alg": "RS256", "kid": self.key.kid, **self.header}, json.dumps(claims).encode())

    # Handling requests.

    def _answer(self, handler: _Handler, body: bytes) -> None:
        parts = urlsplit(handler.path)
        self.asked.append(parts.path)
        given = dict(parse_qsl(parts.query) + parse_qsl(body.decode()))
        if handler.command == "POST":
            self.forms.append((parts.path, given, handler.headers.get("Authorization", "")))
        if made := self.answers.get(parts.path):
            time.sleep(made.wait)
            if not made.body and (made.wait or made.drip or made.is_half):
                honest = self._honest(parts.path, given)
                made = replace(honest, drip=made.drip, is_half=made.is_half)
            handler.reply(made)
            return
        handler.reply(self._honest(parts.path, given))

    def _honest(self, path: str, given: dict[str, str]) -> Answer:
        match path:
            case "/.well-known/openid-configuration":
                return _json(_laid_over(self._discovery(), self.discovery))
            case "/jwks":
                keys = [self.key] if self.published is None else self.published
                return _json({"keys": [key.as_dict(private=False) for key in keys]})
            case "/authorize":
                return self._authorize(given)
            case "/par":
                self._pushed = given
                return Answer('{"request_uri": "urn:example:1", "expires_in": 60}', 201)
            case "/token":
                is_known = not self.forms or self.accepts(*self.forms[-1][1:])
                return self._token(given) if is_known else Answer('{"error": "invalid_client"}', 401)
            case "/revoke":
                return Answer("", 200 if self.accepts(*self.forms[-1][1:]) else 401)
            case "/userinfo":
                return _json(self.userinfo or {})
            case _:
                return Answer("{}", 404)

    def posted(self, path: str) -> list[tuple[dict[str, str], str]]:
        """The forms that were posted there, each with its `Authorization`."""
        return [(given, authorization) for at, given, authorization in self.forms if at == path]

    def _discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "jwks_uri": f"{self.origin}/jwks",
            "userinfo_endpoint": f"{self.origin}/userinfo",
            "authorization_response_iss_parameter_supported": True,
        }

    def _authorize(self, given: dict[str, str]) -> Answer:
        given = self._pushed if "request_uri" in given else given
        code = secrets.token_urlsafe(12)
        self._codes[code] = given
        self.authorized.append(given)
        query = _laid_over({"code": code, "state": given["state"], "iss": self.origin}, self.callback)
        return Answer(
            status=303, headers={"Location": f"{given['redirect_uri']}?{urlencode(query, doseq=True)}"}
        )

    def _token(self, given: dict[str, str]) -> Answer:
        if self.token_error:
            return Answer(json.dumps({"error": self.token_error}), 400)
        now = time.time()
        asked = self._codes.get(given.get("code", ""), {})
        id_token = self.jwt(
            {
                "iss": self.origin,
                "sub": "person-1",
                "aud": "riverside-portal",
                "exp": now + 600,
                "iat": now,
                "auth_time": now,
                "nonce": asked.get("nonce"),
                "name": "Amelia Hart",
                "role": "patient",
                "tenantid": self._tenant_id,
                "sid": "session-1",
            }
        )
        token = {
            "access_token": "access-" + secrets.token_urlsafe(9),
            "refresh_token": "refresh-" + secrets.token_urlsafe(9),
            "token_type": "Bearer",
            "expires_in": 3600,
            "id_token": id_token,
        }
        return _json(_laid_over(token, self.token))


class CountingProxy:
    """Passes requests on to `target_port`, counts them by path, and can hold one path's back, or cut it off.

    A path with a method before it (`POST /api/…`) means that method's requests alone.
    """

    def __init__(self, target_port: int) -> None:
        self.asked: list[str] = []
        self._target_port = target_port
        self._held = ""
        self._after = False
        self._dropped = False
        self._waiting, self._go_on = threading.Event(), threading.Event()
        self._server = _Local(("127.0.0.1", 0), _Handler)
        self.port = self._server.server_address[1]
        self.origin = f"http://127.0.0.1:{self.port}"
        self._server.answer = self._answer  # type: ignore[attr-defined]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def count(self, path: str) -> int:
        return sum(_is_meant(path, asked) for asked in self.asked)

    def lose(self, path: str, *, after: bool) -> None:
        """Cut requests of this path off: before anybody hears of them, or `after` they were acted on."""
        self.hold(path, after=after)
        self._dropped = True
        self._go_on.set()

    def hold(self, path: str, *, after: bool = False) -> None:
        """Keep requests of this path waiting; with `after`, act on them and keep the answer back."""
        self._waiting.clear()
        self._go_on.clear()
        self._held, self._after, self._dropped = path, after, False

    def wait(self) -> None:
        """Return when one is being held."""
        assert self._waiting.wait(20), "no request arrived"

    def release(self) -> None:
        """Go on as if nothing had been."""
        self._held = ""
        self._go_on.set()

    def drop(self) -> None:
        """Close what is held without an answer."""
        self._dropped = True
        self.release()

    def stop(self) -> None:
        self.drop()
        self._server.shutdown()
        self._thread.join(timeout=5)
        self._server.server_close()

    def _answer(self, handler: _Handler, body: bytes) -> None:
        asked = f"{handler.command} {urlsplit(handler.path).path}"
        self.asked.append(asked)
        held, after = _is_meant(self._held, asked), self._after
        if held and not after and self._is_dropped():
            handler.close_connection = True
            return
        upstream = HTTPConnection("127.0.0.1", self._target_port, timeout=20)
        left_out = ("connection", "content-length", "transfer-encoding", "date", "server")
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in left_out}
        upstream.request(handler.command, handler.path, body or None, headers)
        response = upstream.getresponse()
        read = response.read()
        upstream.close()
        if held and after and self._is_dropped():
            handler.close_connection = True
            return
        handler.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in left_out:
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(read)))
        handler.end_headers()
        handler.wfile.write(read)

    def _is_dropped(self) -> bool:
        """Hold a request until it may go on; tell whether it is cut off instead."""
        self._waiting.set()
        self._go_on.wait(30)
        return self._dropped


def _is_meant(path: str, asked: str) -> bool:
    """Whether this is what was asked for: `METHOD /path`, `/path`, or with a slash at its end whatever lies below it."""
    target = asked.partition(" ")[2]
    return path in (asked, target) or (path.endswith("/") and target.startswith(path))


def _laid_over(right: dict[str, Any], wrong: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**right, **wrong}.items() if value is not REMOVED}


def _json(value: object) -> Answer:
    return Answer(json.dumps(value))


def _b64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
