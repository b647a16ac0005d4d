"""The page of each kind of record."""

from __future__ import annotations

import pytest

from portal.web.record_links import address_of, kind_at


@pytest.mark.parametrize(
    ("kind", "address"),
    [
        ("Episode", "/episodes/7"),
        ("consent", "/consents/7"),
        ("ConsentForm", "/consents/7"),
        ("consent_form", "/consents/7"),
        ("PGTResult", "/pgt-results/7"),
        ("pgt-result", "/pgt-results/7"),
        ("FertilityProtocol", "/protocols/7"),
        ("Document", "/files/7"),
        ("EmrEndpointConfig", "/emr-endpoints/7/remove"),
        ("Prospect", "/prospects/7/book"),
        ("Payment", None),
        ("", None),
    ],
)
def test_all_names_of_a_kind_lead_to_one_page(kind: str, address: str | None) -> None:
    assert address_of(kind, "7") == address


@pytest.mark.parametrize("id_", [None, "", "..", "a/b", "x" * 129, "a\0b"])
def test_an_invalid_id_has_no_page(id_: str | None) -> None:
    assert address_of("episode", id_) is None


def test_an_id_is_quoted() -> None:
    assert address_of("episode", "a b?c") == "/episodes/a%20b%3Fc"


def test_an_embryo_is_shown_in_the_episode_that_holds_it() -> None:
    assert address_of("EmbryoStorage", "7", data={"episodeId": "E 1"}) == "/storage/7?episode=E%201"
    for unusable in ({}, {"episodeId": ""}, {"episodeId": 3}, {"episodeId": "../x"}):
        assert address_of("EmbryoStorage", "7", data=unusable) == "/storage/7"


def test_a_possible_duplicate_enquiry_leads_to_merging() -> None:
    assert address_of("Prospect", "7", data={"mergeId": "8"}) == "/prospects/7/merge?merge=8"


def test_a_path_is_matched_only_to_its_own_kind() -> None:
    assert kind_at("/emr-endpoints/7/remove") == "emr-endpoint"
    assert kind_at("/conversations/7") == "conversation"
    assert kind_at("/") is None
