"""Programs that a demo or the tests need of the system: found, or installed by apt where this is root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from portal import printing
from portal.demo_parts import DemoError

_POLICY = Path("/usr/sbin/policy-rc.d")


def need(program: str, package: str) -> str:
    """Return the path of a program, installing its package where that is possible.

    Raises DemoError with one clear line where the program can't be had.
    """
    if found := find(program):
        return found
    install(package)
    if found := find(program):
        return found
    raise DemoError(f"{program} is needed: install it (apt-get install {package}) and start this again.")


def find(program: str) -> str | None:
    """Return the path of a program, also where only root's path leads to it, or None."""
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin:/sbin")


def install(*packages: str) -> bool:
    """Install Debian packages without starting their services; False where it isn't possible."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    print(f"Installing {packages[0]} by apt …", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = 0
    with _services_left_alone():
        for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
            done = subprocess.run(
                ["apt-get", "-qq", *command],  # noqa: S607
                check=False,
                env=environment,
                stdout=subprocess.DEVNULL,
            ).returncode
    return done == 0


def need_pdf() -> str | None:
    """Install what PDF documents need where that is possible; return a line that says so when they can't be made."""
    if printing.fault() is None or (install(*printing.PACKAGES) and printing.fault() is None):
        return None
    return f"PDF documents need {', '.join(printing.PACKAGES)}: install them by apt-get."


def account(name: str) -> str | None:
    """Return the account to run a server as: `name` when this is root, else None, which is whoever runs this.

    Raises DemoError when there is no such account.
    """
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(name)
    except KeyError:
        raise DemoError(f"The account {name} is missing: install its Debian package anew.") from None
    return name


def folder_of(user: str | None, folder: Path) -> Path:
    """Make a folder that this account alone may look into, and return it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if user is not None:
        shutil.chown(folder, user, user)
    return folder


@contextmanager
def _services_left_alone() -> Generator[None]:
    """Keep packages from starting a service of the system beside ours (Debian policy §9.3.3.2)."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()
