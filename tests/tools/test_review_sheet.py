"""The review sheet for native speakers: its export, and importing the corrections."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from tools import review_sheet
from tools.review_sheet import NotTaken, Row


@pytest.fixture
def said() -> Catalog:
    said = Catalog()
    said.add("Open until %(time)s", locations=[("templates/help/show.html", 12), ("portal/web/labels.py", 3)])
    said.add(("%(num)s form", "%(num)s forms"), locations=[("templates/home/needs.html", 40)])
    return said


@pytest.fixture
def kept() -> Catalog:
    kept = Catalog(locale="es")
    kept.add("Open until %(time)s", "Abierto hasta %(time)s")
    kept.add(("%(num)s form", "%(num)s forms"), ("%(num)s formulario", "%(num)s formularios"))
    return kept


@pytest.fixture
def rows(said: Catalog, kept: Catalog) -> list[Row]:
    return list(review_sheet.rows_of(said, kept))


def test_a_row_has_its_text_plural_form_and_places(rows: list[Row]) -> None:
    assert [(row.translation, row.number, row.where) for row in rows] == [
        ("Abierto hasta %(time)s", "", "templates/help/show.html:12, portal/web/labels.py:3"),
        ("%(num)s formulario", "1", "templates/home/needs.html:40"),
        ("%(num)s formularios", "0, 2, 3, 4…", "templates/home/needs.html:40"),
    ]


def test_corrections_are_imported_from_a_spreadsheet(rows: list[Row], kept: Catalog, tmp_path: Path) -> None:
    file = tmp_path / "es.csv"
    one, _singular, plural = rows
    corrected = [
        replace(one, correction="Abierto hasta las %(time)s"),
        replace(plural, correction='"%(num)s" impresos'),
    ]
    review_sheet.write(corrected, file)
    assert file.read_bytes().startswith(b"\xef\xbb\xbf")  # without a BOM, Excel guesses the encoding
    assert review_sheet.read(file) == corrected
    assert review_sheet.take(review_sheet.read(file), kept) == 2
    assert kept["Open until %(time)s"].string == "Abierto hasta las %(time)s"
    assert kept["%(num)s form"].string == ("%(num)s formulario", '"%(num)s" impresos')


def test_a_csv_file_with_semicolons_is_read(rows: list[Row], tmp_path: Path) -> None:
    file = tmp_path / "es.csv"
    heading = ";".join(review_sheet.HEADINGS.values())
    file.write_text(f"{heading}\r\nYes;;;Si;Sí, claro;;\r\n", encoding="utf-8")
    assert review_sheet.read(file) == [Row(english="Yes", translation="Si", correction="Sí, claro")]


@pytest.mark.parametrize(
    ("correction", "says"),
    [
        ("Abierto", "%(time)s"),
        ("Abierto hasta %(hora)s", "%(hora)s"),
        ("Abierto hasta %(time)s y %(time)s", "%(time)s"),
        ("Abierto al 100% hasta %(time)s", "%%"),
        ("Abierto <b>hasta</b> %(time)s", "leave out <"),
    ],
)
def test_an_invalid_correction_is_reported_and_nothing_is_imported(
    rows: list[Row], kept: Catalog, correction: str, says: str
) -> None:
    wrong = [replace(rows[1], correction="%(num)s impreso"), replace(rows[0], correction=correction)]
    with pytest.raises(NotTaken) as refusal:
        review_sheet.take(wrong, kept)
    assert [fault.startswith("row 3: ") and says in fault for fault in refusal.value.faults] == [True]
    assert kept["%(num)s form"].string == ("%(num)s formulario", "%(num)s formularios")


def test_a_text_changed_since_the_export_is_reported(rows: list[Row], kept: Catalog) -> None:
    old = [
        replace(rows[0], translation="Abierto a %(time)s", correction="Hasta %(time)s"),
        replace(rows[0], english="Closed", correction="Cerrado"),
    ]
    with pytest.raises(NotTaken) as refusal:
        review_sheet.take(old, kept)
    assert len(refusal.value.faults) == 2


def test_a_file_that_is_not_a_review_sheet_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "es.csv"
    for content in (b"", b"English,Translation\nYes,S\xc3\xad\n", "Sí".encode("cp1252")):
        file.write_bytes(content)
        with pytest.raises(NotTaken, match=r"es\.csv"):
            review_sheet.read(file)


@pytest.mark.parametrize(
    ("page", "translation", "is_shown"),
    [
        ("Ayuda Abierto hasta 17:30 Salir", "Abierto hasta %(time)s", True),
        ("Ayuda Reabierto hasta 17:30", "Abierto hasta %(time)s", False),
        ("Ayuda Salir", "Abierto hasta %(time)s", False),
        ("Ayuda Salir", "%(num)s", False),
    ],
)
def test_a_picture_matches_a_text_with_its_placeholders_filled_in(
    page: str, translation: str, is_shown: bool
) -> None:
    assert review_sheet.shows(page, translation) is is_shown
