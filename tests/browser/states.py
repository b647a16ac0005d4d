"""The pages that only an act leads to: a form's next steps, receipts, refusals, outages, lost responses.

Each function is one person's path through them, using only addresses and fields, so that it works in every language.
Every page they open is added to the album.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from portal.careservice.ids import sample_id
from portal.demo.stack import PEOPLE
from portal.http import transport
from portal.printing import CannotPrint
from portal.signin.claims import NoRole
from portal.signin.errors import NotFresh, NotStrong
from portal.signin.flow import SignIn
from portal.web import pdf
from tests.browser.album import Album, Collector
from tests.browser.stage import Stage, answers_lost
from tests.support.authenticator import Passkey
from tests.support.signing import change_record, consent, fresh_form
from tests.support.stack import PortalThread, free_port
from tests.support.two_people import second_person_asked, signed_by
from tests.support.visitor import Page
from tests.views.storage.embryos import to_discard

TOMASZ, NOOR = sample_id("prospect", "tomasz"), sample_id("prospect", "noor")
INES, AGAIN = sample_id("prospect", "ines"), sample_id("prospect", "ines-again")
LEGACY = f"/emr-endpoints/{sample_id('emr-endpoint', 'riverside-legacy')}/remove"
AMELIAS, GRACES = sample_id("episode", "amelia-1"), sample_id("episode", "grace-2")


def signing(stage: Stage) -> None:
    form = fresh_form(stage.portal.plan)
    amelia = stage.person("amelia")
    page = amelia.get(f"{form}/sign").form(f"{form}/sign").submit()
    page.form(f"{form}/sign").submit()
    page = page.form(f"{form}/sign").submit(check_all=True)
    _confirm_first(stage, page, form)
    page.form(f"{form}/sign").submit(signature="Somebody Else", status=None)
    with answers_lost():
        page.form(f"{form}/sign").submit(signature="Amelia Hart", status=None)
    stage.portal.clock.advance(31)
    again = amelia.get(f"{form}/sign").form(f"{form}/sign")
    receipt = again.submit(signature="Amelia Hart")
    amelia.get(f"{receipt.path}?verify=1")

    changed = fresh_form(stage.portal.plan)
    page = amelia.get(f"{changed}/sign").form(f"{changed}/sign").submit()
    change_record(stage.portal.plan, changed, clause="The clinic wrote this clause anew while it was read.")
    page.form(f"{changed}/sign").submit(check_all=True, status=None)
    amelia.get(f"{changed}/sign/read", status=None)


def declaring(stage: Stage) -> None:
    """A clinician declares a sentence of their own, and declines after all."""
    form = fresh_form(stage.portal.plan)
    victor = stage.person("victor")
    victor.get(f"{form}/sign").form(f"{form}/sign").submit()
    stage.portal.age_sign_in(victor, 21 * 60)
    victor.get(f"{form}/sign?list=open")
    stage.portal.age_sign_in(victor, -21 * 60)
    page = victor.get(f"{form}/revoke")
    page.form(f"{form}/revoke").submit(reason="The plan has changed.")
    victor.get(f"{form}/revoke")


def _confirm_first(stage: Stage, page: Page, form: str) -> None:
    """The password is asked again where the last time is long ago."""
    page.form(f"{form}/sign").submit()
    stage.portal.age_sign_in(page.visitor, 6 * 60)
    page.visitor.get(f"{form}/sign/name", status=None)
    stage.portal.age_sign_in(page.visitor, -6 * 60)


def withdrawing(stage: Stage) -> None:
    amelia = stage.person("amelia")
    page = amelia.get(f"{consent('amelia-treatment-2')}/revoke")
    form = page.form(consent("amelia-treatment-2"))
    with answers_lost():
        form.submit(reason="We changed our minds.", status=None)
    stage.portal.clock.advance(31)
    again = amelia.get(f"{consent('amelia-treatment-2')}/revoke", status=None)
    if again.select('main form[action$="/revoke"]'):
        again.form(consent("amelia-treatment-2")).submit(reason="We changed our minds.", status=None)
    amelia.get(consent("amelia-treatment-2"))
    amelia.get(f"{consent('amelia-treatment-2')}/revoke", status=None)


def passkeys(stage: Stage) -> None:
    """A passkey for signing is added, listed, and about to be removed."""
    grace = stage.person("grace")
    page = grace.get("/me/passkeys")
    options = json.loads(str(page.select("[data-passkey]")[0]["data-options"]))
    origin = stage.portal.origin()
    made = Passkey(origin, str(urlsplit(origin).hostname)).created(options)
    listed = page.form("/me/passkeys").submit(credential=made)
    grace.get(str(listed.select('main a[href$="/remove"]')[0]["href"]))


def making_a_consent(stage: Stage) -> None:
    nora = stage.person("nora")
    start = nora.get(f"/consents/new?template=treatment&episode={AMELIAS}").form("/consents/new/fill")
    start.submit(status=None, title="")
    page = start.submit(status=None, title="A form of its own", **{"signer-2": "-"})
    with answers_lost():
        page.form("/consents/new").submit(status=None)
    page.form("/consents/new").submit(status=None)
    nora.post("/consents/new/bundle", {"episode": AMELIAS, "template": "treatment"})
    nora.get("/consents?q=nothing+is+called+so")
    nora.get("/consents/new?q=nothing+is+called+so")


def protocols(stage: Stage) -> None:
    nora, victor = stage.person("nora"), stage.person("victor")
    made = _review_new(nora, "A plan of their own").form("/protocols/new/create").submit()
    hers, his = nora.get(f"{made.path}/edit"), victor.get(f"{made.path}/edit")
    review = _press(his, "review", **{"medication-0-dose": "0.3"})
    with answers_lost():
        review.form(f"{made.path}/save").submit(status=None)
    stage.portal.clock.advance(31)
    _press(victor.get(f"{made.path}/edit"), "review", **{"medication-0-dose": "0.35"}).form(
        f"{made.path}/save"
    ).submit(status=None)
    compared = _press(hers, "review", **{"medication-0-dose": "0.36"})
    compared.form(f"{made.path}/review").submit(status=None)
    nora.post("/protocols/days", {f"medication-0-{column}": value for column, value in _ROW.items()})
    _press(nora.get("/protocols/new"), "review")
    _press(_press(nora.get("/protocols/new"), "add-medication"), "review", **{"medication-0-dose": "much"})
    stage.person("amelia").get(f"/protocols/{sample_id('protocol', 'amelia')}/change")
    stage.person("amelia").get(f"/episodes/{AMELIAS}/doses")
    shown = nora.get(made.path)
    for move in shown.select('main form[action$="/status"], main a[href*="/end"]'):
        if move.tag == "a":
            nora.get(str(move["href"]))
    high = _review_new(nora, "A plan above the usual", dose="0.75")
    high = high.form("/protocols/new/create").submit(**{"again-0": "0.75"})
    nora.get(high.path).form(f"{high.path}/status").submit()
    page = _review_new(nora, "A plan whose answer got lost")
    with answers_lost():
        page.form("/protocols/new/create").submit(status=None)


_ROW = {
    "drug": "Ganirelix",
    "drug_class": "GnRH antagonist",
    "dose": "0.25",
    "unit": "mg",
    "route": "Subcutaneous",
    "start_day": "6",
}


def _review_new(visitor: Collector, name: str, dose: str = "0.25") -> Page:
    page = _press(visitor.get("/protocols/new"), "add-medication")
    row = {f"medication-0-{column}": value for column, value in {**_ROW, "dose": dose}.items()}
    return _press(page, "review", name=name, type="Antagonist", **row)


def _rows(page: Page) -> Any:
    return page.tree.select_one("form:has(button[value=review])")


def _press(page: Page, act: str, **values: str) -> Page:
    return page.form(_rows(page)).submit(button=("do", act), status=None, **values)


def storage(stage: Stage) -> None:
    def at(code: str, decision: str = "") -> str:
        return f"/storage/{sample_id('embryo', code)}{decision}?episode={GRACES}"

    elif_, grace, victor = stage.person("elif"), stage.person("grace"), stage.person("victor")
    elif_.get(at("GO-4"))
    _save(elif_, at("GO-4"), storage_expires_at="soon")
    decided = f"/storage/{sample_id('embryo', 'ZW-4')}?episode={sample_id('episode', 'zofia-1')}"
    asked = _save(elif_, decided, status="Discarded", notes="As decided")
    asked.form("/storage/").submit(code="GO-1", record_number="?", status=422)
    mine = elif_.get(at("GO-1"))
    _save(victor, at("GO-1"), status="Stored", location_cane="99")
    fields = {**dict(mine.form("/storage/").fields()), "notes": "Mine", "location_cane": "12"}
    elif_.post(at("GO-1"), fields, status=None)
    asked.form("/storage/").submit(code="ZW-4", record_number="RF-11000")
    elif_.get(decided)
    grace.get(at("GO-2", "/end-storage"))
    grace.get(at("GO-2", "/take-back"), status=None)
    grace.get(at("GO-2", "/keep")).form("/storage/").submit(status=None)
    grace.get(at("GO-2"))


def second_person(stage: Stage) -> None:
    """The clinic asks for two people to discard an embryo."""
    where = f"/storage/{sample_id('embryo', 'GO-3')}"
    elif_, victor = stage.person("elif"), stage.person("victor")
    signed_by(stage.portal.plan, to_discard(stage.portal, "GO-3"))
    with second_person_asked(stage.portal):
        asked = _save(
            elif_, f"{where}?episode={GRACES}", status="Discarded", notes="As decided", location_cane="7"
        )
        asked.form(where).submit(code="GO-3", record_number="RF-09117")
        elif_.get(f"{where}?episode={GRACES}")
        victor.get("/")
        page = victor.get(f"{where}/second-person?episode={GRACES}")
        page.form(f"{where}/second-person").submit(code="GO-1", record_number="?", status=422)
        page.form(f"{where}/second-person/stop").submit()


def _save(visitor: Collector, where: str, **fields: str) -> Page:
    given = {**dict(visitor.get(where).form("/storage/").fields()), **fields}
    return visitor.post(where, given, status=None)


def prospects(stage: Stage) -> None:
    colin = stage.person("colin")
    page = colin.get(_week(f"/prospects/{TOMASZ}/book"))
    page.form(f"/prospects/{TOMASZ}/book").submit(status=422)
    chosen = page.windows[3]
    page.form(f"/prospects/{TOMASZ}/book").submit(window=chosen)
    page.form(f"/prospects/{TOMASZ}/book-link").submit(days="14", status=None)
    colin.get(f"/prospects/{NOOR}/book-link", status=None)
    slow = colin.get(_week(f"/prospects/{NOOR}/book", 2))
    with answers_lost():
        slow.form(f"/prospects/{NOOR}/book").submit(window=slow.windows[2], status=None)
    colin.get(f"/prospects/{INES}/merge")
    colin.get(f"/prospects/{INES}/merge?merge={INES}", status=422)
    page = colin.get(f"/prospects/{INES}/merge?merge={AGAIN}").form(f"/prospects/{INES}/merge").submit()
    page.form(f"/prospects/{INES}/merge/confirm").submit()
    again = colin.get(f"/prospects/{INES}/merge?merge={AGAIN}").form(f"/prospects/{INES}/merge").submit()
    again.form(f"/prospects/{INES}/merge/confirm").submit(status=None)
    page = colin.get(f"/prospects/{TOMASZ}/merge?merge={NOOR}").form(f"/prospects/{TOMASZ}/merge").submit()
    with answers_lost():
        page.form(f"/prospects/{TOMASZ}/merge/confirm").submit(status=None)


def _week(path: str, weeks: int = 1) -> str:
    return f"{path}?from={(date.today() + timedelta(weeks=weeks)).isoformat()}"


def connections(stage: Stage) -> None:
    ada = stage.person("ada")
    ada.get("/clinic-system")
    form = ada.get(LEGACY).form(LEGACY)
    form.submit(typed="something else", status=422)
    form.submit(typed=LEGACY.split("/")[2])
    form.submit(typed=LEGACY.split("/")[2], status=None)
    absent = "/emr-endpoints/00000000-0000-4000-8000-000000000000/remove"
    ada.get(absent).form(absent).submit(typed=absent.split("/")[2], status=None)


def relationships(stage: Stage) -> None:
    amelia = stage.person("amelia")
    page = amelia.get(
        f"/relationships/{sample_id('relationship', 'amelia-contact')}/remove?episode={AMELIAS}"
    )
    form = page.form("/relationships/")
    form.submit()
    form.submit(status=None)
    amelia.get(page.url, status=404)


def messages(stage: Stage) -> None:
    amelia = stage.person("amelia")
    thread = amelia.get(f"/conversations/{sample_id('conversation', 'amelia-scan')}")
    for form in thread.select('main form[action*="/messages/"], main form[action*="/archive"]')[:1]:
        thread.form(form).submit()
    amelia.get("/conversations?q=nothing+is+called+so")
    mine = amelia.get("/me").form("/me")
    theirs = amelia.get("/me").form("/me")
    theirs.submit(address="2 Another Street", status=None)
    mine.submit(address="1 My Street", status=None)


def printing(stage: Stage) -> None:
    """No PDF can be made: at all, or because too many others are being made."""
    for name, is_busy in (("amelia", False), ("nora", True)):

        def cannot(*_: Any, is_busy: bool = is_busy, **__: Any) -> bytes:
            raise CannotPrint("made for a test", is_busy=is_busy)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pdf, "pdf", cannot)
            stage.person(name).get(f"{consent('amelia-treatment-2')}/receipt.pdf", status=503)


def booking(stage: Stage) -> None:
    def link(days: float = 7) -> str:
        links = stage.portal.app.extensions["booking"].links
        signed = links.make(clinic="riverside", prospect_id=TOMASZ, lifetime=timedelta(days=days))
        return f"/book/{signed}"

    anybody = stage.nobody()
    path, lost = link(), link()
    page = anybody.get(_week(path, 3))
    page.form(path).submit(status=422)
    page.form(path).submit(window=page.windows[0])
    slow = anybody.get(_week(lost, 4))
    with answers_lost():
        slow.form(lost).submit(window=slow.windows[0], status=None)
    anybody.get(link(days=-1), status=None)
    anybody.get(f"{link()[:-4]}abcd", status=None)
    ruth = stage.portal.app.extensions["booking"].links.make(
        clinic="riverside", prospect_id=sample_id("prospect", "ruth"), lifetime=timedelta(days=7)
    )
    closed = anybody.get(_week(f"/book/{ruth}", 3), status=None)
    if closed.windows:
        closed.form(f"/book/{ruth}").submit(window=closed.windows[0], status=None)


def errors(stage: Stage) -> None:
    nobody, amelia, nora = stage.nobody(), stage.person("amelia"), stage.person("nora")
    for visitor in (nobody, amelia, nora):
        visitor.get("/no-such-page", status=404)
    amelia.get("/protocols", status=None)
    nora.get(f"/prospects/{INES}/merge", status=None)
    amelia.post("/language", {"csrf_token": "stale", "language": "en"}, status=None)
    nobody.get("/sign-in/callback?state=x&code=y", status=None)
    nobody.get("/styles", status=200)
    amelia.get("/styles", status=200)
    nora.get("/styles", status=200)
    nobody.get(stage.portal.origin("elsewhere") + "/", status=421)
    _faults(stage)
    with answers_lost(acts_alone=False):
        for visitor, pages in ((amelia, _PATIENTS), (nora, _STAFFS)):
            for path in pages:
                visitor.get(path, status=None)
    _hurried(stage)
    _not_fresh(stage)
    _not_strong(stage)
    _no_role(stage)


def _not_fresh(stage: Stage) -> None:
    """An identity server that doesn't say when somebody signed in, or doesn't ask for the password again."""
    for is_dated in (True, False):

        def finish(*_: Any, is_dated: bool = is_dated, **__: Any) -> None:
            raise NotFresh("not fresh", is_dated=is_dated)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SignIn, "finish", finish)
            stage.person("amelia").get("/sign-in/callback?state=x&code=y", status=400)


def _not_strong(stage: Stage) -> None:
    """An identity server that lets somebody in without the second factor that the clinic asks for: to come in, or for an act."""
    for to_come_in in (True, False):

        def finish(*_: Any, to_come_in: bool = to_come_in, **__: Any) -> None:
            raise NotStrong("too weak", "/consents", to_come_in=to_come_in)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(SignIn, "finish", finish)
            stage.person("nora").get("/sign-in/callback?state=x&code=y", status=403)


def _no_role(stage: Stage) -> None:
    """An identity server that lets somebody in who has no access to this clinic's portal."""

    def finish(*_: Any, **__: Any) -> None:
        raise NoRole("no role at this clinic")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SignIn, "finish", finish)
        stage.person("nora").get("/sign-in/callback?state=x&code=y", status=403)


_PATIENTS = (
    "/",
    "/episodes",
    "/consents",
    "/conversations",
    "/notifications",
    "/storage",
    "/me",
    "/care-team",
)
_STAFFS = (
    "/",
    "/episodes",
    "/consents",
    "/conversations",
    "/notifications",
    "/storage",
    "/protocols",
    "/care-team",
)


def _faults(stage: Stage) -> None:
    """A fault of the portal's own."""

    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("made for a test")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "send", fails)
        for name in ("amelia", "nora"):
            stage.person(name).get(consent("amelia-genetic"), status=500)


def _hurried(stage: Stage) -> None:
    """A portal that lets an address sign in and book once an hour."""
    plan = replace(stage.portal.plan, portal_port=free_port())
    hurried = PortalThread(
        plan,
        PORTAL_LIMIT_SIGN_IN="1 per hour",
        PORTAL_LIMIT_BOOKING="1 per hour",
        PORTAL_STORE_URL=f"sqlite:///{plan.data}/hurried.db",
    )
    try:
        visitor = Stage(hurried, stage.album, stage.language_of).nobody()
        signed = hurried.app.extensions["booking"].links.make(
            clinic="riverside", prospect_id=TOMASZ, lifetime=timedelta(days=1)
        )
        for _ in range(2):
            visitor.get("/sign-in/callback?state=x&code=y", status=None)
        for _ in range(2):
            visitor.get(f"/book/{signed}", status=None)
    finally:
        hurried.stop()
    # It is gone when the pages are looked at; the first portal gives their style.
    stage.album.move(hurried.origin(), stage.portal.origin())


def leaving(stage: Stage) -> None:
    """Devices, signing out everywhere, and the page after it."""
    daniel, omar = stage.fresh("daniel"), stage.fresh("omar")
    listed = stage.fresh("daniel").get("/me/devices")
    for form in listed.select('form[action^="/me/devices/"][action$="/sign-out"]'):
        daniel.get(str(form["action"]), status=None)
    daniel.get("/me/devices/sign-out").form("/me/devices/sign-out").submit(status=None)
    omar.get("/signed-out")
    omar.sign_out()


STATES: tuple[Callable[[Stage], None], ...] = (
    signing,
    declaring,
    withdrawing,
    passkeys,
    making_a_consent,
    protocols,
    storage,
    second_person,
    booking,  # before staff have booked the same enquirer
    prospects,
    connections,
    relationships,
    messages,
    printing,
    errors,
    leaving,
)


ALIKE = ("daniel", "maya", "omar", "colin")
"""Whose pages differ from another's by names alone; every one of theirs is opened by `tests/pages/test_page_source.py`."""


def collect(portal: PortalThread, album: Album, language_of: Callable[[str], str]) -> None:
    """Walk through the whole product as everybody, send each form blank, and go through every state."""
    stage = Stage(portal, album, language_of)
    for people in PEOPLE.values():
        for name, _ in people:
            if album.all_of_them or name not in ALIKE:
                stage.person(name).send_blank(stage.person(name).walk())
    for state in STATES:
        stage.person.cache_clear()  # acts need a fresh sign-in, and the walk takes minutes on a busy machine
        state(stage)
