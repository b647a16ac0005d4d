"""The demo's certificate authority, which issues each clinic's certificate, so that copies of consent forms are sealed.

All certificates are made together and last for years, because the authority's own key isn't kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_LASTS = timedelta(days=5 * 365)
_RENEWED_BEFORE = timedelta(days=60)
_BEFORE = timedelta(days=1)
"""How far the certificates' start is backdated, because clocks differ."""


def authority_file(data: Path) -> Path:
    """Return the path of the authority's certificate, needed to verify a seal."""
    return data / "seals" / "authority.pem"


def certificate_of(data: Path, clinic: str) -> tuple[Path, Path]:
    """Return the paths of a clinic's certificate and key."""
    folder = authority_file(data).parent
    return folder / f"{clinic}.pem", folder / f"{clinic}-key.pem"


def certify(data: Path, clinics: Mapping[str, str], *, lasts: timedelta = _LASTS) -> None:
    """Make the authority and the clinics' certificates, unless they exist and are valid for two more months.

    `clinics` maps each clinic's key to its name.
    """
    file = authority_file(data)
    if file.is_file() and _ends_at(file) > datetime.now(UTC) + _RENEWED_BEFORE:
        return
    file.parent.mkdir(mode=0o700, exist_ok=True)
    key = _new_key()
    own = _name("Demo authority (trust it for the demo alone)")
    for clinic, name in clinics.items():
        certificate, key_file = certificate_of(data, clinic)
        clinics_key = _new_key()
        unsigned = _certificate(_name(name), own, clinics_key, lasts)
        unsigned = unsigned.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        unsigned = unsigned.add_extension(_usage(for_documents=True), critical=True)
        certificate.write_bytes(unsigned.sign(key, SHA256()).public_bytes(Encoding.PEM))
        key_file.touch(mode=0o600)
        key_file.write_bytes(clinics_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    unsigned = _certificate(own, own, key, lasts)
    unsigned = unsigned.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    unsigned = unsigned.add_extension(_usage(for_documents=False), critical=True)
    file.write_bytes(unsigned.sign(key, SHA256()).public_bytes(Encoding.PEM))


def _ends_at(file: Path) -> datetime:
    return x509.load_pem_x509_certificate(file.read_bytes()).not_valid_after_utc


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, lasts: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=(now - _BEFORE).replace(tzinfo=None),
        not_valid_after=(now + lasts).replace(tzinfo=None),
    )


def _usage(*, for_documents: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=for_documents,
        content_commitment=for_documents,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=not for_documents,
        crl_sign=not for_documents,
        encipher_only=False,
        decipher_only=False,
    )
