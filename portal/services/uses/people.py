"""What the portal uses the records of people, their messages, notifications, visits and files for."""

from __future__ import annotations

from collections.abc import Mapping

PEOPLE: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Address": (
        "me patients",
        {
            "line1": "first line of the postal address",
            "line2": "second line of the postal address",
            "city": "town or city",
            "region": "region",
            "postalCode": "postcode",
            "country": "country (ISO 3166-1)",
        },
    ),
    "ArchivedCount": ("conversations", {"archivedCount": "number archived, shown after archiving"}),
    "Attachment": (
        "conversations",
        {
            "fileId": "link to the file",
            "name": "file name",
            "mediaType": "whether it is shown inline",
            "size": "file size",
        },
    ),
    "Booking": (
        "booking prospects",
        {
            "prospectId": "who booked",
            "physicianId": "physician",
            "start": "start time",
            "end": "end time",
            "status": "whether the clinic still has to confirm it",
        },
    ),
    "Busy": (
        "booking prospects",
        {"start": "start of a time that isn't offered", "end": "end of a time that isn't offered"},
    ),
    "Conversation": (
        "conversations home episodes",
        {
            "subject": "subject",
            "patientId": "the patient, for staff",
            "prospectId": "the enquiry it belongs to",
            "episodeId": "link to the treatment; also used to find episodes",
            "channel": "portal, e-mail, text message or telephone",
            "participants": "participants",
            "possibleSenders": "for staff, who may have written",
            "replyAddress": "reply address; without it nobody can reply",
            "isArchived": "whether it is archived",
            "unreadCount": "number of unread messages",
            "lastMessageAt": "order in the list",
            "messages": "messages; without them the conversation is empty",
        },
    ),
    "Directory": (
        "directories episodes",
        {"name": "folder name", "parentId": "parent folder; without it, all folders are at the root"},
    ),
    "Documents": ("episodes directories files", {"directories": "folders", "files": "files"}),
    "EmergencyContact": (
        "me patients episodes",
        {
            "name": "contact's name",
            "phoneNumber": "contact's telephone number",
            "relation": "contact's relation to the patient",
        },
    ),
    "File": (
        "files episodes",
        {
            "name": "file name",
            "directoryId": "its folder",
            "mediaType": "whether it can be viewed in the browser",
            "size": "file size",
        },
    ),
    "Message": (
        "conversations home",
        {
            "senderId": "whether the reader wrote it",
            "senderName": "sender's name",
            "senderVerified": "whether the e-mail's sender is verified",
            "side": "whether it is to or from the clinic",
            "channel": "portal, e-mail, text message or telephone",
            "body": "message text",
            "sentAt": "time sent; order of messages",
            "readAt": "whether it was read",
            "isArchived": "whether it is archived",
            "attachments": "attachments",
        },
    ),
    "Notification": (
        "notifications home",
        {
            "type": "kind of notification",
            "title": "title",
            "body": "text",
            "severity": "severity",
            "isRead": "whether it was read; number on the bell",
            "readAt": "when it was read",
            "entityType": "kind of record it links to",
            "entityId": "record it links to",
            "data": "mergeId, patientId, episodeId and details of an enquiry",
        },
    ),
    "NotificationChoice": (
        "notification_settings",
        {
            "type": "kind of notification",
            "email": "by e-mail",
            "sms": "by text message",
            "push": "by push notification",
            "inApp": "in the portal",
            "locked": "whether it can be switched off",
        },
    ),
    "NotificationCounts": ("notifications", {"unreadCount": "number on the bell after reading"}),
    "NotificationSettings": (
        "notification_settings",
        {
            "items": "choices by kind",
            "quietHours": "when nothing is sent",
            "language": "language of notifications",
        },
    ),
    "Participant": (
        "conversations find",
        {"id": "whether it is the reader", "name": "name", "role": "role"},
    ),
    "Patient": (
        "me patients episodes",
        {
            "userId": "account the record belongs to; without it, the record's own id",
            "mrn": "medical record number",
            "firstName": "name",
            "lastName": "name",
            "preferredName": "form of address",
            "dateOfBirth": "date of birth",
            "email": "contact details",
            "emailVerified": "whether the e-mail address is confirmed",
            "phoneNumber": "contact details",
            "phoneNumberVerified": "whether the telephone number is confirmed",
            "address": "postal address",
            "language": "language for correspondence",
            "preferredChannel": "preferred channel",
            "emergencyContact": "emergency contact",
            "isActive": "whether the record is in use",
        },
    ),
    "PossibleSender": ("conversations", {"id": "the patient's record", "name": "who may have written"}),
    "Physician": (
        "care_team booking prospects cases protocols",
        {
            "name": "name",
            "title": "title",
            "specialty": "specialty",
            "locationId": "where appointments are booked",
            "locationName": "where they work",
            "timeZone": "time zone of their hours",
            "isActive": "whether they can be chosen",
            "workingHours": "when times are offered; without it, none are",
            "busy": "times that aren't offered",
        },
    ),
    "Prospect": (
        "prospects",
        {
            "firstName": "name",
            "lastName": "name",
            "email": "contact details",
            "phoneNumber": "contact details",
            "source": "how they found the clinic",
            "status": "state of the enquiry",
            "patientId": "the patient they became",
        },
    ),
    "QuietHours": (
        "notification_settings",
        {
            "start": "start of quiet hours",
            "end": "end of quiet hours",
            "timeZone": "time zone of quiet hours",
        },
    ),
    "Relationship": (
        "relationships me episodes",
        {
            "patientId": "patient",
            "relatedPatientId": "related patient's record",
            "relatedName": "related person's name",
            "type": "relation to the patient",
            "isPortalShared": "whether they see the treatment",
            "startDate": "start date",
            "endDate": "end date",
        },
    ),
    "ReplyAddress": ("conversations", {"email": "replies by e-mail", "sms": "replies by text message"}),
    "WorkingHours": (
        "care_team booking prospects",
        {"dayOfWeek": "weekday (a name, or 0 for Sunday)", "start": "start time", "end": "end time"},
    ),
}
"""By record: the areas that use it, and the purpose of each member."""
