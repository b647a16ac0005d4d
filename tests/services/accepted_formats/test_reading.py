"""Another implementation of the care API: every page reads the same, and what the specification leaves open is tolerated."""

from __future__ import annotations

import re
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from portal.services import capabilities
from tests.services.accepted_formats.pages import AMELIAS, GRACE, GRACES, sign_in
from tests.support.dialect import DialectProxy
from tests.support.signing import consent
from tests.support.stack import PortalThread
from tests.support.visitor import Page

AT_WORK = sample_id("emr-endpoint", "riverside-main")


def sections(page: Page) -> set[str]:
    """Return the addresses in the navigation."""
    return {str(a["href"]) for a in page.select("nav a[href]") if a.get("data-key")}


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_list_without_a_total_shows_no_count(people: Any) -> None:
    page = people("nora").get("/consents?list=all")
    assert re.search(r"at least 2[56] forms", page.words)
    assert "Page 1" in page.words
    assert "Page 1 of" not in page.words
    assert "Page 2" in page.follow("Next").words


def test_the_bell_counts_unread_notifications_if_the_api_does_not(people: Any) -> None:
    amelia = people("amelia")
    unread = len(amelia.get("/notifications?unread=1").select(".notification"))
    assert unread > 2
    assert amelia.get("/consents").bell == unread
    assert f"Unread {unread}" in amelia.get("/notifications").words


@pytest.mark.parametrize("name", ["amelia-plan", "amelia-scan", "amelia-semen", "amelia-bloods"])
def test_a_file_in_base64_is_the_same_to_the_byte(
    portal: PortalThread, people: Any, proxy: DialectProxy, name: str
) -> None:
    path = f"/files/{sample_id('file', name)}"
    here, native = people("amelia").get(path), portal.sign_in("amelia").get(path)
    assert here.response.content == native.response.content
    if native.headers["Content-Type"] in ("application/pdf", "image/png"):  # text can't be told by its bytes
        assert here.headers["Content-Type"] == native.headers["Content-Type"]
    people("amelia").get(path, headers={"Range": "bytes=0-9", "If-None-Match": '"x"'})


# ── missing, unknown or wrong values ────────────────────────────────────────────────────────────────────


def test_an_unknown_value_of_a_list_is_shown_as_text(people: Any, proxy: DialectProxy) -> None:
    def change(_method: str, path: str, answer: Any) -> Any:
        if "episodes" in path:
            answer["case"]["status"] = answer["stage"] = "AwaitingFunding"
            answer["embryos"] = [{**embryo, "status": 77} for embryo in answer["embryos"]]
        if "consent-forms" in path and isinstance(answer, list):
            answer = [{**form, "status": "LostInThePost", "kind": 99} for form in answer]
        return answer

    with proxy.speaking(change=change):
        assert "Lost in the post" in people("nora").get("/consents?list=all").words
        assert "Awaiting funding" in people("nora").get(f"/episodes/{AMELIAS}").words
        assert "77" in people("grace").get(f"/episodes/{GRACES}/embryos").words
        for who in ("amelia", "grace", "elif"):
            for path in ("/", "/consents", "/storage", "/episodes"):
                people(who).get(path, status=None)


def test_a_missing_required_field_is_a_502_without_values(people: Any, proxy: DialectProxy) -> None:
    def change(_method: str, path: str, answer: Any) -> Any:
        return {**answer, "title": ["Dolores"], "status": None} if "consent-forms/" in path else answer

    with proxy.speaking(change=change):
        page = people("amelia").get(consent("amelia-treatment-2"), status=502)
    assert "This can’t be shown right now" in page.words
    assert "Dolores" not in page.text
    assert "title" not in page.words


@pytest.mark.parametrize("form", ["abp", "problem", "oauth", "html", "empty"])
def test_an_error_is_shown_in_the_portals_words_whatever_its_format(
    people: Any, proxy: DialectProxy, form: str
) -> None:
    with proxy.speaking(errors=form):
        page = people("amelia").get(f"/episodes/{GRACES}", status=404)
        assert page.heading == "We can’t find that"
        page = people("ada").get(f"/emr-endpoints/{AT_WORK}/remove")
        told = page.form(f"/emr-endpoints/{AT_WORK}").submit(status=403, typed=AT_WORK)
        known = form in ("abp", "problem", "oauth")
        assert ("It is exchanging data right now." in told.words) == known


def test_a_module_the_clinic_lacks_is_explained_and_leaves_the_navigation(
    people: Any, foreign: PortalThread, proxy: DialectProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capabilities, "SECONDS", 60)
    elsewhere = people("maya")
    with proxy.speaking(not_offered=r"GET /api/(calendar/.*|messaging/getconversations)"):
        nora = sign_in(foreign, "nora")
        assert "/care-team" in sections(nora.get("/consents"))
        for path in ("/care-team", "/conversations"):
            page = nora.get(path, status=501)
            assert page.heading == "Your clinic doesn’t offer this here"
            assert path not in sections(page)
        home = nora.get("/")
        assert not sections(home) & {"/care-team", "/conversations"}
        assert home.select("#messages [data-state=not-offered]")
        assert home.select("#consents table")
        assert "/conversations" in sections(elsewhere.get("/consents")), "another clinic has it"
    foreign.clock.advance(61)
    assert sections(nora.get("/consents")) >= {"/care-team", "/conversations"}
    foreign.clock.advance(-61)


def test_a_record_kept_elsewhere_says_so_and_keeps_the_navigation(people: Any, proxy: DialectProxy) -> None:
    with proxy.speaking(not_offered=r"(GET|PUT) /api/care/(pgt-results|patients)/.*"):
        grace = people("grace")
        before = sections(grace.get("/"))
        page = grace.get(f"/pgt-results/{sample_id('pgt-result', 'GO-4')}", status=501)
        assert page.heading == "This record is kept elsewhere"
        page = people("nora").get(f"/patients/{GRACE}/edit?episode={GRACES}")
        told = page.form(f"/patients/{GRACE}").submit(status=None, preferred_name="Gigi")
        assert told.status in (422, 501)
        assert "Gigi" in str(told.tree)
        assert sections(grace.get("/")) == before
