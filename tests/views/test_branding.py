"""Each clinic's branding, and the style guide of all components."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.stack import ROOT, CareService, PortalThread, free_port
from tests.support.visitor import Visitor


def test_each_clinic_has_its_own_colour(portal: PortalThread) -> None:
    for tenant, colour in (("riverside", "#0b6e4f"), ("harbour", "#1f4e8c")):
        visitor = portal.visitor(tenant)
        (link,) = visitor.get("/signed-out").select("link[rel=stylesheet]")
        answer = visitor.request("GET", str(link["href"]))
        assert answer.response.text.endswith(f":root{{--accent:{colour};--on-accent:#ffffff}}")
        assert answer.headers["Content-Type"].startswith("text/css")


@pytest.mark.parametrize("encoding", ["br", "gzip", "identity"])
def test_the_clinics_style_sheet_is_served_compressed(portal: PortalThread, encoding: str) -> None:
    visitor = portal.visitor()
    (link,) = visitor.get("/signed-out").select("link[rel=stylesheet]")
    answer = visitor.request("GET", str(link["href"]), headers={"Accept-Encoding": encoding})
    assert answer.headers.get("Content-Encoding", "identity") == encoding
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert (
        int(answer.headers["Content-Length"]) < {"br": 13_500, "gzip": 15_000, "identity": 72_000}[encoding]
    )
    assert "@layer" in answer.response.text and "/*" not in answer.response.text


def test_a_style_sheet_of_another_release_or_clinic_is_not_found(portal: PortalThread) -> None:
    visitor = portal.visitor()
    (link,) = visitor.get("/signed-out").select("link[rel=stylesheet]")
    address = str(link["href"])
    visitor.request("GET", address.replace("0b6e4f", "1f4e8c"), status=404)
    visitor.request("GET", re.sub(r"static/\w+", "static/0123456789ab", address), status=404)


def test_the_manifest_names_the_clinic_and_icons_that_exist(portal: PortalThread) -> None:
    visitor = portal.visitor()
    manifest = visitor.request("GET", "/portal.webmanifest").response.json()
    assert manifest["name"] == "Riverside Fertility"
    assert manifest["display"] == "standalone"
    assert manifest["icons"][0]["src"].endswith("/brand/riverside.svg"), "the clinic's own mark first"
    for icon in manifest["icons"]:
        kind = visitor.request("GET", icon["src"]).headers["Content-Type"]
        assert kind.partition(";")[0] == icon["type"]


def test_static_files_are_immutable_and_their_urls_change_with_content(portal: PortalThread) -> None:
    visitor = portal.visitor()
    page = visitor.get("/signed-out")
    for element in page.select("link[rel=stylesheet][href*=static], script[src]"):
        address = str(element.get("href") or element.get("src"))
        answer = visitor.request("GET", address)
        assert "immutable" in answer.headers["Cache-Control"], address
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_style_guide_exists_only_in_the_demo(portal: PortalThread, elsewhere: Visitor) -> None:
    assert portal.visitor().get("/styles").status == 200
    assert elsewhere.get("/styles", status=404).heading == "We can’t find that"


def test_the_style_guide_shows_every_component() -> None:
    components = {
        name
        for file in (ROOT / "templates" / "ui").glob("*.html")
        for name in re.findall(r"macro ([a-z]\w*)\(", file.read_text())
    }
    shown = set(re.findall(r"ui\.(\w+)\(", (ROOT / "templates" / "style_guide.html").read_text()))
    # Components with a page of their own, those of the page frame, and helpers of other components.
    frame = {"bell", "brand", "sections", "main_navigation"}
    made_with = {"check", "carried", "href_with", "page_of", "word", "meanings", "meaning_of"}
    parts = {"field_target", "field_hint", "field_error", "field_described_by", "field_control"}
    assert components - shown == {"confirm"} | frame | made_with | parts


def test_the_style_guide_draws_every_chart(portal: PortalThread) -> None:
    page = portal.visitor().get("/styles")
    assert len(page.select("figure.chart svg[role=img] desc")) == 4


@pytest.fixture
def elsewhere(service: CareService) -> Iterator[Visitor]:
    """A portal that isn't a demo."""
    from dataclasses import replace

    running = PortalThread(replace(service.plan, portal_port=free_port()), PORTAL_DEMO="0")
    yield running.visitor()
    running.stop()
