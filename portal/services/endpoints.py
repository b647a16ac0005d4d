"""The care API's addresses: one constant per endpoint that the portal calls, and small types of the client.

The methods and paths of the care API specification §4 are defined only here. The webhooks are listed separately, because
others call them, never the portal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

from portal.services.sign_in_age import FRESH

T = TypeVar("T")

Query: TypeAlias = Mapping[str, str | int | bool | Sequence[str] | None]
"""Query parameters by name; None is omitted, a sequence repeats the name."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One endpoint of the care API specification §4: method, path template below {base_url}, group.

    `id_in_query` marks the one endpoint with its record's id in the query instead of the path. `max_age` is the maximum
    age of the sign-in, in seconds, for acts that someone with another person's device must not carry out.
    """

    method: str
    template: str
    group: str
    id_in_query: bool = False
    max_age: int | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of the path parameters, in order."""
        return tuple(re.findall(r"{(\w+)}", self.template))

    @property
    def names_record(self) -> bool:
        """Whether the path contains a record's id."""
        return "{" in self.template

    @property
    def is_safe(self) -> bool:
        """Whether the method is safe (RFC 9110 §9.2.1)."""
        return self.method == "GET"


@dataclass(frozen=True, slots=True)
class Reference(Generic[T]):
    """Reference data from the cache; `as_of` is when they were read if they are stale, else None."""

    value: T
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """A file being streamed: status (200, 206, 304 or 416), metadata, and its bytes in chunks.

    `size` is in bytes, None if the API doesn't say; `name` is the file's name, if given; `headers` holds the few that may
    be passed on. Close `chunks` if you stop before its end.
    """

    status: int
    media_type: str
    name: str | None
    size: int | None
    headers: Mapping[str, str]
    chunks: Iterator[bytes] = field(repr=False)


_CONSENTS = "/api/care/consent-forms"
LIST_CONSENTS = Endpoint("GET", _CONSENTS, "ConsentForm")
CREATE_CONSENT = Endpoint("POST", _CONSENTS, "ConsentForm")
READ_CONSENT = Endpoint("GET", f"{_CONSENTS}/{{id}}", "ConsentForm")
SIGN_CONSENT = Endpoint("POST", f"{_CONSENTS}/{{id}}/sign", "ConsentForm", max_age=FRESH)
REVOKE_CONSENT = Endpoint("POST", f"{_CONSENTS}/{{id}}/revoke", "ConsentForm", max_age=FRESH)

_PROTOCOLS = "/api/care/fertility-protocols"
LIST_PROTOCOLS = Endpoint("GET", _PROTOCOLS, "FertilityProtocol")
CREATE_PROTOCOL = Endpoint("POST", _PROTOCOLS, "FertilityProtocol")
READ_PROTOCOL = Endpoint("GET", f"{_PROTOCOLS}/{{id}}", "FertilityProtocol")
UPDATE_PROTOCOL = Endpoint("PUT", f"{_PROTOCOLS}/{{id}}", "FertilityProtocol")

UPDATE_PATIENT = Endpoint("PUT", "/api/care/patients/{id}", "Patient")
UPDATE_CASE = Endpoint("PUT", "/api/care/cases/{id}", "CareCase")
DELETE_RELATIONSHIP = Endpoint("DELETE", "/api/care/relationships/{id}", "PatientRelationship", max_age=FRESH)
UPDATE_EMBRYO_STORAGE = Endpoint("PUT", "/api/care/embryo-storage/{id}", "EmbryoStorage")
READ_PGT_RESULT = Endpoint("GET", "/api/care/pgt-results/{id}", "PGTResult")
READ_EPISODE = Endpoint("GET", "/api/patient-portal/episodes/{episodeId}", "PatientPortal")
LIST_PHYSICIANS = Endpoint("GET", "/api/calendar/resources/physicians", "Calendar")
DELETE_EMR_ENDPOINT = Endpoint(
    "DELETE", "/api/emr-integration/endpoints/{id}", "EmrEndpointConfig", max_age=FRESH
)
MOVE_DIRECTORY = Endpoint("POST", "/api/document-management/directory-descriptor/move", "Document management")
READ_FILE_CONTENT = Endpoint(
    "GET", "/api/file-management/file-descriptor/content", "File management", id_in_query=True
)

RESTORE_MESSAGE = Endpoint("POST", "/api/app/messaging/restore-message/{messageId}", "Messaging")
ARCHIVE_MESSAGE = Endpoint("POST", "/api/app/messaging/archive-message/{messageId}", "Messaging")
LIST_CONVERSATIONS = Endpoint("GET", "/api/messaging/getconversations", "Messaging")
ARCHIVE_CONVERSATIONS = Endpoint("POST", "/api/messaging/archive", "Messaging")

_NOTIFICATION = "/api/app/notification"
LIST_NOTIFICATIONS = Endpoint("GET", _NOTIFICATION, "Notification")
UPDATE_NOTIFICATIONS = Endpoint("PUT", _NOTIFICATION, "Notification")
READ_NOTIFICATION_SETTINGS = Endpoint("GET", f"{_NOTIFICATION}/settings", "Notification")
UPDATE_NOTIFICATION_SETTINGS = Endpoint("PUT", f"{_NOTIFICATION}/settings", "Notification")

MERGE_PROSPECTS = Endpoint("POST", "/api/prospect/records/{id}/merge/{mergeId}", "Prospect", max_age=FRESH)
BOOK_WINDOW = Endpoint("POST", "/api/prospect/records/{id}/book-window", "Prospect")

ALL: tuple[Endpoint, ...] = tuple(value for value in vars().values() if isinstance(value, Endpoint))
"""The constants above: all endpoints that the portal may call, in the specification's order. The client's allow-list."""

WEBHOOKS: tuple[Endpoint, ...] = (
    Endpoint("POST", "/smsinbound", "Webhook"),
    Endpoint("POST", "/emailinbound", "Webhook"),
    Endpoint("POST", "/api/payment/webhook/payment-provider", "Webhook"),
)
"""Endpoints of the specification that others call, never the portal."""
