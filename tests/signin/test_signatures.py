"""Which signed tokens of an identity server are believed, by algorithm and key."""

from __future__ import annotations

import base64
import hashlib
import json
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import ECKey, KeySet, OctKey, OKPKey, RSAKey

from portal.config.profile import Profile
from portal.signin.discovery import ProviderDown, _signing_key
from portal.signin.errors import SignInFailed
from portal.signin.signatures import HASHES, accepted_algorithms, decode, half_hash

RSA = RSAKey.generate_key(2048, {"kid": "rsa"})
NEWER = RSAKey.generate_key(2048, {"kid": "newer"})
P256 = ECKey.generate_key("P-256", {"kid": "p256"})
P384 = ECKey.generate_key("P-384", {"kid": "p384"})
P521 = ECKey.generate_key("P-521", {"kid": "p521"})
ED25519 = OKPKey.generate_key("Ed25519", {"kid": "ed"})
ED448 = OKPKey.generate_key("Ed448", {"kid": "ed448"})
with warnings.catch_warnings(action="ignore"):
    SHORT = RSAKey.generate_key(1024)
KEYS: dict[str, Any] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), RSA),
    "ES256": P256,
    "ES384": P384,
    "ES512": P521,
    "EdDSA": ED25519,
    "Ed25519": ED25519,
}


class Provider:
    """An identity server whose newer keys are read when they are asked for, unless it is down by then."""

    def __init__(self, *keys: Any, is_down: bool = False, newer: Any = None) -> None:
        self.has_old_keys = is_down
        self._keys, self._newer = list(keys or (RSA,)), newer
        self.asked: list[bool] = []

    def keys(self, *, unknown_key: bool = False) -> KeySet:
        self.asked.append(unknown_key)
        return KeySet([*self._keys, *([self._newer] if unknown_key and self._newer else [])])


def signed(alg: str = "RS256", key: Any = None, **header: Any) -> str:
    """A token by this algorithm; a header of None is left out."""
    key = key or KEYS[alg]
    head = {
        name: value for name, value in {"alg": alg, "kid": key.kid, **header}.items() if value is not None
    }
    registry = jws.JWSRegistry(algorithms=[alg], strict_check_header=False)
    with warnings.catch_warnings(action="ignore"):  # about names that are deprecated
        return jws.serialize_compact(head, b'{"sub": "amelia"}', key, registry=registry)


def believed(token: str, provider: Any = None) -> bool:
    return decode(token, provider or Provider(*KEYS.values())).claims["sub"] == "amelia"


def test_these_algorithms_are_accepted() -> None:
    assert set(HASHES) == set(KEYS)


@pytest.mark.parametrize("alg", KEYS)
def test_each_algorithm_is_accepted_with_a_key_of_its_type(alg: str) -> None:
    assert believed(signed(alg))
    assert decode(signed(alg), Provider(KEYS[alg])).header["alg"] == alg  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("alg", "key"),
    [("RS256", P256), ("ES256", RSA), ("ES256", P384), ("ES384", P256), ("EdDSA", P256), ("PS512", ED25519)],
)
@pytest.mark.asvs("9.1.2", "9.1.3")
def test_an_algorithm_is_bound_to_the_type_and_curve_of_its_key(alg: str, key: Any) -> None:
    other = signed(alg, kid=key.kid)
    with pytest.raises(SignInFailed, match=r"^token not readable: \w+$"):
        decode(other, Provider(key))  # type: ignore[arg-type]


@pytest.mark.parametrize("alg", ["none", "HS256", "HS384", "HS512", "ES256K", "Ed448"])
@pytest.mark.asvs("9.1.2")
def test_other_algorithms_are_refused_by_name(alg: str) -> None:
    secret = OctKey.generate_key(512)
    keys = {"none": secret, "ES256K": ECKey.generate_key("secp256k1"), "Ed448": ED448}
    token = signed(alg, keys.get(alg, secret), kid="rsa")
    with pytest.raises(SignInFailed, match=rf"^token signed with {alg}, which isn't accepted$"):
        believed(token)


@pytest.mark.parametrize("alg", HASHES)
def test_a_clinics_profile_narrows_them_for_whatever_its_server_signs(alg: str) -> None:
    tenant: Any = SimpleNamespace(profile=Profile.FAPI2)
    provider: Any = Provider(KEYS[alg])
    if alg in ("PS256", "ES256", "EdDSA", "Ed25519"):
        assert decode(signed(alg), provider, accepted_algorithms(tenant))
        return
    with pytest.raises(SignInFailed, match=rf"^token signed with {alg}, which isn't accepted$"):
        decode(signed(alg), provider, accepted_algorithms(tenant))


@pytest.mark.parametrize("alg", ["Amelia Hart", "a" * 13, ""])
def test_what_is_no_name_of_an_algorithm_is_not_logged(alg: str) -> None:
    head = base64.urlsafe_b64encode(json.dumps({"alg": alg}).encode()).decode().rstrip("=")
    with pytest.raises(SignInFailed, match=r"^token signed with another algorithm, which isn't accepted$"):
        believed(f"{head}.e30.AAAA")


@pytest.mark.parametrize(
    ("key", "is_kept"), [(RSA, True), (P384, True), (ED25519, True), (ED448, False), (OctKey.generate_key(256), False), (SHORT, False)]
)  # fmt: skip
def test_keys_of_accepted_algorithms_are_kept(key: Any, is_kept: bool) -> None:
    assert bool(_signing_key(key.as_dict(private=False) if key is not None else {})) is is_kept


@pytest.mark.parametrize(("alg", "hashed"), [("RS256", "sha256"), ("ES384", "sha384"), ("PS512", "sha512"), ("EdDSA", "sha512")])  # fmt: skip
def test_at_hash_is_half_of_the_algorithms_own_hash(alg: str, hashed: str) -> None:
    digest = hashlib.new(hashed, b"access").digest()
    assert half_hash(alg, "access") == base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=")


def test_headers_that_nobody_knows_are_ignored_unless_they_are_critical() -> None:
    assert believed(signed(**{"pi.atm": "1"}))
    head = {"alg": "RS256", "kid": RSA.kid, "pi.atm": "1", "crit": ["pi.atm"]}
    critical = base64.urlsafe_b64encode(json.dumps(head).encode()).decode().rstrip("=")
    with pytest.raises(SignInFailed, match="UnsupportedHeaderError"):
        believed(f"{critical}.e30.AAAA")


def test_a_token_without_key_id_is_verified_with_every_key_that_fits() -> None:
    provider: Any = Provider(P256, NEWER, RSA)
    assert believed(signed(kid=None), provider)
    assert provider.asked == [False]
    with pytest.raises(SignInFailed, match="unknown key"):
        decode(signed("ES384", kid=None), provider)


def test_two_keys_of_one_id_are_told_apart_by_their_type() -> None:
    twin = ECKey.generate_key("P-256", {"kid": RSA.kid})
    assert believed(signed(), Provider(twin, RSA))


def test_keys_are_read_again_for_an_unknown_one_alone() -> None:
    known: Any = Provider(newer=NEWER)
    assert decode(signed(), known).claims["sub"] == "amelia"
    assert known.asked == [False]
    newer: Any = Provider(newer=NEWER)
    assert decode(signed(key=NEWER), newer).claims["sub"] == "amelia"
    assert newer.asked == [False, True]


def test_a_key_that_nobody_knows_is_refused_and_one_that_cannot_be_looked_up_is_not() -> None:
    provider: Any = Provider()
    with pytest.raises(SignInFailed, match="unknown key"):
        decode(signed(key=NEWER), provider)
    down: Any = Provider(is_down=True)
    with pytest.raises(ProviderDown):
        decode(signed(key=NEWER), down)
    assert provider.asked == down.asked == [False, True]
    assert decode(signed(), down).claims["sub"] == "amelia", "a known key needs no look-up"


def test_a_wrong_signature_is_refused() -> None:
    with pytest.raises(SignInFailed, match="not readable"):
        believed(signed()[:-8] + "AAAAAAAA")
