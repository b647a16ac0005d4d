"""`python -m portal check`."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from portal.settings import Settings, SettingsError


def run(environ: Mapping[str, str], *, settings_alone: bool) -> int:
    try:
        settings = Settings.from_env(environ)
    except SettingsError as error:
        print(*error.faults, sep="\n", file=sys.stderr)
        return 2
    print(
        f"The settings are good: {len(settings.tenants.by_key)} clinics at {len(settings.tenants.by_host)} hosts."
    )
    return 0
