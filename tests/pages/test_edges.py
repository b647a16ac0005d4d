"""Days and hours at, before and after each limit, half an hour before the clinic's midnight, in winter and in summer.

By UTC it is the next day then, so each of these is wrong by a day if it is counted by UTC, and by one if `<` is `<=`.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from flask import g
from msgspec.structs import replace

from portal.config.tenants import Side
from portal.services.cases import CareStatus
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.conversations import Conversation, Message, MessageSide
from portal.services.decoding import PagedResult
from portal.services.episodes import Episode, Outcome
from portal.services.listed import Listed
from portal.services.patients import Patient
from portal.services.physicians import Busy, Physician, WorkingHours
from portal.services.protocols import Medication, Protocol, ProtocolStatus
from portal.services.relationships import Relationship
from portal.services.rules import free_windows
from portal.services.rules.ending import Ending
from portal.services.rules.workdays import workdays
from portal.services.storage import EmbryoStatus, EmbryoStorage
from portal.views.consents.draft_faults import faults_of
from portal.views.consents.labels import in_force_word, is_in_force_later
from portal.views.consents.list import Groups, due, group
from portal.views.consents.new_form import NewForm
from portal.views.consents.signers import Parties
from portal.views.consents.withdrawal import Given, Withdrawal
from portal.views.embryo_view import EmbryoView, nearness, next_date
from portal.views.episodes.ending import frozen_in, words_of_ending
from portal.views.episodes.tonight import Tonight
from portal.views.episodes.view import EpisodeView
from portal.views.follow_up import FollowUp, follow_up_of
from portal.views.protocols import dose_mentions
from portal.views.protocols.changes import changes
from portal.views.protocols.dose_changes import dose_change_faults, new_doses, with_new_dose
from portal.views.protocols.plan import CheckRow, MedicationRow, Plan
from portal.views.protocols.schedule import _stamp
from portal.views.protocols.view import ProtocolView
from portal.views.storage.decisions import consequences_of
from portal.views.storage.inventory import kept_of
from portal.views.storage.near_dates import storage_dates
from portal.views.storage.places import _row
from portal.views.storage.selection import _IS_IN
from portal.web.drawings.schedule import medication_grid
from portal.web.filters import countdown, isolate, local, long_date, moment, now, today
from portal.web.filters import day as write_day
from tests.support.builders import AMELIA, consent, person
from tests.support.fake_api import ZONE, sample
from tests.support.in_process import InProcess

DAYS = {"winter": date(2026, 1, 15), "summer": date(2026, 7, 15)}


def episode(**members: object) -> Episode:
    return Episode(id="e-1", status=CareStatus.ACTIVE, patient=Patient(id="p-1"), **members)  # type: ignore[arg-type]


@pytest.fixture(params=DAYS)
def day(request: pytest.FixtureRequest, in_process: InProcess) -> Iterator[date]:
    """The clinic's day, of which half an hour is left."""
    on, before = DAYS[request.param], in_process.clock.ahead
    in_process.clock.now = datetime.combine(on, time(23, 30), ZONE).timestamp()
    with in_process.app.test_request_context():
        g.tenant = in_process.app.extensions["portal"].settings.tenants.by_key["riverside"]
        g.language = "en"
        yield on
    in_process.clock.ahead = before


def test_today_is_the_clinics(day: date) -> None:
    assert today() == day
    midnight = datetime.combine(day + timedelta(days=1), time(), ZONE)
    assert countdown(midnight - timedelta(minutes=1)) == "In 29 minutes"
    assert countdown(midnight) == "Tomorrow"
    assert countdown(midnight + timedelta(days=1)) == "In 2 days"
    assert local(midnight.astimezone(UTC)).date() == day + timedelta(days=1)


@pytest.mark.parametrize(
    ("days", "words", "tone"),
    [
        (-1, "This date has passed", "urgent"),
        (0, "Today", "urgent"),
        (1, "In 1 day", "attention"),
        (2, "In 2 days", "attention"),
        (3, "In 3 days", "neutral"),
    ],
)
def test_how_near_a_date_is(day: date, days: int, words: str, tone: str) -> None:
    assert nearness(days) == (words, tone)


@pytest.mark.parametrize(("days", "is_shown"), [(-1, True), (0, True), (60, True), (61, False)])
@pytest.mark.parametrize("name", ["storage_expires_at", "statutory_limit"])
def test_home_tells_of_a_date_of_storage_for_two_months(
    day: date, name: str, days: int, is_shown: bool
) -> None:
    on = day + timedelta(days=days)
    value = datetime.combine(on, time(23, 59), ZONE) if name.endswith("at") else on
    embryo = EmbryoStorage(id="s-1", embryo_code="A1", status=EmbryoStatus.STORED, **{name: value})
    told = storage_dates([(embryo, episode())])
    assert [one.on for one in told] == [on] * is_shown
    for status in (EmbryoStatus.DISCARDED, EmbryoStatus.THAWED):
        gone = replace(embryo, status=status)
        assert not storage_dates([(gone, episode())]), "of embryos that are stored"


@pytest.mark.parametrize(
    ("days", "found"), [(-1, {"unpaid", "ended"}), (0, {"ending"}), (60, {"ending"}), (61, set[str]())]
)
@pytest.mark.parametrize("name", ["storage_consented_until", "storage_expires_at", "statutory_limit"])
def test_which_lists_of_the_store_room_a_date_puts_an_embryo_in(
    day: date, name: str, days: int, found: set[str]
) -> None:
    far = {one: day + timedelta(days=900) for one in ("storage_consented_until", "statutory_limit")}
    far |= {"storage_expires_at": datetime.combine(day + timedelta(days=900), time(9), ZONE)}
    on = day + timedelta(days=days)
    value = datetime.combine(on, time(23, 59), ZONE) if name.endswith("at") else on
    embryo = EmbryoStorage(id="s-1", embryo_code="A1", status=EmbryoStatus.STORED, **{**far, name: value})
    (kept,) = kept_of([episode(embryos=(embryo,))])
    lists = {which.value for which, is_in in _IS_IN.items() if is_in(kept.view, today())}
    of_date = found & ({"unpaid", "ending"} if name.endswith("at") else {"ended", "ending"})
    assert lists == {"all", "no-place", *of_date}
    (told,) = _row(kept.view).dates
    assert (told.day, bool(told.word)) == (on, bool(found))
    near = replace(embryo, storage_consented_until=day, statutory_limit=day)
    assert [one.word for one in _row(EmbryoView(near, episode())).dates].count("Today") >= 2


@pytest.mark.parametrize("days", [-1, 0, 1])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("storage_consented_until", "the consent for"),
        ("storage_expires_at", "payment for"),
        ("statutory_limit", "the legal limit of"),
    ],
)
def test_the_next_date_of_storage_is_not_over(day: date, name: str, words: str, days: int) -> None:
    def view(code: str, on: date) -> EmbryoView:
        value = datetime.combine(on, time(23, 59), ZONE) if name.endswith("at") else on
        embryo = EmbryoStorage(id=code, embryo_code=code, status=EmbryoStatus.STORED, **{name: value})
        return EmbryoView(embryo, episode())

    on, later = day + timedelta(days=days), day + timedelta(days=3)
    told = {
        code: f"Next date: {long_date(at)}, {words} {isolate(code)}."
        for code, at in (("A1", on), ("A2", later))
    }
    assert next_date([view("A2", later), view("A1", on)]) == (told["A2"] if days < 0 else told["A1"])
    assert next_date([view("A1", day - timedelta(days=1))]) == ""


@pytest.mark.parametrize(("days", "word"), [(-1, "was"), (0, "is"), (1, "is")])
def test_until_when_storage_is_said_to_be_paid(day: date, days: int, word: str) -> None:
    until = datetime.combine(day + timedelta(days=days), time(23, 59), ZONE)
    embryo = EmbryoStorage(id="s-1", embryo_code="A1", status=EmbryoStatus.STORED, storage_expires_at=until)
    assert consequences_of(embryo, "keep")[1].startswith(
        f"Storage {word} paid until {long_date(until.date())}."
    )


@pytest.mark.parametrize(
    ("days", "word", "tone"),
    [
        (-1, "Date has passed", "urgent"),
        (0, "Needed today", "urgent"),
        (1, "Needed tomorrow", "attention"),
        (2, "Needed in 2 days", "attention"),
        (3, "Needed in 3 days", "neutral"),
    ],
)
def test_when_a_form_is_needed(day: date, days: int, word: str, tone: str) -> None:
    told = due(consent(procedure_date=day + timedelta(days=days)))
    assert told and (told.word, told.tone) == (word, tone)
    assert due(consent(procedure_date=day, status=ConsentStatus.SIGNED)) is None


@pytest.mark.parametrize(
    ("ends", "is_by_day"), [((1, 12, 0), False), ((1, 23, 58), False), ((1, 23, 59), True), ((2, 0, 0), True)]
)
@pytest.mark.parametrize(
    ("procedure", "word"), [(None, ""), (2, ""), (1, "Needed tomorrow"), (0, "Needed today")]
)
def test_a_form_is_needed_by_the_last_day_for_signing_if_that_comes_first(
    day: date, ends: tuple[int, int, int], is_by_day: bool, procedure: int | None, word: str
) -> None:
    days, hour, minute = ends
    until = datetime.combine(day + timedelta(days=days), time(hour, minute), ZONE)
    planned = None if procedure is None else day + timedelta(days=procedure)
    told = due(consent(procedure_date=planned, expires_at=until))
    by = write_day(day + timedelta(days=1)) if is_by_day else moment(until)
    assert told and told.word == (word or f"Sign by {by}")
    assert told.tone == ("urgent" if procedure == 0 else "attention")


def test_forms_are_grouped_by_whose_turn_it_is_the_soonest_needed_first(day: date) -> None:
    def asked(
        name: str, status: str = "Pending", days: int = 9, sent: int = 1, **members: Any
    ) -> ConsentForm:
        at = datetime.combine(day, time(sent), ZONE)
        told = {"procedure_date": day + timedelta(days=days), "sent_at": at, **members}
        return consent(id=name, status=ConsentStatus(status), **told)

    anothers = {"required_signers": (replace(AMELIA, person_id="daniel"),)}
    until = datetime.combine(day + timedelta(days=3), time(12), ZONE)
    forms = [
        *(asked("mine-2"), asked("mine-1", days=2), asked("mine-3", sent=2), asked("ends", expires_at=until)),
        *(asked("theirs", **anothers), asked("draft", "Draft"), asked("signed-2", "Signed", 5)),
        *(asked("signed-1", "Signed"), asked("ended-2", "Expired", 5), asked("ended-1", "Revoked")),
    ]
    found = group(Listed(tuple(forms)), person("amelia"))
    names = {name: [item.form.id for item in getattr(found, name)] for name in Groups.__struct_fields__}
    assert names == {
        "mine": ["mine-1", "ends", "mine-2", "mine-3"],
        "others": ["theirs"],
        "signed": ["signed-1", "signed-2"],
        "ended": ["ended-1", "ended-2"],
        "unknown": [],
        "drafts": ["draft"],
    }
    assert found.mine.is_whole and found.unknown.is_whole
    found = group(Listed((*forms, asked("?", "Held"))), person("amelia"))
    assert [item.form.id for item in found.unknown] == ["?"]
    assert not found.mine.is_whole and found.unknown.is_whole
    assert not group(Listed(tuple(forms), is_whole=False), person("amelia")).signed.is_whole


@pytest.mark.parametrize(
    ("status", "seconds", "word"),
    [
        *((ConsentStatus.SIGNED, seconds, "In force since") for seconds in (-1, 0)),
        (ConsentStatus.SIGNED, 1, "In force from"),
        *((ConsentStatus.REVOKED, seconds, "Came into force") for seconds in (-1, 0)),
        (ConsentStatus.REVOKED, 1, ""),
        (ConsentStatus.PENDING, -1, ""),
    ],
)
def test_whether_a_form_is_in_force_at_this_moment(
    day: date, in_process: InProcess, status: ConsentStatus, seconds: int, word: str
) -> None:
    with in_process.clock.stopped():
        form = consent(AMELIA, status=status, effective_at=now() + timedelta(seconds=seconds))
        assert (in_force_word(form), is_in_force_later(form)) == (word, word == "In force from")


def form_until(on: str) -> NewForm:
    return NewForm(
        kind="Treatment", title="Consent", version="1", order="Any", body=(), statements=(), rows=(),
        candidates=(), about=Parties("p-1", "Amelia"), procedure_date=on, expires_on=on,
    )  # fmt: skip


def test_a_form_can_be_signed_until_its_last_day_is_over(day: date) -> None:
    end = form_until(day.isoformat()).draft().expires_at
    assert end and end > datetime.combine(day, time(23, 59), ZONE)
    assert local(end).date() == day


@pytest.mark.parametrize(("days", "is_over"), [(-1, True), (0, False), (1, False)])
def test_a_form_may_be_for_today(day: date, days: int, is_over: bool) -> None:
    on = (day + timedelta(days=days)).isoformat()
    form = form_until(on)
    told = {field for field, _ in faults_of(form)}
    assert {"procedure_date", "expires_on"} & told == ({"procedure_date", "expires_on"} if is_over else set())


@pytest.mark.parametrize(("days", "is_ended"), [(-1, True), (0, True), (1, False)])
def test_a_relationship_ends_on_its_last_day(day: date, days: int, is_ended: bool) -> None:
    assert sample(Relationship, end_date=day + timedelta(days=days)).is_ended(today()) is is_ended


@pytest.mark.parametrize(("days", "is_told"), [(0, True), (84, True), (85, False)])
def test_for_how_long_a_pregnancy_is_spoken_of(day: date, days: int, is_told: bool) -> None:
    ended = episode(outcome=Outcome.PREGNANCY, end_date=day - timedelta(days=days))
    assert ("pregnant" in words_of_ending(ended, today(), is_own=True)[1]) is is_told


@pytest.mark.parametrize(
    ("days", "words"), [(-1, ""), (0, "1 embryo was frozen."), (5, "1 embryo was frozen.")]
)
def test_an_embryo_was_frozen_in_the_treatment_that_had_begun(day: date, days: int, words: str) -> None:
    frozen = datetime.combine(day + timedelta(days=days), time(12), UTC)
    embryo = sample(EmbryoStorage, cryopreserved_at=frozen)
    assert frozen_in(episode(start_date=day, embryos=(embryo,))) == words


@pytest.mark.parametrize(("days", "needs"), [(0, True), (14, True), (15, False)])
def test_for_how_long_signs_to_call_are_told(day: date, days: int, needs: bool) -> None:
    ended = replace(episode(end_date=day - timedelta(days=days)), status=CareStatus.FINISHED)
    assert EpisodeView(ended, person()).needs_call_now is needs
    assert not EpisodeView(ended, person("nora", roles=frozenset({"nurse"}), side=Side.STAFF)).needs_call_now


@pytest.mark.parametrize(
    ("busy", "offered"),
    [
        (("09:00", "09:30"), ["09:30", "10:00"]),
        (("08:30", "09:00"), ["09:00", "09:30", "10:00"]),
        (("10:30", "11:00"), ["09:00", "09:30", "10:00"]),
        (("09:29", "09:31"), ["10:00"]),
    ],
)
def test_a_time_that_touches_another_is_free(day: date, busy: tuple[str, str], offered: list[str]) -> None:
    on = day + timedelta(days=1)

    def at(clock: str) -> datetime:
        return datetime.combine(on, time.fromisoformat(clock), ZONE)

    hours = WorkingHours(day_of_week=f"{on:%A}", start="09:00", end="10:30")
    taken = Busy(start=at(busy[0]), end=at(busy[1]))
    anna = Physician(id="d-1", name="Anna", working_hours=(hours,), busy=(taken,))
    free = free_windows.day_of(on, [anna, anna], ZONE, at("09:00") - timedelta(minutes=1)).windows
    assert [f"{local(window.start):%H:%M}" for window in free] == offered
    assert len(free_windows.day_of(on, [anna], ZONE, at(offered[0])).windows) == len(offered) - 1, (
        "what has begun isn't"
    )


@pytest.mark.parametrize("end", ["24:00", "00:00"])
def test_times_are_offered_until_the_end_of_the_day(day: date, end: str) -> None:
    on = day + timedelta(days=1)
    hours = WorkingHours(day_of_week=f"{on:%A}", start="23:00", end=end)
    anna = Physician(id="d-1", name="Anna", working_hours=(hours,))
    free = free_windows.day_of(on, [anna], ZONE, datetime.combine(on, time(), ZONE)).windows
    (workday,) = workdays(anna, [on], ZONE, ZONE)
    assert [f"{local(window.start):%H:%M}" for window in free] == ["23:00", "23:30"]
    assert [period.words for period in workday.works] == ["23:00–24:00"]


def test_hours_in_another_time_zone_are_offered_on_the_clinics_day(day: date) -> None:
    """The morning in Tokyo is the afternoon of the day before on the Pacific coast."""
    following = day + timedelta(days=1)
    hours = WorkingHours(day_of_week=f"{following:%A}", start="09:00", end="10:00")
    hiro = Physician(id="d-1", name="Hiro", time_zone="Asia/Tokyo", working_hours=(hours,))
    midnight = datetime.combine(day, time(), ZONE)
    offered = [len(free_windows.day_of(on, [hiro], ZONE, midnight).windows) for on in (day, following)]
    assert offered == [2, 0]


@pytest.mark.parametrize("ending", Ending)
def test_only_who_records_a_withdrawal_says_when_the_clinic_was_told(day: date, ending: Ending) -> None:
    given = Given(who="amelia", told_on=day.isoformat(), told_time="23:10", told_by="Telephone")
    told = cast("Any", Withdrawal).told.fget(SimpleNamespace(ending=ending, given=given))
    at = datetime.combine(day, time(23, 10), ZONE)
    assert (told and told.at) == (at if ending is Ending.RECORD else None)


@pytest.mark.parametrize(("days", "is_about"), [(-1, False), (0, True), (7, True), (8, False)])
def test_the_clinics_first_message_in_the_week_from_a_result_on_is_about_it(
    day: date, days: int, is_about: bool
) -> None:
    def message(id_: str, minutes: int = 0, **more: Any) -> Message:
        at = datetime.combine(day + timedelta(days=days), time(23, 30), ZONE) + timedelta(minutes=minutes)
        members = {"id": id_, "body": "x", "side": MessageSide.OUTBOUND, "sent_at": at.astimezone(UTC)}
        return Message(**{**members, **more})

    others = (
        message("theirs", -9, side=MessageSide.INBOUND),
        message("archived", -9, is_archived=True),
        message("forged", -9, sender_verified=False),
        message("undated", sent_at=None),
    )
    talks = (
        Conversation(id="of another", episode_id="e-2", messages=(message("elsewhere", -9),)),
        Conversation(id="later", episode_id="e-1", messages=(message("second", 9),)),
        Conversation(
            id="earlier", episode_id="e-1", messages=(message("third", 20), *others, message("first"))
        ),
    )
    g.request_id = "r-1"
    found = follow_up_of(talks, "e-1", day)
    told = (found.conversation.id, found.message.id) if isinstance(found, FollowUp) else found
    assert told == (("earlier", "first") if is_about else None)
    assert follow_up_of(talks, None, day) is follow_up_of(talks, "e-1", None) is None


def test_doses_told_in_the_last_week_are_found_newest_first_and_whose_words_they_are(
    day: date, monkeypatch: pytest.MonkeyPatch
) -> None:
    def plan(dose: str) -> Plan:
        return Plan(
            medications=(MedicationRow(drug="Fostimon", dose=dose, unit="IU", start_day="1", end_day="9"),)
        )

    def message(id_: str, ago: timedelta, side: MessageSide, dose: int) -> Message:
        return Message(id=id_, body=f"Take {dose} IU tonight.", side=side, sent_at=now() - ago)

    week = timedelta(days=7)
    mine = (
        message("too old", week + timedelta(minutes=1), MessageSide.OUTBOUND, 160),
        message("just in time", week - timedelta(minutes=1), MessageSide.OUTBOUND, 175),
        message("hers", timedelta(days=1), MessageSide.INBOUND, 150),
        message("planned", timedelta(hours=1), MessageSide.OUTBOUND, 225),
    )
    talks = (
        Conversation(id="hers", patient_id="p-1", messages=mine),
        Conversation(id="another's", patient_id="p-2", messages=mine),
    )
    page = PagedResult(items=talks, total_count=2)
    monkeypatch.setattr(dose_mentions, "list_conversations", lambda *_, **__: page)
    told = dose_mentions.read_dose_mentions(
        cast("Any", None), "p-1", "Amelia", before=plan("150"), after=plan("225")
    )
    assert told and (told.read, told.is_whole) == (3, True)
    assert [(one.talk_id, one.by_clinic, one.sentence, one.planned) for one in told.found] == [
        ("hers", False, "Take 150 IU tonight.", "225 IU"),
        ("hers", True, "Take 175 IU tonight.", "225 IU"),
    ]
    assert (
        dose_mentions.read_dose_mentions(cast("Any", None), "p-1", "", before=plan("150"), after=plan("150"))
        is None
    )


@pytest.mark.parametrize(
    ("members", "first"),
    [
        ({"time": "19:00"}, 6),
        ({"time": "23:45"}, 5),
        ({"time": "08:00, 23:45"}, 6),
        ({"time": ""}, 6),
        ({"time": "23:45", "every_days": "2"}, 5),
        ({"time": "23:45", "every_days": "3"}, 7),
        ({"time": "19:00", "end_day": "6"}, 6),
        ({"time": "19:00", "end_day": "5"}, None),
        ({"time": "23:45", "start_day": "5"}, None),
        ({"time": "23:45", "is_trigger": "yes"}, None),
    ],
    ids=str,
)
def test_a_new_dose_begins_with_the_next_day_of_which_all_hours_are_to_come(
    day: date, members: dict[str, str], first: int | None
) -> None:
    begins = day - timedelta(days=4)
    protocol = Protocol(id="f-1", name="", status=ProtocolStatus.ACTIVE, start_date=begins)
    row = MedicationRow(**{"id": "m-1", "start_day": "1", "stop_rule": "Until trigger", **members})
    before = Plan(start_date=begins.isoformat(), medications=(row,))
    found = new_doses(protocol, before).get(0)
    assert (found and found.first) == first
    if found:
        when = "tonight, 23:45" if first == 5 else write_day(begins + timedelta(days=found.first - 1))
        assert found.label == f"New dose from {when}"
        after = with_new_dose(protocol, before, "split-medication-0")
        ended = replace(row, end_day=str(found.first - 1), stop_rule="")
        assert after and after.medications == (ended, replace(row, id="", start_day=str(first)))


def test_the_minus_of_a_day_stays_before_it_in_arabic(day: date) -> None:
    g.language = "ar"
    rows = (
        MedicationRow(drug="OCP", start_day="-7", end_day="-7"),
        MedicationRow(drug="OCP", start_day="-14", end_day="-7"),
        MedicationRow(drug="OCP", start_day="-7"),
        CheckRow(day="-7", kind="Scan"),
    )
    for row in rows:
        for told in (row.brief, row.words()):
            assert "-" in told and told.count("-") == told.count("\u2068-"), told
    drawn = str(medication_grid([rows[1].medication()]))
    assert drawn.count("-14") == drawn.count("\N{LEFT-TO-RIGHT MARK}-14") == 2


def test_a_row_that_becomes_the_trigger_is_told_in_the_readers_language(day: date) -> None:
    g.language = "es"
    row = MedicationRow(id="m-1", drug="hCG", start_day="1")
    before, after = (Plan(medications=(replace(row, is_trigger=tick),)) for tick in ("", "yes"))
    (told,) = changes(before, after, [])
    assert (told.before, told.after) == ("", "inyección desencadenante")


@pytest.mark.parametrize(("trigger", "first"), [("4", None), ("5", None), ("6", 6), ("7", 6)])
def test_no_new_dose_begins_once_the_trigger_has_ended_the_medicine(
    day: date, trigger: str, first: int | None
) -> None:
    begins = day - timedelta(days=4)
    protocol = Protocol(id="f-1", name="", status=ProtocolStatus.ACTIVE, start_date=begins)
    rows = (
        MedicationRow(id="m-1", start_day="1", time="08:00", stop_rule="Until trigger"),
        MedicationRow(id="m-2", start_day=trigger, time="21:00", is_trigger="yes"),
    )
    found = new_doses(protocol, Plan(start_date=begins.isoformat(), medications=rows))
    assert {index: new.first for index, new in found.items()} == ({} if first is None else {0: first})


@pytest.mark.parametrize(
    ("index", "members", "faults"),
    [
        (0, {"dose": "175"}, {"medication-0-dose"}),
        (0, {"dose": "175", "end_day": "9"}, {"medication-0-dose"}),
        (0, {"end_day": "6"}, set[str]()),
        (1, {"end_day": "3"}, {"medication-1-end_day"}),
        (1, {"time": "08:00, 20:00"}, {"medication-1-time"}),
        (1, {"time": "08:00"}, set[str]()),
        (2, {"dose": "175"}, set[str]()),
        (2, {"start_day": "4"}, {"medication-2-start_day"}),
        (3, {"start_day": "4"}, {"medication-3-start_day"}),
        (3, {"start_day": "5"}, set[str]()),
    ],
    ids=str,
)
def test_days_gone_by_stay_and_today_may_be_changed(
    day: date, index: int, members: dict[str, str], faults: set[str]
) -> None:
    rows = (("m-1", 1, 4), ("m-2", 1, 2), ("m-3", 5, 9))
    protocol = Protocol(
        id="f-1",
        name="",
        status=ProtocolStatus.ACTIVE,
        start_date=day - timedelta(days=4),
        medications=tuple(
            Medication(id=id_, drug="rFSH", dose=150, start_day=first, end_day=last)
            for id_, first, last in rows
        ),
    )
    plan = Plan.of(protocol)
    changed = [*plan.medications, MedicationRow(drug="rFSH", dose="150", end_day="9")][: max(3, index + 1)]
    changed[index] = replace(changed[index], **members)
    plan = replace(plan, medications=tuple(changed))
    found = dose_change_faults(protocol, plan)
    assert found.keys() == faults
    if "dose" in members and faults:
        assert ("New dose from" in found[f"medication-{index}-dose"]) is ("end_day" in members)
    assert dose_change_faults(replace(protocol, status=ProtocolStatus.DRAFT), plan) == {}


def test_each_row_that_is_removed_although_it_was_given_is_named(day: date) -> None:
    rows = tuple(Medication(id=drug, drug=drug, dose=1, start_day=1, end_day=9) for drug in ("rFSH", "hMG"))
    begins = day - timedelta(days=4)
    protocol = Protocol(id="f-1", name="", status=ProtocolStatus.ACTIVE, start_date=begins, medications=rows)
    found = dose_change_faults(protocol, replace(Plan.of(protocol), medications=()))
    assert "rFSH was given" in found["name"] and "hMG was given" in found["name"]


@pytest.mark.parametrize(
    ("plan", "treatment", "to_patient", "to_staff"),
    [
        ({}, {}, (True, False, False), (True, False, False)),
        ({}, {"status": CareStatus.FINISHED}, (False, False, False), (True, False, False)),
        ({}, {"status": CareStatus.CANCELLED}, (False, True, True), (True, True, True)),
        ({"patient_id": "p-9"}, {}, (False, True, True), (True, True, True)),
        ({"start_date": None}, {}, (True, True, False), (True, False, False)),
        ({"status": ProtocolStatus.ON_HOLD}, {}, (True, True, True), (True, False, True)),
    ],
    ids=str,
)
def test_who_reads_of_a_plans_status_and_why_it_isnt_followed_and_what_is_stamped_on_its_print(
    day: date,
    plan: dict[str, Any],
    treatment: dict[str, Any],
    to_patient: tuple[bool, bool, bool],
    to_staff: tuple[bool, bool, bool],
) -> None:
    rows = (Medication(drug="Progesterone", start_day=1),)
    given = {"status": ProtocolStatus.ACTIVE, "start_date": day, "patient_id": "p-1", "medications": rows}
    protocol = Protocol(id="f-1", name="", **{**given, **plan})
    g.request_id = "r-1"
    for side, told in ((Side.PATIENT, to_patient), (Side.STAFF, to_staff)):
        view = ProtocolView(protocol, replace(episode(), **treatment), person("x", side))
        assert (view.has_status, bool(view.state_beside_status), bool(_stamp(view))) == told
    for days, number in ((0, 1), (1, None)):
        begun = replace(protocol, status=ProtocolStatus.ACTIVE, start_date=day + timedelta(days=days))
        assert ProtocolView(begun, None, person("x", Side.STAFF)).day == number


@pytest.mark.parametrize(
    ("sentence", "is_another"),
    [
        ("Take 225 IU.", False),
        ("Take 200 IU.", True),
        ("Take 200 units.", True),
        ("Take 200 mg.", False),
        ("Do I stay at 150?", True),
        ("Do I stay at 12,5?", True),
        ("My number is 200.", False),
        ("It is at 20:00.", False),
        ("Cetrorelix 0.25 mg as before.", False),
        ("Menopur stays at 75 IU.", False),
        ("Fostimon 75 IU, Menopur as before.", True),
    ],
)
def test_a_sentence_tells_another_dose_of_the_medicine_that_changes(sentence: str, is_another: bool) -> None:
    change = dose_mentions._Changed("Fostimon", "IU", frozenset({150, 12.5}), frozenset({225}))
    drugs = {("Fostimon", "IU"), ("Menopur", "IU"), ("Cetrorelix", "mg")}
    assert bool(list(dose_mentions._contradictions(sentence, [change], drugs))) is is_another


@pytest.mark.parametrize(
    ("done", "trigger", "is_done"),
    [
        *(((), (), False), ((0, 1), (), False), ((1, 0), (), False), ((1, 1), (), True)),
        *(((1,), (0,), False), ((1,), (1,), True)),
    ],
)
def test_the_other_doses_of_a_day_are_done_once_all_are_ticked_off(
    done: tuple[int, ...], trigger: tuple[int, ...], is_done: bool
) -> None:
    others, of_trigger = (
        tuple(SimpleNamespace(done_at=one or None) for one in some) for some in (done, trigger)
    )
    evening = SimpleNamespace(others=others, trigger=SimpleNamespace(doses=of_trigger) if trigger else None)
    assert cast("Any", Tonight.is_done).fget(cast("Any", evening)) is is_done
