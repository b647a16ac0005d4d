"""A module that a clinic has switched off is found by no search, link or file; `tests/pages` looks at every page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from werkzeug.exceptions import HTTPException

from portal.careservice.ids import sample_id
from portal.config.modules import WHAT_ELSE, Module
from portal.services.endpoints import ALL
from portal.web import modules
from portal.web.guard import PUBLIC
from tests.careservice.api.calls import AMELIA_EPISODE
from tests.support.in_process import InProcess
from tests.support.stack import PortalThread
from tests.support.visitor import Page, SignIn, Visitor
from tests.web.test_call_budget import BUDGET

HEADINGS = {
    Module.MEDICINES: r"Medicines|Medicine plan|Protocols?|The whole medicine plan|All medicines of this treatment|\d+ medicines? today|Medication",
    Module.CHARTS: r"Monitoring|Scans and blood tests|Follicles",
    Module.STORAGE: r"Embryos|Embryo storage|Dates of your stored embryos|Embryo \w+-\d+",
    Module.RESULTS: r"PGT|PGT results?|Genetic tests?.*|See the result",
    Module.BOOKING: r"Book .*|Enquiry.*|Prospects?|Merge .*",
}
"""What the modules' parts are called, in headings, links, buttons and terms."""
SAID = "h1, h2, h3, h4, a, button, dt, th, summary, legend, label, option, title"
ADDRESSES = ("href", "action", "formaction", "src", "hx-get", "hx-post")
Off = Callable[[Module], None]


@pytest.fixture
def off(portal: PortalThread, person: SignIn) -> Iterator[Off]:
    """Switch a module off at the clinic, after everyone has used the portal with all of them."""
    for name in {name for name, _path, _calls in BUDGET}:
        person(name)
    tenants = portal.context.settings.tenants
    tenant = tenants.by_key["riverside"]

    def change(*gone: Module) -> None:
        changed = replace(tenant, modules_off=frozenset(gone))
        tenants.by_key["riverside"] = changed
        tenants.by_host.update(dict.fromkeys(tenant.hosts, changed))

    portal.app.testing = True
    yield change
    portal.app.testing = False
    change()


def links(page: Page) -> list[str]:
    found = [str(one[name]) for name in ADDRESSES for one in page.select(f"[{name}]")]
    return [link for link in found if link.startswith(("/", page.visitor.origin))]


def endpoint_of(portal: PortalThread | InProcess, link: str) -> str | None:
    for method in ("GET", "POST"):
        try:
            return str(portal.app.url_map.bind("localhost").match(urlsplit(link).path, method=method)[0])
        except HTTPException:
            pass
    return None


def is_of(portal: PortalThread | InProcess, module: Module, link: str) -> bool:
    endpoint = endpoint_of(portal, link)
    with portal.app.app_context():
        return endpoint is not None and modules.module_at(endpoint) is module


@pytest.mark.parametrize("module", Module)
def test_each_module_has_pages_and_words_while_it_is_on(
    portal: PortalThread, person: SignIn, module: Module
) -> None:
    own = [(name, path) for name, path, _calls in BUDGET if is_of(portal, module, path)]
    assert own
    words = [
        one.words
        for name, path in {("amelia", f"/episodes/{AMELIA_EPISODE}"), *own[:3]}
        if (page := person(name).get(path, status=None))
        .headers.get("Content-Type", "")
        .startswith("text/html")
        for one in page.select(SAID)
    ]
    assert any(re.fullmatch(HEADINGS[module], word) for word in words)


@pytest.mark.parametrize("module", Module)
def test_searching_finds_nothing_of_a_module_that_is_off(
    portal: PortalThread, person: SignIn, off: Off, module: Module
) -> None:
    ids = {
        Module.MEDICINES: ("victor", f"/protocols/{sample_id('protocol', 'amelia')}"),
        Module.CHARTS: ("nora", f"/episodes/{AMELIA_EPISODE}/monitoring"),
        Module.STORAGE: ("elif", f"/storage/{sample_id('embryo', 'GO-3')}"),
        Module.RESULTS: ("elif", f"/pgt-results/{sample_id('pgt-result', 'GO-1')}"),
        Module.BOOKING: ("colin", f"/prospects/{sample_id('prospect', 'tomasz')}/book"),
    }
    name, page = ids[module]
    staff = person(name)
    assert is_of(portal, module, page)
    assert any(is_of(portal, module, link) for link in links(find(staff, page)))
    off(module)
    for sought in (page, page.split("/")[2], "Amelia", "Grace", "Tomasz"):
        found = find(staff, sought)
        assert not [link for link in links(found) if is_of(portal, module, link)], sought
        assert "there may be more" not in found.words.casefold()
    words = staff.get("/open").select("option")
    assert not [one for one in words if re.fullmatch(HEADINGS[module], one.words)]


def find(staff: Visitor, sought: str) -> Page:
    return staff.fragment("/find", "found", data={"q": sought})


def test_without_its_module_a_visitors_link_for_booking_is_gone(portal: PortalThread, off: Off) -> None:
    off(Module.BOOKING)
    page = portal.visitor().get("/book/a-link", status=None)
    assert page.status == 404
    assert "Book your first visit" not in page.words


def test_the_calendar_of_doses_and_the_plan_as_pdf_are_gone(
    portal: PortalThread, person: SignIn, off: Off
) -> None:
    off(Module.MEDICINES)
    for file in ("schedule.pdf", "schedule.ics"):
        path = next(path for name, path, _calls in BUDGET if path.endswith(file) and name == "amelia")
        assert person("amelia").get(path, status=None).status == 404
    home = person("amelia").get("/").words
    assert "Next appointment" in home
    assert "medicine plan" not in home


def test_a_forgotten_link_to_a_module_that_is_off_is_an_error_in_tests(
    portal: PortalThread, off: Off
) -> None:
    off(Module.STORAGE)
    with portal.app.test_request_context("/", base_url=portal.origin()):
        portal.app.preprocess_request()
        from flask import url_for

        with pytest.raises(LookupError, match="storage"):
            url_for("storage.index", new="1")  # an address is built, and checked, once in a process
        assert url_for("home.show") == "/"


def test_every_endpoint_that_only_a_module_calls_is_known() -> None:
    """An endpoint of the care API in a group of a module's belongs to it; charts come with the episode."""
    assert {one.module for one in ALL} - {None} == set(Module) - {Module.CHARTS}


def test_what_else_depends_on_each_module_is_said() -> None:
    assert set(WHAT_ELSE) == set(Module)


def test_public_pages_of_modules_are_declared(portal: PortalThread) -> None:
    with portal.app.app_context():
        assert {one for one in PUBLIC if modules.module_at(one)} == {
            one for one in PUBLIC if one.startswith("booking.")
        }
