"""The fake API answers as the care service does: the same reads at both, compared member by member."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from portal.connect.dialects.named_records import record_of
from portal.services.api import AnyEndpoint
from portal.services.endpoints import ALL
from tests.careservice.api.calls import Api
from tests.support.fake_api import samples
from tests.support.stack import CareService
from tests.support.tokens import TokenMaker

READERS = ("amelia", "grace", "maya", "nora", "victor", "elif", "ada")
IDS = {
    "/api/care/pgt-results/{id}": [sample_id("pgt-result", code) for code in ("GO-1", "GO-4")],
    "/api/patient-portal/episodes/{episodeId}": [
        sample_id("episode", name) for name in ("amelia-1", "grace-2", "maya-1")
    ],
}
"""Records without a list of their own."""

NOT_IN_SAMPLES = {
    # sent with a recorded withdrawal alone, and with a signature confirmed by a passkey
    "ConsentForm": ("onBehalfOf", "toldAt", "toldBy", "signatures[].passkey"),
    "Conversation": ("possibleSenders[]",),  # where a sender isn't known surely
    "NotificationSettings": ("quietHours.",),  # nobody has set any
    "PgtResult": ("comment", "condition"),  # withheld while the sex isn't disclosed
}
"""Members that the sample records have no value for."""

RECORDS = [row for row in ALL if row.is_safe and row.answer is not bytes]


@pytest.fixture(scope="module")
def api(service: CareService) -> Api:
    return Api(TokenMaker(service))


@pytest.mark.parametrize("row", RECORDS, ids=lambda row: row.template)
def test_the_fake_answers_with_the_members_of_the_care_service(api: Api, row: AnyEndpoint) -> None:
    real: defaultdict[str, set[str]] = defaultdict(set)
    for answer in _answers(api, row):
        _add(answer, "", real)
    fake: defaultdict[str, set[str]] = defaultdict(set)
    _add(samples(row), "", fake)
    known = NOT_IN_SAMPLES.get(record_of(row.answer).__name__, ())
    unknown = [
        path
        for path in fake
        if path not in real and not path.lstrip(".").removeprefix("items[].").startswith(known)
    ]
    assert not unknown, "the care service has no such member"
    other = {path: (fake[path], real[path]) for path in fake if real[path] and not fake[path] & real[path]}
    assert not other, "another type than the care service's"


def _answers(api: Api, row: AnyEndpoint) -> Iterator[Any]:
    for who in READERS:
        for path in _paths(api, who, row):
            answer = api(who, "GET", path)
            if answer.status_code == 200:
                yield answer.json()


def _paths(api: Api, who: str, row: AnyEndpoint) -> Iterator[str]:
    if not row.names_record:
        yield row.template
        return
    ids = IDS.get(row.template)
    if ids is None:
        listed = api(who, "GET", row.template.removesuffix("/{id}"), MaxResultCount=50).json()["items"]
        ids = [item["id"] for item in listed]
    for id_ in ids:
        yield f"{row.template.rpartition('/')[0]}/{id_}"


def _add(value: Any, path: str, found: defaultdict[str, set[str]]) -> None:
    """Note the JSON types that stand at each path below this value; null tells none."""
    found[path]
    match value:
        case dict():
            found[path].add("object")
            for name, member in value.items():
                _add(member, f"{path}.{name}", found)
        case list():
            found[path].add("array")
            for item in value:
                _add(item, f"{path}[]", found)
        case bool():
            found[path].add("boolean")
        case int() | float():
            found[path].add("number")
        case str():
            found[path].add("string")
        case _:
            pass
