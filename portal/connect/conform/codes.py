"""Enumeration values that an API names differently: unambiguous ones are matched, the rest become questions.

A code matches a portal value when it consists of the same words, possibly prefixed with the enumeration's name or in
another spelling ("CANCELED", "STATUS_SIGNED"). Similarity alone isn't enough: "Unsigned" is very similar to "Signed".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import cast

from portal.connect.dialects.naming import STYLES, folded_name, words
from portal.connect.dialects.reading import UNLISTED, codes_read
from portal.connect.dialects.rules import Code, Rules
from portal.services.decoding import Choice
from portal.services.members import Member

_CODE = re.compile(r"[A-Za-z][\w.:/-]{0,39}")
"""The form of a code. Anything else may be personal data and isn't recorded."""

_SAME_WORD = 0.85

_FEW = 4
"""Of so many enumerations with codes of their own each is a question; if there are more, the vendor's tables are asked for."""


@dataclass(slots=True)
class Codes:
    """The values seen of each enumeration, by its name; `decide` derives `chosen` and `asked` from them.

    `asked` holds the portal's values that a code may mean; `numbered` the values of purely numeric enumerations.
    """

    seen: dict[str, set[Code]] = field(default_factory=dict[str, set[Code]])
    numbered: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    choices: dict[str, type[Choice]] = field(default_factory=dict[str, type[Choice]])
    chosen: dict[str, dict[str, Code]] = field(default_factory=dict[str, dict[str, Code]])
    asked: dict[str, dict[Code, list[str]]] = field(default_factory=dict[str, dict[Code, list[str]]])

    def see(self, member: Member, value: object) -> None:
        """Record a member's value or values."""
        choice = member.choice
        if choice is None:
            return
        for item in cast("list[object]", value) if isinstance(value, list) else [value]:
            if isinstance(item, str | int) and not isinstance(item, bool) and item != "":
                self.choices[choice.__name__] = choice
                code = str(item).removeprefix(UNLISTED)
                self.seen.setdefault(choice.__name__, set()).add(
                    int(code) if code.isdecimal() and code.isascii() and len(code) < 10 else item
                )

    def decide(self, rules: Rules) -> None:
        """Match each code that `rules` don't list, or ask; numbers are always asked about."""
        for name, seen in self.seen.items():
            choice = self.choices[name]
            listed = codes_read(rules, choice, [])
            codes = {code for code in seen if code not in listed or choice(code).value == code}
            numbers = [code for code in codes if isinstance(code, int)]
            if numbers and len(numbers) == len(codes):
                self.numbered[name] = sorted(numbers)
                continue
            known = {choice(code).value for code in codes if isinstance(code, str) and choice(code).known}
            strange = sorted(
                (code for code in codes if isinstance(code, int) or not choice(code).known), key=str
            )
            meant = {code: _meant(code, choice) for code in strange}
            for code in strange:
                if isinstance(code, str) and not _CODE.fullmatch(code):
                    continue
                meaning = meant[code]
                rivals = [other for other in strange if meant[other] == meaning]
                if meaning is not None and meaning not in known and len(rivals) == 1:
                    self.chosen.setdefault(name, {})[meaning] = code
                else:
                    taken = known | {found for found in meant.values() if found}
                    left = [value.value for value in choice if value.value not in taken]
                    self.asked.setdefault(name, {})[code] = left or [value.value for value in choice]

    def style(self) -> str | None:
        """The naming style of most values, if it isn't the portal's; the others are chosen one by one."""
        pairs = [
            (name, self.choices[name](code).value, code)
            for name, codes in sorted(self.seen.items())
            for code in codes
            if isinstance(code, str) and self.choices[name](code).known
        ]
        other = [(name, ours, code) for name, ours, code in pairs if ours != code]
        fitting = {
            name: sum(spell(ours) == code for _enumeration, ours, code in other)
            for name, spell in STYLES.items()
        }
        most = max(fitting.values(), default=0)
        best = [name for name, count in fitting.items() if count == most]
        if not most or len(best) > 1:
            return None
        for name, ours, code in other:
            if STYLES[best[0]](ours) != code:
                self.chosen.setdefault(name, {}).setdefault(ours, code)
        return best[0]

    def tables(self) -> list[str]:
        """Tables to fill in for numeric enumerations, as comments."""
        return [
            f"# [enumerations.{name}]  # {', '.join(map(str, codes))} came, "
            f"of {', '.join(value.value for value in self.choices[name])}"
            for name, codes in sorted(self.numbered.items())
        ]


def _meant(code: Code, choice: type[Choice]) -> str | None:
    """The only portal value with the code's words; None if there is none or more than one."""
    if not isinstance(code, str):
        return None
    own = set(words(choice.__name__))
    theirs = words(code)
    bare = [word for word in theirs if word not in own] or theirs
    found = [value.value for value in choice if _are_same(words(value.value), theirs, bare)]
    return found[0] if len(found) == 1 else None


def _are_same(ours: list[str], *others: list[str]) -> bool:
    return any(len(ours) == len(other) and all(map(_is_same_word, ours, other)) for other in others)


def _is_same_word(ours: str, theirs: str) -> bool:
    if ours == theirs:
        return True
    alike = SequenceMatcher(None, folded_name(ours), folded_name(theirs)).ratio() >= _SAME_WORD
    return alike and len(ours) > 4 and ours[:4] == theirs[:4]


def questions(asked: Mapping[str, Mapping[Code, Iterable[str]]]) -> list[str]:
    """The questions about codes: one for each enumeration, or one for all if many have codes of their own."""
    if len(asked) > _FEW:
        each = "; ".join(f"{name} ({', '.join(map(repr, codes))})" for name, codes in sorted(asked.items()))
        return [
            f"enumerations: {each}: what does each stand for? A table for each, with every code that the vendor documents"
        ]
    return [
        f"enumerations.{name}: {', '.join(map(repr, codes))}: each one of {', '.join(next(iter(codes.values())))}, or of another "
        "meaning?"
        for name, codes in sorted(asked.items())
    ]
