"""Which of the clinic's roles may change what: links that others would only be refused at aren't shown to them.

The care API decides; these sets are our assumptions (docs/assumptions.md), and say the same as it does.
"""

from __future__ import annotations

from portal.state.session_records import Person

EDIT_PATIENT = {"nurse", "physician", "coordinator", "admin"}
EDIT_CASE = {"nurse", "physician", "coordinator", "admin"}
EDIT_EMBRYO = {"embryologist", "physician"}
EDIT_PROSPECT = {"nurse", "coordinator", "admin"}
REMOVE_RELATIONSHIP = {"nurse", "physician", "coordinator", "admin"}

ANSWER_MESSAGES = {"nurse", "coordinator"}
SEE_SYSTEM = {"admin"}

_ROLES = {
    "patient.edit": EDIT_PATIENT,
    "case.edit": EDIT_CASE,
    "embryo.edit": EDIT_EMBRYO,
    "message.answer": ANSWER_MESSAGES,
    "system.see": SEE_SYSTEM,
    "relationship.remove": REMOVE_RELATIONSHIP,
}


def may(person: Person, act: str) -> bool:
    """Whether a member of staff has a role for this act."""
    return person.is_staff and not _ROLES[act].isdisjoint(person.roles)
