"""Until when a form can be signed: the day is told where it comes before the procedure, and afterwards nobody is asked."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC, date, datetime

import pytest
from msgspec.structs import replace
from pypdf import PdfReader

from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentKind, ConsentStatus, Signature, Signer, SignerRole
from portal.services.episodes import READ_EPISODE, ConsentBrief
from portal.services.relationships import Relationship, RelationshipType
from tests.pages.test_patient_banner import EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn

LATER = replace(FORM, id="c-2", title="Later", procedure_date=date(2026, 11, 30))
SOON = replace(
    FORM, procedure_date=date(2026, 12, 15), expires_at=datetime(2026, 11, 27, 7, 59, 59, tzinfo=UTC)
)


@pytest.mark.parametrize(("day", "tone"), [("25 12:00", "attention"), ("20 12:00", "neutral")])
def test_the_last_day_to_sign_is_told_before_a_later_procedure(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], day: str, tone: str
) -> None:
    fake_api.gives(LIST_CONSENTS, [LATER, SOON])
    amelia, nora = visitor("amelia"), visitor("nora", "nurse")
    at(day)
    first = amelia.get("/consents").select("main .task")[0]
    assert first.select(".tag")[0].words == "Sign by Thu 26 Nov"
    assert first.select(".tag")[0]["data-tone"] == tone
    assert "Sign by Thu 26 Nov" in nora.get("/consents?list=open").words


def test_nobody_is_asked_to_sign_a_form_whose_time_has_passed(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    """An API may set its status later, or never."""
    fake_api.gives(LIST_CONSENTS, [SOON])
    fake_api.gives(READ_CONSENT, SOON)
    amelia, nora = visitor("amelia"), visitor("nora", "nurse")
    at("27 12:00")
    assert "Could be signed until" in amelia.get("/consents").words
    page = amelia.get("/consents/c-1")
    assert "You can sign until" not in page.words and not page.select("a[href*='/sign']")
    (row,) = nora.get("/consents?list=open").select("tbody tr")
    assert "Expired" in row.words and not row.select("a[href*='/sign']")


@pytest.mark.parametrize(
    ("expires_at", "words"),
    [
        (datetime(2026, 12, 1, 8, 0, tzinfo=UTC), "Sign by Mon 30 Nov"),
        (datetime(2026, 12, 1, 7, 59, tzinfo=UTC), "Sign by Mon 30 Nov"),
        (datetime(2026, 11, 30, 17, 0, tzinfo=UTC), "Sign by Mon 30 Nov, 09:00"),
    ],
    ids=["midnight", "end of the day", "in the morning"],
)
def test_the_end_of_a_form_is_told_without_a_procedure(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], expires_at: datetime, words: str
) -> None:
    fake_api.gives(LIST_CONSENTS, [replace(FORM, expires_at=expires_at)])
    at("28 12:00")
    amelia, nora = visitor("amelia"), visitor("nora", "nurse")
    assert amelia.get("/consents").select("main .task .tag")[0].words == words
    assert nora.get("/consents?list=open").select("[data-label=Due]")[0].words == words


@pytest.mark.parametrize(("day", "words"), [(18, "In force from"), (1, "In force since")])
def test_a_form_isnt_in_force_before_its_day(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], day: int, words: str
) -> None:
    at("10 12:00")
    form = replace(FORM, status=ConsentStatus.SIGNED, effective_at=datetime(2026, 11, day, 20, tzinfo=UTC))
    fake_api.gives(LIST_CONSENTS, [form])
    fake_api.gives(READ_CONSENT, form)
    amelia = visitor("amelia")
    for path in ("/consents", "/consents/c-1"):
        assert words in amelia.get(path).words


@pytest.mark.parametrize(
    ("status", "day", "words"),
    [
        (ConsentStatus.PENDING, 5, ""),
        (ConsentStatus.EXPIRED, 5, ""),
        (ConsentStatus.REVOKED, 5, "Came into force"),
        (ConsentStatus.REVOKED, 8, ""),
        (ConsentStatus.SUPERSEDED, 5, "Came into force"),
        (ConsentStatus.SUPERSEDED, 18, ""),
    ],
)
def test_a_form_that_isnt_in_force_is_never_said_to_be(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], status: ConsentStatus, day: int, words: str
) -> None:
    """Some systems give each form its day when it is sent."""
    at("10 12:00")
    signed = Signature(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart")
    revoked_at = datetime(2026, 11, 7, 20, tzinfo=UTC) if status is ConsentStatus.REVOKED else None
    effective_at = datetime(2026, 11, day, 20, tzinfo=UTC)
    form = replace(
        FORM, status=status, effective_at=effective_at, revoked_at=revoked_at, signatures=(signed,)
    )
    fake_api.gives(READ_CONSENT, form)
    amelia = visitor("amelia")
    for path in ("/consents/c-1", "/consents/c-1/receipt"):
        labels = [term.words for term in amelia.get(path).select("dt")]
        assert [label for label in labels if "force" in label] == ([words] if words else []), path


def test_a_printed_form_says_that_it_isnt_in_force_yet(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("10 12:00")
    signed = Signature(role=SignerRole.PATIENT, person_id="amelia", name="Amelia Hart")
    form = replace(FORM, status=ConsentStatus.SIGNED, signatures=(signed,))
    fake_api.gives(READ_CONSENT, replace(form, effective_at=datetime(2026, 11, 18, 20, tzinfo=UTC)))
    amelia = visitor("amelia")
    answer = amelia.http.get(f"{amelia.origin}/consents/c-1/receipt.pdf")
    words = " ".join(page.extract_text() for page in PdfReader(io.BytesIO(answer.content)).pages)
    told = " ".join(words.split())
    assert told.count("In force from Wed 18 Nov") == told.count("Page "), "the stamp"
    assert "(UTC-08:00) In force from" in told


def test_a_signed_form_says_whose_it_is_to_those_who_didnt_sign_it(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    """A couple has two forms of one title: the one that the partner signed isn't the patient's own."""
    own = replace(FORM, status=ConsentStatus.SIGNED, effective_at=datetime(2026, 11, 1, tzinfo=UTC))
    his = replace(
        own,
        id="c-2",
        required_signers=(Signer(role=SignerRole.GAMETE_PROVIDER, person_id="daniel", name="Daniel Hart"),),
    )
    fake_api.gives(LIST_CONSENTS, [own, his])
    fake_api.gives(READ_CONSENT, his)
    amelia = visitor("amelia")
    rows = {row["href"]: row.words for row in amelia.get("/consents").select("main .link-row")}
    assert "Signed by Daniel Hart · In force since" in rows["/consents/c-2"]
    assert "Signed by" not in rows["/consents/c-1"]
    assert "Only those who sign it for themselves can withdraw it." in amelia.get("/consents/c-2").words


@pytest.mark.parametrize("status", [ConsentStatus.PENDING, *list(ConsentStatus)[3:]])
def test_staff_read_in_lists_whose_each_of_two_forms_is(
    visitor: SignIn, fake_api: FakeApi, status: ConsentStatus
) -> None:
    own = replace(FORM, status=status, effective_at=None, kind=ConsentKind.STORAGE)
    signer = Signer(role=SignerRole.GAMETE_PROVIDER, person_id="daniel", name="Daniel Hart")
    his = replace(own, id="c-2", required_signers=(signer,))
    briefs = tuple(ConsentBrief(id=form.id, title=form.title, status=status) for form in (own, his))
    shared = Relationship(
        id="r-1",
        patient_id="p-1",
        related_patient_id="p-2",
        type=RelationshipType.PARTNER,
        end_date=date(2026, 11, 1),
    )
    fake_api.gives(LIST_CONSENTS, [own, his])
    fake_api.gives(READ_EPISODE, replace(EPISODE, consent_forms=briefs, relationships=(shared,)))
    nora = visitor("nora", "nurse")
    where = ["/consents?list=all #form-c-2", "/episodes/e-1/consents .link-row[href='/consents/c-2']"]
    if status == ConsentStatus.SIGNED:
        where.append("/episodes/e-1 main li a[href='/consents/c-2']")
    if status == ConsentStatus.REVOKED:
        where.append("/ #withdrawn li:last-child")
    for address, _, row in (place.partition(" ") for place in where):
        (found,) = nora.get(address).select(row)
        assert "Daniel Hart" in found.words, address


@pytest.mark.parametrize("field", ["procedure_date", "expires_on"])
@pytest.mark.parametrize("day", ["2026-11-24", "2026-11-25"])
def test_a_new_form_is_for_today_by_the_clinics_clock_or_later(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], field: str, day: str
) -> None:
    fake_api.gives(READ_EPISODE, EPISODE)
    nora = visitor("nora", "nurse")
    at("25 23:30")
    page = nora.get("/consents/new?template=treatment&episode=e-1").form("/consents/new/fill")
    is_over = day == "2026-11-24"
    page = page.submit(**{"signer-2": "nora", field: day}, status=422 if is_over else 200)
    assert [fault["href"] for fault in page.select(".error-summary a")] == ([f"#{field}"] if is_over else [])
    assert [box["value"] for box in page.select(f"input[name={field}]")] == ([day] if is_over else [])
