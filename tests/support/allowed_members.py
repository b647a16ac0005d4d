"""Which members of the care API's records a page's source may contain, by reader and route.

A member is named with its record: `Clause: text`. A record named alone stands for all its texts that the portal uses
(`portal.services.uses`), for patients without those that are marked as only for staff. Those of an episode's two people are
named by whose they are. Pages of a module of `portal.views` none of whose pages is listed may show the records that say they
are shown there (`shown_on`). A member that isn't listed may be nowhere: not in the text, an attribute, a hidden field, a header,
a PDF or a calendar. Add one because a page should show it, never just to make a test pass.
"""

from __future__ import annotations

from portal.connect.dialects.named_records import records
from portal.services.members import members_of
from portal.services.uses import Mark, marked
from tests.support.marks import KEPT

PATIENTS_FRAME: str = "me: firstName preferredName"
"""What the person's menu says on each of a patient's pages; no PDF and no calendar has one."""

BANNER: str = (
    "Alert: text; ConsentForm: patientName; Participant: name; Protocol: patientName; "
    "partner: dateOfBirth firstName lastName mrn preferredName; patient: dateOfBirth firstName lastName mrn preferredName"
)
"""What the banner says of the patient whom a page for staff is about."""

PATIENTS: dict[str, str] = {
    "/": (
        "Alert; Appointment; ConsentForm: title; Conversation; EmbryoStorage: embryoCode; Episode: type; "
        "Medication: drug instructions route unit; Message: senderName; Notification; Protocol: name; me: preferredName; "
        "other: preferredName"
    ),
    "/care-team": "CareTeamMember; Physician",
    "/consents": "ConsentForm: language title version; Signer",
    "/consents/<record:consent_id>": (
        "Clause; ConsentForm: language patientName revokeReason revokedByName title version; EmbryoStorage: embryoCode; Signer; "
        "Statement"
    ),
    "/consents/<record:consent_id>/receipt": (
        "ConsentForm: contentHash language patientName revokedByName seal title version; Signature: acr amr contentHash "
        "language name screenLanguage; Signer"
    ),
    "/consents/<record:consent_id>/receipt.pdf": (
        "Clause; ConsentForm: contentHash language patientName title version; EmbryoStorage: embryoCode; "
        "Signature: acr amr contentHash language name screenLanguage; Signer; Statement; PasskeyProof"
    ),
    "/consents/<record:consent_id>/revoke": (
        "Clause; ConsentForm: language patientName revokeReason revokedByName title version; Signer; Statement"
    ),
    "/consents/<record:consent_id>/sign": (
        "Clause; ConsentForm: language patientName title version; EmbryoStorage: embryoCode; Signer; "
        "Statement"
    ),
    "/consents/<record:consent_id>/sign/<any(read, statements, name):step>": (
        "Clause; ConsentForm: language patientName title version; EmbryoStorage: embryoCode; Signer; "
        "Statement"
    ),
    "/consents/<record:consent_id>/sign/read": ("Clause; ConsentForm: language title version; Statement"),
    "/questions": PATIENTS_FRAME,
    "/papers": (
        "Attachment; ConsentForm: language title; Directory: name; File; Message: senderName; me: "
        "preferredName; other: preferredName"
    ),
    "/conversations": "Conversation; Message: body; Participant: name",
    "/conversations/<record:conversation_id>": (
        "Attachment; Conversation; Message; Participant: name; ReplyAddress"
    ),
    "/conversations/<record:conversation_id>/archive": "Conversation",
    "/episodes": (
        "Alert; Appointment; CareTeamMember; Episode; Medication: drug instructions route unit; Protocol: name; "
        "TimelineEvent: note title; me: firstName lastName; other: firstName lastName preferredName"
    ),
    "/episodes/<record:episode_id>": (
        "Alert; Appointment; CareTeamMember; Episode: type; Medication: drug instructions route unit; "
        "TimelineEvent: note title; me: firstName lastName; other: firstName lastName preferredName"
    ),
    "/episodes/<record:episode_id>/appointments": (
        "Appointment; CareTeamMember; Episode: type; me: firstName lastName; other: firstName lastName"
    ),
    "/episodes/<record:episode_id>/appointments.ics": "Appointment: location",
    "/episodes/<record:episode_id>/appointments/<record:appointment_id>.ics": "Appointment: location",
    "/episodes/<record:episode_id>/consents": (
        "Appointment; CareTeamMember; ConsentBrief; ConsentForm: language title version; Episode: type; "
        "Signer; me: firstName lastName; other: firstName lastName"
    ),
    "/episodes/<record:episode_id>/doses": "Medication: drug instructions route unit; other: preferredName",
    "/episodes/<record:episode_id>/documents": (
        "Appointment; CareTeamMember; Directory: name; Episode: type; File; me: firstName lastName; "
        "other: firstName lastName"
    ),
    "/episodes/<record:episode_id>/embryos": (
        "Appointment; CareTeamMember; EmbryoStorage: embryoCode grade; Episode: type; me: firstName "
        "lastName; other: firstName lastName"
    ),
    "/episodes/<record:episode_id>/medication": (
        "Alert: text; Appointment; CareTeamMember; Episode: type; Medication; me: firstName lastName; other: "
        "firstName lastName preferredName"
    ),
    "/episodes/<record:episode_id>/monitoring": (
        "Appointment; CareTeamMember; Conversation: subject; Episode: type; HormoneUnits; Message: senderName; "
        "MonitoringDay; me: firstName lastName; other: firstName lastName"
    ),
    "/episodes/<record:episode_id>/team": (
        "Appointment; CareTeamMember; Episode: type; me: firstName lastName; other: firstName lastName"
    ),
    "/episodes/<record:episode_id>/timeline": (
        "Appointment; CareTeamMember; Episode: type; TimelineEvent: note title; me: firstName lastName; "
        "other: firstName lastName"
    ),
    "/files/<record:file_id>": "Content: name",
    "/files/<record:file_id>/preview": "Content: name",
    "/me": (
        "Relationship; me: address.city address.line1 address.line2 address.postalCode address.region "
        "dateOfBirth email emergencyContact.name emergencyContact.phoneNumber emergencyContact.relation "
        "firstName lastName mrn phoneNumber preferredName"
    ),
    "/notifications": "ConsentForm: title; Conversation; Notification",
    "/notifications/settings": "NotificationSettings",
    "/protocols/<record:protocol_id>": (
        "Alert: text; Check; Medication; Protocol: description name; other: preferredName"
    ),
    "/protocols/<record:protocol_id>/schedule.ics": "Medication: drug unit; other: preferredName",
    "/protocols/<record:protocol_id>/schedule.pdf": (
        "Alert: text; Check; Medication; Protocol: description name; me: dateOfBirth firstName lastName mrn; "
        "other: firstName lastName"
    ),
    "/pgt-results/<record:result_id>": (
        "Abnormality; Conversation: subject; Message: senderName; PgtResult; Thresholds"
    ),
    "/relationships/<record:relationship_id>/remove": (
        "ConsentForm: title; EmbryoStorage: embryoCode; Relationship"
    ),
    "/storage": "EmbryoStorage: embryoCode holdReason",
    "/storage/<record:embryo_id>": "EmbryoStorage: embryoCode grade holdReason",
    "/storage/<record:embryo_id>/<decision>": "EmbryoStorage: embryoCode",
}
"""What may stand on a page for a patient: `me` is who looks, `other` the other one of the episode."""

STAFF: dict[str, str] = {
    "/": (
        "ConsentForm: patientName title; Conversation; Episode: number; Message; Notification: body title "
        "data.firstName data.lastName data.mergeFirstName data.mergeLastName; Participant: name; "
        "PgtResult: embryoCode; Protocol: name; Signer; patient: firstName lastName"
    ),
    "/care-team": "Physician",
    "/cases/<record:case_id>/edit": (
        "CareTeamMember: name; Case: caseNumber closedReason diagnosis notes title; Physician: name; "
        "patient: firstName lastName"
    ),
    "/consents": "ConsentForm: patientName title; ReplyAddress; Signer",
    "/consents/<record:consent_id>": (
        "Clause; ConsentForm: language patientName revokeReason revokedByName title version; "
        "EmbryoStorage: embryoCode; Signer; Statement; patient: mrn"
    ),
    "/consents/<record:consent_id>/receipt": (
        "ConsentForm: contentHash language patientName revokedByName seal title version; Signature: acr amr "
        "contentHash language name screenLanguage; Signer"
    ),
    "/consents/<record:consent_id>/receipt.pdf": (
        "Clause; ConsentForm: contentHash language patientName title version; EmbryoStorage: embryoCode; "
        "Signature: acr amr contentHash language name screenLanguage; Signer; Statement; patient: mrn; PasskeyProof"
    ),
    "/consents/<record:consent_id>/revoke": (
        "ConsentForm: language patientName revokeReason revokedByName title version; Signer"
    ),
    "/consents/<record:consent_id>/sign": (
        "Clause; ConsentForm: language patientName title version; EmbryoStorage: embryoCode; Signer; "
        "Statement; patient: mrn"
    ),
    "/consents/<record:consent_id>/sign/<any(read, statements, name):step>": (
        "Clause; ConsentForm: language patientName title version; EmbryoStorage: embryoCode; Signer; "
        "Statement; patient: mrn"
    ),
    "/consents/<record:consent_id>/sign/name": (
        "Clause; ConsentForm: language title version; Signer; Statement"
    ),
    "/consents/new/bundle": "ConsentForm: title version",
    "/consents/new/fill": (
        "ConsentForm: title version; EmbryoStorage: embryoCode; Relationship: relatedName; Signer; "
        "partner: firstName lastName; patient: firstName lastName mrn"
    ),
    "/consents/new/preview": (
        "Clause; ConsentForm: language title version; EmbryoStorage: embryoCode; Signer; Statement; "
        "partner: firstName lastName; patient: firstName lastName mrn"
    ),
    "/consents/new": (
        "ConsentForm: patientName title version; EmbryoStorage: embryoCode; Relationship: relatedName; Signer; partner: firstName lastName; patient: firstName "
        "lastName"
    ),
    "/conversations": "Conversation; Message: body; Participant: name",
    "/conversations/<record:conversation_id>": (
        "Attachment; Conversation; Message; Participant: name; ReplyAddress; PossibleSender"
    ),
    "/conversations/<record:conversation_id>/archive": "Conversation",
    "/directories": "Directory: name; Episode: number; patient: firstName lastName",
    "/directories/<record:directory_id>/move": "Directory; patient: firstName lastName",
    "/episodes": "Appointment: kind; Episode; partner: firstName lastName; patient: firstName lastName",
    "/episodes/<record:episode_id>": (
        "Alert; Appointment; Case: caseNumber diagnosis notes title; Episode; HormoneUnits; Medication: drug "
        "instructions route unit; MonitoringDay: endometriumPattern; Relationship; TimelineEvent: note title; partner: dateOfBirth email "
        "emergencyContact.name emergencyContact.phoneNumber firstName lastName mrn phoneNumber "
        "preferredName; patient: dateOfBirth email emergencyContact.name emergencyContact.phoneNumber "
        "firstName lastName mrn phoneNumber preferredName"
    ),
    "/episodes/<record:episode_id>/appointments": (
        "Appointment; CareTeamMember: name; Episode; patient: firstName lastName mrn"
    ),
    "/episodes/<record:episode_id>/appointments.ics": "Appointment: location",
    "/episodes/<record:episode_id>/appointments/<record:appointment_id>.ics": "Appointment: location",
    "/episodes/<record:episode_id>/consents": "ConsentBrief; Episode; patient: firstName lastName mrn",
    "/episodes/<record:episode_id>/documents": (
        "Directory: name; Episode; File; patient: firstName lastName mrn"
    ),
    "/episodes/<record:episode_id>/embryos": (
        "EmbryoStorage: embryoCode grade gradingSystem holdReason; Episode; StorageLocation; patient: "
        "firstName lastName mrn"
    ),
    "/episodes/<record:episode_id>/medication": (
        "Episode; Medication; Protocol: name; patient: firstName lastName mrn"
    ),
    "/episodes/<record:episode_id>/monitoring": (
        "Episode; HormoneUnits; MonitoringDay; patient: firstName lastName mrn"
    ),
    "/episodes/<record:episode_id>/team": "CareTeamMember; Episode; patient: firstName lastName mrn",
    "/episodes/<record:episode_id>/timeline": (
        "Appointment; Episode; TimelineEvent: note title; patient: firstName lastName mrn"
    ),
    "/files/<record:file_id>": "Content: name",
    "/files/<record:file_id>/preview": "Content: name",
    "/find": (
        "ConsentForm: patientName title; Conversation; Episode: number; Participant: name; PgtResult: "
        "embryoCode; Protocol: name; patient: firstName lastName mrn"
    ),
    "/day-sheet": (
        "Appointment; ConsentBrief; ConsentForm: patientName title; Medication: drug instructions route "
        "unit; Protocol: patientName; patient: dateOfBirth firstName lastName mrn"
    ),
    "/open": (
        "ConsentForm: patientName title; Conversation; Episode: number; Participant: name; PgtResult: "
        "embryoCode; Protocol: name; patient: firstName lastName mrn"
    ),
    "/notifications": (
        "ConsentForm: patientName title; Conversation; Participant: name; Notification: body title "
        "data.firstName data.lastName data.mergeFirstName data.mergeLastName; patient: firstName lastName"
    ),
    "/notifications/settings": "NotificationSettings",
    "/patients": (
        "ConsentForm: patientName; Conversation: subject; Episode: type; Message: senderName; Participant: name; "
        "Protocol: name patientName; patient: dateOfBirth firstName lastName mrn"
    ),
    "/patients/<record:patient_id>": (
        "Appointment; Case: caseNumber diagnosis notes title; ConsentForm: title version; Conversation; "
        "EmbryoStorage: embryoCode grade; Episode; File; HormoneUnits; Medication: drug unit; Message; "
        "MonitoringDay: endometriumPattern; Notification; Participant: name; PgtBrief; Protocol: name; Relationship; Signature: name; "
        "Signer; StorageLocation: cane canister position tank; TimelineEvent: note title; partner: email "
        "emergencyContact.name emergencyContact.phoneNumber phoneNumber; patient: email "
        "emergencyContact.name emergencyContact.phoneNumber phoneNumber"
    ),
    "/patients/<record:patient_id>/as-seen": (
        "Alert; Appointment; ConsentForm: title; EmbryoStorage: embryoCode; Episode: type; Medication: "
        "drug instructions route unit; patient: firstName lastName preferredName"
    ),
    "/patients/<record:patient_id>/edit": (
        "partner: address.city address.line1 address.line2 address.postalCode address.region dateOfBirth "
        "email emergencyContact.name emergencyContact.phoneNumber emergencyContact.relation firstName "
        "lastName mrn phoneNumber preferredName; patient: address.city address.line1 address.line2 "
        "address.postalCode address.region dateOfBirth email emergencyContact.name "
        "emergencyContact.phoneNumber emergencyContact.relation firstName lastName mrn phoneNumber "
        "preferredName"
    ),
    "/prospects": (
        "Message: senderName; Notification: data.email data.firstName data.interest data.lastName "
        "data.phoneNumber data.source data.mergeFirstName data.mergeLastName"
    ),
    "/prospects/<record:prospect_id>/book": (
        "Conversation; Notification: data.email data.firstName data.interest data.lastName "
        "data.phoneNumber data.source; Physician"
    ),
    "/prospects/<record:prospect_id>/book/receipt": (
        "Notification: data.email data.firstName data.interest data.lastName data.phoneNumber data.source; "
        "Physician: locationName name"
    ),
    "/prospects/<record:prospect_id>/merge": (
        "Conversation; Message: senderName; Notification: body data.email data.firstName data.interest "
        "data.lastName data.phoneNumber data.source title data.mergeEmail data.mergeFirstName "
        "data.mergeInterest data.mergeLastName data.mergePhoneNumber data.mergeSource"
    ),
    "/prospects/<record:prospect_id>/merge/confirm": (
        "Message: senderName; Notification: data.email data.firstName data.interest data.lastName "
        "data.phoneNumber data.source data.mergeEmail data.mergeFirstName data.mergeInterest data.mergeLastName "
        "data.mergePhoneNumber data.mergeSource"
    ),
    "/prospects/<record:prospect_id>/merge/receipt": (
        "Message: senderName; Notification: data.email data.firstName data.interest data.lastName "
        "data.phoneNumber data.source data.mergeEmail data.mergeFirstName data.mergeInterest data.mergeLastName "
        "data.mergePhoneNumber data.mergeSource"
    ),
    "/protocols": "Medication: drug; Protocol: name patientName",
    "/protocols/<record:protocol_id>": (
        "Check; Medication; Physician: name; Protocol: concurrencyStamp description name; patient: "
        "dateOfBirth firstName lastName mrn"
    ),
    "/protocols/<record:protocol_id>/back": (
        "Check; Medication; Physician: name; Protocol: description name; patient: dateOfBirth firstName "
        "lastName mrn"
    ),
    "/protocols/<record:protocol_id>/edit": (
        "Check; Medication; Physician: name; Protocol: description name; patient: dateOfBirth firstName "
        "lastName mrn"
    ),
    "/protocols/<record:protocol_id>/end": "Medication; Protocol: concurrencyStamp name",
    "/protocols/<record:protocol_id>/status": (
        "Check; Medication; Protocol: concurrencyStamp description name; patient: dateOfBirth firstName lastName mrn"
    ),
    "/protocols/<record:protocol_id>/schedule.pdf": (
        "Alert: text; Check; Medication; Physician: name; Protocol: description name patientName; patient: "
        "dateOfBirth firstName lastName mrn"
    ),
    "/protocols/new": "Check; Medication; Physician: name; Protocol: description name",
    "/protocols/new/back": "Check; Medication; Physician: name; Protocol: description name",
    "/protocols/new/preview": (
        "Check; Medication; Physician: name; Protocol: description name; patient: firstName lastName"
    ),
    "/pgt-results/<record:result_id>": "EmbryoStorage: embryoCode grade; patient: firstName lastName mrn; Abnormality; PgtResult",
    "/relationships/<record:relationship_id>/remove": (
        "ConsentForm: title; EmbryoStorage: embryoCode; Relationship; patient: firstName lastName mrn"
    ),
    "/storage": "EmbryoStorage: embryoCode holdReason; StorageLocation; patient: firstName lastName mrn",
    "/storage/<record:embryo_id>": (
        "ConsentForm: title; EmbryoStorage: embryoCode grade holdReason method notes; Episode: number type; "
        "StorageLocation; patient: firstName lastName mrn"
    ),
}
"""What may stand on a page for staff of any role that may open it."""

ROLES_ALONE: dict[tuple[str, str], set[str]] = {
    ("/protocols/<record:protocol_id>", "Protocol.concurrencyStamp"): {"nurse", "physician"}
}
"""What of `STAFF` stands there for some roles alone."""


def members(row: str, *, for_staff: bool = False) -> set[str]:
    """Read a row: `Clause: heading text; Signer`."""
    found: set[str] = set()
    for part in filter(None, row.split("; ")):
        record, colon, names = part.partition(": ")
        found |= {
            f"{record}.{name}" for name in (names.split() if colon else _used(record, for_staff=for_staff))
        }
    return found


def shown_on(area: str, *, for_staff: bool) -> set[str]:
    """The texts of the records that a module of `portal.views` shows."""
    shown = [name for name, shape in records().items() if area in vars(shape).get("shown_on", ())]
    return members("; ".join(shown), for_staff=for_staff)


def _used(record: str, *, for_staff: bool) -> set[str]:
    """The texts of a record that the portal uses, those that no mark takes the place of apart."""
    shape = records()[record]
    closed = frozenset[str]() if for_staff else marked(shape, Mark.STAFF)
    return {
        member.name
        for member in members_of(shape)
        if member.use and member.is_text and not member.is_id
        if member.name not in closed and f"{record}.{member.name}" not in KEPT
    }
