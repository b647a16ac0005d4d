"""What the audit lines of pages, fragments, searches and refusals say, before the real service.

That each page has its lines is held by `tests/pages/facts`, for every role by `tests/pages/test_audited_pages.py`.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlencode

import pytest

from portal.careservice.ids import sample_id
from portal.services.endpoints import ALL
from portal.web import audit
from portal.web.lately import Lately
from tests.support.signing import TREATMENT_OF_AMELIA
from tests.support.stack import PortalThread
from tests.support.visitor import SignIn
from tests.web.conftest import Lines
from tests.web.test_call_budget import BUDGET

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
AMELIA = sample_id("patient", "amelia")
SCAN = sample_id("conversation", "amelia-scan")


def brief(found: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """Each line's event, and of how many records it speaks."""
    return [(line["audit"], line.get("count", 1)) for line in found]


def test_only_what_names_no_patient_is_read_without_a_line() -> None:
    unrecorded = {endpoint.template for endpoint in ALL if endpoint.is_safe and endpoint.shows is None}
    assert unrecorded == {"/api/calendar/resources/physicians", "/api/app/notification/settings"}
    assert len(BUDGET) > 50


# ── what the lines say ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "path", "events"),
    [
        ("nora", "/consents?q=nobody-is-called-so", {"consent.search"}),
        ("nora", "/conversations?archived=1&q=scan", {"conversation.search"}),
        ("victor", "/protocols?q=ant", {"protocol.search"}),
        (
            "colin",
            f"/prospects/{sample_id('prospect', 'ines')}/merge?merge={sample_id('prospect', 'ines-again')}",
            {"prospect.read", "notification.list", "conversation.list"},
        ),
    ],
)
def test_a_pages_audit_lines_name_only_what_it_shows(
    person: SignIn, lines: Lines, name: str, path: str, events: set[str]
) -> None:
    visitor = person(name)
    lines()
    visitor.get(path)
    assert {line["audit"] for line in lines()} <= events


def test_homes_audit_lines_name_exactly_what_it_shows(person: SignIn, lines: Lines) -> None:
    visitor = person("nora")
    lines()
    page = visitor.get("/")
    found = {line["audit"]: line for line in lines()}
    recent = {"opened.list"} & found.keys()
    assert found.keys() - recent == {"consent.list", "conversation.list", "notification.list"}
    assert 0 < found["consent.list"]["count"] <= 12
    on_page = {
        href[10:46]
        for a in page.select("#consents a[href^='/consents/']")
        if UUID.search(href := str(a["href"]))
    }
    assert on_page == set(found["consent.list"]["ids"])
    talks = {str(a["href"])[15:51] for a in page.select("#messages a[href^='/conversations/']")}
    assert talks == set(found["conversation.list"]["ids"]) != set()


def test_a_search_is_audited_without_its_terms(person: SignIn, lines: Lines) -> None:
    visitor = person("nora")
    lines()
    visitor.get("/consents?" + urlencode({"q": "Zzyzx"}))
    (line,) = lines()
    assert (line["audit"], line["kind"], line["ids"], line["count"]) == ("consent.search", "consent", [], 0)
    assert "Zzyzx" not in json.dumps(line)


def test_finding_people_is_audited_by_kind_of_record(person: SignIn, lines: Lines) -> None:
    nora = person("nora")
    lines()
    nora.fragment("/find", "found", data={"q": "karimova"})
    found = [line for line in lines() if str(line["audit"]).endswith(".search")]
    kinds = ("consent", "conversation", "protocol", "notification")
    assert dict(brief(found)) == {f"{kind}.search": int(kind == "consent") for kind in kinds}
    assert "karimova" not in json.dumps(found).casefold()


def test_a_fragment_with_the_same_records_is_not_audited_again(
    person: SignIn, portal: PortalThread, lines: Lines
) -> None:
    amelia = person("amelia")
    amelia.get("/")
    lines()
    for region in ("consents", "messages", "news", "treatment"):
        amelia.fragment("/", region)
    assert brief(lines()) == []
    portal.clock.advance(6 * 60)
    amelia.fragment("/", "consents")
    amelia.fragment("/", "consents")
    assert [event for event, _count in brief(lines())] == ["consent.list"]
    amelia.get("/")
    assert "consent.list" in dict(brief(lines())), "a whole page is always noted"


def test_records_shown_by_another_process_are_audited_at_most_once_more(
    person: SignIn, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    amelia = person("amelia")
    lines()
    for _ in range(3):
        monkeypatch.setattr(audit, "_lately", Lately(300))
        amelia.fragment(f"/episodes/{TREATMENT_OF_AMELIA}/timeline", "tab")
    assert len(lines()) <= 1


def test_each_search_by_fragment_is_audited(person: SignIn, lines: Lines) -> None:
    nora = person("nora")
    lines()
    for word in ("Aaaaa", "Bbbbb"):
        nora.fragment(f"/conversations?q={word}", "inbox")
    assert brief(lines()) == [("conversation.search", 0)] * 2


def test_an_unchanged_file_and_the_bell_leave_no_audit_line(
    person: SignIn, portal: PortalThread, lines: Lines
) -> None:
    amelia, path = person("amelia"), f"/files/{sample_id('file', 'amelia-plan')}"
    first = amelia.get(path)
    lines()
    amelia.get(path, status=304, headers={"If-None-Match": first.headers["ETag"]})
    portal.clock.advance(16)
    amelia.get("/notifications/bell", status=None)
    assert brief(lines()) == []
    for start in (0, 100):
        amelia.get(path, status=206, headers={"Range": f"bytes={start}-{start + 99}"})
    assert len(lines()) <= 1


def test_records_read_for_an_error_page_are_not_audited_as_shown(person: SignIn, lines: Lines) -> None:
    elif_ = person("elif")
    elif_.get(f"/episodes/{TREATMENT_OF_AMELIA}")
    lines()
    elif_.get(f"/storage/{sample_id('embryo', 'nobody')}", status=404)
    assert [(line["audit"], line["outcome"]) for line in lines()] == [("storage.show", "NotFound")]


def pseudonym(portal: PortalThread, name: str) -> str:
    return portal.context.audit.pseudonym(sample_id("person", name))


@pytest.mark.parametrize(
    ("name", "path", "outcome", "kind", "id_"),
    [
        ("grace", f"/consents/{sample_id('consent', 'amelia-genetic')}", "NotFound", "consent", None),
        ("grace", f"/pgt-results/{sample_id('pgt-result', 'nobody')}", "NotFound", "pgt-result", None),
        ("grace", f"/files/{sample_id('file', 'nobody')}/preview", "NotFound", "file", None),
        ("elif", f"/prospects/{sample_id('prospect', 'ines')}/book", "NotAllowed", "prospect", None),
        (
            "nora",
            f"/emr-endpoints/{sample_id('emr-endpoint', 'x')}/remove",
            "NotAllowed",
            "emr-endpoint",
            None,
        ),
        ("grace", "/consents/of%20Amelia%20Hart", "NotFound", "consent", "~"),
        ("amelia", "/open", "NotAllowed", None, None),
    ],
)
def test_a_refusals_audit_line_names_person_and_record(
    person: SignIn,
    portal: PortalThread,
    lines: Lines,
    *,
    name: str,
    path: str,
    outcome: str,
    kind: str | None,
    id_: str | None,
) -> None:
    visitor = person(name)
    lines()
    visitor.get(path, status=None)
    (line,) = lines()
    assert (line["outcome"], line.get("kind")) == (outcome, kind)
    asked = UUID.search(path)
    assert line.get("id", "")[:1] == id_ if id_ else line.get("id") == (asked[0] if asked else None)
    assert line["actor"] == pseudonym(portal, name)
    assert "Amelia" not in json.dumps(line)


def test_a_missing_form_tokens_audit_line_names_person_and_record(
    person: SignIn, portal: PortalThread, lines: Lines
) -> None:
    form, amelia = sample_id("consent", "amelia-genetic"), person("amelia")
    lines()
    amelia.request("POST", f"/consents/{form}/revoke", data={"csrf_token": "forged"}, status=400)
    portal.visitor().request("POST", "/language", data={"csrf_token": "forged"}, status=400)
    signed_in, nobody = lines()
    assert (signed_in["outcome"], signed_in["kind"], signed_in["id"]) == ("csrf-refused", "consent", form)
    assert (signed_in["actor"], signed_in["role"]) == (pseudonym(portal, "amelia"), "patient")
    assert nobody["outcome"] == "csrf-refused"
    assert not {"actor", "role", "kind", "id"} & nobody.keys()


def test_a_form_redisplayed_with_errors_leaves_an_audit_line(person: SignIn, lines: Lines) -> None:
    nora = person("nora")
    form = nora.get(f"/patients/{AMELIA}/edit?episode={TREATMENT_OF_AMELIA}").form("/patients/")
    lines()
    form.submit(email="no address", status=422)
    assert ("episode.read", 1) in brief(lines())


def test_an_audit_line_lists_at_most_100_ids_and_counts_all(portal: PortalThread, lines: Lines) -> None:
    lines()
    ids = [str(number) for number in range(250)]
    portal.context.audit.record("consent.list", "done", tenant="-", request_id="-", kind="consent", ids=ids)
    (line,) = lines()
    assert (line["ids"], line["count"]) == (ids[:100], 250)
