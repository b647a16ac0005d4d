"""Acts at another implementation of the care API: empty answers, stale records and other list formats."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import Any
from uuid import uuid4

from portal.careservice.ids import sample_id
from tests.services.accepted_formats.pages import AMELIAS, GRACE, GRACES, bell_of
from tests.support.dialect import DOTNET, SNAKES, Dialect, DialectProxy
from tests.support.signing import NAMES, fresh_form, make_form, sign, signatures
from tests.support.stack import CareService
from tests.support.visitor import Page
from tests.support.walks import ID


def review(page: Page, status: int = 200, **values: str) -> Page:
    form = page.soup.select_one("form:has(button[value=review])")
    return page.form(form).submit(button=("do", "review"), status=status, **values)


def faster(service: CareService, table: str, id_: str, **columns: str) -> Any:
    """Return a hook that changes the record once, just before an update arrives."""
    ahead = [columns]

    def change(method: str, _path: str) -> None:
        if method == "PUT" and ahead:
            mine = {**ahead.pop(), "concurrency_stamp": uuid4().hex}
            names = ", ".join(f"{name} = ?" for name in mine)
            with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database, database:
                database.execute(f"UPDATE {table} SET {names} WHERE id = ?", (*mine.values(), id_))  # noqa: S608

    return change


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
    assert "entry on your record has ended" in page.form("/relationships").submit().text
    assert "removed" in page.form("/relationships").submit().text
