"""On a patient's page in Arabic, every run of words in another language says which (WCAG 2.2, 3.1.2).

Arabic pages show it for all languages: what isn't Arabic is seen by its letters, and one template serves them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from lxml.etree import XPath

from portal.web.locale_selector import COOKIE
from tests.pages.test_facts import CASES, ROLES, Case
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import Page

_WORD = re.compile(r"[A-Za-zÀ-ÿ]{3,}")
_NAMES = "(?:preferred|first|last|related|patient|sender)?[Nn]ame \\d+|Amelia|Daniel|Victor|Grace"
_CODES = r"(?:embryoCode|grade|mrn|number|version|chromosome|sms|city|line\d|amr|acr|screenLanguage) \d+|\S*[@\d/:_]\S*"
_ALIKE = "PDF|PGT-A|English|Español"
_UNKNOWN = r"(?:Type|Route|role|sex) \d+"
"""Values of a choice that neither the portal nor its test knows."""
_READ_ALIKE = re.compile(f"{_NAMES}|(?<=: )drug \\d+|(?<=إلى )Riverside|{_ALIKE}|{_UNKNOWN}|{_CODES}")
"""Names of people, of medicines within a sentence, and codes, addresses and numbers, which are read alike in every language."""
_WITHOUT_MARKUP = ("script", "style", "template", "desc", "title", "caption", "option", "code")
_HERS = [
    case
    for case in CASES
    if case.who not in ROLES and not case.path.endswith((".ics", ".pdf")) and case.path != "/protocols/p-1"
]


@pytest.mark.parametrize("case", _HERS, ids=lambda case: f"{case.path} {case.note}")
def test_words_in_another_language_say_which(in_process: InProcess, fake_api: FakeApi, case: Case) -> None:
    for row, answer in case.answers.items():
        fake_api.gives(row, answer)
    visitor = in_process.visitor(case.who, "patient")
    visitor.http.cookies.set(COOKIE, "ar")
    page = visitor.get(case.path)
    assert page.select("html[lang=ar]")
    assert not list(_unmarked(page))
    assert not page.select("svg[role=img] > g:not([direction=rtl])"), "a picture runs the other way"


_SAID = XPath(
    f"//body//text()[not({' or '.join(f'ancestor::{name}' for name in _WITHOUT_MARKUP)})]"
    "[ancestor::*[@lang][1]/@lang = 'ar']"
)


def _unmarked(page: Page) -> Iterator[str]:
    """What stands in Latin letters where Arabic is spoken, apart from names."""
    for text in _SAID(page.tree):
        if _WORD.search(_READ_ALIKE.sub("", text)):
            yield f"{text.strip()!r} in {text.getparent()!s:.160}"
