"""Several forms for one patient: what she has of each is said first, they go in one sending, and what fails stays chosen."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from msgspec.structs import replace

from portal.services.consents import CREATE_CONSENT, LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentForm, ConsentKind, ConsentStatus, Signer, SignerRole
from portal.services.episodes import READ_EPISODE
from portal.services.patients import Patient
from portal.services.relationships import Relationship, RelationshipType
from tests.pages.test_patient_banner import AMELIA, EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import Page, SignIn, Visitor

SOURCES = "/consents/new?episode=e-1"
GENETIC, TREATMENT = "genetic-testing", "treatment"
PGT = "Consent to preimplantation genetic testing for aneuploidies (PGT-A)"
STAFF = replace(
    FORM,
    id="c-0",
    patient_id="p-9",
    title="Another’s",
    required_signers=(
        Signer(role=SignerRole.CLINICIAN, person_id="victor", name="Victor", order=1),
        Signer(role=SignerRole.WITNESS, person_id="elif", name="Elif", order=2),
    ),
)
"""A form from which the clinic's signers are known."""


def pgt(status: ConsentStatus) -> ConsentForm:
    return replace(
        FORM,
        title=PGT,
        kind=ConsentKind.GENETIC_TESTING,
        status=status,
        sent_at=datetime(2026, 11, 3, 10, tzinfo=UTC),
        embryo_storage_ids=None,
    )


@pytest.fixture
def nora(visitor: SignIn, fake_api: FakeApi) -> Visitor:
    alone = replace(
        EPISODE, patient=replace(AMELIA, user_id="amelia"), partner=None, relationships=(), embryos=()
    )
    fake_api.gives(READ_EPISODE, alone)
    fake_api.gives(LIST_CONSENTS, [STAFF])
    fake_api.gives(CREATE_CONSENT, replace(FORM, id="c-new"))
    return visitor("nora", "nurse")


def begin(nora: Visitor, *names: str) -> Page:
    fields = [("episode", "e-1"), *(("template", name) for name in names)]
    return nora.request("POST", "/consents/new/bundle", data=[*fields, ("csrf_token", nora.csrf_token())])


def forms_on(page: Page) -> dict[str, str]:
    """What the page says of each form, by its title."""
    return {one.select("h2, strong")[0].text_content(): one.words for one in page.select(".bundle > li")}


def test_forms_to_copy_are_read_again_for_the_same_patient(nora: Visitor, fake_api: FakeApi) -> None:
    fake_api.refuses(LIST_CONSENTS, 500)
    (again,) = nora.get(SOURCES).select("#copies a")
    assert again["href"] == SOURCES.replace("?", "?q=&")


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (ConsentStatus.PENDING, "sent Tue 3 Nov, waits for"),
        (ConsentStatus.SIGNED, "signed"),
        (ConsentStatus.EXPIRED, "Expired"),
    ],
)
def test_the_state_of_each_template_stands_before_the_choice(
    nora: Visitor, fake_api: FakeApi, status: ConsentStatus, said: str
) -> None:
    fake_api.gives(LIST_CONSENTS, [STAFF, pgt(status)])
    page = nora.get(SOURCES)
    told = forms_on(page)
    assert said in told[PGT]
    assert any("never sent" in words for title, words in told.items() if title != PGT)
    assert page.select(".patient-banner")[0].words.split()[:2] == ["Amelia", "Hart"]


def test_a_state_that_cannot_be_read_is_not_said_to_be_none(nora: Visitor, fake_api: FakeApi) -> None:
    fake_api.refuses(LIST_CONSENTS, 500)
    page = nora.get(SOURCES)
    assert "What this patient has of these forms can’t be read right now." in page.words
    assert "never sent" not in page.words


def test_nothing_ticked_is_said(nora: Visitor) -> None:
    page = nora.post("/consents/new/bundle", {"episode": "e-1"}, status=422)
    assert "Tick the forms that you want to send" in page.words


def test_all_go_in_one_sending_and_lead_back_to_the_patient(nora: Visitor, fake_api: FakeApi) -> None:
    page = begin(nora, GENETIC, TREATMENT)
    assert page.heading == "Forms to send" and page.select(".patient-banner")
    told = forms_on(page)
    assert len(told) == 2 and all("Ready" in words and "Amelia Hart" in words for words in told.values())
    done = page.form("/consents/new/bundle/send").submit()
    assert done.heading == "Patient overview" and "2 forms were sent to their signers." in done.text
    sent = fake_api.sent(CREATE_CONSENT)
    assert len({call.body["title"] for call in sent}) == len(sent) == 2
    assert len({call.headers["idempotency-key"] for call in sent}) == 2


def test_which_of_the_forms_is_kept_otherwise_is_told(nora: Visitor, fake_api: FakeApi) -> None:
    def kept(_query: object) -> object:
        sent = fake_api.sent(CREATE_CONSENT)[-1].body
        cut = {"procedureDate": None, "version": "0"} if sent["kind"] == "Treatment" else {}
        return {**sent, "id": sent["kind"], "status": "Pending", **cut}

    fake_api.computes(CREATE_CONSENT, kept)
    fake_api.computes(READ_CONSENT, kept)
    done = begin(nora, TREATMENT, GENETIC).form("/consents/new/bundle/send").submit()
    kept_otherwise, sent = (toast.words for toast in done.select(".toast p"))
    assert (
        "changed or left out: Consent to IVF with intracytoplasmic sperm injection (ICSI): Version."
        in kept_otherwise
    )
    assert sent == "2 forms were sent to their signers."


def test_a_form_that_was_changed_elsewhere_is_shown_before_it_is_sent(
    nora: Visitor, fake_api: FakeApi
) -> None:
    bundle = begin(nora, GENETIC)
    preview = bundle.follow("Read it as its signers will")
    changed = bundle.follow("Change").form("/consents/new/fill").submit(title="Another title")
    told = bundle.form("/consents/new/bundle/send").submit(status=422)
    assert "This was changed after you opened the page" in told.words
    again = preview.form("/consents/new").submit()
    assert again.path == changed.path == "/consents/new/preview" and "Another title" in again.words
    assert not fake_api.sent(CREATE_CONSENT)
    told.form("/consents/new/bundle/send").submit()
    (sent,) = fake_api.sent(CREATE_CONSENT)
    assert sent.body["title"] == "Another title"


def test_a_person_without_a_treatment_gets_several_forms_at_once(nora: Visitor, fake_api: FakeApi) -> None:
    """Who signs comes from a form of theirs, and only from theirs."""
    asked = Signer(role=SignerRole.PATIENT, person_id="sunita", name="Sunita Patel", order=1)
    hers = replace(
        pgt(ConsentStatus.PENDING), id="c-5", patient_id="p-5", patient_name="Sunita Patel", partner_id=None,
        episode_id=None, case_id=None, required_signers=(asked,),
    )  # fmt: skip
    fake_api.gives(LIST_CONSENTS, [STAFF, hers])
    fake_api.refuses(READ_EPISODE, 404)
    patient = nora.get("/patients/p-5")
    sources = nora.get(str(patient.select("a[href^='/consents/new']")[0]["href"]))
    assert "sent Tue 3 Nov, waits for" in forms_on(sources)[PGT]
    fields = [("patient", "p-5"), ("template", TREATMENT), ("template", "storage")]
    page = nora.request("POST", "/consents/new/bundle", data=[*fields, ("csrf_token", nora.csrf_token())])
    assert page.select(".patient-banner")[0].words.split()[:2] == ["Sunita", "Patel"]
    done = page.form("/consents/new/bundle/send").submit()
    assert done.path == "/patients/p-5" and "2 forms were sent to their signers." in done.text
    for call in fake_api.sent(CREATE_CONSENT):
        assert (call.body["patientId"], call.body.get("episodeId")) == ("p-5", None)
        side = [one["personId"] for one in call.body["requiredSigners"] if one["role"] != "Clinician"]
        assert side == ["sunita"]
    other = nora.get("/consents/new?copy=c-0&patient=p-5")
    assert other.select(".patient-banner")[0].words.split()[:2] == ["Sunita", "Patel"]
    assert nora.get("/consents/new?template=treatment&patient=p-404", status=404).heading


def test_a_partner_whom_forms_alone_name_signs_only_if_chosen(nora: Visitor, fake_api: FakeApi) -> None:
    couple = (
        Signer(role=SignerRole.PATIENT, person_id="sunita", name="Sunita Patel", order=1),
        Signer(role=SignerRole.PARTNER, person_id="ravi", name="Ravi Patel", order=2),
    )
    old = replace(
        pgt(ConsentStatus.PENDING), id="c-5", patient_id="p-5", patient_name="Sunita Patel", partner_id="p-6",
        episode_id=None, case_id=None, required_signers=couple,
    )  # fmt: skip
    fake_api.gives(LIST_CONSENTS, [STAFF, old])
    fake_api.gives(READ_CONSENT, old)
    for path, chosen in (
        ("/consents/new?patient=p-5", []),
        ("/consents/new?patient=p-5&partner=p-6", ["p-6"]),
    ):
        sources = nora.get(path)
        (current,) = sources.select("nav.chips [aria-current]")
        assert ("Ravi" in current.text_content()) is bool(chosen), current
        begun = sources.form("/consents/new/bundle").submit(template=TREATMENT)
        begun.form("/consents/new/bundle/send").submit(status=None)
        body = fake_api.sent(CREATE_CONSENT)[-1].body
        assert [body["partnerId"]] == (chosen or [None])
        assert ("Partner" in [one["role"] for one in body["requiredSigners"]]) is bool(chosen)
    copied = nora.get("/consents/new?copy=c-5")
    assert copied.select("option[value='ravi']"), "he can be chosen"
    assert not copied.select("option[selected][value='ravi'], input[value='ravi']")


def test_the_partner_of_a_treatment_signs_also_after_the_couple_has_parted(
    nora: Visitor, fake_api: FakeApi
) -> None:
    """The embryos of both need the consent of both, whatever else has ended."""
    ended = Relationship(
        id="r-1", related_patient_id="p-8", type=RelationshipType.PARTNER, end_date=date(2020, 1, 1)
    )
    fake_api.gives(
        READ_EPISODE, replace(EPISODE, partner=Patient(id="p-8", first_name="Ravi"), relationships=(ended,))
    )
    sources = nora.get(SOURCES)
    assert not sources.select("nav.chips")
    begun = sources.form("/consents/new/bundle").submit(template=TREATMENT)
    begun.form("/consents/new/bundle/send").submit(status=None)
    body = fake_api.sent(CREATE_CONSENT)[-1].body
    assert body["partnerId"] == "p-8" and "Partner" in [one["role"] for one in body["requiredSigners"]]


def test_a_form_of_another_patient_is_not_said_to_be_hers(nora: Visitor, fake_api: FakeApi) -> None:
    fake_api.gives(LIST_CONSENTS, [STAFF, replace(pgt(ConsentStatus.SIGNED), id="c-9", patient_id="p-9")])
    assert "never sent" in forms_on(nora.get(SOURCES))[PGT]


@pytest.mark.parametrize(
    ("asked", "status", "words", "is_passing"),
    [
        ("episode=e-1", 404, "There is no treatment with this id at your clinic", False),
        ("episode=e-1", 501, "This treatment is kept in another system", False),
        ("episode=e-1", 503, "The treatment or patient can’t be read right now.", True),
        ("episode=a%20b", 503, "Paste the treatment’s id, or the address of its page", False),
        ("patient=p-7", 503, "No form of this patient is known", False),
    ],
)
def test_why_it_is_not_known_whose_forms_they_will_be_is_said(
    nora: Visitor, fake_api: FakeApi, asked: str, status: int, words: str, is_passing: bool
) -> None:
    fake_api.refuses(READ_EPISODE, status)
    section = nora.get(f"/consents/new?{asked}").select("#templates")[0].words
    assert words in section
    assert ("Try again" in section) is is_passing


def test_only_forms_that_need_embryos_are_not_ready_without(nora: Visitor, fake_api: FakeApi) -> None:
    fake_api.gives(READ_EPISODE, replace(EPISODE, patient=replace(AMELIA, user_id="amelia"), partner=None))
    assert EPISODE.embryos, "a treatment with embryos"
    for name, is_ready in (("storage", True), ("storage-renewal", False), ("disposition", False)):
        assert ("It names no embryo" in begin(nora, name).words) is not is_ready, name


def test_a_treatment_may_be_named_by_its_link(nora: Visitor) -> None:
    page = nora.get("/consents/new?episode=http://riverside.localhost/episodes/e-1")
    page = page.form("/consents/new/bundle").submit(template=GENETIC)
    assert page.heading == "Forms to send"


def test_each_is_sent_once_however_often_the_button_is_pressed(nora: Visitor, fake_api: FakeApi) -> None:
    form = begin(nora, GENETIC).form("/consents/new/bundle/send")
    form.submit()
    assert form.submit().heading == "Patient overview"
    assert len(fake_api.sent(CREATE_CONSENT)) == 1


def test_what_cannot_be_sent_stays_with_its_reason_and_the_rest_goes(
    nora: Visitor, fake_api: FakeApi
) -> None:
    page = begin(nora, GENETIC, TREATMENT)
    fake_api.gives(LIST_CONSENTS, [STAFF, pgt(ConsentStatus.PENDING)])
    after = page.form("/consents/new/bundle/send").submit()
    told = forms_on(after)
    assert "Not ready" in told[PGT] and "A form like this is there already." in told[PGT]
    assert [title for title, words in told.items() if "Sent" in words.split()] == [
        title for title in told if title != PGT
    ]
    assert len(fake_api.sent(CREATE_CONSENT)) == 1


def test_a_failure_tells_which_and_keeps_it_chosen(nora: Visitor, fake_api: FakeApi) -> None:
    page = begin(nora, GENETIC)
    fake_api.refuses(CREATE_CONSENT, 400)
    failed = page.form("/consents/new/bundle/send").submit(status=422)
    assert "It wasn’t sent; you can try again." in failed.words and "Ready" in forms_on(failed)[PGT]
    fake_api.gives(CREATE_CONSENT, replace(FORM, id="c-new"))
    assert failed.form("/consents/new/bundle/send").submit().heading == "Patient overview"
