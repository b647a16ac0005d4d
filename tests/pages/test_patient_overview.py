"""A patient's page: everything of theirs from five endpoints, the last seven days as one list, and what is missing is said."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from portal.services import capabilities
from portal.services.api import AnyEndpoint
from portal.services.cases import CareStatus
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import (
    ConsentKind,
    ConsentStatus,
    Signature,
    Signer,
    SignerRole,
    SigningMethod,
)
from portal.services.conversations import LIST_CONVERSATIONS, Message, MessageSide, Participant
from portal.services.episodes import (
    READ_EPISODE,
    Appointment,
    ConsentBrief,
    Follicles,
    MonitoringDay,
    Outcome,
    TimelineEvent,
)
from portal.services.notifications import LIST_NOTIFICATIONS, Notification
from portal.services.protocols import LIST_PROTOCOLS, Medication, ProtocolStatus
from portal.store import StoreDown
from portal.store.vault import Vault
from tests.pages.test_patient_banner import AMELIA, EPISODE, FORM, PLAN, TALK
from tests.support.fake_api import ZONE, FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import Page, SignIn, Visitor

NOW = datetime.fromtimestamp(time.time(), UTC)


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def date_ago(days: float) -> date:
    """The date so long ago at the clinic."""
    return ago(days).astimezone(ZONE).date()


TREATMENT = replace(
    EPISODE,
    timeline=(TimelineEvent(id="t-1", title="Antagonist started", occurred_at=ago(2), verified=True),),
    monitoring=(MonitoringDay(date=date_ago(1), e2=1240, unit="pmol/L"),),
    appointments=(Appointment(id="a-1", start=ago(3), kind="Blood test"),),
    conversation_ids=("m-1",),
)
SENT = replace(
    FORM,
    sent_at=ago(5),
    signatures=(
        Signature(
            role=SignerRole.PATIENT,
            person_id="amelia",
            name="Amelia Hart",
            signed_at=ago(4),
            method=SigningMethod.TYPED_NAME,
        ),
    ),
)
WRITTEN = replace(
    TALK,
    last_message_at=ago(0.01),
    messages=(
        Message(
            id="w-1",
            conversation_id="m-1",
            sender_name="Amelia Hart",
            side=MessageSide.INBOUND,
            body="It is bigger today.",
            sent_at=ago(0.01),
        ),
        Message(id="w-0", conversation_id="m-1", side=MessageSide.OUTBOUND, body="Long ago.", sent_at=ago(9)),
    ),
)
CHANGED = replace(
    PLAN,
    status=ProtocolStatus.ACTIVE,
    start_date=date_ago(6),
    creation_time=ago(20),
    last_modification_time=ago(1.5),
    medications=(
        Medication(id="1", drug="rFSH", dose=225, unit="IU", start_day=1, end_day=5, time="19:00"),
        Medication(id="2", drug="rFSH", dose=250, unit="IU", start_day=6, time="19:00"),
    ),
)
NEWS = Notification(
    id="n-1",
    type="Payment",
    title="A payment failed",
    entity_type="Episode",
    entity_id="e-1",
    creation_time=ago(0.5),
)


@pytest.fixture
def nora(visitor: SignIn, fake_api: FakeApi) -> Visitor:
    fake_api.gives(READ_EPISODE, TREATMENT)
    fake_api.gives(READ_CONSENT, SENT)
    fake_api.gives(LIST_CONSENTS, [SENT])
    fake_api.gives(LIST_CONVERSATIONS, [WRITTEN])
    fake_api.gives(LIST_PROTOCOLS, [CHANGED])
    fake_api.gives(LIST_NOTIFICATIONS, [NEWS])
    return visitor("nora", "nurse")


def week(page: Page) -> list[str]:
    """What happened, the latest first."""
    return [one.words for one in page.select("#week .happenings > li")]


def test_one_click_from_any_record_leads_to_the_last_seven_days_as_one_list(nora: Visitor) -> None:
    record = nora.get("/consents/c-1")
    page = nora.get(str(record.select(".patient-banner a")[0]["href"]))
    assert page.path.startswith("/patients/p-1") and page.heading == "Patient overview"
    happened = week(page)
    moments = (
        "Amelia Hart wrote Bruising · It is bigger today.",
        "A payment failed",
        "Plan changed rFSH 225",
        "Antagonist started",
        "Blood test",
        "Amelia Hart signed Consent to IVF",
        "Form sent to its signers Consent to IVF",
    )
    days = (
        "Scan and blood tests Not confirmed yet E2 1,240 pmol/L",
        "rFSH 19:00 250 IU instead of 19:00 225 IU",
    )
    for words in (*moments, *days):
        assert any(words in one for one in happened), f"{words} is missing from {happened}"
    places = [next(at for at, one in enumerate(happened) if words in one) for words in moments]
    assert places == sorted(places), f"not the latest first: {happened}"
    assert not any("Long ago" in one for one in happened), "older than seven days"


def test_a_visit_that_was_moved_is_not_told_as_certain(nora: Visitor, fake_api: FakeApi) -> None:
    (visit,) = TREATMENT.appointments
    moved = replace(visit, status="Rescheduled")
    fake_api.gives(READ_EPISODE, replace(TREATMENT, appointments=(moved,)))
    (told,) = [one for one in week(nora.get("/patients/p-1?episode=e-1")) if "Blood test" in one]
    assert "Not confirmed yet" in told


def doses_of(nora: Visitor, fake_api: FakeApi, *rows: Medication, **plan: object) -> list[str]:
    """What the last seven days tell of a plan's doses, the latest first, without what all of them say."""
    fake_api.gives(LIST_PROTOCOLS, [replace(CHANGED, medications=rows, **plan)])
    happened = week(nora.get("/patients/p-1?episode=e-1"))
    heads = ("Dose from this day ", "Single dose ")
    return [
        one.replace("\N{NO-BREAK SPACE}", " ").removeprefix(heads[0])
        for one in happened
        if one.startswith(heads)
    ]


RFSH = Medication(id="1", drug="rFSH", dose=225, unit="IU", start_day=2, end_day=4, time="19:00")


def test_doses_of_the_week_are_told_where_they_begin_change_and_end(nora: Visitor, fake_api: FakeApi) -> None:
    every_second = Medication(
        id="3", drug="Estradiol", dose=2, unit="mg", start_day=3, time="08:00", every_days=2
    )
    trigger = Medication(
        id="4", drug="Ovitrelle", dose=250, unit="µg", start_day=5, end_day=5, time="22:00", is_trigger=True
    )
    morning = replace(RFSH, id="5", dose=75, start_day=3, time="07:00")
    assert doses_of(nora, fake_api, trigger, RFSH, every_second, morning) == [
        "Single dose Ovitrelle 22:00 250 µg",
        "rFSH ends",
        "Estradiol 08:00 2 mg every second day begins",
        "rFSH 07:00 75 IU, 19:00 225 IU instead of 19:00 225 IU",
        "rFSH 19:00 225 IU begins",
    ]


def test_a_row_that_goes_on_as_another_is_no_change(nora: Visitor, fake_api: FakeApi) -> None:
    after = replace(RFSH, id="2", start_day=5, end_day=None, last_dose_day=20)
    assert doses_of(nora, fake_api, RFSH, after) == ["rFSH 19:00 225 IU begins"]


@pytest.mark.parametrize("status", [ProtocolStatus.CANCELLED, ProtocolStatus.COMPLETED])
def test_no_dose_is_told_from_the_day_on_which_its_plan_ended(
    nora: Visitor, fake_api: FakeApi, status: ProtocolStatus
) -> None:
    rows = (RFSH, replace(RFSH, id="2", dose=300, start_day=5, end_day=9))
    told = ["rFSH 19:00 300 IU instead of 19:00 225 IU", "rFSH 19:00 225 IU begins"]
    for days_ago, shown in ((1, told), (2, told[1:]), (6, [])):
        ended = {"status": status, "last_modification_time": ago(days_ago)}
        assert doses_of(nora, fake_api, *rows, **ended) == shown, days_ago
    assert doses_of(nora, fake_api, *rows, status=status, last_modification_time=None) == []
    assert doses_of(nora, fake_api, *rows, status=ProtocolStatus.ON_HOLD) == []


def test_no_dose_is_told_from_the_day_on_which_its_treatment_ended(nora: Visitor, fake_api: FakeApi) -> None:
    rows = (RFSH, replace(RFSH, id="2", dose=300, start_day=5, end_day=9))
    for end, shown in ((date_ago(1), 2), (date_ago(2), 1), (None, 0)):
        fake_api.gives(
            READ_EPISODE,
            replace(TREATMENT, status=CareStatus.FINISHED, end_date=end, outcome=Outcome.CANCELLED),
        )
        assert len(doses_of(nora, fake_api, *rows)) == shown, end


def test_a_plan_made_and_changed_in_the_week_is_told_as_both(nora: Visitor, fake_api: FakeApi) -> None:
    def told(made: datetime, changed: datetime | None) -> list[str]:
        fake_api.gives(LIST_PROTOCOLS, [replace(CHANGED, creation_time=made, last_modification_time=changed)])
        return [one for one in week(nora.get("/patients/p-1?episode=e-1")) if one.split()[1] == "Plan"]

    both = told(ago(4), ago(1.5))
    assert ["changed" in one for one in both] == [True, False]
    for changed in (None, ago(4)):
        (made,) = told(ago(4), changed)
        assert "Plan made" in made


def test_notifications_that_may_be_missing_from_the_week_are_said_to_be(
    nora: Visitor, fake_api: FakeApi
) -> None:
    for days, total, is_said in ((0.5, 1, False), (0.5, 300, True), (6, 300, True), (8, 300, False)):
        read = replace(NEWS, creation_time=ago(days))
        fake_api.gives(LIST_NOTIFICATIONS, {"items": [read], "totalCount": total})
        said = "Only your newest notifications could be read" in nora.get("/patients/p-1?episode=e-1").words
        assert said == is_said, (days, total)


@pytest.mark.parametrize(
    ("says", "is_hers"),
    [
        ({"patient_id": "p-1"}, True),
        ({"episode_id": "e-1"}, True),
        ({"participants": (Participant(id="p-1", name="Amelia Hart", role="patient"),)}, True),
        ({"participants": TALK.participants[1:]}, False),
    ],
)
def test_a_conversation_is_hers_by_any_of_what_it_says(
    nora: Visitor, fake_api: FakeApi, says: dict[str, Any], *, is_hers: bool
) -> None:
    bare = replace(WRITTEN, patient_id=None, episode_id=None, participants=())
    fake_api.gives(LIST_CONVERSATIONS, [replace(bare, **says)])
    page = nora.get("/patients/p-1?episode=e-1")
    assert any("It is bigger today." in one for one in week(page)) is is_hers


@pytest.mark.parametrize(
    ("says", "is_new"),
    [
        ({"data": {"patientId": "p-1"}}, True),
        ({"data": {"episodeId": "e-1"}}, True),
        ({"entity_type": "Episode", "entity_id": "e-1"}, True),
        ({"entity_type": "Conversation", "entity_id": "m-1"}, True),
        ({"data": {"patientId": "p-2"}}, False),
        ({"data": {"patientId": "p-1"}, "is_read": True}, False),
    ],
)
def test_what_is_unread_is_new_if_it_is_about_her(
    nora: Visitor, fake_api: FakeApi, says: dict[str, Any], *, is_new: bool
) -> None:
    fake_api.gives(LIST_NOTIFICATIONS, [replace(NEWS, **{"entity_type": None, "entity_id": None} | says)])
    cards = nora.get("/patients/p-1?episode=e-1").select("section.card")
    assert any("New for you A payment failed" in card.words for card in cards) is is_new


def test_a_patient_without_a_treatment_has_a_page_too(nora: Visitor, fake_api: FakeApi) -> None:
    """Conversations name her by the account with which she signs, too."""
    fake_api.gives(LIST_CONSENTS, [replace(SENT, episode_id=None)])
    amelia = Participant(id="amelia", name="Amelia Hart", role="patient")
    fake_api.gives(
        LIST_CONVERSATIONS, [replace(WRITTEN, episode_id=None, patient_id=None, participants=(amelia,))]
    )
    fake_api.gives(LIST_PROTOCOLS, [])
    fake_api.gives(LIST_NOTIFICATIONS, [])
    fake_api.refuses(READ_EPISODE, 404)
    page = nora.get("/patients/p-1")
    assert "No treatment is known" in page.words and "Consent to IVF" in page.words
    assert any("It is bigger today." in one for one in week(page))
    assert page.select(".patient-banner")[0].words.split()[:2] == ["Amelia", "Hart"]


def test_other_peoples_records_stay_out_where_an_api_filters_nothing(
    nora: Visitor, fake_api: FakeApi
) -> None:
    other = "Other Woman"
    fake_api.gives(
        LIST_CONSENTS, [SENT, replace(SENT, id="c-9", patient_id="p-9", patient_name=other, title=other)]
    )
    fake_api.gives(
        LIST_CONVERSATIONS,
        [
            WRITTEN,
            replace(WRITTEN, id="m-9", patient_id="p-9", episode_id="e-9", participants=(), subject=other),
        ],
    )
    fake_api.gives(
        LIST_PROTOCOLS, [CHANGED, replace(CHANGED, id="f-9", patient_id="p-9", episode_id="e-9", name=other)]
    )
    fake_api.gives(LIST_NOTIFICATIONS, [NEWS, replace(NEWS, id="n-9", entity_id="e-9", title=other)])
    fake_api.gives(
        READ_EPISODE,
        replace(TREATMENT, id="e-9", patient=replace(AMELIA, id="p-9", first_name="Other")),
        id_="e-9",
    )
    page = nora.get("/patients/p-1?episode=e-9")
    assert other not in page.text and "Consent to IVF" in page.words


def test_what_could_not_be_read_is_said_where_it_is_missing(nora: Visitor, fake_api: FakeApi) -> None:
    fake_api.refuses(LIST_CONVERSATIONS, 500)
    fake_api.refuses(LIST_NOTIFICATIONS, 500)
    page = nora.get("/patients/p-1?episode=e-1")
    assert "The messages can’t be read right now and are missing here." in page.words
    assert "Your notifications can’t be read right now and are missing here." in page.words
    assert "The messages can’t be shown right now." in page.words
    assert any("Amelia Hart signed" in one for one in week(page))
    fake_api.refuses(READ_EPISODE, 500)
    page = nora.get("/patients/p-1")
    assert "A treatment can’t be read right now" in page.words and "No treatment is known" not in page.words


def test_a_withdrawn_consent_stands_with_the_treatment_that_rests_on_it(
    nora: Visitor, fake_api: FakeApi
) -> None:
    withdrawn = ConsentBrief(
        id="c-9", title="Consent to ICSI", status=ConsentStatus.REVOKED, kind=ConsentKind.TREATMENT
    )
    assert not nora.get("/patients/p-1?episode=e-1").select(".notice[data-tone=urgent]")
    fake_api.gives(READ_EPISODE, replace(TREATMENT, consent_forms=(withdrawn,)))
    (notice,) = nora.get("/patients/p-1?episode=e-1").select(".card .notice[data-tone=urgent]")
    assert "Consent withdrawn or declined Consent to ICSI" in notice.words


def test_a_treatment_beyond_those_that_are_read_is_not_left_out_silently(
    nora: Visitor, fake_api: FakeApi
) -> None:
    """Six are read: the one that the address names, and five of the six that forms do."""
    for number in (*range(6), 9):
        fake_api.gives(READ_EPISODE, replace(TREATMENT, id=f"e-{number}"), id_=f"e-{number}")
    fake_api.gives(LIST_CONSENTS, [replace(SENT, id=f"c-{n}", episode_id=f"e-{n}") for n in range(6)])
    assert (
        "A treatment of this patient can’t be read right now." in nora.get("/patients/p-1?episode=e-9").words
    )


def test_a_count_that_is_not_whole_does_not_look_whole(nora: Visitor, fake_api: FakeApi) -> None:
    def counts(page: Page) -> list[str]:
        return [one.words for one in page.select(".heading h2") if one.select(".count")]

    assert "Messages 1" in counts(nora.get("/patients/p-1?episode=e-1"))
    fake_api.gives(READ_EPISODE, replace(TREATMENT, conversation_ids=("m-1", "m-2")))
    fake_api.gives(LIST_CONSENTS, {"items": [SENT], "totalCount": 300})
    told = counts(nora.get("/patients/p-1?episode=e-1"))
    assert "Messages at least 1" in told and any(one.startswith("Consents at least") for one in told)


@pytest.mark.parametrize(("status", "shown"), [(404, 404), (500, 503)])
def test_nobody_known_is_not_found_unless_nothing_could_be_read(
    nora: Visitor, fake_api: FakeApi, status: int, shown: int
) -> None:
    for row in (LIST_CONSENTS, LIST_CONVERSATIONS, LIST_PROTOCOLS, LIST_NOTIFICATIONS):
        if status == 404:
            fake_api.gives(row, [])
        else:
            fake_api.refuses(row, status)
    fake_api.refuses(READ_EPISODE, 404)
    nora.get("/patients/p-404", status=shown)


@pytest.mark.parametrize(("status", "shown"), [(404, 404), (503, 503), (500, 503)])
def test_a_patient_whose_treatment_alone_cannot_be_read_is_not_called_removed(
    nora: Visitor, fake_api: FakeApi, status: int, shown: int
) -> None:
    for row in (LIST_CONSENTS, LIST_CONVERSATIONS, LIST_PROTOCOLS, LIST_NOTIFICATIONS):
        fake_api.gives(row, [])
    fake_api.refuses(READ_EPISODE, status)
    nora.get("/patients/p-1?episode=e-1", status=shown)


@pytest.mark.parametrize("path", ["/patients/p-1?episode=e-1", "/episodes/e-1"])
def test_scan_and_blood_test_of_a_day_are_both_told_and_none_of_a_day_to_come(
    nora: Visitor, fake_api: FakeApi, path: str
) -> None:
    on = date_ago(1)
    scan = MonitoringDay(
        date=on, follicles=Follicles(left=(18, 15), right=(17,)), endometrium_mm=9.1, endometrium_pattern="Zq"
    )
    blood = MonitoringDay(date=on, e2=4000, unit="pmol/L", verified=True)
    to_come = MonitoringDay(date=ago(-400).date(), e2=9999, unit="pmol/L", verified=True)
    for days in ((scan, blood, to_come), (blood, scan, to_come)):
        fake_api.gives(READ_EPISODE, replace(TREATMENT, monitoring=days))
        words = nora.get(path).words
        told = words[words.index("Latest scan and blood test") :][:300]
        for part in ("2 of 17 mm or more", "Lining: 9.1 mm Zq · Not checked yet", "Oestradiol 4,000 pmol/L"):
            assert part in told, told
        assert "9,999" not in told


def test_find_knows_the_number_that_was_read_last(
    nora: Visitor, fake_api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for row in (LIST_CONSENTS, LIST_CONVERSATIONS, LIST_PROTOCOLS):
        fake_api.gives(row, [])
    first, second = "07700 900111", "07700 900222"

    def found(number: str) -> bool:
        page = nora.fragment("/find", "found", data={"q": number}, at="/")
        return "Amelia Hart" in page.select("#found")[0].text_content()

    for number in (first, second, first):
        fake_api.gives(
            READ_EPISODE, replace(TREATMENT, patient=replace(TREATMENT.patient, phone_number=number))
        )
        nora.get("/patients/p-1?episode=e-1")
        assert [found(first), found(second)] == [number == first, number == second]
    third = "07700 900333"
    fake_api.gives(READ_EPISODE, replace(TREATMENT, patient=replace(TREATMENT.patient, phone_number=third)))
    with monkeypatch.context() as patch:
        patch.setattr(Vault, "update", out_of_order)
        nora.get("/patients/p-1?episode=e-1")
    nora.get("/patients/p-1?episode=e-1")
    assert found(third), "what couldn't be kept is kept at the next page"


@pytest.mark.parametrize("people", [True, False])
def test_find_says_that_a_list_could_not_be_looked_through(
    nora: Visitor, fake_api: FakeApi, people: bool
) -> None:
    for row in (LIST_CONSENTS, LIST_PROTOCOLS, LIST_NOTIFICATIONS):
        fake_api.gives(row, [])
    if people:
        fake_api.gives(LIST_CONSENTS, [SENT])
    fake_api.refuses(LIST_CONVERSATIONS, 503)
    page = nora.fragment("/find", "found", data={"q": "Quelqu" if not people else SENT.patient_name}, at="/")
    words = page.select("#found")[0].words
    assert "ot everything could be looked through" in words, words
    assert "Nobody found" not in words and "more letters" not in words


def out_of_order(*_: object, **__: object) -> None:
    raise StoreDown("for a moment")


def test_a_draft_is_listed_counted_and_audited_like_each_other_form(
    nora: Visitor, fake_api: FakeApi, in_process: InProcess
) -> None:
    draft = replace(SENT, id="c-2", title="Storage, to be checked", status=ConsentStatus.DRAFT, sent_at=None)
    fake_api.gives(LIST_CONSENTS, [SENT, draft])
    in_process.audited()
    page = nora.get("/patients/p-1?episode=e-1")
    (card,) = (card for card in page.select("section.card") if "Consents" in card.text_content())
    assert card.select_one("h2").words == "Consents 2"
    (listed,) = (
        part for part in card.select("details") if "Not sent yet" in part.select_one("summary").text_content()
    )
    assert [link["href"] for link in listed.select("a")] == ["/consents/c-2"]
    (line,) = (line for line in in_process.audited() if line["audit"] == "consent.list")
    assert len(line["ids"]) == len(card.select("a[href^='/consents/c-']"))


# ── lists of one patient ────────────────────────────────────────────────────────────────────────────────


def test_the_lists_that_it_leads_to_are_of_this_patient_even_if_the_api_ignores_the_filter(
    nora: Visitor, fake_api: FakeApi
) -> None:
    bea = {"patient_id": "p-2", "episode_id": "e-2"}
    fake_api.gives(LIST_CONSENTS, [SENT, replace(SENT, id="c-2", patient_name="Bea Cole", **bea)])
    fake_api.gives(LIST_PROTOCOLS, [CHANGED, replace(CHANGED, id="f-2", patient_name="Bea Cole", **bea)])
    fake_api.gives(
        LIST_CONVERSATIONS,
        [WRITTEN, replace(WRITTEN, id="m-2", subject="Bea’s question", participants=(), **bea)],
    )
    page = nora.get("/patients/p-1?episode=e-1")
    for address, hers, others in (
        ("/consents?list=all&patient=p-1", "Consent to IVF", "Bea Cole"),
        ("/protocols?patient=p-1", "rFSH 225", "Bea Cole"),
        ("/conversations?patient=p-1", "Bruising", "Bea’s question"),
    ):
        assert page.select(f"main a[href='{address}']"), f"{address} is not linked"
        listed = nora.get(address)
        assert listed.select(".patient-banner")[0].words.startswith("Amelia Hart")
        shown = " ".join(part.words for part in listed.select("#results, #inbox"))
        assert hers in shown and others not in shown, address
        everybody = listed.follow("Show everybody’s")
        assert others in everybody.words and not everybody.select(".patient-banner"), address
    assert not page.select("main a[href*='/notifications?']"), "what is done there is for everybody’s"
    for address in (
        "/consents?list=late&patient=p-1",
        "/consents?list=open&kind=Treatment&patient=p-1",
        "/consents?list=all&q=zz&patient=p-1",
        "/protocols?q=zz&patient=p-1",
    ):
        path = address.partition("?")[0]
        links = nora.get(address).select(f"#results a[href='{path}'], #results a[href^='{path}?']")
        kept = {link.words: "patient=p-1" in str(link["href"]) for link in links}
        assert kept.pop("Show everybody’s") is False
        assert kept and all(kept.values()), kept


def test_a_list_of_one_patient_is_searched_by_what_was_typed_alone(nora: Visitor, fake_api: FakeApi) -> None:
    found_by_no_name = replace(CHANGED, patient_id=None, patient_name=None)
    for row, record in (
        (LIST_PROTOCOLS, found_by_no_name),
        (LIST_CONVERSATIONS, replace(WRITTEN, patient_id=None, participants=())),
    ):
        answer = {"totalCount": 1, "items": [msgspec.to_builtins(record)]}
        fake_api.computes(
            row, lambda query, all_=answer: {"totalCount": 0, "items": []} if query.get("Filter") else all_
        )
    nora.get("/patients/p-1?episode=e-1")
    assert "rFSH 225" in nora.get("/protocols?patient=p-1").words
    assert "Bruising" in nora.get("/conversations?patient=p-1").words
    assert "No protocols here." in nora.get("/protocols?patient=p-1&q=zz").words


def test_a_partner_in_two_treatments_has_the_forms_of_both(nora: Visitor, fake_api: FakeApi) -> None:
    """Also where the second treatment is only told of by a form of the first."""
    daniel = replace(AMELIA, id="p-2", user_id="u-2", first_name="Daniel")
    hers = replace(EPISODE, partner=daniel)
    earlier = replace(hers, id="e-2", patient=replace(AMELIA, id="p-3", first_name="Ines"))
    signs = (*SENT.required_signers, Signer(role=SignerRole.PARTNER, person_id="u-2", name="Daniel", order=2))
    forms = {
        "p-1": replace(SENT, id="c-1", title="Of the first", patient_id="p-1", required_signers=signs),
        "p-2": replace(SENT, id="c-2", title="His own", patient_id="p-2", episode_id="e-2"),
        "p-3": replace(SENT, id="c-3", title="Of the second", patient_id="p-3", required_signers=signs),
    }
    answers = {id_: {"totalCount": 1, "items": [msgspec.to_builtins(form)]} for id_, form in forms.items()}
    fake_api.computes(LIST_CONSENTS, lambda query: answers[query["PatientId"]])
    fake_api.gives(READ_EPISODE, hers)
    fake_api.gives(READ_EPISODE, earlier, id_="e-2")
    page = nora.get("/patients/p-2?episode=e-1")
    for form in forms.values():
        assert page.words.count(form.title) >= 1, form.title


def test_what_is_of_a_partner_alone_is_not_what_is_of_the_patient(nora: Visitor, fake_api: FakeApi) -> None:
    both = (*SENT.required_signers, Signer(role=SignerRole.PARTNER, person_id="p-2", name="Daniel", order=2))
    fake_api.gives(LIST_CONSENTS, [replace(SENT, required_signers=both)])
    fake_api.gives(LIST_PROTOCOLS, [CHANGED])
    page = nora.get("/patients/p-2?episode=e-1")
    assert "Consent to IVF" in page.words and "treatment of Amelia Hart" in page.words
    assert not page.select("main a[href*='/consents?list=all']"), "a list of none"
    assert "No protocols here." in nora.get("/protocols?patient=p-2").words


def test_a_plan_is_begun_on_the_page_of_its_own_patient_alone(
    visitor: SignIn, nora: Visitor, fake_api: FakeApi
) -> None:
    victor = visitor("victor", "physician")
    begins = "a[href^='/protocols/new']"
    assert not victor.get("/patients/p-1?episode=e-1").select(begins), "there is one"
    fake_api.gives(LIST_PROTOCOLS, [])
    found = {id_: victor.get(f"/patients/{id_}?episode=e-1").select(begins) for id_ in ("p-1", "p-2")}
    assert [link["href"] for link in found["p-1"]] == ["/protocols/new?episode=e-1"] and not found["p-2"]
    fake_api.gives(READ_EPISODE, replace(TREATMENT, status=CareStatus.FINISHED))
    assert not victor.get("/patients/p-1?episode=e-1").select(begins), "the treatment has ended"


def test_a_partners_week_names_whose_treatment_it_tells_of(nora: Visitor) -> None:
    hers = [one for one in week(nora.get("/patients/p-2?episode=e-1")) if "of Amelia Hart" in one]
    for what in ("Scan and blood tests", "Antagonist started", "Blood test"):
        assert any(what in one for one in hers), what
    assert any("treatment of Amelia Hart · E2 1,240 pmol/L" in one for one in hers)
    assert not any("treatment of" in one for one in week(nora.get("/patients/p-1?episode=e-1")))


def test_a_list_that_was_not_read_to_its_end_says_so_and_has_no_empty_page(
    nora: Visitor, fake_api: FakeApi
) -> None:
    def give(row: AnyEndpoint, record: object, hers: int) -> None:
        fields = msgspec.to_builtins(record)

        def page_at(query: Mapping[str, str]) -> object:
            start, size = int(query.get("SkipCount") or 0), int(query["MaxResultCount"])
            ids = range(start, start + size)
            items = [
                {**fields, "id": f"x-{at}", "patientId": "p-1" if at < hers else "p-9", "episodeId": None}
                for at in ids
            ]
            return {"totalCount": 5000, "items": items}

        fake_api.computes(row, page_at)

    nora.get("/patients/p-1?episode=e-1")
    lists = (
        (LIST_PROTOCOLS, CHANGED, "/protocols?patient=p-1", 25),
        (LIST_CONSENTS, SENT, "/consents?list=all&patient=p-1", 25),
        (LIST_CONVERSATIONS, replace(WRITTEN, participants=()), "/conversations?patient=p-1", 20),
    )
    for row, record, address, size in lists:
        give(row, record, 0)
        listed = nora.get(address)
        assert "None was found among those that could be read." in listed.words, address
        assert "No protocols here." not in listed.words and "No forms here." not in listed.words
        give(row, record, size)
        assert not nora.get(address).select("a[rel=next]"), address
        give(row, record, size + 1)
        assert nora.get(address).select("a[rel=next]"), address


def test_a_list_of_one_patient_is_audited_as_showing_theirs(
    nora: Visitor, fake_api: FakeApi, in_process: InProcess
) -> None:
    other = {"patient_id": "p-9", "episode_id": "e-9"}
    fake_api.gives(LIST_PROTOCOLS, [CHANGED, replace(CHANGED, id="f-2", **other)])
    fake_api.gives(LIST_CONSENTS, [SENT, replace(SENT, id="c-2", **other)])
    nora.get("/patients/p-1?episode=e-1")
    in_process.audited()
    nora.get("/protocols?patient=p-1")
    nora.get("/consents?list=all&patient=p-1")
    told = [(line["audit"], len(line["ids"])) for line in in_process.audited() if "ids" in line]
    assert told == [("protocol.list", 1), ("consent.list", 1)]


def test_an_unknown_patients_name_costs_one_call(nora: Visitor, fake_api: FakeApi) -> None:
    before = len(fake_api.calls)
    assert nora.get("/protocols?patient=p-1").select(".patient-banner")
    assert len(fake_api.calls) - before == 2


def test_patients_are_listed_by_what_is_newest_of_them(nora: Visitor, fake_api: FakeApi) -> None:
    fake_api.gives(LIST_CONSENTS, [replace(SENT, id="c-2", patient_id="p-7", patient_name="Bea Cole"), SENT])
    enquirers = replace(WRITTEN, id="m-2", patient_id=None, prospect_id="q-1", participants=())
    fake_api.gives(LIST_CONVERSATIONS, [WRITTEN, enquirers])
    nora.get("/patients/p-1?episode=e-1")
    rows = [row.words for row in nora.get("/patients").select("main tbody tr")]
    assert [row[:8] for row in rows] == ["Amelia H", "Bea Cole"]
    assert "MRN" in rows[0] and "Bruising" in rows[0], "what this session has read of her, and what came last"


def test_patients_who_cannot_be_read_are_not_called_none(
    nora: Visitor, fake_api: FakeApi, in_process: InProcess
) -> None:
    fake_api.gives(LIST_CONVERSATIONS, [])
    fake_api.gives(LIST_PROTOCOLS, [])
    fake_api.refuses(LIST_CONSENTS, 500)
    page = nora.get("/patients")
    assert "Some patients can’t be shown right now." in page.words
    assert "names a patient" not in page.words and "0 patients" not in page.words
    fake_api.gives(LIST_CONVERSATIONS, [WRITTEN])
    page = nora.get("/patients")
    assert "Some patients can’t be shown right now." in page.words and "Amelia Hart" in page.words
    fake_api.refuses(LIST_CONSENTS, 501)
    page = nora.get("/patients")
    in_process.clock.advance(capabilities.SECONDS)
    assert "right now" not in page.words and "1 patient" in page.words, "a list that isn't used has nobody"
    fake_api.gives(LIST_CONSENTS, {"items": [replace(SENT, patient_id=None)], "totalCount": 300})
    fake_api.gives(LIST_CONVERSATIONS, [])
    assert "No patient was found in the newest" in nora.get("/patients").words
    fake_api.gives(LIST_CONSENTS, [])
    assert "No form, message or protocol names a patient." in nora.get("/patients").words


def test_a_treatment_in_the_list_has_its_own_name_and_what_is_known_of_the_patient_is_audited(
    nora: Visitor, fake_api: FakeApi, in_process: InProcess
) -> None:
    fake_api.gives(READ_EPISODE, replace(TREATMENT, type="IUI"), id_="e-1")
    fake_api.gives(READ_EPISODE, replace(TREATMENT, id="e-2", type="IVF"), id_="e-2")
    fake_api.gives(LIST_CONSENTS, [replace(SENT, episode_id="e-2", sent_at=ago(0.0001))])

    def treatment() -> str:
        (link,) = nora.get("/patients").select("main tbody a[href='/episodes/e-2']")
        return link.words

    nora.get("/episodes/e-1")
    read = next(line["id"] for line in in_process.audited() if line["audit"] == "episode.read")
    assert treatment().startswith("Treatment"), "another treatment of hers is known, not this one"
    told = [line["ids"] for line in in_process.audited() if line["audit"] == "episode.list"]
    assert told == [[read]], "her date of birth was read with that treatment"
    nora.get("/episodes/e-2")
    nora.get("/episodes/e-1")
    assert treatment().startswith("IVF"), "known by now, though not what was read last"
