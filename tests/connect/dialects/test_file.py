"""Reading a dialect file: what it may contain, and how its faults are reported."""

from __future__ import annotations

import pytest

from portal.connect.dialects.file import DialectError, parse_dialect


def faults_of(text: str) -> list[str]:
    with pytest.raises(DialectError) as refused:
        parse_dialect(text)
    return refused.value.faults


def test_all_faults_of_a_dialect_are_reported_at_once_with_their_lines() -> None:
    text = """
base_path = "v2"
colour = "red"
absent_means_none = ["Episode.allerts"]
[names]
members = "SHOUTING"
[members]
concurrencyStmp = "etag"
[members.Patiant]
a = "b"
[members.Patient]
dateOfBrith = "dob"
[query]
Filtre = "q"
[lists]
first_page = -1
[enumerations.ConsentStatus]
Pendin = "OPEN"
[times]
days = "dd/mm/yyyy"
zone = "Europe/Londn"
[values]
booleans = ["Y"]
[headers]
Authorization = "x"
[addresses]
"/api/nothing" = "/x"
[errors.statuses]
404 = 418
[errors.codes]
E7 = "OutOfOder"
"""
    told = faults_of(text)
    lines = [int(fault.split(":")[1]) for fault in told]
    assert lines == sorted(lines)
    for line, words in (
        (2, "base_path: must be a path"),
        (3, "colour: isn't a setting"),
        (4, "is Episode.alerts meant?"),
        (6, "names.members: must be one of camelCase"),
        (8, "is concurrencyStamp meant?"),
        (12, "is dateOfBirth meant?"),
        (14, "is Filter meant?"),
        (16, "lists.first_page: must be a whole number"),
        (18, "is Pending meant?"),
        (20, "times.days: must be iso, epoch_s"),
        (21, "isn't an IANA time zone"),
        (23, "values.booleans"),
        (25, "headers.Authorization"),
        (27, "no address in the specification"),
        (29, "errors.statuses.404"),
        (31, "is OutOfOrder meant?"),
    ):
        assert any(f":{line}: " in one and words in one for one in told), (line, words, told)


def test_invalid_toml_is_reported_with_its_line() -> None:
    assert "line 2" in faults_of("a = 1\nb = \n")[0]


@pytest.mark.parametrize(
    ("rename", "closed"),
    [
        ('[members.EmbryoStorage]\nholdReason = "notes"', "EmbryoStorage.notes"),
        ('[members.EmbryoStorage]\nholdReason = "Notes"', "EmbryoStorage.notes"),
        ('[members.EmbryoStorage]\nnotes = "remarks"\nholdReason = "remarks"', "EmbryoStorage.notes"),
        ('[members.EmbryoStorage]\nnotes = "remarks"\nholdReason = "notes"', "EmbryoStorage.notes"),
        ('[members.EmbryoStorage]\ngrade = "location.tank"', "EmbryoStorage.location"),
        ('[members.Episode]\nnumber = "case.diagnosis"', "Case.diagnosis"),
        (
            '[members.Episode]\ncase = "file"\nnumber = "file.remark"\n[members.Case]\nnotes = "remark"',
            "Case.notes",
        ),
        ('[members.PgtResult]\nembryoCode = "sex"', "PgtResult.sex"),
        ('[members.PgtBrief]\nembryoCode = "sex"', "PgtResult.sex"),
        ('[members]\ngrade = "notes"', "EmbryoStorage.notes"),
    ],
)
def test_mapping_a_staff_only_member_to_a_patients_is_refused(rename: str, closed: str) -> None:
    assert any(f"would show {closed}" in fault for fault in faults_of(rename))


def test_two_members_with_one_name_are_refused() -> None:
    told = faults_of('[members.ConsentForm]\ntitle = "patientName"')
    assert ":2: members.ConsentForm.title" in told[0]
    assert "both called 'patientName'" in told[0]


def test_ambiguous_codes_are_refused() -> None:
    told = faults_of(
        '[enumerations.ConsentStatus]\nPending = "OPEN"\nDraft = ["NEW", "OPEN"]\nSigned = "revoked"'
    )
    assert any("'OPEN' already means" in one for one in told)
    assert any("also means Revoked" in one for one in told)


def test_a_header_may_come_from_the_environment() -> None:
    text = '[headers]\nX-Api-Key = { env = "RIVERSIDE_KEY" }'
    assert parse_dialect(text, {"RIVERSIDE_KEY": "k"}).headers == {"X-Api-Key": "k"}
    assert "set RIVERSIDE_KEY" in faults_of(text)[0]


@pytest.mark.parametrize(
    "given", ["5", "{ value = true }", '{ path = "a..b" }', '{ path = "ok", is = true }']
)
def test_a_wrong_place_of_success_is_refused(given: str) -> None:
    with pytest.raises(DialectError, match=r"errors\.success: must be a path"):
        parse_dialect(f"[errors]\nsuccess = {given}\n")
