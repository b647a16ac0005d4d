"""The members that each kind of person may get, and the columns whose text may be in them.

Everybody may get what the portal's records declare (`portal.services`), each of their own records alone, but what only some
get: what is marked NOT_SENT (`portal.services.uses`) and the persons' own details. `FURTHER` says who gets which of these.
A column may be in a member of its name. Those of an episode's two people are named by whose they are: `partner.email`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from portal.connect.dialects.shapes import all_marked, record_of
from portal.services.api import AnyEndpoint
from portal.services.endpoints import ALL
from portal.services.episodes import READ_EPISODE
from portal.services.members import members_of
from portal.services.pgt_results import READ_PGT_RESULT
from portal.services.uses import Mark

NOT_DECLARED = {
    f"NotificationSettings.{name}"
    for name in ("creationTime", "creatorId", "lastModificationTime", "lastModifierId")
}
"""What the service sends and the portal doesn't know of."""

NOT_IN_SAMPLES = {
    *("PgtResult.comment", "PgtResult.condition"),
    *("PossibleSender.id", "PossibleSender.name"),
    *("QuietHours.end", "QuietHours.start", "QuietHours.timeZone"),
}
"""What the service sends only with records that the samples don't have."""

_NULL_FOR_PATIENTS = {"EmbryoStorage.location", "EmbryoStorage.pgtResultId"}
_DETAILS = [
    "address",
    "concurrencyStamp",
    "creationTime",
    "creatorId",
    "dateOfBirth",
    "email",
    "emailVerified",
    "emergencyContact",
    "isActive",
    "language",
    "lastModificationTime",
    "lastModifierId",
    "mrn",
    "phoneNumber",
    "phoneNumberVerified",
    "preferredChannel",
    "userId",
    "address.city",
    "address.country",
    "address.line1",
    "address.line2",
    "address.postalCode",
    "address.region",
    "emergencyContact.name",
    "emergencyContact.phoneNumber",
    "emergencyContact.relation",
]
PATIENTS, PARTNERS = ({f"{whose}.{name}" for name in _DETAILS} for whose in ("patient", "partner"))

FURTHER: dict[str, set[str]] = {
    "staff": {
        *("Case.diagnosis", "Case.notes", "Conversation.possibleSenders", "EmbryoStorage.notes"),
        *("PossibleSender.id", "PossibleSender.name"),
        *(f"ConsentForm.{name}" for name in ("onBehalfOf", "revokeReason", "toldAt", "toldBy")),
        *(f"StorageLocation.{name}" for name in ("cane", "canister", "facility", "position", "tank")),
        *PATIENTS,
        *PARTNERS,
    },
    "patient": {"ConsentForm.revokeReason", *PATIENTS},
    "partner": PARTNERS,
    "former signer": set(),
    "former": set(),
}

_NOT_FORMERS = {READ_EPISODE, READ_PGT_RESULT}
FORMER_TABLES = {
    *("consent_forms", "consent_signatures", "consent_signers", "files", "conversations"),
    *("conversation_participants", "messages", "notifications", "settings", "physicians", "protocols"),
}
"""Of which tables a former partner may get rows: forms that name him, and his own."""


@cache
def listed_members(kind: str) -> frozenset[str]:
    """What a kind of person may get, by record."""
    rows = [row for row in ALL if row.is_safe and not (kind.startswith("former") and row in _NOT_FORMERS)]
    closed = set[str]().union(all_marked(Mark.NOT_SENT) - _NULL_FOR_PATIENTS, *FURTHER.values())
    declared = {member for row in rows for member in _declared(row)} | NOT_DECLARED
    return frozenset((declared - closed) | FURTHER[kind])


def _declared(row: AnyEndpoint) -> Iterator[str]:
    record = record_of(row.answer)
    return _within(record, record.__name__) if record else iter(())


def _within(record: type, where: str) -> Iterator[str]:
    for member in members_of(record):
        yield f"{where}.{member.name}"
        if member.nested:
            yield from _within(member.nested, name_of(where, member.name, member.nested))


def name_of(where: str, name: str, record: type) -> str:
    """What a record within another is called: by its kind; a person of an episode and all below by whose they are."""
    if where == "Episode" and name in ("patient", "partner"):
        return name
    return f"{where}.{name}" if where.partition(".")[0] in ("patient", "partner") else record.__name__


def may_be_in(kind: str, place: str) -> bool:
    """Whether a column's text may be in what a kind of person gets."""
    if place in PLACES_FURTHER[kind].split("; "):
        return True
    table, _, column = place.partition(".")
    if kind.startswith("former") and table not in FORMER_TABLES:
        return False
    if any(place in places.split("; ") for places in PLACES_FURTHER.values()):
        return False
    first, *rest = column.rpartition(".")[2].split("_")
    name = first + "".join(word.title() for word in rest)
    return place in OTHERWISE_NAMED or name in {one.rpartition(".")[2] for one in listed_members(kind)}


OTHERWISE_NAMED = {"conversations.reply_email", "conversations.reply_sms", "files.sha256"}
"""Columns that are in a member, or a header, of another name."""

PLACES_FURTHER: dict[str, str] = {
    "staff": (
        "cases.diagnosis; cases.notes; consent_forms.revoke_reason; embryo_storage.location.cane; embryo_storage.location.canister; "
        "embryo_storage.location.facility; embryo_storage.location.position; "
        "embryo_storage.location.tank; embryo_storage.notes; patients.address.city (others); "
        "patients.address.country (others); patients.address.line1 (others); "
        "patients.address.line2 (others); patients.address.postal_code (others); "
        "patients.address.region (others); patients.email (others); "
        "patients.emergency_contact.name (others); patients.emergency_contact.phone_number (others); "
        "patients.emergency_contact.relation (others); patients.first_name (others); "
        "patients.language (others); patients.last_name (others); patients.mrn (others); "
        "patients.phone_number (others); patients.preferred_name (others)"
    ),
    "patient": (
        "consent_forms.revoke_reason; "
        "patients.address.city (own); patients.address.country (own); patients.address.line1 (own); "
        "patients.address.line2 (own); patients.address.postal_code (own); "
        "patients.address.region (own); patients.email (own); patients.emergency_contact.name (own); "
        "patients.emergency_contact.phone_number (own); patients.emergency_contact.relation (own); "
        "patients.first_name (others); patients.first_name (own); patients.language (own); "
        "patients.last_name (others); patients.last_name (own); patients.mrn (own); "
        "patients.phone_number (own); patients.preferred_name (others); patients.preferred_name (own)"
    ),
    "partner": (
        "patients.address.city (own); patients.address.country (own); patients.address.line1 (own); "
        "patients.address.line2 (own); patients.address.postal_code (own); "
        "patients.address.region (own); patients.email (own); patients.emergency_contact.name (own); "
        "patients.emergency_contact.phone_number (own); patients.emergency_contact.relation (own); "
        "patients.first_name (others); patients.first_name (own); patients.language (own); "
        "patients.last_name (others); patients.last_name (own); patients.mrn (own); "
        "patients.phone_number (own); patients.preferred_name (others); patients.preferred_name (own)"
    ),
    "former signer": (
        "patients.first_name (others); patients.first_name (own); patients.last_name (others); "
        "patients.last_name (own)"
    ),
    "former": ("patients.first_name (own); patients.last_name (own)"),
}
