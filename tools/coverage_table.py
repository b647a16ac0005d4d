"""Which page and which test use which endpoint of the care API specification §4, read out of the code.

`make documents` writes portal/services/README.md from it. Service functions and pages come from the syntax trees of
`portal`: a page uses an endpoint when its handler reaches, by whatever helpers, a function of `portal.services` that
names the endpoint's constant; what changes something is used by posts alone. A test uses a page when one of its
strings is that page's address.
"""

from __future__ import annotations

import ast
import inspect
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from flask import Flask
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RoutingException

from portal import services
from portal.app import create_app
from portal.config.settings import Settings
from portal.demo.stack import portal_environment, tenants_file
from portal.services.api import Endpoint
from portal.services.endpoints import ALL, WEBHOOKS
from tests.support.stack import plan
from tools.definitions import ROOT, Module, Name, modules, reach, resolve, sources, tree

SHOWN = 5
"""How many pages or tests a cell names; the others are counted."""
_WEBHOOKS_SHOW = {
    "/smsinbound": "/conversations",
    "/emailinbound": "/conversations",
    "/api/payment/webhook/payment-provider": "/notifications",
}


@dataclass(frozen=True, slots=True)
class Page:
    """A handler at one address of the portal; `name` is its own, `view` what defines it in its module."""

    method: str
    route: str
    view: Name
    name: str

    def __str__(self) -> str:
        return f"`{self.method} {self.route}` {self.view[0].removeprefix('portal.views.')}.{self.name}"


@dataclass(frozen=True, slots=True)
class Row:
    """An endpoint with all that uses it."""

    endpoint: Endpoint
    functions: tuple[Name, ...]
    pages: tuple[Page, ...]
    tests: tuple[Path, ...]


def constants() -> dict[str, Endpoint]:
    """Each endpoint that the portal calls, by the name of its constant."""
    return {
        name: value
        for module in iter_modules(services.__path__)
        for name, value in vars(import_module(f"{services.__name__}.{module.name}")).items()
        if isinstance(value, Endpoint)
    }


@cache
def rows() -> tuple[Row, ...]:
    """One row for each endpoint that the portal calls."""
    names = {endpoint: name for name, endpoint in constants().items()}
    reached = {page: reach(page.view) for page in pages()}
    found: list[Row] = []
    for endpoint in ALL:
        functions = functions_of(names[endpoint])
        users = [
            page
            for page in pages()
            if (endpoint.is_safe or page.method != "GET")
            and any(function in reached[page] for function in functions)
        ]
        users.sort(key=lambda page: _distance(page, functions))
        routes = {page.route for page in users}
        opening = [path for path, opened in routes_in_tests().items() if opened & routes]
        tests = _about(opening, [module for module, _ in functions] + [page.view[0] for page in users])
        found.append(Row(endpoint, functions, tuple(users), tuple(tests)))
    return tuple(found)


def functions_of(constant: str) -> tuple[Name, ...]:
    """The functions of `portal.services` that name this constant, or have a helper that does."""
    found: list[Name] = []
    row = next((module.name, constant) for module in modules().values() if constant in module.uses)
    for module in modules().values():
        if module.name.startswith("portal.services.") and module.name not in _MACHINERY:
            naming = _users(module, row)
            for name in naming:
                public = _users(module, (module.name, name)) if name.startswith("_") else [name]
                found += [(module.name, one) for one in public]
    return tuple(found)


def _about(tests: list[Path], subjects: list[str]) -> list[Path]:
    """The tests that are by their name or folder about one of these modules, in their order; all of them where none is."""
    words = dict.fromkeys(subject.split(".")[2] for subject in subjects)
    about = [
        path
        for word in words
        for path in tests
        if path.parent.name == word or re.match(rf"test_{word}(_|\.)", path.name)
    ]
    return list(dict.fromkeys(about)) or tests


def _users(module: Module, wanted: Name) -> list[str]:
    """What in a module uses `wanted`."""
    return [name for name, used in module.uses.items() if wanted in {resolve(module, one) for one in used}]


_MACHINERY = {"portal.services.client", "portal.services.endpoints", "portal.services.reference_cache"}


@cache
def pages() -> tuple[Page, ...]:
    """Every handler that people reach, as the application has them."""
    app = application()
    found: list[Page] = []
    for rule in app.url_map.iter_rules():
        view = inspect.unwrap(app.view_functions[rule.endpoint])
        if not view.__module__.startswith("portal.views"):
            continue
        route, (outer, *inner) = _written(rule.rule), view.__qualname__.split(".")
        name = rule.endpoint.rpartition(".")[2] if inner else outer
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            found.append(Page(method, route, (view.__module__, outer), name))
    return tuple(sorted(found, key=lambda page: (page.route, page.method)))


def _written(rule: str) -> str:
    """A route as it is read: `/consents/{consent_id}`."""
    return re.sub(r"<(?:[^:>]+:)?(\w+)>", r"{\1}", rule)


@cache
def application() -> Flask:
    """The portal as it is put together, without anything that it talks to."""
    with tempfile.TemporaryDirectory() as folder:
        the = plan(Path(folder))
        tenants = the.data / "tenants.toml"
        tenants.write_text(tenants_file(the))
        environment = {**portal_environment(the, tenants), "PORTAL_AUDIT": "stderr"}
        return create_app(Settings.from_env(environment))


def _distance(page: Page, functions: Iterable[Name]) -> tuple[bool, bool, int, str]:
    """The pages of the same word come first, those to read before those that act, the short addresses first."""
    words = {module.rpartition(".")[2] for module, _ in functions}
    is_other = not words & set(page.view[0].split("."))
    return is_other, page.method != "GET", page.route.count("/"), page.route


# ── tests ───────────────────────────────────────────────────────────────────────────────────────────────


@cache
def routes_in_tests() -> dict[Path, frozenset[str]]:
    """The routes whose addresses stand in each test file that drives the portal."""
    files = [path for folder in ("views", "web", "browser") for path in sources(f"tests/{folder}")]
    return {path: frozenset(_routes(path)) for path in files if path.name.startswith("test_")}


def _routes(path: Path) -> Iterator[str]:
    source = tree(path)
    inside = {
        id(part) for node in ast.walk(source) if isinstance(node, ast.JoinedStr) for part in node.values
    }
    for node in ast.walk(source):
        if isinstance(node, ast.JoinedStr):
            pieces = [_piece(part, is_first=part is node.values[0]) for part in node.values]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            pieces = [node.value]
        else:
            continue
        yield from _meant("".join(pieces))


_PART, _BEGINNING = "\ue000", "\ue001"


def _piece(part: ast.expr, *, is_first: bool) -> str:
    """A piece of an f-string; what is put in stands for a part of an address, or for its beginning."""
    if isinstance(part, ast.Constant):
        return str(part.value)
    return _BEGINNING if is_first or "/" in ast.unparse(part) else _PART


def _meant(text: str) -> set[str]:
    """The routes that an address means: several only where they are of one kind of record."""
    address = re.split("[?#]", text)[0]
    if not re.search("/[a-z]", address) or re.search(r"\s", address):
        return {"/"} if address == "/" else set()
    if _BEGINNING not in address:
        return _route_at(address.replace(_PART, "x"))
    pattern = re.escape(address).replace(_PART, "[^/]*").replace(_BEGINNING, ".*")
    fitting = {route for route in _all_routes() if re.fullmatch(pattern, re.sub(r"{\w+}", "x", route))}
    return fitting if len({route.split("/")[1] for route in fitting}) == 1 else set()


@cache
def _route_at(address: str) -> set[str]:
    found: set[str] = set()
    for method in ("GET", "POST"):
        with suppress(HTTPException, RoutingException):
            rule, _ = application().url_map.bind("localhost").match(address, method=method, return_rule=True)
            found.add(_written(rule.rule))
    return found & _all_routes()


@cache
def _all_routes() -> set[str]:
    return {page.route for page in pages()}


def tests_naming(path: str) -> list[Path]:
    """The care service's test files in which this address of its API stands."""
    return [
        file
        for file in sources("tests/careservice")
        if file.name.startswith("test_") and path in file.read_text(encoding="utf-8")
    ]


# ── the table ───────────────────────────────────────────────────────────────────────────────────────────


def written() -> str:
    """The whole of portal/services/README.md."""
    lines = [
        "# Services",
        "",
        "One module for each resource of the care API, one function for each call. Only an `Endpoint` that one",
        "of them declares can be called, and only from here. Pages call these functions.",
        "",
        "## Endpoints, pages and tests",
        "",
        "Generated from the code by `make documents`, for each release. A",
        "page is listed if its handler calls the function, directly or not; pages of the same resource come first. A test",
        "is listed if it has the name or folder of one of the pages and contains its address; all of these tests run the",
        "portal against the real care service.",
        "",
        "| Group | Endpoint | Service function | Pages | Tests |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [_line(row) for row in rows()]
    lines += [
        "",
        "Three more are webhooks, which the portal never calls. Their effects are shown on a page:",
        "",
        "| Group | Endpoint | Shown on | Tests |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {hook.group} | `{hook.method} {hook.template}` | `{_WEBHOOKS_SHOW[hook.template]}` "
        f"| {_some(_link(path) for path in tests_naming(hook.template))} |"
        for hook in WEBHOOKS
    ]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    functions = "<br>".join(f"`{module.rpartition('.')[2]}.{name}`" for module, name in row.functions)
    return (
        f"| {row.endpoint.group} | `{row.endpoint.method} {row.endpoint.template}` | {functions} "
        f"| {_some(map(str, row.pages))} | {_some(map(_link, row.tests))} |"
    )


def _some(texts: Iterable[str]) -> str:
    every = list(texts)
    more = [f"and {len(every) - SHOWN} more"] if len(every) > SHOWN else []
    return "<br>".join([*every[:SHOWN], *more])


def _link(path: Path) -> str:
    return f"[{path.stem.removeprefix('test_')}](../../{path.relative_to(ROOT).as_posix()})"
