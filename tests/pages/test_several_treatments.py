"""A patient with several treatments: each that is under way stands on home, at every look, with what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from portal.services.cases import CareStatus
from portal.services.consents import LIST_CONSENTS, READ_CONSENT
from portal.services.consents.forms import ConsentKind, ConsentStatus, Signature, Signer
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.episodes import READ_EPISODE, CareTeamMember, ConsentBrief
from portal.services.notifications import LIST_NOTIFICATIONS
from portal.services.protocols import LIST_PROTOCOLS, ProtocolStatus
from portal.services.storage import EmbryoStatus, EmbryoStorage
from portal.views import notification_words
from tests.pages.test_tonight import PLAN, episode, shows
from tests.support.builders import AMELIA, DANIEL, consent
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn

OTHERS = [replace(PLAN, id=f"o-{number}", episode_id="z") for number in range(30)]
FROZEN = (EmbryoStorage(id="s-1", embryo_code="AH-1", status=EmbryoStatus.STORED),)


def signed(signer: Signer, *, day: int) -> Signature:
    return Signature(
        role=signer.role, person_id=signer.person_id, signed_at=datetime(2026, 11, day, tzinfo=UTC)
    )


def has(fake_api: FakeApi, **treatments: CareStatus) -> None:
    """She has these treatments, each with embryos and its own medicine but the last, which conversations name."""
    fake_api.gives(LIST_CONSENTS, [])
    fake_api.gives(LIST_NOTIFICATIONS, [])
    fake_api.gives(LIST_CONVERSATIONS, [{"id": f"t-{key}", "episodeId": key} for key in treatments])
    for number, (key, status) in enumerate(treatments.items()):
        rows = tuple(replace(row, drug=f"Medicine-{key}") for row in PLAN.medications)
        one = replace(
            episode(replace(PLAN, id=f"p-{key}", episode_id=key, medications=rows)),
            id=key,
            status=status,
            start_date=date(2026, 11, 1) - timedelta(days=number),
            embryos=() if number == len(treatments) - 1 else FROZEN,
        )
        fake_api.gives(READ_EPISODE, one, id_=key)


@pytest.mark.parametrize("look", [1, 2, 3])
def test_each_treatment_under_way_is_told_at_every_look(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], look: int
) -> None:
    at("25 12:00")
    has(fake_api, a=CareStatus.ACTIVE, b=CareStatus.ON_HOLD, c=CareStatus.PLANNED, d=CareStatus.ACTIVE)
    amelia = visitor("amelia")
    for _ in range(look):
        home = amelia.get("/")
    assert {key for key in "abcd" if f"Medicine-{key}" in home.words} == set("abcd")


@pytest.mark.parametrize(("is_under_way", "told"), [(True, {"a", "c", "d"}), (False, {"b"})])
def test_the_care_team_is_that_of_all_treatments_under_way_or_of_the_last_one(
    visitor: SignIn, fake_api: FakeApi, is_under_way: bool, told: set[str]
) -> None:
    status = CareStatus.ACTIVE if is_under_way else CareStatus.CANCELLED
    treatments = {"b": CareStatus.FINISHED, "a": status, "c": status, "d": status}
    has(fake_api, **treatments)
    for number, key in enumerate(treatments):
        one = replace(
            episode(PLAN),
            id=key,
            status=treatments[key],
            start_date=date(2026, 11, 1) - timedelta(days=number),
            care_team=(CareTeamMember(name=f"Physician-{key}", role="Physician"),),
        )
        fake_api.gives(READ_EPISODE, one, id_=key)
    page = visitor("amelia").get("/care-team")
    assert {key for key in treatments if f"Physician-{key}" in page.words} == told


OLD_NEWS = {"id": "n-1", "isRead": True, "entityType": "Episode", "entityId": "b"}
OLD_TALK = {"id": "t-b", "episodeId": "b", "isArchived": True, "unreadCount": 1, "subject": "Put away"}


def mentions_old(fake_api: FakeApi, *, news: bool, talks: bool) -> None:
    """Of her treatments, an ended one is mentioned by nothing that home shows: a notification once read, an archived conversation."""
    has(fake_api, a=CareStatus.ACTIVE, b=CareStatus.FINISHED, c=CareStatus.FINISHED)

    def listed(query: Mapping[str, str]) -> object:
        told = [{"id": "t-a", "episodeId": "a"}]
        told += [OLD_TALK] if talks and query.get("IncludeArchived") == "true" else []
        return {"totalCount": len(told), "items": told}

    def notified(query: Mapping[str, str]) -> object:
        told = [OLD_NEWS] if news and query.get("IsRead") != "false" else []
        return {"totalCount": len(told), "unreadCount": 0, "items": told}

    for row, answer in ((LIST_CONVERSATIONS, listed), (LIST_NOTIFICATIONS, notified)):
        fake_api._replies.pop((row, None))
        fake_api.computes(row, answer)


@pytest.mark.parametrize(("news", "talks"), [(True, False), (False, True)])
@pytest.mark.parametrize("first", ["/", "treatment", "/episodes"])
def test_embryos_that_only_old_records_mention_are_listed_whatever_page_came_first(
    visitor: SignIn, fake_api: FakeApi, first: str, news: bool, talks: bool
) -> None:
    mentions_old(fake_api, news=news, talks=talks)
    fake_api.gives(READ_EPISODE, replace(episode(PLAN), id="a", embryos=()), id_="a")
    amelia = visitor("amelia")
    amelia.get(first) if first.startswith("/") else amelia.fragment("/", first)
    assert "AH-1" in amelia.get("/storage").words


def test_old_records_are_searched_for_treatments_once(visitor: SignIn, fake_api: FakeApi) -> None:
    mentions_old(fake_api, news=True, talks=True)
    amelia = visitor("amelia")
    assert "Put away" not in amelia.get("/").words
    fake_api.calls.clear()
    for page in ("/", "/storage", "/episodes"):
        amelia.get(page)
    assert [call.query["IncludeArchived"] for call in fake_api.sent(LIST_CONVERSATIONS)] == ["false"]


def test_treatments_are_searched_at_every_look_where_there_are_more_than_are_remembered(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    has(fake_api, **dict.fromkeys("abcdefghijklm", CareStatus.FINISHED))
    amelia = visitor("amelia")
    amelia.get("/")
    fake_api.calls.clear()
    amelia.get("/")
    assert [call.query["IncludeArchived"] for call in fake_api.sent(LIST_CONVERSATIONS)] == ["true"]


@pytest.mark.parametrize("first", ["/", "/storage"])
def test_where_not_all_could_be_searched_a_page_says_so_and_searches_again(
    visitor: SignIn, fake_api: FakeApi, first: str
) -> None:
    mentions_old(fake_api, news=True, talks=False)
    fake_api.gives(READ_EPISODE, replace(episode(PLAN), id="a", embryos=()), id_="a")
    answer = fake_api._computed.pop(LIST_NOTIFICATIONS)
    fake_api.refuses(LIST_NOTIFICATIONS, 500)
    amelia = visitor("amelia")
    amelia.get(first)
    page = amelia.get("/storage")
    assert "Some of this can’t be shown right now" in page.words and "no stored embryo" not in page.words
    fake_api.computes(LIST_NOTIFICATIONS, answer)
    assert "AH-1" in amelia.get("/storage").words


@pytest.mark.parametrize("is_one_down", [False, True])
def test_what_is_under_way_stands_on_home_although_another_page_came_first(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], is_one_down: bool
) -> None:
    at("25 12:00")
    treatments = {
        "a": CareStatus.FINISHED,
        "b": CareStatus.FINISHED,
        "c": CareStatus.ACTIVE,
        "d": CareStatus.ACTIVE,
    }
    has(fake_api, **treatments)
    if is_one_down:
        fake_api.refuses(READ_EPISODE, 500, id_="d")
    amelia = visitor("amelia")
    amelia.get("/storage")
    has(fake_api, **treatments)
    home = amelia.get("/").words
    assert "Medicine-c" in home and "Medicine-d" in home


def test_treatments_that_ended_are_not_read_at_every_look(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 12:00")
    ended = dict.fromkeys("bcdef", CareStatus.FINISHED)
    has(fake_api, a=CareStatus.ACTIVE, **ended)
    amelia = visitor("amelia")
    amelia.get("/")
    asked = len(fake_api.sent(READ_EPISODE))
    amelia.get("/")
    assert len(fake_api.sent(READ_EPISODE)) - asked == 2


@pytest.mark.parametrize("is_signed", [False, True])
def test_a_form_that_the_clinic_cancelled_was_withdrawn_by_nobody(
    visitor: SignIn, fake_api: FakeApi, is_signed: bool
) -> None:
    """Nobody of the patient's side had signed it; its brief in the treatment says only that it was revoked."""
    brief = ConsentBrief(
        id="form", title="Egg retrieval", kind=ConsentKind.STORAGE, status=ConsentStatus.REVOKED
    )
    shows(fake_api, episode(None, consent_forms=(brief,)))
    form = consent(*[AMELIA] * is_signed, status=ConsentStatus.REVOKED, revoked_by_id="nora")
    fake_api.gives(READ_CONSENT, form)
    for page in ("/", "/episodes/e-1"):
        assert ("Consent withdrawn or declined" in visitor("amelia").get(page).words) == is_signed


@pytest.mark.parametrize(("who", "role"), [("amelia", "patient"), ("nora", "nurse")])
@pytest.mark.parametrize("is_signed", [False, True])
def test_a_consent_to_a_single_step_is_told_to_staff_once_it_was_withdrawn_not_declined(
    visitor: SignIn, fake_api: FakeApi, who: str, role: str, is_signed: bool
) -> None:
    form = consent(
        *[AMELIA] * is_signed,
        title="PGT-A",
        kind=ConsentKind.GENETIC_TESTING,
        status=ConsentStatus.REVOKED,
        revoked_by_id="amelia",
    )
    brief = ConsentBrief(id=form.id, title=form.title, kind=form.kind, status=form.status)
    shows(fake_api, episode(None, consent_forms=(brief,)))
    fake_api.gives(READ_CONSENT, form)
    words = visitor(who, role).get("/episodes/e-1").words
    assert ("Consent withdrawn or declined PGT-A" in words) is (is_signed and who == "nora")


@pytest.mark.parametrize(
    ("anew", "is_told"),
    [
        ({}, False),
        ({"required_signers": (DANIEL,), "signatures": (signed(DANIEL, day=12),)}, True),
        ({"signatures": (signed(AMELIA, day=8),)}, True),
        ({"status": ConsentStatus.PENDING, "signatures": ()}, True),
        ({"title": "Storage of eggs"}, True),
        ({"kind": ConsentKind.LEGAL_PARENTHOOD, "title": "Parenthood"}, True),
    ],
    ids=[
        "signed anew",
        "the partner's",
        "signed before",
        "not signed yet",
        "of other things",
        "of another kind",
    ],
)
def test_a_form_of_one_person_is_told_as_withdrawn_until_they_have_signed_anew(
    visitor: SignIn, fake_api: FakeApi, anew: dict[str, Any], is_told: bool
) -> None:
    old = consent(
        AMELIA,
        title="Storage",
        kind=ConsentKind.STORAGE,
        status=ConsentStatus.REVOKED,
        revoked_by_id="amelia",
    )
    old = replace(old, revoked_at=datetime(2026, 11, 10, tzinfo=UTC))
    new = replace(old, id="new", status=ConsentStatus.SIGNED, revoked_at=None, revoked_by_id=None)
    new = replace(new, **{"signatures": (signed(AMELIA, day=12),), **anew})
    briefs = [
        ConsentBrief(id=form.id, title=form.title, kind=form.kind, status=form.status) for form in (old, new)
    ]
    shows(fake_api, episode(None, consent_forms=tuple(briefs)))
    fake_api.gives(READ_CONSENT, old, id_="form")
    fake_api.gives(READ_CONSENT, new, id_="new")
    words = visitor("amelia").get("/episodes/e-1").words
    assert (f"Consent withdrawn or declined Storage · For {AMELIA.name}" in words) is is_told


@pytest.mark.parametrize("others", [{}, {"b": CareStatus.ACTIVE}])
def test_home_says_of_which_treatment_a_form_was_withdrawn(
    visitor: SignIn, fake_api: FakeApi, others: dict[str, CareStatus]
) -> None:
    has(fake_api, a=CareStatus.ACTIVE, **others)
    form = ConsentBrief(id="form", title="IVF", kind=ConsentKind.TREATMENT, status=ConsentStatus.REVOKED)
    fake_api.gives(
        READ_EPISODE, replace(episode(PLAN, type="FetNatural", consent_forms=(form,)), id="a"), id_="a"
    )
    titled = "Consent withdrawn or declined · Frozen embryo transfer IVF"
    assert (titled in visitor("amelia").get("/").words) is bool(others)


def test_a_form_that_cannot_be_read_counts_as_withdrawn(visitor: SignIn, fake_api: FakeApi) -> None:
    brief = ConsentBrief(id="form", kind=ConsentKind.STORAGE, status=ConsentStatus.REVOKED)
    shows(fake_api, episode(consent_forms=(brief,)))
    fake_api.refuses(READ_CONSENT, 503)
    assert "Consent withdrawn or declined" in visitor("amelia").get("/").words


@pytest.mark.parametrize("status", [ProtocolStatus.COMPLETED, ProtocolStatus.ACTIVE])
def test_a_change_is_told_although_she_looked_at_other_plans_meanwhile(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], status: ProtocolStatus
) -> None:
    """Plans of earlier treatments, some of which were never closed."""
    at("25 12:00")
    others = range(40 if status == ProtocolStatus.COMPLETED else 8)
    for key in others:
        old = replace(PLAN, id=f"old-{key}", episode_id=f"e-{key}", status=status)
        fake_api.gives(READ_EPISODE, replace(episode(old), id=f"e-{key}"), id_=f"e-{key}")
    fake_api.gives(READ_EPISODE, episode(replace(PLAN, id="now", episode_id="now")), id_="now")
    amelia = visitor("amelia")
    for key in ("now", *(f"e-{key}" for key in others)):
        amelia.get(f"/episodes/{key}/medication")
    rows = tuple(replace(row, dose=300) for row in PLAN.medications)
    fake_api.gives(READ_EPISODE, episode(replace(PLAN, id="now", medications=rows)), id_="now")
    assert "The plan has changed" in amelia.get("/episodes/now/medication").words


@pytest.mark.parametrize(("other", "is_said"), [(404, True), (500, False)])
@pytest.mark.parametrize("page", ["/", "/episodes"])
def test_nobody_is_told_that_no_treatment_is_left_while_one_cannot_be_read(
    visitor: SignIn, fake_api: FakeApi, page: str, other: int, is_said: bool
) -> None:
    has(fake_api, a=CareStatus.ACTIVE, b=CareStatus.ACTIVE)
    fake_api.refuses(READ_EPISODE, 404, id_="a")
    fake_api.refuses(READ_EPISODE, other, id_="b")
    assert bool(visitor("amelia").get(page).select("[data-state='gone']")) is is_said


def test_where_a_treatment_cannot_be_read_home_says_how_to_go_on_with_medicines(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None]
) -> None:
    at("25 12:00")
    has(fake_api, a=CareStatus.ACTIVE, b=CareStatus.ACTIVE)
    amelia, advice = visitor("amelia"), "Keep taking your medicines as your team last told you"
    assert advice not in amelia.get("/").words
    fake_api.refuses(READ_EPISODE, 500, id_="b")
    told = amelia.get("/").words
    assert "Medicine-a" in told and advice in told


def test_a_form_names_the_embryos_of_another_treatment_by_their_codes(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    has(fake_api, a=CareStatus.FINISHED, b=CareStatus.ACTIVE)
    form = consent(kind=ConsentKind.DISPOSITION, episode_id="b", embryo_storage_ids=("s-1", "s-9"))
    fake_api.gives(READ_CONSENT, form)
    amelia = visitor("amelia")
    amelia.get("/")
    for page in ("", "/sign/read"):
        words = amelia.get(f"/consents/{form.id}{page}").words
        assert "AH-1" in words and "s-1" not in words and "s-9" in words, page


def test_an_embryo_of_two_treatments_is_one(visitor: SignIn, fake_api: FakeApi) -> None:
    """The treatment that froze it, and the one that is to use it."""
    due = replace(FROZEN[0], statutory_limit=date(2020, 1, 1))
    has(fake_api, a=CareStatus.ACTIVE, b=CareStatus.FINISHED)
    for key, status in (("a", CareStatus.ACTIVE), ("b", CareStatus.FINISHED)):
        fake_api.gives(READ_EPISODE, replace(episode(embryos=(due,)), id=key, status=status), id_=key)
    amelia = visitor("amelia")
    assert amelia.get("/storage").words.count("Embryo AH-1") == 1
    assert len(amelia.get("/").select("a[href^='/storage/s-1']")) == 1


def test_a_treatment_that_has_forms_of_both_is_named_after_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notification_words, "known_people", lambda: ())
    hers, his = (
        consent(patient_id=who, patient_name=who.capitalize(), episode_id="e-1")
        for who in ("amelia", "daniel")
    )
    people = {"amelia": "Amelia", "daniel": "Daniel"}
    assert notification_words.names_by_record([hers, his]) == people
    assert notification_words.names_by_record([hers, hers]) == {"amelia": "Amelia", "e-1": "Amelia"}


def test_what_an_api_does_not_narrow_to_a_treatment_is_not_told_as_its_own_or_as_all(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    has(fake_api, a=CareStatus.ACTIVE, b=CareStatus.ACTIVE)
    forms = [consent(id=f"c-{key}", title=f"Form {key}", episode_id=key) for key in "ab"]
    fake_api.gives(LIST_CONSENTS, forms)
    for plans in ([], [replace(PLAN, id="p-2", episode_id="a", name="Luteal")]):
        fake_api.gives(LIST_PROTOCOLS, {"totalCount": 60, "items": to_builtins([*plans, *OTHERS])})
        page = visitor("nora", "nurse").get("/episodes/a/medication")
        assert len(page.select(".links a[href^='/protocols/']")) == len(plans)
        assert "There may be more: not everything could be looked through." in page.words
    amelia = visitor("amelia").get("/episodes/a/consents").words
    assert "Form a" in amelia and "Form b" not in amelia


@pytest.mark.parametrize("is_known", [True, False])
def test_a_reminder_of_storage_stands_once_also_where_the_news_are_read_alone(
    visitor: SignIn, fake_api: FakeApi, at: Callable[[str], None], is_known: bool
) -> None:
    at("25 12:00")
    has(fake_api, a=CareStatus.ACTIVE)
    near = tuple(replace(embryo, storage_consented_until=date(2026, 12, 1)) for embryo in FROZEN)
    fake_api.gives(READ_EPISODE, replace(episode(PLAN), id="a", embryos=near), id_="a")
    about = {"type": "StorageReminder", "isRead": False, "entityType": "EmbryoStorage"}
    reminders = [
        about | {"id": f"n-{id_}", "title": f"About {id_}", "entityId": id_} for id_ in ("s-1", "s-2")
    ]
    fake_api.gives(LIST_NOTIFICATIONS, reminders)
    amelia = visitor("amelia")
    if is_known:
        assert "About s-1" not in amelia.get("/").words
    news = amelia.fragment("/", "news").words
    assert "About s-1" not in news and "About s-2" in news
