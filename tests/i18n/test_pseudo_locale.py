"""Every text of the portal is translatable: in a pseudo-locale all translated texts have accents.

The pseudo-locale is generated from the catalogue: letters get accents and texts are a third longer. The pages of the
states that `tests/pages` tells apart are opened in it; text that is still plain must be a value that the fake API
answered with, or be the same in every language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from babel import Locale
from babel.dates import format_date, format_timedelta
from babel.support import NullTranslations

from portal.config import consent_templates
from portal.config.tenants import LANGUAGES
from portal.i18n import gettext
from portal.i18n.number_words import in_words
from portal.web import locale_selector
from tests.pages.states import CASE_OF, Opener, State, written
from tests.pages.test_states import FILES, FOLDER
from tests.support import in_process
from tests.support.clock import Clock
from tests.support.elements import Element, parsed, texts
from tests.support.facts import Answers
from tests.support.fake_api import NOW, ZONE, FakeApi, fake_api
from tests.support.full import this_week
from tests.support.in_process import CLINICS, InProcess
from tests.support.visitor import Visitor

__all__ = ["fake_api"]

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
_VALUE = re.compile(r"{[^}]*}(?: at {time})?")
_DOCUMENTS = (".pdf", ".ics")
_SPOKEN_ATTRIBUTES = ("aria-label", "placeholder", "title", "alt", "data-done")
_NOT_OURS = "code, kbd, script, style, pre, [translate=no], bdi[lang=en], .as-written[lang=en], option[value*='/'], .languages, .hash, .avatar, iframe, title"


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


class Speaking(InProcess):
    """A portal whose visitors all speak the made-up language."""

    def visitor(self, sub: str, *roles: str, **options: Any) -> Visitor:
        return super().visitor(sub, *roles, **options, locale=SPOKEN)


@pytest.fixture(scope="module")
def pseudo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    """A portal whose clinics offer the made-up language too."""
    portal = Speaking(tmp_path_factory.mktemp("portal"), Clock(NOW.timestamp))
    known = gettext.catalogue_of
    with pytest.MonkeyPatch.context() as patch, portal.clinic(*CLINICS, languages=(*LANGUAGES, SPOKEN)):
        patch.setattr(gettext, "catalogue_of", lambda spoken: Pseudo() if spoken == SPOKEN else known(spoken))
        patch.setitem(locale_selector.NAMES, SPOKEN, "Pseudo")
        for place in ("rows", "typed_values"):
            patch.setattr(f"portal.views.protocols.{place}.in_words", lambda one: accented(in_words(one)))
        yield portal


@pytest.mark.parametrize("file", FILES)
def test_every_text_of_the_portal_is_translatable(
    pseudo: InProcess, clinics: Corpus, fake_api: FakeApi, file: str
) -> None:
    """As pages are, and after a form of theirs was sent; a quarter each week."""
    opener = Opener(pseudo, fake_api)
    plain: set[str] = set()
    for title, state, _ in this_week(written((FOLDER / f"{file}.txt").read_text(encoding="utf-8")), 4):
        if (state == State() or state.forms) and not CASE_OF[title].path.endswith(_DOCUMENTS):
            shown = opener.open(CASE_OF[title], state)
            if f'<html lang="{SPOKEN}"' not in shown.answer.text:  # the form chose a language, or signed out
                continue
            typed = {field.partition("=")[2] for _, filled in state.forms for field in filled.split(" & ")}
            plain |= {
                f"{title} {state}: {said!r}"
                for said in left_plain(shown.answer.text, shown.answers, clinics)
                if said not in typed
            }
    assert not plain, "say these through the catalogue, or mark them translate=no:\n" + "\n".join(
        sorted(plain)
    )


def test_a_text_that_is_not_in_the_catalogue_is_reported() -> None:
    page = f'<main><p>{accented("Hello")}</p><p title="Send it">Press here</p><p>Amelia 101</p></main>'
    assert sorted(left_plain(page, Answers([{"name": "Amelia 101"}], ZONE), Corpus())) == [
        "Press here",
        "Send it",
    ]


def _is_accented(word: str) -> bool:
    return not set(word) - _OURS


class Corpus:
    """What the clinics' settings, their people's names and their own templates of forms say."""

    def __init__(self) -> None:
        folder = Path(consent_templates.__file__).parent
        values = [tomllib.loads(form.read_text(encoding="utf-8")) for form in folder.rglob("*.toml")]
        names = [who.capitalize() for who in {case.who for case in CASE_OF.values()}]
        names.append("physicia")  # the beginning of an id
        values += [tomllib.loads(in_process.CLINIC.format(key=key, name=key, zone=ZONE)) for key in CLINICS]
        texts = {" ".join(_WORD.findall(text)) for value in (*values, names) for text in _texts(value)}
        self._texts = f" {' ¶ '.join(texts)} ".casefold()

    def says(self, said: Sequence[str]) -> bool:
        """Whether these words follow each other in one of its texts, once ours (which wear accents) are left out."""
        ours = {word for word in said if _is_accented(word) or word in _SAME_EVERYWHERE}
        runs = " ".join("¶" if word in ours else word for word in said).split("¶")
        return all(f" {run.strip()} ".casefold() in self._texts for run in runs if run.strip())


@pytest.fixture(scope="module")
def clinics() -> Corpus:
    return Corpus()


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, str):
        yield value


def left_plain(html: str, theirs: Answers, clinics: Corpus) -> Iterator[str]:
    """Each run of plain words on the page that is nobody's but ours."""
    root = parsed(html)
    for element in root.select(_NOT_OURS):
        element.drop_tree()
    for said in _said(root):
        for piece in _PIECES.split(_VALUE.sub(" ¶ ", theirs.named(said))):
            words_ = _WORD.findall(piece)
            if (
                any(word.isascii() for word in words_)
                and not _is_same_everywhere(words_)
                and not clinics.says(words_)
            ):
                yield piece.strip()


def _said(root: Element) -> Iterator[str]:
    for text in texts(root):
        yield " ".join(text.split())
    for name in _SPOKEN_ATTRIBUTES:
        for element in root.select(f"[{name}]"):
            yield element[name]


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
