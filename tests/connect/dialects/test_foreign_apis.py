"""Three very different APIs, each with its dialect file: acts work the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from portal.connect.dialects.file import parse_dialect
from portal.demo.stack import PEOPLE, tenants_file
from tests.support.acts import ACTS, MOVES, People
from tests.support.foreign_api import FOREIGN, ForeignApi, ports_for_all, service_for_all
from tests.support.foreign_format import Foreign
from tests.support.signing import NAMES, fresh_form, make_form, sign, signatures
from tests.support.stack import PASSWORD, CareService, PortalThread
from tests.support.walks import Careful

AMELIAS = sample_id("episode", "amelia-1")
GRACES = sample_id("episode", "grace-2")
GRACE = sample_id("patient", "grace")
FULL = os.environ.get("CARE_TEST_FULL") == "1"


@pytest.fixture(scope="module")
def ports() -> dict[str, int]:
    return ports_for_all()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, ports: dict[str, int]) -> Iterator[CareService]:
    running = service_for_all(tmp_path_factory.mktemp("care"), ports)
    yield running
    running.stop()


@pytest.fixture(scope="module", params=FOREIGN, ids=lambda foreign: foreign.name)
def api(request: pytest.FixtureRequest, service: CareService) -> Iterator[ForeignApi]:
    running = ForeignApi(service.base_url, request.param)
    yield running
    running.stop()
    assert running.faults == []


@pytest.fixture(scope="module")
def foreign(api: ForeignApi) -> Foreign:
    return api.foreign


@pytest.fixture(scope="module")
def person(
    service: CareService, api: ForeignApi, ports: dict[str, int]
) -> Iterator[Callable[[str], Careful]]:
    """Those signed in to the portal in front of the foreign API, each once."""
    folder = service.plan.data / api.foreign.name
    folder.mkdir()
    there = replace(service.plan, portal_port=ports[api.foreign.name], data=folder)
    text = tenants_file(there).replace(f'base_url = "{service.base_url}"', f'base_url = "{api.base_url}"')
    (folder / "foreign.toml").write_text(api.foreign.toml)
    (folder / "tenants.toml").write_text(text.replace("[care]\n", '[care]\ndialect = "foreign.toml"\n'))
    running = PortalThread(there, PORTAL_TENANTS=str(folder / "tenants.toml"))
    yield cache(lambda name: signed_in(running, name))
    running.stop()


@pytest.fixture(scope="module")
def people(person: Any) -> People:
    """The same people, for acts that are made ready elsewhere."""
    return People(person("colin").origin)


def signed_in(portal: PortalThread, name: str) -> Careful:
    visitor = Careful(portal.origin(next(key for key, people in PEOPLE.items() if name in dict(people))))
    visitor.password = PASSWORD
    visitor.sign_in(name)
    return visitor


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda foreign: foreign.name)
def test_the_dialect_file_has_no_fault(foreign: Foreign) -> None:
    assert parse_dialect(foreign.toml)


def test_a_form_is_created_signed_and_withdrawn_in_each_dialect(
    person: Any, service: CareService, foreign: Foreign
) -> None:
    made = make_form(person("nora"), title=f"Made for {foreign.name}", **{"signer-2": "-"})
    assert person("nora").get(made).heading == f"Made for {foreign.name}"
    form = fresh_form(service.plan)
    assert sign(person("amelia"), form, NAMES["amelia"]).path == f"{form}/receipt"
    assert signatures(person("amelia"), form) == ["Amelia Hart"]
    done = person("amelia").get(f"{form}/revoke").form(f"{form}/revoke").submit(reason="Not now.")
    assert "Not now." in done.words


def test_a_concurrent_change_of_a_patient_shows_both_versions_in_each_dialect(
    person: Any, foreign: Foreign
) -> None:
    path = f"/patients/{GRACE}/edit"
    mine = person("nora").get(f"{path}?episode={GRACES}")
    theirs = person("colin").get(f"{path}?episode={GRACES}")
    theirs.form(path).submit(address_city=f"Cardiff {foreign.name}")
    both = mine.form(path).submit(status=409, address_city=f"Exeter {foreign.name}")
    assert f"Cardiff {foreign.name}" in both.words
    saved = both.form(path).submit(**{"keep-address_city": "mine"})
    assert saved.path == f"/episodes/{GRACES}"
    again = person("nora").get(f"{path}?episode={GRACES}")
    assert f"Exeter {foreign.name}" in dict(again.form(path).fields())["address_city"]


def test_settings_and_notifications_are_changed_in_each_dialect(person: Any, api: ForeignApi) -> None:
    who, language = {"pascal": ("grace", "es"), "snake": ("amelia", "ar"), "kebab": ("nora", "es")}[
        api.foreign.name
    ]
    visitor, path = person(who), "/notifications/settings"
    saved = visitor.get(path).form(path).submit(language=language)
    assert dict(saved.form(path).fields())["language"] == language
    page = visitor.get("/notifications").form("/notifications/read").submit()
    assert not page.select("#bell .badge")
    assert ("PUT", "/api/app/notification", 200) in api.calls


def test_a_refusal_is_explained_by_its_rule_in_each_dialect(person: Any) -> None:
    at_work = sample_id("emr-endpoint", "riverside-main")
    page = person("ada").get(f"/emr-endpoints/{at_work}/remove")
    told = page.form(f"/emr-endpoints/{at_work}").submit(status=403, typed=at_work)
    assert "It is exchanging data right now." in told.words


ACTS_HERE = ("merge", "book", "book by a link", "move an embryo", "move a folder", "thaw an embryo")
"""Those that no other test of this module does."""


def test_acts_reach_the_api_and_are_confirmed_in_each_dialect(
    people: People, service: CareService, api: ForeignApi, foreign: Foreign
) -> None:
    """Some before each API; all before all of them in the long run."""
    for act in ACTS_HERE if FULL else ACTS_HERE[FOREIGN.index(foreign) :: len(FOREIGN)]:
        ready = {**ACTS, **MOVES}[act](people, service.plan)
        before = len(api.calls)
        page = ready.send()
        assert page.heading == ready.end, page.words[:300]
        changes = [f"{method} {path}" for method, path, _ in api.calls[before:] if method != "GET"]
        assert changes == [ready.call]
        assert all(status < 400 for method, _path, status in api.calls[before:] if method != "GET"), act
