"""All endpoints of the care API specification §4 that are the portal's have a page and a test; nothing else is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec

from portal.services.decoding import Record
from portal.services.endpoints import ALL
from tools.coverage_table import constants, rows
from tools.definitions import ROOT, sources, tree

CLIENTS = {"pycurl", "requests", "urllib3", "http.client", "urllib.request", "socket", "httpx", "aiohttp"}
MAY_CONNECT = {
    "portal/server/connection.py",  # serves accepted connections, opens none
    "portal/server/worker.py",  # accepts connections, opens none
    "portal/server/socket_buffers.py",  # sets options of accepted connections
    "portal/operate/generation.py",  # a pair of sockets between two processes
    "portal/operate/supervisor.py",  # the type of one of them
    "portal/operate/health_check.py",  # asks the portal itself, from its container
    "portal/http/transport.py",  # the only module that opens connections
    "portal/http/transfer.py",  # the libcurl handle of one call, for the transport module
    "portal/http/requests_adapter.py",  # carries libraries' `requests` calls
    "portal/operate/identity_check.py",  # Authlib's session, over that adapter
    "portal/signin/pushed_requests.py",  # the type of its answers
    "portal/signin/discovery.py",  # Authlib's session and its exceptions
    "portal/services/reference_cache.py",  # requests-cache, over the client of the care API
    "portal/demo/scale.py",  # checks whether a port is in use
    "portal/demo/stack.py",  # checks whether a port is in use
    "portal/demo/processes.py",  # starts processes and waits for them
    "portal/signin/service_client.py",  # Authlib's session, over that adapter
    "portal/signin/tokens.py",
    "portal/signin/refresh.py",
    "portal/signin/flow.py",
    "portal/signin/logout.py",
}
MAY_CALL = {
    "portal/services/client.py",
    "portal/services/retry.py",
    "portal/operate/findings.py",
    "portal/signin/discovery.py",
    "portal/signin/claims.py",
    "portal/http/requests_adapter.py",
}
"""Modules that may use `portal.http.transport`: for the care API, the identity server, libraries and checks."""


def portal_files() -> list[Path]:
    return [path for path in sources("portal") if "careservice" not in path.parts]


def where(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def imported(path: Path) -> list[tuple[ast.AST, str, str]]:
    """Each import: its node, the module, and the name taken from it (empty for the module itself)."""
    found: list[tuple[ast.AST, str, str]] = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [(node, alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node, node.module or "", alias.name) for alias in node.names]
    return found


def test_every_endpoint_has_a_service_function_a_page_and_a_test() -> None:
    for row in rows():
        name = f"{row.endpoint.method} {row.endpoint.template}"
        assert row.functions, f"{name}: no function of portal/services names it"
        assert row.pages, f"{name}: no page reaches {', '.join('.'.join(one) for one in row.functions)}"
        assert row.tests, f"{name}: no test opens any of {', '.join(page.route for page in row.pages)}"
    assert [row.endpoint for row in rows()] == list(ALL)


def test_endpoints_are_declared_by_services_alone() -> None:
    made = [
        where(path, node)
        for path in portal_files()
        if path.parent != ROOT / "portal/services" and path.parent.parent != ROOT / "portal/services"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("Endpoint", "Group")
    ]
    assert not made, f"an Endpoint is declared outside of portal/services: {made}"


def test_pages_call_service_functions_and_no_address_of_their_own() -> None:
    found: list[str] = []
    rows_by_name = constants()
    for path in portal_files():
        place = path.relative_to(ROOT).as_posix()
        if not place.startswith(("portal/views/", "portal/web/")):
            continue
        found += [
            f"{where(path, node)} takes the row {name}"
            for node, _module, name in imported(path)
            if name in rows_by_name
        ]
        found += [
            f"{where(path, node)} calls {ast.unparse(node.func)}"
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and ast.unparse(node.func.value) == "care"
            and node.func.attr not in ("suffices", "need")  # they ask the session
        ]
        found += [
            f"{where(path, node)} names an address of the care API"
            for node in ast.walk(tree(path))
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.startswith("/api/")
        ]
    assert not found, f"a page must call a function of portal/services: {found}"


def test_only_the_transport_module_opens_connections() -> None:
    found = [
        f"{where(path, node)} imports {module}"
        for path in portal_files()
        if path.relative_to(ROOT).as_posix() not in MAY_CONNECT
        for node, module, name in imported(path)
        if module.split(".")[0] in CLIENTS or module in CLIENTS or f"{module}.{name}" in CLIENTS
    ]
    assert not found, f"only portal/http/transport.py opens connections: {found}"


def test_only_the_client_calls_the_care_api() -> None:
    found = [
        f"{where(path, node)} calls {ast.unparse(node.func)}"
        for path in portal_files()
        if path.relative_to(ROOT).as_posix() not in MAY_CALL
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("transport.send", "transport.stream", "Call")
    ]
    assert not found, f"only the client of portal/services calls the care API: {found}"


def test_the_table_is_linked_from_the_readme() -> None:
    assert "(portal/services/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_holds_where_the_api_leaves_a_flag_or_a_number_out() -> None:
    """Nothing is shared, disclosed, checked, read or locked that it doesn't say to be."""
    defaults = {
        f"{record.__name__}.{member.name}": member.default
        for record in _records(Record)
        for member in msgspec.structs.fields(record)
        if isinstance(member.default, bool | int | float)
    }
    assert {name for name, value in defaults.items() if value is True} == {
        *("PagedResult.is_counted", "Patient.is_active", "Physician.is_active")
    }
    assert {value for value in defaults.values() if value is not True} == {False}
    assert {"PgtResult.sex_disclosed", "Relationship.is_portal_shared"} <= defaults.keys()


def _records(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for record in kind.__subclasses__():
        if record.__module__.startswith("portal.services"):
            yield record
            yield from _records(record)
