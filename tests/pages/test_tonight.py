"""The doses around now on a patient's pages, by the clinic's clock, and the patient's own ticks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from portal.services.cases import CareStatus
from portal.services.consents import LIST_CONSENTS
from portal.services.conversations import LIST_CONVERSATIONS, Conversation
from portal.services.episodes import READ_EPISODE, Alert, Appointment, Episode
from portal.services.notifications import LIST_NOTIFICATIONS, Severity
from portal.services.patients import Patient
from portal.services.protocols import Medication, Protocol, ProtocolStatus
from portal.services.rules.doses import Dose
from portal.services.rules.doses_around import DueDose
from portal.web import taken_doses
from tests.support.fake_api import ZONE, FakeApi, sample
from tests.support.visitor import SignIn, Visitor

PLAN = Protocol(
    id="p-1",
    name="Antagonist",
    status=ProtocolStatus.ACTIVE,
    start_date=date(2026, 11, 20),
    episode_id="e-1",
    medications=(
        Medication(drug="Follitropin", dose=225, unit="IU", start_day=1, end_day=7, times=("19:00",)),
        Medication(drug="Cetrorelix", dose=0.25, unit="mg", start_day=1, end_day=7, times=("08:00",)),
        Medication(
            drug="Choriogonadotropin",
            dose=250,
            unit="µg",
            start_day=8,
            end_day=8,
            times=("21:00",),
            is_trigger=True,
        ),
    ),
)
COLLECTION = Appointment(id="a-1", kind="Egg collection", start=datetime(2026, 11, 29, 8, tzinfo=ZONE))


def episode(plan: Protocol | None = PLAN, own: str = "amelia", **members: object) -> Episode:
    patient = Patient(id="amelia-patient", user_id=own, first_name="Amelia", preferred_name="Millie")
    return Episode(id="e-1", status=CareStatus.ACTIVE, patient=patient, protocol=plan, **members)  # type: ignore[arg-type]


def shows(fake_api: FakeApi, treatment: Episode) -> None:
    """Let this be the only treatment."""
    fake_api.gives(READ_EPISODE, treatment)
    fake_api.gives(LIST_CONSENTS, [])
    fake_api.gives(LIST_NOTIFICATIONS, [])
    fake_api.gives(LIST_CONVERSATIONS, [sample(Conversation, episode_id="e-1")])


@pytest.fixture(autouse=True)
def no_ticks(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Keep the ticks of each test apart."""
    monkeypatch.setattr(
        taken_doses, "TICKS", dataclasses.replace(taken_doses.TICKS, kind=f"taken {request.node.name}")
    )


def card(visitor: Visitor, path: str = "/episodes/e-1") -> str:
    return " ".join(found.words for found in visitor.get(path).select("#tonight"))


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        ("25 18:00", "Tonight In 1 hour 19:00 Follitropin 225 units Follisample"),
        ("25 19:10", "Tonight Now 19:00 Follitropin 225 units"),
        ("25 20:00", "It was due 1 hour ago. If you’ve taken it, tick it off."),
        ("26 03:00", "Today In 5 hours 08:00 Cetrorelix 0.25 mg"),
        ("26 03:00", "Wed 25 Nov, 19:00 Follitropin 225 units"),
        ("26 00:30", "Tonight Wed 25 Nov, 19:00 Follitropin 225 units"),
    ],
)
@pytest.mark.parametrize("path", ["/", "/episodes/e-1", "/episodes/e-1/medication"])
def test_the_next_dose_comes_first_by_the_clinics_clock(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], path: str, moment: str, words: str
) -> None:
    at(moment)
    shows(fake_api, episode())
    assert words in card(visitor("amelia"), path)


def test_it_stands_before_what_needs_her(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 18:00")
    shows(fake_api, episode())
    main = visitor("amelia").get("/").select("main")[0].words
    assert main.index("Tonight") < main.index("What needs you") < main.index("Welcome to your portal")


def test_a_missed_dose_has_the_clinics_rule_or_says_whom_to_call(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 20:00")
    shows(fake_api, episode())
    page = visitor("amelia").get("/")
    (first,) = page.select("#tonight .dose details[open]")
    assert "Up to six hours late: inject it now." in first.words and "020 7946 0120" in first.words
    (morning,) = [fold for fold in page.select("#tonight .doses details") if "missed" in fold.text_content()]
    assert "Call before you take anything late or twice." in morning.words
    assert "020 7946 0120" in morning.words
    (guide,) = page.select("#tonight a[href='https://clinic.example/pen']")
    assert guide["rel"] == "noreferrer"


def test_advice_in_another_language_says_which(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 20:00")
    shows(fake_api, episode())
    amelia = visitor("amelia")
    assert not amelia.get("/").select("#tonight .as-written[lang]")
    amelia.get("/").form("/language").submit(language="es")
    told = amelia.get("/").select("#tonight .as-written")
    assert told and all(text.get("lang") == "en" for text in told)


def test_a_tick_is_hers_alone_and_can_be_taken_back(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 19:04")
    shows(fake_api, episode())
    amelia = visitor("amelia")
    page = amelia.get("/")
    done = page.form("/episodes/e-1/doses").submit()
    assert "Done 19:04 Undo" in card(amelia) and done.path == "/"
    assert "Ticks are your own note. The clinic doesn’t see them." in card(amelia)
    assert "Done" in card(visitor("amelia")), "it outlasts the session"
    assert "Done" not in card(visitor("daniel"))
    assert all(call.row.method == "GET" for call in fake_api.calls)
    at("25 23:00")
    amelia = visitor("amelia")
    assert "Done 19:04 Undo" in card(amelia)
    undo = next(one for one in amelia.get("/").select("#tonight form") if one.select("[name=undo]"))
    amelia.get("/").form(undo).submit()
    assert "Done" not in card(amelia)


@pytest.mark.parametrize(("moment", "is_all"), [("25 12:00", True), ("27 12:00", False)])
def test_all_is_ticked_off_only_with_the_trigger(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], moment: str, is_all: bool
) -> None:
    at(moment)
    vitamin = Medication(drug="Folic acid", dose=0.4, unit="mg", start_day=1, times=("08:00",))
    shows(fake_api, episode(replace(PLAN, medications=(vitamin, PLAN.medications[2]))))
    amelia = visitor("amelia")
    amelia.get("/").form("/episodes/e-1/doses").submit()
    assert "Next dose" in card(amelia) and ("All ticked off for today." in card(amelia)) is is_all


def test_a_partner_cant_tick(visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]) -> None:
    at("25 19:04")
    shows(fake_api, episode())
    daniel = visitor("daniel")
    page = daniel.get("/episodes/e-1")
    assert "These are Millie’s medicines." in card(daniel) and not page.select("#tonight form")
    assert daniel.post("/episodes/e-1/doses", {"dose": "x"}, status=404)
    at("25 20:00")
    assert "It was due 1 hour ago. Whether it was taken isn’t known here." in card(visitor("daniel"))
    at("26 03:00")
    told = card(visitor("daniel"))
    assert "Wed 25 Nov, 19:00" in told and "not ticked off" not in told, "nor know what was"
    assert "not known here if taken" in told and "not known here" not in card(visitor("amelia"))
    assert "not ticked off" in card(visitor("amelia"))


@pytest.mark.parametrize(
    "first", [(), (replace(PLAN.medications[0], dose=150),)], ids=["left out", "another amount"]
)
def test_only_a_dose_that_is_shown_can_be_ticked(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], first: tuple[Medication, ...]
) -> None:
    at("25 19:04")
    shows(fake_api, episode())
    amelia = visitor("amelia")
    form = amelia.get("/").form("/episodes/e-1/doses")
    shows(fake_api, episode(replace(PLAN, medications=(*first, *PLAN.medications[1:]))))
    words = form.submit().text
    assert "The plan has changed. Look at the dose again before you tick it off." in words
    assert "Done" not in card(amelia)


def test_a_tick_says_what_was_taken_when_the_plan_changes_after_it(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 19:04")
    shows(fake_api, episode())
    amelia = visitor("amelia")
    amelia.get("/").form("/episodes/e-1/doses").submit()
    first, *others = PLAN.medications
    shows(fake_api, episode(replace(PLAN, medications=(replace(first, dose=300), *others))))
    assert "Done 19:04 (Follitropin 225 units)" in card(amelia)
    undo = next(one for one in amelia.get("/").select("#tonight form") if one.select("[name=undo]"))
    amelia.get("/").form(undo).submit()
    assert "Done" not in card(amelia)
    shows(fake_api, episode())
    amelia.get("/").form("/episodes/e-1/doses").submit()
    fake_api.gives(
        READ_EPISODE, episode(replace(PLAN, medications=(replace(first, times=("21:00",)), *others)))
    )
    assert "You ticked off Follitropin 225 units at 19:04, before the plan changed." in card(amelia)
    at("26 08:00")
    assert "before the plan changed" not in card(visitor("amelia")), "it is of yesterday"


@pytest.mark.parametrize(
    ("evening", "told"),
    [
        ({"dose": 100.0}, "150 units at 08:00, 100 units at 20:00 instead of 150 units at 08:00, 75 units at 20:00"),
        ({"dose": 150.0}, "150 units at 08:00, 20:00 instead of 150 units at 08:00, 75 units at 20:00"),
        ({"times": ("21:00",)}, "150 units at 08:00, 75 units at 21:00 instead of 150 units at 08:00, 75 units at 20:00"),
    ],
    ids=str,
)  # fmt: skip
def test_a_change_of_a_days_second_dose_is_told(
    visitor: SignIn,
    fake_api: FakeApi,
    at: Callable[[str], None],
    evening: dict[str, Any],
    told: str,
    request: pytest.FixtureRequest,
) -> None:
    at("22 06:00")
    first = Medication(drug="Follitropin", dose=150, unit="IU", start_day=1, end_day=7, times=("08:00",))
    second = replace(first, dose=75, times=("20:00",))
    plan = replace(PLAN, id=request.node.name, medications=(first, second))
    shows(fake_api, episode(plan))
    amelia = visitor("amelia")
    assert not amelia.get("/").select("#plan_change .notice")
    shows(fake_api, episode(replace(plan, medications=(first, replace(second, **evening)))))
    (notice,) = amelia.get("/").select("#plan_change .notice")
    assert f"Follitropin: {told}, from today" in notice.words


def test_home_tells_a_change_of_each_treatments_plan_and_whose_it_is(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("22 06:00")
    own, hers = replace(PLAN, id="p-own"), replace(PLAN, id="p-hers")
    first, *others = PLAN.medications
    changed = (replace(first, dose=300), *others)
    shows(fake_api, episode())
    fake_api.gives(
        LIST_CONVERSATIONS,
        [sample(Conversation, id="c-1", episode_id="e-1"), sample(Conversation, id="c-2", episode_id="e-2")],
    )
    theirs = replace(
        episode(hers, own="daniel"), id="e-2", patient=Patient(id="d", user_id="daniel", first_name="Dana")
    )

    def told(own: Protocol, hers: Protocol) -> list[str]:
        fake_api.gives(READ_EPISODE, episode(own), id_="e-1")
        fake_api.gives(READ_EPISODE, replace(theirs, protocol=hers), id_="e-2")
        page = visitor("amelia").get("/")
        assert len(page.select("#plan_change")) == 1, "an open page asks for the first plan"
        return [one.words for one in page.select(".notice") if "The plan" in one.text_content()]

    assert told(own, hers) == []
    (alone,) = told(own, replace(hers, medications=changed))
    assert alone.startswith(
        "The plan has changed · Dana’s medicines · Treatment Follitropin: 300 units instead of 225 units"
    )
    mine, other = told(replace(own, medications=changed), replace(hers, medications=changed))
    assert alone == other
    assert mine.startswith("The plan has changed · ") and "Dana" not in mine


@pytest.mark.parametrize(
    ("moment", "words", "tone"),
    [
        ("26 18:00", "Trigger injection Tomorrow Fri 27 Nov, 21:00 exactly", "accent"),
        ("27 20:00", "Trigger injection In 1 hour Fri 27 Nov, 21:00 exactly", "accent"),
        (
            "27 21:50",
            "It was due 50 minutes ago. If you haven’t had it, call now, whatever the hour.",
            "urgent",
        ),
        ("28 03:00", "It was due 6 hours ago.", "urgent"),
        ("29 07:30", "call now, whatever the hour. If you have, tick it off.", "urgent"),
    ],
)
def test_the_trigger_has_a_card_of_its_own(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], moment: str, words: str, tone: str
) -> None:
    at(moment)
    earlier = replace(COLLECTION, id="a-0", start=datetime(2026, 11, 1, 8, tzinfo=ZONE))
    shows(fake_api, episode(appointments=(earlier, COLLECTION)))
    amelia = visitor("amelia")
    told = card(amelia)
    assert words in told and "35 hours later" in told and "Call 020 7946 0120" in told
    (shown,) = amelia.get("/").select("#trigger")
    assert shown["data-tone"] == tone


@pytest.mark.parametrize(
    ("collected", "hours"), [("28 20:00", None), ("28 21:00", 24), ("29 21:00", 48), ("29 22:00", None)]
)
def test_an_egg_collection_is_timed_by_the_trigger_of_one_to_two_days_before(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], collected: str, hours: int | None
) -> None:
    at("27 18:00")
    start = datetime.strptime(f"2026-11-{collected}", "%Y-%m-%d %H:%M").replace(tzinfo=ZONE)
    shows(fake_api, episode(appointments=(replace(COLLECTION, start=start, status="Rescheduled"),)))
    told = card(visitor("amelia"))
    assert "Trigger injection" in told
    assert (
        f"To be confirmed, is timed by it: {hours} hours later" in told
        if hours
        else "hours later" not in told
    )


def test_a_trigger_goes_once_it_was_taken_or_the_eggs_are_collected(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    shows(fake_api, episode(appointments=(COLLECTION,)))
    at("29 08:30")
    assert "Trigger" not in card(visitor("amelia"))
    at("27 21:05")
    amelia = visitor("amelia")
    amelia.get("/").form("/episodes/e-1/doses").submit()
    assert "Trigger injection" in card(amelia) and "Done 21:05" in card(amelia)
    at("28 10:00")
    assert "Trigger" not in card(visitor("amelia"))


@pytest.mark.parametrize(
    ("moment", "first", "then"),
    [
        ("27 00:30", "Tonight", "Trigger injection"),
        ("27 03:00", "Trigger injection", "Today"),
        ("27 18:00", "Trigger injection", "Today"),
    ],
)
def test_the_trigger_comes_first_unless_another_dose_is_nearer(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], moment: str, first: str, then: str
) -> None:
    at(moment)
    alert = Alert(severity=Severity.WARNING, text="The trigger is at 21:00, whatever the plan says.")
    shows(fake_api, episode(appointments=(COLLECTION,), alerts=(alert,)))
    page = visitor("amelia").get("/")
    assert page.text.count(alert.text) == 1
    assert [one.text_content() for one in page.select("#tonight h2")] == [first, then]
    assert bool(page.select("#tonight a[href='#trigger']")) == (then == "Trigger injection")


def test_whoever_cant_know_what_was_taken_reads_of_no_missed_trigger(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    shows(fake_api, episode(appointments=(COLLECTION,)))
    at("27 22:00")
    (shown,) = visitor("daniel").get("/").select("#trigger")
    assert "Whether it was taken isn’t known here." in shown.text_content() and shown["data-tone"] == "accent"
    at("28 10:00")
    assert "Trigger" not in card(visitor("daniel"))


def test_of_two_triggers_the_missed_one_is_told(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    second = replace(PLAN.medications[2], drug="Triptorelin")
    plan = replace(PLAN, medications=(*PLAN.medications, second))
    shows(fake_api, episode(plan, appointments=(COLLECTION,)))
    at("27 21:05")
    amelia = visitor("amelia")
    amelia.get("/").form("/episodes/e-1/doses").submit()
    at("28 05:00")
    (shown,) = visitor("amelia").get("/").select("#trigger")
    assert shown["data-tone"] == "urgent" and "call now" in shown.text_content()


def test_of_triggers_at_two_hours_a_missed_one_has_the_card(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    early = replace(PLAN.medications[2], drug="Triptorelin", times=("18:00",))
    late = replace(PLAN.medications[2], times=("23:00",))
    shows(fake_api, episode(replace(PLAN, medications=(early, late))))
    at("27 21:00")
    amelia = visitor("amelia")
    (shown,) = amelia.get("/").select("#trigger")
    assert shown["data-tone"] == "urgent" and "Triptorelin" in shown.words and "call now" in shown.words
    assert "23:00 Choriogonadotropin" in card(amelia)
    amelia.get("/").form(shown.select("form")[0]).submit()
    (shown,) = amelia.get("/").select("#trigger")
    assert "23:00 exactly Choriogonadotropin" in shown.words and shown["data-tone"] == "accent"


def test_triggers_of_two_moments_never_share_one(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("27 20:00")
    second = replace(PLAN.medications[2], drug="Triptorelin", times=("23:00",))
    shows(fake_api, episode(replace(PLAN, medications=(*PLAN.medications, second))))
    page = visitor("amelia").get("/")
    (trigger,) = [one.words for one in page.select(".tonight") if "exactly" in one.text_content()]
    assert "21:00 exactly" in trigger and "Triptorelin" not in trigger
    assert "23:00 Triptorelin" in card(visitor("amelia"))


def test_a_trigger_without_an_hour_says_whom_to_call(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("27 09:00")
    untimed = replace(PLAN, medications=(replace(PLAN.medications[2], times=()),))
    shows(fake_api, episode(untimed))
    amelia = visitor("amelia")
    assert "Time not given: call 020 7946 0120" in card(amelia)
    amelia.get("/").form("/language").submit(language="ar")
    assert "\N{FIRST STRONG ISOLATE}020 7946 0120\N{POP DIRECTIONAL ISOLATE}" in amelia.get("/").text


def test_an_alert_about_a_medicine_stands_with_it_once(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 18:00")
    alerts = tuple(
        Alert(severity=Severity.WARNING, text=text)
        for text in ("Cetrorelix at the same hour.", "Progesterone goes on until week 10.", "Empty bladder.")
    )
    shows(fake_api, episode(alerts=alerts))
    for path in ("/", "/episodes/e-1"):
        page = visitor("amelia").get(path)
        assert [page.text.count(alert.text) for alert in alerts] == [1, 1, 1]
        inside = page.select("#tonight")[0].words
        assert "Cetrorelix at the same hour." in inside and "Empty bladder." not in inside
        assert inside.index("Your clinic also wrote:") < inside.index("Progesterone goes on until week 10.")


@pytest.mark.parametrize("status", [ProtocolStatus.ON_HOLD, ProtocolStatus.CANCELLED, ProtocolStatus.DRAFT])
def test_a_plan_that_isnt_followed_says_so_in_the_same_place(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], status: ProtocolStatus
) -> None:
    at("25 18:00")
    shows(fake_api, episode(replace(PLAN, status=status)))
    amelia = visitor("amelia")
    told = card(amelia, "/")
    assert "plan" in told and "Follitropin" not in told and "020 7946 0120" in told
    assert all("Day 6" not in amelia.get(path).words for path in ("/", "/episodes/e-1"))


def test_an_open_page_is_told_when_a_dose_is_due(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 18:40")
    shows(fake_api, episode())
    amelia = visitor("amelia")
    (shown,) = amelia.get("/").select("#tonight")
    assert amelia.fragment(shown["hx-get"], target="tonight", status=204)
    at("25 18:50")
    assert "Now" in amelia.fragment(shown["hx-get"], target="tonight").words


@pytest.mark.parametrize(
    ("opened", "later", "words"),
    [
        ("27 15:00", "27 20:40", "In 20 minutes"),
        ("27 22:40", "28 06:00", "It was due 9 hours ago."),
        ("25 20:00", "25 23:00", "It was due 4 hours ago."),
    ],
)
def test_an_open_page_is_told_how_far_the_hour_of_a_dose_is(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], opened: str, later: str, words: str
) -> None:
    at(opened)
    shows(fake_api, episode())
    (shown,) = visitor("amelia").get("/").select("#tonight")
    at(later)
    assert words in visitor("amelia").fragment(shown["hx-get"], target="tonight").words


def test_an_open_page_is_told_of_another_amount_of_a_later_dose(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 18:00")
    shows(fake_api, episode())
    amelia = visitor("amelia")
    (shown,) = amelia.get("/").select("#tonight")
    first, second, trigger = PLAN.medications
    halved = (replace(second, end_day=6), replace(second, dose=0.5, start_day=7))
    shows(fake_api, episode(replace(PLAN, medications=(first, *halved, trigger))))
    assert "0.5 mg" in amelia.fragment(shown["hx-get"], target="tonight").words


def test_an_open_page_is_told_what_was_ticked_elsewhere_and_what_the_clinic_wrote(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 19:04")
    shows(fake_api, episode())
    amelia = visitor("amelia")
    (shown,) = amelia.get("/").select("#tonight")
    page = visitor("amelia").get("/")
    (missed,) = [
        form for form in page.select("#tonight form") if "Cetrorelix" in form.getparent().text_content()
    ]  # type: ignore[union-attr]
    page.form(missed).submit()
    assert "Done 19:04" in amelia.fragment(shown["hx-get"], target="tonight").words
    (shown,) = amelia.get("/").select("#tonight")
    warning = Alert(severity=Severity.WARNING, text="No Follitropin tonight, whatever the plan says.")
    shows(fake_api, episode(alerts=(warning,)))
    assert "No Follitropin tonight" in amelia.fragment(shown["hx-get"], target="tonight").words


@pytest.mark.parametrize(("status", "kept"), [(500, True), (503, True), (429, True), (404, False)])
def test_an_open_page_keeps_its_doses_when_a_look_fails_but_not_those_that_are_not_shared_any_more(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], status: int, kept: bool
) -> None:
    at("25 18:00")
    shows(fake_api, episode())
    amelia = visitor("amelia")
    (shown,) = amelia.get("/episodes/e-1").select("#tonight")
    fake_api.refuses(READ_EPISODE, status)
    assert amelia.fragment(shown["hx-get"], target="tonight", status=204 if kept else 404)


@pytest.mark.parametrize(
    ("is_ticked", "told"),
    [(False, "Your tick couldn’t be kept. Please write it down."), (True, "That wasn’t done")],
)
def test_a_tick_that_is_lost_because_the_plan_cant_be_read_is_told(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], is_ticked: bool, told: str
) -> None:
    at("25 19:04")
    shows(fake_api, episode())
    amelia = visitor("amelia")
    form = amelia.get("/").form("/episodes/e-1/doses")
    if is_ticked:
        form.submit()
        page = amelia.get("/")
        form = page.form(next(one for one in page.select("#tonight form") if one.select("[name=undo]")))
    fake_api.refuses(READ_EPISODE, 503)
    assert told in form.submit(status=None).select("#toasts")[0].words


def test_an_open_page_is_told_that_the_egg_collection_was_moved(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("27 18:00")
    shows(fake_api, episode(appointments=(COLLECTION,)))
    amelia = visitor("amelia")
    (shown,) = amelia.get("/").select("#tonight")
    moved = replace(COLLECTION, start=datetime(2026, 11, 29, 9, tzinfo=ZONE))
    shows(fake_api, episode(appointments=(moved,)))
    assert "36 hours later" in amelia.fragment(shown["hx-get"], target="tonight").words


def test_a_tick_is_of_one_dose_whatever_its_amount() -> None:
    medicine = PLAN.medications[0]
    due = DueDose(Dose(medicine, 6, "19:00"), date(2026, 11, 25), None)

    def key(plan: Protocol = PLAN, **changes: Any) -> str:
        return taken_doses.key_of(plan, replace(due, **changes))

    more = replace(due.dose, medication=replace(medicine, drug=" follitropin ", dose=300))
    other = replace(due.dose, medication=replace(medicine, drug="Menotropin"))
    assert key(dose=more) == key()
    changed = [
        {"dose": other},
        {"dose": replace(due.dose, time="20:00")},
        {"on": date(2026, 11, 26)},
        {"number": 1},
    ]
    assert len({key(), key(replace(PLAN, id="p-2")), *(key(**one) for one in changed)}) == 6


@pytest.mark.parametrize(("severity", "is_first"), [("Critical", True), ("Warning", True), ("Info", False)])
def test_a_warning_of_a_severity_that_is_not_known_stands_before_all_else(
    visitor: SignIn, fake_api: FakeApi, severity: str, is_first: bool
) -> None:
    warning = Alert(severity=Severity(severity), text="Stop all injections.")
    shows(fake_api, episode(None, alerts=(warning,)))
    words = visitor("amelia").get("/").select("main")[0].words
    assert (words.index("Stop all injections.") < words.index("What needs you")) is is_first
