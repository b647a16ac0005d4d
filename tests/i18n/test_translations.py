"""The portal's texts: the rules of templates/WORDS.md that can be checked, and the same in each language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages import Catalog

from portal.careservice.domain.translations import ERRORS, NOTICES
from portal.careservice.identity import translations as identity
from portal.config import tenants
from portal.web import locale_selector
from tools import messages
from tools.messages import LANGUAGES, catalog, words

_NEVER = re.compile(
    r"!|\b(oops|invalid|click|submit|successfully|simply|abort|illegal|an error occurred|user)\b",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|%%")


@pytest.fixture(scope="module")
def extracted() -> Catalog:
    """Every text that a person may read, which takes seconds to find."""
    return words()


@pytest.fixture(scope="module")
def texts(extracted: Catalog) -> list[str]:
    """The same, each form of a count by itself."""
    ids = (message.id for message in extracted if message.id)
    return [text for id_ in ids for text in (id_ if isinstance(id_, tuple) else (id_,))]


def test_no_text_uses_banned_words_or_exclamation_marks(texts: list[str]) -> None:
    assert not [text for text in texts if _NEVER.search(text)]


def test_texts_have_no_straight_quotes_or_three_dots(texts: list[str]) -> None:
    assert not [text for text in texts if '"' in text or "..." in text]


def test_labels_are_in_sentence_case(texts: list[str]) -> None:
    titled = re.compile(r"^[A-Z][a-z]+( (?!Friday$)[A-Z][a-z]+)+$")
    assert not [text for text in texts if titled.match(text)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_keep_the_final_punctuation(language: str) -> None:
    """A full stop, colon or question mark that is lost changes how a sentence is read out."""
    kinds = {".": ".", ":": ":", "?": "?؟", "…": "…"}
    wrong = [
        (message.id, message.string)
        for message in catalog(language)
        if isinstance(message.id, str)
        and message.id
        and isinstance(message.string, str)
        and message.string
        and (end := message.id.strip()[-1]) in kinds
        and message.string.strip()[-1] not in kinds[end]
    ]
    assert not wrong


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_is_translated(language: str, extracted: Catalog) -> None:
    kept = catalog(language)
    missing: list[str] = []
    for message in extracted:
        if not message.id:
            continue
        found = kept.get(message.id[0] if isinstance(message.id, tuple) else message.id)
        if found is None or not found.string or (isinstance(found.string, tuple) and not all(found.string)):
            missing.append(str(message.id))
    assert not missing, (
        f"translate these in portal/i18n/translations/{language} (`make messages` adds them): {missing}"
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_translation_keeps_its_placeholders(language: str) -> None:
    for message in catalog(language):
        if not message.id:
            continue
        ids = message.id if isinstance(message.id, tuple) else (message.id,)
        strings = message.string if isinstance(message.string, tuple) else (message.string,)
        allowed = set().union(*(set(_PLACEHOLDER.findall(one)) for one in ids))
        for string in strings:
            used = set(_PLACEHOLDER.findall(string.replace("٪", "%%")))
            assert used <= allowed, f"{language}: {string!r} has a placeholder that {ids} doesn't have"
            if not isinstance(message.id, tuple):
                assert used == allowed, f"{language}: {string!r} leaves out {allowed - used}"


def test_arabic_counts_from_11_to_99_have_the_accusative() -> None:
    """Babel numbers the forms its own way: 4 is that of 100 to 102, 5 that of 11 to 99."""
    counted = [message.string for message in catalog("ar") if isinstance(message.string, tuple)]
    assert not [
        forms
        for forms in counted
        if forms[4].count("\N{ARABIC FATHATAN}") > forms[5].count("\N{ARABIC FATHATAN}")
    ]


def test_every_language_has_a_name() -> None:
    assert set(locale_selector.NAMES) == set(tenants.LANGUAGES)


def test_a_new_languages_catalogue_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "FOLDER", tmp_path)
    new = catalog("lt")
    new.add(("%(num)s form", "%(num)s forms"))
    messages.keep("lt", new)
    made = catalog("lt")
    assert (made.num_plurals, made.fuzzy, len(made)) == (3, False, 1)


def _texts_of_the_care_service() -> Iterator[dict[str, str]]:
    for by_language in NOTICES.values():
        for part in (0, 1):
            yield {language: texts[part] for language, texts in by_language.items()}
    yield from ERRORS.values()
    for english, others in identity.TRANSLATIONS.items():
        yield dict(zip(identity.LANGUAGES, (english, *others), strict=True))


def test_each_text_of_the_care_service_is_in_its_language_and_in_no_other_place() -> None:
    english_of: dict[tuple[str, str], str] = {}
    for texts in _texts_of_the_care_service():
        assert tuple(texts) == identity.LANGUAGES
        places = {tuple(sorted(re.findall(r"%\(\w+\)s|\{\w+\}", text))) for text in texts.values()}
        assert len(places) == 1, texts
        for language, text in texts.items():
            words = re.sub(r"%\(\w+\)s|\{\w+\}", "", text)
            assert bool(re.search("[\u0600-\u06ff]", words)) is (language == "ar"), text
            assert language == "en" or text != texts["en"] or text == "Error", text
            assert english_of.setdefault((language, text), texts["en"]) == texts["en"], text
