"""Staff see a patient's pages as the patient does: clearly marked, with nothing that acts, and nothing that isn't told to her."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentForm, Signer, SignerRole
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.endpoints import ALL
from portal.services.episodes import READ_EPISODE
from portal.services.notifications import LIST_NOTIFICATIONS, Notification
from portal.services.pgt_results import READ_PGT_RESULT, PgtBrief, PgtStatus
from portal.services.protocols import LIST_PROTOCOLS, Medication
from portal.web import as_patient
from tests.pages.test_patient_banner import AMELIA, DANIEL, EMBRYO, EPISODE, FORM, PLAN, RESULT, TALK
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import Page, SignIn, Visitor

SEEN = "/patients/p-1/as-seen"
RECORD = replace(AMELIA, user_id="amelia")
TREATMENT = replace(
    EPISODE,
    patient=RECORD,
    partner=replace(DANIEL, email="daniel@example.org"),
    case=replace(EPISODE.case, notes="Staff’s own note", diagnosis="A diagnosis"),
    embryos=(replace(EMBRYO, notes="A laboratory note"),),
    pgt_results=(PgtBrief(id="g-9", embryo_code="AH-9", status=PgtStatus.REPORTED),),
)
PATHS = (
    "",
    "/consents",
    "/consents/c-1",
    "/episodes",
    "/episodes/e-1",
    "/episodes/e-1/embryos",
    "/episodes/e-1/consents",
    "/conversations",
    "/conversations/m-1",
    "/storage",
)


@pytest.fixture
def nora(visitor: SignIn, fake_api: FakeApi) -> Visitor:
    fake_api.gives(READ_EPISODE, TREATMENT)
    fake_api.gives(READ_CONSENT, FORM)
    fake_api.gives(LIST_CONSENTS, [FORM])
    fake_api.gives(LIST_CONVERSATIONS, [TALK])
    fake_api.gives(LIST_NOTIFICATIONS, [Notification(id="n-1", title="Staff’s own news")])
    fake_api.gives(READ_PGT_RESULT, RESULT)
    return visitor("nora", "nurse")


def is_marked(page: Page) -> bool:
    return "You see what Amelia Hart sees." in page.select(".as-seen")[0].words


def test_one_click_from_the_patients_page_and_one_back(nora: Visitor) -> None:
    page = nora.get("/patients/p-1?episode=e-1")
    link = next(one for one in page.select("main a") if "As the patient sees it" in one.text_content())
    home = nora.get(str(link["href"]))
    assert home.heading == "Hello, Mel" and is_marked(home)
    back = nora.get(str(home.select(".as-seen a")[0]["href"]))
    assert back.heading == "Patient overview" and not back.select(".as-seen")


@pytest.mark.parametrize("path", PATHS)
def test_nothing_on_a_page_can_act_and_links_stay(nora: Visitor, path: str) -> None:
    page = nora.get(SEEN + path)
    assert is_marked(page) and page.select("body")[0]["data-side"] == "patient"
    for form in page.select("form"):
        assert "inert" in form.attrib and not {"action", "method"} & {*form.attrib}, form
    for one in page.select("input, select, textarea, button:not([type=button])"):
        assert "disabled" in one.attrib, one
    assert "csrf_token" not in page.text and " hx-get" not in page.text and " hx-post" not in page.text
    assert "form-action 'none'" in page.headers["Content-Security-Policy"]
    for link in page.select("a[href]"):
        href = str(link["href"])
        if "data-leave" in link.attrib:
            assert href.startswith("/patients/p-1")
        else:
            assert href.startswith(("#", SEEN)), link


def test_each_link_leads_to_a_page_that_is_marked_too(nora: Visitor) -> None:
    for path in PATHS:
        for link in nora.get(SEEN + path).select(f'a[href^="{SEEN}"]'):
            assert is_marked(nora.get(str(link["href"]).partition("#")[0]))


def test_nothing_is_told_that_the_patient_is_not(nora: Visitor, fake_api: FakeApi) -> None:
    fake_api.gives(LIST_CONSENTS, [FORM, replace(FORM, id="c-9", title="Another’s", patient_id="p-9")])
    fake_api.gives(
        LIST_CONVERSATIONS,
        [TALK, replace(TALK, id="m-9", subject="Another’s", patient_id="p-9", participants=())],
    )
    for path in PATHS:
        text = nora.get(SEEN + path).text
        for word in ("own note", "A diagnosis", "laboratory note", "AH-9", "daniel@", "own news", "Another"):
            assert word not in text, f"{word} on {path}"
    fake_api.gives(READ_CONSENT, replace(FORM, id="c-9", patient_id="p-9", required_signers=()))
    nora.get(f"{SEEN}/consents/c-9", status=404)
    fake_api.gives(READ_PGT_RESULT, replace(RESULT, status=PgtStatus.REPORTED))
    nora.get(f"{SEEN}/pgt-results/g-1", status=404)
    fake_api.gives(
        READ_EPISODE, replace(TREATMENT, id="e-9", patient=replace(AMELIA, id="p-9"), partner=None)
    )
    nora.get(f"{SEEN}/episodes/e-9", status=404)


def test_a_treatment_that_only_a_form_names_is_seen_too(nora: Visitor, fake_api: FakeApi) -> None:
    """What this session has read of her may not be all that she has."""
    nora.get("/patients/p-1?episode=e-1")
    fake_api.gives(LIST_CONSENTS, [FORM, replace(FORM, id="c-2", episode_id="e-2")])
    fake_api.gives(READ_EPISODE, TREATMENT, id_="e-1")
    fake_api.gives(READ_EPISODE, replace(TREATMENT, id="e-2", number="IVF-2"), id_="e-2")
    shown = {link["href"] for link in nora.get(f"{SEEN}/episodes").select("main a[href*='/episodes/']")}
    assert {f"{SEEN}/episodes/e-1", f"{SEEN}/episodes/e-2"} <= shown


def test_the_plans_of_her_treatment_are_seen_among_those_of_a_large_clinic(
    nora: Visitor, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 12:00")
    row = Medication(drug="Doxycycline", dose=100, unit="mg", start_day=1, times=("18:00",))
    his = replace(PLAN, id="p-2", patient_id="p-2", start_date=date(2026, 11, 20), medications=(row,))
    others = [replace(his, id=f"o-{n}", episode_id="z", patient_id="z") for n in range(50)]

    def listed(query: Mapping[str, str]) -> object:
        found = [his] if query.get("EpisodeId") == "e-1" else [] if query.get("Filter") else others
        return {"totalCount": len(found), "items": to_builtins(found)}

    fake_api.computes(LIST_PROTOCOLS, listed)
    words = nora.get(SEEN).words
    assert "Doxycycline" in words and "can’t be shown right now" not in words


def test_a_former_partner_sees_no_treatment(nora: Visitor) -> None:
    page = nora.get("/patients/p-2?episode=e-1")
    assert page.heading == "Patient overview"
    nora.get("/patients/p-2/as-seen/episodes/e-1", status=404)


@pytest.mark.parametrize(
    "path",
    [
        "/notifications",
        "/me",
        "/files/f-1",
        "/consents/c-1/sign",
        "/protocols",
        "/sign-in",
        "/healthz",
        "/find",
    ],
)
def test_other_pages_are_not_seen_so(nora: Visitor, path: str) -> None:
    nora.get(SEEN + path, status=404)


def test_no_act_goes_through(nora: Visitor, fake_api: FakeApi) -> None:
    for path in (
        "/consents/c-1/revoke",
        "/conversations/m-1/read",
        "/conversations/m-1/archive",
        "/sign-out",
        "",
    ):
        nora.post(SEEN + path, {}, status=405)
    assert not any(fake_api.sent(row) for row in ALL if not row.is_safe)
    assert nora.get("/me").status == 200, "still signed in"


def test_staff_alone_may(visitor: SignIn, nora: Visitor) -> None:
    visitor("amelia").get(SEEN, status=403)
    visitor("daniel").get("/patients/p-1/as-seen/consents", status=403)


def test_nobody_known_is_not_found(nora: Visitor, fake_api: FakeApi) -> None:
    fake_api.gives(LIST_CONSENTS, [])
    nora.get("/patients/p-404/as-seen", status=404)


def storage(id_: str, role: SignerRole, signer: str, name: str) -> ConsentForm:
    """A form about Amelia outside any treatment."""
    signers = (Signer(role=role, person_id=signer, name=name, order=1),)
    return replace(FORM, id=id_, title=f"Storage {id_}", episode_id=None, required_signers=signers)


def test_a_partners_signature_is_not_the_patients_turn(nora: Visitor, fake_api: FakeApi) -> None:
    sperm = storage("sperm", SignerRole.GAMETE_PROVIDER, "daniel", "Daniel Hart")
    fake_api.gives(
        LIST_CONSENTS, [sperm, storage("eggs", SignerRole.GAMETE_PROVIDER, "amelia", "amelia hart")]
    )
    mine, _, others = nora.get(f"{SEEN}/consents").words.partition("Waiting for others")
    assert "Storage eggs" in mine and "Storage sperm" not in mine and "Storage sperm" in others
    fake_api.gives(LIST_CONSENTS, [sperm])
    nora.get(SEEN, status=404)


@pytest.mark.parametrize("of", ["p-1", "p-2", ""], ids=["the patient's", "his", "all read"])
def test_a_partner_is_told_that_not_all_forms_could_be_read_his_or_hers(
    nora: Visitor, fake_api: FakeApi, of: str
) -> None:
    def listed(query: Mapping[str, str]) -> object:
        found = [replace(FORM, patient_id=id_) for id_ in ("p-1", "p-2") if query.get("PatientId") == id_]
        return {"totalCount": 2000 if query.get("PatientId") == of else 1, "items": to_builtins(found)}

    fake_api.computes(LIST_CONSENTS, listed)
    words = nora.get("/patients/p-2/as-seen/consents").words
    assert ("There may be more forms than could be read here" in words) is bool(of)


def test_it_is_audited_as_read_by_the_member_of_staff(nora: Visitor, in_process: InProcess) -> None:
    nora.get(f"{SEEN}/consents/c-1")
    lines = {line["audit"]: line for line in in_process.audited()}
    pseudonym = in_process.app.extensions["portal"].audit.pseudonym
    assert lines["patient.as-seen"]["outcome"] == "done"
    assert {lines[name]["actor"] for name in ("patient.as-seen", "consent.read")} == {pseudonym("nora")}


def test_nothing_is_kept_of_it_for_either(nora: Visitor) -> None:
    before = nora.get("/me").select(".menu-name")[0].text_content()
    opened = nora.get("/find").words
    nora.get(SEEN)
    assert nora.get("/me").select(".menu-name")[0].text_content() == before != "Mel"
    assert nora.get("/find").words == opened


def test_every_page_shown_so_exists(in_process: InProcess) -> None:
    assert in_process.app.view_functions.keys() >= as_patient.SHOWN
