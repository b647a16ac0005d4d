"""Genetic tests: the result, its meaning and cut-offs, label with value; no sex, and nothing before the release."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from flask import g
from msgspec import structs

from portal.services.conversations import LIST_CONVERSATIONS, Conversation, Message, MessageSide
from portal.services.episodes import READ_EPISODE, Episode
from portal.services.patients import Patient
from portal.services.pgt_results import (
    READ_PGT_RESULT,
    Abnormality,
    PgtBrief,
    PgtCall,
    PgtResult,
    PgtStatus,
    PgtType,
    Thresholds,
)
from portal.services.storage import EmbryoStorage
from portal.views.pgt_view import ResultView
from tests.support.fake_api import FakeApi, sample
from tests.support.in_process import InProcess
from tests.support.visitor import SignIn, Visitor

MOSAIC = PgtResult(
    id="r-1",
    embryo_code="GO-4",
    status=PgtStatus.RELEASED,
    episode_id="e-1",
    embryo_storage_id="s-1",
    test_type=PgtType.PGT_A,
    laboratory="Laboratory of the north",
    biopsied_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
    reported_at=datetime(2026, 3, 9, 12, tzinfo=UTC),
    released_at=datetime(2026, 3, 17, 12, tzinfo=UTC),
    call=PgtCall.LOW_MOSAIC,
    mosaic_percent=32,
    thresholds=Thresholds(euploid_below=20, aneuploid_above=80),
    abnormalities=(
        Abnormality(chromosome="7", change="mosaic gain"),
        Abnormality(chromosome="21", change="loss"),
    ),
    condition="Thalassaemia",
    comment="Repeat if in doubt",
    sex_disclosed=True,
    sex="XX",
    report_file_id="f-1",
)
WITH_SEX = PgtResult(
    id="r-2",
    embryo_code="GO-2",
    status=PgtStatus.RELEASED,
    laboratory="sex: F",
    comment="46,XX, a girl",
    condition="Turner",
    abnormalities=(
        Abnormality(chromosome="21", change="Trisomy"),
        Abnormality(chromosome="7", change="Monosomy X"),
    ),
)


def show(visitor: Visitor, result: PgtResult = MOSAIC, status: int = 200):
    return visitor.get(f"/pgt-results/{result.id}", status=status)


GOOD = (PgtCall.EUPLOID, PgtCall.UNAFFECTED, PgtCall.BALANCED)
BANDS = {PgtCall.EUPLOID: [0], PgtCall.LOW_MOSAIC: [1], PgtCall.HIGH_MOSAIC: [1], PgtCall.ANEUPLOID: [2]}


@pytest.mark.parametrize("call", [*PgtCall, None])
def test_only_good_calls_are_coloured_and_their_own_band_is_marked(
    in_process: InProcess, call: PgtCall | None
) -> None:
    view = ResultView(structs.replace(MOSAIC, call=call))
    with in_process.app.test_request_context():
        g.language = "en"
        bands = re.findall(r"<rect[^>]*pgt-band[^>]*>", str(view.chart))
        is_placed = "chart-today" in str(view.chart)
    marked = [place for place, band in enumerate(bands) if "data-current" in band]
    assert (view.tone, marked) == (
        "success" if call in GOOD else "neutral",
        BANDS.get(call, []) if call else [],
    )
    assert (len(bands), is_placed) == (3, call in (PgtCall.LOW_MOSAIC, PgtCall.HIGH_MOSAIC))


@pytest.mark.parametrize(("below", "above"), [(20, None), (None, 80), (None, None)])
def test_cut_offs_are_told_as_far_as_they_are_given(
    in_process: InProcess, below: float | None, above: float | None
) -> None:
    limits = Thresholds(euploid_below=below, aneuploid_above=above)
    view = ResultView(structs.replace(MOSAIC, thresholds=limits))
    with in_process.app.test_request_context():
        g.language = "en"
        told, chart = [words.split()[0] for words in view.cut_offs], view.chart
    assert told == ["Below"] * (below is not None) + ["Above"] * (above is not None)
    assert chart is None


def test_it_leads_to_what_the_clinic_wrote_first_in_the_week_after_its_release(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    def talk(id_: str, day: int, side: MessageSide, episode_id: str = "e-1", hour: int = 12) -> Conversation:
        sent = datetime(2026, 3, day, hour, tzinfo=UTC)
        said = Message(id=f"m-{id_}", side=side, sent_at=sent, sender_name="Dr North")
        return Conversation(id=id_, subject=f"About {id_}", episode_id=episode_id, messages=(said,))

    clinic, patient = MessageSide.OUTBOUND, MessageSide.INBOUND
    others = [talk("k-before", 16, clinic), talk("k-hers", 18, patient), talk("k-other", 18, clinic, "e-2")]
    forged = structs.replace(talk("k-forged", 18, clinic).messages[0], sender_verified=False)
    others.append(structs.replace(talk("k-forged", 18, clinic), messages=(forged,)))
    fake_api.gives(READ_PGT_RESULT, MOSAIC)
    fake_api.gives(LIST_CONVERSATIONS, [*others, talk("k-later", 20, clinic), talk("k-first", 19, clinic)])
    page = show(visitor("grace"))
    assert "The clinic also wrote to you: About k-first Dr North · Thu 19 Mar" in page.words
    assert page.link("About k-first") == "/conversations/k-first"
    same_day = [talk(f"k-at-{hour}", 17, clinic, hour=hour) for hour in (11, 13)]
    fake_api.gives(LIST_CONVERSATIONS, [*same_day, talk("k-first", 19, clinic)])
    assert show(visitor("grace")).link("About k-at-13") == "/conversations/k-at-13"
    fake_api.gives(READ_PGT_RESULT, structs.replace(MOSAIC, status=PgtStatus.AMENDED))
    assert "also wrote" not in show(visitor("grace")).words, "it may be about the result of before"
    fake_api.gives(READ_PGT_RESULT, MOSAIC)
    fake_api.gives(LIST_CONVERSATIONS, [*others, talk("k-late", 25, clinic)])
    assert "also wrote" not in show(visitor("grace")).words
    fake_api.refuses(LIST_CONVERSATIONS, 500)
    assert "Low mosaic, 32%" in show(visitor("grace")).words
    assert "also wrote" not in show(visitor("elif", "embryologist")).words


SOME = "in some of the cells"


@pytest.mark.parametrize(
    ("call", "change", "told"),
    [
        ("Aneuploid", "mosaic loss (32,5 %)", f"less of it than usual, {SOME} (mosaic loss (32,5 %))"),
        ("Aneuploid", "Mosaic trisomy", f"more of it than usual, {SOME} (Mosaic trisomy)"),
        ("Aneuploid", "Trisomy", "three copies instead of two (Trisomy)"),
        ("Aneuploid", "Trisomy (32 %)", "Trisomy (32 %)"),
        ("Aneuploid", "Loss (segmental)", "Loss (segmental)"),
        ("LowMosaic", "Trisomy", f"more of it than usual, {SOME} (Trisomy)"),
        ("HighMosaic", "Monosomy (55 %)", f"less of it than usual, {SOME} (Monosomy (55 %))"),
        ("LowMosaic", "Loss (segmental)", "Loss (segmental)"),
    ],
)
def test_plain_words_say_no_more_than_the_laboratory_s(
    visitor: SignIn, fake_api: FakeApi, call: str, change: str, told: str
) -> None:
    found = (Abnormality(chromosome="7", change=change),)
    result = structs.replace(MOSAIC, call=PgtCall(call), abnormalities=found)
    fake_api.gives(READ_PGT_RESULT, result)
    assert show(visitor("grace"), result).facts[0] == ("Chromosome 7", told)


def test_texts_that_may_tell_the_sex_are_withheld_and_mentioned(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.gives(READ_PGT_RESULT, WITH_SEX)
    told = {}
    for who, role in (("grace", "patient"), ("elif", "embryologist")):
        page = show(visitor(who, role), WITH_SEX)
        told[role] = page.facts
        assert "only changes of chromosomes 1 to 22 are listed" in page.words
        assert not re.search(r"46,|girl|Turner|sex: F|Monosomy|\bX\b", page.text)
        change = "three copies instead of two (Trisomy)" if role == "patient" else "Trisomy"
        assert page.facts[:2] == [("Chromosome 21", change), ("Chromosome 7", "Not shown here")]
    assert told["patient"][2:4] == [
        ("Condition", "Your doctor tells you which condition was tested for."),
        ("The laboratory’s comment", "The laboratory’s comment is with your doctor."),
    ]
    assert ("The laboratory’s comment", "The comment is in the laboratory’s report.") in told["embryologist"]


@pytest.mark.parametrize("status", list(PgtStatus))
def test_a_patient_sees_nothing_before_the_release(
    visitor: SignIn, fake_api: FakeApi, status: PgtStatus
) -> None:
    early = PgtResult(id="r-3", embryo_code="GO-6", status=status)
    fake_api.gives(READ_PGT_RESULT, early)
    is_released = status in ("Released", "Amended")
    page = show(visitor("grace"), early, status=200 if is_released else 404)
    assert is_released or page.heading == "We can’t find that"
    assert ("Not released" in show(visitor("elif", "embryologist"), early).words) is not is_released


@pytest.mark.parametrize("is_disclosed", [True, False])
def test_a_state_that_the_portal_does_not_know_is_told_as_such(
    visitor: SignIn, fake_api: FakeApi, is_disclosed: bool
) -> None:
    withdrawn = structs.replace(MOSAIC, status=PgtStatus("Withdrawn"), sex_disclosed=is_disclosed)
    fake_api.gives(READ_PGT_RESULT, withdrawn)
    words = show(visitor("elif", "embryologist"), withdrawn).words
    assert "doesn’t know the state of this result" in words and "in review" not in words
    show(visitor("grace"), withdrawn, status=404)
    briefs = (PgtBrief(id="r-9", embryo_code="GO-6", status=PgtStatus("Withdrawn"), call=PgtCall.EUPLOID),)
    embryo = sample(EmbryoStorage, id="s-6", embryo_code="GO-6", pgt_result_id="r-9")
    own = sample(Patient, id="p-1", user_id="grace")
    fake_api.gives(
        READ_EPISODE, sample(Episode, id="e-1", patient=own, embryos=(embryo,), pgt_results=briefs)
    )
    assert "Euploid State not known" in visitor("elif", "embryologist").get("/episodes/e-1/embryos").words
    assert "Euploid" not in visitor("grace").get("/episodes/e-1/embryos").words


def test_an_amended_call_shows_what_each_person_saw_before(visitor: SignIn, fake_api: FakeApi) -> None:
    first = sample(PgtResult, id="r-5", call=PgtCall.EUPLOID, status=PgtStatus.RELEASED, mosaic_percent=None)
    amended = sample(
        PgtResult, id="r-5", call=PgtCall.SEGMENTAL, status=PgtStatus.AMENDED, mosaic_percent=None
    )
    grace, elif_ = visitor("grace-5"), visitor("elif-5", "embryologist")
    elsewhere = visitor("grace-5", clinic="harbour")
    fake_api.gives(READ_PGT_RESULT, first)
    for person in (grace, elif_):
        assert "When you looked before" not in show(person, first).words
    fake_api.gives(READ_PGT_RESULT, amended)
    for person, advice in ((grace, "Call the clinic if nobody"), (elif_, "Read the laboratory’s report")):
        for _look in range(2):  # it stays
            words = show(person, amended).words
            assert "it was: Euploid. Now it is: Segmental." in words, "its day may be the first report's"
            assert advice in words and "isn’t shown here; your" not in words
    for newcomer in (visitor("victor-5", "physician"), elsewhere):
        words = show(newcomer, amended).words
        assert "The laboratory has changed this result" in words and "looked before" not in words
        assert "corrected result. It replaces" in words, "its day may be the first report's"


def test_it_is_read_with_the_persons_own_token(visitor: SignIn, fake_api: FakeApi) -> None:
    show(visitor("grace"))
    assert {call.headers["authorization"] for call in fake_api.calls} == {"Bearer token-of-grace"}


@pytest.mark.parametrize(
    ("named", "told"),
    [("r-2", "Aneuploid another test: No result"), ("r-1", "No result another test: Aneuploid")],
)
@pytest.mark.parametrize("who", ["nora", "grace"])
def test_of_an_embryo_tested_again_the_record_says_which_test_counts_and_the_other_is_there_too(
    visitor: SignIn, fake_api: FakeApi, who: str, named: str, told: str
) -> None:
    embryo = sample(EmbryoStorage, id="s-6", embryo_code="GO-6", pgt_result_id=named, episode_id="e-1")
    tests = (
        PgtBrief(id="r-1", embryo_code="GO-6", status=PgtStatus.RELEASED, call=PgtCall.NO_RESULT),
        PgtBrief(id="r-2", embryo_code="GO-6", status=PgtStatus.RELEASED, call=PgtCall.ANEUPLOID),
    )
    own = sample(Patient, id="p-1", user_id="grace")
    fake_api.gives(READ_EPISODE, sample(Episode, id="e-1", patient=own, embryos=(embryo,), pgt_results=tests))
    page = visitor(who, "nurse") if who == "nora" else visitor(who)
    words = " ".join(page.get("/episodes/e-1/embryos").words.split())
    assert told in re.sub(r" · ?| (?=:)", " ", words)
    if who == "nora":
        overview = " ".join(page.get("/patients/p-1?episode=e-1").words.split())
        assert told.replace(" another test: ", " / ") in overview


def test_the_embryos_beside_a_result_are_shown_with_all_their_tests(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    own, other = (
        sample(EmbryoStorage, id=f"s-{at}", embryo_code=f"GO-{at}", pgt_result_id=None, patient_id="p-1")
        for at in (6, 7)
    )
    tests = tuple(
        PgtBrief(id=f"r-{id_}", embryo_code=f"GO-{id_[0]}", status=PgtStatus.RELEASED, call=PgtCall(call))
        for id_, call in (("6a", "Euploid"), ("6m", "Affected"), ("7a", "Euploid"), ("7m", "Carrier"))
    )
    patient = sample(Patient, id="p-1")
    result = structs.replace(
        MOSAIC,
        id="r-6m",
        embryo_code="GO-6",
        embryo_storage_id="s-6",
        call=PgtCall.AFFECTED,
        mosaic_percent=None,
    )
    fake_api.gives(READ_PGT_RESULT, result)

    def rows(*embryos: EmbryoStorage) -> list[str]:
        read = sample(Episode, id="e-1", patient=patient, embryos=embryos, pgt_results=tests)
        fake_api.gives(READ_EPISODE, read)
        page = show(visitor("elif", "embryologist"), result)
        return [cell.words for cell in page.select("td[data-label=PGT]")]

    assert rows(own, other) == ["Affected another test: Euploid", "Euploid another test: Carrier"]
    assert rows(own) == ["Affected another test: Euploid"]


@pytest.mark.parametrize(
    ("code", "heading", "also"),
    [
        ("GO-6a", "Genetic test of embryo GO-6a", None),
        ("GO-4", "Genetic test of embryo GO-4", "called GO-6a in storage"),
    ],
    ids=["one that may tell more is left out of the result", "the laboratory's is another"],
)
@pytest.mark.parametrize(("who", "role"), [("grace", "patient"), ("elif", "embryologist")])
def test_a_result_is_named_by_the_embryo_whose_record_names_it(
    visitor: SignIn, fake_api: FakeApi, who: str, role: str, code: str, heading: str, also: str | None
) -> None:
    embryos = tuple(
        sample(EmbryoStorage, id=id_, embryo_code=name, pgt_result_id=test, cryopreserved_at=None)
        for id_, name, test in (("s-6", "GO-6a", WITH_SEX.id), ("s-7", "GO-7a", None))
    )
    own = sample(Patient, id="p-1", user_id="grace", mrn="")
    fake_api.gives(READ_EPISODE, sample(Episode, id="1", patient=own, embryos=embryos, pgt_results=()))
    result = structs.replace(WITH_SEX, episode_id="1", embryo_code=code)
    fake_api.gives(READ_PGT_RESULT, result)
    page = show(visitor(who, role), result)
    assert page.heading.partition(" · ")[0] == heading
    assert [fact[1] for fact in page.facts if fact[0] == "Embryo"] == ([also] if also else [])


@pytest.mark.parametrize(
    ("status", "is_told"), [("Reported", False), ("InLab", False), ("Released", True), (None, True)]
)
def test_a_patient_reads_no_call_before_its_release_although_the_embryo_names_the_test(
    visitor: SignIn, fake_api: FakeApi, status: str | None, is_told: bool
) -> None:
    embryo = sample(EmbryoStorage, id="s-6", embryo_code="GO-6", pgt_result_id="r-1")
    test = PgtBrief(
        id="r-1", embryo_code="GO-6", status=PgtStatus(status) if status else None, call=PgtCall.ANEUPLOID
    )
    own = sample(Patient, id="p-1", user_id="grace")
    fake_api.gives(
        READ_EPISODE, sample(Episode, id="e-1", patient=own, embryos=(embryo,), pgt_results=(test,))
    )
    page = visitor("grace").get("/episodes/e-1/embryos")
    assert ("Aneuploid" in page.words) is is_told
    for address in ("/episodes/e-1/embryos", "/storage/s-6?episode=e-1"):
        link = visitor("grace").get(address).select("a[href='/pgt-results/r-1']")
        assert bool(link) is is_told, address


@pytest.mark.parametrize(
    ("kind", "call", "words"),
    [
        ("PgtA", "LowMosaic", ["PGT-A", "Mosaic"]),
        ("PgtA", "Segmental", ["PGT-A"]),
        ("PgtM", "Carrier", []),
        ("PgtSr", "Balanced", []),
    ],
)
def test_a_result_explains_the_words_of_its_own_test(
    visitor: SignIn, fake_api: FakeApi, kind: str, call: str, words: list[str]
) -> None:
    result = structs.replace(MOSAIC, test_type=PgtType(kind), call=PgtCall(call), abnormalities=())
    fake_api.gives(READ_PGT_RESULT, result)
    page = show(visitor("grace"), result)
    assert [word.words for word in page.select("p.words button")] == [*words, "Blastocyst"]
