"""A passkey in software: what `navigator.credentials` would bring back (WebAuthn Level 2), and whatever it shouldn't."""

from __future__ import annotations

import base64
import json
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

_PRESENT, _VERIFIED, _MAY_SYNC, _SYNCED, _HAS_KEY = 0x01, 0x04, 0x08, 0x10, 0x40


def encoded(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


@dataclass
class Passkey:
    """One credential (ES256) for pages of `origin`."""

    origin: str
    name: str
    is_synced: bool = False
    is_verified: bool = True
    count: int = 0
    id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def public_key(self) -> bytes:
        """It as COSE has it (RFC 9052 §7)."""
        numbers = self.key.public_key().public_numbers()
        return cbor2.dumps({1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)})

    def created(self, options: dict[str, Any], **changes: Any) -> str:
        """The credential that it makes for the options of `create()`; `changes` are of the client's data."""
        attested = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + self.public_key
        data = self._data(_HAS_KEY) + attested
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", options["challenge"], changes)
        return self._credential(attestationObject=attestation, clientDataJSON=client)

    def asserted(self, options: dict[str, Any], **changes: Any) -> str:
        """What it signs for the options of `get()`."""
        self.count += 1
        data, client = self._data(0), self._client("webauthn.get", options["challenge"], changes)
        signature = self.key.sign(data + sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._credential(authenticatorData=data, clientDataJSON=client, signature=signature)

    def _data(self, more: int) -> bytes:
        flags = _PRESENT | more | (_VERIFIED if self.is_verified else 0)
        flags |= _MAY_SYNC | _SYNCED if self.is_synced else 0
        return sha256(self.name.encode()).digest() + bytes([flags]) + self.count.to_bytes(4, "big")

    def _client(self, kind: str, challenge: str, changes: dict[str, Any]) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(said | changes).encode()

    def _credential(self, **response: bytes) -> str:
        parts = {name: encoded(value) for name, value in response.items()}
        return json.dumps(
            {"id": encoded(self.id), "rawId": encoded(self.id), "type": "public-key", "response": parts}
        )
