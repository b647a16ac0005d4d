"""The responses of the care API stub, built once from the portal's own record types.

Each response for the measured page has about 5.7 kB: an episode with 40 consent forms, and the list of those forms.
"""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

ROWS = 40
EPISODE = str(uuid5(NAMESPACE_URL, "urn:bench:episode"))
OTHER_EPISODE = str(uuid5(NAMESPACE_URL, "urn:bench:other-episode"))
FILE = str(uuid5(NAMESPACE_URL, "urn:bench:file"))

Answers = dict[str, bytes]
"""Response bodies by path, without the query."""


def answers() -> Answers:
    return {path: json.dumps(value, separators=(",", ":")).encode() for path, value in _values().items()}


def _values() -> dict[str, Any]:
    now = datetime.now(UTC).replace(microsecond=0)
    forms = [_form(number, now) for number in range(ROWS)]
    notice = {
        "id": _id("notice"),
        "type": "EpisodeUpdated",
        "title": "Your plan has a new visit",
        "body": "A scan was added.",
        "isRead": False,
        "creationTime": _written(now),
        "entityType": "Episode",
        "entityId": EPISODE,
    }
    talk = {
        "id": _id("talk"),
        "subject": "Your scan",
        "unreadCount": 1,
        "isArchived": False,
        "messages": [],
        "episodeId": EPISODE,
        "lastMessageAt": _written(now),
    }
    return {
        f"/api/patient-portal/episodes/{EPISODE}": _episode(EPISODE, forms, now),
        f"/api/patient-portal/episodes/{OTHER_EPISODE}": _episode(OTHER_EPISODE, forms, now),
        "/api/care/consent-forms": {"totalCount": ROWS, "items": forms},
        "/api/app/notification": {"totalCount": 1, "unreadCount": 1, "items": [notice]},
        "/api/messaging/getconversations": {"totalCount": 1, "items": [talk]},
    }


def _episode(id_: str, forms: list[dict[str, Any]], now: datetime) -> dict[str, Any]:
    return {
        "id": id_,
        "status": "Active",
        "number": "RF-2026-0117",
        "type": "Antagonist",
        "stage": "Stimulation",
        "startDate": _day(-8),
        "patient": {"id": _id("patient"), "fullName": "Amelia Hart", "preferredName": "Amelia", "mrn": "RF-10234"},
        "partner": {"id": _id("partner"), "fullName": "Daniel Hart", "mrn": "RF-10235"},
        "consentForms": [{name: form[name] for name in ("id", "title", "status")} for form in forms],
        "appointments": [
            {
                "id": _id(f"visit-{number}"),
                "title": "Scan and blood test",
                "start": _written(now + timedelta(days=number + 1)),
                "end": _written(now + timedelta(days=number + 1, minutes=30)),
                "status": "Confirmed",
            }
            for number in range(10)
        ],
    }  # fmt: skip


def _form(number: int, now: datetime) -> dict[str, Any]:
    titles = ("Consent to treatment", "Storage of embryos", "Genetic testing", "Sharing of results")
    return {
        "id": _id(f"form-{number}"),
        "title": f"{titles[number % 4]} {number + 1}",
        "status": ("Signed", "Pending", "Revoked", "PartiallySigned")[number % 4],
        "procedureDate": _day(number % 20),
        "kind": "Treatment",
    }


def _id(name: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"urn:bench:{name}"))


def _day(ahead: int) -> str:
    return (date.today() + timedelta(days=ahead)).isoformat()


def _written(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
