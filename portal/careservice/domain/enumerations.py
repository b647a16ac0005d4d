"""The enumerations of records; a member's integer is its position in its class, from 0 (docs/assumptions.md)."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache


class ConsentStatus(StrEnum):
    """The status of a consent form; Revoked, Expired and Superseded are final."""

    DRAFT = "Draft"
    PENDING = "Pending"
    PARTIALLY_SIGNED = "PartiallySigned"
    SIGNED = "Signed"
    REVOKED = "Revoked"
    EXPIRED = "Expired"
    SUPERSEDED = "Superseded"


class SignerRole(StrEnum):
    """In what capacity a person signs."""

    PATIENT = "Patient"
    PARTNER = "Partner"
    GAMETE_PROVIDER = "GameteProvider"
    DONOR = "Donor"
    SURROGATE = "Surrogate"
    INTENDED_PARENT = "IntendedParent"
    WITNESS = "Witness"
    INTERPRETER = "Interpreter"
    CLINICIAN = "Clinician"


class SigningOrder(StrEnum):
    """Whether signers have to wait for one another."""

    ANY = "Any"
    SEQUENTIAL = "Sequential"


class SignatureMethod(StrEnum):
    """How a signature was given; over this API only TypedName is."""

    TYPED_NAME = "TypedName"
    DRAWN = "Drawn"
    PAPER = "Paper"


class ReadingMode(StrEnum):
    """How a signer took in a text that isn't in the language of their screen."""

    SELF = "Self"
    INTERPRETER = "Interpreter"
    EXPLAINED = "Explained"


class ToldBy(StrEnum):
    """How staff were told of a withdrawal that they record."""

    TELEPHONE = "Telephone"
    IN_PERSON = "InPerson"
    LETTER = "Letter"
    EMAIL = "Email"


class CareStatus(StrEnum):
    """The status of a case or an episode."""

    PLANNED = "Planned"
    WAITLIST = "Waitlist"
    ACTIVE = "Active"
    ON_HOLD = "OnHold"
    FINISHED = "Finished"
    CANCELLED = "Cancelled"
    ENTERED_IN_ERROR = "EnteredInError"


class Stage(StrEnum):
    """The part of a treatment cycle that an episode is in."""

    PLANNED = "Planned"
    BASELINE = "Baseline"
    STIMULATION = "Stimulation"
    TRIGGER = "Trigger"
    RETRIEVAL = "Retrieval"
    FERTILISATION = "Fertilisation"
    CULTURE = "Culture"
    BIOPSY = "Biopsy"
    FREEZE = "Freeze"
    TRANSFER = "Transfer"
    LUTEAL_SUPPORT = "LutealSupport"
    PREGNANCY_TEST = "PregnancyTest"
    EARLY_SCAN = "EarlyScan"
    ENDED = "Ended"


class Outcome(StrEnum):
    """How an episode ended."""

    PREGNANCY = "Pregnancy"
    NO_PREGNANCY = "NoPregnancy"
    NO_TRANSFER = "NoTransfer"
    CANCELLED = "Cancelled"
    COMPLETED = "Completed"
    ENTERED_IN_ERROR = "EnteredInError"


class ProtocolType(StrEnum):
    """The kind of treatment plan; also the type of an episode and a case."""

    ANTAGONIST = "Antagonist"
    LONG_AGONIST = "LongAgonist"
    SHORT_FLARE = "ShortFlare"
    PPOS = "Ppos"
    MILD_STIMULATION = "MildStimulation"
    NATURAL_CYCLE = "NaturalCycle"
    FET_NATURAL = "FetNatural"
    FET_MEDICATED = "FetMedicated"
    IUI = "Iui"
    EGG_FREEZING = "EggFreezing"
    DONOR_CYCLE = "DonorCycle"


class ProtocolStatus(StrEnum):
    """The status of a protocol; Completed and Cancelled are final."""

    DRAFT = "Draft"
    ACTIVE = "Active"
    ON_HOLD = "OnHold"
    COMPLETED = "Completed"
    CANCELLED = "Cancelled"


class EmbryoStatus(StrEnum):
    """The status of an embryo; Transferred, Discarded, Donated and ShippedOut are final."""

    STORED = "Stored"
    RESERVED = "Reserved"
    ON_HOLD = "OnHold"
    THAWED = "Thawed"
    TRANSFERRED = "Transferred"
    DISCARDED = "Discarded"
    DONATED = "Donated"
    SHIPPED_OUT = "ShippedOut"


class Disposition(StrEnum):
    """What the people whose embryo it is want to be done with it."""

    UNDECIDED = "Undecided"
    CONTINUE_STORAGE = "ContinueStorage"
    DISCARD = "Discard"
    DONATE_RESEARCH = "DonateResearch"
    DONATE_PATIENT = "DonatePatient"
    TRANSPORT = "Transport"


class PgtType(StrEnum):
    """What a genetic test of an embryo looks for."""

    PGT_A = "PgtA"
    PGT_M = "PgtM"
    PGT_SR = "PgtSr"
    PGT_P = "PgtP"


class PgtStatus(StrEnum):
    """The status of a genetic test; patients see it from Released on."""

    ORDERED = "Ordered"
    IN_LAB = "InLab"
    REPORTED = "Reported"
    RELEASED = "Released"
    AMENDED = "Amended"


class PgtCall(StrEnum):
    """The laboratory's interpretation of a genetic test."""

    EUPLOID = "Euploid"
    LOW_MOSAIC = "LowMosaic"
    HIGH_MOSAIC = "HighMosaic"
    ANEUPLOID = "Aneuploid"
    SEGMENTAL = "Segmental"
    NO_RESULT = "NoResult"
    INCONCLUSIVE = "Inconclusive"
    UNAFFECTED = "Unaffected"
    CARRIER = "Carrier"
    AFFECTED = "Affected"
    BALANCED = "Balanced"
    UNBALANCED = "Unbalanced"


class RelationshipType(StrEnum):
    """What another person is to a patient."""

    PARTNER = "Partner"
    SPOUSE = "Spouse"
    EGG_DONOR = "EggDonor"
    SPERM_DONOR = "SpermDonor"
    EMBRYO_DONOR = "EmbryoDonor"
    GESTATIONAL_CARRIER = "GestationalCarrier"
    INTENDED_PARENT = "IntendedParent"
    EMERGENCY_CONTACT = "EmergencyContact"
    PROXY = "Proxy"


class MessageSide(StrEnum):
    """The direction of a message: Inbound to the clinic, Outbound from it."""

    INBOUND = "Inbound"
    OUTBOUND = "Outbound"


class Channel(StrEnum):
    """The medium of a message."""

    PORTAL = "Portal"
    EMAIL = "Email"
    SMS = "Sms"
    PHONE = "Phone"


class Severity(StrEnum):
    """How urgent a notification or an alert is."""

    INFO = "Info"
    SUCCESS = "Success"
    WARNING = "Warning"
    URGENT = "Urgent"


class ProspectStatus(StrEnum):
    """The status of a prospect."""

    NEW = "New"
    CONTACTED = "Contacted"
    QUALIFIED = "Qualified"
    WINDOW_BOOKED = "WindowBooked"
    CONVERTED = "Converted"
    LOST = "Lost"
    MERGED = "Merged"


class DayOfWeek(StrEnum):
    """A day of the week, numbered from Sunday as in .NET."""

    SUNDAY = "Sunday"
    MONDAY = "Monday"
    TUESDAY = "Tuesday"
    WEDNESDAY = "Wednesday"
    THURSDAY = "Thursday"
    FRIDAY = "Friday"
    SATURDAY = "Saturday"


@lru_cache(maxsize=64)
def _by_folded_name(kind: type[StrEnum]) -> dict[str, str]:
    return {_fold(member.value): member.value for member in kind}


def canonical(kind: type[StrEnum], given: object) -> object:
    """The name in `kind` for `given`: a name in any case, with or without underscores, or an integer.

    A value that matches none is returned unchanged, for the caller to refuse.
    """
    if isinstance(given, str):
        return _by_folded_name(kind).get(_fold(given), given)
    if isinstance(given, float) and given.is_integer():
        given = int(given)  # JSON has only one type of number
    if isinstance(given, int) and not isinstance(given, bool):
        members = list(kind)
        return members[given].value if 0 <= given < len(members) else given
    return given


def _fold(name: str) -> str:
    return name.replace("_", "").casefold()
