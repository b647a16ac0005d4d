"""Signs a person in from the command line, through the clinic's own identity server.

The operator uses their own browser. The response returns to a loopback port (RFC 8252 §7.3), or is pasted from the
address bar. State and verifier are kept in a temporary folder; tokens only in this process's memory.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlsplit

from portal.config.settings import Settings
from portal.config.tenants import Tenant
from portal.services.errors import NotSignedIn, Unavailable
from portal.signin.discovery import ProviderDown, ProviderRefused, Providers
from portal.signin.errors import SignInFailed
from portal.signin.flow import Finished, PasswordNeeded, SignIn
from portal.store import open_store
from portal.store.vault import Vault

CALLBACK = "/sign-in/callback"
"""The path of the portal's redirect URI, registered with every identity server."""

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_WAITED_FOR = 600.0


class NoSignIn(Exception):
    """Nobody signed in; `args[0]` says why."""


class HeldToken:
    """An access token, used until it expires and never refreshed."""

    def __init__(self, token: str) -> None:
        self._token = token

    def token(self) -> str:
        return self._token

    def renew(self, refused: str) -> str:
        """Raise NotSignedIn: the API doesn't accept the token."""
        raise NotSignedIn


def sign_in(
    settings: Settings,
    tenant: Tenant,
    redirect_uri: str,
    *,
    say: Callable[[str], None],
    paste: Callable[[], str],
) -> Finished:
    """Print the address to open, wait for the response, and return the person and tokens. Raises NoSignIn."""
    tenant = replace(tenant, strong=None)  # whoever may sign in there will do
    with tempfile.TemporaryDirectory(prefix="portal-conform-") as folder:
        vault = Vault(open_store(f"sqlite:///{folder}/sign-in.db", time.time), settings.secret_keys)
        providers = Providers(settings.timeouts, time.time, settings.breaker)
        flow = SignIn(vault, providers, settings.timeouts, time.time, max_age=settings.shortest_idle)
        try:
            started = flow.start(
                tenant, redirect_uri=redirect_uri, next_path="/", cookie=None, language=tenant.languages[0]
            )
            say(f"Open this address in a browser and sign in:\n\n  {started.location}\n")
            answer = _answer(redirect_uri, say, paste)
            finished = flow.finish(tenant, cookie=started.cookie, answer=answer)
        except (ProviderDown, ProviderRefused) as error:
            raise NoSignIn(f"the identity server can't be used ({error})") from error
        except PasswordNeeded as error:
            raise NoSignIn("the identity server doesn't heed max_age: it asked for no password") from error
        except SignInFailed as error:
            raise NoSignIn(f"the answer isn't accepted ({error})") from error
        except Unavailable as error:
            raise NoSignIn(f"the identity server doesn't answer ({error})") from error
    if finished is None:
        raise NoSignIn("that isn't the response to the address above: its state is different")
    return finished


def _answer(redirect_uri: str, say: Callable[[str], None], paste: Callable[[], str]) -> dict[str, str]:
    parts = urlsplit(redirect_uri)
    if parts.hostname in _LOOPBACK and parts.port:
        say(f"Waiting at {redirect_uri} …")
        address = _wait(parts.port)
    else:
        say("Afterwards the browser shows an address that doesn't load. Paste that whole address here:")
        try:
            address = paste()
        except (EOFError, KeyboardInterrupt):
            raise NoSignIn("no address was pasted") from None
    answer = dict(parse_qsl(urlsplit(address.strip()).query))
    if "state" not in answer:
        raise NoSignIn("the address contains no response (no state)")
    return answer


def _wait(port: int) -> str:
    """Return the path and query that the browser requests on this port."""
    brought: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if "state=" in self.path:
                brought.append(self.path)
            body = b"You can close this window and go back to the terminal.\n"
            self.send_response(200 if brought else 404)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: the address contains the code."""

    try:
        server = HTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise NoSignIn(f"can't listen on port {port} ({error.strerror})") from error
    ends_at = time.monotonic() + _WAITED_FOR
    with server:
        server.timeout = 1.0
        while not brought and time.monotonic() < ends_at:
            server.handle_request()
    if not brought:
        raise NoSignIn("nobody came back in ten minutes")
    return brought[0]
