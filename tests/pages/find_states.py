"""Find the states in which a page shows what it shows in no other: `.venv/bin/python -m tests.pages.find_states [MINUTES | choices | named]`.

Opens each page again and again with one member of the API's answers another, and sends its forms. A state is kept if a
condition of the templates or of the portal's code turns out as in none before; then the states next to it are tried. What stands in
`tests/pages/states/` already is the beginning; in the end the fewest states in which the same is seen are written there, and the conditions of
templates that aren't seen both ways are printed. With `choices`, states are added for each choice (a status, a kind) with which a page of
the same part and side differs from the usual one: its words come from tables, without a condition; with `named`, for each member
that an API may name as wrong. Then run `WRITE_FACTS=1 make t F=tests/pages/test_states.py`, and read what is new.
"""

# ruff: noqa: E402, T201 (the portal is imported once it is watched; a command prints)

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import requests
from msgspec import inspect

from tests.support import branches

_BRANCHES = branches.watch()

from portal.http import transport
from tests.pages.states import (
    CASE_OF,
    CLINIC,
    FIRST,
    LEFT_OUT,
    MORE,
    STRANGE,
    Change,
    Opener,
    Place,
    Shown,
    State,
    endpoint_of,
    forms_of,
    written,
)
from tests.pages.test_facts import ROLES
from tests.support import conditions
from tests.support.clock import Clock
from tests.support.fake_api import NOW, ZONE, FakeApi, shape_of
from tests.support.in_process import InProcess
from tests.support.whole import difference

FOLDER = Path(__file__).parent / "states"
AT_ONCE = 25
"""States of one page that are tried before it is the next page's turn."""
MOST_FORMS = 4
MOST_CALLS = 30
HOURS = (-9600, -192, -48, -24, -1, 0, 1, 20, 24, 26, 48, 168, 336, 744, 1440, 4800)
DAYS = (-400, -31, -8, -1, 0, 1, 2, 7, 14, 30, 31, 60, 200)
TYPED = ("x", "2026-11-25", "5", "Amelia 1", "0")
CLINICS = {
    "contact": "null",
    "storage_payment": "null",
    "unpaid_storage": '"What happens then 1."',
    "country": "null",
    "languages": '["en"]',
    "second_person_for_embryos": "true",
    "fresh_sign_in_for_each_signature": "true",
    "passkey_signatures": '"required"',
}
"""Settings of a clinic that pages depend on, otherwise than they are."""
REFUSALS = (1, 403, 404, 409, 422)
Seen = frozenset[object]
Named = tuple[str, State]
"""A page's title, and a state of it."""


class Search:
    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        api = FakeApi()
        patch.setattr(transport, "send", api.send)
        patch.setattr(transport, "stream", api.stream)
        self._turns = conditions.watch(patch)
        self._opener = Opener(InProcess(folder, Clock(NOW.timestamp), PORTAL_BREAKER="0"), api)
        self._chance = random.Random(1)
        self.seen: set[object] = set()
        self.kept: dict[Named, Seen] = {}
        self._usual: set[object] = set()
        self._is_of_choices = False

    def go(self, minutes: float) -> None:
        """Try what stands in the files, then what is next to it, until the time is up."""
        end = time.monotonic() + 60 * minutes
        known: list[Named] = [(title, State()) for title in CASE_OF]
        for title, state in known:
            self._usual |= self._tried(title, state)[1]
        self.seen |= self._usual
        known += [one for one in _written() if self._is_new(*one)]
        waiting: list[tuple[str, list[State] | None, State]] = [
            (title, None, state) for title, state in known
        ]
        while waiting and time.monotonic() < end:
            title, near, state = waiting.pop(0)
            near = self._near(title, state) if near is None else near
            found = [one for one in near[:AT_ONCE] if time.monotonic() < end and self._is_new(title, one)]
            if rest := near[AT_ONCE:]:
                waiting.append((title, rest, state))
            waiting += [(title, None, one) for one in found]

    def choices(self) -> Iterator[Named]:
        """Yield a state for each choice of a member with which a patient's or staff's page of the same part differs."""
        known: set[tuple[object, ...]] = set()
        self._is_of_choices = True
        for title, case in CASE_OF.items():
            if case.path.endswith(".pdf") or (shown := self._tried(title, State())[0]) is None:
                continue
            usual, told = shown.lines(), shown.answers
            for state in self._changes(title, State(), shown):
                (change,) = state.changes
                place = tuple(step for step in change.place if isinstance(step, str))
                key = (case.file, case.who in ROLES, change.endpoint, place, change.value)
                if key in known:
                    continue
                now, _ = self._tried(title, state)
                if (
                    now
                    and now.answer.status_code < 500
                    and [*difference(usual, now.lines(), told, now.answers)]
                ):
                    known.add(key)
                    yield title, state

    def named(self) -> Iterator[Named]:
        """Yield a state for each member of what a form sends that an API may name as wrong, if the page says so."""
        known: set[tuple[object, ...]] = set()
        for title, state in _written():
            if not state.forms or state.refused or (sent := self._tried(title, state)[0]) is None:
                continue
            for call in [one for one in sent.calls if not one.row.is_safe and isinstance(one.body, dict)][
                -1:
            ]:
                unnamed, _ = self._tried(title, replace(state, refused=400))
                for member in call.body:
                    named = replace(state, refused=400, naming=member)
                    now, _ = self._tried(title, named)
                    key = (call.row, member, CASE_OF[title].who in ROLES)
                    if unnamed and now and now.lines() != unnamed.lines() and key not in known:
                        known.add(key)
                        yield title, named

    def _is_new(self, title: str, state: State) -> bool:
        shown, seen = self._tried(title, state)
        if shown is None or seen <= self.seen or len(shown.calls) > MOST_CALLS:
            return False
        if shown.answer.status_code == requests.codes.server_error:
            print(f"{title}: {state}: {shown.answer.status_code}", file=sys.stderr)
            return False
        self.kept[title, state] = seen
        self.seen |= seen
        return True

    def _tried(self, title: str, state: State) -> tuple[Shown | None, Seen]:
        self._turns.clear()
        _BRANCHES.clear()
        try:
            shown = self._opener.open(CASE_OF[title], state)
        except (IndexError, requests.RequestException):  # no such form, or an address elsewhere
            return None, frozenset()
        return shown, frozenset(self._turns) | frozenset(_BRANCHES)

    def fewest(self) -> list[Named]:
        """Return a few of the states that were kept in which everything is seen, those first that show most."""
        left = self.seen - self._usual
        chosen: list[Named] = []
        while left:
            most = max(self.kept, key=lambda one: len(self.kept[one] & left))
            left -= self.kept[most]
            chosen.append(most)
        return chosen

    def _near(self, title: str, state: State) -> list[State]:
        shown, _ = self._tried(title, state)
        if shown is None:
            return []
        near = [*self._changes(title, state, shown), *_forms(state, shown)]
        usual = CLINICS.keys() - {one.place[0] for one in state.changes}
        near += [
            replace(state, changes=(Change(CLINIC, (name,), CLINICS[name]), *state.changes))
            for name in sorted(usual)
        ]
        near += [] if state.late else [replace(state, late=True)]
        reads = {endpoint_of(call.path) for call in shown.calls if call.row.is_safe}
        near += [
            replace(state, failing=(*state.failing, endpoint))
            for endpoint in sorted(reads - {*state.failing})
        ]
        if state.forms and not state.refused:
            near += [replace(state, refused=status) for status in REFUSALS]
        return sorted(near, key=self._turn_of)

    def _turn_of(self, state: State) -> float:
        """First what is gone, empty or the other way, and forms; then choices, then dates and numbers."""
        last = state.changes[-1].value if state.changes and not state.forms else "null"
        plain = last in ("null", "true", "false", "[]", FIRST, MORE, LEFT_OUT)
        return (0.0 if plain else 1.0 if last[1:2].isdigit() else 0.6) + self._chance.random()

    def _changes(self, title: str, state: State, shown: Shown) -> Iterator[State]:
        answers = {endpoint_of(call.path): call.row for call in shown.calls if call.row.is_safe}
        for endpoint, row in answers.items():
            for place, value in self._places(
                shown.told.get(endpoint), shape_of(row.answer), (), CASE_OF[title].who
            ):
                written_value = value if value in (FIRST, MORE, LEFT_OUT) else json.dumps(value)
                change = Change(endpoint, place, written_value)
                yield replace(state, changes=(*state.changes, change))

    def _places(self, value: Any, kind: inspect.Type, at: Place, who: str) -> Iterator[tuple[Place, Any]]:
        kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
        for one in kinds:
            if isinstance(one, inspect.StructType) and isinstance(value, dict):
                for field in one.fields:
                    if field.encode_name in value:
                        place = (*at, field.encode_name)
                        for other in self._others(
                            value[field.encode_name], field.type, field.encode_name, who
                        ):
                            yield place, other
                        if not (field.required or self._is_of_choices):
                            yield place, LEFT_OUT
                        yield from self._places(value[field.encode_name], field.type, place, who)
            if isinstance(one, inspect.VarTupleType) and isinstance(value, list):
                for number, item in enumerate(value[:2]):
                    if number == 0 or self._chance.random() < 0.25:
                        yield from self._places(item, one.item_type, (*at, number), who)

    def _others(self, value: Any, kind: inspect.Type, name: str, who: str) -> list[Any]:
        """What else this member may be; while `choices` looks, only the choices."""
        others: list[Any] = []
        kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
        if self._is_of_choices:
            kinds = [one for one in kinds if isinstance(one, inspect.EnumType)]
        for one in kinds:
            match one:
                case inspect.EnumType():
                    others += [*(choice.value for choice in one.cls), STRANGE]
                case inspect.BoolType():
                    others += [True, False]
                case inspect.DateTimeType():
                    hours = self._chance.sample(HOURS, 4)
                    others += [
                        (NOW + timedelta(hours=one)).isoformat().replace("+00:00", "Z") for one in hours
                    ]
                case inspect.DateType():
                    today = NOW.astimezone(ZONE).date()
                    others += [
                        (today + timedelta(days=one)).isoformat() for one in self._chance.sample(DAYS, 4)
                    ]
                case inspect.IntType():
                    others += [0, 1, 2, 7, 250]
                case inspect.FloatType():
                    others += [0.0, 2.5, 17.0]
                case inspect.StrType() if name.lower().endswith("id"):
                    others += [who, "victor", "id-1"]
                case inspect.StrType():
                    others += ["es", "ar", "xx"] if name == "language" else [""]
                case inspect.VarTupleType() if isinstance(value, list):
                    others += [[], FIRST, MORE]
                case inspect.NoneType():
                    others.append(None)
                case _:
                    pass
        return [one for one in others if one != value]


def _forms(state: State, shown: Shown) -> Iterator[State]:
    if len(state.forms) == MOST_FORMS or "text/html" not in shown.answer.headers.get("Content-Type", ""):
        return
    for number, form in enumerate(forms_of(shown.answer.text)):
        filled = ["", "blank", *(["ticked"] if form.xpath(".//input[@type='checkbox']") else [])]
        filled += ["elsewhere"] if form.xpath(".//button/@formaction") else []
        for choice in form.xpath(".//select/option | .//input[@type='radio'] | .//button[@name]"):
            name = choice.get("name") or choice.getparent().get("name")
            filled.append(f"{name}={choice.get('value') or ''}")
        typed = (
            "self::textarea or not(@type) or @type='text' or @type='date' or @type='number' or @type='search'"
        )
        for field in form.xpath(f".//*[(self::input or self::textarea) and ({typed})]")[:12]:
            filled += [f"{field.get('name')}={text}" for text in TYPED]
        for one in filled:
            yield replace(state, forms=(*state.forms, (number, one)))


def _written() -> list[Named]:
    """The states that stand in the files."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("*.txt"))]
    return [(title, state) for text in texts for title, state, _ in written(text) if state != State()]


def main() -> None:
    wanted = sys.argv[1] if sys.argv[1:] else "15"
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        search = Search(Path(folder), patch)
        if wanted in ("choices", "named"):
            chosen = [*_written(), *(search.choices() if wanted == "choices" else search.named())]
        else:
            search.go(float(wanted))
            chosen = search.fewest()
    states: dict[str, list[str]] = defaultdict(list)
    for title, state in dict.fromkeys(chosen):
        states[title].append(f"== {title}: {state}\n")
    texts: dict[str, list[str]] = defaultdict(list)
    for title, case in CASE_OF.items():
        texts[case.file] += [f"== {title}\n", *states[title]]
    for file, blocks in texts.items():
        (FOLDER / f"{file}.txt").write_text("\n".join(blocks), encoding="utf-8")
    for one in conditions.all_conditions():
        if ways := sorted(way for _, _, way in one.turns - search.seen):
            print(f"{one.template} {','.join(map(str, ways))}: {one.text}")


if __name__ == "__main__":
    main()
