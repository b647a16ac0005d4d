"""The signed form as a PDF with its audit page, as people get it, parsed from its bytes."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pypdf import PdfReader
from pypdf.generic import ArrayObject, DictionaryObject

from portal import printing
from portal.demo.authority import authority_file, certify
from tests.support.seals import TRUSTED, VALID, WHOLE, judged
from tests.support.signing import consent, fresh_form
from tests.support.stack import PortalThread
from tests.support.visitor import Visitor

SIGNED = consent("amelia-treatment-2")
REPLACED = consent("amelia-treatment-1")
CHILDREN = {
    "/L": {"/LI", "/Caption"},
    "/LI": {"/Lbl", "/LBody"},
    "/Table": {"/TR", "/THead", "/TBody", "/TFoot", "/Caption"},
    "/THead": {"/TR"},
    "/TBody": {"/TR"},
    "/TR": {"/TH", "/TD"},
}
"""What these elements may hold (ISO 14289-1 §7.5 and §7.6)."""


class Document:
    """A PDF as a reader of files sees it."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.reader = PdfReader(io.BytesIO(content))
        self.root: Any = self.reader.trailer["/Root"]

    @property
    def pages(self) -> list[str]:
        return [_plain(page.extract_text()) for page in self.reader.pages]

    @property
    def words(self) -> str:
        return " ".join(self.pages)

    @property
    def structure(self) -> list[tuple[str, str]]:
        """Every element of the structure with the kind of its parent."""
        return list(_walk(self.root["/StructTreeRoot"]["/K"][0], ""))

    @property
    def fonts(self) -> dict[str, bool]:
        """The fonts by name, and whether each is in the file."""
        found = (
            font.get_object() for page in self.reader.pages for font in page["/Resources"]["/Font"].values()
        )
        return {str(font["/BaseFont"]): _is_embedded(font) for font in found}


def _plain(text: str) -> str:
    return " ".join(text.replace("\u2068", "").replace("\u2069", "").split())


def _walk(element: Any, parent: str) -> Iterator[tuple[str, str]]:
    yield parent, str(element["/S"])
    children = element.get("/K", ArrayObject())
    for child in children if isinstance(children, ArrayObject) else [children]:
        here = child.get_object()
        if isinstance(here, DictionaryObject) and "/S" in here:
            yield from _walk(here, str(element["/S"]))


def _is_embedded(font: Any) -> bool:
    descendants = font.get("/DescendantFonts")
    described = (descendants[0].get_object() if descendants else font)["/FontDescriptor"].get_object()
    return any(name in described for name in ("/FontFile", "/FontFile2", "/FontFile3"))


def download(visitor: Visitor, path: str) -> Document:
    answer = visitor.http.get(visitor.origin + path)
    assert answer.status_code == 200, answer.text[:300]
    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Disposition"].startswith("attachment; ")
    return Document(answer.content)


def speak(visitor: Visitor, language: str) -> None:
    page = visitor.get("/")
    page.form(page.tree.select_one("form.languages")).submit(language=language)


def record(portal: PortalThread, path: str) -> dict[str, Any]:
    """What the care service holds of a form."""
    id_ = path.rpartition("/")[2]
    with closing(sqlite3.connect(portal.plan.data / "care.db")) as database:
        database.row_factory = sqlite3.Row
        row = dict(database.execute("SELECT * FROM consent_forms WHERE id = ?", (id_,)).fetchone())
        given = database.execute("SELECT * FROM consent_signatures WHERE form_id = ?", (id_,)).fetchall()
    return {**row, "signatures": [dict(one) for one in given]}


def change(portal: PortalThread, path: str, **columns: Any) -> None:
    with closing(sqlite3.connect(portal.plan.data / "care.db", timeout=10)) as database, database:
        for name, value in columns.items():
            statement = f"UPDATE consent_forms SET {name} = ? WHERE id = ?"  # noqa: S608
            database.execute(statement, (value, path.rpartition("/")[2]))


@pytest.fixture(scope="module")
def signed(amelia: Visitor) -> Document:
    return download(amelia, f"{SIGNED}/receipt.pdf")


def test_the_copy_holds_the_whole_text_every_signature_and_the_seal(
    portal: PortalThread, signed: Document
) -> None:
    form = record(portal, SIGNED)
    for clause in json.loads(form["body"]):
        assert _plain(clause["heading"]) in signed.words
        assert _plain(clause["text"]) in signed.words
    for statement in json.loads(form["statements"]):
        assert _plain(statement["text"]) in signed.words
    assert len(form["signatures"]) == 3
    grouped = " ".join(form["content_hash"][at : at + 4] for at in range(0, 64, 4))
    assert signed.words.count(grouped) == len(form["signatures"]) + 1
    for signature in form["signatures"]:
        assert f"{signature['name']} Signed as" in signed.words
        assert f"Matches. {signature['name']}: the text is exactly the one that was signed." in signed.words
    assert "All 4 statements acknowledged, one by one" in signed.words
    assert f"Version {form['version']}" in signed.words


def test_the_audit_page_lists_what_happened_and_how_to_verify_it(
    portal: PortalThread, signed: Document
) -> None:
    audit = next(page for page in signed.pages if "Audit page" in page)
    order = [
        "Written",
        "Sent to be signed",
        "Signed by Amelia Hart",
        "Signed by Daniel Hart",
        "Signed by Victor",
    ]
    assert sorted(audit.index(what) for what in order) == [audit.index(what) for what in order]
    for signature in record(portal, SIGNED)["signatures"]:
        at = datetime.fromisoformat(signature["signed_at"]).replace(tzinfo=UTC)
        there = at.astimezone(ZoneInfo("Europe/London"))
        assert f"{there:%H:%M:%S} (UTC{there.isoformat()[-6:]})" in audit
    assert "Europe/London" in audit
    assert f"{SIGNED}/receipt" in audit.replace(" ", "")
    ((text,),) = signed.reader.attachments.values()
    seal = hashlib.sha256(text).hexdigest()
    assert " ".join(seal[at : at + 4] for at in range(0, 64, 4)) in audit


def test_every_page_names_the_clinic_and_its_page_number(signed: Document) -> None:
    for number, page in enumerate(signed.pages, start=1):
        assert f"Page {number} of {len(signed.pages)}" in page
        assert "Riverside Fertility" in page
        assert "020 7946 0120" in page


def test_the_copy_is_accessible(signed: Document) -> None:
    assert signed.root["/Lang"] == "en"
    assert signed.root["/MarkInfo"]["/Marked"]
    assert signed.root["/ViewerPreferences"]["/DisplayDocTitle"]
    assert signed.reader.metadata
    assert signed.reader.metadata.title == "Consent to IVF with intracytoplasmic sperm injection (ICSI)"
    assert b'pdfuaid:part="1"' in signed.root["/Metadata"].get_data()
    kinds = {kind for _, kind in signed.structure}
    assert {"/H1", "/H2", "/H3", "/P", "/Table", "/TH", "/TD", "/L", "/LI"} <= kinds
    misplaced = [
        (parent, kind) for parent, kind in signed.structure if kind not in CHILDREN.get(parent, {kind})
    ]
    assert misplaced == []
    assert all(signed.fonts.values())
    assert all("Print" in name for name in signed.fonts), "a font that isn't ours"


@pytest.mark.parametrize("path", ["/receipt", ""], ids=["receipt", "form"])
def test_a_signed_form_and_its_receipt_offer_the_copy(amelia: Visitor, path: str) -> None:
    link = amelia.get(SIGNED + path).tree.select_one(f'a[href="{SIGNED}/receipt.pdf"]')
    assert link is not None
    assert link.words == "Download as PDF"


def test_an_unsigned_form_has_no_copy(portal: PortalThread, amelia: Visitor) -> None:
    form = fresh_form(portal.plan)
    assert amelia.get(f"{form}/receipt.pdf").path == form
    assert amelia.get(form).tree.select_one('a[href$="receipt.pdf"]') is None


def test_another_persons_form_has_no_copy(portal: PortalThread) -> None:
    portal.sign_in("grace").get(f"{SIGNED}/receipt.pdf", status=404)


def test_every_page_of_a_replaced_form_says_so(portal: PortalThread, amelia: Visitor) -> None:
    replaced = download(amelia, f"{REPLACED}/receipt.pdf")
    assert all("Replaced" in page for page in replaced.pages)
    assert "No time recorded Replaced by a newer version" in replaced.words


HOSTILE = '</p><img src="file:///etc/passwd"><style>*{display:none}</style><script>x</script>'


def test_markup_in_a_record_is_printed_as_text(portal: PortalThread, amelia: Visitor) -> None:
    form = record(portal, REPLACED)
    body = json.loads(form["body"])
    body[0] |= {"heading": HOSTILE, "text": "p{background:url(file:///etc/passwd)} {{ 7*7 }} root:x is text"}
    change(
        portal,
        REPLACED,
        body=json.dumps(body),
        status="Revoked",
        revoked_at="2026-11-12 10:20:00",
        revoke_reason=HOSTILE,
    )
    copy = download(amelia, f"{REPLACED}/receipt.pdf")
    assert copy.words.replace(" ", "").count(HOSTILE.replace(" ", "")) == 1, (
        "as heading, and never the reason"
    )
    assert "{{ 7*7 }}" in copy.words
    assert "root:x:0" not in copy.words
    assert all("Withdrawn 12 November 2026, 10:20" in page for page in copy.pages)
    assert "Matches. Amelia Hart" not in copy.words


def test_each_copy_is_an_audit_line(portal: PortalThread, amelia: Visitor) -> None:
    before = _audited(portal)
    download(amelia, f"{SIGNED}/receipt.pdf")
    (line,) = _audited(portal)[len(before) :]
    assert '"consent.download","outcome":"done"' in line


def test_without_a_pdf_the_printable_page_is_offered(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.web.pdf.pdf", _cannot)
    page = portal.sign_in("amelia").get(f"{SIGNED}/receipt.pdf", status=503)
    assert page.heading == "The PDF could not be made"
    assert page.headers["Retry-After"] == "10"
    assert page.tree.select_one(f'main a[href="{SIGNED}/receipt"]') is not None


def test_the_copy_is_sealed_by_the_clinic_and_says_how_to_verify_it(
    portal: PortalThread, signed: Document, tmp_path: Path
) -> None:
    said = judged(signed.content, authority_file(portal.plan.data), tmp_path)
    for expected in (VALID, TRUSTED, WHOLE, "Common Name: Riverside Fertility"):
        assert expected in said, said
    assert "Riverside Fertility has sealed this file with its certificate." in signed.words
    assert "isn’t sealed" not in signed.words
    (field,) = signed.root["/AcroForm"]["/Fields"]
    assert (
        field.get_object()["/V"]["/Reason"] == "Copy of a consent form in the records of Riverside Fertility"
    )


def test_the_seal_is_timed_by_the_portals_clock(portal: PortalThread) -> None:
    visitor = portal.sign_in("amelia")
    portal.clock.advance(120)
    try:
        copy = download(visitor, f"{SIGNED}/receipt.pdf")
        then = datetime.fromtimestamp(portal.clock.now, UTC)
    finally:
        portal.clock.advance(-120)
    (field,) = copy.root["/AcroForm"]["/Fields"]
    sealed_at = datetime.strptime(field.get_object()["/V"]["/M"], "D:%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    assert abs(then - sealed_at) < timedelta(seconds=60)


@contextmanager
def _other_certificates(portal: PortalThread, **other: timedelta) -> Iterator[Path]:
    """The clinics' certificates replaced for a while; yields the folder of the new ones."""
    kept = authority_file(portal.plan.data).parent
    aside = kept.rename(kept.with_name("seals-aside"))
    try:
        certify(portal.plan.data, {"riverside": "Riverside Fertility"}, **other)
        yield kept
    finally:
        shutil.rmtree(kept)
        aside.rename(kept)


def test_in_arabic_with_an_expired_certificate_the_copy_says_in_all_letters_that_it_is_not_sealed(
    portal: PortalThread,
) -> None:
    visitor = portal.sign_in("amelia")
    speak(visitor, "ar")
    with _other_certificates(portal, lasts=timedelta(seconds=-1)):
        copy = download(visitor, f"{SIGNED}/receipt.pdf")
    assert "/AcroForm" not in copy.root
    assert "هذه النسخة غير مختومة" in copy.words
    assert copy.root["/Lang"] == "ar"
    assert {"Arabic" in name for name in copy.fonts} == {True, False}
    assert all(copy.fonts.values())
    assert "صفحة التدقيق" in copy.words
    assert "Amelia Hart" in copy.words


def test_a_missing_key_is_not_an_error_page_and_a_new_one_is_used_at_once(
    portal: PortalThread, amelia: Visitor, tmp_path: Path
) -> None:
    with _other_certificates(portal) as folder:
        key = folder / "riverside-key.pem"
        aside = key.rename(tmp_path / "key.pem")
        unsealed = download(amelia, f"{SIGNED}/receipt.pdf")
        assert "/AcroForm" not in unsealed.root
        assert "This copy isn’t sealed" in unsealed.words
        assert "has sealed this file" not in unsealed.words
        aside.rename(key)
        copy = download(amelia, f"{SIGNED}/receipt.pdf")
        assert TRUSTED in judged(copy.content, folder / "authority.pem", tmp_path)


def _cannot(*_: object, seal: object) -> bytes:
    raise printing.CannotPrint("the system lacks Pango")


def _audited(portal: PortalThread) -> list[str]:
    files = sorted((portal.plan.data / "audit").glob("*"))
    return [line for file in files if file.is_file() for line in file.read_text().splitlines()]
