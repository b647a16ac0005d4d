"""Lattice, a repository of resources: bundles, references, coded values, quantities, instants with offsets, patches, problems.

It has no enquiries, no connections to other record systems and no folders that can be moved.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from tests.support.vendors.vendor import Pair, Vendor

_AT = {
    "GET /api/care/consent-forms": "GET /Consent",
    "POST /api/care/consent-forms": "POST /Consent",
    "GET /api/care/consent-forms/{id}": "GET /Consent/{id}",
    "POST /api/care/consent-forms/{id}/sign": "POST /Consent/{id}/$sign",
    "POST /api/care/consent-forms/{id}/revoke": "POST /Consent/{id}/$withdraw",
    "GET /api/care/fertility-protocols": "GET /CarePlan",
    "POST /api/care/fertility-protocols": "POST /CarePlan",
    "GET /api/care/fertility-protocols/{id}": "GET /CarePlan/{id}",
    "PUT /api/care/fertility-protocols/{id}": "PATCH /CarePlan/{id}",
    "PUT /api/care/patients/{id}": "PATCH /Patient/{id}",
    "PUT /api/care/cases/{id}": "PATCH /Account/{id}",
    "DELETE /api/care/relationships/{id}": "DELETE /RelatedPerson/{id}",
    "PUT /api/care/embryo-storage/{id}": "PATCH /BiologicallyDerivedProduct/{id}",
    "GET /api/care/pgt-results/{id}": "GET /DiagnosticReport/{id}",
    "GET /api/patient-portal/episodes/{episodeId}": "GET /EpisodeOfCare/{episodeId}/$everything",
    "GET /api/calendar/resources/physicians": "GET /Practitioner",
    "GET /api/file-management/file-descriptor/content": "GET /Binary",
    "POST /api/app/messaging/restore-message/{messageId}": "POST /Communication/{messageId}/$restore",
    "POST /api/app/messaging/archive-message/{messageId}": "POST /Communication/{messageId}/$archive",
    "GET /api/messaging/getconversations": "GET /Thread",
    "POST /api/messaging/archive": "POST /Thread/$archive",
    "GET /api/app/notification": "GET /Flag",
    "PUT /api/app/notification": "PATCH /Flag",
    "GET /api/app/notification/settings": "GET /Flag/$settings",
    "PUT /api/app/notification/settings": "PATCH /Flag/$settings",
}


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def _style(name: str) -> str:
    """Members in camelCase as they are; values of enumerations in kebab-case."""
    return _kebab(name) if name[:1].isupper() else name


def _reference(kind: str) -> Pair:
    return (lambda id_: f"{kind}/{id_}", lambda told: told.removeprefix(f"{kind}/"))


def _bundle(rows: list[Any], total: int, unread: int | None) -> Any:
    links = [{"relation": "self", "url": "https://lattice.example/r4/_search?page=1"}]
    told: dict[str, Any] = {"resourceType": "Bundle", "type": "searchset", "total": total, "link": links}
    told |= {"meta": {"unread": unread}} if unread is not None else {}
    entries = [{"fullUrl": f"urn:lattice:{row.get('id')}", "resource": row} for row in rows]
    return {**told, "entry": entries} if entries else told


def _refusal(status: int, code: str) -> tuple[int, Any]:
    rules = {"OutOfOrder": "sequence", "SlotTaken": "conflict-slot", "ConcurrencyConflict": "version"}
    problem = {"type": f"https://lattice.example/problems/{status}", "title": "Refused", "status": status}
    issue = [{"severity": "error", "details": {"code": rules[code]}}] if code in rules else []
    return (412 if code == "ConcurrencyConflict" else 422 if code else status), {**problem, "issue": issue}


def _berlin(text: str) -> str:
    return datetime.fromisoformat(text).astimezone(ZoneInfo("Europe/Berlin")).isoformat()


LATTICE = Vendor(
    name="lattice",
    calls={ours: theirs.replace(" ", " /r4", 1) for ours, theirs in _AT.items()},
    style=_style,
    names={
        "concurrencyStamp": "meta.versionId",
        "creationTime": "meta.created",
        "lastModificationTime": "meta.lastUpdated",
        "patientId": "subject.reference",
        "episodeId": "encounter.reference",
        "partnerId": "partner.reference",
        "physicianId": "performer.reference",
        "personId": "actor.reference",
        "Patient.firstName": "name.0.given.0",
        "Patient.lastName": "name.0.family",
        "Patient.email": "telecom.system=email.value",
        "Patient.phoneNumber": "telecom.system=phone.value",
        "Patient.dateOfBirth": "birthDate",
        "Medication.dose": "dosage.quantity.value",
        "Medication.unit": "dosage.quantity.unit",
        "Conversation.subject": "topic",
        "requiredSigners": "provision",
        "startDate": "period.start",
        "endDate": "period.end",
        "EmbryoStorage.storageExpiresAt": "storage.paidUntil",
        "EmbryoChange.storageExpiresAt": "storage.paidUntil",
    },
    values={
        "a instant": (_berlin, lambda text: text),
        "a choice": (
            lambda code: {
                "coding": [{"system": "https://lattice.example/codes", "code": code, "display": "?"}]
            },
            lambda told: told["coding"][0]["code"] if isinstance(told, dict) else told,
        ),
        "patientId": _reference("Patient"),
        "episodeId": _reference("EpisodeOfCare"),
        "partnerId": _reference("Patient"),
        "physicianId": _reference("Practitioner"),
        "personId": _reference("Person"),
    },
    codes={
        "ConsentStatus.Revoked": "inactive",
        "ConsentStatus.Pending": "proposed",
        "CareStatus.Active": "on",
    },
    parameters={
        "SkipCount": "_offset",
        "MaxResultCount": "_count",
        "Filter": "_content",
        "Sorting": "_sort",
        "id": "_id",
        "PatientId": "subject",
        "EpisodeId": "encounter",
        **{
            name: _kebab(name)
            for name in (
                "CaseId",
                "Status",
                "WaitsFor",
                "DueFrom",
                "DueTo",
                "From",
                "To",
                "LocationId",
                "IncludeArchived",
                "IsRead",
                "Type",
            )
        },
    },
    page=_bundle,
    single=lambda record: {"resourceType": "Resource", **record} if isinstance(record, dict) else record,
    body=lambda sent: sent,
    refusal=_refusal,
    sorting=lambda name, down: f"-{name}" if down else name,
    omits_nothing=False,
    etags=True,
)
