"""Signatures of webhooks over the raw body, by the Standard Webhooks scheme (symmetric, `v1`).

Implemented here over bytes and with the app's own clock, because the body of an inbound e-mail may not be text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from werkzeug.datastructures import Headers, MultiDict

WINDOW = timedelta(minutes=5)
"""How far a webhook's timestamp may be from the current time, either way."""

_PREFIX = "whsec_"
_ID = re.compile(r"^[\x21-\x7e]{1,200}$")
_TIMESTAMP = re.compile(r"^[0-9]{1,12}$")
_LEAST_BYTES = 16


def new_secret() -> str:
    """A new secret, in the form that the sender gets."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def key_of(secret: str) -> bytes:
    """The key in a secret (base64, with or without `whsec_`); raises ValueError for anything else."""
    encoded = secret.strip().removeprefix(_PREFIX).rstrip("=")
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("a webhook secret is whsec_ and base64") from None
    if len(key) < _LEAST_BYTES:
        raise ValueError(f"a webhook secret holds at least {_LEAST_BYTES} bytes")
    return key


def sign(secret: str, webhook_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The three headers of a signed webhook."""
    timestamp = str(int(at.timestamp()))
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{_digest(key_of(secret), webhook_id, timestamp, body)}",
    }


def signed_id(headers: Headers, body: bytes, secrets: Iterable[str], now: datetime) -> str | None:
    """The id of a webhook that one of `secrets` signed within `WINDOW`, else None."""
    webhook_id = headers.get("webhook-id", "")
    timestamp = headers.get("webhook-timestamp", "")
    if not (_ID.match(webhook_id) and _TIMESTAMP.match(timestamp)):
        return None
    if abs(now.timestamp() - int(timestamp)) > WINDOW.total_seconds():
        return None
    given = [
        signature.removeprefix("v1,").encode()
        for signature in headers.get("webhook-signature", "").split(" ")[:20]
        if signature.startswith("v1,")
    ]
    wanted = [_digest(key_of(secret), webhook_id, timestamp, body).encode() for secret in secrets]
    # Every pair is compared, so that timing doesn't reveal which secret is in use.
    matches = [hmac.compare_digest(one, other) for one in given for other in wanted]
    return webhook_id if any(matches) else None


def is_signed_by_twilio(token: str, url: str, form: MultiDict[str, str], signature: str) -> bool:
    """Whether Twilio signed a form posted to `url` with this Auth Token (Twilio, "Validating Requests": HMAC-SHA1)."""
    fields = "".join(f"{name}{value}" for name in sorted(form) for value in sorted(set(form.getlist(name))))
    wanted = base64.b64encode(hmac.digest(token.encode(), (url + fields).encode(), hashlib.sha1))
    return hmac.compare_digest(wanted, signature.encode())


def _digest(key: bytes, webhook_id: str, timestamp: str, body: bytes) -> str:
    content = f"{webhook_id}.{timestamp}.".encode() + body
    return base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
