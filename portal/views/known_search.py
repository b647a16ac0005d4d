"""Searching what this session has read (`portal/web/known_people.py`): by telephone, date of birth, number, embryo and place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date

from portal.folding import folded
from portal.services.people import NO_MATCH, is_near, rank_of
from portal.values import Value
from portal.views.storage.selection import words_of
from portal.web.filters import long_date
from portal.web.known_people import KnownEmbryo, KnownPerson

_NOT_DIGITS = re.compile(r"\D")
_TELEPHONE = re.compile(r"[+(]?[\d\s()./\-\u00a0]{6,}")
_DATE = re.compile(r"(\d{1,4})[./\-\s](\d{1,2})[./\-\s](\d{1,4})")
_PLACE = re.compile(r"[a-z]{0,3}\d{1,4}|[a-z]")
_SHORTEST = 6
"""How many digits a telephone number has to have at least: fewer would be a part of many."""
_MOST = 8


class KnownMatch(Value, frozen=True):
    person: KnownPerson
    embryo: KnownEmbryo | None = None


class KnownFound(Value, frozen=True):
    """What was found: `exact` by a number, code or place, `alike` by what others may have too, `named` by name, `near` by a name
    that differs by one letter."""

    exact: tuple[KnownMatch, ...] = ()
    alike: tuple[KnownMatch, ...] = ()
    named: tuple[KnownMatch, ...] = ()
    near: tuple[KnownMatch, ...] = ()

    @property
    def first(self) -> tuple[KnownMatch, ...]:
        return (*self.exact, *self.alike) or self.named or self.near


def search_known(text: str, people: Iterable[KnownPerson]) -> KnownFound:
    """Search the people; one of several treatments is found once, by the one under way or else read last."""
    once = _once(people)
    embryos = [KnownMatch(person, embryo) for person in people for embryo in person.embryos]
    everything = [*embryos, *(KnownMatch(person) for person in once)]
    exact = [match for match in everything if _has_number(match, text) or _is_in_place(match, text)]
    alike = [match for match in everything if match not in exact and _is_alike(match, text)]
    named = [KnownMatch(person) for person in once if _rank(person, text) < NO_MATCH]
    near = [KnownMatch(person) for person in once if is_near(person.name, text)]
    return KnownFound(*(tuple(matches[:_MOST]) for matches in (exact, alike, named, near)))


def is_place(text: str) -> bool:
    """Whether the text can be a place in the store: `T4 C2` or `A 1`."""
    words = words_of(text)
    has_number = any(map(str.isdigit, text))
    return has_number and 1 < len(words) <= 4 and all(_PLACE.fullmatch(word) for word in words)


def _once(people: Iterable[KnownPerson]) -> list[KnownPerson]:
    found: dict[str, KnownPerson] = {}
    for person in people:
        before = found.get(person.patient_id)
        if before is None or (before.is_ended and not person.is_ended):
            found[person.patient_id] = person
    return list(found.values())


def _rank(person: KnownPerson, text: str) -> int:
    return min(rank_of(person.name, text), rank_of(person.called, text) if person.called else NO_MATCH)


def _has_number(match: KnownMatch, text: str) -> bool:
    """Whether it is the embryo's code or a number of theirs."""
    return folded(text).strip() in _numbers(match)


def _is_in_place(match: KnownMatch, text: str) -> bool:
    """Whether each of several words is a part of the embryo's place."""
    return bool(
        match.embryo and is_place(text) and set(words_of(text)) <= set(map(folded, match.embryo.place))
    )


def _is_alike(match: KnownMatch, text: str) -> bool:
    """Whether it is what others may have too: the beginning of a number, with a digit, a birth date, a telephone."""
    wanted = folded(text).strip()
    if any(map(str.isdigit, wanted)) and any(number.startswith(wanted) for number in _numbers(match)):
        return True
    return match.embryo is None and (_is_born(match.person, text) or _has_telephone(match.person, text))


def _numbers(match: KnownMatch) -> list[str]:
    """The embryo's code, or the person's numbers."""
    numbers = (match.embryo.code,) if match.embryo else (match.person.mrn, *match.person.numbers)
    return [folded(number) for number in numbers if number]


def _is_born(person: KnownPerson, text: str) -> bool:
    if person.born is None:
        return False
    return person.born in _dates(text) or folded(long_date(person.born)) == folded(text).strip()


def _dates(text: str) -> set[date]:
    """The dates that it may mean: year first, or day or month first; of two digits, the year of either century."""
    typed = _DATE.fullmatch(text.strip())
    if typed is None:
        return set()
    first, middle, last = map(int, typed.groups())
    orders = [(first, middle, last)] if first > 31 else [(last, middle, first), (last, first, middle)]
    return {
        found
        for year, month, day in orders
        for century in ((1900, 2000) if year < 100 else (0,))
        if (found := _date(century + year, month, day))
    }


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _has_telephone(person: KnownPerson, text: str) -> bool:
    """Whether it is a part of their number, written as at home or from abroad."""
    if not _TELEPHONE.fullmatch(text.strip()):
        return False
    wanted = _NOT_DIGITS.sub("", folded(text).replace("(0)", "")).lstrip("0")
    return len(wanted) >= _SHORTEST and wanted in _NOT_DIGITS.sub("", person.phone)
