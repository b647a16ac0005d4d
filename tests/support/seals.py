"""Certificates for sealing documents, and verification of a sealed one by `pdfsig` (poppler)."""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta
from pathlib import Path

from portal.demo.authority import authority_file, certificate_of, certify
from portal.demo.programs import path_of
from portal.printing import Seal


class Clinic:
    """A clinic that an authority of its own has certified, in a folder; `lasts` is from now on."""

    def __init__(self, folder: Path, *, lasts: timedelta = timedelta(days=365)) -> None:
        folder.mkdir(exist_ok=True)
        certify(folder, {"clinic": "Riverside Fertility"}, lasts=lasts)
        self.authority = authority_file(folder)
        self.certificate, self.key_file = certificate_of(folder, "clinic")

    def seal(self, made_at: datetime, reason: str = "Copy of a consent form") -> Seal:
        return Seal(str(self.certificate), str(self.key_file), "Riverside Fertility", reason, made_at)


def judged(document: bytes, authority: Path, folder: Path) -> str:
    """What pdfsig says of the document's signatures, trusting this authority; `folder` is for its files."""
    known = folder / "nss"
    if not known.is_dir():
        known.mkdir()
        certutil = path_of("certutil")
        subprocess.run([certutil, "-N", "-d", f"sql:{known}", "--empty-password"], check=True)
        subprocess.run(
            [certutil, "-A", "-d", f"sql:{known}", "-n", "authority", "-t", "CT,C,C", "-i", str(authority)],
            check=True,
        )
    file = folder / "document.pdf"
    file.write_bytes(document)
    done = subprocess.run(
        [path_of("pdfsig"), "-nssdir", str(known), str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout + done.stderr


VALID = "Signature Validation: Signature is Valid."
TRUSTED = "Certificate Validation: Certificate is Trusted."
WHOLE = "Total document signed"
