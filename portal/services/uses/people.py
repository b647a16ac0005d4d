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
    "EmergencyContact": (
        "me patients episodes",
        {"name": "whom to call", "phoneNumber": "at which number", "relation": "who that is to the patient"},
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
