"""Another implementation of the care API: the portal follows the specification and tolerates what it leaves open."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from msgspec import inspect

from portal.careservice.ids import sample_id
from portal.demo.stack import PEOPLE, tenants_file
from portal.services.records.consents import ConsentForm
from portal.services.records.conversations import Conversation
from portal.services.records.episodes import Episode
from portal.services.records.notifications import Notification, NotificationSettings
from portal.services.records.pgt_results import PgtResult
from portal.services.records.physicians import Physician
from portal.services.records.protocols import Protocol
from tests.support.dialect import DOTNET, SNAKES, Dialect, DialectProxy
from tests.support.signing import NAMES, consent, fresh_form, make_form, sign, signatures
from tests.support.stack import PASSWORD, CareService, PortalThread, free_port, plan
from tests.support.visitor import Page
from tests.support.walks import ID, NOT_COMPARED, Careful, facts, walk

AMELIAS = sample_id("episode", "amelia-1")
GRACES = sample_id("episode", "grace-2")
GRACE = sample_id("patient", "grace")
AT_WORK = sample_id("emr-endpoint", "riverside-main")
PEOPLE_TO_WALK = ("amelia", "grace", "nora", "elif", "maya")
WALKS = [
    pytest.param(dialect, who, id=f"{name}-{who}")
    for (name, dialect), who in product((("dotnet", DOTNET), ("snakes", SNAKES)), PEOPLE_TO_WALK)
    if (name == "snakes") == (who in ("grace", "elif")) or os.environ.get("CARE_TEST_FULL") == "1"
]
"""Who reads every page in which dialect; with CARE_TEST_FULL=1 everybody in both."""


def sign_in(portal: PortalThread, name: str) -> Careful:
    visitor = Careful(portal.origin(next(key for key, people in PEOPLE.items() if name in dict(people))))
    visitor.password = PASSWORD
    visitor.sign_in(name)
    return visitor


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


@pytest.fixture(params=[DOTNET, SNAKES], ids=["dotnet", "snakes"])
def dialect(request: pytest.FixtureRequest, proxy: DialectProxy) -> Iterator[Dialect]:
    """The one that is spoken during the test."""
    usual, proxy.dialect = proxy.dialect, request.param
    yield request.param
    proxy.dialect = usual


@pytest.fixture(scope="module")
def people(foreign: PortalThread) -> Any:
    """Those signed in to the portal in front of the proxy, each once."""
    there: dict[str, Careful] = {}
    return lambda name: there.get(name) or there.setdefault(name, sign_in(foreign, name))


@pytest.fixture(scope="module")
def walks(portal: PortalThread) -> Any:
    """What each person reads at the portal in front of the real service."""
    walked: dict[str, dict[str, Page]] = {}
    return lambda name: walked.get(name) or walked.setdefault(name, walk(sign_in(portal, name)))


def only_required(_method: str, path: str, answer: Any) -> Any:
    """The answer with those members alone that the portal can't do without."""
    record = next((record for part, record in RECORDS.items() if part in path), None)
    if record is None:
        return answer
    shape = inspect.type_info(record)
    return (
        [_required(item, shape) for item in answer] if isinstance(answer, list) else _required(answer, shape)
    )


def _required(value: Any, shape: inspect.Type) -> Any:
    if isinstance(shape, inspect.VarTupleType):
        return [_required(item, shape.item_type) for item in value]
    if isinstance(shape, inspect.StructType) and isinstance(value, dict):
        needed = [f for f in shape.fields if f.required]
        return {f.encode_name: _required(value[f.encode_name], f.type) for f in needed}
    return value


RECORDS = {
    "consent-forms": ConsentForm,
    "fertility-protocols": Protocol,
    "pgt-results": PgtResult,
    "episodes": Episode,
    "physicians": Physician,
    "getconversations": Conversation,
    "notification/settings": NotificationSettings,
    "app/notification": Notification,
}


def sections(page: Page) -> set[str]:
    """Where the frame leads."""
    return {str(a["href"]) for a in page.select("nav a[href]") if a.get("data-key")}


def review(page: Page, status: int = 200, **values: str) -> Page:
    form = page.soup.select_one("form:has(button[value=review])")
    return page.form(form).submit(button=("do", "review"), status=status, **values)


def faster(service: CareService, table: str, id_: str, **columns: str) -> Any:
    """Someone who changes the record at the last moment, once, just before an update arrives."""
    ahead = [columns]

    def change(method: str, _path: str) -> None:
        if method == "PUT" and ahead:
            mine = {**ahead.pop(), "concurrency_stamp": uuid4().hex}
            names = ", ".join(f"{name} = ?" for name in mine)
            with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database, database:
                database.execute(f"UPDATE {table} SET {names} WHERE id = ?", (*mine.values(), id_))  # noqa: S608

    return change


def bell_of(page: Page) -> int:
    badge = page.soup.select_one("#bell .badge")
    return int(badge.get_text().split()[0]) if badge else 0


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("dialect", "who"), WALKS, indirect=["dialect"])
def test_every_page_is_the_same_in_each_accepted_format(
    walks: Any, foreign: PortalThread, dialect: Dialect, who: str
) -> None:
    native, visitor = walks(who), sign_in(foreign, who)
    assert len(native) > 30
    for path, page in native.items():
        here = visitor.get(path, status=page.status)
        if not path.startswith("/files/") and path not in NOT_COMPARED and facts(here) != facts(page):
            # a minute may have passed since the walk
            assert facts(visitor.get(path)) == facts(page.visitor.get(path)), path


def test_a_list_without_a_total_shows_no_count(people: Any) -> None:
    page = people("nora").get("/consents?list=all")
    assert "More than 25 forms" in page.words
    assert "Page 1" in page.words
    assert "Page 1 of" not in page.words
    assert "Page 2" in page.follow("Next").words


def test_the_bell_counts_unread_notifications_if_the_api_does_not(people: Any) -> None:
    amelia = people("amelia")
    unread = len(amelia.get("/notifications?unread=1").select(".notification"))
    assert unread > 2
    assert bell_of(amelia.get("/consents")) == unread
    assert f"Unread {unread}" in amelia.get("/notifications").words


@pytest.mark.parametrize("who", PEOPLE_TO_WALK)
def test_no_page_fails_with_only_the_required_members(
    walks: Any, foreign: PortalThread, proxy: DialectProxy, who: str
) -> None:
    with proxy.speaking(change=only_required):
        visitor = sign_in(foreign, who)
        for path in walks(who):
            assert visitor.get(path, status=None).status in (200, 403, 404, 501), path


@pytest.mark.parametrize("name", ["amelia-plan", "amelia-scan", "amelia-semen", "amelia-bloods"])
def test_a_file_in_base64_is_the_same_to_the_byte(
    portal: PortalThread, people: Any, proxy: DialectProxy, name: str
) -> None:
    path = f"/files/{sample_id('file', name)}"
    here, native = people("amelia").get(path), portal.sign_in("amelia").get(path)
    assert here.response.content == native.response.content
    if native.headers["Content-Type"] in ("application/pdf", "image/png"):  # text can't be told by its bytes
        assert here.headers["Content-Type"] == native.headers["Content-Type"]
    people("amelia").get(path, headers={"Range": "bytes=0-9", "If-None-Match": '"x"'})


# ── what isn't there, isn't known or isn't right ────────────────────────────────────────────────────────


def test_an_unknown_value_of_a_list_is_shown_as_text(people: Any, proxy: DialectProxy) -> None:
    def change(_method: str, path: str, answer: Any) -> Any:
        if "episodes" in path:
            answer["case"]["status"] = answer["stage"] = "AwaitingFunding"
            answer["embryos"] = [{**embryo, "status": 77} for embryo in answer["embryos"]]
        if "consent-forms" in path and isinstance(answer, list):
            answer = [{**form, "status": "LostInThePost", "kind": 99} for form in answer]
        return answer

    with proxy.speaking(change=change):
        assert "Lost in the post" in people("nora").get("/consents?list=all").words
        assert "Awaiting funding" in people("nora").get(f"/episodes/{AMELIAS}").words
        assert "77" in people("grace").get(f"/episodes/{GRACES}/embryos").words
        for who in ("amelia", "grace", "elif"):
            for path in ("/", "/consents", "/storage", "/episodes"):
                people(who).get(path, status=None)


def test_a_missing_required_field_is_a_502_without_values(people: Any, proxy: DialectProxy) -> None:
    def change(_method: str, path: str, answer: Any) -> Any:
        return {**answer, "title": ["Dolores"], "status": None} if "consent-forms/" in path else answer

    with proxy.speaking(change=change):
        page = people("amelia").get(consent("amelia-treatment-2"), status=502)
    assert "This can’t be shown right now" in page.words
    assert "Dolores" not in page.text
    assert "title" not in page.words


@pytest.mark.parametrize("form", ["abp", "problem", "oauth", "html", "empty"])
def test_an_error_is_shown_in_the_portals_words_whatever_its_format(
    people: Any, proxy: DialectProxy, form: str
) -> None:
    with proxy.speaking(errors=form):
        page = people("amelia").get(f"/episodes/{GRACES}", status=404)
        assert page.heading == "We can’t find that"
        page = people("ada").get(f"/emr-endpoints/{AT_WORK}/remove")
        told = page.form(f"/emr-endpoints/{AT_WORK}").submit(status=403, typed=AT_WORK)
        known = form in ("abp", "problem", "oauth")
        assert ("It is exchanging data right now." in told.words) == known


def test_a_module_the_clinic_lacks_is_explained_and_leaves_the_navigation(
    people: Any, foreign: PortalThread, proxy: DialectProxy
) -> None:
    elsewhere = people("maya")
    with proxy.speaking(not_offered=r"GET /api/(calendar/.*|messaging/getconversations)"):
        nora = sign_in(foreign, "nora")
        assert "/care-team" in sections(nora.get("/consents"))
        for path in ("/care-team", "/conversations"):
            page = nora.get(path, status=501)
            assert page.heading == "Your clinic doesn’t offer this here"
            assert path not in sections(page)
        home = nora.get("/")
        assert not sections(home) & {"/care-team", "/conversations"}
        assert home.select("#messages [data-state=not-offered]")
        assert home.select("#consents table")
        assert "/conversations" in sections(elsewhere.get("/consents")), "another clinic has it"
    foreign.clock.advance(11 * 60)
    assert sections(nora.get("/consents")) >= {"/care-team", "/conversations"}
    foreign.clock.advance(-11 * 60)


def test_a_record_kept_elsewhere_says_so_and_keeps_the_navigation(people: Any, proxy: DialectProxy) -> None:
    with proxy.speaking(not_offered=r"(GET|PUT) /api/care/(pgt-results|patients)/.*"):
        grace = people("grace")
        before = sections(grace.get("/"))
        page = grace.get(f"/pgt-results/{sample_id('pgt-result', 'GO-4')}", status=501)
        assert page.heading == "This record is kept elsewhere"
        page = people("nora").get(f"/patients/{GRACE}/edit?episode={GRACES}")
        told = page.form(f"/patients/{GRACE}").submit(status=None, preferred_name="Gigi")
        assert told.status in (422, 501)
        assert "Gigi" in str(told.soup)
        assert sections(grace.get("/")) == before


# ── acts ────────────────────────────────────────────────────────────────────────────────────────────────


def test_signing_ends_at_the_receipt_after_an_empty_answer(
    people: Any, proxy: DialectProxy, service: CareService, dialect: Dialect
) -> None:
    form = fresh_form(service.plan)
    page = sign(people("amelia"), form, NAMES["amelia"])
    assert page.path == f"{form}/receipt"
    assert signatures(people("amelia"), form) == ["Amelia Hart"]
    assert "Partly signed" in people("amelia").get(form).words
    sent = [call for call in proxy.calls if call[:2] == ("POST", f"/api/care/consent-forms{form[9:]}/sign")]
    assert [status for *_, status in sent] == [200 if dialect is DOTNET else 204]
    sign(people("daniel"), form, NAMES["daniel"])
    sign(people("victor"), form, NAMES["victor"])
    assert signatures(people("nora"), form) == ["Amelia Hart", "Daniel Hart", "Victor Castellanos"]


def test_withdrawing_ends_at_its_record_after_an_empty_answer(
    people: Any, service: CareService, dialect: Dialect
) -> None:
    form = fresh_form(service.plan, signed=True)
    done = people("amelia").get(f"{form}/revoke").form(f"{form}/revoke").submit(reason="Not now.")
    assert done.heading == "This consent is withdrawn"
    assert "Not now." in done.words


def test_a_consent_form_is_created_after_an_empty_answer(people: Any, dialect: Dialect) -> None:
    made = make_form(people("nora"), title=f"Made in {dialect.lists}", **{"signer-2": "-"})
    assert re.fullmatch(f"/consents/{ID}", made)
    assert people("nora").get(made).heading == f"Made in {dialect.lists}"


def test_a_message_is_archived_and_restored(people: Any, dialect: Dialect) -> None:
    here = f"/conversations/{sample_id('conversation', 'amelia-sms')}"
    put = f"{here}/messages/{sample_id('message', 'amelia-sms-1')}/archive"
    page = people("amelia").get(here).form(put).submit()
    assert "1 archived message" in page.words
    toast = page.soup.select_one("#toasts .toast form")
    assert "archived message" not in page.form(toast).submit().words


def test_reading_all_notifications_sets_the_bell_to_zero(people: Any, proxy: DialectProxy) -> None:
    for who, dialect in (("amelia", DOTNET), ("grace", SNAKES)):
        proxy.dialect = dialect
        page = people(who).get("/notifications")
        assert bell_of(page) > 0
        page = page.form("/notifications/read").submit()
        assert bell_of(page) == 0
        assert bell_of(people(who).get("/consents")) == 0
    proxy.dialect = DOTNET


def test_opening_a_notification_lowers_the_bell_by_one(people: Any) -> None:
    nora = people("nora")
    page = nora.get("/notifications?unread=1")
    before = bell_of(page)
    opened = page.form(page.select(".notification form")[0]).submit()
    assert bell_of(opened) == before - 1


def test_a_stale_protocol_is_compared_and_then_saved(
    people: Any, proxy: DialectProxy, dialect: Dialect
) -> None:
    path = f"/protocols/{sample_id('protocol', 'amelia')}"
    nora, victor = people("nora"), people("victor")
    mine, theirs = nora.get(f"{path}/edit"), victor.get(f"{path}/edit")
    review(theirs, description=f"Theirs {dialect.lists}").form(f"{path}/save").submit()
    both = review(mine, status=409, description=f"Mine {dialect.lists}")
    assert f"Theirs {dialect.lists}" in both.words
    assert f"Mine {dialect.lists}" in str(both.soup)


def test_a_protocol_changed_at_the_last_moment_shows_both_versions(
    people: Any, proxy: DialectProxy, service: CareService, dialect: Dialect
) -> None:
    protocol = sample_id("protocol", "amelia")
    path = f"/protocols/{protocol}"
    checked = review(people("nora").get(f"{path}/edit"), description=f"Mine {dialect.stale}")
    theirs = f"Faster {dialect.lists}"
    with proxy.speaking(before=faster(service, "protocols", protocol, description=theirs)):
        both = checked.form(f"{path}/save").submit(status=409)
    assert theirs in both.words
    assert f"Mine {dialect.stale}" in str(both.soup)
    assert ("PUT", f"/api/care/fertility-protocols/{protocol}", dialect.stale) in proxy.calls


def test_a_stale_patient_shows_both_versions(people: Any, proxy: DialectProxy, dialect: Dialect) -> None:
    path = f"/patients/{GRACE}/edit"
    mine = people("nora").get(f"{path}?episode={GRACES}")
    theirs = people("colin").get(f"{path}?episode={GRACES}")
    theirs.form(path).submit(address_city=f"Cardiff {dialect.lists}")
    both = mine.form(path).submit(status=409, address_city=f"Exeter {dialect.lists}")
    assert "Someone changed this meanwhile" in both.words
    assert f"Cardiff {dialect.lists}" in both.words
    assert f"Exeter {dialect.lists}" in both.words
    saved = both.form(path).submit(**{"keep-address_city": "mine"})
    assert saved.path == f"/episodes/{GRACES}"
    again = people("nora").get(f"{path}?episode={GRACES}")
    assert f"Exeter {dialect.lists}" in dict(again.form(path).fields())["address_city"]


def test_a_patient_changed_at_the_last_moment_shows_both_versions(
    people: Any, proxy: DialectProxy, service: CareService, dialect: Dialect
) -> None:
    path = f"/patients/{GRACE}/edit"
    mine = people("nora").get(f"{path}?episode={GRACES}")
    theirs = f"Faster {dialect.lists}"
    with proxy.speaking(before=faster(service, "patients", GRACE, preferred_name=theirs)):
        both = mine.form(path).submit(status=409, preferred_name=f"Mine {dialect.stale}")
    assert theirs in both.words
    assert f"Mine {dialect.stale}" in both.words
    assert ("PUT", f"/api/care/patients/{GRACE}", dialect.stale) in proxy.calls


def test_settings_are_saved_after_an_empty_answer(people: Any, dialect: Dialect) -> None:
    path = "/notifications/settings"
    page = people("grace").get(path)
    language = "es" if dialect is DOTNET else "ar"
    saved = page.form(path).submit(language=language)
    assert saved.path == path
    assert dict(saved.form(path).fields())["language"] == language


def test_a_relationship_is_removed_once(people: Any, dialect: Dialect) -> None:
    who, name, episode = (
        ("grace", "grace-sister", GRACES) if dialect is DOTNET else ("amelia", "amelia-contact", AMELIAS)
    )
    path = f"/relationships/{sample_id('relationship', name)}/remove?episode={episode}"
    page = people(who).get(path)
    assert "removed" in page.form("/relationships").submit().text
    assert "removed" in page.form("/relationships").submit().text
