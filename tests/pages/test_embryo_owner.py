"""Whose embryo it is in a treatment that uses the partner's: its record number, not the treated person's."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from flask import g
from msgspec.structs import replace

from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentStatus
from portal.services.episodes import READ_EPISODE, Episode
from portal.services.pgt_results import READ_PGT_RESULT, PgtBrief, PgtCall
from portal.services.relationships import Relationship
from portal.services.storage import UPDATE_EMBRYO_STORAGE, Disposition, EmbryoStatus, EmbryoStorage
from portal.views.embryo_view import EmbryoView
from portal.views.storage.decisions import DECISIONS, decisions_about, is_stopped_by_clinic, obstacle_to
from portal.views.storage.inventory import kept_of
from portal.views.storage.straw_check import StrawLabel
from tests.pages.test_patient_banner import EMBRYO, EPISODE, FORM, RESULT
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import SignIn


def treatment(owner: str | None) -> Episode:
    """Amelia's, with Daniel as her partner; two embryos of this owner."""
    embryos = (
        replace(EMBRYO, patient_id=owner),
        replace(EMBRYO, id="s-2", embryo_code="AH-2", patient_id=owner),
    )
    return replace(EPISODE, embryos=embryos, pgt_results=(PgtBrief(id="g-1", embryo_code="AH-1"),))


@pytest.mark.parametrize(
    ("owner", "code"),
    [(None, "AH-1 · RF-10482"), ("p-1", "AH-1 · RF-10482"), ("p-2", "AH-1 · RF-10483"), ("p-9", "AH-1")],
    ids=["not given", "the patient's", "the partner's", "another's"],
)
def test_an_embryo_stands_with_the_record_number_of_whose_it_is(
    visitor: SignIn, fake_api: FakeApi, owner: str | None, code: str
) -> None:
    fake_api.gives(READ_EPISODE, treatment(owner))
    fake_api.gives(LIST_CONSENTS, [FORM])
    fake_api.gives(READ_PGT_RESULT, replace(RESULT, embryo_storage_id=None))
    elif_ = visitor("elif", "embryologist")
    heading = elif_.get("/storage/s-1?episode=e-1").select("h1")[0].text_content()
    assert heading.replace("\N{NO-BREAK SPACE}", " ").startswith(f"Embryo {code}")
    listed = elif_.get("/episodes/e-1/embryos").select("tbody th a")
    assert listed[0].text_content() == code
    overview = elif_.get("/patients/p-1?episode=e-1").select("a[href^='/storage/s-1'] .link-title")
    assert code in [link.words for link in overview]
    tested = elif_.get("/pgt-results/g-1").select("tbody th")
    assert [one.words for one in tested] == [code, code.replace("AH-1", "AH-2")]


TIE = Relationship(id="r-2", patient_id="p-1", related_patient_id="p-2", related_name="Daniel Hart")


@pytest.mark.parametrize(
    ("owner", "code", "found"),
    [
        ("p-1", "AH-1 · RF-10482", "Amelia Hart · MRN RF-10482"),
        ("p-2", "AH-1 · RF-10483", "Daniel Hart · MRN RF-10483"),
        ("p-9", "AH-1", ""),
    ],
)
def test_forms_removals_and_finds_name_whose_embryo_it_is(
    visitor: SignIn, fake_api: FakeApi, owner: str, code: str, found: str
) -> None:
    fake_api.gives(READ_EPISODE, replace(treatment(owner), relationships=(TIE,)))
    fake_api.gives(READ_CONSENT, replace(FORM, embryo_storage_ids=("s-1",)))
    fake_api.gives(LIST_CONSENTS, [FORM])
    victor = visitor("victor", "physician", "coordinator")
    for path, named in (
        ("/consents/c-1", "#about-embryos li"),
        ("/consents/c-1/sign", "#about-embryos li"),
        ("/relationships/r-2/remove?episode=e-1", "main .row-line bdi"),
    ):
        assert victor.get(path).select(named)[0].words == code, path
    hit = victor.fragment("/find", "found", data={"q": "AH-1"}).select("#found .hit-main")[0]
    assert hit.words == f"AH-1 {found}".strip()


@pytest.mark.parametrize(
    ("owner", "code", "number", "fields"),
    [
        ("p-1", "AH-1", "RF-10482", []),
        ("p-1", "AH-1", "RF-10483", ["record_number"]),
        ("p-2", "AH-1", "RF-10483", []),
        ("p-2", "AH-1", "RF-10482", ["record_number"]),
        ("p-9", "AH-1", None, []),
        ("p-9", "", None, ["code"]),
    ],
)
def test_the_straw_of_a_partners_embryo_bears_the_partners_number(
    in_process: InProcess, owner: str, code: str, number: str | None, fields: list[str]
) -> None:
    """Without a code in its record, nothing tells whether it is the embryo."""
    episode = treatment(owner)
    embryo = replace(episode.embryos[0], embryo_code=code)
    with in_process.app.test_request_context():
        g.language = "en"
        found = StrawLabel(code, number).faults(EmbryoView(embryo, episode))
    assert [field for field, _words in found] == fields


def test_of_two_embryos_of_one_code_the_tested_one_is_known_by_its_id(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    """Codes are unique only within a record: a couple may have two of one."""
    both = (replace(EMBRYO, patient_id="p-1"), replace(EMBRYO, id="s-2", patient_id="p-2"))
    fake_api.gives(READ_EPISODE, replace(EPISODE, embryos=both))
    fake_api.gives(READ_PGT_RESULT, replace(RESULT, embryo_storage_id="s-2"))
    heading = visitor("elif", "embryologist").get("/pgt-results/g-1").select("h1")[0].text_content()
    assert "RF-10483" in heading and "RF-10482" not in heading


@pytest.mark.parametrize("named", ["s-2", None], ids=["by its id", "by its record, which names the result"])
def test_a_result_stands_in_the_row_of_the_tested_embryo_alone(
    visitor: SignIn, fake_api: FakeApi, named: str | None
) -> None:
    hers = replace(EMBRYO, pgt_result_id="g-1")
    his = replace(EMBRYO, id="s-2", patient_id="p-2", pgt_result_id="g-2")
    tests = (
        PgtBrief(id="g-1", embryo_code="AH-1", call=PgtCall.ANEUPLOID),
        PgtBrief(id="g-2", embryo_code="AH-1", call=PgtCall.EUPLOID),
    )
    fake_api.gives(READ_EPISODE, replace(EPISODE, embryos=(hers, his), pgt_results=tests))
    result = replace(RESULT, id="g-2", call=PgtCall.EUPLOID, embryo_storage_id=named)
    fake_api.gives(READ_PGT_RESULT, result)
    page = visitor("elif", "embryologist").get("/pgt-results/g-2")
    calls = {row.select("th")[0].words: row.select("td")[1].words for row in page.select("tbody tr")}
    assert calls == {"AH-1 · RF-10482": "Aneuploid", "AH-1 · RF-10483": "Euploid"}
    assert [one.words for one in page.select("tbody th strong")] == ["AH-1 · RF-10483"]
    fake_api.gives(READ_EPISODE, replace(EPISODE, embryos=(his,), pgt_results=tests[1:]))
    alone = visitor("elif", "embryologist").get("/pgt-results/g-2")
    assert alone.heading == page.heading and not alone.select("tbody")


def test_each_of_two_embryos_of_one_code_has_its_own_tests() -> None:
    tests = tuple(PgtBrief(id=id_, embryo_code="AH-1") for id_ in ("g-1", "g-2", "g-0"))
    hers = replace(EMBRYO, patient_id="p-1", pgt_result_id="g-1")
    his = replace(EMBRYO, id="s-2", patient_id="p-2", pgt_result_id="g-2")
    episode = replace(EPISODE, embryos=(hers, his), pgt_results=tests)
    assert [test.id for test in episode.tests_of(hers)] == ["g-1", "g-0"]
    assert [test.id for test in episode.tests_of(his)] == ["g-2", "g-0"]


@pytest.mark.parametrize(
    ("owner", "name", "number"),
    [("p-1", "Amelia Hart", "RF-10482"), ("p-2", "Daniel Hart", "RF-10483"), ("p-9", "", "")],
)
def test_the_inventory_has_an_embryo_under_nobody_elses_name(owner: str, name: str, number: str) -> None:
    kept = kept_of([treatment(owner)])[0]
    assert (kept.patient_id, kept.view.owner_name, kept.view.record_number) == (owner, name, number)


@pytest.mark.parametrize("who", ["amelia", "daniel"])
@pytest.mark.parametrize("reason", ["Consent withdrawn", ""])
def test_no_consent_is_said_to_stand_that_was_withdrawn_nor_to_be_the_readers_own(
    visitor: SignIn, fake_api: FakeApi, who: str, reason: str
) -> None:
    held = {"status": EmbryoStatus.ON_HOLD, "hold_reason": reason} if reason else {}
    stored = replace(EMBRYO, patient_id="p-1", storage_consented_until=date(2035, 3, 3), **held)
    fake_api.gives(READ_EPISODE, replace(EPISODE, embryos=(stored,)))
    words = visitor(who).get("/storage/s-1?episode=e-1").words
    assert "Storage agreed until 3 March 2035" in words
    assert ("lets the clinic keep it" in words) is (not reason)
    assert "You agreed" not in words and "your signed consent" not in words


@pytest.mark.parametrize("status", [EmbryoStatus.STORED, EmbryoStatus.THAWED])
def test_taking_a_decision_back_promises_no_frozen_embryo(
    visitor: SignIn, fake_api: FakeApi, status: EmbryoStatus
) -> None:
    wanted = replace(EMBRYO, patient_id="p-1", status=status, disposition=Disposition.DISCARD)
    fake_api.gives(READ_EPISODE, replace(EPISODE, embryos=(wanted,)))
    page = visitor("amelia").get("/storage/s-1/take-back?episode=e-1")
    assert "also for other embryos that it names" in page.words
    assert ("thaw, use or move it" in page.words) is (status == EmbryoStatus.STORED)
    assert "stays frozen" not in page.words


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ({"status": EmbryoStatus.ON_HOLD}, "Embryo AH-1: your decision is taken back. It is on hold."),
        (
            {"status": EmbryoStatus.THAWED, "hold_reason": "x"},
            "Embryo AH-1: your decision is taken back. It is on hold.",
        ),
        ({}, "Embryo AH-1: your decision is taken back."),
    ],
)
def test_a_decision_taken_back_is_told_as_the_record_has_it(
    visitor: SignIn, fake_api: FakeApi, kept: dict[str, Any], said: str
) -> None:
    wanted = replace(EMBRYO, patient_id="p-1", disposition=Disposition.DISCARD)
    fake_api.gives(READ_EPISODE, replace(EPISODE, embryos=(wanted,)))
    fake_api.gives(UPDATE_EMBRYO_STORAGE, replace(wanted, **{"disposition": Disposition.UNDECIDED, **kept}))
    form = visitor("amelia").get("/storage/s-1/take-back?episode=e-1").form("/storage/s-1/take-back")
    assert form.submit(status=None).select(".toast p")[0].words == said


def test_a_patient_can_tell_two_embryos_of_one_code_apart(visitor: SignIn, fake_api: FakeApi) -> None:
    frozen = replace(EMBRYO, cryopreserved_at=datetime(2025, 3, 3, 12, tzinfo=UTC))
    embryos = (
        frozen,
        replace(frozen, id="s-2", patient_id="p-2"),
        replace(frozen, id="s-3", embryo_code="AH-3"),
    )
    fake_api.gives(READ_EPISODE, replace(EPISODE, embryos=embryos))
    fake_api.gives(READ_CONSENT, replace(FORM, embryo_storage_ids=("s-2",)))
    fake_api.gives(LIST_CONSENTS, [FORM])
    amelia = visitor("amelia")
    hers, his = (f"AH-1 · frozen on 3 March 2025 · {name} Hart" for name in ("Amelia", "Daniel"))
    rows = amelia.get("/storage").select("#results .link-row")
    named = [" ".join(row.words.split()) for row in rows]
    assert all(any(f"Embryo {code}" in name for name in named) for code in (hers, his, "AH-3 Your wish")), (
        named
    )
    assert " ".join(amelia.get("/storage/s-2?episode=e-1").heading.split()) == f"Embryo {his}"
    assert amelia.get("/consents/c-1").select("#about-embryos li")[0].words == his
    fake_api.gives(READ_CONSENT, replace(FORM, embryo_storage_ids=("s-3",)))
    alone = amelia.get("/consents/c-1").select("#about-embryos li")[0]
    assert alone.words == "AH-3 · frozen on 3 March 2025", "another treatment may have one of its code"
    cards = amelia.get("/episodes/e-1/embryos").select("article h3")
    assert [card.words for card in cards] == [f"Embryo {code}" for code in (hers, his, "AH-3")]
    assert f"ending the storage of embryo {his}." in amelia.get("/storage/s-2/end-storage?episode=e-1").words
    fake_api.gives(UPDATE_EMBRYO_STORAGE, replace(embryos[1], disposition=Disposition.CONTINUE_STORAGE))
    kept = amelia.get("/storage/s-2/keep?episode=e-1").form("/storage/s-2/keep").submit(status=None)
    assert kept.select(".toast p")[0].words == f"Embryo {his}: your decision is recorded."


@pytest.mark.parametrize(
    ("frozen", "hers"),
    [
        (datetime(2025, 3, 3, 12, tzinfo=UTC), "frozen on 3 March 2025"),
        (None, "Frozen embryo transfer, Mar 2025"),
    ],
    ids=["frozen on another day", "without the day"],
)
def test_of_two_treatments_embryos_of_one_code_are_told_apart_also_where_one_is_decided_about(
    visitor: SignIn, fake_api: FakeApi, frozen: datetime | None, hers: str
) -> None:
    first = replace(EPISODE, type="FetNatural", start_date=date(2025, 3, 1), end_date=date(2025, 3, 20))
    first = replace(first, embryos=(replace(EMBRYO, cryopreserved_at=frozen),))
    other = replace(
        first, id="e-2", start_date=date(2026, 5, 1), end_date=None, embryos=(replace(EMBRYO, id="s-2"),)
    )
    fake_api.gives(READ_EPISODE, first, id_="e-1")
    fake_api.gives(READ_EPISODE, other, id_="e-2")
    fake_api.gives(LIST_CONSENTS, [FORM, replace(FORM, id="c-2", episode_id="e-2")])
    fake_api.gives(READ_PGT_RESULT, replace(RESULT, embryo_storage_id="s-1", episode_id="e-1"))
    amelia = visitor("amelia")
    rows = [row.words for row in amelia.get("/storage").select("#results .link-row .link-title")]
    assert f"Embryo AH-1 · {hers}" in rows and len(set(rows)) == len(rows)
    page = amelia.get("/storage/s-1/end-storage?episode=e-1")
    assert f"ending the storage of embryo AH-1 · {hers}." in page.words
    for path in ("/storage/s-1/keep?episode=e-1", "/storage/s-1?episode=e-1"):
        assert f"Embryo AH-1 · {hers}" in amelia.get(path).words, path
    for reader in (amelia, visitor("elif", "embryologist")):
        heading = reader.get("/pgt-results/g-1").heading
        assert heading.startswith("Genetic test of embryo AH-1") and heading.endswith(f"· {hers}")


def test_a_decision_leads_to_the_form_that_makes_it_alone(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.gives(READ_EPISODE, replace(EPISODE, embryos=(EMBRYO,)))
    move = replace(
        FORM, status=ConsentStatus.PENDING, embryo_storage_ids=("s-1",), disposition=Disposition.TRANSPORT
    )
    fake_api.gives(LIST_CONSENTS, [move])
    amelia = visitor("amelia")
    for decision, leads in (("move", True), ("end-storage", False)):
        page = amelia.get(f"/storage/s-1/{decision}?episode=e-1")
        assert bool(page.select("main a[href^='/consents/c-1']")) is leads, decision
        assert bool(page.select("article.letter")) is not leads


_SAID = {
    "A signed form decided": "form",
    "No decision that a form": "none",
    "This embryo is on hold": "hold",
    "This is what the clinic": "same",
    "The portal doesn’t know": "state",
    "This embryo is no longer": "gone",
}
_FORMS = "move donate-research donate-patients end-storage"


@pytest.mark.parametrize(
    ("status", "wish", "reason", "offered", "obstacles"),
    [
        ("Stored", "Undecided", "", f"keep {_FORMS}", ["", "same", "none", "", "", "", ""]),
        ("Reserved", "ContinueStorage", "", f"keep leave-open {_FORMS}", ["", "", "none", "", "", "", ""]),
        ("Stored", "Discard", "", "end-storage take-back", ["form", "form", "", "form", "form", "form", ""]),
        ("Stored", "Transport", "", "move take-back", ["form", "form", "", "", "form", "form", "form"]),
        ("Stored", "DonateResearch", "", "donate-research take-back", ["form", "form", "", "form", "", "form", "form"]),
        ("Stored", "DonatePatient", "", "donate-patients take-back", ["form", "form", "", "form", "form", "", "form"]),
        ("OnHold", "Undecided", "Other", "keep", ["", "hold", "none", "hold", "hold", "hold", "hold"]),
        ("OnHold", "ContinueStorage", "Other", "keep leave-open", ["", "", "none", "hold", "hold", "hold", "hold"]),
        *(
            ("OnHold", "Undecided", reason, f"keep {_FORMS}", ["", "same", "none", "", "", "", ""])
            for reason in ("Consent withdrawn", "Consent ended", "Decision taken back")
        ),
        ("OnHold", "Discard", "Other", "end-storage take-back", ["form", "form", "", "form", "form", "form", ""]),
        ("Thawed", "Undecided", "", "", ["gone"] * 7),
        ("Thawed", "Discard", "", "end-storage take-back", ["form", "form", "", "form", "form", "form", ""]),
        ("Discarded", "Discard", "", "", ["gone"] * 7),
        ("Lost", "Undecided", "", "", ["state"] * 7),
    ],
)  # fmt: skip
def test_what_may_be_decided_about_an_embryo(
    in_process: InProcess, status: str, wish: str, reason: str, offered: str, obstacles: list[str]
) -> None:
    embryo = EmbryoStorage(
        id="s-1", embryo_code="A", status=EmbryoStatus(status), disposition=Disposition(wish), hold_reason=reason or None
    )  # fmt: skip
    with in_process.app.test_request_context():
        g.language = "en"
        found = decisions_about(embryo)
        told = [obstacle_to(embryo, name) for name in DECISIONS]
        stopped = [name for name in DECISIONS if is_stopped_by_clinic(embryo, name)]
    assert " ".join(one.name for one in found) == offered
    assert [one.name for one in found if one.is_chosen] == [
        one.name for one in found if DECISIONS[one.name] == embryo.disposition
    ]
    assert [
        words and next(code for begin, code in _SAID.items() if words.startswith(begin)) for words in told
    ] == [code or None for code in obstacles]
    assert stopped == [name for name, code in zip(DECISIONS, obstacles, strict=True) if code == "hold"]
