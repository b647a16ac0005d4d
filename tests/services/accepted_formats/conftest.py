"""The portal in front of a proxy that speaks another implementation's formats, and in front of the service itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from portal.demo.stack import PEOPLE, tenants_file
from tests.services.accepted_formats.pages import sign_in
from tests.support.dialect import DOTNET, DialectProxy
from tests.support.stack import CareService, PortalThread, free_port, plan
from tests.support.walks import Careful


@pytest.fixture(scope="module")
def foreign_port() -> int:
    return free_port()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, foreign_port: int) -> Iterator[CareService]:
    """The care service, which lets people sign in to a second portal too."""
    origins = [f"{tenant}=http://{tenant}.localhost:{foreign_port}" for tenant in PEOPLE]
    options = [option for origin in origins for option in ("--portal-origin", origin)]
    running = CareService(plan(tmp_path_factory.mktemp("care")), *options)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def proxy(service: CareService) -> Iterator[DialectProxy]:
    running = DialectProxy(service.base_url, DOTNET)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def foreign(service: CareService, proxy: DialectProxy, foreign_port: int) -> Iterator[PortalThread]:
    """A portal whose care API is the proxy; people sign in at the service itself."""
    folder = service.plan.data / "foreign"
    folder.mkdir()
    there = replace(service.plan, portal_port=foreign_port, data=folder)
    tenants = folder / "tenants.toml"
    base_url = f'base_url = "{service.base_url}"'
    tenants.write_text(tenants_file(there).replace(base_url, f'base_url = "{proxy.base_url}"'))
    running = PortalThread(there, PORTAL_TENANTS=str(tenants))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def people(foreign: PortalThread) -> Any:
    """Sign people in to the portal in front of the proxy, each once."""
    there: dict[str, Careful] = {}
    return lambda name: there.get(name) or there.setdefault(name, sign_in(foreign, name))
