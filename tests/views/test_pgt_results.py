"""Genetic tests at the care service: no sex, nothing before the release, and what changed (tests/pages has the page)."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace

import pytest

from portal.careservice.ids import sample_id
from portal.services.pgt_results import PgtCall, PgtResult, PgtStatus
from portal.web import seen_results
from tests.support.builders import person
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Visitor

EPISODE = sample_id("episode", "grace-2")


def address(code: str) -> str:
    return f"/pgt-results/{sample_id('pgt-result', code)}"


@pytest.mark.parametrize("code", ["GO-1", "GO-2", "GO-3", "GO-4", "GO-5"])
def test_no_page_reveals_an_embryos_sex(grace: Visitor, elif_: Visitor, code: str) -> None:
    for visitor in (grace, elif_):
        words = visitor.get(address(code)).words
        assert not re.search(r"\b(XX|XY|X|Y|(fe)?male|boy|girl)\b", words), words
        assert "The embryo’s sex isn’t shown here." in words


def test_an_unreleased_result_is_not_found_for_patients(grace: Visitor, elif_: Visitor) -> None:
    hidden, unknown = grace.get(address("GO-6"), status=404), grace.get("/pgt-results/nothing", status=404)
    assert hidden.heading == unknown.heading == "We can’t find that"
    assert len(hidden.words) == len(unknown.words)
    assert "Not released" in elif_.get(address("GO-6")).words


def test_another_patients_result_is_not_found(portal: PortalThread) -> None:
    for who in ("amelia", "daniel", "maya", "omar"):
        assert portal.sign_in(who).get(address("GO-1"), status=404).heading == "We can’t find that"


@pytest.mark.parametrize(("country", "is_told"), [("GB", False), ("ES", False), ("US", True)])
def test_a_test_that_the_country_does_not_allow_is_not_described(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch, country: str, is_told: bool
) -> None:
    from portal.services.pgt_results import PgtResult, PgtStatus, PgtType
    from portal.views import pgt_view as view

    result = PgtResult(id="r", embryo_code="GO-1", status=PgtStatus.RELEASED, test_type=PgtType.PGT_P)
    with portal.app.test_request_context():
        monkeypatch.setattr(view, "g", SimpleNamespace(tenant=SimpleNamespace(country=country)))
        words = view.ResultView(result).test
    assert ("many genes" in words) == is_told


@pytest.fixture
def amend(service: CareService) -> Iterator[Callable[[str], None]]:
    """Change the laboratory's call of GO-2 to another, as an amended result."""

    def change(call: str, status: str = "Amended") -> None:
        with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database, database:
            put = "UPDATE pgt_results SET call = ?, status = ? WHERE id = ?"
            database.execute(put, (call, status, sample_id("pgt-result", "GO-2")))

    yield change
    change("Euploid", "Released")


def test_a_call_first_seen_in_the_list_counts_as_seen(
    portal: PortalThread, amend: Callable[..., None]
) -> None:
    nora = portal.sign_in("nora")
    assert "before:" not in nora.get(f"/episodes/{EPISODE}/embryos").words
    amend("Segmental")
    assert "it was: Euploid" in nora.get(address("GO-2")).words


def test_a_percentage_is_compared_where_both_are_known_and_old_looks_go(
    portal: PortalThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    def result(id_: str, percent: float | None) -> PgtResult:
        return PgtResult(
            id=id_, embryo_code="E", status=PgtStatus.AMENDED, call=PgtCall.LOW_MOSAIC, mosaic_percent=percent
        )

    monkeypatch.setattr(seen_results, "_MOST", 2)
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        who = person("percent")
        assert not seen_results.previous_calls(who, [result("a", None)])
        assert not seen_results.previous_calls(who, [result("a", 32)])
        before = seen_results.previous_calls(who, [result("a", 45)])
        assert before == {"a": seen_results.SeenCall("LowMosaic", 32)}
        assert seen_results.previous_calls(who, [result("a", 45)]) == before
        seen_results.previous_calls(who, [result("b", 1), result("c", 1)])
        assert not seen_results.previous_calls(who, [result("a", 46)])
        assert not seen_results.previous_calls(person("someone else"), [result("a", 50)])
