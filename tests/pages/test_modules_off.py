"""A module that a clinic has switched off leaves nothing on any page: no link, heading, word or call of the care API."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from portal.config.modules import Module
from tests.pages import test_facts as facts
from tests.pages.test_facts import CASES, ROLES
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import Page
from tests.web.test_modules import HEADINGS, SAID, is_of, links

portal = facts.portal


@pytest.mark.parametrize("module", Module)
def test_nothing_is_left_of_a_module_that_is_off(
    portal: InProcess, fake_api: FakeApi, monkeypatch: pytest.MonkeyPatch, module: Module
) -> None:
    monkeypatch.setattr(portal.app, "testing", True)  # a link to a page of a module that is off is an error
    faults: list[str] = []
    with portal.clinic(modules_off=frozenset({module})):
        for case in CASES:
            faults += [f"{case.who} {case.path}: {fault}" for fault in _left(portal, fake_api, module, case)]
    assert not faults, "\n".join(faults)


def _left(portal: InProcess, fake_api: FakeApi, module: Module, case: facts.Case) -> Iterator[str]:
    """Yield what a page still has of a module."""
    fake_api.forget()
    for row, answer in case.answers.items():
        fake_api.gives(row, answer)
    visitor = portal.visitor(case.who, ROLES.get(case.who, "patient"))
    url = visitor.origin + case.path
    page = Page(visitor, visitor.http.get(url, allow_redirects=False), url)
    yield from (f"calls {call.path}" for call in fake_api.calls if call.row.module is module)
    if is_of(portal, module, case.path):
        if page.status != 404 or fake_api.calls:
            yield f"answers {page.status}"
    elif page.status not in (200, 204, 303):
        yield f"answers {page.status}"
    if page.is_html:
        yield from (f"leads to {link}" for link in links(page) if is_of(portal, module, link))
        said = {element.words for element in page.select(SAID)}
        said -= {"Monitoring"} if case.path.startswith("/protocols/") else set()  # a plan calls its checks so
        yield from (f"says {words}" for words in said if re.fullmatch(HEADINGS[module], words))
