"""Every text of the portal is translatable: in a pseudo-locale all translated texts have accents.

The pseudo-locale is generated from the catalogue: letters get accents and texts are a third longer. Each person's pages
are walked in it; text that is still plain must come from the care API, or be the same in every language.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from babel import Locale
from babel.dates import format_date, format_timedelta
from babel.support import NullTranslations
from bs4 import BeautifulSoup, Comment, Doctype, NavigableString

from portal.careservice.domain.translations import NOTICES
from portal.config import consent_templates, tenants
from portal.demo.stack import PEOPLE, tenants_file
from portal.i18n import gettext
from portal.web import locale_selector
from tests.browser.album import Album, Collector
from tests.support import stack
from tests.support.stack import PASSWORD, CareService, PortalThread

SPOKEN = "eo"
"""A language that has dates of its own but no catalogue here; the care service doesn't speak it either."""
_HOLE = re.compile(r"(%\(\w+\)[sd]|%%)")
_ACCENTED = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
    "ȦƁƇḒḖƑƓĦĪĴĶĿḾȠǾƤɊŘŞŦŬṼẆẊẎẐȧƀƈḓḗƒɠħīĵķŀḿƞǿƥɋřşŧŭṽẇẋẏẑ",
)
_WORD = re.compile(r"[^\W\d_][^\W_'’]*(?:['’][^\W_]+)*")
_PIECES = re.compile(r"[^\w\s'’.&/+-]+|[.](?=\s|$)")
_OURS = {chr(one) for one in _ACCENTED.values()} | {"'", "’"}
_SAME_EVERYWHERE = {
    *(
        "PDF",
        "PNG",
        "TXT",
        "kB",
        "MB",
        "SHA-256",
        "SHA",
        "PGT",
        "PGT-A",
        "IVF",
        "ICSI",
        "EMR",
        "MRN",
        "LH",
        "AMH",
    ),
    *(
        "mm",
        "mg",
        "IU",
        "mL",
        "µg",
        "pmol/L",
        "pmol",
        "nmol",
        "L",
        "x",
        "g",
        "ng",
        "IU/L",
        "cm",
        "UTC",
        "GMT",
    ),
}
"""Units, formats and abbreviations of the field."""
WALKERS = ["amelia", "grace", "nora", "victor"]
"""Between them they reach all pages but a few, which the others see."""
if os.environ.get("CARE_TEST_FULL"):
    WALKERS += ["daniel", "elif", "colin", "ada"]
_SPOKEN_ATTRIBUTES = ("aria-label", "placeholder", "title", "alt", "data-done")
_NOT_OURS = "code, kbd, script, style, pre, [translate=no], bdi[lang=en], option[value*='/'], .languages, .hash, .avatar, iframe, title"


class Pseudo(NullTranslations):
    """Says everything with accents, and a third longer."""

    def gettext(self, message: str) -> str:
        return accented(message)

    def ngettext(self, singular: str, plural: str, num: int) -> str:
        return accented(singular if num == 1 else plural)

    ugettext = gettext
    ungettext = ngettext


def accented(text: str) -> str:
    """Return the text with accents, its holes as they are, padded by a third."""
    pieces = _HOLE.split(text)
    said = "".join(piece if _HOLE.fullmatch(piece) else piece.translate(_ACCENTED) for piece in pieces)
    return said + "·" * (len(text) // 3)


@pytest.fixture(scope="module")
def pseudo(service: CareService) -> Iterator[PortalThread]:
    """A portal whose clinics offer the made-up language too."""
    with pytest.MonkeyPatch.context() as patch:
        known = gettext.catalogue_of
        patch.setattr(gettext, "catalogue_of", lambda spoken: Pseudo() if spoken == SPOKEN else known(spoken))
        patch.setattr("portal.config.tenants.LANGUAGES", (*tenants.LANGUAGES, SPOKEN))
        patch.setitem(locale_selector.NAMES, SPOKEN, "Pseudo")
        patch.setattr(
            stack, "tenants_file", lambda plan: tenants_file(plan).replace('"ar"]', f'"ar", "{SPOKEN}"]')
        )
        portal = PortalThread(service.plan)
        yield portal
        portal.stop()


@pytest.fixture(scope="module")
def theirs(service: CareService) -> Corpus:
    return Corpus(service.plan.data / "care.db", tenants_file(service.plan))


@pytest.mark.parametrize("person", WALKERS)
def test_every_text_of_the_portal_is_translatable(person: str, pseudo: PortalThread, theirs: Corpus) -> None:
    clinic = next(key for key, people in PEOPLE.items() if person in dict(people))
    visitor = Collector(pseudo.origin(clinic), PASSWORD, Album(), person, SPOKEN)
    visitor.arrive()
    pages = visitor.walk()
    visitor.send_blank(pages)
    assert len(visitor.album.leaves) > 15, "the walk ended early"
    plain = {
        f"{leaf.kind} ({leaf.status}): {said!r}"
        for leaf in visitor.album.leaves
        if leaf.html.partition("dir=")[0].endswith(f'lang="{SPOKEN}" ')
        for said in left_plain(leaf.html, theirs)
    }
    assert not plain, "say these through the catalogue, or mark them translate=no:\n" + "\n".join(
        sorted(plain)
    )


def test_a_text_that_is_not_in_the_catalogue_is_reported(theirs: Corpus) -> None:
    page = f'<main><p>{accented("Hello")}</p><p title="Send it">Press here</p><p>Amelia Hart</p></main>'
    assert sorted(left_plain(page, theirs)) == ["Press here", "Send it"]


class Corpus:
    """What the care service's records, the clinics' files and their own templates of forms say."""

    def __init__(self, database: Path, clinics: str) -> None:
        with sqlite3.connect(database) as records:
            tables = [
                name for (name,) in records.execute("select name from sqlite_master where type='table'")
            ]
            rows = [
                row
                for table in tables
                for row in records.execute(f"select * from {table}")  # noqa: S608 (our own names)
            ]
        values = [value for row in rows for value in row] + [tomllib.loads(clinics)]
        # A name may be stored in two columns.
        values += [
            f"{one} {two}" for row in rows for one, two in pairwise(row) if _is_word(one) and _is_word(two)
        ]
        values += [text for notice in NOTICES.values() for told in notice.values() for text in told]
        forms = (Path(consent_templates.__file__).parent).rglob("*.toml")
        values += [tomllib.loads(form.read_text(encoding="utf-8")) for form in forms]
        texts = {" ".join(_WORD.findall(text)) for value in values for text in _texts(value)}
        self._texts = f" {' ¶ '.join(texts)} ".casefold()

    def says(self, said: Sequence[str]) -> bool:
        """Whether these words follow each other in one of its texts, once ours (which wear accents) are left out."""
        ours = {word for word in said if _is_accented(word) or word in _SAME_EVERYWHERE}
        runs = " ".join("¶" if word in ours else word for word in said).split("¶")
        return all(f" {run.strip()} ".casefold() in self._texts for run in runs if run.strip())


def _is_word(value: object) -> bool:
    return isinstance(value, str) and value.isalpha()


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str) and value[:1] in "[{":
        with suppress(json.JSONDecodeError):  # a text may begin with a placeholder
            value = json.loads(value)
    if isinstance(value, dict):
        yield " ".join(
            one for one in value.values() if isinstance(one, str)
        )  # a place in storage is shown as one
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, str):
        yield value


def _is_accented(word: str) -> bool:
    return not set(word) - _OURS


def left_plain(html: str, theirs: Corpus) -> Iterator[str]:
    """Each run of plain words on the page that is nobody's but ours."""
    soup = BeautifulSoup(html, "lxml")
    for element in soup.select(_NOT_OURS):
        element.decompose()
    for said in _said(soup):
        for piece in _PIECES.split(said):
            words_ = _WORD.findall(piece)
            if (
                any(word.isascii() for word in words_)
                and not _is_same_everywhere(words_)
                and not theirs.says(words_)
            ):
                yield piece.strip()


def _said(soup: BeautifulSoup) -> Iterator[str]:
    for text in soup.find_all(string=True):
        if type(text) is NavigableString and not isinstance(text, Comment | Doctype):
            yield " ".join(text.split())
    for name in _SPOKEN_ATTRIBUTES:
        for element in soup.select(f"[{name}]"):
            yield str(element[name])


def _is_same_everywhere(said: Sequence[str]) -> bool:
    return all(
        not word.isascii() or len(word) == 1 or word in _SAME_EVERYWHERE | _of_babel() for word in said
    )


@cache
def _of_babel() -> frozenset[str]:
    """Days, months, countries and languages as Babel writes them in the made-up language."""
    spoken = Locale(SPOKEN)
    dates = [
        name
        for kinds in (spoken.months, spoken.days, spoken.day_periods)
        for widths in kinds.values()
        for names in widths.values()
        for name in names.values()
    ]
    names = (
        *dates,
        *(format_date(date(2026, 11, 26), width, locale=spoken) for width in ("medium", "long", "full")),
        *spoken.territories.values(),
        *spoken.languages.values(),
        *locale_selector.NAMES.values(),
    )
    ago = [
        format_timedelta(timedelta(seconds=sign * seconds), add_direction=True, locale=spoken)
        for sign in (-1, 1)
        for seconds in (1, 30, 60, 300, 3600, 9000, 86_400, 300_000, 700_000, 2_000_000, 3e6, 9e6, 4e7, 9e7)
    ]
    zones = [name for zone in spoken.meta_zones.values() for kind in zone.values() for name in kind.values()]
    countdowns = [one.capitalize() for one in ago]
    return frozenset(word for name in (*names, *ago, *countdowns, *zones) for word in _WORD.findall(name))
