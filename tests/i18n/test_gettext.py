"""The rules of templates/WORDS.md that can be checked automatically."""

from __future__ import annotations

import re

import pytest

from tools.messages import LANGUAGES, catalog, words

_NEVER = re.compile(
    r"!|\b(oops|invalid|click|submit|successfully|simply|abort|illegal|an error occurred|user)\b",
    re.IGNORECASE,
)


def refusal_message() -> list[str]:
    return [
        text
        for message in words()
        if message.id
        for text in (message.id if isinstance(message.id, tuple) else (message.id,))
    ]


def test_no_text_uses_banned_words_or_exclamation_marks() -> None:
    assert not [text for text in refusal_message() if _NEVER.search(text)]


def test_texts_have_no_straight_quotes_or_three_dots() -> None:
    assert not [text for text in refusal_message() if '"' in text or "..." in text]


def test_labels_are_in_sentence_case() -> None:
    titled = re.compile(r"^[A-Z][a-z]+( (?!Friday$)[A-Z][a-z]+)+$")
    assert not [text for text in refusal_message() if titled.match(text)]


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
