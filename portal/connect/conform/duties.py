"""What pages fail to tell patients and staff while a member is missing or in doubt: the duties that a clinic then can't keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

DUTIES: Mapping[str, str] = {
    "Episode.alerts": "warnings may not be shown",
    "Alert.until": "warnings may not be shown, or for too long",
    "Alert.severity": "urgent warnings may look like others",
    "ConsentForm.signatures": "nobody can be told who has signed, or whether a form was declined or withdrawn",
    "ConsentForm.requiredSigners": "people may not be told that a form waits for them",
    "ConsentForm.status": "a withdrawn form may look signed",
    "ConsentForm.revokedAt": "a withdrawal may not be shown",
    "ConsentForm.body": "nobody can read what they sign",
    "ConsentForm.statements": "nobody can read what they sign",
    "ConsentForm.contentHash": "a text that changed may be signed",
    "Signer.personId": "nobody may be able to sign",
    "Patient.userId": "people may not find their own details",
    "Episode.appointments": "visits aren't shown",
    "Episode.protocol": "medicines aren't shown",
    "Protocol.medications": "medicines aren't shown",
    "Protocol.patientId": "a patient's plan may not be known as theirs",
    "Episode.embryos": "stored embryos aren't shown",
    "EmbryoStorage.disposition": "what is to be done with an embryo isn't shown",
    "Relationship.isPortalShared": "nobody can be told who sees a treatment",
    "Conversation.messages": "messages aren't shown",
    "Medication.startDay": "medicines may be shown on wrong days",
    "Medication.endDay": "medicines may be shown after their last day",
    "Medication.time": "medicines may be shown at wrong hours",
    "Medication.dose": "doses may be missing",
    "Protocol.startDate": "the plan has no dates",
    "EmbryoStorage.holdReason": "why an embryo is on hold isn't said",
    "EmbryoStorage.statutoryLimit": "the legal limit of storage isn't shown",
    "PgtResult.call": "a genetic result isn't shown",
    "PgtResult.sexDisclosed": "an embryo's sex may be shown, or kept, against the patient's wish",
    "PgtResult.mosaicPercent": "a genetic result may be read wrongly",
    "Follicles.left": "follicles may be measured wrongly",
    "Follicles.right": "follicles may be measured wrongly",
    "MonitoringDay.verified": "provisional values may look checked",
    "TimelineEvent.verified": "provisional values may look checked",
    "Message.senderVerified": "an unknown sender may look known",
}
"""By member, what may happen without it."""


def unkept(members: Iterable[str]) -> Iterator[str]:
    """The duties that these members concern, each once with the members."""
    found: dict[str, list[str]] = {}
    for member in sorted(set(members)):
        if member in DUTIES:
            found.setdefault(DUTIES[member], []).append(member)
    for duty, names in found.items():
        yield f"{duty} ({', '.join(names)})"
