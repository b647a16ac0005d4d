"""Exports all texts of a language for native speakers to correct in a spreadsheet, and imports the corrections.

`make words L=es` writes `var/words/es.csv`; with `PICTURES=1` it also photographs the pages in that language and names,
beside each text, a picture that shows it. `make words L=es TAKE=es.csv` writes what stands under "Correction" into the
translations, all of it or, where something is wrong, nothing.
"""

from __future__ import annotations

import argparse
import csv
import gettext
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

from babel.messages.catalog import Catalog, Message

from tools.messages import LANGUAGES, catalog, keep, words

FOLDER = Path(__file__).parents[1] / "var" / "words"
"""Not kept in the repository."""
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%")
SHOWN = ("amelia", "nora")
"""Whose pages are photographed: a patient and a nurse."""
_PLACES, _NUMBERS = 3, 4
"""How many places, and how many numbers of a plural form, a row names at most."""


class NotTaken(Exception):
    """Nothing was written; `faults` says why, row by row."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


@dataclass(frozen=True, kw_only=True)
class Row:
    """One text, or one plural form of it: `number` says for which numbers ("2, 3, 4…")."""

    english: str
    english_plural: str = ""
    number: str = ""
    translation: str
    correction: str = ""
    where: str = ""
    picture: str = ""


HEADINGS = dict(
    zip(
        (field.name for field in fields(Row)),
        ("English", "English plural", "For the numbers", "Translation", "Correction", "Where", "Picture"),
        strict=True,
    )
)


def rows_of(said: Catalog, kept: Catalog) -> Iterator[Row]:
    """Yield a row for each text of the portal (`said`) and each form of its translation in `kept`."""
    for message in said:
        one, many = message.id if isinstance(message.id, tuple) else (str(message.id), "")
        known = kept.get(one)
        if not one or known is None:
            continue
        where = [f"{file}:{line}" for file, line in message.locations]
        more = "…" if len(where) > _PLACES else ""
        for index, text in enumerate(_forms(known)):
            yield Row(
                english=one,
                english_plural=many,
                number=_numbers(kept, index) if many else "",
                translation=text,
                where=", ".join(where[:_PLACES]) + more,
            )


def write(rows: Iterable[Row], file: Path) -> None:
    """Write the rows as CSV that spreadsheets open as UTF-8."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8-sig", newline="") as opened:
        sheet = csv.writer(opened)
        sheet.writerow(HEADINGS.values())
        sheet.writerows([getattr(row, name) for name in HEADINGS] for row in rows)


def read(file: Path) -> list[Row]:
    """Read the rows of a sheet, as spreadsheets save it: columns in any order, with commas, semicolons or tabs.

    Raises NotTaken for a file that is no such sheet.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise NotTaken([f"{file}: {error}. Save it as CSV in UTF-8."]) from None
    first = text.partition("\n")[0]
    found = list(csv.DictReader(text.splitlines(keepends=True), delimiter=max(",;\t", key=first.count)))
    missing = [name for name in HEADINGS.values() if not found or name not in found[0]]
    if missing:
        raise NotTaken([f"{file}: these columns are missing: {', '.join(missing)}"])
    return [Row(**{name: line[heading] or "" for name, heading in HEADINGS.items()}) for line in found]


def take(rows: Iterable[Row], kept: Catalog) -> int:
    """Put the corrections into `kept` and return how many there are.

    Raises NotTaken, with `kept` as it was, where a text is gone or was changed since, or a correction fills in
    something else than the English.
    """
    faults: list[str] = []
    changes: list[tuple[Message, int, str]] = []
    for line, row in enumerate(rows, 2):
        if not row.correction.strip() or row.correction == row.translation:
            continue
        message = kept.get(row.english)
        places = (
            [i for i, text in enumerate(_forms(message)) if _is_form(row, kept, i, text)] if message else []
        )
        if message is None or not places:
            faults.append(f"row {line}: “{row.english}” is gone, or was changed since; make a new sheet")
        elif fault := _fault(row):
            faults.append(f"row {line}: {fault}")
        else:
            changes.append((message, places[0], row.correction.strip()))
    if faults:
        raise NotTaken(faults)
    for message, index, text in changes:
        forms = _forms(message)
        forms[index] = text
        message.string = tuple(forms) if isinstance(message.id, tuple) else text
    return len(changes)


def shows(page: str, translation: str) -> bool:
    """Whether the text of a page has this translation, whatever is filled in."""
    pieces = [re.escape(" ".join(piece.split())) for piece in PLACEHOLDER.split(translation)]
    if not any(pieces):
        return False
    return re.search(rf"(?<!\w){'.+?'.join(pieces)}(?!\w)", page) is not None


def _forms(message: Message) -> list[str]:
    return list(message.string) if isinstance(message.string, tuple | list) else [message.string or ""]


def _is_form(row: Row, kept: Catalog, index: int, text: str) -> bool:
    return text == row.translation and (not row.english_plural or row.number == _numbers(kept, index))


def _numbers(kept: Catalog, index: int) -> str:
    """The first numbers that are said with this plural form."""
    form_of = cast("Any", gettext).c2py(kept.plural_expr)
    found = list(islice((n for n in range(1000) if form_of(n) == index), _NUMBERS + 1))
    return ", ".join(map(str, found[:_NUMBERS])) + ("…" if len(found) > _NUMBERS else "")


def _fault(row: Row) -> str:
    wanted = PLACEHOLDER.findall(row.translation if row.english_plural else row.english)
    given = PLACEHOLDER.findall(row.correction)
    if Counter(wanted) != Counter(given):
        return f"keep what is filled in as it is: {', '.join(wanted) or 'nothing'}, not {', '.join(given) or 'nothing'}"
    if "%" in PLACEHOLDER.sub("", row.correction):
        return "write %% for a per cent sign"
    if {*"<>&"} & ({*row.correction} - {*row.english}):
        return "leave out <, > and &"
    return ""


def _with_pictures(rows: list[Row], language: str) -> list[Row]:
    """Photograph the pages, and name beside each text the first picture that shows it."""
    from tests.browser.pages import sign_in
    from tools.screenshots import clinic_of, pages_of, running, settle, speak

    (FOLDER / language).mkdir(parents=True, exist_ok=True)
    with running() as (browser, portal):
        for person in SHOWN:
            origin = portal.origin(clinic_of(person))
            context = browser.new_context(locale=language, reduced_motion="reduce")
            page = context.new_page()
            sign_in(page, origin, person)
            speak(context, origin, language)
            for place, url in enumerate(pages_of(portal, person)):
                page.goto(url)
                settle(page)
                name = f"{language}/{person}-{place:02}.png"
                page.screenshot(path=FOLDER / name, full_page=True)
                text = " ".join(page.inner_text("body").split())
                rows = [
                    replace(row, picture=name) if not row.picture and shows(text, row.translation) else row
                    for row in rows
                ]
            context.close()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("language", choices=LANGUAGES)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--pictures", action="store_true", help="photograph the pages too (some minutes)")
    what.add_argument("--take", type=Path, metavar="FILE", help="take the corrections of this sheet")
    given = parser.parse_args()
    kept = catalog(given.language)
    if given.take:
        try:
            count = take(read(given.take), kept)
        except NotTaken as refusal:
            print("Nothing was taken:", *refusal.faults, sep="\n  ", file=sys.stderr)
            return 2
        keep(given.language, kept)
        print(f"{count} corrections taken. Look at them with git diff, then run make t F=tests/i18n.")
        return 0
    rows = list(rows_of(words(), kept))
    if given.pictures:
        rows = _with_pictures(rows, given.language)
    file = FOLDER / f"{given.language}.csv"
    write(rows, file)
    print(f"{len(rows)} texts: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
