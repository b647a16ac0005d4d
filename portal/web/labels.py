"""The clinic's terms in words that a person reads: stages, states, grades, results.

Patients get plain words; staff get the field's own terms. A value that isn't known here is shown as it came, and so
is what staff typed themselves, such as a route.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from markupsafe import Markup

from portal.i18n.gettext import _, for_each_language
from portal.services.cases import CareStatus
from portal.services.conversations import Channel
from portal.services.decoding import Choice
from portal.services.episodes import EpisodeStage, Outcome
from portal.services.patients import Patient
from portal.services.pgt_results import PgtCall, PgtStatus
from portal.services.protocols import ProtocolType
from portal.services.relationships import RelationshipType
from portal.services.storage import Disposition, EmbryoStatus, EmbryoStorage, StorageLocation
from portal.web.explanations import is_staff
from portal.web.not_given import not_given
from portal.web.said import foreign, said

_SOON = 2


def spaced(text: str) -> str:
    """Return a name from a list as words: `LutealSupport` becomes `Luteal support`."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text).strip()
    return words[:1].upper() + words[1:].lower() if words else ""


def tone_of_days(days: int) -> str:
    """Return the tone of a date in so many days: urgent today and once it has passed, attention for two days before."""
    return "urgent" if days <= 0 else "attention" if days <= _SOON else "neutral"


def role_name(role: str) -> str:
    """Return what someone does at the clinic; what isn't known here, such as a title of their own, as it came."""
    return _role_names().get(role.casefold(), role)


@for_each_language
def _role_names() -> dict[str, str]:
    return {
        "nurse": _("Nurse"),
        "physician": _("Physician"),
        "embryologist": _("Embryologist"),
        "coordinator": _("Coordinator"),
        "admin": _("Administrator"),
    }


def role_purpose(role: str) -> str:
    """Return what a patient can ask someone of this role; empty for a role that isn't known here."""
    purposes = {
        "nurse": _("For medicines, injections, scans and how you feel."),
        "physician": _("For your treatment plan, decisions and results."),
        "embryologist": _("For your embryos and the laboratory."),
        "coordinator": _("For dates, forms and payments."),
    }
    return purposes.get(role.casefold(), "")


def route_name(route: str) -> str:
    """Return how a medicine is taken, such as `Under the skin`; an unknown one as it came, spaced."""
    return _route_names().get(route.casefold(), spaced(route))


@for_each_language
def _route_names() -> dict[str, str]:
    return {
        "subcutaneous": _("Under the skin"),
        "intramuscular": _("Into a muscle"),
        "intravenous": _("Into a vein"),
        "oral": _("By mouth"),
        "vaginal": _("Vaginally"),
        "rectal": _("Rectally"),
        "nasal": _("By nose spray"),
        "transdermal": _("On the skin"),
    }


def stage_name(stage: EpisodeStage) -> str:
    """Return the part of a treatment in words."""
    return _stage_names().get(stage) or _other(stage)


@for_each_language
def _stage_names() -> dict[EpisodeStage, str]:
    return {
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
    }


def visit_name(kind: str) -> str:
    """Return what an appointment is for; what isn't known here as the clinic wrote it."""
    return _visit_names().get(re.sub(r"[\W_]", "", kind).casefold()) or kind


def visit_kind(kind: str) -> Markup | str:
    """Return what an appointment is for as HTML: the clinic's own words marked with their language."""
    return kind if kind in _visit_names().values() else said(kind)


def event_title(title: str) -> Markup | str:
    """Return an event's title as HTML; if that is in another language, in the reader's where it is a known kind of visit."""
    return visit_kind(visit_name(title)) if foreign(title) else title


@for_each_language
def _visit_names() -> dict[str, str]:
    return {
        "monitoringscan": _("Monitoring scan"),
        "baselinescan": _("First scan"),
        "eggretrieval": _("Egg collection"),
        "oocyteretrieval": _("Egg collection"),
        "eggcollection": _("Egg collection"),
        "embryotransfer": _("Embryo transfer"),
        "pregnancytest": _("Pregnancy test"),
        "earlyscan": _("Early scan"),
    }


def care_status_name(status: CareStatus) -> str:
    """Return where a case or an episode stands."""
    return _care_status_names().get(status) or _other(status)


@for_each_language
def _care_status_names() -> dict[CareStatus, str]:
    return {
        CareStatus.PLANNED: _("Planned"),
        CareStatus.WAITLIST: _("On the waiting list"),
        CareStatus.ACTIVE: _("Under way"),
        CareStatus.ON_HOLD: _("Paused"),
        CareStatus.FINISHED: _("Finished"),
        CareStatus.CANCELLED: _("Stopped"),
        CareStatus.ENTERED_IN_ERROR: _("Entered by mistake"),
    }


def care_status_tone(status: CareStatus) -> str:
    """Return the tone of its tag."""
    return {CareStatus.ACTIVE: "accent", CareStatus.ON_HOLD: "attention"}.get(status, "neutral")


def treatment_name(type_: str, *, plain: bool = True) -> str:
    """Return the kind of treatment: plain words for patients, the protocol's own name for staff."""
    kind = ProtocolType(type_) if type_ else None
    if kind is None:
        return _("Treatment")
    names = _treatment_names()
    return names[kind][0 if plain else 1] if kind in names else _other(kind)


@for_each_language
def _treatment_names() -> dict[ProtocolType, tuple[str, str]]:
    stimulated = _("IVF with stimulation")
    return {
        ProtocolType.ANTAGONIST: (stimulated, _("Antagonist protocol")),
        ProtocolType.LONG_AGONIST: (stimulated, _("Long agonist protocol")),
        ProtocolType.SHORT_FLARE: (stimulated, _("Short flare protocol")),
        ProtocolType.PPOS: (stimulated, _("PPOS protocol")),
        ProtocolType.MILD_STIMULATION: (_("IVF with mild stimulation"), _("Mild stimulation")),
        ProtocolType.NATURAL_CYCLE: (_("IVF in a natural cycle"), _("Natural cycle")),
        ProtocolType.FET_NATURAL: (_("Frozen embryo transfer"), _("FET, natural cycle")),
        ProtocolType.FET_MEDICATED: (_("Frozen embryo transfer"), _("FET, medicated")),
        ProtocolType.IUI: (_("Insemination"), _("IUI")),
        ProtocolType.EGG_FREEZING: (_("Egg freezing"), _("Egg freezing")),
        ProtocolType.DONOR_CYCLE: (_("Donor cycle"), _("Donor cycle")),
    }


def outcome_name(outcome: Outcome) -> str:
    """Return how an episode ended, gently."""
    return _outcome_names().get(outcome) or _other(outcome)


@for_each_language
def _outcome_names() -> dict[Outcome, str]:
    return {
        Outcome.PREGNANCY: _("Pregnancy"),
        Outcome.NO_PREGNANCY: _("Not pregnant"),
        Outcome.NO_TRANSFER: _("No transfer took place"),
        Outcome.CANCELLED: _("Stopped early"),
        Outcome.COMPLETED: _("Finished"),
        Outcome.ENTERED_IN_ERROR: _("Entered by mistake"),
    }


def with_record(code: str, patient: Patient) -> str:
    """Return an embryo's code, for staff with its patient's record number: codes are unique only within a record."""
    return f"{code} · {patient.mrn}" if is_staff() and patient.mrn else code


def place_line(place: StorageLocation | None) -> str:
    """A location on one line, as it is typed and said: `T4 C2 17 1`, from tank to position; empty if there is none.

    A part that is missing between others is a dash, so that none is taken for another.
    """
    parts = [place.tank, place.canister, place.cane, place.position] if place else []
    while parts and not parts[-1]:
        parts.pop()
    return "\u00a0".join(part or "–" for part in parts)


def embryo_status_name(embryo: EmbryoStorage) -> str:
    """Return where an embryo is."""
    if embryo.status == EmbryoStatus.THAWED:
        return _warmed(embryo)
    return _embryo_status_names().get(embryo.status) or _other(embryo.status)


@for_each_language
def _embryo_status_names() -> dict[EmbryoStatus, str]:
    return {
        EmbryoStatus.STORED: _("Stored"),
        EmbryoStatus.RESERVED: _("Reserved for a transfer"),
        EmbryoStatus.ON_HOLD: _("On hold"),
        EmbryoStatus.TRANSFERRED: _("Transferred"),
        EmbryoStatus.DISCARDED: _("No longer stored"),
        EmbryoStatus.DONATED: _("Donated"),
        EmbryoStatus.SHIPPED_OUT: _("Moved to another clinic"),
    }


def embryo_status_term(embryo: EmbryoStorage, status: EmbryoStatus | None = None) -> str:
    """Return where an embryo is, or would be with this status, in the terms of the laboratory."""
    status = status or embryo.status
    if status == EmbryoStatus.THAWED:
        return _warmed(embryo)
    return _embryo_status_terms().get(status) or _other(status)


def _warmed(embryo: EmbryoStorage) -> str:
    return _("Thawed") if embryo.is_slowly_frozen else _("Warmed")


@for_each_language
def _embryo_status_terms() -> dict[EmbryoStatus, str]:
    return {
        EmbryoStatus.STORED: _("Stored"),
        EmbryoStatus.RESERVED: _("Reserved"),
        EmbryoStatus.ON_HOLD: _("On hold"),
        EmbryoStatus.TRANSFERRED: _("Transferred"),
        EmbryoStatus.DISCARDED: _("Discarded"),
        EmbryoStatus.DONATED: _("Donated"),
        EmbryoStatus.SHIPPED_OUT: _("Shipped out"),
    }


def embryo_status_tone(status: EmbryoStatus) -> str:
    """Return the tone of its tag."""
    tones = {
        EmbryoStatus.STORED: "info",
        EmbryoStatus.RESERVED: "accent",
        EmbryoStatus.ON_HOLD: "attention",
    }
    return tones.get(status, "neutral")


def disposition_name(disposition: Disposition) -> str:
    """Return what is to be done with an embryo."""
    if disposition == Disposition.UNDECIDED and not_given("EmbryoStorage.disposition"):
        return _("Not given by the clinic’s system")
    return _disposition_names().get(disposition) or _other(disposition)


@for_each_language
def _disposition_names() -> dict[Disposition, str]:
    return {
        Disposition.UNDECIDED: _("Not decided yet"),
        Disposition.CONTINUE_STORAGE: _("Keep in storage"),
        Disposition.DISCARD: _("End storage"),
        Disposition.DONATE_RESEARCH: _("Donate to research"),
        Disposition.DONATE_PATIENT: _("Donate to other patients"),
        Disposition.TRANSPORT: _("Move to another clinic"),
    }


def hold_reason(reason: str) -> str:
    """Return why an embryo is on hold: the API's own reasons in the reader's language, the clinic's as written."""
    return _hold_reasons().get(reason) or said(reason)


@for_each_language
def _hold_reasons() -> dict[str, str]:
    return {
        "Consent withdrawn": _("Consent withdrawn"),
        "Consent ended": _("Consent ended"),
        "Decision taken back": _("Decision taken back"),
    }


def relationship_name(type_: RelationshipType) -> str:
    """Return what another person is to a patient."""
    return _relationship_names().get(type_) or _other(type_)


@for_each_language
def _relationship_names() -> dict[RelationshipType, str]:
    return {
        RelationshipType.PARTNER: _("Partner"),
        RelationshipType.SPOUSE: _("Spouse"),
        RelationshipType.EGG_DONOR: _("Egg donor"),
        RelationshipType.SPERM_DONOR: _("Sperm donor"),
        RelationshipType.EMBRYO_DONOR: _("Embryo donor"),
        RelationshipType.GESTATIONAL_CARRIER: _("Surrogate"),
        RelationshipType.INTENDED_PARENT: _("Intended parent"),
        RelationshipType.EMERGENCY_CONTACT: _("Emergency contact"),
        RelationshipType.PROXY: _("Proxy"),
    }


def channel_name(channel: Channel) -> str:
    """Return by what way words travel."""
    return _channel_names().get(channel) or _other(channel)


@for_each_language
def _channel_names() -> dict[Channel, str]:
    return {
        Channel.PORTAL: _("This portal"),
        Channel.EMAIL: _("E-mail"),
        Channel.SMS: _("Text message"),
        Channel.PHONE: _("Telephone"),
    }


def pgt_status_name(status: PgtStatus) -> str:
    """Return how far a genetic test has come."""
    return _pgt_status_names().get(status) or _other(status)


@for_each_language
def _pgt_status_names() -> dict[PgtStatus, str]:
    return {
        PgtStatus.ORDERED: _("Test ordered"),
        PgtStatus.IN_LAB: _("At the laboratory"),
        PgtStatus.REPORTED: _("Reported, in review"),
        PgtStatus.RELEASED: _("Released"),
        PgtStatus.AMENDED: _("Amended"),
    }


def pgt_call_name(call: PgtCall) -> str:
    """Return what the laboratory made of a genetic test."""
    return _pgt_call_names().get(call) or _other(call)


@for_each_language
def _pgt_call_names() -> dict[PgtCall, str]:
    return {
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
    }


_GARDNER = re.compile(r"\s*([1-6])\s*([A-C])\s*([A-C])\s*", re.IGNORECASE)


def grade_in_words(grade: str, system: str = "") -> str | None:
    """Explain a blastocyst's grade (Gardner and Schoolcraft, 1999) plainly, or return None when it isn't one."""
    found = _GARDNER.fullmatch(grade)
    if found is None or system.casefold() not in ("", "gardner"):
        return None
    grown = {
        "1": _("a young blastocyst"),
        "2": _("a blastocyst that has begun to fill"),
        "3": _("a full blastocyst"),
        "4": _("an expanded blastocyst"),
        "5": _("a hatching blastocyst"),
        "6": _("a hatched blastocyst"),
    }[found[1]]
    return _(
        "%(grown)s; inner cells graded %(inner)s, outer cells %(outer)s",
        grown=grown[:1].upper() + grown[1:],
        inner=found[2].upper(),
        outer=found[3].upper(),
    )


def _other(value: Choice) -> str:
    return spaced(str(value))


FILTERS: dict[str, Callable[..., str | None]] = {
    "stage": stage_name,
    "care_status": care_status_name,
    "care_tone": care_status_tone,
    "treatment": treatment_name,
    "outcome": outcome_name,
    "embryo_status": embryo_status_name,
    "embryo_status_term": embryo_status_term,
    "with_record": with_record,
    "place": place_line,
    "hold_reason": hold_reason,
    "embryo_tone": embryo_status_tone,
    "disposition": disposition_name,
    "relationship": relationship_name,
    "pgt_status": pgt_status_name,
    "pgt_call": pgt_call_name,
    "grade_in_words": grade_in_words,
    "channel": channel_name,
    "role": role_name,
    "role_purpose": role_purpose,
    "route": route_name,
    "visit_kind": visit_kind,
    "event_title": event_title,
    "spaced": spaced,
}
"""The same for templates, by the names of their filters."""
