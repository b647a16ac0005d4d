"""Reads and validates a clinic's certificate and private key, for the printing process and `portal check`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    SECP384R1,
    SECP521R1,
    EllipticCurvePrivateKey,
)
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

_SMALLEST_RSA = 2048
_CURVES = (SECP256R1, SECP384R1, SECP521R1)


class CannotSeal(Exception):
    """These files can't be used to seal; `args[0]` says why, without quoting the key."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """A key with its certificate, followed by its issuers' certificates as far as the file contains them."""

    certificates: Sequence[x509.Certificate]
    key: RSAPrivateKey | EllipticCurvePrivateKey = field(repr=False)

    @property
    def ends_at(self) -> datetime:
        """When the first of the certificates expires."""
        return min(certificate.not_valid_after_utc for certificate in self.certificates)

    def check_time(self, now: datetime) -> None:
        """Raise CannotSeal if a certificate isn't valid yet or has expired."""
        begins_at = max(certificate.not_valid_before_utc for certificate in self.certificates)
        if now < begins_at:
            raise CannotSeal(f"the certificate isn't valid before {begins_at:%Y-%m-%d %H:%M} UTC")
        if now > self.ends_at:
            raise CannotSeal(f"the certificate ended on {self.ends_at:%Y-%m-%d %H:%M} UTC")


def read_credentials(certificate: Path, key_file: Path) -> Credentials:
    """Read PEM files: the certificate, followed by its issuers', and the unencrypted key.

    RSA of at least 2048 bits, or EC on P-256, P-384 or P-521. Raises CannotSeal.
    """
    try:
        certificates = x509.load_pem_x509_certificates(_content(certificate))
    except ValueError:
        raise CannotSeal(f"{certificate} holds no certificate as PEM") from None
    key = _key(key_file)
    if certificates[0].public_key() != key.public_key():
        raise CannotSeal(f"the key in {key_file} doesn't belong to the first certificate in {certificate}")
    if not _is_for_signing(certificates[0]):
        raise CannotSeal(f"the certificate in {certificate} isn't for signing, by its key usage")
    return Credentials(certificates, key)


def _key(file: Path) -> RSAPrivateKey | EllipticCurvePrivateKey:
    try:
        key = load_pem_private_key(_content(file), password=None)
    except TypeError:
        raise CannotSeal(f"the key in {file} is encrypted") from None
    except (ValueError, UnsupportedAlgorithm):
        raise CannotSeal(f"{file} holds no private key as PEM") from None
    if isinstance(key, RSAPrivateKey) and key.key_size >= _SMALLEST_RSA:
        return key
    if isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, _CURVES):
        return key
    raise CannotSeal(f"the key in {file} is neither RSA of 2048 bits or more nor EC on P-256, P-384 or P-521")


def _is_for_signing(certificate: x509.Certificate) -> bool:
    """Whether key usage allows signing; without that extension any use is allowed (RFC 5280 §4.2.1.3)."""
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return usage.digital_signature or usage.content_commitment


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CannotSeal(f"{file} can't be read ({error.strerror})") from None
