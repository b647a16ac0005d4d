"""What the portal uses the records of people, their messages, notifications, visits and files for."""

from __future__ import annotations

from collections.abc import Mapping

PEOPLE: Mapping[str, tuple[str, Mapping[str, str]]] = {
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
    "Conversation": (
        "conversations home episodes",
        {
            "subject": "its subject",
            "patientId": "whom staff find by it",
            "prospectId": "the enquiry that it belongs to",
            "episodeId": "the link to the treatment: episodes are found through it",
            "channel": "portal, e-mail, text or telephone",
            "participants": "who takes part",
            "replyAddress": "how to reply: without it nobody can",
            "isArchived": "among the archived or not",
            "unreadCount": "how many are unread",
            "lastMessageAt": "its place in the list",
            "messages": "the messages: without them it is empty",
        },
    ),
    "Directory": (
        "directories episodes",
        {"name": "the folder's name", "parentId": "its parent folder; without it, all are at the root"},
    ),
    "Documents": ("episodes directories files", {"directories": "the folders", "files": "the files"}),
    "EmergencyContact": (
        "me patients episodes",
        {
            "name": "who to call",
            "phoneNumber": "the number to call",
            "relation": "their relation to the patient",
        },
    ),
    "File": (
        "files episodes",
        {
            "name": "the file's name",
            "directoryId": "its folder",
            "mediaType": "whether it can be viewed in the page",
            "size": "its size",
        },
    ),
    "Message": (
        "conversations home",
        {
            "senderId": "whether it is the reader's own",
            "senderName": "who wrote it",
            "senderVerified": "whether an e-mail's sender may be forged",
            "side": "whether it is to the clinic or from it",
            "channel": "portal, e-mail, text or telephone",
            "body": "the message",
            "sentAt": "when it was sent: their order",
            "readAt": "whether it was read",
            "isArchived": "whether it is archived",
            "attachments": "its attachments",
        },
    ),
    "Notification": (
        "notifications home",
        {
            "type": "its kind",
            "title": "its title",
            "body": "what it says",
            "severity": "its severity",
            "isRead": "whether it is read: the bell",
            "readAt": "when it was read",
            "entityType": "what it is about: its link",
            "entityId": "which one",
            "data": "mergeId, patientId, episodeId and details of an enquiry",
        },
    ),
    "NotificationChoice": (
        "notification_settings",
        {
            "type": "the kind of notification",
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
        {"id": "whether it is the reader", "name": "who takes part", "role": "their role"},
    ),
    "Patient": (
        "me patients episodes",
        {
            "userId": "whose record it is; without it, the person whose id is the record's",
            "mrn": "the record number",
            "firstName": "the name",
            "lastName": "the name",
            "preferredName": "what to call them",
            "dateOfBirth": "the date of birth",
            "email": "how to reach them",
            "phoneNumber": "how to reach them",
            "address": "where they live",
            "language": "the language to write in",
            "preferredChannel": "the preferred channel",
            "emergencyContact": "who to call in an emergency",
            "isActive": "whether the record is in use",
        },
    ),
    "Physician": (
        "care_team booking prospects cases protocols",
        {
            "name": "the name",
            "title": "the title",
            "specialty": "the specialty",
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
            "source": "how they found the clinic",
            "status": "the state of the enquiry",
            "patientId": "the patient that they became",
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
    "WorkingHours": (
        "care_team booking prospects",
        {"dayOfWeek": "which day (a name, or 0 for Sunday)", "start": "from when", "end": "until when"},
    ),
}
"""By record: the areas that use it, and the purpose of each member."""
