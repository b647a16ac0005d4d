"""Which staff roles may do what, so that pages don't show links that the care API would refuse.

The care API decides; these sets are assumptions about its rules (docs/assumptions.md).
"""

from __future__ import annotations

from portal.state.session_records import Person

EDIT_PATIENT = {"nurse", "physician", "coordinator", "admin"}
EDIT_CASE = {"nurse", "physician", "coordinator", "admin"}
EDIT_EMBRYO = {"embryologist", "physician"}
PREPARE_CONSENT = {"nurse", "physician", "coordinator", "admin"}
EDIT_PROTOCOL = {"nurse", "physician"}
EDIT_PROSPECT = {"nurse", "coordinator", "admin"}
REMOVE_CONNECTION = {"admin"}
REMOVE_RELATIONSHIP = {"nurse", "physician", "coordinator", "admin"}

ANSWER_MESSAGES = {"nurse", "coordinator"}
SEE_DAY_SHEET = {"nurse", "physician", "embryologist"}
SEE_SYSTEM = {"admin"}

_ROLES = {
    "patient.edit": EDIT_PATIENT,
    "case.edit": EDIT_CASE,
    "embryo.edit": EDIT_EMBRYO,
    "consent.create": PREPARE_CONSENT,
    "protocol.edit": EDIT_PROTOCOL,
    "prospect.edit": EDIT_PROSPECT,
    "connection.remove": REMOVE_CONNECTION,
    "message.answer": ANSWER_MESSAGES,
    "day-sheet.see": SEE_DAY_SHEET,
    "system.see": SEE_SYSTEM,
    "relationship.remove": REMOVE_RELATIONSHIP,
}


def may(person: Person, act: str) -> bool:
    """Return whether the person is staff with a role that allows this act, such as `patient.edit`."""
    return person.is_staff and not _ROLES[act].isdisjoint(person.roles)
