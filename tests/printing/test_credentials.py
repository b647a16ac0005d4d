"""The certificate and key of a clinic: faults are explained without quoting the key."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from portal.printing.credentials import CannotSeal, read_credentials
from tests.support.seals import Clinic


@pytest.fixture
def clinic(tmp_path: Path) -> Clinic:
    return Clinic(tmp_path / "clinic")


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def another_key(clinic: Clinic) -> None:
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", clinic.key_file)


def encrypted(clinic: Clinic) -> None:
    plain = clinic.key_file.rename(clinic.key_file.with_name("plain.pem"))
    openssl("pkey", "-in", plain, "-aes256", "-passout", "pass:secret", "-out", clinic.key_file)


def self_signed(*options: str) -> Callable[[Clinic], None]:
    def make(clinic: Clinic) -> None:
        files = ("-keyout", clinic.key_file, "-out", clinic.certificate)
        openssl("req", "-x509", "-nodes", "-days", "3", "-subj", "/CN=Own", *options, *files)

    return make


def no_certificate(clinic: Clinic) -> None:
    clinic.certificate.write_bytes(clinic.key_file.read_bytes())


def no_key(clinic: Clinic) -> None:
    clinic.key_file.write_bytes(clinic.certificate.read_bytes())


def a_folder(clinic: Clinic) -> None:
    clinic.key_file.unlink()
    clinic.key_file.mkdir()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (another_key, "doesn't belong to the first certificate in"),
        (encrypted, "is encrypted"),
        (no_certificate, "holds no certificate as PEM"),
        (no_key, "holds no private key as PEM"),
        (a_folder, "can't be read (Is a directory)"),
        (self_signed("-newkey", "rsa:1024"), "is neither RSA of 2048 bits or more nor EC"),
        (self_signed("-newkey", "ed25519"), "is neither RSA of 2048 bits or more nor EC"),
        (
            self_signed("-newkey", "rsa:2048", "-addext", "keyUsage=critical,keyEncipherment"),
            "isn't for signing",
        ),
    ],
    ids=["another-key", "encrypted", "no-certificate", "no-key", "folder", "short", "ed25519", "usage"],
)
def test_each_fault_of_a_certificate_or_key_is_reported(
    clinic: Clinic, spoil: Callable[[Clinic], None], said: str
) -> None:
    spoil(clinic)
    with pytest.raises(CannotSeal) as caught:
        read_credentials(clinic.certificate, clinic.key_file)
    assert said in str(caught.value)
    assert caught.value.__cause__ is None, "the library's message could quote the key"


def test_valid_credentials_are_read_and_their_repr_hides_the_key(clinic: Clinic) -> None:
    credentials = read_credentials(clinic.certificate, clinic.key_file)
    assert "key" not in repr(credentials)


def test_credentials_expire_with_the_first_certificate_of_the_chain(clinic: Clinic, tmp_path: Path) -> None:
    issuer = Clinic(tmp_path / "issuer", lasts=timedelta(days=10))
    chain = clinic.certificate.read_bytes() + issuer.certificate.read_bytes()
    clinic.certificate.write_bytes(chain)
    credentials = read_credentials(clinic.certificate, clinic.key_file)
    now = datetime.now(UTC)
    assert timedelta(days=9) < credentials.ends_at - now <= timedelta(days=10)
    credentials.check_time(now)
    with pytest.raises(CannotSeal, match="ended on"):
        credentials.check_time(now + timedelta(days=11))
    with pytest.raises(CannotSeal, match="isn't valid before"):
        credentials.check_time(now - timedelta(days=2))


@pytest.mark.parametrize("usage", ["digitalSignature", "nonRepudiation"])
def test_either_usage_that_signs_is_enough(clinic: Clinic, usage: str) -> None:
    self_signed("-newkey", "rsa:2048", "-addext", f"keyUsage=critical,{usage}")(clinic)
    assert read_credentials(clinic.certificate, clinic.key_file)
