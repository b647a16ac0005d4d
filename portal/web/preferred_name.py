"""The name that pages use for the signed-in person: from their patient record, else from their ID token.

Few pages read the patient record, so its name is kept in the session for all others.
"""

from __future__ import annotations

from portal.context import session
from portal.services.patients import Patient
from portal.state.session_records import Person

_KEY = "called"


def learn(record: Patient) -> None:
    """Store the name from the person's own record in the session, if it has changed."""
    current = session()
    if current.get(_KEY) != record.called:
        current[_KEY] = record.called


def preferred_name(person: Person) -> str:
    return session().get(_KEY) or person.given_name or person.name
