"""Whether the text of a form is still the one that was signed."""

from __future__ import annotations

from dataclasses import dataclass

from portal.services.consents import content_hash
from portal.services.records import ConsentForm, Signature
from portal.sessions import Person


@dataclass(frozen=True, slots=True)
class Check:
    """What comparing one signature with the text of now gave.

    `matches` is None when the clinic's system makes its mark in a way of its own: it is unchanged by that
    system's word, and the portal cannot recompute it.
    """

    signature: Signature
    matches: bool | None


def checks(form: ConsentForm, person: Person) -> list[Check]:
    """Compare each signature's mark with one made anew from the form as it is in the record now."""
    now = content_hash(form)
    return [Check(signature, _matches(signature, form, now)) for signature in in_order(form, person)]


def in_order(form: ConsentForm, person: Person) -> list[Signature]:
    """The signatures, the reader's own first, then as they were given."""
    return sorted(
        form.signatures,
        key=lambda s: (s.person_id != person.sub, s.signed_at.timestamp() if s.signed_at else 0),
    )


def _matches(signature: Signature, form: ConsentForm, now: str) -> bool | None:
    if signature.content_hash == now:
        return True
    ways_of_its_own = form.content_hash != now and signature.content_hash == form.content_hash
    return None if ways_of_its_own else False
