"""What the person likes to be called: as their own record says, else as they signed in.

A patient's record is read on few pages; the name that it gives is kept in the session, so that all pages say the same.
"""

from __future__ import annotations

from portal.context import session
from portal.services.patients import Patient
from portal.state.session_records import Person

_CALLED = "called"


def learn(record: Patient) -> None:
    """Keep the name from the person's own record; the session is written only when it has changed."""
    here = session()
    if here.get(_CALLED) != record.called:
        here[_CALLED] = record.called


def preferred_name(person: Person) -> str:
    """Return what to call this person, whose session this is."""
    return session().get(_CALLED) or person.given_name or person.name
