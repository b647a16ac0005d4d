"""A clinic's table of strong sign-ins: what it means, and every mistake in it by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from portal.config.strong_sign_in import Act, Strength
from portal.config.tenants import TenantsError
from portal.config.tenants_file import load_tenants

CLINIC = """
[care]
base_url = "https://api.example"
auth_url = "https://id.example"
[tenants.riverside]
hosts = ["riverside.example"]
name = "Riverside"
client_id = "portal"
client_secret_env = "SECRET"
[tenants.riverside.roles]
staff = ["doctor"]
"""


def load(tmp_path: Path, lines: str):
    file = tmp_path / "tenants.toml"
    file.write_text(f"{CLINIC}{lines}")
    return load_tenants(file, {"SECRET": "s"}).by_key["riverside"].strong


def test_a_clinic_without_the_table_asks_for_none(tmp_path: Path) -> None:
    assert load(tmp_path, "") is None


def test_the_table_says_who_needs_what(tmp_path: Path) -> None:
    strong = load(
        tmp_path,
        '[tenants.riverside.strong]\nacr = ["https://a.example/mfa"]\namr = ["hwk", "otp"]\nroles = ["doctor"]\n'
        'acts = ["embryos"]\nkinds = ["Legal-Parenthood"]',
    )
    assert strong is not None
    wanted = Strength(("https://a.example/mfa",), ("hwk", "otp"))
    assert strong.to_come_in(frozenset({"doctor", "x"})) == wanted
    assert strong.to_come_in(frozenset({"patient"})) is None
    assert strong.to_do(Act.EMBRYOS) == wanted
    assert strong.to_do(Act.ADMINISTRATION) is None
    assert [strong.to_do(Act.SIGNING, kind) for kind in ("Storage", "LegalParenthood")] == [None, wanted]
    assert strong.to_do(Act.SIGNING, None) == wanted, "a kind that isn't known may be that one"
    assert [wanted.is_met("", amr) for amr in (("pwd", "otp"), ("pwd",), ())] == [True, False, False]


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ('roles = ["doctor"]', ": acr or amr must say what counts as strong"),
        ('acr = ["a"]', ": roles, acts or kinds must say what needs a strong sign-in"),
        ('acr = ["a"]\nroles = ["nurse"]', ".roles: 'nurse' is none of the clinic's roles: patient, doctor"),
        (
            'acr = ["a"]\nacts = ["sign"]',
            ".acts: 'sign' is none of signing, embryos, merging, administration",
        ),
        ('acr = "a"\nacts = ["signing"]', ".acr: must be a list of strings"),
        ('acr = ["a b"]\nacts = ["signing"]', ".acr: 'a b' can't be a value of acr or amr"),
        (
            'acr = ["a"]\nacts = ["signing"]\nkind = ["x"]',
            ".kind: isn't a setting of strong sign-in; is kinds meant?",
        ),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, lines: str, fault: str) -> None:
    with pytest.raises(TenantsError) as error:
        load(tmp_path, f"[tenants.riverside.strong]\n{lines}")
    assert any(one.startswith(f"tenants.riverside.strong{fault}") for one in error.value.faults), (
        error.value.faults
    )
