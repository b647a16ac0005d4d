"""The clinic's terms in words that a person reads: stages, states, grades, results.

Patients get plain words; staff get the field's own terms. A value that isn't known here is shown as it came, and so
is what staff typed themselves, such as a route.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from markupsafe import Markup

from portal.config.routes import route_of
from portal.config.visits import folded_kind
from portal.i18n.gettext import _, for_each_language
from portal.request_values import reader_is_staff
from portal.services.cases import CareStatus
from portal.services.patients import Patient
from portal.services.pgt_results import PgtBrief
from portal.services.protocols import ProtocolType
from portal.services.storage import (
    Disposition,
    EmbryoStatus,
    EmbryoStorage,
    StorageLocation,
    known_hold_reason,
)
from portal.web.choice_names import choice_name, spaced
from portal.web.not_given import not_given
from portal.web.text_language import foreign, with_lang

_SOON = 2


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
    """Return how a medicine is taken, such as `Under the skin`, also of an abbreviation; an unknown one as it came, spaced."""
    return _route_names().get(route_of(route)) or spaced(route)


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


def visit_name(kind: str) -> str:
    """Return what an appointment is for; what isn't known here as the clinic wrote it."""
    return _visit_names().get(folded_kind(kind)) or kind


def visit_kind(kind: str) -> Markup | str:
    """Return what an appointment is for as HTML: the clinic's own words marked with their language."""
    return kind if kind in _visit_names().values() else with_lang(kind)


def event_title(title: str) -> Markup | str:
    """Return an event's title as HTML; if that is in another language, in the reader's where it is a known kind of visit."""
    return visit_kind(visit_name(title)) if foreign(title) else title


EGG_COLLECTIONS = (
    *(f"{what}{how}" for what in ("egg", "oocyte") for how in ("retrieval", "collection", "pickup")),
    *("opu", "punciónfolicular", "extraccióndeóvulos", "سحبالبويضات"),
)
"""What clinics call an egg collection, in small letters alone."""
_BESIDE_IT = re.compile(
    r"\b(after|assess|before|blood|brief|call|check|class|consent|consult|counsel|debrief|discuss|evening|follow|info|lesson|"
    r"phone|plan|post|pre|question|recover|result|review|scan|school|session|sign|talk|teach|test|training|ultraso|video|"
    r"analítica|antes|charla|consulta|control|después|ecograf|firma|llamada|resultad|revisi|segu|taller|tras)|"
    "استشار|متابع|فحص|قبل|بعد|تحضير|معلومات|موافق|نتيج|نتائج|مكالم|محاضر"
)
"""Further words of a visit that is about an egg collection and isn't one, in small letters."""


def is_egg_collection(kind: str) -> bool:
    """Whether an appointment is an egg collection, also with further words, such as `Egg collection (OPU)`."""
    name = kind.casefold()
    return any(
        folded_kind(name[: end.start()]) in EGG_COLLECTIONS and not _BESIDE_IT.search(name, end.start())
        for end in re.finditer(r"\W+|$", name)
    )


def visit_purpose(kind: str) -> str:
    """Return what an appointment is for, as `visit_name`, but without further words of an egg collection: to compare by."""
    return visit_name(EGG_COLLECTIONS[0]) if is_egg_collection(kind) else visit_name(kind)


@for_each_language
def _visit_names() -> dict[str, str]:
    return {
        "monitoringscan": _("Monitoring scan"),
        "baselinescan": _("First scan"),
        **dict.fromkeys(EGG_COLLECTIONS, _("Egg collection")),
        "embryotransfer": _("Embryo transfer"),
        "pregnancytest": _("Pregnancy test"),
        "earlyscan": _("Early scan"),
    }


def care_status_tone(status: CareStatus) -> str:
    return {CareStatus.ACTIVE: "accent", CareStatus.ON_HOLD: "attention"}.get(status, "neutral")


def treatment_name(type_: str, *, plain: bool = True) -> str:
    """Return the kind of treatment: plain words for patients, the protocol's own name for staff."""
    kind = ProtocolType(type_) if type_ else None
    if kind is None:
        return _("Treatment")
    names = _treatment_names()
    return names[kind][0 if plain else 1] if kind in names else spaced(kind)


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


def with_record(code: str, patient: Patient | None) -> str:
    """Return an embryo's code, for staff with its patient's record number: codes are unique only within a record."""
    return f"{code} · {patient.mrn}" if reader_is_staff() and patient and patient.mrn else code


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
    return choice_name(embryo.status)


def embryo_status_term(embryo: EmbryoStorage, status: EmbryoStatus | None = None) -> str:
    """Return where an embryo is, or would be with this status, in the terms of the laboratory."""
    status = status or embryo.status
    if status == EmbryoStatus.THAWED:
        return _warmed(embryo)
    return _embryo_status_terms().get(status) or spaced(status)


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
    tones = {EmbryoStatus.STORED: "info", EmbryoStatus.RESERVED: "accent", EmbryoStatus.ON_HOLD: "attention"}
    return tones.get(status, "neutral")


def disposition_name(disposition: Disposition) -> str:
    """Return what is to be done with an embryo."""
    if disposition == Disposition.UNDECIDED and not_given("EmbryoStorage.disposition"):
        return _("Not given by the clinic’s system")
    return choice_name(disposition)


def hold_reason(reason: str) -> str:
    """Return why an embryo is on hold: the API's own reasons in the reader's language, the clinic's as written."""
    return _hold_reasons().get(known_hold_reason(reason) or "") or with_lang(reason)


@for_each_language
def _hold_reasons() -> dict[str, str]:
    return {
        "Consent withdrawn": _("Consent withdrawn"),
        "Consent ended": _("Consent ended"),
        "Decision taken back": _("Decision taken back"),
    }


_GARDNER = re.compile(r"\s*([1-6])\s*([A-C])\s*([A-C])\s*", re.IGNORECASE)


def pgt_words(test: PgtBrief) -> str:
    """A genetic test's call, before there is one its status; empty without either."""
    return choice_name(test.call or test.status)


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


FILTERS: dict[str, Callable[..., str | None]] = {
    "in_words": choice_name,
    "care_tone": care_status_tone,
    "treatment": treatment_name,
    "embryo_status": embryo_status_name,
    "embryo_status_term": embryo_status_term,
    "with_record": with_record,
    "place": place_line,
    "hold_reason": hold_reason,
    "embryo_tone": embryo_status_tone,
    "disposition": disposition_name,
    "grade_in_words": grade_in_words,
    "pgt_words": pgt_words,
    "role": role_name,
    "role_purpose": role_purpose,
    "route": route_name,
    "visit_kind": visit_kind,
    "event_title": event_title,
    "spaced": spaced,
}
"""The same for templates, by the names of their filters."""
