"""What staff are shown as a patient's view is what the care service tells the patient, record by record."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from msgspec.structs import replace

from portal.careservice.ids import sample_id
from portal.services.api import AnyEndpoint
from portal.services.as_patient import AsPatient
from portal.services.cases import CareStatus
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.conversations import LIST_CONVERSATIONS, Conversation, ConversationQuery, Participant
from portal.services.decoding import PagedResult, decode
from portal.services.directories import Documents
from portal.services.endpoints import ALL
from portal.services.episodes import READ_EPISODE, Episode
from portal.services.errors import NotFound
from portal.services.listed import Listed
from portal.services.patients import Patient
from portal.services.pgt_results import READ_PGT_RESULT, without_sex
from portal.services.protocols import LIST_PROTOCOLS, Protocol, ProtocolQuery, ProtocolStatus
from portal.services.relationships import Relationship, RelationshipType
from tests.careservice.api.calls import Api
from tests.support.stack import CareService
from tests.support.tokens import TokenMaker

EPISODES = [sample_id("episode", name) for name in ("amelia-1", "grace-1", "grace-2")]
RESULTS = [sample_id("pgt-result", f"GO-{number}") for number in range(1, 7)]
PEOPLE = ("amelia", "daniel", "grace")


@pytest.fixture(scope="module")
def api(service: CareService) -> Api:
    return Api(TokenMaker(service))


def told(api: Api, who: str, row: AnyEndpoint, id_: str = "", **query: Any) -> Any:
    """What the service answers this person, decoded; None if it isn't theirs."""
    answer = api(who, "GET", row.template.partition("{")[0] + id_, **query)
    return None if answer.status_code == 404 else decode(json.dumps(answer.json()).encode(), row.answer)


@pytest.fixture(params=PEOPLE)
def view(api: Api, request: pytest.FixtureRequest) -> AsPatient:
    """The view of one person, with all treatments as staff know them."""
    who = request.param
    episodes = {id_: told(api, "nora", READ_EPISODE, id_) for id_ in EPISODES}
    id_ = sample_id("patient", who)
    forms = Listed(told(api, "nora", LIST_CONSENTS, MaxResultCount=1000).items)
    return AsPatient(id_, sample_id("person", who), who.title(), date.today(), forms, episodes)


def as_told(view: AsPatient, row: AnyEndpoint, answer: Any, **ids: str) -> Any:
    try:
        return view.read(row, None, ids, lambda _query: answer)
    except NotFound:
        return None


def differing(one: Any, other: Any) -> list[str]:
    """The members that differ."""
    if one is None or other is None:
        return [] if one is other else ["one of them is told nothing"]
    return [name for name in one.__struct_fields__ if getattr(one, name) != getattr(other, name)]


def name_of(view: AsPatient) -> str:
    return view.name.casefold()


def test_treatments(api: Api, view: AsPatient) -> None:
    for id_ in EPISODES:
        own, shown = (
            told(api, name_of(view), READ_EPISODE, id_),
            as_told(view, READ_EPISODE, None, episodeId=id_),
        )
        if own is not None:
            documents = Documents() if view.episodes[id_].pgt_results else own.documents
            own = replace(own, conversation_ids=(), documents=documents)
        assert differing(shown, own) == [], id_
    assert any(view.may_see(episode) for episode in view.episodes.values())


def test_forms(api: Api, view: AsPatient) -> None:
    own = {form.id: form for form in told(api, name_of(view), LIST_CONSENTS, MaxResultCount=1000).items}
    shown = {form.id: seen for form in view.forms if (seen := as_told(view, READ_CONSENT, form))}
    assert shown == own and own


def test_conversations(api: Api, view: AsPatient) -> None:
    everything = told(api, "nora", LIST_CONVERSATIONS, MaxResultCount=1000, IncludeArchived=True).items
    own = told(api, name_of(view), LIST_CONVERSATIONS, MaxResultCount=1000, IncludeArchived=True).items
    assert (
        {talk.id for talk in everything if view.sees_conversation(talk)} == {talk.id for talk in own} != set()
    )


def test_conversations_are_asked_for_by_name_and_archived_ones_too(view: AsPatient) -> None:
    asked: list[Any] = []
    query = ConversationQuery(skip_count=0, max_result_count=1)
    view.read(LIST_CONVERSATIONS, query, {}, lambda given: asked.append(given) or PagedResult(items=()))
    (wanted,) = asked
    assert (wanted.filter, wanted.include_archived, wanted.max_result_count) == (view.name, True, 50)


def test_genetic_tests(api: Api, view: AsPatient) -> None:
    for id_ in RESULTS:
        own = told(api, name_of(view), READ_PGT_RESULT, id_)
        if own is not None:
            own = replace(own if own.sex_disclosed else without_sex(own), report_file_id=None)
        assert as_told(view, READ_PGT_RESULT, told(api, "nora", READ_PGT_RESULT, id_)) == own, id_


def test_plans_are_the_patients_own_or_of_the_treatment_asked_for() -> None:
    view = AsPatient("p-1", "amelia", "Amelia", date(2026, 11, 26), Listed(), {})
    named = {"name": "Plan", "type": None, "status": ProtocolStatus.ACTIVE}
    plans = (
        Protocol(id="own", patient_id="p-1", **named),
        Protocol(id="of-treatment", patient_id="p-2", episode_id="e-1", **named),
        Protocol(id="anothers", patient_id="p-2", episode_id="e-2", **named),
        Protocol(id="template", **named),
    )
    for episode_id, told in (("e-1", ["own", "of-treatment"]), (None, ["own"])):
        query = ProtocolQuery(skip_count=0, max_result_count=9, episode_id=episode_id)
        page = view.read(LIST_PROTOCOLS, query, {}, lambda _query: PagedResult(items=plans, total_count=4))
        assert [plan.id for plan in page.items] == told


def test_nothing_else_is_read() -> None:
    view = AsPatient("p-1", "amelia", "Amelia", date(2026, 11, 26), Listed(), {})
    known = {READ_EPISODE, READ_CONSENT, LIST_CONSENTS, LIST_CONVERSATIONS, READ_PGT_RESULT, LIST_PROTOCOLS}
    for row in ALL:
        if row not in known and row.template != "/api/app/notification":
            with pytest.raises(NotFound):
                view.read(row, None, {}, lambda _query: pytest.fail("was asked"))


DAY = date(2026, 11, 27)
SHARED = Relationship(
    id="r", patient_id="p", related_patient_id="q", type=RelationshipType.PARTNER, is_portal_shared=True
)
HERS = Episode(
    id="e",
    status=CareStatus.ACTIVE,
    patient=Patient(id="p", first_name="Amelia", mrn="RF-1"),
    partner=Patient(id="q", user_id="daniel", first_name="Daniel", mrn="RF-2"),
    relationships=(SHARED,),
)
DANIELS = AsPatient(
    patient_id="q", account="daniel", name="Daniel", day=DAY, forms=Listed(()), episodes={"e": HERS}
)


@pytest.mark.parametrize(
    ("episode", "relationship", "sees"),
    [
        ({}, {}, True),
        ({"patient": Patient(id="q"), "partner": None}, {"is_portal_shared": False}, True),
        *(({"partner": partner}, {}, False) for partner in (None, Patient(id="z"))),
        ({}, {"type": RelationshipType.PROXY}, False),
        ({}, {"type": None}, False),
        ({}, {"is_portal_shared": False}, False),
        ({}, {"end_date": DAY}, False),
        ({}, {"patient_id": "z"}, False),
        ({}, {"related_patient_id": "z"}, False),
    ],
    ids=str,
)
def test_a_partner_sees_a_treatment_while_it_is_shared_with_them(
    episode: dict[str, Any], relationship: dict[str, Any], sees: bool
) -> None:
    treatment = replace(HERS, relationships=(replace(SHARED, **relationship),), **episode)
    assert DANIELS.may_see(treatment) is sees
    if not sees:
        with pytest.raises(NotFound):
            DANIELS.episode(treatment)
    elif treatment.patient.id == "p":
        shown = DANIELS.episode(treatment)
        assert (shown.patient.mrn, shown.partner and shown.partner.mrn) == ("", "RF-2")
    view = replace(DANIELS, episodes={"e": treatment})
    about = Conversation(id="t", patient_id="p", participants=(Participant(id="daniel"),))
    assert view.sees_conversation(about) is (sees and treatment.patient.id == "p")
    assert not view.sees_conversation(replace(about, participants=(Participant(id="grace"),)))
    assert view.sees_conversation(replace(about, patient_id=None)) and view.sees_conversation(
        replace(about, patient_id="q")
    )
