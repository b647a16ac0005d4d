"""Lists that leave something out: each is given a record that belongs there and one that doesn't, alike but for why."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from flask import g

from portal.services.api import AnyEndpoint
from portal.services.cases import CareStatus
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentKind
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.episodes import READ_EPISODE, Episode
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.patients import Patient
from portal.services.physicians import LIST_PHYSICIANS
from portal.services.relationships import DELETE_RELATIONSHIP
from portal.services.storage import EmbryoStatus, EmbryoStorage
from portal.views.consents import begin_draft
from tests.pages.test_facts import EPISODE, HERS, ONE_EPISODE, ROLES, SIGNED, UNSIGNED
from tests.support.fake_api import FakeApi, samples
from tests.support.in_process import InProcess
from tests.support.visitor import SignIn


@dataclass(frozen=True)
class Filter:
    """A page's list; `both` is what its two records have, `why` what the second has instead, `name` what says which."""

    who: str
    path: str
    row: AnyEndpoint
    name: str
    both: dict[str, Any]
    why: dict[str, Any] = field(default_factory=dict)


UNREAD = {"unreadCount": 2, "isArchived": False, "episodeId": "e-1"}
NEWS = {
    "isRead": False,
    "severity": "Info",
    "type": "EpisodeUpdated",
    "entityType": "Episode",
    "entityId": "e-1",
}
CASE = f"/cases/{EPISODE['case']['id']}/edit?episode=e-1"
DANIEL_SIGNS = UNSIGNED | {
    "requiredSigners": [{"role": "Partner", "personId": "daniel", "name": "Daniel 1", "order": 1}]
}
FILTERS = {
    "home: archived talks": Filter(
        "amelia", "/", LIST_CONVERSATIONS, "subject", UNREAD, {"isArchived": True}
    ),
    "home: read talks": Filter("amelia", "/", LIST_CONVERSATIONS, "subject", UNREAD, {"unreadCount": 0}),
    "home: read news": Filter("amelia", "/", LIST_NOTIFICATIONS, "title", NEWS, {"isRead": True}),
    "home: news of talks": Filter(
        "amelia", "/", LIST_NOTIFICATIONS, "title", NEWS, {"entityType": "Conversation"}
    ),
    "home: news of forms": Filter(
        "amelia", "/", LIST_NOTIFICATIONS, "title", NEWS, {"entityType": "ConsentForm"}
    ),
    "care team": Filter(
        "amelia", "/care-team", LIST_PHYSICIANS, "name", {"isActive": True}, {"isActive": False}
    ),
    "booking": Filter(
        "colin", "/prospects/s-1/book", LIST_PHYSICIANS, "name", {"isActive": True}, {"isActive": False}
    ),
    "case": Filter("victor", CASE, LIST_PHYSICIANS, "name", {"isActive": True}, {"isActive": False}),
    "plan": Filter(
        "victor", "/protocols/new?copy=p-1", LIST_PHYSICIANS, "name", {"isActive": True}, {"isActive": False}
    ),
    "home: signed forms": Filter("amelia", "/", LIST_CONSENTS, "title", UNSIGNED, SIGNED),
    "home: withdrawn forms": Filter("amelia", "/", LIST_CONSENTS, "title", UNSIGNED, {"status": "Revoked"}),
    "home: expired forms": Filter("amelia", "/", LIST_CONSENTS, "title", UNSIGNED, {"status": "Expired"}),
    "home: drafted forms": Filter("amelia", "/", LIST_CONSENTS, "title", UNSIGNED, {"status": "Draft"}),
    "home: others' forms": Filter("amelia", "/", LIST_CONSENTS, "title", UNSIGNED, DANIEL_SIGNS),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_list_leaves_out_what_doesnt_belong_there(visitor: SignIn, fake_api: FakeApi, name: str) -> None:
    tried = FILTERS[name]
    for row, answer in (HERS | ONE_EPISODE).items():
        fake_api.gives(row, answer)
    belongs, other = samples(tried.row)["items"]
    belongs |= tried.both | {tried.name: "Belongs 901"}
    other |= tried.both | tried.why | {tried.name: "Other 902"}
    fake_api.gives(tried.row, {"totalCount": 2, "items": [belongs, other]})
    for form in (belongs, other) if tried.row is LIST_CONSENTS else ():
        fake_api.gives(READ_CONSENT, samples(READ_CONSENT) | form, id_=form["id"])
    words = visitor(tried.who, ROLES.get(tried.who, "patient")).get(tried.path).words
    assert "Belongs 901" in words
    assert "Other 902" not in words


CUTS = {
    "home: talks": ("amelia", "/", LIST_CONVERSATIONS, "subject", UNREAD, 3),
    "home: news": ("amelia", "/", LIST_NOTIFICATIONS, "title", NEWS, 3),
    "staff's home: news": ("nora", "/", LIST_NOTIFICATIONS, "title", NEWS, 6),
    "a patient's news": ("nora", "/patients/id-602?episode=e-1", LIST_NOTIFICATIONS, "title", NEWS, 6),
}
"""Pages' lists that show a few of the records: how many at most."""


@pytest.mark.parametrize("more", [0, 1, 4])
@pytest.mark.parametrize("name", CUTS)
def test_a_list_shows_its_first_records_and_leads_to_the_others(
    visitor: SignIn, fake_api: FakeApi, name: str, more: int
) -> None:
    who, path, row, member, all_have, most = CUTS[name]
    for endpoint, answer in (HERS | ONE_EPISODE).items():
        fake_api.gives(endpoint, answer)
    record = samples(row)["items"][0] | all_have
    items = [
        record | {"id": f"id-{number}", member: f"Belongs {number}"}
        for number in range(901, 901 + most + more)
    ]
    fake_api.gives(row, {"totalCount": len(items), "unreadCount": len(items), "items": items})
    page = visitor(who, ROLES.get(who, "patient")).get(path)
    holding = page.select("main :is(.card, .region):contains('Belongs 901')")
    listed = holding[-1]  # a region may hold several cards
    shown = re.findall(r"Belongs (\d+)", listed.text_content())
    assert [*dict.fromkeys(shown)] == [str(number) for number in range(901, 901 + most)]
    elsewhere = "/conversations" if row is LIST_CONVERSATIONS else "/notifications"
    leads = [str(link["href"]).partition("?")[0] for link in listed.select("a")]
    assert not more or elsewhere in leads


@pytest.mark.parametrize(("end", "status"), [(None, 200), ("2026-11-20", 404)])
@pytest.mark.parametrize("who", ["amelia", "nora"])
def test_a_relationship_that_has_ended_cant_be_removed(
    visitor: SignIn, fake_api: FakeApi, who: str, end: str | None, status: int
) -> None:
    tie = EPISODE["relationships"][0] | {"endDate": end}
    fake_api.gives(READ_EPISODE, EPISODE | {"relationships": [tie]})
    page = f"/relationships/{tie['id']}/remove?episode=e-1"
    visitor(who, ROLES.get(who, "patient")).get(page, status=status)
    assert not fake_api.sent(DELETE_RELATIONSHIP)


@pytest.mark.parametrize(("role", "may"), [("embryologist", True), ("nurse", False)])
def test_an_embryo_that_is_gone_has_no_form(visitor: SignIn, fake_api: FakeApi, role: str, may: bool) -> None:
    for status, has_form in (("Stored", True), ("Discarded", False), ("Transferred", False)):
        embryos = [embryo | {"status": status} for embryo in EPISODE["embryos"]]
        fake_api.gives(READ_EPISODE, EPISODE | {"embryos": embryos})
        page = visitor("elif", role).get(f"/storage/{embryos[0]['id']}?episode=e-1")
        assert bool(page.select("main form[action^='/storage/']")) is (has_form and may), status


@pytest.mark.parametrize("kind", ConsentKind)
def test_a_form_names_the_patients_embryos_that_are_still_there_if_its_kind_is_about_embryos(
    in_process: InProcess, kind: ConsentKind
) -> None:
    def embryo(id_: str, status: EmbryoStatus, whose: str) -> EmbryoStorage:
        return EmbryoStorage(id=id_, embryo_code=id_, status=status, patient_id=whose)

    stored, gone = EmbryoStatus.STORED, EmbryoStatus.DISCARDED
    episode = Episode(
        id="e-1",
        status=CareStatus.ACTIVE,
        patient=Patient(id="p-1"),
        embryos=(embryo("hers", stored, "p-1"), embryo("gone", gone, "p-1"), embryo("other", stored, "p-2")),
    )
    about_embryos = {"Storage", "StorageRenewal", "Disposition", "Donation", "Treatment"}
    with in_process.app.test_request_context():
        g.language = "en"
        named = begin_draft._embryos(kind, episode, "p-1")
    assert [one.id for one in named] == ["hers"] * (kind.value in about_embryos)


@pytest.mark.parametrize(("status", "is_gone"), [(200, False), (404, True), (503, False)])
@pytest.mark.parametrize("path", ["/", "/storage", "/episodes"])
def test_only_where_no_treatment_is_left_it_is_said(
    visitor: SignIn, fake_api: FakeApi, path: str, status: int, is_gone: bool
) -> None:
    for row, answer in (HERS | ONE_EPISODE).items():
        fake_api.gives(row, answer)
    if status != 200:
        fake_api.refuses(READ_EPISODE, status)
    assert bool(visitor("amelia").get(path).select("[data-state=gone]")) is is_gone
