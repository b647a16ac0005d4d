"""Refusals in the audit trail: every record that was asked for, and people who try addresses that don't exist."""

from __future__ import annotations

import json
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from tests.support.signing import TREATMENT_OF_AMELIA
from tests.support.stack import PortalThread
from tests.web.conftest import Lines

AMELIA, FORM = sample_id("patient", "amelia"), sample_id("consent", "amelia-genetic")
PROTOCOL, INES = sample_id("protocol", "amelia"), sample_id("prospect", "ines")


def named(found: list[dict[str, Any]]) -> list[tuple[str, str | None, str | None]]:
    """The outcome of each line, with every record that it names."""
    return [
        (line["outcome"], kind, id_)
        for line in found
        for kind, id_ in ((line.get("kind"), line.get("id")), *line.get("also", {}).items())
    ]


@pytest.mark.parametrize(
    ("who", "path", "expected"),
    [
        (
            "nora",
            f"/patients/{AMELIA}/edit?episode={PROTOCOL}",
            [("NotFound", "patient", AMELIA), ("NotFound", "episode", PROTOCOL)],
        ),
        ("nora", f"/consents/new?template=treatment&episode={PROTOCOL}", [("NotFound", "episode", PROTOCOL)]),
        ("grace", f"/consents/new?copy={FORM}", [("NotAllowed", "consent", FORM)]),
        ("grace", f"/protocols/new?copy={PROTOCOL}", [("NotAllowed", "protocol", PROTOCOL)]),
        (
            "elif",
            f"/prospects/{INES}/merge?merge={AMELIA}",
            [("NotAllowed", "prospect", INES), ("NotAllowed", "prospect", AMELIA)],
        ),
        ("grace", f"/find?patientId={AMELIA}", [("NotAllowed", "patient", AMELIA)]),
        ("grace", f"/find?patient_id={AMELIA}&q=hart", [("NotAllowed", "patient", AMELIA)]),
    ],
)
def test_a_refusal_names_the_records_in_the_query(
    portal: PortalThread, lines: Lines, who: str, path: str, expected: list[tuple[str, str, str]]
) -> None:
    visitor = portal.sign_in(who)
    lines()
    visitor.request("GET", path, status=None, follow=False)
    written = lines()
    assert named(written) == expected
    assert len(written) == 1


def test_a_treatment_that_a_new_protocol_names_and_nobody_has_is_named(
    portal: PortalThread, lines: Lines
) -> None:
    form = portal.sign_in("victor").get(f"/protocols/new?episode={FORM}").form("/protocols/new")
    lines()
    form.submit(button=("do", "review"), status=422)
    assert ("NotFound", "episode", FORM) in named(lines())


@pytest.mark.parametrize(("path", "field"), [("/open", "id"), ("/find", "q")])
def test_an_id_that_leads_nowhere_is_named(portal: PortalThread, lines: Lines, path: str, field: str) -> None:
    visitor = portal.sign_in("nora")
    unknown = sample_id("episode", "nobody")
    lines()
    visitor.post(path, {field: unknown}, status=None)
    assert ("not found", unknown) in [(line["outcome"], line.get("id")) for line in lines()]


def test_what_is_no_id_is_recorded_under_a_pseudonym(portal: PortalThread, lines: Lines) -> None:
    visitor = portal.sign_in("grace")
    lines()
    visitor.get("/find?patientId=Amelia%20Hart&name=Amelia", status=403)
    (line,) = lines()
    assert line["kind"] == "patient"
    assert line["id"].startswith("~")
    assert "Amelia" not in json.dumps(line)


def test_people_who_try_addresses_that_do_not_exist_leave_one_line_for_some_minutes(
    portal: PortalThread, lines: Lines
) -> None:
    visitor, other = portal.sign_in("grace"), portal.sign_in("nora")
    lines()
    for path in ("/admin", "/api/care/patients?patientId=Amelia", "/.git/config", "/consents/a/b/c"):
        visitor.get(path, status=404)
    visitor.request("PUT", "/", status=405)
    (line,) = lines()
    assert (line["audit"], line["outcome"], line["role"]) == ("address", "unknown", "patient")
    assert line["actor"] == portal.context.audit.pseudonym(sample_id("person", "grace"))
    assert not {"kind", "id", "ids"} & line.keys()
    other.request("DELETE", f"/episodes/{TREATMENT_OF_AMELIA}", status=405)
    assert [line["role"] for line in lines()] == ["nurse"]
    portal.clock.advance(301)
    visitor.get("/admin", status=404)
    assert len(lines()) == 1


def test_visitors_who_try_addresses_leave_none(portal: PortalThread, lines: Lines) -> None:
    stranger = portal.visitor()
    stranger.get("/admin", status=404)
    stranger.http.cookies.set("__Host-sid", "x" * 43, domain="riverside.localhost", path="/", secure=True)
    stranger.get("/admin", status=404)
    assert lines() == []
