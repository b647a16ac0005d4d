"""What people lose on the portal's pages where a member doesn't come, in a sentence an operator understands."""

from __future__ import annotations

from collections.abc import Mapping

_MEMBERS: Mapping[str, str] = {
    "Episode.alerts": "home and a treatment's overview show no warnings, and say that they weren't given",
    "Episode.embryos": "embryo storage and the Embryos tab are empty, and say that this wasn't given",
    "Episode.appointments": "no appointments, no calendar file, no reminders",
    "Episode.protocol": "no medicines, no doses of today",
    "Episode.monitoring": "no scans, blood tests and chart",
    "Episode.timeline": "no history of the treatment",
    "Episode.documents": "no letters and files",
    "Episode.careTeam": "nobody is named as care team of a treatment",
    "Episode.consentForms": "a treatment's Consents tab is empty",
    "Episode.relationships": "sharing with a partner can't be seen or ended",
    "Episode.case": "staff see and change no case",
    "Episode.stage": "a treatment's stages aren't drawn",
    "EmbryoStorage.holdReason": "an embryo on hold shows no reason",
    "EmbryoStorage.storageConsentedUntil": "no date until which storage is consented to, and none that comes near",
    "EmbryoStorage.storageExpiresAt": "no date until which storage is paid, and none that comes near",
    "EmbryoStorage.statutoryLimit": "no legal limit of storage",
    "EmbryoStorage.disposition": "every wish counts as undecided",
    "ConsentForm.requiredSigners": "nobody can sign in the portal: it doesn't know who must",
    "ConsentForm.signatures": "no form shows who has signed",
    "ConsentForm.contentHash": "signing sends no hash of the text",
    "ConsentForm.episodeId": "treatments aren't reached from consent forms",
    "ConsentForm.procedureDate": "forms aren't ordered by procedure date",
    "Patient.userId": "a record is somebody's own only where its id is the account's",
    "Notification.entityId": "notifications lead nowhere",
    "Conversation.replyAddress": "nobody is told where to answer",
    "Conversation.messages": "conversations are empty",
    "PgtResult.sexDisclosed": "sex counts as not disclosed",
}

_KINDS: Mapping[str, str] = {
    "ConsentForm": "consent forms",
    "Clause": "the text of consent forms",
    "Statement": "the statements of consent forms",
    "Signer": "who signs a form",
    "Signature": "who has signed a form",
    "Protocol": "protocols and medicine plans",
    "Medication": "medicine plans",
    "Check": "planned checks",
    "Patient": "people's details",
    "Address": "addresses",
    "EmergencyContact": "emergency contacts",
    "Case": "cases",
    "Relationship": "relationships",
    "EmbryoStorage": "embryo storage",
    "StorageLocation": "where an embryo lies",
    "PgtResult": "genetic test results",
    "PgtBrief": "a treatment's genetic tests",
    "ConsentBrief": "a treatment's consent forms",
    "Episode": "treatments",
    "MonitoringDay": "scans and blood tests",
    "Follicles": "follicle counts",
    "TimelineEvent": "the timeline",
    "Appointment": "appointments",
    "CareTeamMember": "the care team",
    "Alert": "warnings",
    "Documents": "documents",
    "Directory": "folders",
    "File": "files",
    "Physician": "the care team's week and booking",
    "Conversation": "messages",
    "Message": "messages",
    "Participant": "who takes part in a conversation",
    "Attachment": "attached files",
    "ReplyAddress": "where to answer",
    "Notification": "notifications",
    "NotificationSettings": "notification settings",
}


def loss_of(member: str) -> str:
    """What is lost without a member ("Episode.alerts")."""
    kind = member.partition(".")[0]
    return f"{member}: {_MEMBERS.get(member) or f'left out of {_KINDS.get(kind, kind)}'}"
