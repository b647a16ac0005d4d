"""Doses that messages with the patient mention and that a changed plan no longer gives: somebody may still go by them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from portal.config.units import is_same_unit
from portal.services.client import Care
from portal.services.conversations import Conversation, MessageSide, list_conversations
from portal.services.gather import attempt, known
from portal.services.protocols import Medication
from portal.services.rules.doses import Course, common_horizon, courses
from portal.services.rules.medicine_names import speaks_of
from portal.values import Value
from portal.views.protocols.plan import Plan
from portal.web.doses import dose_number
from portal.web.filters import in_a_row, now
from portal.web.plain_text import plain_text

DAYS = 7
"""How many days back messages are read."""
_CONVERSATIONS = 20
_SMALLEST_BARE = 25
_AMOUNT = re.compile(r"(?<![\d.,:/])(\d{1,6}(?:[.,]\d{1,3})?)(?![\d:/])\s*([^\W\d_]+)?")
_SENTENCE = re.compile(r"(?<=[.!?؟])\s+|\n+")


class DoseMention(Value, frozen=True):
    """A sentence of a message that tells another dose of a changed medicine than the plan will give."""

    talk_id: str
    by_clinic: bool
    sent_at: datetime
    sentence: str
    drug: str
    planned: str
    """`250 IU`; empty if no more is given."""


class DoseMentions(Value, frozen=True):
    """What was found, in how many messages; None read if they couldn't be, `is_whole` if none of those days was left out."""

    found: list[DoseMention]
    read: int | None
    is_whole: bool


class _Changed(Value, frozen=True):
    """A medicine whose doses change: those that it had and has from the first day that differs."""

    drug: str
    unit: str
    was: frozenset[float]
    planned: frozenset[float]

    @property
    def planned_words(self) -> str:
        """The doses with their unit; empty without any."""
        doses = in_a_row(dose_number(dose) for dose in sorted(self.planned))
        return f"{doses} {self.unit}".strip() if doses else ""


def read_dose_mentions(
    care: Care, patient_id: str | None, name: str, *, before: Plan, after: Plan
) -> DoseMentions | None:
    """Read the patient's conversations in one call, if doses change; None if none do, or the plan is nobody's."""
    changed = _changes(before, after)
    if not changed or not patient_id:
        return None
    page = known(
        attempt(
            lambda: list_conversations(care, limit=_CONVERSATIONS, text=name or None, include_archived=True)
        )
    )
    if page is None:
        return DoseMentions([], None, is_whole=False)
    drugs = {(row.drug, row.unit) for row in (*before.medications, *after.medications)}
    mine = [item for item in page.items if item.patient_id == patient_id]
    since = now() - timedelta(days=DAYS)
    recent = [
        (talk, message.side, message.sent_at, message.body)
        for talk in mine
        for message in talk.in_order
        if message.sent_at and message.sent_at >= since
    ]
    found = [
        DoseMention(talk.id, side is not MessageSide.INBOUND, at, sentence, change.drug, change.planned_words)
        for talk, side, at, body in sorted(recent, key=lambda each: each[2], reverse=True)
        for sentence, change in _contradictions(plain_text(body), changed, drugs)
    ]
    is_whole = page.received >= page.total and page.is_counted and not page.unreadable
    return DoseMentions(
        found, len(recent), is_whole=is_whole and all(_is_complete(talk, since) for talk in mine)
    )


def _is_complete(talk: Conversation, since: datetime) -> bool:
    """Whether all of its messages since then came."""
    first = talk.in_order[0].sent_at if talk.messages else None
    return talk.is_whole or (first is not None and first < since)


def _changes(before: Plan, after: Plan) -> list[_Changed]:
    old, new = (courses([row.medication() for row in plan.medications]) for plan in (before, after))
    until = common_horizon(old, new, today=after.today)
    was, is_now = _values(old, until), _values(new, until)
    found: list[_Changed] = []
    for name in dict.fromkeys((*was, *is_now)):
        old, new = was.get(name, {}), is_now.get(name, {})
        differ = [day for day in old.keys() | new.keys() if old.get(day) != new.get(day)]
        if differ:
            gone = frozenset(_from(old, min(differ))) - frozenset(_from(new, min(differ)))
            found.append(_Changed(*name, gone, frozenset(_from(new, min(differ)))))
    return found


def _values(of: Sequence[Course], until: int) -> dict[tuple[str, str], dict[int, set[float]]]:
    """The doses by medicine and unit, then by day."""
    found: dict[tuple[str, str], dict[int, set[float]]] = {}
    for course in of:
        row: Medication = course.medication
        for day in course.days(until) if row.dose is not None else ():
            found.setdefault((row.drug, row.unit), {}).setdefault(day, set()).add(row.dose or 0)
    return found


def _from(by_day: dict[int, set[float]], first: int) -> Iterable[float]:
    return (value for day, values in by_day.items() if day >= first for value in values)


def _contradictions(
    text: str, changed: Sequence[_Changed], drugs: Iterable[tuple[str, str]]
) -> Iterable[tuple[str, _Changed]]:
    for sentence in filter(None, map(str.strip, _SENTENCE.split(text))):
        for change in changed:
            alike = [drug for drug, unit in drugs if is_same_unit(unit, change.unit)]
            if speaks_of(sentence, alike) and not speaks_of(sentence, [change.drug]):
                continue
            if any(_tells_another(value, unit, change) for value, unit in _AMOUNT.findall(sentence)):
                yield sentence, change


def _tells_another(text: str, unit: str, change: _Changed) -> bool:
    """Whether it is an amount in the medicine's unit that isn't planned; a bare number only if it was planned before."""
    value = float(text.replace(",", "."))
    if value in change.planned:
        return False
    if unit and is_same_unit(unit, change.unit):
        return True
    is_dose_like = value >= _SMALLEST_BARE or not value.is_integer()
    return is_dose_like and value in change.was
