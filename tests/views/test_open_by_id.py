"""Opening by id over HTTP."""

from __future__ import annotations

import pytest

from portal.careservice.ids import sample_id
from portal.web.record_links import address_of
from portal.web.routing import endpoint_at
from tests.support.stack import PortalThread
from tests.support.visitor import Page, SignIn, Visitor

EPISODE = sample_id("episode", "amelia-1")
CONSENT = sample_id("consent", "amelia-genetic")
PROSPECT = sample_id("prospect", "tomasz")
EMR = sample_id("emr-endpoint", "riverside-main")


def ask(visitor: Visitor, pasted: str, kind: str = "", status: int | None = 200) -> Page:
    return visitor.get("/open").form("/open").submit(id=pasted, kind=kind, status=status)


def test_an_ids_kind_is_detected(nora: Visitor) -> None:
    assert ask(nora, EPISODE).path == f"/episodes/{EPISODE}"
    assert ask(nora, f"  {CONSENT} ").path == f"/consents/{CONSENT}"


def test_a_chosen_kind_opens_directly(nora: Visitor) -> None:
    assert ask(nora, PROSPECT, "prospect").path == f"/prospects/{PROSPECT}/book"
    assert ask(nora, EPISODE, "episode").path == f"/episodes/{EPISODE}"


def test_links_are_recognised_in_any_form(nora: Visitor, portal: PortalThread) -> None:
    path = f"/episodes/{EPISODE}/documents"
    for pasted in (path, f"{portal.origin()}{path}", f"{portal.origin()}{path}".removeprefix("http://")):
        assert ask(nora, pasted).path == path


@pytest.mark.parametrize(
    "pasted",
    ["https://elsewhere.example/episodes/1", "//elsewhere.example/episodes/1", "http://[bad/episodes/1"],
)
def test_foreign_links_are_refused(nora: Visitor, pasted: str) -> None:
    page = ask(nora, pasted, status=422)
    assert "leads elsewhere" in page.words


@pytest.mark.parametrize("pasted", ["/nowhere", "/sign-in?next=/x", "/healthz", "/episodes/../../x"])
def test_links_without_a_page_are_reported(nora: Visitor, pasted: str) -> None:
    assert "leads to no page" in ask(nora, pasted, status=404).words


def test_an_id_that_is_no_records_is_audited_without_a_kind(nora: Visitor, portal: PortalThread) -> None:
    nobodys = "6f1d0c1e-0000-4000-8000-000000000000"
    ask(nora, nobodys, status=404)
    told = [line for line in portal.audited() if line.get("id") == nobodys]
    assert [(line["audit"], line.get("kind")) for line in told] == [("open", None)]
    assert nora.get("/open").tree.select_one("#id")["value"] == nobodys, "a reload shows what was pasted"


@pytest.mark.parametrize("slashes", ["//", "///", "/%2F", "//\\", "/\\"])
@pytest.mark.parametrize("rest", [f"episodes/{EPISODE}", f"evil.example/episodes/{EPISODE}"])
def test_the_address_of_a_pasted_link_begins_with_one_slash(
    nora: Visitor, portal: PortalThread, slashes: str, rest: str
) -> None:
    for address, field, found in (("/open", "id", ""), ("/find", "q", "/find/results")):
        form = nora.get("/open").form(address)
        data = {**dict(form.fields()), field: portal.origin() + slashes + rest}
        page = nora.request("POST", address, data=data, status=None, follow=False)
        location = page.headers.get("Location", "/")
        assert location.startswith("/") and location[1:2] not in ("/", "\\"), location
        assert page.headers.get("Location", "") == found, "it is no link to a page"


def test_an_unknown_id_reports_what_was_tried_and_is_kept(nora: Visitor) -> None:
    page = ask(nora, "not-an-id", status=404)
    assert "No episode, consent form or PGT result" in page.words
    assert page.tree.select_one("#id")["value"] == "not-an-id"


@pytest.mark.parametrize("pasted", ["", "x" * 200, ".."])
def test_an_invalid_id_is_reported(nora: Visitor, pasted: str) -> None:
    assert ask(nora, pasted, status=422).tree.select_one(".error-summary")


def test_offered_kinds_depend_on_the_role(person: SignIn, nora: Visitor) -> None:
    def offered(visitor: Visitor) -> set[str]:
        return {str(option["value"]) for option in visitor.get("/open").select("#kind option")}

    assert {"episode", "consent", "prospect"} <= offered(nora)
    assert "emr-endpoint" not in offered(nora)
    assert "emr-endpoint" in offered(person("ada"))
    assert "prospect" not in offered(person("elif"))
    assert ask(nora, EMR, "", status=404)
    nora.post("/open", {"id": EMR, "kind": "emr-endpoint"}, status=422)


def test_recently_opened_records_come_first_by_name(person: SignIn) -> None:
    visitor = person("victor")
    assert "What you open comes here" in visitor.get("/open").words
    visitor.get(f"/episodes/{EPISODE}/documents")
    visitor.get(f"/consents/{CONSENT}")
    visitor.get(f"/episodes/{EPISODE}")
    page = visitor.get("/open")
    rows = [row.words for row in page.select("section a.link-row")]
    assert [row.partition(" ·")[0] for row in rows] == ["Amelia Hart Episode", "Amelia Hart Consent form"]
    assert EPISODE not in page.words
    assert page.follow("Consent form").path == f"/consents/{CONSENT}"


@pytest.mark.parametrize(
    "kind",
    [
        "episode",
        "consent",
        "conversation",
        "file",
        "pgt-result",
        "embryo",
        "protocol",
        "prospect",
        "emr-endpoint",
    ],
)
def test_every_kind_of_record_has_a_page(portal: PortalThread, kind: str) -> None:
    with portal.app.test_request_context("/", base_url=portal.origin()):
        assert endpoint_at(address_of(kind, "7") or "") is not None


def test_a_link_with_an_invalid_query_is_not_an_error(nora: Visitor) -> None:
    assert ask(nora, f"/episodes/{EPISODE}?x=\u202e%00", status=None).status == 200


def test_patients_cannot_open_by_id(person: SignIn) -> None:
    amelia = person("amelia")
    amelia.get("/open", status=403)
    assert "Open by id" not in amelia.get("/").text
