"""Every page as its own links change it: its filters, lists, orders and days; and as each role gets it.

A line of `facts/queries.txt` and `facts/roles.txt` has a sum of what the API is asked, of the audit record and of the
whole page. WRITE_FACTS=1 writes them anew, and the pages under var/pages, to be compared with those before.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlencode, urljoin, urlsplit

import pytest
from lxml.html import document_fromstring

from tests.pages import test_facts as facts
from tests.pages.states import CASE_OF, Opener, Shown, title_of
from tests.pages.test_facts import ROLES, Case
from tests.pages.test_states import PAGES
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.whole import _BY_CHANCE, shown, sum_of

portal = facts.portal
_MOST = 12
"""Links of one page that are followed."""


_FILES = sorted({case.file for case in CASE_OF.values()})


@pytest.mark.parametrize("file", _FILES)
def test_a_page_is_as_its_links_ask(portal: InProcess, fake_api: FakeApi, file: str) -> None:
    opener = Opener(portal, fake_api)
    told: list[str] = []
    for case in CASE_OF.values():
        if case.file == file and not case.path.endswith((".pdf", ".ics")):
            lines = [*_varied(opener, case)]
            told += [f"== {title_of(case)}", *lines] if lines else []
    facts.compare_parts("queries", told)


@pytest.mark.parametrize("file", _FILES)
def test_each_role_gets_of_a_page_what_is_its_own(portal: InProcess, fake_api: FakeApi, file: str) -> None:
    opener = Opener(portal, fake_api)
    told: list[str] = []
    for case in _one_of_each_route(portal):
        if case.file == file:
            alike: dict[str, list[str]] = {}
            for who in ("grace", *ROLES):
                alike.setdefault(_opened(opener, replace(case, who=who)), []).append(who)
            told += [f"== {case.path}", *(f"{' '.join(people)} {line}" for line, people in alike.items())]
    facts.compare_parts("roles", told)


def test_the_file_has_these_pages_alone(portal: InProcess) -> None:
    assert facts.parts_of("roles") == {f"== {case.path}" for case in _one_of_each_route(portal)}


def _one_of_each_route(portal: InProcess) -> list[Case]:
    routes = portal.app.url_map.bind("riverside.localhost")
    found: dict[object, Case] = {}
    for case in CASE_OF.values():
        path, _, query = case.path.partition("?")
        if not path.endswith((".pdf", ".ics")):
            found.setdefault(routes.match(path, query_args=query)[0] if routes.test(path) else path, case)
    return [*found.values()]


def _varied(opener: Opener, case: Case) -> Iterator[str]:
    for address in _own_links(opener.open(case), case)[:_MOST]:
        varied = replace(case, path=address)
        yield f"{address} {_opened(opener, varied)}"


def _opened(opener: Opener, case: Case) -> str:
    """The status, and a sum that is the same for all to whom the main part shows the same."""
    now = opener.open(case)
    lines = shown(now.lines(), now.answers)
    frame = [number for number, line in enumerate(lines) if line.startswith(("body", "main "))]
    if len(frame) == len(("body", "main")):
        del lines[frame[0] : frame[1]]
    name = re.compile(rf"\b{case.who}\b", re.IGNORECASE)
    lines = [name.sub("(who)", line) for line in lines]
    if os.environ.get("WRITE_FACTS"):
        PAGES.mkdir(parents=True, exist_ok=True)
        file = re.sub("[^a-z0-9]+", "-", f"{case.who} {case.path}".lower())
        (PAGES / f"{file}.txt").write_text("\n".join(lines), encoding="utf-8")
    return f"{now.answer.status_code} {sum_of(lines)}"


def _own_links(page: Shown, case: Case) -> list[str]:
    """The addresses on a page that ask for it in another way; not those that are of one moment alone."""
    if not page.answer.text or not page.answer.headers["Content-Type"].startswith("text/html"):
        return []
    at = urlsplit(case.path)
    root = document_fromstring(page.answer.text)
    links = [urljoin(case.path, href) for href in root.xpath("//main//@href")]
    for form in root.xpath("//main//form[not(@method) or @method='get']"):
        to = urljoin(case.path, form.get("action") or case.path)
        given = {name: value for name, value in form.form_values() if value}
        for choice in form.xpath(".//select/option | .//input[@type='radio' or @type='checkbox']"):
            name = choice.get("name") or choice.getparent().get("name")
            links.append(f"{to}?{urlencode({**given, name: choice.get('value') or ''})}")
    own = (link for link in dict.fromkeys(links) if urlsplit(link).path == at.path and link != case.path)
    return [link for link in own if urlsplit(link).query and not _BY_CHANCE.search(link) and "#" not in link]
