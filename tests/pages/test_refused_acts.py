"""Every act in each way in which the API may not take it: what is said, sent and audited then, in `facts/refused_acts.txt`.

Whole pages are compared, each with the one that has the form; where the API names a member as wrong, with what is said
where it names none. So are the pages to which acts lead that the API takes. After a change that is meant, WRITE_FACTS=1
writes the file anew; read the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from sqlite3 import Connection
from typing import Any
from urllib.parse import unquote

import pytest

from portal.services import retry
from portal.services.consents import READ_CONSENT, REVOKE_CONSENT, SIGN_CONSENT
from tests.pages import test_facts as facts
from tests.pages.test_acts import ACTS, MOST_STEPS, Act, step
from tests.pages.test_facts import ROLES
from tests.support.facts import Answers
from tests.support.fake_api import ZONE, FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import Page
from tests.support.whole import _BY_CHANCE, difference, shown, sum_of, whole

portal = facts.portal
STATUSES = ("lost", "400", "401", "403", "404", "409", "422", "429", "500", "501", "302", "412", "garbled")
STEP_UP = 'Bearer error="insufficient_user_authentication", max_age="300"'
"""RFC 9470."""


@pytest.mark.parametrize("number", range(len(ACTS)))
def test_what_is_said_of_an_act_that_the_api_does_not_take(
    portal: InProcess, fake_api: FakeApi, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(retry, "_JITTER", (0.0, 0.0))
    facts.compare_parts("refused_acts", [*_all_ways(portal, fake_api, ACTS[number])])


def test_the_file_has_these_acts_alone() -> None:
    assert len(facts.parts_of("refused_acts")) == len(ACTS)


@dataclass(frozen=True)
class _Tried:
    """What became of an act: `head` has where it led, the calls that change something, and the audit lines."""

    head: list[str]
    page: list[str]
    told: Answers

    def beside(self, other: _Tried) -> list[str]:
        """What is different from what became of another; of another page its title, and a sum."""
        lines = difference(other.page, self.page, other.told, self.told)
        if lines and lines[-1].startswith("…"):
            lines = [*(line for line in lines if line.startswith("+ title")), lines[-1]]
        return [*self.head, *lines]


def _all_ways(portal: InProcess, fake_api: FakeApi, act: Act) -> Iterator[str]:
    page, kept = _filled_in(portal, fake_api, act)
    form = _Tried([], whole(page.text), Answers(fake_api.told, ZONE))

    def tried(refuse: Callable[[], Any] = lambda: None, *, follows: bool = True) -> _Tried:
        portal.restore(kept)
        fake_api.forget()
        _answer(fake_api, act)
        refuse()
        request = page.visitor.request
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(page.visitor, "request", partial(request, follow=follows))
            after = step(page, act)
        answers = Answers(fake_api.told, ZONE)
        sent = " ".join(call.row.method for call in fake_api.calls if not call.row.is_safe)
        to = unquote(after.headers.get("Location", "")) or after.path
        to = _BY_CHANCE.sub("…", answers.named(to))
        head = f"{after.status} {to} after {sent or 'nothing was sent'}"
        return _Tried([head, *sorted(facts.audited(portal, answers))], whole(after.text), answers)

    filled = " ".join(map(str, act.filled.values()))
    yield f"== {act.who} {form.told.named(act.at)} {act.row.method} {act.row.template} {filled}".rstrip()
    answered = tried()
    yield from (*answered.head, f"all {sum_of(shown(answered.page, answered.told))}")
    body = fake_api.sent(act.row)[-1].body
    known: dict[tuple[str, ...], str] = {}
    for status in STATUSES:
        match status:
            case "lost":
                now = tried(lambda: fake_api.loses(act.row))
            case "garbled":
                now = tried(lambda: fake_api.garbles(act.row))
            case "401":
                now = tried(lambda: fake_api.demands(act.row, STEP_UP), follows=False)
            case _:
                now = tried(lambda status=status: fake_api.refuses(act.row, int(status)))
        lines = tuple(now.beside(form))
        same = known.setdefault(lines, status)
        yield from (f"- {status}: as {same}",) if same != status else (f"- {status}", *lines)
    unnamed = tried(lambda: fake_api.refuses(act.row, 400))
    members: dict[tuple[str, ...], list[str]] = {}
    for member in body or ():
        named = tried(lambda member=member: fake_api.refuses(act.row, 400, naming=member))
        members.setdefault(tuple(named.beside(unnamed)), []).append(member)
    for lines, alike in members.items():
        if lines != tuple(unnamed.head):
            yield from (f"- 400 naming {', '.join(alike)}", *lines[len(unnamed.head) :])


def _filled_in(portal: InProcess, fake_api: FakeApi, act: Act) -> tuple[Page, Connection]:
    """The page whose form sends the act, and what the portal keeps then."""
    portal.forget()
    fake_api.forget()
    _answer(fake_api, act)
    page = portal.visitor(act.who, ROLES.get(act.who, "patient")).get(act.at)
    for _ in range(MOST_STEPS):
        before, kept = page, portal.kept()
        page = step(page, act)
        if fake_api.sent(act.row):
            portal.audited()
            return before, kept
    raise AssertionError(f"{act.at} didn't lead to {act.row}")


_TAKEN = {
    SIGN_CONSENT: facts.changed(READ_CONSENT, **facts.SIGNED),
    REVOKE_CONSENT: facts.changed(READ_CONSENT, **facts.WITHDRAWN),
}
"""What the API answers to an act that happened, where that isn't a sample."""


def _answer(fake_api: FakeApi, act: Act) -> None:
    for row, answer in {**_TAKEN, **act.answers}.items():
        fake_api.gives(row, answer)
