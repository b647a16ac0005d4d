"""What a patient's home page tells as new since they last visited it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentForm, ConsentStatus, Signature, SignerRole
from portal.services.conversations import LIST_CONVERSATIONS, Conversation
from portal.services.directories import Documents
from portal.services.episodes import (
    READ_EPISODE,
    Appointment,
    Episode,
    Follicles,
    MonitoringDay,
    TimelineEvent,
)
from portal.services.files import File
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.pgt_results import PgtBrief, PgtCall, PgtStatus
from portal.web import last_visit
from tests.pages.test_tonight import episode
from tests.support.fake_api import ZONE, FakeApi, sample
from tests.support.in_process import InProcess
from tests.support.visitor import SignIn, Visitor

SCRIPT = Path(__file__).parents[2] / "static/scripts/session_end.js"

BEFORE = episode(documents=Documents(files=(File(id="f-1", name="Plan.pdf", media_type="application/pdf"),)))
AFTER = replace(
    BEFORE,
    documents=Documents(
        files=(*BEFORE.documents.files, File(id="f-2", name="Letter.pdf", media_type="application/pdf"))
    ),
    monitoring=tuple(
        MonitoringDay(date=date(2026, 11, on), follicles=Follicles(left=(12,)), verified=True)
        for on in (23, 25)
    ),
    pgt_results=(PgtBrief(id="r-9", embryo_code="E9", status=PgtStatus.REPORTED),),
)
FORM = ConsentForm(id="c-1", title="Storing embryos", status=ConsentStatus.PARTIALLY_SIGNED)
SIGNED = replace(
    FORM,
    signatures=(
        Signature(role=SignerRole.PARTNER, person_id="daniel", name="Daniel Hart"),
        Signature(role=SignerRole.PATIENT, person_id="amelia-patient", name="Amelia"),
    ),
)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Keep the visits of each test apart."""
    kept = dataclasses.replace(last_visit.VISITS, kind=f"visits {request.node.name}")
    monkeypatch.setattr(last_visit, "VISITS", kept)


def shows(fake_api: FakeApi, treatment: Episode | None, form: ConsentForm) -> None:
    """Let these be her only records; a treatment that can't be read is None."""
    if treatment:
        fake_api.gives(READ_EPISODE, treatment)
    else:
        fake_api.refuses(READ_EPISODE, 503)
    fake_api.gives(LIST_CONSENTS, [form])
    fake_api.gives(LIST_NOTIFICATIONS, [])
    fake_api.gives(LIST_CONVERSATIONS, [sample(Conversation, episode_id="e-1")])


def told(visitor: Visitor) -> list[str]:
    """The rows of what is new, with where they lead."""
    rows = visitor.get("/").select("#since .link-row")
    return [f"{' '.join(row.words.split())} {row['href']}" for row in rows]


def test_what_has_come_since_the_last_visit_is_told_until_the_next(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 09:00")
    shows(fake_api, BEFORE, FORM)
    assert told(visitor("amelia")) == []
    at("25 13:00")
    assert told(visitor("amelia")) == []
    at("25 17:00")
    shows(fake_api, AFTER, SIGNED)
    visitor("amelia").get("/", headers={"Sec-Purpose": "prefetch;prerender"})
    at("25 21:00")
    news = [
        "2 scans or blood tests /episodes/e-1/monitoring",
        "Letter Document /files/f-2/preview",
        "Storing embryos Daniel Hart has signed /consents/c-1",
    ]
    assert told(visitor("amelia")) == news
    assert "8 hours ago" in visitor("amelia").get("/").select("#since")[0].words
    assert told(visitor("daniel")) == [], "it is each person's own"
    at("25 22:30")
    assert told(visitor("amelia")) == news, "looking again is the same visit"
    at("26 08:00")
    assert told(visitor("amelia")) == []


def test_staying_signed_in_counts_nothing_as_seen(
    visitor: SignIn, fake_api: FakeApi, in_process: InProcess, at: Callable[[str], None]
) -> None:
    at("24 09:00")
    shows(fake_api, BEFORE, FORM)
    told(visitor("amelia"))
    at("25 09:00")
    amelia = visitor("amelia")
    lasts = amelia.get("/").headers["Session-Lasts"]
    shows(fake_api, AFTER, SIGNED)
    at("25 09:28")
    in_process.audited()
    fake_api.calls.clear()
    (address,) = re.findall(r"const stay = .*send\(\"([^\"]+)\"", SCRIPT.read_text())
    assert amelia.get(address, status=204).headers["Session-Lasts"] == lasts
    assert (fake_api.calls, in_process.audited()) == ([], [])
    at("26 09:00")
    assert len(told(visitor("amelia"))) == 3


def test_what_couldnt_be_read_is_told_once_it_can(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("24 09:00")
    shows(fake_api, BEFORE, FORM)
    told(visitor("amelia"))
    at("24 13:00")
    shows(fake_api, None, FORM)
    assert told(visitor("amelia")) == []
    at("25 13:00")
    shows(fake_api, AFTER, FORM)
    assert told(visitor("amelia"))[-1] == "Letter Document /files/f-2/preview"


def test_what_was_told_with_something_else_isnt_new_without_it(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    scanned = TimelineEvent(
        id="t-1", title="Scan", occurred_at=datetime(2026, 11, 23, 9, tzinfo=ZONE), verified=True
    )
    with_scan = replace(AFTER, timeline=(scanned,))
    at("24 09:00")
    shows(fake_api, with_scan, FORM)
    told(visitor("amelia"))
    at("24 13:00")
    shows(fake_api, replace(with_scan, monitoring=()), FORM)
    assert told(visitor("amelia")) == []
    at("24 17:00")
    trigger = replace(scanned, id="t-2", title="Trigger given")
    shows(fake_api, replace(with_scan, timeline=(scanned, trigger)), FORM)
    (row,) = told(visitor("amelia"))
    assert row.startswith("Trigger given"), "it happened on the day of a scan, and is none"


SCANNED = MonitoringDay(date=date(2026, 11, 23), follicles=Follicles(left=(12,)), verified=True)
VISIT = Appointment(
    id="a-1",
    kind="BaselineScan",
    start=datetime(2026, 11, 28, 9, tzinfo=ZONE),
    time_zone=ZONE.key,
    location="Riverside",
)
RESULT = PgtBrief(id="r-1", embryo_code="E1", status=PgtStatus.AMENDED, call=PgtCall.EUPLOID)


@pytest.mark.parametrize(
    ("before", "after", "row"),
    [
        (
            {"monitoring": (SCANNED,)},
            {"monitoring": (replace(SCANNED, e2=1200.0, unit="pmol/L"),)},
            "Scan or blood test Mon 23 Nov /episodes/e-1/monitoring",
        ),
        (
            {"appointments": (VISIT,)},
            {"appointments": (replace(VISIT, location="Harbour"),)},
            "First scan Sat 28 Nov, 09:00 /episodes/e-1/appointments",
        ),
        (
            {"pgt_results": (RESULT,)},
            {"pgt_results": (replace(RESULT, call=PgtCall.LOW_MOSAIC),)},
            "Result of a genetic test E1 /pgt-results/r-1",
        ),
    ],
    ids=["a value that came later", "another place", "another result"],
)
def test_what_has_changed_is_told_as_new(
    visitor: SignIn,
    fake_api: FakeApi,
    at: Callable[[str], None],
    before: dict[str, object],
    after: dict[str, object],
    row: str,
) -> None:
    at("24 09:00")
    shows(fake_api, replace(BEFORE, **before), FORM)
    told(visitor("amelia"))
    at("24 13:00")
    assert told(visitor("amelia")) == []
    shows(fake_api, replace(BEFORE, **after), FORM)
    at("24 18:00")
    assert told(visitor("amelia")) == [row]


def test_a_treatment_that_is_new_itself_isnt_told_in_parts(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("24 09:00")
    shows(fake_api, BEFORE, FORM)
    told(visitor("amelia"))
    at("24 13:00")
    shows(fake_api, replace(AFTER, id="e-2"), SIGNED)
    assert told(visitor("amelia")) == ["Storing embryos Daniel Hart has signed /consents/c-1"]


def test_a_visit_that_was_cancelled_is_told(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    def visit(id_: str, on: int, status: str = "Confirmed") -> Appointment:
        start = datetime(2026, 11, on, 9, 30, tzinfo=ZONE)
        return Appointment(id=id_, kind="Blood test", start=start, end=start, status=status)

    booked = (visit("a-1", 27), visit("a-2", 28))
    at("24 09:00")
    shows(fake_api, replace(BEFORE, appointments=booked), FORM)
    told(visitor("amelia"))
    at("24 13:00")
    moved = (visit("a-1", 27, "Cancelled"), visit("a-2", 28), visit("a-0", 20, "Cancelled"), visit("a-3", 29))
    shows(fake_api, replace(BEFORE, appointments=moved), FORM)
    assert told(visitor("amelia")) == [
        "Blood test Sun 29 Nov, 09:30 /episodes/e-1/appointments",
        "Appointment cancelled Blood test · Fri 27 Nov, 09:30 /episodes/e-1/appointments",
    ]
    at("24 21:00")
    both = (visit("a-1", 27, "Cancelled"), visit("a-2", 28, "Cancelled"), visit("a-3", 29, "Cancelled"))
    shows(fake_api, replace(BEFORE, appointments=both), FORM)
    assert told(visitor("amelia")) == ["2 appointments were cancelled /episodes/e-1/appointments"]


def test_a_visit_that_was_put_in_doubt_is_told(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    start = datetime(2026, 11, 27, 9, 30, tzinfo=ZONE)
    told_as = "Blood test Fri 27 Nov, 09:30{} /episodes/e-1/appointments"
    for when, status, news in (
        ("24 09:00", "Confirmed", []),
        ("24 13:00", "Rescheduled", [told_as.format(" · To be confirmed")]),
        ("24 21:00", "Rescheduled", []),
    ):
        at(when)
        visit = Appointment(id="a-1", kind="Blood test", start=start, status=status)
        shows(fake_api, replace(BEFORE, appointments=(visit,)), FORM)
        assert told(visitor("amelia")) == news, when
