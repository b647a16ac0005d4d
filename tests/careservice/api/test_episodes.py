"""Episodes, and which parts each side sees."""

from __future__ import annotations

import json

import pytest

from portal.careservice.ids import sample_id
from tests.careservice.api.calls import AMELIA_EPISODE, EPISODES, GRACE_EPISODE, Api, patient


@pytest.mark.parametrize("who", ["amelia", "daniel", "nora", "ada"])
def test_patient_partner_and_staff_see_the_whole_episode(api: Api, who: str) -> None:
    episode = api.get(who, f"{EPISODES}/{AMELIA_EPISODE}")
    assert episode["stage"] == "Stimulation"
    assert episode["patient"]["id"] == patient("amelia")
    assert episode["partner"]["id"] == patient("daniel")
    assert episode["case"]["concurrencyStamp"]
    assert episode["protocol"]["medications"][0]["dose"] == 225
    assert len(episode["monitoring"]) == 4
    assert episode["monitoring"][-1]["follicles"]["right"][0] == 16
    assert [appointment["status"] for appointment in episode["appointments"]][:2] == ["Completed", "Booked"]
    assert {"Scans", "Results", "Letters"} <= {
        folder["name"] for folder in episode["documents"]["directories"]
    }
    assert episode["careTeam"][0]["name"].startswith("Dr ")
    assert episode["alerts"][0]["severity"] == "Warning"
    assert {form["status"] for form in episode["consentForms"]} >= {"Signed", "Expired", "Superseded"}


@pytest.mark.parametrize("who", ["grace", "maya", "omar"])
def test_an_episode_is_not_found_by_others(api: Api, who: str) -> None:
    answer = api(who, "GET", f"{EPISODES}/{AMELIA_EPISODE}")
    missing = api(who, "GET", f"{EPISODES}/{sample_id('episode', 'nothing')}")
    assert answer.status_code == missing.status_code == 404
    assert answer.content == missing.content


def test_an_episode_names_only_conversations_that_the_reader_may_see(api: Api) -> None:
    hers = api.get("amelia", f"{EPISODES}/{AMELIA_EPISODE}")["conversationIds"]
    his = api.get("daniel", f"{EPISODES}/{AMELIA_EPISODE}")["conversationIds"]
    theirs = api.get("nora", f"{EPISODES}/{AMELIA_EPISODE}")["conversationIds"]
    assert sample_id("conversation", "daniel-sample") not in hers
    assert sample_id("conversation", "amelia-injection") not in his
    assert set(hers) | set(his) == set(theirs)


def test_only_staff_get_the_storage_place_of_embryos(api: Api) -> None:
    assert all(
        embryo["location"] is None for embryo in api.get("grace", f"{EPISODES}/{GRACE_EPISODE}")["embryos"]
    )
    seen = api.get("elif", f"{EPISODES}/{GRACE_EPISODE}")["embryos"]
    assert seen[0]["location"] == {
        "facility": "Quayside", "tank": "T4", "canister": "C2", "cane": "17", "position": "1",
    }  # fmt: skip


def test_results_appear_once_they_are_released(api: Api) -> None:
    hers = api.get("grace", f"{EPISODES}/{GRACE_EPISODE}")
    theirs = api.get("elif", f"{EPISODES}/{GRACE_EPISODE}")
    assert "GO-6" not in {result["embryoCode"] for result in hers["pgtResults"]}
    assert "GO-6" in {result["embryoCode"] for result in theirs["pgtResults"]}
    assert ["pgtResultId" in embryo for embryo in hers["embryos"]] == [True] * 5 + [False]
    assert not any("GO-6" in file["name"] for file in hers["documents"]["files"])
    assert any("GO-6" in file["name"] for file in theirs["documents"]["files"])
    calls = [result["call"] for result in theirs["pgtResults"]]
    assert calls.count("Euploid") == 3
    assert {"LowMosaic", "Aneuploid", "NoResult"} <= set(calls)


def test_an_earlier_cycle_ended_without_pregnancy(api: Api) -> None:
    episode = api.get("grace", f"{EPISODES}/{sample_id('episode', 'grace-1')}")
    assert (episode["outcome"], episode["stage"], episode["protocol"]) == ("NoPregnancy", "Ended", None)


def test_a_pregnancy_episode_has_outcome_stage_and_no_partner(api: Api) -> None:
    episode = api.get("maya", f"{EPISODES}/{sample_id('episode', 'maya-1')}")
    assert (episode["outcome"], episode["stage"], episode["partner"]) == ("Pregnancy", "EarlyScan", None)


def test_free_text_is_returned_unchanged(api: Api) -> None:
    answer = api("nora", "GET", f"{EPISODES}/{AMELIA_EPISODE}")
    assert answer.headers["Content-Type"] == "application/json"
    assert "offer a numbing cream and" in json.loads(answer.text)["case"]["notes"]
