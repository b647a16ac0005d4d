"""Removing someone from a record over HTTP: consequences, happening once, and explained refusals."""

from __future__ import annotations

import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from portal.careservice.ids import sample_id
from portal.services.errors import CareError, Conflict, Invalid, Refused
from portal.views import relationships
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Page, Visitor

EPISODE = sample_id("episode", "amelia-1")
DANIEL = sample_id("relationship", "amelia-daniel")
CONTACT = sample_id("relationship", "amelia-contact")
SISTER = sample_id("relationship", "grace-sister")
GRACES = sample_id("episode", "grace-2")


def address(relationship: str, episode: str = EPISODE) -> str:
    return f"/relationships/{relationship}/remove?episode={episode}"


def is_there(service: CareService, relationship: str) -> bool:
    with sqlite3.connect(service.plan.data / "care.db") as database:
        found = database.execute("SELECT count(*) FROM relationships WHERE id = ?", (relationship,))
        return bool(found.fetchone()[0])


def test_the_confirmation_shows_consequences_and_removes_nothing(
    amelia: Visitor, service: CareService
) -> None:
    page = amelia.get(address(DANIEL))
    assert "no longer sees your treatment in the portal" in page.words
    assert page.heading == "Stop sharing with Daniel Hart?"
    assert is_there(service, DANIEL)


@pytest.mark.parametrize("error", [Conflict(), Invalid(), Refused("FieldNotYours")])
def test_a_refused_removal_leaves_the_form_open(
    amelia: Visitor, service: CareService, monkeypatch: pytest.MonkeyPatch, error: CareError
) -> None:
    def refused(care: object, relationship_id: str) -> None:
        raise error

    monkeypatch.setattr(relationships, "delete_relationship", refused)
    form = amelia.get(address(CONTACT)).form("/relationships/")
    first, second = (form.submit(status=None) for _ in range(2))
    assert first.status in (400, 403, 409)
    assert (second.status, second.heading) == (first.status, first.heading)
    assert "didn’t confirm" not in second.words
    assert is_there(service, CONTACT)


def test_another_persons_relationship_is_not_found(portal: PortalThread, service: CareService) -> None:
    for who, episode in (("daniel", EPISODE), ("grace", EPISODE), ("grace", GRACES), ("maya", EPISODE)):
        visitor = portal.sign_in(who)
        assert visitor.get(address(CONTACT, episode), status=404).heading == "We can’t find that"
        visitor.post(address(CONTACT, episode), {"operation": "x"}, status=404)
    assert is_there(service, CONTACT)


def test_a_post_from_another_session_asks_first(amelia: Visitor, service: CareService) -> None:
    page = amelia.post(address(CONTACT), {"operation": "made up"}, status=409)
    assert "was from another visit" in page.words
    assert is_there(service, CONTACT)


def test_removing_happens_once_and_repeats_say_so(amelia: Visitor, service: CareService) -> None:
    page = amelia.get("/me").follow("Remove Margaret Hart")
    form = page.form("/relationships/")
    done = form.submit()
    assert done.path == "/me"
    assert "Margaret Hart’s entry on your record has ended." in done.text
    assert "Margaret Hart" not in done.tree.select_one("main aside").text_content()
    assert not is_there(service, CONTACT)
    again = form.submit()
    assert again.path == "/me"
    assert "This was removed already." in again.text
    gone = amelia.get(address(CONTACT), status=404)
    assert gone.heading == "This was removed already"


def test_ten_posts_of_one_form_at_once_have_one_effect(portal: PortalThread, service: CareService) -> None:
    friend = sample_id("relationship", "grace-friend")
    with sqlite3.connect(service.plan.data / "care.db", timeout=10) as database:
        database.execute(
            "INSERT INTO relationships (id, tenant_id, patient_id, related_name, type, is_portal_shared)"
            " SELECT ?, tenant_id, patient_id, 'Ama Mensah', type, is_portal_shared FROM relationships WHERE id = ?",
            (friend, SISTER),
        )
    grace = portal.sign_in("grace")
    fields = dict(grace.get(address(friend, GRACES)).form("/relationships/").fields())

    def post(_: int) -> Page:
        visitor = portal.visitor()
        visitor.http.cookies.update(grace.http.cookies)
        return visitor.post(address(friend, GRACES), fields, status=None)

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(post, range(10)))
    assert {answer.status for answer in answers} == {200}
    assert {answer.path for answer in answers} == {"/me"}
    assert not is_there(service, friend)
    assert "Ama Mensah" not in grace.get("/me").words


def test_staff_remove_from_the_episode_and_come_back_to_it(
    portal: PortalThread, service: CareService
) -> None:
    nora, grace = portal.sign_in("nora"), portal.sign_in("grace")
    hers = grace.get(address(SISTER, GRACES))
    page = nora.get(f"/episodes/{GRACES}").follow("Remove Comfort Okafor")
    done = page.form("/relationships/").submit()
    assert done.path == f"/episodes/{GRACES}"
    assert "Comfort Okafor was removed." in done.text
    assert "This was removed already." in hers.form("/relationships/").submit().text
    assert not is_there(service, SISTER)


def test_an_ended_relationship_shows_its_date_and_remaining_forms(
    portal: PortalThread, service: CareService
) -> None:
    amelia, daniel, nora = (portal.sign_in(who) for who in ("amelia", "daniel", "nora"))
    shared = daniel.get(f"/episodes/{EPISODE}")
    page = amelia.get(address(DANIEL))
    kept = page.tree.select_one("main ul.links")
    assert kept is not None
    assert {str(a["href"]) for a in kept.select("a")} >= {
        f"/consents/{sample_id('consent', 'amelia-storage')}"
    }
    assert "can’t be undone here" in page.words
    form = page.form("/relationships/")
    done = form.submit()
    assert done.path == "/me"
    people = done.words.partition("People on your record")[2]
    assert "Daniel" in people
    assert "Ended" in people
    assert "Nothing is shared any more. What you both signed stays signed." in people
    assert f"/relationships/{DANIEL}" not in done.text
    assert is_there(service, DANIEL)
    assert shared.visitor.get(f"/episodes/{EPISODE}", status=404)
    assert "This was removed already." in form.submit().text
    assert amelia.get(address(DANIEL), status=404).heading == "This was removed already"
    episode = nora.get(f"/episodes/{EPISODE}")
    assert "Ended" in episode.words
    assert f"/relationships/{DANIEL}" not in episode.text
    nora.get(address(DANIEL), status=404)


def end_sharing(amelia: Visitor) -> None:
    assert amelia.get(address(DANIEL)).form("/relationships/").submit().path == "/me"


def share_again(service: CareService) -> None:
    with sqlite3.connect(service.plan.data / "care.db", timeout=10) as database:
        database.execute("UPDATE relationships SET end_date = NULL WHERE id = ?", (DANIEL,))


def test_a_former_partner_is_told_what_ended_and_what_remains(
    portal: PortalThread, service: CareService
) -> None:
    share_again(service)
    amelia, daniel = portal.sign_in("amelia"), portal.sign_in("daniel")
    assert f"/episodes/{EPISODE}" in daniel.get("/").text
    for pages in (("/", "/episodes", "/storage"), ("/",)):
        assert "IVF" in daniel.get("/episodes").words
        kept = daniel.get(f"/episodes/{EPISODE}/monitoring")
        assert kept.headers["Cache-Control"] == "no-store", "Back has to ask again"

        end_sharing(amelia)
        for path in (kept.path, f"/episodes/{EPISODE}/appointments.ics"):
            page = daniel.get(path, status=404)
            assert "may not be shared with you any more" in page.words
            assert "Amelia" not in page.text
        for path in pages:
            page = daniel.get(path)
            assert "If one was shared with you, that has ended." in page.words
            assert "What you signed stays signed" in page.words
            assert "can’t be shown right now" not in page.words
            assert EPISODE not in page.text
        share_again(service)
        assert f"/episodes/{EPISODE}" in daniel.get("/").text


def test_a_former_partner_sees_no_dead_links(portal: PortalThread, service: CareService) -> None:
    share_again(service)
    end_sharing(portal.sign_in("amelia"))
    daniel = portal.sign_in("daniel")
    assert "together with your treatment" in daniel.get("/me").words
    assert "can’t be shown" not in daniel.get("/care-team").words
    opened = [daniel.get(path) for path in ("/", "/consents", "/conversations")]
    opened += [daniel.get(link) for page in opened for link in records(page)]
    assert len(opened) > 8
    links = {link for page in opened for link in records(page)}
    assert not {link: page.status for link in links if (page := daniel.get(link, status=None)).status != 200}
    assert EPISODE not in "".join(page.text for page in opened)


def records(page: Page) -> set[str]:
    """The addresses of records that a page links to, but for the slow ones: PDFs and steps of signing."""
    links = {str(link["href"]).partition("#")[0] for link in page.select("main a[href]")}
    return {
        link
        for link in links
        if re.match(r"/(consents|conversations|episodes|files|storage)\b", link)
        and not link.endswith((".pdf", "/sign", "/revoke"))
    }
