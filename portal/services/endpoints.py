"""The rows of the care API: everything that is said of each endpoint that the portal calls.

The methods and paths of the care API specification §4 are defined only here. The webhooks are listed separately, because
others call them, never the portal.
"""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from portal.config.modules import Module
from portal.services.api import AnyEndpoint, Endpoint, Group
from portal.services.decoding import Page
from portal.services.exchanges import (
    BookingRequest,
    CaseChange,
    ConsentQuery,
    ConversationQuery,
    ConversationsToArchive,
    DirectoryMove,
    EmbryoChange,
    FileQuery,
    MergeChoices,
    NotificationQuery,
    NotificationsRead,
    PhysicianQuery,
    ProtocolQuery,
    Revoking,
    Signing,
)
from portal.services.records.base import AUDIT_MEMBERS
from portal.services.records.cases import Case
from portal.services.records.consents import ConsentDraft, ConsentForm
from portal.services.records.conversations import ArchivedCount, Conversation, Message
from portal.services.records.documents import Directory
from portal.services.records.episodes import Episode
from portal.services.records.notifications import Notification, NotificationCounts, NotificationSettings
from portal.services.records.patients import Patient
from portal.services.records.pgt_results import PgtResult
from portal.services.records.physicians import Physician
from portal.services.records.prospects import Booking, Prospect
from portal.services.records.protocols import Protocol, ProtocolDraft
from portal.services.records.storage import EmbryoStorage
from portal.services.sign_in_age import FRESH

_consents = Group("ConsentForm")
_CONSENTS = "/api/care/consent-forms"
LIST_CONSENTS = _consents.get(_CONSENTS, Page[ConsentForm], ConsentQuery, shows="consent", page="/consents")
CREATE_CONSENT = _consents.post(_CONSENTS, ConsentForm, ConsentDraft)
READ_CONSENT = _consents.get(f"{_CONSENTS}/{{id}}", ConsentForm, shows="consent")
SIGN_CONSENT = _consents.post(f"{_CONSENTS}/{{id}}/sign", ConsentForm, Signing, max_age=FRESH)
REVOKE_CONSENT = _consents.post(f"{_CONSENTS}/{{id}}/revoke", ConsentForm, Revoking, max_age=FRESH)

_protocols = Group("FertilityProtocol", Module.MEDICINES)
_PROTOCOLS = "/api/care/fertility-protocols"
LIST_PROTOCOLS = _protocols.get(
    _PROTOCOLS, Page[Protocol], ProtocolQuery, shows="protocol", page="/protocols"
)
CREATE_PROTOCOL = _protocols.post(_PROTOCOLS, Protocol, ProtocolDraft)
READ_PROTOCOL = _protocols.get(f"{_PROTOCOLS}/{{id}}", Protocol, shows="protocol")
UPDATE_PROTOCOL = _protocols.put(f"{_PROTOCOLS}/{{id}}", Protocol, Protocol, without=AUDIT_MEMBERS)

UPDATE_PATIENT = Group("Patient").put(
    "/api/care/patients/{id}",
    Patient,
    Patient,
    without=AUDIT_MEMBERS,
    if_known=frozenset({"emailVerified", "phoneNumberVerified"}),  # an API without them may refuse to be told
)
UPDATE_CASE = Group("CareCase").put("/api/care/cases/{id}", Case, CaseChange)
DELETE_RELATIONSHIP = Group("PatientRelationship").delete("/api/care/relationships/{id}", max_age=FRESH)
UPDATE_EMBRYO_STORAGE = Group("EmbryoStorage", Module.STORAGE).put(
    "/api/care/embryo-storage/{id}", EmbryoStorage, EmbryoChange
)
READ_PGT_RESULT = Group("PGTResult", Module.RESULTS).get(
    "/api/care/pgt-results/{id}", PgtResult, shows="pgt-result"
)
READ_EPISODE = Group("PatientPortal").get(
    "/api/patient-portal/episodes/{episodeId}", Episode, shows="episode"
)
LIST_PHYSICIANS = Group("Calendar").get(
    "/api/calendar/resources/physicians",
    Page[Physician],
    PhysicianQuery,
    shows=None,
    page="/care-team",
    kept=timedelta(minutes=5),
)
DELETE_EMR_ENDPOINT = Group("EmrEndpointConfig").delete("/api/emr-integration/endpoints/{id}", max_age=FRESH)
MOVE_DIRECTORY = Group("Document management").post(
    "/api/document-management/directory-descriptor/move", Directory, DirectoryMove
)
READ_FILE_CONTENT = Group("File management").get(
    "/api/file-management/file-descriptor/content", bytes, FileQuery, shows="file"
)

_messages = Group("Messaging")
RESTORE_MESSAGE = _messages.post("/api/app/messaging/restore-message/{messageId}", Message)
ARCHIVE_MESSAGE = _messages.post("/api/app/messaging/archive-message/{messageId}", Message)
LIST_CONVERSATIONS = _messages.get(
    "/api/messaging/getconversations",
    Page[Conversation],
    ConversationQuery,
    shows="conversation",
    page="/conversations",
)
ARCHIVE_CONVERSATIONS = _messages.post("/api/messaging/archive", ArchivedCount, ConversationsToArchive)

_notifications = Group("Notification")
_NOTIFICATION = "/api/app/notification"
LIST_NOTIFICATIONS = _notifications.get(
    _NOTIFICATION, Page[Notification], NotificationQuery, shows="notification", page="/notifications"
)
UPDATE_NOTIFICATIONS = _notifications.put(_NOTIFICATION, NotificationCounts, NotificationsRead)
READ_NOTIFICATION_SETTINGS = _notifications.get(
    f"{_NOTIFICATION}/settings", NotificationSettings, shows=None, page="/notifications/settings"
)
UPDATE_NOTIFICATION_SETTINGS = _notifications.put(
    f"{_NOTIFICATION}/settings", NotificationSettings, NotificationSettings
)

_prospects = Group("Prospect", Module.BOOKING)
MERGE_PROSPECTS = _prospects.post(
    "/api/prospect/records/{id}/merge/{mergeId}", Prospect, MergeChoices, max_age=FRESH
)
BOOK_WINDOW = _prospects.post("/api/prospect/records/{id}/book-window", Booking, BookingRequest)

ALL: tuple[AnyEndpoint, ...] = tuple(
    cast("AnyEndpoint", value) for value in vars().values() if isinstance(value, Endpoint)
)
"""The constants above: all endpoints that the portal may call, in the specification's order. The client's allow-list."""

WEBHOOKS: tuple[AnyEndpoint, ...] = (
    Endpoint("POST", "/smsinbound", "Webhook", object),
    Endpoint("POST", "/emailinbound", "Webhook", object),
    Endpoint("POST", "/api/payment/webhook/payment-provider", "Webhook", object),
)
"""Endpoints of the specification that others call, never the portal."""
