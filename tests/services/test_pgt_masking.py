"""No result reveals an embryo's sex unless it is disclosed: only listed members pass, and no free text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.services.decoding import decode
from portal.services.episodes import get_episode
from portal.services.errors import BadResponse
from portal.services.pgt_results import READ_PGT_RESULT, PgtCall, PgtResult, get_pgt_result, without_sex

GIVEAWAYS = [
    "sex: F", "son", "45,X", "XY", "Monosomy X", "Turner", "boy", "46,XX", "46, XY", "46XX", "47,XXY,+21", "45,X0",
    "del(X)(p22.3)", "Xp22.33q28", "Yp11.2", "+X", "XX", "xy", "X", "x", "Y", "chrX", "chromosome y", "cromosoma X",
    "كروموسوم X", "male", "Female", "a girl", "SRY positive", "Klinefelter", "varón", "niña", "ذكر", "♀", "♂",
    "seq(X)x1", "loss of 23", "24", "Х", "ⅹ", "X chromosome",
]  # fmt: skip
"""The Cyrillic and the Roman X are among them."""

CHANGES = ["Trisomy", "monosomy", "mosaic gain (32 %)", "Segmental loss, 23 %", "del(q11.2q13)", "partial deletion of p15.33", "Trisomy 21", ""]  # fmt: skip

WHOLE: dict[str, Any] = {
    "id": "1",
    "embryoStorageId": "2",
    "embryoCode": "GO-3",
    "episodeId": "3",
    "testType": "PgtA",
    "laboratory": "Avon Genomics",
    "biopsiedAt": "2026-03-04T10:00:00Z",
    "reportedAt": "2026-03-12T10:00:00Z",
    "status": "Released",
    "call": "LowMosaic",
    "mosaicPercent": 32,
    "thresholds": {"euploidBelow": 20, "aneuploidAbove": 80},
    "abnormalities": [{"chromosome": "21", "change": "Trisomy"}],
    "condition": "Haemophilia",
    "sexDisclosed": False,
    "sex": "Female",
    "comment": "46,XX. Transfer suggested.",
    "reportFileId": "4",
    "releasedAt": "2026-03-14T10:00:00Z",
}

PASSED = {
    *(
        "id",
        "embryoCode",
        "embryoStorageId",
        "episodeId",
        "testType",
        "biopsiedAt",
        "reportedAt",
        "releasedAt",
    ),
    *("status", "call", "mosaicPercent", "thresholds", "abnormalities", "reportFileId", "withheld"),
}
"""The members that may say anything while a sex isn't disclosed."""


def texts(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, str):
        yield value


def let_through(answer: dict[str, Any]) -> dict[str, Any]:
    """What of the API's answer stands in the result, as JSON."""
    result = without_sex(decode(msgspec.json.encode(answer), PgtResult))
    built: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(result))
    return {name: value for name, value in built.items() if value not in (None, "", [], False)}


def test_the_example_result_has_every_member() -> None:
    names = {field.encode_name for field in msgspec.structs.fields(PgtResult)}
    assert names == set(WHOLE), "a new member: give it a value here, and decide whether it may pass"


def test_only_members_on_the_list_pass() -> None:
    assert set(let_through(WHOLE)) == PASSED


@pytest.mark.parametrize("member", sorted({*WHOLE} - {"sexDisclosed", "id"}))
def test_no_member_reveals_the_sex(member: str) -> None:
    for giveaway in GIVEAWAYS:
        found = [("X", "loss"), (giveaway, "loss"), ("21", giveaway), ("21", f"Trisomy, {giveaway}")]
        as_list = [{"chromosome": chromosome, "change": change} for chromosome, change in found]
        answer = {**WHOLE, member: as_list if member == "abnormalities" else giveaway}
        try:
            passed = let_through(answer)
        except BadResponse:  # not a number or a time
            continue
        if giveaway == "24" and member != "abnormalities":
            continue  # an ordinary number or id
        word = re.compile(rf"(?<!\w){re.escape(giveaway)}(?!\w)", re.IGNORECASE)
        told = [text for text in texts(passed) if word.search(text)]
        assert not told, f"{giveaway!r}: {passed}"


@given(st.text(min_size=1))
def test_free_text_is_withheld(text: str) -> None:
    said = {
        "laboratory": text,
        "condition": text,
        "comment": text,
        "sex": text,
        "call": text,
        "testType": text,
    }
    passed = let_through({**WHOLE, **said})
    assert not passed.keys() & {"laboratory", "condition", "comment", "sex"}
    assert passed.get("call") in (None, *[str(call) for call in PgtCall])


def test_only_chromosomes_1_to_22_are_listed_in_known_words(care: Any) -> None:
    found = [
        {"chromosome": name, "change": "Loss"} for name in ("chr1", "22", "23", "24", "0", "X", "chrXq", "Y")
    ]
    care.answers.append({**WHOLE, "abnormalities": found})
    result = get_pgt_result(care, "1")
    assert [(one.chromosome, one.change) for one in result.abnormalities] == [("1", "Loss"), ("22", "Loss")]
    assert care.calls[0].endpoint == READ_PGT_RESULT


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_in_cytogenetic_notation_is_kept(change: str) -> None:
    answer = {**WHOLE, "abnormalities": [{"chromosome": "21", "change": change}]}
    assert let_through(answer)["abnormalities"] == [{"chromosome": "21", "change": change}]


def test_withheld_members_are_named(care: Any) -> None:
    care.answers.append(WHOLE)
    assert get_pgt_result(care, "1").withholds == {"condition", "comment"}
    care.answers.append({**WHOLE, "comment": " ", "condition": None})
    assert get_pgt_result(care, "1").withholds == frozenset()


def test_the_api_cannot_set_the_list_of_withheld_members(care: Any) -> None:
    care.answers.append({**WHOLE, "sexDisclosed": True, "withheld": ["comment"]})
    assert get_pgt_result(care, "1").withholds == frozenset()


def test_a_result_with_a_disclosed_sex_is_shown_whole(care: Any) -> None:
    found = [{"chromosome": "X", "change": "Monosomy X"}]
    care.answers.append({**WHOLE, "sexDisclosed": True, "abnormalities": found})
    result = get_pgt_result(care, "1")
    assert (result.sex, result.comment, result.laboratory) == ("Female", WHOLE["comment"], "Avon Genomics")
    assert result.abnormalities[0].chromosome == "X"


def test_an_episode_lists_only_known_calls(care: Any) -> None:
    briefs = [
        {"id": "1", "embryoCode": "E1", "status": "XY", "call": "45,X"},
        {"id": "2", "embryoCode": "E2", "status": "Released", "call": "Euploid"},
    ]
    care.answers.append({"id": "e", "patient": {"id": "p"}, "status": "Active", "pgtResults": briefs})
    masked, known = get_episode(care, "e").pgt_results
    assert (masked.status, masked.call, masked.is_withheld) == ("Unknown", None, True)
    assert (known.status, known.call) == ("Released", PgtCall.EUPLOID)
