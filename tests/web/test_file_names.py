"""The names of downloads: no system reads them as something else."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.web.file_names import disposition, file_name

PDF, UNKNOWN = "application/pdf", "application/octet-stream"
NAMES = st.text(
    st.sampled_from('aN/\\\uff0f\u2044:.\u2024 %"\u202e\0\n\u0301ÇçOoNnCc1¹lpdfexeink\u00e9'), max_size=30
)


@pytest.mark.asvs("1.2.1", "5.4.1", "5.4.2")
@pytest.mark.parametrize(
    ("given_name", "media_type", "saved_as"),
    [
        ("../../etc/passwd", PDF, "passwd.pdf"),
        ("a\uff0fb.pdf", PDF, "b.pdf"),
        ("report\u202efdp.exe", PDF, "reportfdp.exe.pdf"),
        ("report.pdf.lnk", PDF, "report.pdf"),
        ("report.exe", UNKNOWN, "report.exe.bin"),
        ("report.docx", UNKNOWN, "report.docx"),
        ("desktop.ini", UNKNOWN, "desktop.ini.bin"),
        ("CON", PDF, "_CON.pdf"),
        ("com¹.txt", "text/plain", "_com1.txt"),
        ("scan.JPG", "image/jpeg", "scan.JPG"),
        ("results.csv", "text/plain", "results.csv"),
        ('a\r\nSet-Cookie: x="1".pdf', PDF, "aSet-Cookie_ x=_1_.pdf"),
        (".pdf", PDF, "pdf.pdf"),
        ("  ", PDF, ""),
        ("x" * 500 + ".pdf", PDF, "x" * 146 + ".pdf"),
    ],
)
def test_a_file_is_saved_under_a_harmless_name_of_its_type(
    given_name: str, media_type: str, saved_as: str
) -> None:
    assert file_name(given_name, media_type) == saved_as


def test_the_name_is_sent_in_ascii_and_in_full() -> None:
    assert disposition("Größe.pdf", PDF, is_saved=True) == (
        "attachment; filename=\"Groe.pdf\"; filename*=UTF-8''Gr%C3%B6%C3%9Fe.pdf"
    )
    assert 'filename="_CON.pdf"' in disposition("ÇON.pdf", PDF, is_saved=True), "cleaned after its accents"
    assert 'filename="file.pdf"' in disposition("تقرير.pdf", PDF, is_saved=False)
    assert disposition("", PDF, is_saved=False) == "inline"


@given(NAMES, st.sampled_from([PDF, UNKNOWN, "text/plain", "image/jpeg"]))
def test_no_name_leads_elsewhere_or_hides_its_type(name: str, media_type: str) -> None:
    header = disposition(name, media_type, is_saved=True)
    if header == "attachment":
        return
    sent = re.fullmatch(r"""attachment; filename="([^"]+)"; filename\*=UTF-8''([!-~]+)""", header)
    assert sent, header
    for one in (sent[1], unquote(sent[2])):
        assert not re.search(r'[/\\:"<>|?*%;\x00-\x1f\u202e]', one)
        assert not re.match(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", one, re.IGNORECASE)
        assert one[0] not in " ."
        assert not re.search(r"\.(exe|lnk|ini)$", one, re.IGNORECASE)
