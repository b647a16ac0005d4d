"""Verifies the JWTs that an identity server signs (RFC 7515, RFC 8725 §3.1).

An algorithm is accepted only with a key of its own type and, for ECDSA and EdDSA, of its own curve. `none` and the
algorithms with a shared secret (HS256 …) never are.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import InvalidKeyIdError, JoseError, UnsupportedAlgorithmError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from portal.config.profile import FAPI2_ALGORITHMS
from portal.config.tenants import Tenant
from portal.signin.discovery import Provider, ProviderDown
from portal.signin.errors import SignInFailed

HASHES: Mapping[str, Callable[[bytes], Any]] = {
    **{f"{family}256": hashlib.sha256 for family in ("RS", "PS", "ES")},
    **{f"{family}384": hashlib.sha384 for family in ("RS", "PS", "ES")},
    **{f"{family}512": hashlib.sha512 for family in ("RS", "PS", "ES")},
    **dict.fromkeys(("EdDSA", "Ed25519"), hashlib.sha512),
}
"""The accepted algorithms (RFC 7518 §3.1, RFC 8037, RFC 9864), each with the hash of its `at_hash`."""

SOUND = tuple(HASHES)
"""Their names."""

_ALGORITHM = re.compile(r"[A-Za-z0-9]{1,12}")


def accepted_algorithms(tenant: Tenant) -> Collection[str]:
    """What the clinic's identity server may sign with: what the clinic's profile takes, or any sound algorithm."""
    return FAPI2_ALGORITHMS if tenant.profile else SOUND


def decode(token: str, provider: Provider, algorithms: Collection[str] = SOUND) -> jwt.Token:
    """Verify a JWT signed by the identity server with one of these algorithms, and return its header and claims.

    An unknown key makes it fetch the keys anew. Raises SignInFailed, or ProviderDown if it can't be verified without newer keys.
    """
    for again in (False, True):
        try:
            return _verified(token, provider.keys(unknown_key=again), algorithms)
        except InvalidKeyIdError as error:
            if again and provider.has_old_keys:
                raise ProviderDown("newer keys can't be read") from error
            if again:
                raise SignInFailed("token signed with an unknown key") from error
        except UnsupportedAlgorithmError as error:
            raise SignInFailed(f"token signed with {error.description}, which isn't accepted") from error
        except (JoseError, ValueError, TypeError, RecursionError) as error:
            raise SignInFailed(f"token not readable: {type(error).__name__}") from error
    raise AssertionError("unreachable")


def half_hash(algorithm: str, value: str) -> bytes:
    """Return the `at_hash` of an access token beside an ID token of this algorithm (OpenID Connect Core §3.1.3.6)."""
    digest: bytes = HASHES[algorithm](value.encode()).digest()
    return base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=")


class _Registry(JWSRegistry):
    """The accepted algorithms. joserfc warns of the name EdDSA, which identity servers go on using."""

    def get_alg(self, name: str) -> Any:
        if name not in HASHES:
            raise UnsupportedAlgorithmError(name if _ALGORITHM.fullmatch(name) else "another algorithm")
        return self.algorithms[name]


_REGISTRY = _Registry(
    strict_check_header=False
)  # unknown headers are ignored, except critical ones (RFC 7515 §4)


def _verified(token: str, keys: KeySet, algorithms: Collection[str]) -> jwt.Token:
    """Verify with the key that the header names; if it names none, with any that fits."""
    header = jws.extract_compact(token.encode(), registry=_REGISTRY).headers()
    if _REGISTRY.get_alg(header["alg"]).name not in algorithms:  # refused before a key is looked for
        raise UnsupportedAlgorithmError(header["alg"])
    kid = header.get("kid")
    named = [key for key in keys if kid is None or key.kid == kid]
    failure: JoseError = InvalidKeyIdError("no key of this id")
    for key in named:
        try:
            return jwt.decode(token, key, registry=_REGISTRY)
        except JoseError as error:
            failure = error
    raise failure if kid is not None else InvalidKeyIdError("no key fits")
