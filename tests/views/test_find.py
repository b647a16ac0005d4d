"""Finding people over HTTP: from any staff page, by POST, with and without scripts."""

from __future__ import annotations

import pytest

from portal.careservice.ids import sample_id
from portal.state.session_records import known_people_name, record_name
from tests.support.stack import PortalThread
from tests.support.visitor import Page, SignIn, Visitor

EPISODE = sample_id("episode", "amelia-1")
AMELIA = f"/patients/{sample_id('patient', 'amelia')}?episode={EPISODE}"
GRACES = sample_id("episode", "grace-2")
FORM = sample_id("consent", "amelia-genetic")


def typed(visitor: Visitor, text: str, at: str = "/") -> Page:
    """What typing this into the box brings."""
    return visitor.fragment("/find", "found", data={"q": text}, at=at)


def hits(page: Page) -> list[tuple[str, str]]:
    return [
        (name.text_content(), a["href"])
        for a in page.select("#found .hit-main")
        if (name := a.select_one("strong"))
    ]


def test_two_letters_of_a_name_find_the_patient_and_beside_her_the_treatment(nora: Visitor) -> None:
    page = typed(nora, "am")
    assert hits(page)[0] == ("Amelia Hart", AMELIA)
    assert page.select("#found .hit-second")[0]["href"] == f"/episodes/{EPISODE}"
    facts = page.select("#found .hit-main")[0].words
    assert "MRN RF-10482" in facts
    assert "born 17 April 1991" in facts
    assert page.select("#found")[0]["data-for"] == "am"


def test_a_record_number_finds_its_patient(nora: Visitor) -> None:
    assert hits(typed(nora, "RF-10482"))[0] == ("Amelia Hart", AMELIA)


def test_a_patient_without_a_treatment_is_found_with_a_page_of_their_own(nora: Visitor) -> None:
    (hit,) = hits(typed(nora, "karimova"))
    assert hit[0] == "Nadia Karimova"
    assert hit[1].startswith("/patients/")
    assert "No treatment is known" in nora.get(hit[1]).words


def test_two_people_with_one_name_are_listed_and_neither_is_opened(nora: Visitor) -> None:
    page = typed(nora, "elizabeth smith")
    assert [name for name, _ in hits(page)[:2]] == ["Elizabeth Smith"] * 2
    assert page.select("#found[data-ambiguous]")
    facts = [str(row.select(".meta")[0].text_content()) for row in page.select("#found .hit-main")[:2]]
    assert len(set(facts)) == 2, "without birth date and record number, the latest record tells them apart"
    assert not typed(nora, "amelia").select("#found[data-ambiguous]")


@pytest.mark.parametrize(
    ("text", "href"),
    [
        (EPISODE, f"/episodes/{EPISODE}"),
        (FORM, f"/consents/{FORM}"),
        (f"/consents/{FORM}", f"/consents/{FORM}"),
    ],
)
def test_ids_and_links_are_found(nora: Visitor, text: str, href: str) -> None:
    assert [address for _name, address in hits(typed(nora, text))] == [href]


@pytest.mark.parametrize("text", ["https://elsewhere.example/x", sample_id("episode", "none"), "zzyzx", "z"])
def test_a_search_without_hits_says_so(nora: Visitor, text: str) -> None:
    page = typed(nora, text)
    assert hits(page) == []
    assert page.select("#found .hit-none")


def test_without_scripts_one_hit_is_opened_and_several_are_listed_on_a_page(nora: Visitor) -> None:
    assert nora.get("/").form("/find").submit(q="amelia hart").path == AMELIA.partition("?")[0]
    page = nora.get("/protocols").form("/find").submit(q="elizabeth smith")
    assert page.path == "/find/results"
    assert "q=" not in page.url
    assert [name for name, _ in hits(page)] == ["Elizabeth Smith"] * 2
    assert page.select("input#find")[0]["value"] == "elizabeth smith"
    assert hits(nora.get("/find/results")) == hits(page), "the page can be reloaded"


def test_an_empty_search_asks_for_a_name_and_lists_recent_records(person: SignIn) -> None:
    colin = person("colin")
    assert colin.get("/find/results").path == "/find"
    page = colin.get("/").form("/find").submit(q=" ")
    assert page.path == "/find"
    assert "What you open comes here" in page.words


def test_recently_opened_records_show_names_and_no_ids(person: SignIn) -> None:
    victor = person("victor")
    victor.get(f"/episodes/{EPISODE}/documents")
    victor.get(f"/consents/{FORM}")
    victor.get(f"/episodes/{EPISODE}")
    page = victor.get("/find")
    rows = [row.words for row in page.tree.select_one("#found .hits").select(".hit-main")]
    assert rows[0].startswith("Amelia Hart Episode")
    assert rows[1].startswith("Amelia Hart Consent form")
    assert len(rows) == 2
    assert EPISODE not in page.words
    assert FORM not in page.words


# ── what the session has read ───────────────────────────────────────────────────────────────────────────


@pytest.fixture
def elif_(person: SignIn) -> Visitor:
    """Somebody who has read the treatments of Amelia and Grace."""
    elif_ = person("elif")
    elif_.get(f"/episodes/{EPISODE}")
    elif_.get(f"/episodes/{GRACES}")
    return elif_


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("17/04/1991", "Amelia Hart"),
        ("1991-04-17", "Amelia Hart"),
        ("17 april 1991", "Amelia Hart"),
        ("GO-1", "GO-1"),
        ("go-1", "GO-1"),
        ("Amelja", "Amelia Hart"),
    ],
)
def test_what_was_read_is_found_by_what_no_list_searches(elif_: Visitor, text: str, name: str) -> None:
    assert hits(typed(elif_, text))[0][0] == name


def test_places_telephones_and_numbers_are_found_and_lead_to_the_thing(elif_: Visitor) -> None:
    found = hits(typed(elif_, "T4 C2"))
    assert {href.partition("?")[2] for name, href in found if name.startswith("GO-")} == {f"episode={GRACES}"}
    assert ("GO-1", f"/storage/{sample_id('embryo', 'GO-1')}?episode={GRACES}") in found
    assert found[-1][1].startswith("/storage?q="), "the inventory can be searched too"
    for text in ("07700 900182", "+44 7700 900182", "900182", "E-2051-1", "C-2051"):
        assert hits(typed(elif_, text))[0] == ("Amelia Hart", AMELIA)


def test_a_tank_may_be_named_by_a_letter(person: SignIn) -> None:
    omar = person("omar")
    omar.get(f"/episodes/{sample_id('episode', 'maya-1')}")
    assert [name for name, _href in hits(typed(omar, "A 1"))][:1] == ["MF-2"]
    assert "MF-2" not in [name for name, _href in hits(typed(omar, "a a"))], "letters alone are no place"


def test_what_one_has_read_is_found_by_nobody_else_and_gone_with_the_session(
    portal: PortalThread, person: SignIn, elif_: Visitor
) -> None:
    assert hits(typed(elif_, "07700 900182"))
    assert hits(typed(person("colin"), "07700 900182")) == [], "of another person's session"
    again = portal.sign_in("elif")
    assert hits(typed(again, "07700 900182")) == [], "of the same person's other session"
    again.get(f"/episodes/{EPISODE}")
    assert hits(typed(again, "07700 900182"))
    name = known_people_name(record_name(again.session_id))
    assert portal.context.vault.store.get(name)
    again.get("/me").form("/sign-out").submit()
    assert portal.context.vault.store.get(name) is None


# ── actions ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("who", "text", "href"),
    [
        ("victor", "new prot", "/protocols/new"),
        ("nora", "new consent", "/consents/new"),
        ("nora", "sign", "/consents?list=mine"),
        ("nora", "messages", "/conversations"),
    ],
)
def test_actions_are_found_in_the_same_box(person: SignIn, who: str, text: str, href: str) -> None:
    assert href in [address for _name, address in hits(typed(person(who), text))]


def test_actions_that_are_not_ones_own_are_not_offered(person: SignIn) -> None:
    assert "/consents/new" not in [href for _name, href in hits(typed(person("elif"), "new consent"))]


def test_before_anything_is_typed_there_are_recent_records_and_actions(nora: Visitor) -> None:
    nora.get(f"/episodes/{EPISODE}")
    page = typed(nora, "")
    assert hits(page)[0] == ("Amelia Hart", f"/episodes/{EPISODE}")
    assert "/consents/new" in [href for _name, href in hits(page)]
    assert not page.select("#found[data-for]"), "Enter opens none of them unasked"
