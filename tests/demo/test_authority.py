"""The demo's certificate authority: created once, kept, and renewed before it expires."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from cryptography import x509

from portal.demo.authority import authority_file, certificate_of, certify

CLINICS = {"riverside": "Riverside Fertility", "harbour": "Harbour Fertility Centre"}


def test_each_clinic_has_a_certificate_in_its_name_from_the_authority(tmp_path: Path) -> None:
    certify(tmp_path, CLINICS)
    authority = x509.load_pem_x509_certificate(authority_file(tmp_path).read_bytes())
    for clinic, name in CLINICS.items():
        file, key_file = certificate_of(tmp_path, clinic)
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
        certificate.verify_directly_issued_by(authority)
        assert certificate.subject.rfc4514_string() == f"CN={name}"
        assert key_file.stat().st_mode & 0o777 == 0o600
    assert len(list(authority_file(tmp_path).parent.iterdir())) == 5, "the authority's key must not be stored"


def test_certificates_are_kept_until_shortly_before_they_expire(tmp_path: Path) -> None:
    def made(**lasts: timedelta) -> bytes:
        certify(tmp_path, CLINICS, **lasts)
        return authority_file(tmp_path).read_bytes() + certificate_of(tmp_path, "harbour")[0].read_bytes()

    short = made(lasts=timedelta(days=59))
    kept = made()
    assert kept != short
    assert made() == kept
