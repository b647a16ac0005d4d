"""`python -m portal demo | serve | check`: run it all, run the portal, or say what is wrong with its settings."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Run the command that was asked for; return the exit status (2 when something is to be mended first)."""
    parser = argparse.ArgumentParser(prog="python -m portal", description="The clinic portal.")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="run portal and care service with sample people")
    demo.add_argument("--portal-port", type=int, default=8000)
    demo.add_argument("--service-port", type=int, default=8001)
    demo.add_argument("--data", type=Path, default=None, help="a folder that keeps the data")
    commands.add_parser("serve", help="run the portal under gunicorn, configured by the environment")
    commands.add_parser("check", help="check the settings and say what to mend")
    given = parser.parse_args()
    if given.command == "demo":
        return _demo(given.portal_port, given.service_port, given.data)
    return _check() if given.command == "check" else _serve()


def _demo(portal_port: int, service_port: int, data: Path | None) -> int:
    from portal.demo import DemoError, run

    try:
        run(portal_port=portal_port, service_port=service_port, data=data)
    except DemoError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _serve() -> NoReturn:
    """Become gunicorn, so that its signals are ours."""
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "gunicorn", "wsgi:app"])  # noqa: S606


def _check() -> int:
    from portal.settings import Settings, SettingsError

    try:
        settings = Settings.from_env()
    except SettingsError as error:
        print(*error.faults, sep="\n", file=sys.stderr)
        return 2
    print(
        f"The settings are good: {len(settings.tenants.by_key)} clinics at {len(settings.tenants.by_host)} hosts."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
