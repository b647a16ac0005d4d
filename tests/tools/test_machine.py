"""Missing system packages are installed at once, or named in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from portal.demo import programs
from portal.demo.programs import Requirement
from tests.support import chromium, resolver
from tools import machine


class System:
    """A machine that has some packages, and on which apt installs all but the `unavailable` ones."""

    def __init__(self, *unavailable: str) -> None:
        self.has: set[str] = set()
        self.installed: list[tuple[str, ...]] = []
        self._unavailable = set(unavailable)

    def lacks(self, name: str, *packages: str) -> Requirement:
        return Requirement(name, packages, lambda: self.has >= set(packages))

    def install(self, *packages: str) -> bool:
        self.installed.append(packages)
        self.has |= set(packages) - self._unavailable
        return True


def run(monkeypatch: pytest.MonkeyPatch, system: System) -> int:
    monkeypatch.setattr(resolver, "report", lambda: "riverside.localhost is unknown")
    browser = system.lacks("Chromium", "chromium")
    monkeypatch.setattr(programs, "install", system.install)
    monkeypatch.setattr(machine, "CHROMIUM", browser)
    monkeypatch.setattr(
        machine, "REQUIREMENTS", (system.lacks("nginx", "nginx"), system.lacks("Pango", "a", "b"), browser)
    )
    return machine.main()


def test_all_missing_packages_are_installed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    system = System()
    system.has.add("nginx")
    assert run(monkeypatch, system) == 0
    assert system.installed == [("a", "b", "chromium")]
    assert run(monkeypatch, system) == 0
    assert len(system.installed) == 1, "the second run must install nothing"


def test_packages_that_apt_cannot_install_are_named_in_one_line_with_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, System("nginx", "b")) == 2
    assert capsys.readouterr().err == (
        "nginx and Pango are needed: install them (apt-get install nginx a b) and start this again.\n"
    )


def test_chromium_comes_from_playwright_where_apt_may_not_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    system = System("chromium")
    monkeypatch.setattr(chromium, "is_installed", lambda: False)
    monkeypatch.setattr(machine, "_installed_by_playwright", lambda: True)
    assert run(monkeypatch, system) == 0
    monkeypatch.setattr(machine, "_installed_by_playwright", lambda: False)
    assert run(monkeypatch, system) == 2
    assert capsys.readouterr().err.startswith("Chromium is needed: install it (apt-get install chromium)")


def test_any_chromium_serves_where_apt_may_not_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(chromium, "is_installed", lambda: True)
    monkeypatch.setattr(machine, "_installed_by_playwright", lambda: pytest.fail("one is here"))
    assert run(monkeypatch, System("chromium")) == 0


def test_the_headless_shell_is_preferred_to_what_else_is_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("chromium", chromium.HEADLESS_SHELL):
        assert not chromium.is_preferred()
        (tmp_path / name).touch(0o755)
        assert chromium.path() == str(tmp_path / name)
    assert chromium.is_preferred()


def test_the_report_says_whether_the_system_resolves_clinic_host_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, System())
    assert "riverside.localhost is unknown" in capsys.readouterr().out
