"""Client authentication at the token, revocation and pushed authorization request endpoints (RFC 6749 §2.3).

The methods replace Authlib's own, which break a rule: `client_secret_basic` doesn't form-urlencode the secret, and
`private_key_jwt` doesn't update Content-Length.
"""

from __future__ import annotations

import base64
import time
from typing import Any, cast
from urllib.parse import parse_qsl, quote_plus, urlencode

from authlib.integrations.requests_client import OAuth2Session

from portal.config.client_keys import ClientKey
from portal.config.identity import Client, KeyAudience
from portal.signin.discovery import PRIVATE_KEY_JWT, Metadata
from portal.values import Value


def register(session: OAuth2Session, client: Client, metadata: Metadata) -> None:
    """Let `session` authenticate as `client` at this server, by its secret and, if it has one, its key."""
    is_for_issuer = client.key_audience is KeyAudience.ISSUER
    audience = metadata.issuer if is_for_issuer else metadata.token_endpoint
    methods = cast("Any", session)
    methods.register_client_auth_method(("client_secret_basic", with_basic))
    if client.signing_key:
        methods.register_client_auth_method(WithKey(client.signing_key, audience))


def with_basic(
    auth: Any, method: str, uri: str, headers: dict[str, str], body: str | None
) -> tuple[str, dict[str, str], str | None]:
    """Add the client's id and secret as HTTP Basic credentials, each form-urlencoded first (RFC 6749 §2.3.1)."""
    credentials = f"{quote_plus(auth.client_id)}:{quote_plus(auth.client_secret)}"
    headers["Authorization"] = f"Basic {base64.b64encode(credentials.encode()).decode()}"
    return uri, headers, body


class WithKey(Value, frozen=True):
    """Adds a `private_key_jwt` assertion to the form (RFC 7523 §2.2)."""

    key: ClientKey
    audience: str

    @property
    def name(self) -> str:
        return PRIVATE_KEY_JWT

    def __call__(
        self, auth: Any, method: str, uri: str, headers: dict[str, str], body: str | None
    ) -> tuple[str, dict[str, str], str]:
        proof = {
            "client_id": auth.client_id,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": self.key.assertion(auth.client_id, self.audience, time.time()),
        }
        form = dict(parse_qsl(body or "", keep_blank_values=True)) | proof
        sent = urlencode(form)
        headers["Content-Length"] = str(len(sent))
        return uri, headers, sent
