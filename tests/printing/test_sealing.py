"""The seal of a document: verification by other programs, and what happens when a document can't be sealed."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from portal import printing
from portal.printing import Seal, pdf
from tests.support.seals import TRUSTED, VALID, WHOLE, Clinic, judged

NOW = datetime.now(UTC).replace(microsecond=0)
PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A form</title>'
    '<link rel="stylesheet" href="portal:print.css"></head><body><main><h1>A form</h1>'
    '<p data-when="sealed">It is sealed.</p><p data-when="unsealed">It has no seal.</p>{}</main></body></html>'
)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Clinic:
    return Clinic(tmp_path_factory.mktemp("clinic"))


@pytest.fixture(scope="module")
def sealed(clinic: Clinic) -> bytes:
    return pdf(PAGE.format("<p>Line</p>" * 200), seconds=90, seal=clinic.seal(NOW, "Copia de Łódź، نسخة"))


def words(document: bytes) -> str:
    return " ".join(" ".join(one.extract_text() for one in PdfReader(io.BytesIO(document)).pages).split())


def root(document: bytes) -> Any:
    return PdfReader(io.BytesIO(document)).trailer["/Root"]


def signature(document: bytes) -> Any:
    (field,) = root(document)["/AcroForm"]["/Fields"]
    return field.get_object()["/V"]


def test_pdfsig_finds_the_seal_valid_and_the_clinic_trusted(
    sealed: bytes, clinic: Clinic, tmp_path: Path
) -> None:
    said = judged(sealed, clinic.authority, tmp_path)
    for expected in (VALID, TRUSTED, WHOLE, "Common Name: Riverside Fertility", "ETSI.CAdES.detached"):
        assert expected in said, said


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_one_changed_byte_invalidates_the_seal(
    sealed: bytes, clinic: Clinic, tmp_path: Path, part: float
) -> None:
    start, length, rest, _ = signature(sealed)["/ByteRange"]
    changed = bytearray(sealed)
    streams = [at for at in range(start, length) if sealed.startswith(b"stream\n", at)]
    changed[streams[int(len(streams) * part)] + 20] ^= 1
    assert rest > length
    said = judged(bytes(changed), clinic.authority, tmp_path)
    assert "Digest Mismatch" in said
    assert VALID not in said


def test_pdfsig_reports_an_untrusted_authority(sealed: bytes, tmp_path: Path) -> None:
    other = Clinic(tmp_path / "other")
    said = judged(sealed, other.authority, tmp_path)
    assert VALID in said
    assert TRUSTED not in said


def test_the_seal_has_signer_reason_time_and_forbids_changes(sealed: bytes) -> None:
    value = signature(sealed)
    assert value["/Name"] == "Riverside Fertility"
    assert value["/Reason"] == "Copia de Łódź، نسخة"
    assert value["/M"] == f"D:{NOW:%Y%m%d%H%M%S}Z"
    (reference,) = value["/Reference"]
    assert reference["/TransformParams"]["/P"] == 1, "no changes (ISO 32000-1 §12.8.2.2)"


def test_a_sealed_document_stays_tagged_and_accessible(sealed: bytes) -> None:
    reader = PdfReader(io.BytesIO(sealed))
    catalog: Any = reader.trailer["/Root"]
    assert sealed.startswith(b"%PDF-1.7")
    assert "/Version" not in catalog, "PDF/UA-1 is a kind of PDF 1.7"
    assert catalog["/MarkInfo"]["/Marked"]
    assert catalog["/StructTreeRoot"]["/K"]
    assert b'pdfuaid:part="1"' in catalog["/Metadata"].get_data()
    assert b"A form" in catalog["/Metadata"].get_data()
    ((mark,),) = [page["/Annots"] for page in reader.pages if "/Annots" in page]
    left, bottom, right, top = mark.get_object()["/Rect"]
    assert (left, bottom) == (right, top), "the seal must be invisible"
    assert left < 0, "outside the page it needs no tag (ISO 14289-1 §7.18.1)"
    assert mark.get_object()["/TU"], "the field needs an accessible name"


def test_an_rsa_key_seals_too(tmp_path: Path, clinic: Clinic) -> None:
    rsa = tmp_path / "rsa"
    rsa.mkdir()
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3", "-subj", "/CN=Own"),
            *("-keyout", str(rsa / "key.pem"), "-out", str(rsa / "certificate.pem")),
        ],
        check=True,
        capture_output=True,
    )
    own = Seal(str(rsa / "certificate.pem"), str(rsa / "key.pem"), "Own", "Copy", datetime.now(UTC))
    assert VALID in judged(pdf(PAGE, seal=own), rsa / "certificate.pem", tmp_path)


def test_a_document_without_a_seal_has_no_signature() -> None:
    document = pdf(PAGE, seconds=90)
    assert "/AcroForm" not in root(document)
    assert words(document) == "A form {}"


@pytest.mark.parametrize(
    ("made_at", "is_readable", "why"),
    [
        (NOW, True, ""),
        (NOW + timedelta(days=366), True, "the certificate ended on"),
        (NOW - timedelta(days=2), True, "the certificate isn't valid before"),
        (NOW, False, "can't be read (No such file or directory)"),
    ],
    ids=["good", "ended", "not-yet", "no-key"],
)
def test_the_document_says_whether_it_is_sealed_and_the_log_says_why_not(
    clinic: Clinic,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    made_at: datetime,
    is_readable: bool,
    why: str,
) -> None:
    key = clinic.key_file if is_readable else tmp_path / "gone.pem"
    document = pdf(PAGE, seconds=90, seal=Seal(str(clinic.certificate), str(key), "Name", "Copy", made_at))
    assert ("It is sealed." in words(document), "It has no seal." in words(document)) == (not why, bool(why))
    assert ("/AcroForm" in root(document)) is not bool(why)
    assert why in caplog.text
    assert bool(caplog.records) is bool(why)


def test_a_document_whose_signing_failed_says_that_it_is_not_sealed() -> None:
    failing = """
import sys
from datetime import UTC, datetime
from portal.printing import PrintJob, Seal
from portal.printing.__main__ import _document
class Failing:
    def sealed(self, document, seal):
        raise ValueError("words of the key")
seal = Seal("", "", "Name", "Copy", datetime.now(UTC))
sys.stdout.buffer.write(_document(PrintJob(sys.stdin.read(), seal=seal), Failing()))
"""
    done = subprocess.run(
        [sys.executable, "-c", failing],
        input=PAGE.encode(),
        capture_output=True,
        check=True,
        cwd=printing.ROOT,
    )
    assert "It has no seal." in words(done.stdout)
    assert "It is sealed." not in words(done.stdout)
    assert f"{printing.UNSEALED}ValueError" in done.stderr.decode()
    assert b"words of the key" not in done.stderr


def test_the_portals_own_process_never_opens_the_key(clinic: Clinic) -> None:
    asking = f"""
import os, sys
from datetime import UTC, datetime
from portal.printing import Seal, pdf
opened = []
sys.addaudithook(lambda event, given: opened.append(given[0]) if event == "open" else None)
seal = Seal({str(clinic.certificate)!r}, {str(clinic.key_file)!r}, "Name", "Copy", datetime.now(UTC))
assert b"/AcroForm" in pdf("<html lang=en><title>.</title><p>.", seal=seal)
assert {str(clinic.key_file)!r} not in map(str, opened), opened
assert not [name for name in sys.modules if name.startswith("pyhanko")]
"""
    subprocess.run([sys.executable, "-c", asking], check=True, cwd=printing.ROOT, env={**os.environ})


def test_a_hostile_page_cannot_reach_the_key(clinic: Clinic) -> None:
    secret = clinic.key_file.read_text().splitlines()[1].encode()
    file = clinic.key_file.as_uri()
    document = pdf(
        PAGE.format(
            f'<a rel="attachment" href="{file}">a</a><img src="{file}" alt=""><object data="{file}">'
        ),
        seal=clinic.seal(NOW),
    )
    assert "/AcroForm" in root(document)
    assert not PdfReader(io.BytesIO(document)).attachments
    assert secret not in document
