"""Which members of the care API's records a page's source may contain, by reader and route.

A member is named with its record: `Clause: text`. Those of an episode's two people are named by whose they are. A member
that isn't listed may be nowhere: not in the text, an attribute, a hidden field, a header, a PDF or a calendar. Add one
because a page should show it, never just to make a test pass.
"""

from __future__ import annotations

PATIENTS_FRAME: str = "me: firstName preferredName"
"""What the person's menu says on each of a patient's pages; no PDF and no calendar has one."""

BANNER: str = (
    "Alert: text; ConsentForm: patientName; Participant: name; Protocol: patientName; "
    "partner: dateOfBirth firstName lastName mrn preferredName; patient: dateOfBirth firstName lastName mrn preferredName"
)
"""What the banner says of the patient whom a page for staff is about."""

PATIENTS: dict[str, str] = {
    "/": (
        "Alert: text; Appointment: kind location; ConsentForm: title; Conversation: subject; "
        "EmbryoStorage: embryoCode; Episode: type; Medication: drug instructions route unit; Message: senderName; "
        "Notification: body title; me: preferredName; other: preferredName"
    ),
    "/care-team": "CareTeamMember: name role; Physician: locationName name specialty title",
    "/consents": "ConsentForm: language title version; Signer: name",
    "/consents/<record:consent_id>": (
        "Clause: heading summary text; ConsentForm: language patientName title version; "
        "EmbryoStorage: embryoCode; Signer: name; Statement: text"
    ),
    "/consents/<record:consent_id>/receipt": (
        "ConsentForm: contentHash language patientName seal title version; "
        "Signature: acr amr contentHash language name screenLanguage; "
        "Signer: name"
    ),
    "/consents/<record:consent_id>/receipt.pdf": (
        "Clause: heading summary text; ConsentForm: contentHash language patientName title version; "
        "EmbryoStorage: embryoCode; Signature: acr amr contentHash language name screenLanguage; Signer: name; Statement: text"
    ),
    "/consents/<record:consent_id>/revoke": "ConsentForm: language title",
    "/consents/<record:consent_id>/sign": (
        "Clause: heading summary text; ConsentForm: language patientName title version; "
        "EmbryoStorage: embryoCode; Signer: name; Statement: text"
    ),
    "/consents/<record:consent_id>/sign/<any(read, statements, name):step>": (
        "Clause: heading summary text; ConsentForm: language patientName title version; "
        "EmbryoStorage: embryoCode; Signer: name; Statement: text"
    ),
    "/papers": (
        "Attachment: name; ConsentForm: language title; Directory: name; File: name; Message: senderName; me: preferredName"
    ),
    "/conversations": "Conversation: subject; Message: body; Participant: name",
    "/conversations/<record:conversation_id>": (
        "Attachment: name; Conversation: subject; Message: body senderName; Participant: name; "
        "ReplyAddress: email sms"
    ),
    "/conversations/<record:conversation_id>/archive": "Conversation: subject",
    "/episodes": (
        "Alert: text; Appointment: kind location; CareTeamMember: name role; Episode: number type; "
        "Medication: drug instructions route unit; TimelineEvent: note title; "
        "me: firstName lastName; other: firstName lastName preferredName"
    ),
    "/episodes/<record:episode_id>": (
        "Alert: text; Appointment: kind location; CareTeamMember: name role; Episode: type; "
        "Medication: drug instructions route unit; TimelineEvent: note title; "
        "me: firstName lastName; other: firstName lastName preferredName"
    ),
    "/episodes/<record:episode_id>/appointments": (
        "Appointment: kind location; CareTeamMember: name role; Episode: type; me: firstName lastName; "
        "other: firstName lastName"
    ),
    "/episodes/<record:episode_id>/appointments.ics": "Appointment: location",
    "/episodes/<record:episode_id>/appointments/<record:appointment_id>.ics": "Appointment: location",
    "/episodes/<record:episode_id>/consents": (
        "Appointment: kind location; CareTeamMember: name role; ConsentBrief: title; ConsentForm: language title version; Episode: type; "
        "Signer: name; "
        "me: firstName lastName; other: firstName lastName"
    ),
    "/episodes/<record:episode_id>/documents": (
        "Appointment: kind location; CareTeamMember: name role; Directory: name; Episode: type; File: name; "
        "me: firstName lastName; other: firstName lastName"
    ),
    "/episodes/<record:episode_id>/embryos": (
        "Appointment: kind location; CareTeamMember: name role; EmbryoStorage: embryoCode grade; Episode: type; "
        "me: firstName lastName; other: firstName lastName"
    ),
    "/episodes/<record:episode_id>/medication": (
        "Appointment: kind location; CareTeamMember: name role; Episode: type; "
        "Medication: drug instructions route stopRule unit; me: firstName lastName; "
        "other: firstName lastName preferredName"
    ),
    "/episodes/<record:episode_id>/monitoring": (
        "Appointment: kind location; CareTeamMember: name role; Episode: type; "
        "HormoneUnits: e2 lh p4; MonitoringDay: endometriumPattern unit; me: firstName lastName; "
        "other: firstName lastName"
    ),
    "/episodes/<record:episode_id>/team": (
        "Appointment: kind location; CareTeamMember: name role; Episode: type; "
        "me: firstName lastName; other: firstName lastName"
    ),
    "/episodes/<record:episode_id>/timeline": (
        "Appointment: kind location; CareTeamMember: name role; Episode: type; TimelineEvent: note title; "
        "me: firstName lastName; other: firstName lastName"
    ),
    "/files/<record:file_id>": "Content: name",
    "/files/<record:file_id>/preview": "Content: name",
    "/me": (
        "Relationship: relatedName; "
        "me: address.city address.line1 address.line2 address.postalCode address.region dateOfBirth "
        "email emergencyContact.name emergencyContact.phoneNumber emergencyContact.relation "
        "firstName lastName mrn phoneNumber preferredName"
    ),
    "/notifications": "ConsentForm: title; Conversation: subject; Notification: body title",
    "/notifications/settings": "NotificationSettings: concurrencyStamp",
    "/protocols/<record:protocol_id>": (
        "Check: kind note; Medication: drug instructions route stopRule unit; Protocol: description name"
    ),
    "/protocols/<record:protocol_id>/schedule.ics": "Medication: drug unit",
    "/protocols/<record:protocol_id>/schedule.pdf": (
        "Check: kind note; Medication: drug instructions route stopRule unit; Protocol: description name; "
        "me: dateOfBirth firstName lastName mrn; other: firstName lastName"
    ),
    "/relationships/<record:relationship_id>/remove": "ConsentForm: title; EmbryoStorage: embryoCode; Relationship: relatedName",
    "/storage": "EmbryoStorage: embryoCode holdReason",
    "/storage/<record:embryo_id>": "EmbryoStorage: embryoCode grade holdReason",
    "/storage/<record:embryo_id>/<decision>": "EmbryoStorage: embryoCode",
}
"""What may stand on a page for a patient: `me` is who looks, `other` the other one of the episode."""

STAFF: dict[str, str] = {
    "/": (
        "ConsentForm: patientName title; Conversation: subject; Episode: number; Message: body senderName; "
        "Notification: body title data.firstName data.lastName data.mergeFirstName data.mergeLastName; "
        "Participant: name; PgtResult: embryoCode; Protocol: name; Signer: name; patient: firstName lastName"
    ),
    "/care-team": "Physician: locationName name specialty title",
    "/cases/<record:case_id>/edit": (
        "CareTeamMember: name; Case: caseNumber closedReason diagnosis notes title; Physician: name; "
        "patient: firstName lastName"
    ),
    "/consents": "ConsentForm: patientName title; ReplyAddress: email sms; Signer: name",
    "/consents/<record:consent_id>": (
        "Clause: heading summary text; ConsentForm: language patientName title version; "
        "EmbryoStorage: embryoCode; Signer: name; Statement: text; patient: mrn"
    ),
    "/consents/<record:consent_id>/receipt": (
        "ConsentForm: contentHash language patientName seal title version; "
        "Signature: acr amr contentHash language name screenLanguage; "
        "Signer: name"
    ),
    "/consents/<record:consent_id>/receipt.pdf": (
        "Clause: heading summary text; ConsentForm: contentHash language patientName title version; "
        "EmbryoStorage: embryoCode; Signature: acr amr contentHash language name screenLanguage; Signer: name; Statement: text; "
        "patient: mrn"
    ),
    "/consents/<record:consent_id>/revoke": "ConsentForm: language title; Signer: name",
    "/consents/<record:consent_id>/sign": (
        "Clause: heading summary text; ConsentForm: language patientName title version; "
        "EmbryoStorage: embryoCode; Signer: name; Statement: text; patient: mrn"
    ),
    "/consents/<record:consent_id>/sign/<any(read, statements, name):step>": (
        "Clause: heading summary text; ConsentForm: language patientName title version; "
        "EmbryoStorage: embryoCode; Signer: name; Statement: text; patient: mrn"
    ),
    "/consents/new/fill": "ConsentForm: title version; Signer: name; partner: firstName lastName; patient: firstName lastName mrn",
    "/consents/new/preview": (
        "ConsentForm: title version; Signer: name; partner: firstName lastName; patient: firstName lastName mrn"
    ),
    "/consents/new": (
        "ConsentForm: patientName title version; Signer: name; partner: firstName lastName; "
        "patient: firstName lastName"
    ),
    "/conversations": "Conversation: subject; Message: body; Participant: name",
    "/conversations/<record:conversation_id>": (
        "Attachment: name; Conversation: subject; Message: body senderName; Participant: name; "
        "ReplyAddress: email sms"
    ),
    "/conversations/<record:conversation_id>/archive": "Conversation: subject",
    "/directories": "Directory: name; Episode: number; patient: firstName lastName",
    "/directories/<record:directory_id>/move": (
        "Directory: concurrencyStamp name; patient: firstName lastName"
    ),
    "/episodes": (
        "Appointment: kind; Episode: number type; partner: firstName lastName; patient: firstName lastName"
    ),
    "/episodes/<record:episode_id>": (
        "Alert: text; Appointment: kind location; Case: caseNumber diagnosis notes title; "
        "Episode: number type; Medication: drug instructions route unit; Relationship: relatedName; "
        "TimelineEvent: note title; "
        "partner: dateOfBirth email emergencyContact.name emergencyContact.phoneNumber firstName "
        "lastName mrn phoneNumber preferredName; "
        "patient: dateOfBirth email emergencyContact.name emergencyContact.phoneNumber firstName "
        "lastName mrn phoneNumber preferredName"
    ),
    "/episodes/<record:episode_id>/appointments": (
        "Appointment: kind location; CareTeamMember: name; Episode: number type; "
        "patient: firstName lastName mrn"
    ),
    "/episodes/<record:episode_id>/appointments.ics": "Appointment: location",
    "/episodes/<record:episode_id>/appointments/<record:appointment_id>.ics": "Appointment: location",
    "/episodes/<record:episode_id>/consents": (
        "ConsentBrief: title; Episode: number type; patient: firstName lastName mrn"
    ),
    "/episodes/<record:episode_id>/documents": (
        "Directory: name; Episode: number type; File: name; patient: firstName lastName mrn"
    ),
    "/episodes/<record:episode_id>/embryos": (
        "EmbryoStorage: embryoCode grade gradingSystem holdReason; Episode: number type; "
        "StorageLocation: cane canister facility position tank; patient: firstName lastName mrn"
    ),
    "/episodes/<record:episode_id>/medication": (
        "Episode: number type; Medication: drug drugClass instructions route stopRule unit; "
        "Protocol: name; patient: firstName lastName mrn"
    ),
    "/episodes/<record:episode_id>/monitoring": (
        "Episode: number type; HormoneUnits: e2 lh p4; MonitoringDay: endometriumPattern unit; patient: firstName lastName mrn"
    ),
    "/episodes/<record:episode_id>/team": (
        "CareTeamMember: name role; Episode: number type; patient: firstName lastName mrn"
    ),
    "/episodes/<record:episode_id>/timeline": (
        "Appointment: kind location; Episode: number type; TimelineEvent: note title; "
        "patient: firstName lastName mrn"
    ),
    "/files/<record:file_id>": "Content: name",
    "/files/<record:file_id>/preview": "Content: name",
    "/find": (
        "ConsentForm: patientName title; Conversation: subject; Episode: number; Participant: name; "
        "PgtResult: embryoCode; Protocol: name; patient: firstName lastName mrn"
    ),
    "/day-sheet": (
        "Appointment: kind location; ConsentBrief: title; ConsentForm: patientName title; "
        "Medication: drug instructions route unit; "
        "patient: dateOfBirth firstName lastName mrn"
    ),
    "/open": (
        "ConsentForm: patientName title; Conversation: subject; Episode: number; Participant: name; "
        "PgtResult: embryoCode; Protocol: name; patient: firstName lastName mrn"
    ),
    "/notifications": (
        "ConsentForm: patientName title; Conversation: subject; Participant: name; Notification: body title "
        "data.firstName data.lastName data.mergeFirstName data.mergeLastName; patient: firstName lastName"
    ),
    "/notifications/settings": "NotificationSettings: concurrencyStamp",
    "/patients/<record:patient_id>": (
        "Appointment: kind location; Case: caseNumber diagnosis notes title; ConsentForm: title version; "
        "Conversation: subject; EmbryoStorage: embryoCode grade; Episode: number type; File: name; HormoneUnits: e2 lh p4; "
        "Medication: drug unit; Message: body senderName; Notification: body title; Participant: name; PgtBrief: embryoCode; "
        "Protocol: name; Relationship: relatedName; Signature: name; Signer: name; "
        "StorageLocation: cane canister position tank; TimelineEvent: note title; "
        "partner: email emergencyContact.name emergencyContact.phoneNumber phoneNumber; "
        "patient: email emergencyContact.name emergencyContact.phoneNumber phoneNumber"
    ),
    "/patients/<record:patient_id>/as-seen": (
        "Alert: text; Appointment: kind location; ConsentForm: title; EmbryoStorage: embryoCode; Episode: type; "
        "Medication: drug instructions route unit; patient: firstName lastName preferredName"
    ),
    "/patients/<record:patient_id>/edit": (
        "partner: address.city address.line1 address.line2 address.postalCode address.region "
        "dateOfBirth email emergencyContact.name emergencyContact.phoneNumber "
        "emergencyContact.relation firstName lastName mrn phoneNumber preferredName; "
        "patient: address.city address.line1 address.line2 address.postalCode address.region "
        "dateOfBirth email emergencyContact.name emergencyContact.phoneNumber "
        "emergencyContact.relation firstName lastName mrn phoneNumber preferredName"
    ),
    "/prospects/<record:prospect_id>/book": (
        "Conversation: subject; Notification: data.email data.firstName data.interest data.lastName data.phoneNumber "
        "data.source; Physician: locationName name specialty title"
    ),
    "/prospects/<record:prospect_id>/merge": (
        "Conversation: subject; Message: senderName; "
        "Notification: body data.email data.firstName data.interest data.lastName data.phoneNumber "
        "data.source title data.mergeEmail data.mergeFirstName data.mergeInterest data.mergeLastName "
        "data.mergePhoneNumber data.mergeSource"
    ),
    "/protocols": "Medication: drug; Protocol: name patientName",
    "/protocols/<record:protocol_id>": (
        "Check: kind note; Medication: drug drugClass instructions route stopRule unit; "
        "Physician: name; Protocol: concurrencyStamp description name; patient: dateOfBirth firstName lastName mrn"
    ),
    "/protocols/<record:protocol_id>/edit": (
        "Check: kind note; Medication: drug drugClass instructions route stopRule unit; "
        "Physician: name; Protocol: description name; patient: dateOfBirth firstName lastName mrn"
    ),
    "/protocols/<record:protocol_id>/end": "Protocol: concurrencyStamp name",
    "/protocols/<record:protocol_id>/schedule.pdf": (
        "Check: kind note; Medication: drug drugClass instructions route stopRule unit; "
        "Physician: name; Protocol: description name; patient: dateOfBirth firstName lastName mrn"
    ),
    "/protocols/new": (
        "Check: kind note; Medication: drug drugClass instructions route stopRule unit; "
        "Physician: name; Protocol: description name"
    ),
    "/protocols/new/back": (
        "Check: kind note; Medication: drug drugClass instructions route stopRule unit; "
        "Physician: name; Protocol: description name"
    ),
    "/protocols/new/preview": (
        "Check: kind note; Medication: drug drugClass instructions route stopRule unit; "
        "Physician: name; Protocol: description name"
        "; patient: firstName lastName"
    ),
    "/pgt-results/<record:result_id>": "patient: firstName lastName mrn",
    "/relationships/<record:relationship_id>/remove": (
        "ConsentForm: title; EmbryoStorage: embryoCode; Relationship: relatedName; patient: firstName lastName mrn"
    ),
    "/storage": (
        "EmbryoStorage: embryoCode holdReason; StorageLocation: cane canister facility position tank; "
        "patient: firstName lastName mrn"
    ),
    "/storage/<record:embryo_id>": (
        "ConsentForm: title; EmbryoStorage: embryoCode grade holdReason method notes; Episode: number; "
        "StorageLocation: cane canister facility position tank; patient: firstName lastName mrn"
    ),
}
"""What may stand on a page for staff of any role that may open it."""

ROLES_ALONE: dict[tuple[str, str], set[str]] = {
    ("/protocols/<record:protocol_id>", "Protocol.concurrencyStamp"): {"nurse", "physician"},
}
"""What of `STAFF` stands there for some roles alone."""

NO_TEXT: str = (
    "Alert: creationTime until; Appointment: end start status timeZone; Attachment: mediaType size; Busy: end start; "
    "Case: closedAt creationTime lastModificationTime openedAt; Check: day; "
    "ConsentForm: creationTime effectiveAt expiresAt lastModificationTime procedureDate revokedAt sentAt toldAt; "
    "Conversation: lastMessageAt unreadCount; "
    "EmbryoStorage: creationTime cryopreservedAt day lastModificationTime statutoryLimit storageConsentedUntil "
    "storageExpiresAt; "
    "Episode: endDate startDate; File: creationTime mediaType size; Follicles: left right; "
    "Medication: dose endDay everyDays lastDoseDay startDay time times; Message: readAt sentAt; "
    "MonitoringDay: cycleDay date e2 endometriumMm lh p4; Notification: creationTime entityType readAt type; "
    "NotificationChoice: type; NotificationSettings: language; "
    "PgtResult: biopsiedAt mosaicPercent releasedAt reportedAt; Physician: color timeZone; "
    "Protocol: creationTime lastModificationTime startDate; QuietHours: end start timeZone; "
    "Relationship: endDate startDate; Signature: signedAt; Signer: order; "
    "Thresholds: aneuploidAbove euploidBelow; TimelineEvent: occurredAt; WorkingHours: dayOfWeek end start; "
    "patient: address.country creationTime language lastModificationTime; "
    "partner: address.country creationTime language lastModificationTime"
)
"""Numbers, times, and texts that are no words: they bear no mark. Look at where a new one is shown before you add it."""


def members(row: str) -> set[str]:
    """Read a row: `Clause: heading text; Signer: name`."""
    found: set[str] = set()
    for part in row.split("; "):
        record, _, names = part.partition(": ")
        found |= {f"{record}.{name}" for name in names.split()}
    return found
