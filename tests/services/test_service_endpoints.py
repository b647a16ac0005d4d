"""The portal calls the endpoints of the care API specification, and no others."""

from __future__ import annotations

import pytest

from portal.services.api import AnyEndpoint
from portal.services.consents import LIST_CONSENTS
from portal.services.endpoints import ALL, WEBHOOKS
from portal.services.episodes import READ_EPISODE
from portal.services.prospects import MERGE_PROSPECTS

SPECIFICATION = """
| ConsentForm | GET | /api/care/consent-forms | list consent forms |
| ConsentForm | POST | /api/care/consent-forms | create a consent form |
| ConsentForm | GET | /api/care/consent-forms/{id} | read one |
| ConsentForm | POST | /api/care/consent-forms/{id}/sign | sign |
| ConsentForm | POST | /api/care/consent-forms/{id}/revoke | revoke |
| FertilityProtocol | GET | /api/care/fertility-protocols | list |
| FertilityProtocol | POST | /api/care/fertility-protocols | create |
| FertilityProtocol | GET | /api/care/fertility-protocols/{id} | read one |
| FertilityProtocol | PUT | /api/care/fertility-protocols/{id} | update |
| Patient | PUT | /api/care/patients/{id} | update |
| CareCase | PUT | /api/care/cases/{id} | update |
| PatientRelationship | DELETE | /api/care/relationships/{id} | delete |
| EmbryoStorage | PUT | /api/care/embryo-storage/{id} | update |
| PGTResult | GET | /api/care/pgt-results/{id} | read one |
| PatientPortal | GET | /api/patient-portal/episodes/{episodeId} | read one episode |
| Calendar | GET | /api/calendar/resources/physicians | list physicians as calendar resources |
| EmrEndpointConfig | DELETE | /api/emr-integration/endpoints/{id} | delete |
| Document management | POST | /api/document-management/directory-descriptor/move | move a directory |
| File management | GET | /api/file-management/file-descriptor/content | fetch file content |
| Messaging | POST | /api/app/messaging/restore-message/{messageId} | restore a message |
| Messaging | POST | /api/app/messaging/archive-message/{messageId} | archive a message |
| Messaging | GET | /api/messaging/getconversations | list conversations |
| Messaging | POST | /api/messaging/archive | archive |
| Notification | GET | /api/app/notification | read notifications |
| Notification | PUT | /api/app/notification | update notifications |
| Notification | GET | /api/app/notification/settings | read notification settings |
| Notification | PUT | /api/app/notification/settings | update notification settings |
| Prospect | POST | /api/prospect/records/{id}/merge/{mergeId} | merge record {mergeId} with record {id} |
| Prospect | POST | /api/prospect/records/{id}/book-window | book a window for a prospect record |
| Webhook | POST | /smsinbound | inbound SMS callback |
| Webhook | POST | /emailinbound | inbound e-mail callback |
| Webhook | POST | /api/payment/webhook/payment-provider | callback from a payment provider |
"""


def rows() -> list[tuple[str, str, str]]:
    lines = [line.split("|") for line in SPECIFICATION.strip().splitlines()]
    return [(method.strip(), path.strip(), group.strip()) for _, group, method, path, *_ in lines]


def as_rows(some: tuple[AnyEndpoint, ...]) -> list[tuple[str, str, str]]:
    return [(e.method, e.template, e.group) for e in some]


def test_the_endpoints_are_in_the_specifications_order():
    assert as_rows(ALL) == [row for row in rows() if row[2] != "Webhook"], (
        "the rows of portal/services differ from SPECIFICATION in this file"
    )
    assert len(ALL) == len(set(ALL))


def test_webhooks_are_listed_but_never_called():
    assert as_rows(WEBHOOKS) == [row for row in rows() if row[2] == "Webhook"]
    assert not set(WEBHOOKS) & set(ALL)


@pytest.mark.parametrize(
    ("endpoint", "ids"),
    [
        (LIST_CONSENTS, ()),
        (READ_EPISODE, ("episodeId",)),
        (MERGE_PROSPECTS, ("id", "mergeId")),
    ],
)
def test_an_endpoint_knows_the_ids_in_its_path(endpoint, ids):
    assert endpoint.ids == ids
    assert endpoint.names_record is bool(ids)


def test_only_reads_are_safe():
    assert {e.method for e in ALL if e.is_safe} == {"GET"}
    assert {e.method for e in ALL if not e.is_safe} == {"POST", "PUT", "DELETE"}
