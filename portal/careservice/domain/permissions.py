"""Who may do what: one table of acts and roles.

A role that isn't in an act's row gets 403 with an empty body. Which *records* a person may see is a separate
question, answered by 404: staff see all of their own clinic's, patients those that are about them or name them.
The care API specification names no roles; the rows are our assumptions. Everybody may try to sign
and revoke, because whether they can depends on the form.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

PATIENT = frozenset({"patient"})
ADMIN = "admin"
STAFF = frozenset({"nurse", "physician", "embryologist", "coordinator", "admin"})
EVERYONE = PATIENT | STAFF


class Act(StrEnum):
    """Things that a caller may be allowed to do."""

    READ_CONSENTS = "ReadConsents"
    CREATE_CONSENT = "CreateConsent"
    SIGN_CONSENT = "SignConsent"
    REVOKE_CONSENT = "RevokeConsent"
    READ_PROTOCOLS = "ReadProtocols"
    WRITE_PROTOCOLS = "WriteProtocols"
    UPDATE_PATIENT = "UpdatePatient"
    UPDATE_CASE = "UpdateCase"
    DELETE_RELATIONSHIP = "DeleteRelationship"
    UPDATE_EMBRYO = "UpdateEmbryo"
    READ_PGT_RESULT = "ReadPgtResult"
    READ_EPISODE = "ReadEpisode"
    READ_PHYSICIANS = "ReadPhysicians"
    DELETE_EMR_ENDPOINT = "DeleteEmrEndpoint"
    MOVE_DIRECTORY = "MoveDirectory"
    READ_FILE = "ReadFile"
    USE_MESSAGES = "UseMessages"
    USE_NOTIFICATIONS = "UseNotifications"
    MERGE_PROSPECTS = "MergeProspects"
    BOOK_WINDOW = "BookWindow"


ALLOWED: dict[Act, frozenset[str]] = {
    Act.READ_CONSENTS: EVERYONE,
    Act.CREATE_CONSENT: frozenset({"nurse", "physician", "coordinator", "admin"}),
    Act.SIGN_CONSENT: EVERYONE,
    Act.REVOKE_CONSENT: EVERYONE,
    Act.READ_PROTOCOLS: EVERYONE,
    Act.WRITE_PROTOCOLS: frozenset({"physician", "nurse"}),
    Act.UPDATE_PATIENT: PATIENT | {"nurse", "physician", "coordinator", "admin"},
    Act.UPDATE_CASE: frozenset({"physician", "nurse", "coordinator", "admin"}),
    Act.DELETE_RELATIONSHIP: PATIENT | {"nurse", "physician", "coordinator", "admin"},
    Act.UPDATE_EMBRYO: PATIENT | {"embryologist", "physician"},
    Act.READ_PGT_RESULT: EVERYONE,
    Act.READ_EPISODE: EVERYONE,
    Act.READ_PHYSICIANS: EVERYONE,
    Act.DELETE_EMR_ENDPOINT: frozenset({"admin"}),
    Act.MOVE_DIRECTORY: STAFF,
    Act.READ_FILE: EVERYONE,
    Act.USE_MESSAGES: EVERYONE,
    Act.USE_NOTIFICATIONS: EVERYONE,
    Act.MERGE_PROSPECTS: frozenset({"coordinator", "admin", "nurse"}),
    Act.BOOK_WINDOW: frozenset({"coordinator", "admin", "nurse"}),
}

MAX_AGE: dict[Act, timedelta] = dict.fromkeys(
    (
        Act.SIGN_CONSENT,
        Act.REVOKE_CONSENT,
        Act.UPDATE_EMBRYO,
        Act.DELETE_RELATIONSHIP,
        Act.MERGE_PROSPECTS,
        Act.DELETE_EMR_ENDPOINT,
    ),
    timedelta(minutes=5),
)
"""How long ago the person may have signed in (RFC 9470 `max_age`), for acts that need a recent sign-in.

In updates of embryos, only a new status or disposition needs one.
"""

MAX_AGE_FOR_THE_CLINIC = timedelta(minutes=20)
"""Like `MAX_AGE`, for signing as a clinician or a witness: they sign one form after another."""

SERVICE_CLIENTS = frozenset({Act.READ_PHYSICIANS, Act.BOOK_WINDOW})
"""What a token from Client Credentials may do: only what a public booking page needs, no personal records."""


def allows(act: Act, roles: frozenset[str]) -> bool:
    """Whether `roles` permit `act`."""
    return not ALLOWED[act].isdisjoint(roles)
