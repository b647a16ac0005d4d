"""Pages on a busy day: of clinics and patients for whom much happens, all of it about one treatment.

The samples' records are about different people and years, so pages that look for what belongs together, or is due now, find
nothing in them.
"""

from __future__ import annotations

from typing import Any

from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.episodes import READ_EPISODE
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.physicians import LIST_PHYSICIANS
from portal.services.protocols import LIST_PROTOCOLS
from tests.pages.test_facts import (
    EPISODE,
    HERS,
    ONE_EPISODE,
    TALK,
    UNDER_TREATMENT,
    UNSIGNED,
    Case,
    active,
    changed,
)
from tests.support.fake_api import samples

PATIENT = EPISODE["patient"]["id"]
OF_HERS = {"patientId": PATIENT, "episodeId": "e-1"}
EPISODE_NOW = UNDER_TREATMENT[READ_EPISODE]
BUSY_EPISODE = {
    **EPISODE_NOW,
    "appointments": [
        {**visit, "start": f"2026-11-24T{hour}:30:00Z", "end": f"2026-11-24T{hour}:45:00Z"}
        for visit, hour in zip(EPISODE["appointments"], ("17", "22"), strict=True)
    ],
    "monitoring": [
        {**day, "date": f"2026-11-{22 + number}"} for number, day in enumerate(EPISODE["monitoring"])
    ],
    "timeline": [
        {**event, "occurredAt": f"2026-11-{22 + number}T18:00:00Z"}
        for number, event in enumerate(EPISODE["timeline"])
    ],
}


def _talks(**members: Any) -> dict[str, Any]:
    """Conversations in which somebody outside wrote in these days, and nobody has answered."""
    answer = changed(LIST_CONVERSATIONS, **{**OF_HERS, "unreadCount": 1, **members})
    for number, talk in enumerate(answer["items"]):
        talk["lastMessageAt"] = f"2026-11-23T{18 + number}:00:00Z"
        for message in talk["messages"]:
            message |= {"side": "Inbound", "sentAt": talk["lastMessageAt"], "readAt": None}
    return answer


def _plans() -> dict[str, Any]:
    answer = changed(LIST_PROTOCOLS, **OF_HERS)
    return {**answer, "items": [active(plan) for plan in answer["items"]]}


TALKS = {LIST_CONVERSATIONS: _talks()}
BUSY_EPISODE["conversationIds"] = [talk["id"] for talk in TALKS[LIST_CONVERSATIONS]["items"]]
EIGHT_TALKS = {
    LIST_CONVERSATIONS: {
        "totalCount": 8,
        "items": [
            {**talk, "id": f"{talk['id']}-{n}"}
            for n in range(4)
            for talk in TALKS[LIST_CONVERSATIONS]["items"]
        ],
    }
}
NEWS = {
    LIST_NOTIFICATIONS: changed(
        LIST_NOTIFICATIONS,
        entityType="Episode",
        entityId="e-1",
        data={"patientId": PATIENT},
        creationTime="2026-11-24T16:00:00Z",
    )
}
_DUE = {**UNSIGNED, **OF_HERS, "patientName": "firstName 601 lastName 601", "procedureDate": "2026-11-24"}
DUE = {row: changed(row, **_DUE) for row in (LIST_CONSENTS, READ_CONSENT)}
BUSY = {READ_EPISODE: BUSY_EPISODE, LIST_PROTOCOLS: _plans()} | TALKS | NEWS | DUE
_WEEK = samples(LIST_PHYSICIANS)
AT_WORK = {
    LIST_PHYSICIANS: {
        **_WEEK,
        "items": [
            {
                **one,
                "workingHours": [
                    {"dayOfWeek": day, "start": "09:00", "end": "17:00"} for day in ("Monday", "Wednesday")
                ],
                "busy": [
                    {"start": "2026-11-25T17:00:00Z", "end": "2026-11-25T18:00:00Z"},
                    {"start": "2026-11-25T20:00:00Z", "end": "2026-11-25T21:00:00Z"},
                ],
            }
            for one in _WEEK["items"]
        ],
    }
}
"""Physicians who work in the week of these days, and what is taken of it."""

_PARTNER = EPISODE["partner"]["id"]
SHARED = {
    READ_EPISODE: {
        **EPISODE,
        "relationships": [
            {**one, "relatedPatientId": _PARTNER, "isPortalShared": True, "endDate": None}
            for one in EPISODE["relationships"]
        ],
    },
    LIST_CONSENTS: changed(LIST_CONSENTS, **UNSIGNED, **OF_HERS, partnerId=_PARTNER),
}
_ENQUIRY = {"prospectId": "s-1", "patientId": None, "episodeId": None}
ENQUIRIES = {
    LIST_CONVERSATIONS: _talks(**_ENQUIRY),
    LIST_NOTIFICATIONS: changed(
        LIST_NOTIFICATIONS,
        entityType="Prospect",
        entityId="s-1",
        creationTime="2026-11-24T16:00:00Z",
        data={
            "firstName": "firstName 1003",
            "lastName": "lastName 1003",
            "mergeFirstName": "firstName 1004",
            "mergeEmail": "person1004@mail.example",
            "phoneNumber": "+442079461003",
            "email": "person1003@mail.example",
            "interest": "interest 1003",
            "source": "source 1003",
            "mergeId": "s-2",
        },
    ),
}
"""Notifications and messages that tell of an enquiry, and of one that it may be the same as."""

BUSY_CASES = [
    Case("day_sheet", "nora", "/day-sheet", BUSY, "busy"),
    Case("patients", "nora", f"/patients/{PATIENT}?episode=e-1", BUSY, "busy"),
    Case(
        "patients",
        "nora",
        f"/patients/{PATIENT}",
        {LIST_CONSENTS: changed(LIST_CONSENTS, patientId=PATIENT)},
        "two treatments",
    ),
    Case("patients", "nora", f"/patients/{PATIENT}", BUSY | EIGHT_TALKS, "much written"),
    *(Case("home", who, "/", BUSY, "busy") for who in ("amelia", "nora", "elif")),
    Case("home", "ada", "/"),
    Case("conversations", "nora", "/conversations", BUSY, "busy"),
    *(
        Case("conversations", "nora", f"/conversations?{query}", BUSY)
        for query in ("all=1", "archived=1", "mine=1", f"patient={PATIENT}", "all=1&page=2", "q=x&archived=1")
    ),
    *(Case("conversations", who, TALK, BUSY, "busy") for who in ("nora", "amelia")),
    *(Case("conversations", who, f"{TALK}/new?known=id-906", BUSY) for who in ("nora", "amelia")),
    *(Case("care_team", who, "/care-team", AT_WORK) for who in ("nora", "colin")),
    Case("care_team", "amelia", "/care-team?week=2026-W50&location=locationId-701", AT_WORK),
    *(
        Case("care_team", "amelia", f"/care-team?week={week}", HERS | ONE_EPISODE | AT_WORK)
        for week in ("2026-W48", "2025-W48", "2027-W47")
    ),
    *(
        Case("notifications", "amelia", f"/notifications?{query}")
        for query in ("page=2", "type=x", "unread=1&type=x")
    ),
    Case("notifications", "amelia", "/notifications/settings"),
    Case(
        "relationships",
        "nora",
        f"/relationships/{EPISODE['relationships'][0]['id']}/remove?episode=e-1",
        SHARED,
    ),
    Case(
        "relationships",
        "amelia",
        f"/relationships/{EPISODE['relationships'][0]['id']}/remove?episode=e-1",
        SHARED,
        "shared",
    ),
    Case("other", "nora", "/find", BUSY, "busy"),
    Case("prospects", "colin", "/prospects", ENQUIRIES, "told of"),
    Case("prospects", "colin", "/prospects/s-1/merge?merge=s-2", ENQUIRIES, "told of"),
    Case("prospects", "colin", "/prospects/s-1/merge", ENQUIRIES),
    Case("prospects", "colin", "/prospects/s-1/book", ENQUIRIES | AT_WORK, "told of"),
]
