"""Ending an embryo's storage with the operator's command."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from portal.careservice.__main__ import main
from tests.careservice.api.calls import EPISODES, Api
from tests.careservice.api.test_embryo_moves import Case
from tests.careservice.conftest import Place
from tests.careservice.families import Families


def end(place: Place, kept: str, /, **changes: str | list[str]) -> int:
    given: dict[str, str | list[str]] = {
        "embryo": kept,
        "to": "Discarded",
        "reason": "death",
        "explanation": "Death certificate 12/34",
        "by": ["Ada Whitfield", "Victor Castellanos"],
    }
    words = ["end-storage", "--database", place.database_url]
    for name, value in (given | changes).items():
        words += [f"--{name}", *([value] if isinstance(value, str) else value)]
    return main(words)


def status(api: Api, episode: str) -> str:
    return str(api.get("elif", f"{EPISODES}/{episode}")["embryos"][0]["status"])


def test_ending_storage_needs_two_people_and_a_reason(
    api: Api, families: Families, care_place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    family = families.add("grace")
    assert end(care_place, family.embryos[0], reason="court-order", to="Donated") == 0
    assert "Ada Whitfield and Victor Castellanos" in capsys.readouterr().out
    assert status(api, family.episode) == "Donated"
    assert families.ends_of(family.embryos[0]) == [
        ("Donated", "court-order", "Death certificate 12/34", "Ada Whitfield", "Victor Castellanos")
    ]
    assert end(care_place, family.embryos[0]) == 2


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        ({"by": ["Ada Whitfield", "ada  WHITFIELD."]}, "by"),
        ({"by": ["Ada Whitfield", " "]}, "by"),
        ({"explanation": " - "}, "explanation"),
        ({"reason": "limit-passed"}, "reason"),
        ({"embryo": "none"}, "embryo"),
    ],
)
def test_missing_arguments_are_named(
    api: Api,
    families: Families,
    care_place: Place,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, str | list[str]],
    member: str,
) -> None:
    family = families.add("grace")
    assert end(care_place, family.embryos[0], **changes) == 2
    assert capsys.readouterr().err.startswith(f"--{member}: ")
    assert status(api, family.episode) == "Stored"


@pytest.mark.parametrize("limit", ["statutory_limit", "storage_consented_until"])
def test_a_passed_limit_ends_storage(api: Api, families: Families, care_place: Place, limit: str) -> None:
    today = datetime.now(ZoneInfo("Europe/London")).date()
    assert end(care_place, families.add("grace", **{limit: today}).embryos[0], reason="limit-passed") == 2
    family = families.add("grace", **{limit: today - timedelta(days=1)})
    assert end(care_place, family.embryos[0], reason="limit-passed") == 0
    assert status(api, family.episode) == "Discarded"


def test_a_renewed_consent_has_no_date_that_has_passed(
    api: Api, families: Families, care_place: Place
) -> None:
    family = families.add("grace", storage_consented_until=date(2020, 1, 1))
    Case(api, family).signed("StorageRenewal")
    assert Case(api, family).embryo["storageConsentedUntil"] is None
    assert end(care_place, family.embryos[0], reason="limit-passed") == 2
    assert status(api, family.episode) == "Stored"


@pytest.mark.parametrize("words", [{"to": "Transferred"}, {"reason": "tidying"}, {"by": ["Ada"]}])
def test_unknown_ends_and_reasons_are_refused(
    care_place: Place, families: Families, words: dict[str, str | list[str]]
) -> None:
    with pytest.raises(SystemExit):
        end(care_place, families.add("grace").embryos[0], **words)
