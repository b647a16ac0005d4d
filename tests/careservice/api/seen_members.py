"""The members that each kind of person may get, and the columns whose text may be in them.

`FOR_ALL` and `PLACES_FOR_ALL` are what staff, patients and partners all get, though each of their own records alone;
`FURTHER` and `PLACES_FURTHER` what a kind of person gets besides. Former partners get of `FOR_ALL` only `FORMER`.
"""

from __future__ import annotations

FOR_ALL: dict[str, str] = {
    "conversations": "items totalCount",
    "conversations.items": (
        "channel episodeId id isArchived lastMessageAt messages participants patientId "
        "prospectId replyAddress subject unreadCount"
    ),
    "conversations.items.messages": (
        "attachments body channel conversationId id isArchived readAt senderId senderName senderVerified sentAt side"
    ),
    "conversations.items.messages.attachments": "fileId mediaType name size",
    "conversations.items.participants": "id name role",
    "conversations.items.replyAddress": "email sms",
    "episode": (
        "alerts appointments careTeam case consentForms conversationIds documents embryos "
        "endDate id monitoring number outcome partner patient pgtResults protocol "
        "relationships stage startDate status timeline type"
    ),
    "episode.alerts": "creationTime severity text until",
    "episode.appointments": "end id kind location physicianId start status timeZone",
    "episode.careTeam": "name physicianId role",
    "episode.case": (
        "caseNumber closedAt closedReason concurrencyStamp coordinatorId creationTime "
        "creatorId id lastModificationTime lastModifierId openedAt partnerId patientId "
        "physicianId status title treatmentType"
    ),
    "episode.consentForms": "id kind status title",
    "episode.documents": "directories files",
    "episode.documents.directories": "concurrencyStamp id name parentId",
    "episode.documents.files": "creationTime directoryId id mediaType name size",
    "episode.embryos": (
        "concurrencyStamp consentFormId creationTime creatorId cryopreservedAt day "
        "disposition embryoCode episodeId grade gradingSystem holdReason id "
        "lastModificationTime lastModifierId location method patientId pgtResultId status "
        "statutoryLimit storageConsentedUntil storageExpiresAt"
    ),
    "episode.monitoring": "cycleDay date e2 endometriumMm endometriumPattern follicles lh p4 unit units verified",
    "episode.monitoring.follicles": "left right",
    "episode.monitoring.units": "e2 lh p4",
    "episode.partner": "firstName id lastName preferredName",
    "episode.patient": "firstName id lastName preferredName",
    "episode.pgtResults": "call embryoCode id status",
    "episode.protocol": (
        "concurrencyStamp creationTime creatorId description episodeId id "
        "lastModificationTime lastModifierId medications monitoring name patientId "
        "patientName physicianId startDate status type"
    ),
    "episode.protocol.medications": (
        "dose drug drugClass endDay everyDays id instructions isTrigger lastDoseDay route startDay stopRule time "
        "times unit"
    ),
    "episode.protocol.monitoring": "day kind note",
    "episode.relationships": (
        "endDate id isPortalShared patientId relatedName relatedPatientId startDate type"
    ),
    "episode.timeline": "id kind note occurredAt stage title verified",
    "form": (
        "body caseId concurrencyStamp contentHash creationTime creatorId disposition "
        "effectiveAt embryoStorageIds episodeId expiresAt fileId id kind language lastModificationTime "
        "lastModifierId partnerId patientId patientName procedureDate requiredSigners "
        "revokedAt revokedById revokedByName seal sentAt signatures signingOrder statements "
        "status supersededById supersedesId title version"
    ),
    "form.body": "heading id summary text",
    "form.requiredSigners": "name order personId role",
    "form.signatures": "acr amr contentHash language method name passkey personId readingMode role screenLanguage signedAt",
    "form.signatures.passkey": "authenticatorData clientDataJson credentialId publicKey signature statement",
    "form.statements": "id text",
    "forms": "items totalCount",
    "forms.items": (
        "caseId concurrencyStamp contentHash creationTime creatorId disposition effectiveAt "
        "embryoStorageIds episodeId expiresAt fileId id kind language lastModificationTime "
        "lastModifierId partnerId patientId patientName procedureDate requiredSigners "
        "revokedAt revokedById revokedByName seal sentAt signatures signingOrder statements "
        "status supersededById supersedesId title version"
    ),
    "forms.items.requiredSigners": "name order personId role",
    "forms.items.signatures": "acr amr contentHash language method name passkey personId readingMode role screenLanguage signedAt",
    "forms.items.signatures.passkey": "authenticatorData clientDataJson credentialId publicKey signature statement",
    "forms.items.statements": "id text",
    "notifications": "items totalCount unreadCount",
    "notifications.items": "body creationTime data entityId entityType id isRead readAt severity title type",
    "notifications.items.data": "canary",
    "physicians": "items totalCount",
    "physicians.items": (
        "busy color id isActive locationId locationName name specialty timeZone title workingHours"
    ),
    "physicians.items.busy": "end start",
    "physicians.items.workingHours": "dayOfWeek end start",
    "protocol": (
        "concurrencyStamp creationTime creatorId description episodeId id "
        "lastModificationTime lastModifierId medications monitoring name patientId "
        "patientName physicianId startDate status type"
    ),
    "protocol.medications": (
        "dose drug drugClass endDay everyDays id instructions isTrigger lastDoseDay route startDay stopRule time "
        "times unit"
    ),
    "protocol.monitoring": "day kind note",
    "protocols": "items totalCount",
    "protocols.items": (
        "concurrencyStamp creationTime creatorId description episodeId id "
        "lastModificationTime lastModifierId medications monitoring name patientId "
        "patientName physicianId startDate status type"
    ),
    "protocols.items.medications": (
        "dose drug drugClass endDay everyDays id instructions isTrigger lastDoseDay route startDay stopRule time "
        "times unit"
    ),
    "protocols.items.monitoring": "day kind note",
    "result": (
        "abnormalities biopsiedAt call embryoCode embryoStorageId episodeId id laboratory "
        "mosaicPercent releasedAt reportFileId reportedAt sex sexDisclosed status testType "
        "thresholds"
    ),
    "result.abnormalities": "change chromosome",
    "result.thresholds": "aneuploidAbove euploidBelow",
    "settings": (
        "concurrencyStamp creationTime creatorId items language lastModificationTime "
        "lastModifierId quietHours"
    ),
    "settings.items": "email inApp locked push sms type",
}

FORMER = {
    *("form", "forms", "consent_forms", "consent_signatures", "consent_signers", "files"),
    *("conversations", "conversation_participants", "messages", "notifications", "settings"),
    *("physicians", "protocols"),
}
"""The first words of members and places that a former partner may get: forms that name him, and his own."""

FURTHER: dict[str, dict[str, str]] = {
    "staff": {
        "conversations.items": "possibleSenders",
        "episode.case": "diagnosis notes",
        "form": "onBehalfOf revokeReason toldAt toldBy",
        "forms.items": "onBehalfOf revokeReason toldAt toldBy",
        "episode.embryos.location": "cane canister facility position tank",
        "episode.embryos": "notes",
        "episode.partner": (
            "address concurrencyStamp creationTime creatorId dateOfBirth email "
            "emailVerified emergencyContact isActive language lastModificationTime lastModifierId mrn "
            "phoneNumber phoneNumberVerified preferredChannel userId"
        ),
        "episode.partner.address": "city country line1 line2 postalCode region",
        "episode.partner.emergencyContact": "name phoneNumber relation",
        "episode.patient": (
            "address concurrencyStamp creationTime creatorId dateOfBirth email "
            "emailVerified emergencyContact isActive language lastModificationTime lastModifierId mrn "
            "phoneNumber phoneNumberVerified preferredChannel userId"
        ),
        "episode.patient.address": "city country line1 line2 postalCode region",
        "episode.patient.emergencyContact": "name phoneNumber relation",
    },
    "patient": {
        "form": "revokeReason",
        "forms.items": "revokeReason",
        "episode.patient": (
            "address concurrencyStamp creationTime creatorId dateOfBirth email "
            "emailVerified emergencyContact isActive language lastModificationTime lastModifierId mrn "
            "phoneNumber phoneNumberVerified preferredChannel userId"
        ),
        "episode.patient.address": "city country line1 line2 postalCode region",
        "episode.patient.emergencyContact": "name phoneNumber relation",
    },
    "partner": {
        "episode.partner": (
            "address concurrencyStamp creationTime creatorId dateOfBirth email "
            "emailVerified emergencyContact isActive language lastModificationTime lastModifierId mrn "
            "phoneNumber phoneNumberVerified preferredChannel userId"
        ),
        "episode.partner.address": "city country line1 line2 postalCode region",
        "episode.partner.emergencyContact": "name phoneNumber relation",
    },
    "former signer": {},
    "former": {},
}

PLACES_FOR_ALL = (
    "alerts.text appointments.kind appointments.location appointments.status "
    "appointments.time_zone attachments.media_type attachments.name care_team_members.name "
    "care_team_members.role cases.case_number cases.closed_reason cases.title "
    "consent_forms.body.heading consent_forms.body.id consent_forms.body.summary "
    "consent_forms.body.text consent_forms.content_hash consent_forms.embryo_storage_ids consent_forms.kind consent_forms.language "
    "consent_forms.revoked_by_name consent_forms.statements.id consent_forms.statements.text "
    "consent_forms.title consent_forms.version consent_signatures.acr consent_signatures.amr consent_signatures.content_hash "
    "consent_signatures.language consent_signatures.name consent_signatures.screen_language consent_signers.name "
    "consent_signatures.passkey.authenticator_data consent_signatures.passkey.client_data_json "
    "consent_signatures.passkey.credential_id consent_signatures.passkey.public_key "
    "consent_signatures.passkey.signature consent_signatures.passkey.statement "
    "conversation_participants.name conversation_participants.role conversations.reply_email "
    "conversations.reply_sms conversations.subject directories.name embryo_storage.embryo_code "
    "embryo_storage.grade embryo_storage.grading_system embryo_storage.hold_reason "
    "embryo_storage.method episodes.number files.media_type files.name files.sha256 "
    "messages.body messages.sender_name monitoring.endometrium_pattern monitoring.unit "
    "monitoring.units.e2 monitoring.units.lh monitoring.units.p4 "
    "notifications.body notifications.data notifications.entity_type notifications.title "
    "notifications.type pgt_results.embryo_code pgt_results.laboratory physicians.color "
    "physicians.location_name physicians.name physicians.specialty physicians.title "
    "physicians.working_hours.end physicians.working_hours.start protocols.description "
    "protocols.medications.drug protocols.medications.drug_class protocols.medications.id "
    "protocols.medications.instructions protocols.medications.route "
    "protocols.medications.stop_rule protocols.medications.unit protocols.monitoring.kind "
    "protocols.monitoring.note protocols.name relationships.related_name timeline_events.kind "
    "timeline_events.note timeline_events.title"
)

PLACES_FURTHER: dict[str, str] = {
    "staff": (
        "cases.diagnosis; cases.notes; consent_forms.revoke_reason; embryo_storage.location.cane; embryo_storage.location.canister; "
        "embryo_storage.location.facility; embryo_storage.location.position; "
        "embryo_storage.location.tank; embryo_storage.notes; patients.address.city (others); "
        "patients.address.country (others); patients.address.line1 (others); "
        "patients.address.line2 (others); patients.address.postal_code (others); "
        "patients.address.region (others); patients.email (others); "
        "patients.emergency_contact.name (others); patients.emergency_contact.phone_number (others); "
        "patients.emergency_contact.relation (others); patients.first_name (others); "
        "patients.language (others); patients.last_name (others); patients.mrn (others); "
        "patients.phone_number (others); patients.preferred_name (others)"
    ),
    "patient": (
        "consent_forms.revoke_reason; "
        "patients.address.city (own); patients.address.country (own); patients.address.line1 (own); "
        "patients.address.line2 (own); patients.address.postal_code (own); "
        "patients.address.region (own); patients.email (own); patients.emergency_contact.name (own); "
        "patients.emergency_contact.phone_number (own); patients.emergency_contact.relation (own); "
        "patients.first_name (others); patients.first_name (own); patients.language (own); "
        "patients.last_name (others); patients.last_name (own); patients.mrn (own); "
        "patients.phone_number (own); patients.preferred_name (others); patients.preferred_name (own)"
    ),
    "partner": (
        "patients.address.city (own); patients.address.country (own); patients.address.line1 (own); "
        "patients.address.line2 (own); patients.address.postal_code (own); "
        "patients.address.region (own); patients.email (own); patients.emergency_contact.name (own); "
        "patients.emergency_contact.phone_number (own); patients.emergency_contact.relation (own); "
        "patients.first_name (others); patients.first_name (own); patients.language (own); "
        "patients.last_name (others); patients.last_name (own); patients.mrn (own); "
        "patients.phone_number (own); patients.preferred_name (others); patients.preferred_name (own)"
    ),
    "former signer": (
        "patients.first_name (others); patients.first_name (own); patients.last_name (others); "
        "patients.last_name (own)"
    ),
    "former": ("patients.first_name (own); patients.last_name (own)"),
}
