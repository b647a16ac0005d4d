"""The values of the care API's enumerations in words, gently."""

from __future__ import annotations

import re

from portal.i18n.gettext import _, for_each_language
from portal.services.cases import CareStatus
from portal.services.consents.forms import ConsentKind, ConsentStatus, SignerRole
from portal.services.conversations import Channel
from portal.services.decoding import Choice
from portal.services.episodes import EpisodeStage, Outcome
from portal.services.pgt_results import UNKNOWN_STATUS, PgtCall, PgtStatus
from portal.services.protocols import ProtocolStatus
from portal.services.relationships import RelationshipType
from portal.services.storage import Disposition, EmbryoStatus

_LONGEST_ABBREVIATION = 4


def choice_name(value: Choice | None) -> str:
    """Return a value in words; one that isn't known here as it came, spaced; nothing for None."""
    return "" if value is None else _names()[type(value)].get(value) or spaced(value)


def spaced(text: str) -> str:
    """Return a name from a list as words: `LutealSupport` becomes `Luteal support`; an abbreviation such as `SC` stays."""
    if text.isupper() and len(text) <= _LONGEST_ABBREVIATION:
        return text
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text).strip()
    return words[:1].upper() + words[1:].lower() if words else ""


@for_each_language
def _names() -> dict[type[Choice], dict[Choice, str]]:
    return {
        EpisodeStage: {
            EpisodeStage.PLANNED: _("Planned"),
            EpisodeStage.BASELINE: _("First check"),
            EpisodeStage.STIMULATION: _("Stimulation"),
            EpisodeStage.TRIGGER: _("Trigger"),
            EpisodeStage.RETRIEVAL: _("Egg collection"),
            EpisodeStage.FERTILISATION: _("Fertilisation"),
            EpisodeStage.CULTURE: _("Embryo culture"),
            EpisodeStage.BIOPSY: _("Biopsy"),
            EpisodeStage.FREEZE: _("Freezing"),
            EpisodeStage.TRANSFER: _("Transfer"),
            EpisodeStage.LUTEAL_SUPPORT: _("After the transfer"),
            EpisodeStage.PREGNANCY_TEST: _("Pregnancy test"),
            EpisodeStage.EARLY_SCAN: _("Early scan"),
            EpisodeStage.ENDED: _("Ended"),
        },
        CareStatus: {
            CareStatus.PLANNED: _("Planned"),
            CareStatus.WAITLIST: _("On the waiting list"),
            CareStatus.ACTIVE: _("Under way"),
            CareStatus.ON_HOLD: _("Paused"),
            CareStatus.FINISHED: _("Finished"),
            CareStatus.CANCELLED: _("Stopped"),
            CareStatus.ENTERED_IN_ERROR: _("Entered by mistake"),
        },
        Outcome: {
            Outcome.PREGNANCY: _("Pregnancy"),
            Outcome.NO_PREGNANCY: _("Not pregnant"),
            Outcome.NO_TRANSFER: _("No transfer took place"),
            Outcome.CANCELLED: _("Stopped early"),
            Outcome.COMPLETED: _("Finished"),
            Outcome.ENTERED_IN_ERROR: _("Entered by mistake"),
        },
        EmbryoStatus: {
            EmbryoStatus.STORED: _("Stored"),
            EmbryoStatus.RESERVED: _("Reserved for a transfer"),
            EmbryoStatus.ON_HOLD: _("On hold"),
            EmbryoStatus.TRANSFERRED: _("Transferred"),
            EmbryoStatus.DISCARDED: _("No longer stored"),
            EmbryoStatus.DONATED: _("Donated"),
            EmbryoStatus.SHIPPED_OUT: _("Moved to another clinic"),
        },
        Disposition: {
            Disposition.UNDECIDED: _("Not decided yet"),
            Disposition.CONTINUE_STORAGE: _("Keep in storage"),
            Disposition.DISCARD: _("End storage"),
            Disposition.DONATE_RESEARCH: _("Donate to research"),
            Disposition.DONATE_PATIENT: _("Donate to other patients"),
            Disposition.TRANSPORT: _("Move to another clinic"),
        },
        RelationshipType: {
            RelationshipType.PARTNER: _("Partner"),
            RelationshipType.SPOUSE: _("Spouse"),
            RelationshipType.EGG_DONOR: _("Egg donor"),
            RelationshipType.SPERM_DONOR: _("Sperm donor"),
            RelationshipType.EMBRYO_DONOR: _("Embryo donor"),
            RelationshipType.GESTATIONAL_CARRIER: _("Surrogate"),
            RelationshipType.INTENDED_PARENT: _("Intended parent"),
            RelationshipType.EMERGENCY_CONTACT: _("Emergency contact"),
            RelationshipType.PROXY: _("Proxy"),
        },
        Channel: {
            Channel.PORTAL: _("This portal"),
            Channel.EMAIL: _("E-mail"),
            Channel.SMS: _("Text message"),
            Channel.PHONE: _("Telephone"),
        },
        PgtStatus: {
            PgtStatus.ORDERED: _("Test ordered"),
            PgtStatus.IN_LAB: _("At the laboratory"),
            PgtStatus.REPORTED: _("Reported, in review"),
            PgtStatus.RELEASED: _("Released"),
            PgtStatus.AMENDED: _("Amended"),
            UNKNOWN_STATUS: _("State not known"),
        },
        PgtCall: {
            PgtCall.EUPLOID: _("Euploid"),
            PgtCall.LOW_MOSAIC: _("Low mosaic"),
            PgtCall.HIGH_MOSAIC: _("High mosaic"),
            PgtCall.ANEUPLOID: _("Aneuploid"),
            PgtCall.SEGMENTAL: _("Segmental"),
            PgtCall.NO_RESULT: _("No result"),
            PgtCall.INCONCLUSIVE: _("Inconclusive"),
            PgtCall.UNAFFECTED: _("Unaffected"),
            PgtCall.CARRIER: _("Carrier"),
            PgtCall.AFFECTED: _("Affected"),
            PgtCall.BALANCED: _("Balanced"),
            PgtCall.UNBALANCED: _("Unbalanced"),
        },
        ConsentStatus: {
            ConsentStatus.DRAFT: _("Draft"),
            ConsentStatus.PENDING: _("Unsigned"),
            ConsentStatus.PARTIALLY_SIGNED: _("Partly signed"),
            ConsentStatus.SIGNED: _("Signed"),
            ConsentStatus.REVOKED: _("Withdrawn"),
            ConsentStatus.EXPIRED: _("Expired"),
            ConsentStatus.SUPERSEDED: _("Replaced"),
        },
        SignerRole: {
            SignerRole.PATIENT: _("Patient"),
            SignerRole.PARTNER: _("Partner"),
            SignerRole.GAMETE_PROVIDER: _("Gamete provider"),
            SignerRole.DONOR: _("Donor"),
            SignerRole.SURROGATE: _("Surrogate"),
            SignerRole.INTENDED_PARENT: _("Intended parent"),
            SignerRole.WITNESS: _("Witness"),
            SignerRole.INTERPRETER: _("Interpreter"),
            SignerRole.CLINICIAN: _("Clinician"),
        },
        ConsentKind: {
            ConsentKind.TREATMENT: _("Treatment"),
            ConsentKind.STORAGE: _("Storage"),
            ConsentKind.STORAGE_RENEWAL: _("Storage renewal"),
            ConsentKind.DISPOSITION: _("Disposition"),
            ConsentKind.GENETIC_TESTING: _("Genetic testing"),
            ConsentKind.DONATION: _("Donation"),
            ConsentKind.SURROGACY: _("Surrogacy"),
            ConsentKind.LEGAL_PARENTHOOD: _("Legal parenthood"),
            ConsentKind.DISCLOSURE: _("Sharing information"),
            ConsentKind.RESEARCH: _("Research"),
        },
        ProtocolStatus: {
            ProtocolStatus.DRAFT: _("Draft"),
            ProtocolStatus.ACTIVE: _("Active"),
            ProtocolStatus.ON_HOLD: _("Paused"),
            ProtocolStatus.COMPLETED: _("Completed"),
            ProtocolStatus.CANCELLED: _("Cancelled"),
        },
    }
