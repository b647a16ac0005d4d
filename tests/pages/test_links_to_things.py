"""A link on a patient's page that names one thing leads to that thing, and never to a list where it has to be found again."""

from __future__ import annotations

import re

import pytest

from tests.pages.test_facts import CASES, ROLES, Case
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess

_LISTS = re.compile(
    r"/(consents|conversations|notifications|storage|episodes|care-team|help|me)?(\?.*)?"
    r"|/episodes/[^/]+/(timeline|embryos|documents|consents|team)"
)
_THINGS = re.compile(r"\b(title|subject|embryoCode|body|kind|drug|[Nn]ame|call) \d+")
"""The samples' values are named by their member: what a form, a message, an embryo or a file is called."""


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.who not in ROLES and not case.path.endswith((".ics", ".pdf"))],
    ids=lambda case: f"{case.path} {case.note}",
)
def test_what_names_a_thing_leads_to_it(in_process: InProcess, fake_api: FakeApi, case: Case) -> None:
    for row, answer in case.answers.items():
        fake_api.gives(row, answer)
    page = in_process.visitor(case.who, "patient").get(case.path)
    links = [(link.words, str(link["href"])) for link in page.select("main a[href]")]
    assert not [
        (name, href) for name, href in links if _THINGS.search(name) and _LISTS.fullmatch(href.split("#")[0])
    ]
