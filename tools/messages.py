"""Brings the translations up to date: collects the words of code and templates and merges them into each language."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from portal.config import tenants
from portal.i18n.locale import DEFAULT

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "portal" / "i18n" / "translations"
LANGUAGES = tuple(language for language in tenants.LANGUAGES if language != DEFAULT)
"""Those that are translated."""
_METHODS = [("**.py", "python"), ("**.html", "jinja2")]
_OPTIONS = {"**.html": {"extensions": "jinja2.ext.do", "silent": "false"}}
_KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2)}
_PLACES = ("portal/web", "portal/views", "portal/services", "portal/signin", "templates")


def words() -> Catalog:
    """Every text that a person may read in the portal, with the files and lines where it stands."""
    found = Catalog(charset="utf-8")
    for place in _PLACES:
        messages = extract_from_dir(
            str(ROOT / place),
            _METHODS,
            _OPTIONS,
            _KEYWORDS,
            directory_filter=lambda path: "careservice" not in path,
        )
        for file, line, message, _, context in messages:
            found.add(message, locations=[(f"{place}/{file}", line)], context=context)
    return found


def catalog(language: str) -> Catalog:
    """A language as it is; empty for one that is new."""
    if not file_of(language).exists():
        header = "# The portal's words."
        team = "The clinic portal"
        return Catalog(
            language,
            header_comment=header, project="clinic-portal", version="1", last_translator=team, language_team=team,
            fuzzy=False,  # fuzzy entries aren't compiled
        )  # fmt: skip
    return read_po(io.BytesIO(file_of(language).read_bytes()), locale=language)


def file_of(language: str) -> Path:
    return FOLDER / language / "LC_MESSAGES" / "messages.po"


def keep(language: str, kept: Catalog) -> None:
    """Write a language's translations, sorted by their English."""
    file_of(language).parent.mkdir(parents=True, exist_ok=True)
    with file_of(language).open("wb") as file:
        write_po(file, kept, omit_header=False, sort_output=True, no_location=True, width=110)


def main() -> int:
    template = words()
    for language in LANGUAGES:
        merged = catalog(language)
        created = merged.creation_date
        merged.update(template, no_fuzzy_matching=True)
        merged.creation_date = created  # else two changes of other texts conflict in this line
        merged.obsolete.clear()
        keep(language, merged)
        missing = [message.id for message in merged if message.id and not message.string]
        print(f"{language}: {len(missing)} without translation")
        for text in missing:
            print(f"  {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
