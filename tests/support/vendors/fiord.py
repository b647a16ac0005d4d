"""Fiord, a clinic system of the north: operations that are all posted, envelopes, objects of code and label, decimal commas."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from tests.support.vendors.vendor import Pair, Vendor, days, local

_AT = {
    "GET /api/care/consent-forms": "/Samtykke/Sok",
    "POST /api/care/consent-forms": "/Samtykke/Ny",
    "GET /api/care/consent-forms/{id}": "/Samtykke/Hent/{id}",
    "POST /api/care/consent-forms/{id}/sign": "/Samtykke/Signer/{id}",
    "POST /api/care/consent-forms/{id}/revoke": "/Samtykke/Trekk/{id}",
    "GET /api/care/fertility-protocols": "/Plan/Sok",
    "POST /api/care/fertility-protocols": "/Plan/Ny",
    "GET /api/care/fertility-protocols/{id}": "/Plan/Hent/{id}",
    "PUT /api/care/fertility-protocols/{id}": "/Plan/Endre/{id}",
    "PUT /api/care/patients/{id}": "/Pasient/Endre/{id}",
    "PUT /api/care/cases/{id}": "/Sak/Endre/{id}",
    "DELETE /api/care/relationships/{id}": "/Relasjon/Slett/{id}",
    "PUT /api/care/embryo-storage/{id}": "/Embryo/Endre/{id}",
    "GET /api/care/pgt-results/{id}": "/Gentest/Hent/{id}",
    "GET /api/patient-portal/episodes/{episodeId}": "/Behandling/Hent/{episodeId}",
    "GET /api/calendar/resources/physicians": "/Lege/Sok",
    "DELETE /api/emr-integration/endpoints/{id}": "/Journal/Slett/{id}",
    "POST /api/document-management/directory-descriptor/move": "/Mappe/Flytt",
    "GET /api/file-management/file-descriptor/content": "/Fil/Innhold",
    "POST /api/app/messaging/restore-message/{messageId}": "/Melding/Gjenopprett/{messageId}",
    "POST /api/app/messaging/archive-message/{messageId}": "/Melding/Arkiver/{messageId}",
    "GET /api/messaging/getconversations": "/Samtale/Sok",
    "POST /api/messaging/archive": "/Samtale/Arkiver",
    "GET /api/app/notification": "/Varsel/Sok",
    "PUT /api/app/notification": "/Varsel/Endre",
    "GET /api/app/notification/settings": "/Varsel/Valg",
    "PUT /api/app/notification/settings": "/Varsel/EndreValg",
    "POST /api/prospect/records/{id}/merge/{mergeId}": "/Henvendelse/SlaSammen/{id}/{mergeId}",
    "POST /api/prospect/records/{id}/book-window": "/Henvendelse/Bestill/{id}",
}
_ZONES = {"America/Los_Angeles": "Pacific Standard Time"}
_REFUSALS = {"OutOfOrder": "K117", "SlotTaken": "K230", "ConcurrencyConflict": "K409"}
_STATUSES = {404: "K404", 403: "K403", 409: "K409", 400: "K400"}


def _named(style: str) -> str:
    return style[:1].upper() + style[1:]


def _envelope(body: Any, status: str = "OK", code: str | None = None) -> Any:
    return {"Konvolutt": {"Hode": {"Status": status, "Kode": code}, "Kropp": body}}


def _comma(value: float) -> str:
    return str(value).replace(".", ",")


def _number(text: str) -> float | int:
    value = float(str(text).replace(",", "."))
    return int(value) if value == int(value) else value


_TRUTH: Pair = (lambda value: "J" if value else "N", lambda text: str(text) == "J")

FIORD = Vendor(
    name="fiord",
    calls={name: f"POST /svc/KlinikkService.json{path}" for name, path in _AT.items()},
    style=_named,
    names={
        "concurrencyStamp": "Radversjon",
        "creationTime": "Opprettet",
        "lastModificationTime": "Endret",
        "ConsentForm.title": "Overskrift",
        "ConsentDraft.title": "Overskrift",
        "ConsentForm.expiresAt": "Frist",
        "ConsentDraft.expiresAt": "Frist",
        "requiredSigners": "Underskrivere",
        "alerts": "Varsler",
        "until": "Til",
        "dateOfBirth": "Fodt",
        "Patient.mrn": "Journalnr",
        "holdReason": "SperretFordi",
        "isArchived": "Arkivert",
        "Notification.isRead": "Lest",
        "NotificationsRead.isRead": "Lest",
        "verified": "Forelopig",
        "location": "Sted",
    },
    values={
        "a instant": local("%d.%m.%Y %H:%M:%S", ZoneInfo("Europe/Oslo")),
        "a day": days("%d.%m.%Y"),
        "a number": (_comma, _number),
        "a truth": _TRUTH,
        "a choice": (
            lambda code: {"Code": code, "Label": f"({code})"},
            lambda told: told["Code"] if isinstance(told, dict) else told,
        ),
        "verified": (lambda value: "N" if value else "J", lambda text: str(text) == "N"),
        "timeZone": (
            lambda name: _ZONES.get(name, name),
            lambda name: next((one for one, theirs in _ZONES.items() if theirs == name), name),
        ),
        "PgtResult.mosaicPercent": (lambda value: _comma(round(value / 100, 6)), _number),
        "startDay": (lambda value: _comma(value - 1), lambda text: _number(text) + 1),
        "Check.day": (lambda value: _comma(value - 1), lambda text: _number(text) + 1),
    },
    codes={
        **{
            f"ConsentStatus.{name}": 10 * place
            for place, name in enumerate(
                ["Draft", "Pending", "PartiallySigned", "Signed", "Revoked", "Expired", "Superseded"], 1
            )
        },
        "EmbryoStatus.Stored": "PAA_LAGER",
        "CareStatus.Active": "PAAGAAR",
        "Severity.Urgent": "HASTER",
        "SignerRole.Patient": "PASIENT",
    },
    parameters={
        "SkipCount": "Side",
        "MaxResultCount": "Antall",
        "Filter": "Sokeord",
        "Sorting": "Sortering",
        "id": "FilId",
    },
    page=lambda rows, total, unread: _envelope({"Rader": rows, "Totalt": _comma(total), "Uleste": unread}),
    single=_envelope,
    body=lambda sent: (sent or {}).get("Konvolutt", {}).get("Kropp", {}),
    refusal=lambda status, code: (
        200,
        _envelope(None, "FEIL", _REFUSALS.get(code) or _STATUSES.get(status, "K500")),
    ),
    first_page=0,
    largest_page=2,
    gone=lambda row: {**row, "Id": 999_999, "Radstatus": 9},
    is_in_body=True,
)
