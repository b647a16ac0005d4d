"""The example of docs/configuration.md is valid, and a key that it doesn't have is refused."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from portal.config.settings import Settings, SettingsError
from portal.config.table import NOWHERE, Setting, settings_of
from portal.config.tenants import Tenant
from portal.config.variables import DECLARED
from tests.config.test_settings import environment
from tests.support.stack import ROOT

DOCUMENT = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
EXAMPLE = DOCUMENT.partition("The tenants file:")[2].partition("```toml\n")[2].partition("```")[0]
SECRETS = {"RIVERSIDE_CLIENT_SECRET": "s" * 20, "RIVERSIDE_BOOKING_SECRET": "b" * 20}


def test_gunicorn_has_the_declared_defaults_where_a_variable_is_missing_or_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is wrong, `supervisor.check_settings` reports."""
    for name, text in {"PORTAL_BIND": "0.0.0.0:80", "PORTAL_WORKERS": "3", "PORTAL_THREADS": "two"}.items():
        monkeypatch.setenv(name, text)
    monkeypatch.delenv("PORTAL_MAX_REQUESTS", raising=False)
    read = runpy.run_path(str(ROOT / "gunicorn.conf.py"))
    assert [read[name] for name in ("bind", "workers", "threads")] == [
        ["0.0.0.0:80"],
        3,
        DECLARED["threads"].default,
    ]
    assert read["max_requests"] == DECLARED["max_requests"].default == 20000


def test_the_documented_example_is_valid(tmp_path: Path) -> None:
    clinic = Settings.from_env(environment(tmp_path, EXAMPLE, **SECRETS)).tenants.by_key["riverside"]
    assert clinic.service_client is not None
    assert (clinic.service_client.client_id, clinic.service_client.client_secret) == (
        "riverside-booking",
        "b" * 20,
    )
    assert (clinic.id_token_hint, clinic.identity_origins, clinic.idempotency) == (False, (), False)


def _settings(of: type, path: str = "") -> Iterator[tuple[str, Setting]]:
    for name, setting in settings_of(of).items():
        yield f"{path}{name}", setting
        if setting.of is not None:
            yield from _settings(setting.of, f"{path}{name}.")


SETTINGS = dict(_settings(Tenant))


@pytest.mark.parametrize("key", SETTINGS)
def test_a_value_of_another_type_than_the_examples_is_refused(key: str) -> None:
    """TOML has types: 1 or "true" isn't true, a number isn't a text, a word isn't a list."""
    setting = SETTINGS[key]
    is_number = not isinstance(setting.example, bool) and isinstance(setting.example, int | float)
    wrong: list[Any] = [0, ""] if isinstance(setting.example, bool) else []
    wrong += [True, *([] if is_number else [1]), -1, -0.5, float("nan"), "x", [1], {"en": 1}]
    for value in wrong:
        if type(value) is not type(setting.example) or is_number:
            with pytest.raises(ValueError):
                setting.parse(value, NOWHERE)


@pytest.mark.parametrize("limit", ["least", "most"])
def test_a_limit_of_a_dose_may_be_nothing(limit: str) -> None:
    assert SETTINGS[f"dose_ranges.{limit}"].parse(0, NOWHERE) == 0


def test_a_shared_setting_applies_unless_a_clinic_overrides_it(tmp_path: Path) -> None:
    shared = EXAMPLE.replace("id_token_hint = false", "id_token_hint = true")
    shared = shared.replace("identity_origins = []", 'identity_origins = ["https://keys.example"]')
    own = shared.replace("[tenants.riverside]", "[tenants.riverside]\nid_token_hint = false")
    for text, hint in ((shared, True), (own, False)):
        clinic = Settings.from_env(environment(tmp_path, text, **SECRETS)).tenants.by_key["riverside"]
        assert (clinic.id_token_hint, clinic.identity_origins) == (hint, ("https://keys.example",))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("[care]", "care.surplus: isn't a setting of [care]"),
        ("[tenants.riverside]", "tenants.riverside.surplus: isn't a setting of a tenant"),
        ("[tenants.riverside.roles]", "tenants.riverside.roles.surplus: isn't a setting of roles"),
        (
            "[tenants.riverside.service_client]",
            "tenants.riverside.service_client.surplus: isn't a setting of a client",
        ),
        ("[tenants.riverside.contact]", "tenants.riverside.contact.surplus: isn't a setting of a contact"),
        (
            "[tenants.riverside.document_seal]",
            "tenants.riverside.document_seal.surplus: isn't a setting of a seal",
        ),
        ("[caer]", "caer: isn't a setting of the tenants file"),
    ],
)
def test_an_unknown_key_is_reported_in_every_table(tmp_path: Path, table: str, said: str) -> None:
    text = re.sub(rf"^{re.escape(table)}", f"{table}\nsurplus = 1", EXAMPLE, flags=re.MULTILINE)
    if table not in EXAMPLE:
        text = f"{EXAMPLE}\n{table}\nsurplus = 1"
    with pytest.raises(SettingsError) as caught:
        Settings.from_env(environment(tmp_path, text, **SECRETS))
    assert caught.value.faults == [said]
