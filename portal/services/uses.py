"""For what the portal reads each member of a record: what is lost on which pages where an API doesn't give it.

Areas are the modules of `portal.views`. A member that isn't listed is ignored. tests/services/test_contract.py holds the
list against the code: what is listed is read somewhere, what isn't is read nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_STAMP = "sent back with a change, so that nobody overwrites another's"
_CHANGED = "when it was last changed, beside two versions that differ"
_EVERYWHERE: Mapping[str, str] = {
    "id": "names the record in addresses and calls",
    "concurrencyStamp": _STAMP,
    "creationTime": "when it was made: order, and which of two is newer",
    "lastModificationTime": _CHANGED,
}

_USES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Abnormality": (
        "pgt_results",
        {"chromosome": "which chromosome is changed", "change": "how it is changed"},
    ),
    "Address": (
        "me patients",
        {
            "line1": "the address to write to",
            "line2": "its second line",
            "city": "the town",
            "region": "the region",
            "postalCode": "the postal code",
            "country": "the country (ISO 3166-1)",
        },
    ),
    "Alert": (
        "home episodes",
        {
            "severity": "how much a warning presses",
            "text": "the warning at the top of the page",
            "until": "until when it is shown",
        },
    ),
    "Appointment": (
        "home episodes",
        {
            "start": "when the visit is: next appointment, list, calendar file",
            "end": "how long it takes",
            "kind": "what the visit is for",
            "physicianId": "with whom it is, by the care team's names",
            "timeZone": "the zone in which its time is shown",
            "location": "where it is",
            "status": "whether it was cancelled",
        },
    ),
    "ArchivedCount": ("conversations", {"archivedCount": "how many were archived, in the note after it"}),
    "Attachment": (
        "conversations",
        {
            "fileId": "the link to the file",
            "name": "its name",
            "mediaType": "whether it is shown",
            "size": "its size",
        },
    ),
    "Booking": (
        "booking prospects",
        {
            "prospectId": "whose booking was confirmed",
            "physicianId": "with whom",
            "start": "the time that was booked",
            "end": "until when",
            "status": "whether the clinic has yet to confirm it",
        },
    ),
    "Busy": ("booking prospects", {"start": "times that aren't offered", "end": "until when they aren't"}),
    "CareTeamMember": (
        "episodes cases",
        {"physicianId": "whom ids stand for", "name": "who looks after the patient", "role": "as what"},
    ),
    "Case": (
        "cases episodes",
        {
            "status": "where the case stands, and where it may go",
            "caseNumber": "its number, for staff",
            "patientId": "whose it is",
            "partnerId": "who is a partner in it",
            "title": "its title, for staff",
            "physicianId": "the physician in charge",
            "coordinatorId": "the coordinator",
            "diagnosis": "for staff",
            "notes": "for staff",
            "closedReason": "why it was closed, for staff",
        },
    ),
    "Check": ("protocols", {"day": "on which day", "kind": "what is looked at", "note": "a note on it"}),
    "Clause": (
        "consents",
        {"heading": "a clause's heading", "text": "the text that is signed", "summary": "in plain words"},
    ),
    "ConsentBrief": (
        "episodes",
        {
            "title": "the form's title",
            "kind": "what it is about",
            "status": "whether it waits for signatures",
        },
    ),
    "ConsentForm": (
        "consents home episodes storage",
        {
            "title": "its title",
            "status": "what can be done with it: sign, withdraw, or nothing",
            "patientId": "whose form it is",
            "patientName": "whose form it is, in lists",
            "partnerId": "who is a partner in it",
            "caseId": "the case that it belongs to",
            "episodeId": "the way to the treatment: episodes are found by it",
            "kind": "what it is about, and who has to sign",
            "version": "its version, shown and signed",
            "body": "the text: a form whose text didn't come is never signed",
            "statements": "what a signer acknowledges: a form without the member is never signed",
            "embryoStorageIds": "which embryos it is about: moves and holds",
            "disposition": "what it decides about them",
            "requiredSigners": "who has to sign: without it nobody is asked to",
            "signingOrder": "whether signers wait for one another",
            "signatures": "who has signed",
            "contentHash": "sent back with a signature, printed on the receipt",
            "seal": "compared with the portal's own, on the receipt",
            "fileId": "a form that is signed on paper",
            "sentAt": "since when it waits",
            "effectiveAt": "from when it holds",
            "revokedAt": "when it was withdrawn",
            "revokeReason": "why",
            "revokedById": "by whom: withdrawn, or declined",
            "expiresAt": "until when it can be signed",
            "supersedesId": "which form it takes the place of",
            "supersededById": "which form took its place",
            "procedureDate": "by when it is needed: order of the lists",
        },
    ),
    "Conversation": (
        "conversations home episodes",
        {
            "subject": "its subject",
            "patientId": "whom staff find by it",
            "prospectId": "the enquiry that it belongs to",
            "episodeId": "the way to the treatment: episodes are found by it",
            "channel": "by what way it runs",
            "participants": "who takes part",
            "replyAddress": "how to answer: without it nobody can",
            "isArchived": "among the archived or not",
            "unreadCount": "how many are unread",
            "lastMessageAt": "its place in the list",
            "messages": "the messages: without them it is empty",
        },
    ),
    "Directory": (
        "directories episodes",
        {"name": "the folder's name", "parentId": "in which folder it lies; all are at the root without"},
    ),
    "Documents": ("episodes directories files", {"directories": "the folders", "files": "the files"}),
    "EmbryoStorage": (
        "storage episodes",
        {
            "embryoCode": "what the embryo is called",
            "status": "where it is: what is offered follows from it",
            "patientId": "whose it is",
            "episodeId": "of which treatment",
            "day": "its day when it was frozen",
            "grade": "its grade",
            "gradingSystem": "by which system, for staff",
            "cryopreservedAt": "since when it is stored",
            "method": "how it was frozen, for staff",
            "location": "where it lies, for staff",
            "holdReason": "why nothing may be done with it: an embryo on hold without it says no reason",
            "pgtResultId": "the link to its genetic test",
            "consentFormId": "the form that its storage stands on",
            "storageConsentedUntil": "until when storage is agreed",
            "storageExpiresAt": "until when it is paid",
            "statutoryLimit": "until when the law allows it",
            "disposition": "what its people want done with it",
            "notes": "the laboratory's notes, for staff",
        },
    ),
    "EmergencyContact": (
        "me patients episodes",
        {"name": "whom to call", "phoneNumber": "at which number", "relation": "who that is to the patient"},
    ),
    "Episode": (
        "episodes home storage",
        {
            "status": "whether the treatment is under way",
            "patient": "whose treatment it is",
            "number": "its number, for staff",
            "type": "what kind of treatment it is",
            "stage": "the step that it is at",
            "outcome": "how it ended",
            "startDate": "since when: days are counted from it",
            "endDate": "until when",
            "partner": "the other person of a couple",
            "relationships": "with whom it is shared, and ending that",
            "case": "the case that it belongs to",
            "protocol": "medicines and days",
            "embryos": "the embryos: storage is empty without",
            "pgtResults": "genetic tests",
            "consentForms": "the treatment's forms",
            "monitoring": "scans and blood tests",
            "timeline": "what happened",
            "appointments": "visits",
            "careTeam": "who looks after the patient",
            "documents": "folders and files",
            "alerts": "warnings: none is shown without it",
        },
    ),
    "File": (
        "files episodes",
        {
            "name": "the file's name",
            "directoryId": "in which folder it lies",
            "mediaType": "whether it can be looked at in the page",
            "size": "its size",
        },
    ),
    "Follicles": ("episodes", {"left": "the left ovary's, in mm", "right": "the right ovary's, in mm"}),
    "Medication": (
        "protocols episodes home",
        {
            "drug": "the medicine",
            "startDay": "from which day",
            "drugClass": "its class, for staff",
            "dose": "how much",
            "unit": "of what",
            "route": "how it is taken",
            "endDay": "until which day",
            "stopRule": "or until what holds",
            "time": "at what time of day",
            "instructions": "how to take it",
        },
    ),
    "Message": (
        "conversations home",
        {
            "senderId": "whether it is one's own",
            "senderName": "who wrote it",
            "senderVerified": "whether an e-mail may not be from whom it says",
            "side": "to the clinic or from it",
            "channel": "by what way it came",
            "body": "the message",
            "sentAt": "when: their order",
            "readAt": "whether it was read",
            "isArchived": "put away or not",
            "attachments": "files that came with it",
        },
    ),
    "MonitoringDay": (
        "episodes",
        {
            "date": "the day",
            "cycleDay": "the day of the cycle",
            "follicles": "their sizes: the chart",
            "endometriumMm": "the lining",
            "endometriumPattern": "its pattern",
            "e2": "oestradiol",
            "lh": "luteinising hormone",
            "p4": "progesterone",
            "unit": "oestradiol's unit",
            "verified": "whether it was checked",
        },
    ),
    "Notification": (
        "notifications home",
        {
            "type": "what kind of notice it is",
            "title": "its title",
            "body": "what it says",
            "severity": "how much it presses",
            "isRead": "read or not: the bell",
            "readAt": "when it was read",
            "entityType": "what it is about: where it leads",
            "entityId": "which one",
            "data": "mergeId, patientId, episodeId and what is known of an enquiry",
        },
    ),
    "NotificationChoice": (
        "notification_settings",
        {
            "type": "what kind of notice",
            "email": "by e-mail",
            "sms": "by text",
            "push": "to the telephone",
            "inApp": "in the portal",
            "locked": "can't be switched off",
        },
    ),
    "NotificationCounts": ("notifications", {"unreadCount": "the bell after reading"}),
    "NotificationSettings": (
        "notification_settings",
        {"items": "the choices", "quietHours": "when nothing is sent", "language": "in which language"},
    ),
    "Participant": (
        "conversations find",
        {"id": "whether it is oneself", "name": "who takes part", "role": "as what"},
    ),
    "Patient": (
        "me patients episodes",
        {
            "userId": "whose record it is: without it, a record is a person's whose id it has",
            "mrn": "the record number",
            "firstName": "the name",
            "lastName": "the name",
            "preferredName": "what to call them",
            "dateOfBirth": "the date of birth",
            "email": "how to reach them",
            "phoneNumber": "how to reach them",
            "address": "where they live",
            "language": "in which language to write",
            "preferredChannel": "by what way to write",
            "emergencyContact": "whom to call",
            "isActive": "whether the record is in use",
        },
    ),
    "PgtBrief": (
        "episodes",
        {"embryoCode": "which embryo", "status": "how far the test is", "call": "what came out"},
    ),
    "PgtResult": (
        "pgt_results",
        {
            "embryoCode": "which embryo",
            "status": "how far it is: patients see it from Released on",
            "embryoStorageId": "the link to the embryo",
            "episodeId": "the link to the treatment",
            "testType": "what was looked for",
            "laboratory": "where it was tested",
            "biopsiedAt": "when it was taken",
            "reportedAt": "when it was reported",
            "call": "what came out",
            "mosaicPercent": "the share of changed cells",
            "thresholds": "the laboratory's bands",
            "abnormalities": "which chromosomes are changed",
            "condition": "the condition looked for",
            "sexDisclosed": "whether texts and sex may be shown: they are withheld without it",
            "sex": "the sex, where disclosed",
            "comment": "the laboratory's comment",
            "reportFileId": "the link to the report",
            "releasedAt": "since when patients see it",
        },
    ),
    "Physician": (
        "care_team booking prospects cases protocols",
        {
            "name": "the name",
            "title": "the title",
            "specialty": "the field",
            "locationId": "where windows are booked",
            "locationName": "where they work",
            "timeZone": "the zone of their hours",
            "isActive": "whether they can be chosen",
            "workingHours": "when windows are offered: none without",
            "busy": "times that aren't offered",
        },
    ),
    "Prospect": (
        "prospects",
        {
            "firstName": "the name",
            "lastName": "the name",
            "email": "how to reach them",
            "phoneNumber": "how to reach them",
            "source": "how they came",
            "status": "how far they are",
            "patientId": "the patient that they became",
        },
    ),
    "Protocol": (
        "protocols episodes home",
        {
            "name": "its name",
            "status": "whether it is followed, and where it may go",
            "type": "which kind of plan",
            "description": "what it is for",
            "patientId": "whose it is; none: the clinic's own",
            "episodeId": "of which treatment",
            "physicianId": "who made it",
            "startDate": "its day 1: no dates without",
            "medications": "the medicines",
            "monitoring": "what is looked at when",
        },
    ),
    "QuietHours": (
        "notification_settings",
        {"start": "from when", "end": "to when", "timeZone": "in which zone"},
    ),
    "Relationship": (
        "relationships me episodes",
        {
            "patientId": "whose",
            "relatedPatientId": "to which record",
            "relatedName": "who it is",
            "type": "what they are to the patient",
            "isPortalShared": "whether they see the treatment",
            "startDate": "since when",
            "endDate": "until when",
        },
    ),
    "ReplyAddress": ("conversations", {"email": "answers by e-mail", "sms": "answers by text"}),
    "Signature": (
        "consents",
        {
            "role": "as what",
            "personId": "whose",
            "name": "the name that was typed",
            "signedAt": "when",
            "method": "how",
            "language": "in which language the text was read",
            "contentHash": "of which text",
        },
    ),
    "Signer": (
        "consents home",
        {
            "role": "as what they sign",
            "personId": "who: whose turn it is follows from it",
            "name": "their name",
            "order": "in which order",
        },
    ),
    "Statement": ("consents", {"text": "the sentence that is acknowledged"}),
    "StorageLocation": (
        "storage episodes",
        {
            "facility": "the place",
            "tank": "tank",
            "canister": "canister",
            "cane": "cane",
            "position": "position",
        },
    ),
    "Thresholds": (
        "pgt_results",
        {"euploidBelow": "the band below", "aneuploidAbove": "the band above"},
    ),
    "TimelineEvent": (
        "episodes",
        {
            "kind": "what kind of event",
            "stage": "at which step",
            "title": "what happened",
            "note": "a note on it",
            "occurredAt": "when",
            "verified": "whether it is certain",
        },
    ),
    "WorkingHours": (
        "care_team booking prospects",
        {"dayOfWeek": "which day (a name, or 0 for Sunday)", "start": "from when", "end": "until when"},
    ),
}


@dataclass(frozen=True, slots=True)
class Use:
    """For what a member is read, and in which areas of the portal."""

    purpose: str
    areas: tuple[str, ...]


def use_of(record: str, member: str) -> Use | None:
    """For what the portal reads a member; None where it ignores it."""
    areas, purposes = _USES.get(record, ("", {}))
    purpose = purposes.get(member) or (_EVERYWHERE.get(member) if record in _USES else None)
    return Use(purpose, tuple(areas.split())) if purpose else None
