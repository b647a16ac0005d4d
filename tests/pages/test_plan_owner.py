"""Whose medicines a plan is told as in a treatment that has the partner's: theirs, and never the reader's own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from portal.services.cases import CareStatus
from portal.services.episodes import READ_EPISODE, Episode, Outcome
from portal.services.patients import Patient
from portal.services.protocols import LIST_PROTOCOLS, READ_PROTOCOL, Protocol, ProtocolStatus
from tests.pages.test_tonight import PLAN, card, episode, shows
from tests.support.fake_api import FakeApi
from tests.support.visitor import Page, SignIn

DANIEL = Patient(id="daniel-patient", user_id="daniel", first_name="Daniel", last_name="Hart")
NOBODYS = "In the clinic’s system this plan is somebody else’s"


def treatment(fake_api: FakeApi, owner: str | None) -> Episode:
    """Amelia's, with Daniel as her partner, and a plan of this patient."""
    plan = replace(PLAN, patient_id=owner)
    treated = replace(episode(plan), partner=DANIEL)
    shows(fake_api, treated)
    fake_api.gives(READ_PROTOCOL, plan)
    return treated


@pytest.mark.parametrize("owner", [None, "amelia-patient", "daniel-patient"])
@pytest.mark.parametrize("sub", ["amelia", "daniel"])
def test_the_doses_are_told_as_those_of_whose_plan_it_is(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], owner: str | None, sub: str
) -> None:
    treatment(fake_api, owner)
    reader = visitor(sub)
    at("25 18:30")
    is_own = (owner or "amelia-patient") == f"{sub}-patient"
    called = "Daniel" if owner == "daniel-patient" else "Millie"
    for path in ("/", "/episodes/e-1", "/episodes/e-1/medication"):
        words = card(reader, path)
        assert "19:00 Follitropin 225 units" in words
        assert ("I’ve taken it" in words) is is_own, path
        assert (f"These are {called}’s medicines." in words) is not is_own, path
    medication = reader.get("/episodes/e-1/medication")
    assert (f"This is {called}’s plan." in medication.words) is not is_own
    assert ("Download as PDF" in medication.words) is is_own
    others = f"{called}’s medicines"
    assert ("My medicines" in reader.get("/papers").words) is is_own
    for path in ("/papers", "/protocols/p-1"):
        assert (others in reader.get(path).words) is not is_own, path
    calendar = reader.get("/protocols/p-1/schedule.ics?names=1").text.replace("\r\n ", "")
    assert (others in calendar) is not is_own


def test_a_treatments_other_plans_are_named_with_whose_they_are(visitor: SignIn, fake_api: FakeApi) -> None:
    treatment(fake_api, "amelia-patient")

    def other(name: str, status: ProtocolStatus, **changed: object) -> Protocol:
        of_both = replace(PLAN, episode_id="e-1", patient_id="daniel-patient")
        return replace(of_both, id=f"p-{name}", name=name, status=status, **changed)

    fake_api.gives(
        LIST_PROTOCOLS,
        [
            replace(PLAN, episode_id="e-1"),
            other("Antibiotics", ProtocolStatus.ACTIVE),
            other("Vitamins", ProtocolStatus.ON_HOLD, patient_id="amelia-patient"),
            other("Draft", ProtocolStatus.DRAFT),
            other("Cancelled", ProtocolStatus.CANCELLED),
            other("Elsewhere", ProtocolStatus.ACTIVE, episode_id="e-2"),
        ],
    )
    told = {"amelia": ["Daniel · Active", "Paused"], "daniel": ["Active", "Millie · Paused"]}
    for sub, meta in told.items():
        rows = visitor(sub).get("/episodes/e-1/medication").select(".links a")
        assert [row["href"] for row in rows] == ["/protocols/p-Antibiotics", "/protocols/p-Vitamins"]
        assert [row.select("span")[-1].words for row in rows] == meta
    fake_api.refuses(LIST_PROTOCOLS, 503)
    page = visitor("amelia").get("/episodes/e-1/medication")
    assert "Other plans can’t be shown right now." in page.words
    assert "Follitropin" in page.words


def test_only_whose_plan_it_is_ticks_a_dose_off(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    treatment(fake_api, "daniel-patient")
    amelia, daniel = visitor("amelia"), visitor("daniel")
    at("25 18:30")
    form = daniel.get("/episodes/e-1").form("/episodes/e-1/doses")
    form.submit()
    assert "Done 18:30" in card(daniel)
    tick = {name: value for name, value in form.fields() if name != "csrf_token"}
    amelia.post("/episodes/e-1/doses", tick, status=404)


@pytest.mark.parametrize("sub", ["amelia", "daniel"])
def test_a_plan_of_neither_is_followed_by_nobody(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], sub: str
) -> None:
    treatment(fake_api, "somebody")
    reader = visitor(sub)
    at("25 18:30")
    for path in ("/", "/episodes/e-1", "/episodes/e-1/medication", "/protocols/p-1"):
        words = reader.get(path).words
        assert f"{NOBODYS}. Don’t take anything from it before you have called the clinic." in words, path
        assert "19:00 Follitropin" not in words and "’s medicines" not in words, path
    assert "medicines" not in reader.get("/papers").words
    reader.get("/protocols/p-1/schedule.ics", status=404)


@pytest.mark.parametrize(
    ("owner", "whose"), [("amelia-patient", ""), ("daniel-patient", "Daniel Hart’s medicines")]
)
def test_staff_read_whose_doses_they_are(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], owner: str, whose: str
) -> None:
    treated = treatment(fake_api, owner)
    assert treated.protocol
    fake_api.gives(LIST_PROTOCOLS, [treated.protocol])
    nora = visitor("nora", "nurse")
    at("25 18:30")
    for path in ("/patients/amelia-patient?episode=e-1", "/episodes/e-1", "/protocols/p-1"):
        words = nora.get(path).words
        assert ("’s medicines" in words, whose in words) == (bool(whose), True), path
    assert ("This is Daniel Hart’s plan." in nora.get("/episodes/e-1/medication").words) is bool(whose)
    happened = nora.get("/patients/amelia-patient?episode=e-1").select("#week .happenings li")
    begun = [row.words for row in happened if "Follitropin" in row.words]
    assert begun and all((whose or "Follitropin") in words for words in begun)


def test_the_patients_doses_are_named_on_the_partners_page(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    treated = treatment(fake_api, None)
    fake_api.gives(LIST_PROTOCOLS, [treated.protocol])
    nora = visitor("nora", "nurse")
    at("25 18:30")
    page = nora.get("/patients/daniel-patient?episode=e-1")
    (doses,) = (row.words for row in page.select(".patient-page dl > div") if "Cetrorelix" in row.words)
    assert doses.startswith("Today · Amelia’s medicines 08:00")


def test_staff_read_the_doses_of_each_plan_in_a_treatment_that_holds_none(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    shows(fake_api, replace(episode(None), partner=DANIEL))
    own, second = replace(PLAN, patient_id="amelia-patient"), replace(PLAN, id="p-2", name="Luteal support")
    nora = visitor("nora", "nurse")
    at("25 18:30")

    def today(*plans: Protocol) -> list[str]:
        fake_api.gives(LIST_PROTOCOLS, list(plans))
        rows = nora.get("/patients/amelia-patient?episode=e-1").select(".patient-page dl > div")
        return [row.words for row in rows if row.words.startswith("Today")]

    doses = "08:00 Cetrorelix 0.25 mg 19:00 Follitropin 225 IU"
    assert today(own) == [f"Today {doses}"]
    assert today(own, second) == [f"Today · Antagonist {doses}", f"Today · Luteal support {doses}"]
    assert today(replace(own, status=ProtocolStatus.COMPLETED)) == ["Today There is no medicine plan here"]
    paused = replace(second, status=ProtocolStatus.ON_HOLD)
    assert today(paused) == ["Today The medicine plan is on hold"]
    assert today(own, paused) == [
        f"Today · Antagonist {doses}",
        "Today · Luteal support The medicine plan is on hold",
    ]


def test_staff_read_the_doses_of_further_plans_on_the_treatments_page(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    own = replace(PLAN, patient_id="amelia-patient")
    row = replace(PLAN.medications[0], drug="Doxycycline", dose=100, unit="mg", times=("18:00",))
    his = replace(own, id="p-2", name="Antibiotics", patient_id="daniel-patient", medications=(row,))
    paused = replace(his, id="p-3", name="Vitamins", status=ProtocolStatus.ON_HOLD)
    nora = visitor("nora", "nurse")
    at("25 18:30")

    def today(held: Protocol | None, *plans: Protocol) -> str:
        shows(fake_api, replace(episode(held), partner=DANIEL))
        fake_api.gives(LIST_PROTOCOLS, list(plans))
        (shown,) = nora.get("/episodes/e-1").select("[data-state='today']")
        return shown.words

    none = "There is no medicine plan here"
    assert none in today(None)
    assert "2 medicines today" in (words := today(None, own)) and "19:00 Follitropin 225 IU" in words
    assert none not in words and "’s medicines" not in words
    assert "Daniel Hart’s medicines 1 medicine today 18:00 Doxycycline 100 mg" in today(None, his)
    words = today(own, own, his, paused)
    assert "Day 6 3 medicines today Antagonist 08:00 Cetrorelix 0.25 mg 19:00 Follitropin 225 IU" in words
    assert "Antibiotics · Daniel Hart’s medicines 18:00 Doxycycline 100 mg" in words
    assert "Vitamins · Daniel Hart’s medicines The medicine plan is on hold" in words
    fake_api.refuses(LIST_PROTOCOLS, 503)
    page = nora.get("/episodes/e-1").words
    assert "Other plans can’t be shown right now." in page and "19:00 Follitropin 225 IU" in page
    shows(fake_api, episode(None))
    page = nora.get("/episodes/e-1").words
    assert none not in page and "No medicine" not in page


def test_a_plan_of_a_status_that_isnt_known_is_named_among_the_further_ones(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    shows(fake_api, replace(episode(PLAN), partner=DANIEL))
    statuses = (
        *(ProtocolStatus(known) for known in ("Draft", "Active", "Completed")),
        ProtocolStatus("Paused"),
    )
    plans = [replace(PLAN, id=f"p-{status}", name=f"Plan {status}", status=status) for status in statuses]
    fake_api.gives(LIST_PROTOCOLS, [PLAN, *plans])
    words = visitor("amelia").get("/episodes/e-1/medication").words
    assert [name for plan in plans if (name := plan.name) in words] == ["Plan Active", "Plan Paused"]


@pytest.mark.parametrize("names_treatment", [True, False])
def test_the_doses_of_a_further_plan_are_told_and_ticked_off(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], names_treatment: bool
) -> None:
    plan = replace(PLAN, patient_id="amelia-patient")
    shows(fake_api, replace(episode(plan), partner=DANIEL))
    row = replace(PLAN.medications[0], drug="Doxycycline", dose=100, unit="mg", times=("18:00",))
    further = replace(
        plan,
        id="p-2",
        name="For the sample",
        patient_id="daniel-patient",
        episode_id="e-1" if names_treatment else None,
        medications=(row,),
    )
    others = replace(further, id="p-3", episode_id="e-2", medications=(replace(row, drug="Prednisolone"),))
    fake_api.gives(LIST_PROTOCOLS, [plan, further, others])
    fake_api.gives(READ_PROTOCOL, further, id_="p-2")
    fake_api.gives(READ_PROTOCOL, others, id_="p-3")
    at("25 18:10")
    daniel = visitor("daniel")
    paths = ["/", "/episodes/e-1", *(["/episodes/e-1/medication"] if names_treatment else [])]
    for path in paths:
        words = daniel.get(path).words
        assert "18:00 Doxycycline 100 mg" in words and "19:00 Follitropin 225 units" in words, path
        assert "These are Millie’s medicines." in words and "Prednisolone" not in words, path
        (tick,) = daniel.get(path).select("form[action*='/doses']")
        ticked = daniel.get(path).form(tick).submit()
        (back,) = ticked.select(f".tonight-cards:has([id='{urlsplit(ticked.url).fragment}'])")
        assert "Doxycycline" in back.words and "For the sample" in back.words, path
        page = daniel.get(path)
        assert "Done 18:10" in page.words, path
        page.form(page.select("form[action*='/doses']")[0]).submit()
    assert daniel.get("/episodes/e-1/doses?plan=p-2").words.count("Doxycycline")
    saved = [link["href"] for link in daniel.get("/papers").select("a[href$='schedule.ics']")]
    assert saved == ["/protocols/p-1/schedule.ics", "/protocols/p-2/schedule.ics"]
    daniel.get("/episodes/e-1/doses?plan=p-3", status=404)
    higher = replace(further, medications=(replace(row, dose=200),))
    fake_api.gives(LIST_PROTOCOLS, [plan, higher])
    fake_api.gives(READ_PROTOCOL, higher, id_="p-2")
    (notice,) = daniel.get("/").select("form[action='/protocols/p-2/seen']")
    assert "200 mg instead of 100 mg" in daniel.get("/").words
    daniel.get("/").form(notice).submit()
    assert "instead of" not in daniel.get("/").words
    paused = replace(higher, status=ProtocolStatus.ON_HOLD, name="Antibiotics")
    fake_api.gives(LIST_PROTOCOLS, [plan, paused])
    fake_api.gives(READ_PROTOCOL, paused, id_="p-2")
    for path in paths:
        (told,) = (card.words for card in daniel.get(path).select(".tonight") if "on hold" in card.words)
        assert "Antibiotics The medicine plan is on hold. Call the clinic before the next dose" in told, path
        assert "Doxycycline" not in told, path
        asked = [card["hx-get"] for card in daniel.get(path).select(".tonight-cards")]
        assert ["plan=p-2" in address for address in asked] in ([False, True], [True, False]), path
    waiting = episode(replace(plan, status=ProtocolStatus.ON_HOLD))
    shows(fake_api, replace(waiting, partner=DANIEL))
    for path in paths:
        told = [card.words for card in daniel.get(path).select(".tonight")]
        named = [
            name
            for name in ("Antagonist", "Antibiotics")
            for words in told
            if f"{name} The medicine plan is on" in words
        ]
        assert named == ["Antagonist", "Antibiotics"], path
    shows(fake_api, replace(episode(plan), partner=DANIEL))
    ended = replace(higher, status=ProtocolStatus.COMPLETED, name="Antibiotics")
    fake_api.gives(LIST_PROTOCOLS, [plan, ended])
    fake_api.gives(READ_PROTOCOL, ended, id_="p-2")
    words = daniel.get("/").words
    assert "Antibiotics" in words and "The plan is completed now." in words
    daniel.get("/").form("/protocols/p-2/seen").submit()
    assert all("Antibiotics" not in daniel.get(path).words for path in paths)
    fake_api.refuses(LIST_PROTOCOLS, 403)
    assert "can’t be shown right now" not in daniel.get("/").words + daniel.get("/episodes/e-1").words
    fake_api.refuses(LIST_PROTOCOLS, 500)
    assert "Some of your treatment can’t be shown right now." in daniel.get("/").words
    assert "Other plans can’t be shown right now." in daniel.get("/episodes/e-1").words


@pytest.mark.parametrize("path", ["/", "/episodes/e-1", "/episodes/e-1/medication"])
def test_an_open_page_learns_of_a_further_plan(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], path: str
) -> None:
    plan = replace(PLAN, patient_id="amelia-patient")
    shows(fake_api, episode(plan))
    row = replace(PLAN.medications[0], drug="Doxycycline", dose=100, unit="mg", times=("18:00",))
    further = replace(plan, id="p-2", medications=(row,))
    fake_api.gives(LIST_PROTOCOLS, [plan])
    at("25 18:30")
    amelia = visitor("amelia")

    def cards(of: Page) -> list[str]:
        return [card["hx-get"] for card in of.select(".tonight-cards")]

    (known,) = cards(amelia.get(path))
    assert amelia.fragment(known, target="tonight", status=204)
    fake_api.gives(LIST_PROTOCOLS, [plan, further])
    told = amelia.fragment(known, target="tonight")
    first, second = cards(told)
    assert "18:00 Doxycycline 100 mg" in told.words and "plan=p-2" in second
    fake_api.gives(READ_PROTOCOL, further, id_="p-2")
    assert all(amelia.fragment(card, target="tonight", status=204) for card in (first, second))
    assert sorted(cards(amelia.get(path))) == sorted([first, second])
    fake_api.refuses(LIST_PROTOCOLS, 503)
    assert amelia.fragment(known, target="tonight", status=204)


def test_the_next_days_have_the_doses_of_a_further_plan_in_their_order(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    plan = replace(PLAN, patient_id="amelia-patient")
    shows(fake_api, replace(episode(plan), partner=DANIEL))
    row = replace(
        PLAN.medications[0], drug="Doxycycline", dose=100, unit="mg", times=("18:00",), end_day=None
    )
    early = replace(plan, id="p-2", episode_id="e-1", start_date=date(2026, 11, 1), medications=(row,))
    his = replace(
        early, id="p-3", patient_id="daniel-patient", medications=(replace(row, drug="Prednisolone"),)
    )
    fake_api.gives(LIST_PROTOCOLS, [plan, early, his])
    at("25 12:00")
    days = visitor("amelia").get("/episodes/e-1/medication").select(".plan-days dd")
    expected = "08:00 Cetrorelix 0.25 mg 18:00 Doxycycline 100 mg 19:00 Follitropin 225 units"
    assert days[0].words.startswith(expected)
    assert not any("Prednisolone" in day.words for day in days)


@pytest.mark.parametrize("treatment", ["e-1", None, "e-2"])
def test_a_plan_whose_treatment_is_not_there_is_named_on_home(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], treatment: str | None
) -> None:
    """As the partner's, once nothing is shared any more."""
    shows(fake_api, replace(episode(None), partner=None))
    fake_api.refuses(READ_EPISODE, 404)
    plan = replace(PLAN, patient_id="daniel-patient", episode_id=treatment, name="Antibiotics")
    fake_api.gives(LIST_PROTOCOLS, [plan])
    daniel = visitor("daniel")
    at("25 12:00")
    page = daniel.get("/")
    assert [link.words for link in page.select("#treatment a[href='/protocols/p-1']")] == [
        "Antibiotics Active"
    ]
    fake_api.gives(READ_EPISODE, replace(episode(plan), partner=DANIEL))
    assert not visitor("daniel").get("/").select("#treatment a[href='/protocols/p-1']")
    over = replace(episode(None), status=CareStatus.FINISHED, outcome=Outcome.NO_PREGNANCY, partner=DANIEL)
    fake_api.gives(READ_EPISODE, over)
    is_named = bool(daniel.get("/").select("#treatment a[href='/protocols/p-1']"))
    assert is_named is (treatment != "e-1"), "it ended with its treatment"
    fake_api.gives(LIST_PROTOCOLS, [replace(plan, status=ProtocolStatus.ON_HOLD)])
    assert bool(daniel.get("/").select("#treatment a[href='/protocols/p-1']")) is is_named
    fake_api.gives(LIST_PROTOCOLS, [replace(plan, start_date=date(2026, 10, 1))])
    assert not daniel.get("/").select("#treatment a[href='/protocols/p-1']"), "no dose is left"
