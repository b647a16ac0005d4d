"""The inventory of embryos: by place, in counted lists that know what wasn't read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from flask import g
from msgspec.structs import replace

from portal.config.tenants import Side
from portal.services.cases import CareStatus
from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentForm, ConsentKind, ConsentStatus, Signature, SignerRole
from portal.services.episodes import READ_EPISODE, Episode
from portal.services.listed import Count, Listed
from portal.services.patients import Patient
from portal.services.storage import (
    UPDATE_EMBRYO_STORAGE,
    Disposition,
    EmbryoStatus,
    EmbryoStorage,
    StorageLocation,
)
from portal.state.copies import Copies
from portal.store import StoreFull
from portal.views.embryo_view import EmbryoView
from portal.views.storage import inventory
from portal.views.storage.inventory import Inventory, kept_of
from portal.views.storage.places import Shelves
from portal.views.storage.read_inventory import STEP
from portal.views.storage.selection import Selection, StoredList, list_name
from tests.support.builders import person
from tests.support.fake_api import ZONE, FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import Page, SignIn


def today() -> date:
    """The day at the clinic, asked for in each test: midnight may pass between two."""
    return datetime.now(ZONE).date()


def embryo(code: str, *place: str, paid: int = 400, consented: int = 4000, **more: object) -> EmbryoStorage:
    """An embryo at tank, canister, cane and position, paid and consented to for so many days."""
    parts = dict(zip(("tank", "canister", "cane", "position"), place, strict=False))
    record = EmbryoStorage(
        id=code,
        embryo_code=code,
        status=EmbryoStatus.STORED,
        location=StorageLocation(facility="Main", **parts),
        storage_consented_until=today() + timedelta(days=consented),
        storage_expires_at=datetime.now(UTC) + timedelta(days=paid),
    )
    return replace(record, **more)


def episode(id_: str, *embryos: EmbryoStorage, name: str = "Ayşe Yıldız") -> Episode:
    first, last = name.split()
    patient = Patient(id=f"p-{id_}", first_name=first, last_name=last, mrn=f"RF-{id_}")
    return Episode(id=id_, status=CareStatus.FINISHED, patient=patient, embryos=embryos)


def form(
    episode_id: str | None, kind: ConsentKind = ConsentKind.STORAGE, *, is_signed: bool = True
) -> ConsentForm:
    signed = (Signature(role=SignerRole.PATIENT, name="Ayşe Yıldız"),) if is_signed else ()
    status = ConsentStatus.SIGNED if is_signed else ConsentStatus.PENDING
    return ConsentForm(id=f"c-{episode_id}", title="Storage", status=status, kind=kind, episode_id=episode_id, signatures=signed)  # fmt: skip


def holds(fake_api: FakeApi, *episodes: Episode, forms: Iterable[ConsentForm] = ()) -> None:
    """The clinic has these treatments, each named by a storage form."""
    fake_api.gives(LIST_CONSENTS, [*(form(one.id) for one in episodes), *forms])
    for one in episodes:
        fake_api.gives(READ_EPISODE, one, id_=one.id)


def codes(page: Page) -> list[str]:
    """The embryos listed, from the first to the last."""
    return [link.words for link in page.select("tbody th .row-link")]


def lists(page: Page) -> dict[str, str]:
    """The counted lists, by name; a count that isn't given is empty."""
    chips = page.select(".chips a")
    counts = ["".join(count.words for count in link.select(".count")) for link in chips]
    names = [link.words for link in chips]
    return {name.removesuffix(count).strip(): count for name, count in zip(names, counts, strict=True)}


def test_embryos_stand_by_place_and_c2_before_c10(visitor: SignIn, fake_api: FakeApi) -> None:
    holds(
        fake_api,
        episode("1", embryo("A", "T4", "C10", "1", "1"), embryo("B", "T4", "C2", "17", "1")),
        episode("2", embryo("C", "T2", "C1", "4", "2"), embryo("D"), embryo("E", "T4", "C2", "9", "1")),
    )
    page = visitor("elif", "embryologist").get("/storage")
    assert codes(page) == ["C", "E", "B", "A", "D"]
    shelves = [row.words for row in page.select("tr.shelf")]
    assert shelves == ["T2 › C1", "T4 › C2", "T4 › C10", "Place not given"]
    places = [cell.words for cell in page.select(".row-place")]
    assert places == ["T2 C1 4 2", "T4 C2 9 1", "T4 C2 17 1", "T4 C10 1 1", "Not given"]
    inside = page.follow("T4 3").follow("T4 › C2 2")
    assert codes(inside) == ["E", "B"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("T4 C2", ["B"]),
        ("c2 t4", ["B"]),
        ("T4 › C2 › 17", ["B"]),
        ("T4", ["B", "A"]),
        ("yildiz", ["B", "A"]),
        ("rf-1", ["B", "A"]),
        ("b", ["B"]),
        ("T", []),
        ("T4 C3", []),
    ],
)
def test_a_place_a_code_or_a_name_finds_embryos(
    visitor: SignIn, fake_api: FakeApi, text: str, found: list[str]
) -> None:
    holds(
        fake_api,
        episode("1", embryo("A", "T4", "C10"), embryo("B", "T4", "C2", "17")),
        episode("2", embryo("C", "T2", "C1"), name="Grace Okafor"),
    )
    assert codes(visitor("elif", "embryologist").get(f"/storage?q={text}")) == found


def test_what_presses_is_counted_and_one_click_away(visitor: SignIn, fake_api: FakeApi) -> None:
    holds(
        fake_api,
        episode(
            "1",
            embryo("paid late", "T1", paid=-2),
            embryo("ends soon", "T1", paid=60),
            embryo("later", "T1", paid=62),
            embryo("consent soon", "T1", consented=0),
            embryo("consent over", "T1", consented=-1),
            embryo("held", "T1", status=EmbryoStatus.ON_HOLD, hold_reason="Consent withdrawn"),
            embryo("stopped", "T1", status=EmbryoStatus.THAWED, hold_reason="Consent withdrawn"),
            embryo("gone", "T1", status=EmbryoStatus.DISCARDED, paid=-2),
            embryo("undated", "T1", storage_expires_at=None),
        ),
    )
    page = visitor("elif", "embryologist").get("/storage")
    assert lists(page) == {
        "In storage": "7",
        "On hold": "2",
        "Unpaid": "1",
        "Ends within 60 days": "2",
        "Consent or limit passed": "1",
        "Warmed or thawed": "1",
        "A date is missing": "1",
    }
    assert codes(page.follow("Unpaid 1")) == ["paid late"]
    assert set(codes(page.follow("Ends within 60 days 2"))) == {"ends soon", "consent soon"}
    assert set(codes(page.follow("On hold 2"))) == {"held", "stopped"}


def test_a_large_clinic_is_read_in_steps_and_counted_with_at_least(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    many = [episode(str(number), embryo(f"E-{number}", "T1", "C1")) for number in range(STEP + 2)]
    holds(fake_api, *many)
    elif_ = visitor("elif", "embryologist")
    page = elif_.get("/storage")
    assert len(fake_api.sent(READ_EPISODE)) == STEP
    assert lists(page)["In storage"] == f"at least {STEP}"
    assert lists(page)["Unpaid"] == "", "that there are at least none says nothing"
    assert f"{STEP} of {STEP + 2} treatments" in page.words
    page = page.follow("Read on")
    assert len(fake_api.sent(READ_EPISODE)) == STEP + 2
    assert lists(page)["In storage"] == str(STEP + 2)
    assert [one.query["SkipCount"] for one in fake_api.sent(LIST_CONSENTS)] == ["0", "50"], "to its end"
    elif_.get("/storage?list=unpaid")
    assert len(fake_api.sent(READ_EPISODE)) == STEP + 2, "a second list is the same inventory"
    elif_.get("/storage").follow("Read again")
    assert len(fake_api.sent(READ_EPISODE)) == 2 * STEP + 2


def test_a_store_that_takes_no_writes_makes_no_page_read_the_same_step_for_ever(
    visitor: SignIn, fake_api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keep(*_args: object, **_more: object) -> None:
        raise StoreFull("full")

    holds(fake_api, *(episode(str(number), embryo(f"E-{number}", "T1")) for number in range(STEP + 2)))
    elif_ = visitor("elif", "embryologist")
    (link,) = elif_.get("/storage").select("#reading a")
    assert "load" in str(link["hx-trigger"]), "it reads on by itself"
    monkeypatch.setattr(Copies, "keep", keep)
    (link,) = elif_.get("/storage?again=1").select("#reading a")
    assert link["hx-trigger"] == "click"


@pytest.mark.parametrize("status", [503, 403, 404])
def test_a_treatment_that_cannot_be_read_is_told_and_tried_again(
    visitor: SignIn, fake_api: FakeApi, status: int
) -> None:
    holds(fake_api, episode("1", embryo("A", "T1")), episode("2", embryo("B", "T1")))
    fake_api.refuses(READ_EPISODE, status, id_="2")
    page = visitor("elif", "embryologist").get("/storage")
    assert codes(page) == ["A"] and lists(page)["In storage"] == "at least 1"
    assert "1 treatment couldn’t be read" in page.words
    fake_api.gives(READ_EPISODE, episode("2", embryo("B", "T1")), id_="2")
    page = page.follow("Try again")
    assert codes(page) == ["A", "B"] and lists(page)["In storage"] == "2"


def test_forms_that_lead_to_no_treatment_make_a_count_at_least(visitor: SignIn, fake_api: FakeApi) -> None:
    holds(fake_api, episode("1", embryo("A", "T1")), forms=[form(None, is_signed=False)])
    elif_ = visitor("elif", "embryologist")
    assert lists(elif_.get("/storage"))["In storage"] == "1", "a form that nobody signed stores nothing yet"
    holds(fake_api, episode("1", embryo("A", "T1")), forms=[form(None)])
    page = elif_.get("/storage?again=1")
    assert lists(page)["In storage"] == "at least 1"
    assert "names no treatment" in page.words


def test_forms_that_cannot_be_read_are_no_empty_room(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.refuses(LIST_CONSENTS, 503)
    page = visitor("elif", "embryologist").get("/storage")
    assert "can’t be shown right now" in page.words
    assert not page.select(".chips") and "No embryo" not in page.words


def test_what_one_session_read_is_no_other_sessions(visitor: SignIn, fake_api: FakeApi) -> None:
    holds(fake_api, episode("1", embryo("A", "T1")))
    visitor("elif", "embryologist").get("/storage")
    holds(fake_api, episode("1", embryo("B", "T1")))
    assert codes(visitor("victor", "physician").get("/storage")) == ["B"]


def test_after_a_change_without_an_answer_the_room_is_read_anew(visitor: SignIn, fake_api: FakeApi) -> None:
    holds(fake_api, episode("1", embryo("A", "T1", "C1", "1", "1")))
    elif_ = visitor("elif", "embryologist")
    elif_.get("/storage")
    page = elif_.get("/storage/A?episode=1")
    fake_api.loses(UPDATE_EMBRYO_STORAGE)
    page.form("/storage/A").submit(location_tank="T9", status=None)
    holds(fake_api, episode("1", embryo("A", "T9", "C1", "1", "1")))
    assert "T9" in elif_.get("/storage").words


def test_a_save_sends_nothing_that_never_came(visitor: SignIn, fake_api: FakeApi) -> None:
    """A wish, a paid date or notes that the API keeps elsewhere would be erased by the empty ones of the form."""
    stored = embryo("A", "T1", "C1", "1", "1", storage_expires_at=None, concurrency_stamp="s")
    holds(fake_api, episode("1", stored))
    form = visitor("elif", "embryologist").get("/storage/A?episode=1").form("/storage/A")
    form.submit(location_tank="T2")
    (sent,) = fake_api.sent(UPDATE_EMBRYO_STORAGE)
    assert sent.body == {
        "concurrencyStamp": "s",
        "status": "Stored",
        "location": {"facility": "Main", "tank": "T2", "canister": "C1", "cane": "1", "position": "1"},
    }


def test_a_sheet_to_print_is_one_page(visitor: SignIn, fake_api: FakeApi) -> None:
    holds(
        fake_api,
        episode("1", *(embryo(f"E-{number}", "T1", "C1", "1", str(number)) for number in range(101))),
    )
    elif_ = visitor("elif", "embryologist")
    assert len(codes(elif_.get("/storage"))) == 100
    assert len(codes(elif_.get("/storage").follow("Sheet to print"))) == 101


def test_the_first_page_counts_the_storage_that_ends_like_its_list(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    holds(fake_api, episode("1", embryo("A", paid=60), embryo("B", paid=61), embryo("C", consented=3)))
    elif_ = visitor("elif", "embryologist")
    (tile,) = elif_.get("/").select("#ending")
    assert not tile.select(".duty-count"), "the inventory isn't read for the page itself"
    (count,) = elif_.fragment("/", "ending").select(".duty-count")
    assert count.text_content() == "2"
    (again,) = elif_.get("/").select("#ending")
    assert "hx-get" not in again.attrib
    assert again.words == "2 Storage that ends within 60 days"
    assert codes(elif_.get(str(again.select("a")[0]["href"]))) == ["A", "C"]


@pytest.fixture
def shelves(in_process: InProcess) -> Iterator[Callable[..., Shelves]]:
    """The shelves of these embryos as selected."""
    with in_process.app.test_request_context():
        g.tenant = in_process.app.extensions["portal"].settings.tenants.by_key["riverside"]
        g.language, g.person = "en", person("elif", Side.STAFF)
        yield lambda embryos, **chosen: Shelves(
            Listed(tuple(EmbryoView(one, episode("e", one)) for one in embryos)), Selection(**chosen)
        )


@pytest.mark.parametrize(
    ("place", "inside"),
    [
        ((), ["T2 1", "T10 3"]),
        (("Main", "T10"), ["T10 › C1 2"]),
        (("Main", "T10", "C1"), ["T10 › C1 › 4 1"]),
        (("Main", "T10", "C1", "4"), []),
        (("Main", "T2"), []),
    ],
)
def test_a_place_leads_to_those_inside_it(
    shelves: Callable[..., Shelves], place: tuple[str, ...], inside: list[str]
) -> None:
    places = ((), ("T10", "C1", "4", "1"), ("T10", "C1"), ("T2",), ("T10",))
    found = shelves([embryo(f"A{n}", *at) for n, at in enumerate(places)], place=place)
    assert [f"{link.label} {link.count.number}" for link in found.inside] == inside
    assert [link.current for link in found.steps] == [False] * (len(found.steps) - 1) + [True]


def test_embryos_without_a_place_come_last_and_then_go_by_code(shelves: Callable[..., Shelves]) -> None:
    found = shelves([embryo("B"), embryo("A"), embryo("D", "T1"), embryo("C", "T1"), embryo("E", "", "C1")])
    assert [view.embryo.embryo_code for view in found.shown] == ["C", "D", "A", "B", "E"]


@pytest.mark.parametrize(("number", "pages"), [(0, 1), (100, 1), (101, 2), (200, 2), (201, 3)])
def test_a_page_has_a_hundred_embryos(shelves: Callable[..., Shelves], number: int, pages: int) -> None:
    embryos = [embryo(f"A{place:03}", "T1") for place in range(number)]
    found = shelves(embryos, page=pages)
    assert (found.pages, len(found.on_page)) == (pages, number - (pages - 1) * 100)
    sheet = shelves(embryos, is_sheet=True)
    assert (sheet.pages, len(sheet.on_page)) == (1, number)


def test_the_usual_lists_are_offered_also_empty_and_the_others_where_there_is_one(
    shelves: Callable[..., Shelves],
) -> None:
    usual = [StoredList.ALL, StoredList.HELD, StoredList.UNPAID, StoredList.ENDING]
    assert [link.label for link in shelves([]).lists] == [list_name(which) for which in usual]
    chosen = shelves([], which=StoredList.WARMED).lists
    assert [link.label for link in chosen if link.current] == [list_name(StoredList.WARMED)]
    ended = shelves([embryo("A", consented=-1)]).lists
    assert list_name(StoredList.ENDED) in [link.label for link in ended]


def test_what_is_kept_of_an_embryo_is_all_that_the_room_shows_of_it() -> None:
    bare = EmbryoStorage(id="s-1", embryo_code="A", status=EmbryoStatus.ON_HOLD)
    full = replace(
        bare,
        id="s-2",
        day=5,
        grade="4AB",
        method="Vitrified",
        location=StorageLocation(facility="Main", tank="T1", canister="C2", cane="3", position="4"),
        hold_reason="Consent withdrawn",
        storage_consented_until=date(2030, 1, 2),
        storage_expires_at=datetime(2029, 3, 4, tzinfo=UTC),
        statutory_limit=date(2040, 5, 6),
        disposition=Disposition.DONATE_RESEARCH,
    )
    ayse = Patient(id="p", first_name="Ayşe", last_name="Yıldız", mrn="RF-1", date_of_birth=date(1990, 7, 8))
    treatment = Episode(id="e", status=CareStatus.ACTIVE, patient=ayse, embryos=(bare, full))
    views = [kept.view for kept in kept_of([treatment])]
    assert [view.embryo for view in views] == [bare, full]
    assert [(view.owner, view.episode.id) for view in views] == [(ayse, "e")] * 2


@pytest.mark.parametrize(
    ("members", "may_go_on", "is_whole"),
    [
        ({"is_last_form": False}, True, False),
        ({"asked": 1}, True, False),
        ({"asked": 2}, False, True),
        ({"asked": 2, "failed": ("e-1",)}, False, False),
        ({"asked": 2, "unnamed": 1}, False, False),
        ({"asked": 1, "embryos": 2}, False, False),
        ({"asked": 2, "embryos": 1}, False, True),
    ],
)
def test_the_room_is_whole_once_all_was_read(
    monkeypatch: pytest.MonkeyPatch, members: dict[str, Any], may_go_on: bool, is_whole: bool
) -> None:
    monkeypatch.setattr(inventory, "MOST", 2)
    kept = kept_of([episode("1", *(embryo(f"A{n}") for n in range(members.pop("embryos", 0))))])
    told = {"begun_at": 0.0, "named": ("e-1", "e-2"), "is_last_form": True, "embryos": tuple(kept), **members}
    room = Inventory(**told)
    assert (room.may_go_on, room.is_whole, room.listed.is_whole) == (may_go_on, is_whole, is_whole)
    assert room.episodes == room.asked - len(room.failed)
    assert room.named_count == Count(2, room.is_last_form)
