"""All rules that can refuse an act; the API answers 403 with `ClientelePortal:<Rule>`."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from sqlalchemy.orm import Mapped


class Rule(StrEnum):
    """The rules by name; a name is part of the interface and never changes its meaning."""

    CONCURRENCY_CONFLICT = "ConcurrencyConflict"
    ILLEGAL_TRANSITION = "IllegalTransition"
    FIELD_NOT_YOURS = "FieldNotYours"
    # protocols
    TRIGGER_WITHOUT_TIME = "TriggerWithoutTime"
    DOSES_ALREADY_TAKEN = "DosesAlreadyTaken"
    # patients
    ACCOUNT_BOUND = "AccountBound"
    EMAIL_CHANGED_BY_YOU = "EmailChangedByYou"
    # consent forms
    NOT_A_SIGNER = "NotASigner"
    ALREADY_SIGNED = "AlreadySigned"
    OUT_OF_ORDER = "OutOfOrder"
    WITNESS_IS_SIGNER = "WitnessIsSigner"
    PATIENT_MUST_SIGN = "PatientMustSign"
    PARTNER_MUST_SIGN = "PartnerMustSign"
    ONE_PERSON_EACH = "OnePersonEach"
    SIGNER_NOT_OF_RECORD = "SignerNotOfRecord"
    ROLE_NOT_YOURS = "RoleNotYours"
    CONTENT_CHANGED = "ContentChanged"
    FORM_NOT_SENT = "FormNotSent"
    FORM_REVOKED = "FormRevoked"
    FORM_EXPIRED = "FormExpired"
    FORM_SUPERSEDED = "FormSuperseded"
    CONSENT_ACTED_UPON = "ConsentActedUpon"
    WITHDRAWAL_NOT_YOURS = "WithdrawalNotYours"
    SUPERSEDES_OTHER = "SupersedesOther"
    FORM_ALREADY_OPEN = "FormAlreadyOpen"
    # embryos
    FORM_MISSING = "FormMissing"
    WISH_DIFFERS = "WishDiffers"
    WISH_NOT_YOURS = "WishNotYours"
    ON_HOLD = "OnHold"
    SECOND_PERSON_MISSING = "SecondPersonMissing"
    # folders, EMR endpoints
    MOVE_INTO_DESCENDANT = "MoveIntoDescendant"
    DUPLICATE_NAME = "DuplicateName"
    SYNC_RUNNING = "SyncRunning"
    # prospects
    SAME_RECORD = "SameRecord"
    ALREADY_MERGED = "AlreadyMerged"
    TWO_PATIENTS = "TwoPatients"
    SLOT_TAKEN = "SlotTaken"
    OUTSIDE_WORKING_HOURS = "OutsideWorkingHours"
    SLOT_IN_THE_PAST = "SlotInThePast"
    PHYSICIAN_NOT_AVAILABLE = "PhysicianNotAvailable"
    PROSPECT_CLOSED = "ProspectClosed"
    ALREADY_BOOKED = "AlreadyBooked"


class Refused(Exception):
    """A rule forbids the act; nothing was changed."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule.value)
        self.rule = rule


class Invalid(Exception):
    """The input can't be used; `members` names the fields at fault, in camelCase."""

    def __init__(self, message: str, *members: str) -> None:
        super().__init__(message)
        self.message = message
        self.members = members


class NotThere(Exception):
    """The record doesn't exist or the caller may not see it; the answer doesn't reveal which."""


class KeptElsewhere(Exception):
    """The record is kept by the clinic's own EMR, or the clinic doesn't use this part of the service."""


def require_stamp(kept: str, given: str) -> None:
    """Raise Refused if a change was made to an older version of a record than the stored one."""
    if kept != given:
        raise Refused(Rule.CONCURRENCY_CONFLICT)


class OfClinic(Protocol):
    """A record that belongs to a clinic."""

    tenant_id: Mapped[str]


def require_of_clinic(record: OfClinic | None, tenant_id: str, member: str) -> None:
    """Raise Invalid for `member` unless `record` exists and is the clinic's."""
    if record is None or record.tenant_id != tenant_id:
        raise Invalid("No such record at this clinic.", member)
