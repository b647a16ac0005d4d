"""What a patient wants to ask at the next visit, as a note of their own: the care API has no such record, and the clinic sees none."""

from __future__ import annotations

import msgspec

from portal.state.session_records import Person
from portal.web.last_known import LastKnown

LONGEST = 4_000
_KEPT_SECONDS = 90 * 24 * 3600


class Questions(msgspec.Struct, frozen=True):
    text: str


QUESTIONS = LastKnown("questions", Questions(text=""), seconds=_KEPT_SECONDS)


def questions(person: Person) -> str:
    """Return the note; empty if there is none."""
    return QUESTIONS.get(person).text


def keep_questions(person: Person, text: str, *, before: str) -> str | None:
    """Store a note that was `before` when it was opened, and return what is stored; None if it couldn't be.

    What was stored meanwhile, in another window, stays above it; both together have to fit.
    """

    def with_text(saved: Questions) -> Questions | None:
        is_changed = saved.text not in ("", before, text)
        both = f"{saved.text}\n\n{text}" if is_changed else text
        return Questions(both) if len(both) <= 2 * LONGEST else None

    kept = QUESTIONS.update(person, with_text)
    return None if kept is None else kept.text
