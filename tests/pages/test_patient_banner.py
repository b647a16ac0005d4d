"""Every page for staff about a patient says who it is, above everything else, and never somebody else."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from portal.config.tenants import Side
from portal.services.cases import CareStatus, Case
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import Clause, ConsentForm, ConsentStatus, Signer, SignerRole, Statement
from portal.services.conversations import LIST_CONVERSATIONS, Conversation, Participant
from portal.services.directories import Directory, Documents
from portal.services.episodes import READ_EPISODE, Alert, Episode
from portal.services.notifications import Severity
from portal.services.patients import Patient
from portal.services.pgt_results import READ_PGT_RESULT, PgtResult, PgtStatus
from portal.services.protocols import READ_PROTOCOL, Protocol, ProtocolStatus, ProtocolType
from portal.services.relationships import Relationship
from portal.services.storage import EmbryoStatus, EmbryoStorage
from portal.web.guard import access_of
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import Page, SignIn, Visitor

AMELIA = Patient(
    id="p-1",
    first_name="Amelia",
    last_name="Hart",
    preferred_name="Mel",
    mrn="RF-10482",
    date_of_birth=date(1990, 3, 1),
)
DANIEL = Patient(
    id="p-2", first_name="Daniel", last_name="Hart", mrn="RF-10483", date_of_birth=date(1988, 1, 2)
)
EMBRYO = EmbryoStorage(
    id="s-1", embryo_code="AH-1", status=EmbryoStatus.STORED, patient_id="p-1", episode_id="e-1"
)
EPISODE = Episode(
    id="e-1",
    status=CareStatus.ACTIVE,
    patient=AMELIA,
    partner=DANIEL,
    case=Case(id="k-1", patient_id="p-1", status=CareStatus.ACTIVE),
    relationships=(Relationship(id="r-1", patient_id="p-1", related_name="Daniel Hart"),),
    embryos=(EMBRYO,),
    documents=Documents(directories=(Directory(id="d-1", name="Letters", concurrency_stamp="1"),)),
    alerts=(Alert(severity=Severity.WARNING, text="Allergic to latex"),),
)
FORM = ConsentForm(
    id="c-1",
    title="Consent to IVF",
    status=ConsentStatus.PENDING,
    patient_id="p-1",
    patient_name="Amelia Hart",
    episode_id="e-1",
    body=(Clause(id="b-1", heading="What it is", text="IVF"),),
    statements=(Statement(id="t-1", text="I have read it."),),
    required_signers=(
        Signer(role=SignerRole.CLINICIAN, person_id="victor", name="Victor", order=1),
        Signer(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart", order=1),
    ),
)
PLAN = Protocol(
    id="f-1",
    name="rFSH 225",
    type=ProtocolType.ANTAGONIST,
    status=ProtocolStatus.ACTIVE,
    patient_id="p-1",
    episode_id="e-1",
)
RESULT = PgtResult(
    id="g-1", embryo_code="AH-1", status=PgtStatus.RELEASED, episode_id="e-1", sex_disclosed=True
)
TALK = Conversation(
    id="m-1",
    subject="Bruising",
    patient_id="p-1",
    episode_id="e-1",
    participants=(
        Participant(id="amelia", name="Amelia Hart", role="patient"),
        Participant(id="daniel", name="Daniel Hart", role="patient"),
    ),
    last_message_at=datetime(2026, 11, 1, tzinfo=UTC),
)

IDS = {
    "case_id": "k-1",
    "consent_id": "c-1",
    "conversation_id": "m-1",
    "directory_id": "d-1",
    "embryo_id": "s-1",
    "episode_id": "e-1",
    "patient_id": "p-1",
    "protocol_id": "f-1",
    "relationship_id": "r-1",
    "result_id": "g-1",
}
ABOUT_NO_PATIENT = re.compile("/(emr-endpoints|files|prospects)/")
"""Connections, files, of which the API doesn't say whose they are, and enquirers, who are nobody's patient yet."""
NO_PAGES = re.compile(r"\.(ics|pdf)$|/new$|/sign/<any|/as-seen$")
"""Documents and what scripts ask for; staff sign on one page, not by steps; a bar says whose view staff see."""
QUERY = {"/protocols/<record:protocol_id>/end": "?to=Completed"}
WHO = (
    "Amelia Hart called Mel born 1 March 1990 (36 years) MRN RF-10482 Partner: Daniel Hart Allergic to latex"
)


UNKNOWN = "Birth date, record number and warnings aren’t known here."


@pytest.fixture
def victor(visitor: SignIn, fake_api: FakeApi) -> Visitor:
    """A member of staff who may do everything, at a clinic with one patient."""
    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.gives(READ_CONSENT, FORM)
    fake_api.gives(LIST_CONSENTS, [FORM])
    fake_api.gives(READ_PROTOCOL, PLAN)
    fake_api.gives(READ_PGT_RESULT, RESULT)
    fake_api.gives(LIST_CONVERSATIONS, [TALK])
    return visitor("victor", "nurse", "physician", "embryologist", "coordinator", "admin")


def banner(page: Page) -> str:
    """What the banner says; empty without one."""
    return re.sub(
        r"\s+",
        " ",
        " ".join(
            one.words
            for one in page.select("#main > .page-patient > .patient-banner, #main > .patient-alerts")
        ),
    ).strip()


def pages_of_staff(in_process: InProcess) -> list[str]:
    """The routes of pages for staff that are about one record."""
    views = in_process.app.view_functions
    return sorted(
        rule.rule
        for rule in in_process.app.url_map.iter_rules()
        if "<record:" in rule.rule
        and "GET" in (rule.methods or ())
        and (access := access_of(views[rule.endpoint])) is not None
        and Side.STAFF in access.sides
        and not ABOUT_NO_PATIENT.match(rule.rule)
        and not NO_PAGES.search(rule.rule)
    )


def test_every_page_about_a_patient_says_first_who_it_is(victor: Visitor, in_process: InProcess) -> None:
    routes = pages_of_staff(in_process)
    assert len(routes) > 20
    faults: list[str] = []
    for route in routes:
        path = re.sub(r"<record:(\w+)>", lambda found: IDS[found[1]], route)
        page = victor.get(path + QUERY.get(route, "?episode=e-1"))
        said = banner(page)
        if said != WHO:
            faults.append(f"{route}: {said or 'no banner'}")
        if re.search("Amelia|Hart", page.select("title")[0].text_content()):
            faults.append(f"{route}: browsers keep this title in their history")
    assert not faults, "\n".join(faults)


def of(victor: Visitor, fake_api: FakeApi, **members: object) -> str:
    """What the banner says above a form that names these."""
    fake_api.gives(READ_CONSENT, replace(FORM, **members))
    return banner(victor.get("/consents/c-1"))


def test_a_partners_record_is_not_taken_for_the_patients(victor: Visitor, fake_api: FakeApi) -> None:
    said = of(victor, fake_api, patient_id="p-2", patient_name="Daniel Hart")
    assert said.startswith("Daniel Hart born 2 January 1988") and "MRN RF-10483" in said
    assert "Partner: Amelia Hart" in said and "RF-10482" not in said
    page = victor.get("/patients/p-2/edit?episode=e-1")
    assert banner(page).startswith("Daniel Hart born 2 January 1988")


@pytest.mark.parametrize(
    ("other", "also"),
    [
        ({}, "Risk of OHSS Allergic to latex Come by foot"),
        ({"patient": DANIEL, "partner": AMELIA}, "Risk of OHSS Allergic to latex Come by foot"),
        ({"status": CareStatus.FINISHED}, "Allergic to latex"),
        ({"patient": replace(DANIEL, id="p-9"), "partner": None}, "Allergic to latex"),
    ],
    ids=["hers", "as a partner", "ended", "another's"],
)
def test_a_patients_page_says_the_warnings_of_each_ongoing_treatment(
    victor: Visitor, fake_api: FakeApi, other: dict[str, Any], also: str
) -> None:
    """Each once, the gravest first; also those of a treatment that isn't the newest."""
    texts = {
        "Risk of OHSS": Severity.URGENT,
        "Allergic to latex": Severity.WARNING,
        "Come by foot": Severity.INFO,
    }
    warnings = tuple(Alert(severity=severity, text=text) for text, severity in texts.items())
    newest = replace(EPISODE, start_date=date(2026, 11, 1))
    fake_api.gives(READ_EPISODE, newest, id_="e-1")
    fake_api.gives(READ_EPISODE, replace(EPISODE, id="e-2", alerts=warnings, **other), id_="e-2")
    fake_api.gives(LIST_CONSENTS, [FORM, replace(FORM, id="c-2", episode_id="e-2")])
    said = banner(victor.get("/patients/p-1?episode=e-1"))
    assert said == WHO.replace("Allergic to latex", also)


def test_nobody_elses_details_stand_by_a_name(victor: Visitor, fake_api: FakeApi) -> None:
    namesake = of(victor, fake_api, patient_id="p-9", patient_name="Amelia Hart")
    assert namesake == f"Amelia Hart {UNKNOWN}"
    assert of(victor, fake_api, episode_id=None) == f"Amelia Hart {UNKNOWN}"
    assert of(victor, fake_api, episode_id=None, patient_name="") == f"Patient’s name not given {UNKNOWN}"


def test_what_cannot_be_read_is_said_beside_the_name(victor: Visitor, fake_api: FakeApi) -> None:
    fake_api.refuses(READ_EPISODE, 500)
    assert (
        of(victor, fake_api) == "Amelia Hart Birth date, record number and warnings can’t be read right now."
    )
    fake_api.refuses(READ_EPISODE, 404)
    assert of(victor, fake_api) == f"Amelia Hart {UNKNOWN}"


def test_a_conversation_whose_sender_is_not_known_for_sure_has_no_banner(
    victor: Visitor, fake_api: FakeApi
) -> None:
    assert banner(victor.get("/conversations/m-1")) == WHO
    fake_api.gives(LIST_CONVERSATIONS, [replace(TALK, patient_id=None)])
    assert banner(victor.get("/conversations/m-1")) == ""


def talk_with(victor: Visitor, fake_api: FakeApi, *names: str) -> str:
    """What the banner says above a conversation with these on the patient's side."""
    sides = tuple(Participant(id=f"s-{at}", name=name, role="patient") for at, name in enumerate(names))
    fake_api.gives(LIST_CONVERSATIONS, [replace(TALK, participants=sides)])
    return banner(victor.get("/conversations/m-1"))


def test_a_conversation_says_with_whom_it_is_although_the_treatment_cannot_be_read(
    victor: Visitor, fake_api: FakeApi
) -> None:
    fake_api.refuses(READ_EPISODE, 500)
    unread = "Birth date, record number and warnings can’t be read right now."
    assert talk_with(victor, fake_api, "Amelia Hart") == f"Amelia Hart {unread}"
    both = talk_with(victor, fake_api, "Amelia Hart", "Daniel Hart")
    assert both == f"Amelia Hart, Daniel Hart One of them is the patient. {unread}"
    nameless = f"Patient’s name can’t be read right now {unread}"
    assert talk_with(victor, fake_api) == nameless
    assert talk_with(victor, fake_api, "", "Daniel Hart") == nameless, "the other one may be the patient"
    fake_api.refuses(READ_EPISODE, 404)
    both = talk_with(victor, fake_api, "Amelia Hart", "Daniel Hart")
    assert both == f"Amelia Hart, Daniel Hart One of them is the patient. {UNKNOWN}"


def test_it_stays_in_sight_where_one_signs_or_changes_something(victor: Visitor, fake_api: FakeApi) -> None:
    pinned = "#main > .page-patient[data-pinned]"
    for path in (
        "/consents/c-1/sign",
        "/consents/c-1/revoke",
        "/protocols/f-1/edit",
        "/protocols/f-1/end?to=Completed",
    ):
        assert victor.get(path).select(pinned), path
    form = victor.get("/protocols/f-1/edit").form("/protocols/f-1/edit")
    review = form.submit(button=("do", "review"), name="rFSH 225, day 1")
    assert review.select(pinned) and banner(review) == WHO
    assert not victor.get("/consents/c-1").select(pinned)


def test_a_patient_sees_no_banner(visitor: SignIn, fake_api: FakeApi) -> None:
    fake_api.gives(READ_CONSENT, FORM)
    assert banner(visitor("amelia").get("/consents/c-1")) == ""
