"""System programs that a demo or the tests need: looked up, or installed with apt when run as root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from portal import printing
from portal.demo.processes import DemoError
from portal.values import Value

_POLICY = Path("/usr/sbin/policy-rc.d")


class Requirement(Value, frozen=True):
    """Something that the system must provide, and the Debian packages that contain it."""

    name: str
    packages: tuple[str, ...]
    is_met: Callable[[], bool]


PANGO = Requirement("Pango", printing.PACKAGES, lambda: printing.fault() is None)
"""Needed for PDF documents."""


def program(name: str) -> Requirement:
    return Requirement(name, (name,), lambda: find(name) is not None)


def install_missing(*requirements: Requirement) -> list[Requirement]:
    """Install whatever is missing, if run as root; return what is still missing."""
    missing = [requirement for requirement in requirements if not requirement.is_met()]
    if missing and install(*(package for program in missing for package in program.packages)):
        return [program for program in missing if not program.is_met()]
    return missing


def request_to_install(missing: Sequence[Requirement]) -> str:
    """Return a line that names what is missing and the command that installs it."""
    names = " and ".join(program.name for program in missing)
    packages = " ".join(package for program in missing for package in program.packages)
    are, them = ("is", "it") if len(missing) == 1 else ("are", "them")
    return f"{names} {are} needed: install {them} (apt-get install {packages}) and start this again."


def find(name: str) -> str | None:
    """Return the path of a program, also if it is only on root's PATH, or None."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin:/sbin")


def path_of(name: str) -> str:
    """Return the path of a program. Raises DemoError if it isn't installed."""
    found = find(name)
    if found is None:
        raise DemoError(request_to_install([program(name)]))
    return found


def install(*packages: str) -> bool:
    """Install Debian packages without starting their services; return whether that worked."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    print(f"Installing {', '.join(packages)} with apt …", flush=True)
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


def account(name: str) -> str | None:
    """Return the account to run a server as: `name` when run as root, else None for the current account.

    Raises DemoError if there is no such account.
    """
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(name)
    except KeyError:
        raise DemoError(f"The account {name} is missing: reinstall its Debian package.") from None
    return name


def folder_of(user: str | None, folder: Path) -> Path:
    """Make a folder that only this account can access, and return it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    if user is not None:
        shutil.chown(folder, user, user)
    return folder


@contextmanager
def _services_left_alone() -> Generator[None]:
    """Keep packages from starting a system service while they are installed (Debian policy §9.3.3.2)."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()
