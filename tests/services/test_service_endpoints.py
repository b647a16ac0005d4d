"""The portal calls the endpoints of the care API specification, and no others."""

from __future__ import annotations

import pytest

from portal.careservice.app import create_app
from portal.careservice.openapi.document import document
from portal.careservice.openapi.operations import OPERATIONS
from portal.careservice.settings import Settings
from portal.config.strong_sign_in import Act
from portal.services.api import AnyEndpoint
from portal.services.consents import LIST_CONSENTS
from portal.services.endpoints import ALL, WEBHOOKS
from portal.services.episodes import READ_EPISODE
from portal.services.prospects import MERGE_PROSPECTS


@pytest.fixture(scope="module")
def specification(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, str]]:
    """Method, address and group of each of the specification's endpoints, in its order, as the care service describes them."""
    database = tmp_path_factory.mktemp("unused") / "care.db"
    app = create_app(Settings(database_url=f"sqlite:///{database}", issuer="http://127.0.0.1:1"))
    with app.app_context():
        paths = document("http://127.0.0.1:1")["paths"]
    return [(method, path, _folded(paths[path][method.lower()]["tags"][0])) for method, path in OPERATIONS]


def as_rows(some: tuple[AnyEndpoint, ...]) -> list[tuple[str, str, str]]:
    return [(e.method, e.template, _folded(e.group)) for e in some]


def _folded(group: str) -> str:
    return group.replace(" ", "").casefold()


def test_the_endpoints_are_the_specifications(specification):
    assert sorted(as_rows(ALL)) == sorted(row for row in specification if row[2] != "webhook"), (
        "the rows of portal/services differ from OPERATIONS in portal/careservice/openapi/operations.py"
    )
    assert len(ALL) == len(set(ALL))


def test_webhooks_are_listed_but_never_called(specification):
    assert as_rows(WEBHOOKS) == [row for row in specification if row[2] == "webhook"]
    assert not set(WEBHOOKS) & set(ALL)


@pytest.mark.parametrize(
    ("endpoint", "ids"),
    [(LIST_CONSENTS, ()), (READ_EPISODE, ("episodeId",)), (MERGE_PROSPECTS, ("id", "mergeId"))],
)
def test_an_endpoint_knows_the_ids_in_its_path(endpoint, ids):
    assert endpoint.ids == ids
    assert endpoint.names_record is bool(ids)


def test_only_reads_are_safe():
    assert {e.method for e in ALL if e.is_safe} == {"GET"}
    assert {e.method for e in ALL if not e.is_safe} == {"POST", "PUT", "DELETE"}


def test_these_acts_need_a_fresh_sign_in_and_are_of_a_kind_that_a_clinic_may_ask_more_for():
    assert {e.template: (e.method, e.demand.max_age, e.demand.act) for e in ALL if e.demand} == {
        "/api/care/consent-forms/{id}/sign": ("POST", 300, Act.SIGNING),
        "/api/care/consent-forms/{id}/revoke": ("POST", 300, None),
        "/api/care/relationships/{id}": ("DELETE", 300, None),
        "/api/emr-integration/endpoints/{id}": ("DELETE", 300, Act.ADMINISTRATION),
        "/api/prospect/records/{id}/merge/{mergeId}": ("POST", 300, Act.MERGING),
    }
