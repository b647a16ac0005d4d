"""The glossary of treatment terms, in the page's language (portal/web/glossary.toml), and its terms in a text.

A term is marked where a text is shown, and nowhere else: records keep their text, and the hash of a consent form is computed
from the form as it came (`portal.services.rules.consent_text`). The words of the marked text are those of the text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from flask import g
from markupsafe import Markup, escape

from portal.folding import folded
from portal.i18n.locale import language
from portal.values import Value

_FILE = Path(__file__).with_name("glossary.toml")


class Word(Value, frozen=True):
    """A term and its explanation; `id` is the same in every language, `forms` are how texts write it ("folliculo*")."""

    id: str
    term: str
    meaning: str
    forms: tuple[str, ...] = ()


def glossary(searched: str = "") -> tuple[Word, ...]:
    """Return the terms in the order in which they occur in a treatment: all, or those that have all words of a search.

    A search looks at term and meaning, without regard to case and accents.
    """
    wanted = folded(searched).split()
    texts = ((term, folded(f"{term.term} {term.meaning}")) for term in by_language()[language()].values())
    return tuple(term for term, text in texts if all(each in text for each in wanted))


def word(id_: str) -> Word:
    """Return one term, which the page then has explained; raise KeyError for an unknown id."""
    found = by_language()[language()][id_]
    _on_page()[id_] = None
    return found


def terms_in(texts: Iterable[str], of: str | None = None) -> list[str]:
    """Return the ids of the terms in these texts, which are in the language `of`, by default the page's; each once."""
    return list(dict.fromkeys(id_ for text in texts for _at, id_ in _found(text, of)))


def with_terms(text: str, of: str | None = None) -> Markup:
    """Return the text with a button around each term that the page doesn't explain yet; `explained` shows the meanings."""
    parts, end = [Markup()], 0
    for at, id_ in _found(text, of):
        if id_ not in _on_page():
            _marked()[id_] = _on_page()[id_] = None
            button = Markup('<button type="button" class="word" popovertarget="word-{}">{}</button>')
            parts += [escape(text[end : at.start()]), button.format(id_, at.group())]
            end = at.end()
    return Markup().join([*parts, escape(text[end:])])


def explained() -> list[Word]:
    """Return the terms that `with_terms` has marked since it was last asked, for a page to show their meanings."""
    ids = [*_marked()]
    _marked().clear()
    return [by_language()[language()][id_] for id_ in ids]


def _on_page() -> dict[str, None]:
    return g.setdefault("terms_on_page", {})


def _marked() -> dict[str, None]:
    return g.setdefault("terms_marked", {})


def _found(text: str, of: str | None) -> Iterator[tuple[re.Match[str], str]]:
    code = (of or language()).partition("-")[0].lower()
    if code not in by_language():
        return
    pattern = _pattern(code)
    for at in pattern.finditer(text):
        yield at, str(at.lastgroup).replace("_", "-")


@cache
def _pattern(code: str) -> re.Pattern[str]:
    """A pattern of all terms, the longest first, each in a group with its id."""
    forms = [
        (form, term.id) for term in by_language()[code].values() for form in (term.forms or (term.term,))
    ]
    by_id: dict[str, list[str]] = {}
    for form, id_ in forms:
        by_id.setdefault(id_, []).append(re.escape(form).replace(r"\*", r"\w*"))
    longest_first = sorted(by_id.items(), key=lambda item: -max(map(len, item[1])))
    groups = (
        f"(?P<{id_.replace('-', '_')}>{'|'.join(sorted(words, key=len, reverse=True))})"
        for id_, words in longest_first
    )
    return re.compile(rf"(?<!\w)(?:{'|'.join(groups)})(?!\w)", re.IGNORECASE)


@cache
def by_language() -> dict[str, dict[str, Word]]:
    """Return the terms by language code and id."""
    texts_by_id = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    codes = dict.fromkeys(code for texts in texts_by_id.values() for code in texts)
    return {
        code: {
            id_: Word(id_, texts[code][0], texts[code][1], tuple(texts[code][2:]))
            for id_, texts in texts_by_id.items()
        }
        for code in codes
    }
