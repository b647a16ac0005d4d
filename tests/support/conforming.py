"""Runs `conform` for a clinic, signing in as one of the sample people."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from portal.config.settings import Settings
from portal.config.tenants_file import load_tenants
from portal.connect.conform.command import Options, run
from portal.demo.stack import portal_environment, tenants_file
from tests.support.elements import parsed
from tests.support.stack import PASSWORD, SECRETS, CareService
from tests.support.visitor import LocalSession


def sign_in_at(address: str, name: str) -> str:
    """What a person does in their browser: the address at which it ends, with the answer in it."""
    http = LocalSession()
    page = http.get(address)
    form = parsed(page.text).select_one("form:has(input[name=password])")
    assert form is not None, page.text[:300]
    fields = {str(one["name"]): str(one.get("value", "")) for one in form.select("input[name]")}
    fields |= {"username": name, "password": PASSWORD}
    answer = http.post(urljoin(page.url, str(form["action"])), fields, allow_redirects=False)
    while "state=" not in (where := urljoin(answer.url, answer.headers["Location"])):
        answer = http.get(where, allow_redirects=False)
    return where


@dataclass
class Outcome:
    """What a run said, wrote and ended with."""

    status: int
    text: str
    report: dict[str, Any]
    proposal: str
    folder: Path

    @property
    def dialect(self) -> dict[str, Any]:
        """What the proposal says, its comments aside."""
        return tomllib.loads(self.proposal)

    @property
    def questions(self) -> list[str]:
        """What it asks."""
        lines = self.proposal.splitlines()
        return [line.removeprefix("# decide: ") for line in lines if line.startswith("# decide: ")]

    def of(self, endpoint: str) -> dict[str, Any]:
        return next(one for one in self.report["endpoints"] if one["endpoint"] == endpoint)


class AtTheClinic:
    """Who runs the command before the API at `base_url`, which stands before the care service.

    `portal_port` is the port of the clinics' portal, where it isn't the plan's.
    """

    def __init__(
        self, service: CareService, folder: Path, base_url: str, portal_port: int | None = None
    ) -> None:
        self.folder = folder
        self.tenants = folder / "tenants.toml"
        self.plan = replace(service.plan, data=folder, portal_port=portal_port or service.plan.portal_port)
        told = tenants_file(self.plan)
        self.tenants.write_text(told.replace(f'base_url = "{service.base_url}"', f'base_url = "{base_url}"'))
        self.settings = Settings.from_env(
            {**service.plan.secrets, **portal_environment(self.plan, self.tenants)}
        )

    @contextmanager
    def speaking(self, dialect: str) -> Iterator[Path]:
        """With a dialect file of these words; gives the tenants file that names it."""
        (self.folder / "dialect.toml").write_text(dialect)
        tenants = self.folder / "with-dialect.toml"
        tenants.write_text(
            self.tenants.read_text().replace("[care]\n", '[care]\ndialect = "dialect.toml"\n', 1)
        )
        usual = self.settings
        self.settings = replace(usual, tenants=load_tenants(tenants, SECRETS))
        try:
            yield tenants
        finally:
            self.settings = usual

    def conform(self, name: str = "nora", **options: Any) -> Outcome:
        """Run the command as one of the people."""
        said: list[str] = []
        out, proposed = self.folder / "report.json", self.folder / "proposed.toml"

        def paste() -> str:
            return sign_in_at(
                next(line.strip() for line in "\n".join(said).splitlines() if "http" in line), name
            )

        status = run(
            self.settings,
            Options("riverside", json=out, propose=proposed, html=self.folder / "report.html", **options),
            say=said.append,
            paste=paste,
        )
        text = "\n".join(said)
        return Outcome(status, text, json.loads(out.read_text()), proposed.read_text(), self.folder)
