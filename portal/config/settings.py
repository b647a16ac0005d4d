"""Settings, read from the environment and validated once (`portal.config.variables` declares them).

All faults are reported together, so that a deployment can be fixed in one go (`python -m portal check`).
"""

from __future__ import annotations

import os
from collections import UserDict
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from portal.config.errors import ConfigurationError
from portal.config.identity import read_secret
from portal.config.tenants import Side, Tenants, TenantsError
from portal.config.tenants_file import KEPT, load_tenants
from portal.config.variables import DECLARED, Timeouts, Variable, Variables, variables_of

_OTHERS = {"PORTAL_WORKER_SLOT", "PORTAL_DEMO_PASSWORD", KEPT}
"""Variables that the portal's processes and the demo set for one another."""


class SettingsError(ConfigurationError):
    """The portal can't start with these settings."""


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How long a session lasts, in seconds: without use, and at most."""

    idle: int
    absolute: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Variables):
    """Everything an operator can configure.

    `unknown` are variables that look like the portal's, each with the setting that may be meant.
    """

    timeouts: Timeouts
    tenants: Tenants
    unknown: Mapping[str, str | None]

    @property
    def consent_templates(self) -> Path:
        """The folder of the clinics' consent templates: next to the tenants file, or in the folder of tenants files."""
        file = self.tenants_file
        return (file if file.is_dir() else file.parent) / "consent-templates"

    @property
    def sessions(self) -> dict[Side, SessionLimits]:
        """How long sessions last."""
        return {
            Side.PATIENT: SessionLimits(self.idle_patient, self.absolute_patient),
            Side.STAFF: SessionLimits(self.idle_staff, self.absolute_staff),
        }

    @property
    def shortest_idle(self) -> int:
        """After how many seconds without use a session may end, whoever's it is."""
        return min(self.idle_patient, self.idle_staff)

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read `PORTAL_…` (docs/configuration.md); raise SettingsError naming every fault."""
        given = _Environment(os.environ if environ is None else environ)
        faults: list[str] = []
        values = _read(variables_of(Variables), given, faults)
        timeouts = Timeouts(**_read(variables_of(Timeouts), given, faults))
        tenants = Tenants({}, {})
        if file := values["tenants_file"]:
            try:
                tenants = load_tenants(file, given)
            except TenantsError as error:
                faults += error.faults
        if faults:
            raise SettingsError(faults)
        return cls(**values, timeouts=timeouts, tenants=tenants, unknown=given.unknown())


def _read(variables: Mapping[str, Variable], environ: Mapping[str, str], faults: list[str]) -> dict[str, Any]:
    """The values by field; the default for one that is missing or wrong, with its fault."""
    values: dict[str, Any] = {field: variable.default for field, variable in variables.items()}
    for field, variable in variables.items():
        if text := read_secret(variable.name, environ):
            try:
                values[field] = variable.parse(text)
            except ValueError as error:
                found = "" if variable.secret else f" (found {text!r})"
                faults.append(f"{variable.name}: {error}{found}")
        elif variable.hint:
            faults.append(f"{variable.name}: is missing; {variable.hint}")
    return values


class _Environment(UserDict[str, str]):
    """An environment that records which of its variables were read: the tenants file names some too."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(environ)
        self._read: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self._read.add(name)
        return super().__getitem__(name)

    def unknown(self) -> dict[str, str | None]:
        """Return the variables that look like the portal's but were never read, each with what may be meant."""
        names = {variable.name for variable in DECLARED.values()}
        known = self._read | names | _OTHERS
        return {
            name: next(iter(get_close_matches(name.removesuffix("_FILE"), names, 1, 0.85)), None)
            for name in self.data
            if name.startswith("PORTAL_") and not {name, name.removesuffix("_FILE")} & known
        }
