"""Someone who stands on a record more than once: what they see of the treatment, and what they see once an entry is removed."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from msgspec.structs import replace

from portal.services.cases import CareStatus
from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentStatus
from portal.services.episodes import READ_EPISODE
from portal.services.relationships import Relationship, RelationshipType
from portal.services.storage import EmbryoStatus, EmbryoStorage
from tests.pages.test_patient_banner import AMELIA, EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import SignIn


def to_daniel(id_: str, type_: RelationshipType | None, **more: Any) -> Relationship:
    named = {"patient_id": "p-1", "related_patient_id": "p-2", "related_name": "Daniel Hart", **more}
    return Relationship(id=id_, type=type_, **named)


PARTNER = to_daniel("r-1", RelationshipType.PARTNER, is_portal_shared=True)
PARENT = to_daniel("r-2", RelationshipType.INTENDED_PARENT, is_portal_shared=True)
CONTACT = to_daniel("r-3", RelationshipType.EMERGENCY_CONTACT)
ENDED = to_daniel("r-4", RelationshipType.SPOUSE, is_portal_shared=True, end_date=date(2020, 1, 1))
FAR_SIDE = to_daniel("r-5", RelationshipType.PARTNER, is_portal_shared=True, patient_id="p-2", related_patient_id="p-1", related_name="Amelia Hart")  # fmt: skip
NO_RECORD = to_daniel("r-6", None, is_portal_shared=True, related_patient_id=None, related_name="DANIEL HART")

LATER = replace(PARTNER, id="r-8", start_date=date(2099, 6, 1))
SHARED_CONTACT = replace(CONTACT, id="r-9", is_portal_shared=True)


def gives(fake_api: FakeApi, *relationships: Relationship) -> None:
    mine = replace(AMELIA, user_id="amelia")
    fake_api.gives(READ_EPISODE, replace(EPISODE, patient=mine, relationships=relationships))
    fake_api.gives(LIST_CONSENTS, [FORM])


@pytest.mark.parametrize(
    ("others", "removed", "heading", "said"),
    [
        ((PARENT,), PARTNER, "Remove Daniel Hart?", "still sees the treatment in the portal, as intended parent"),
        ((PARTNER,), CONTACT, "Remove Daniel Hart?", "still sees the treatment in the portal, as partner"),
        ((NO_RECORD,), CONTACT, "Remove Daniel Hart?", "still sees the treatment in the portal through another"),
        ((CONTACT, ENDED), PARTNER, "Stop sharing with Daniel Hart?", "no longer sees your treatment"),
        ((FAR_SIDE,), PARTNER, "Stop sharing with Daniel Hart?", "no longer sees your treatment"),
        ((ENDED,), CONTACT, "Remove Daniel Hart?", "doesn’t see the treatment in the portal"),
        ((), LATER, "Remove Daniel Hart?", "doesn’t see the treatment in the portal, and won’t later"),
        ((LATER,), PARENT, "Remove Daniel Hart?", "sees the treatment in the portal from Mon 1 Jun 2099 on, through"),
    ],
    ids=[
        *("two shared", "contact of a partner", "without a record", "one shared", "the other way", "none shared"),
        *("from later on", "again later"),
    ],
)  # fmt: skip
def test_whoever_still_sees_the_treatment_is_never_said_not_to(
    visitor: SignIn,
    fake_api: FakeApi,
    others: tuple[Relationship, ...],
    removed: Relationship,
    heading: str,
    said: str,
) -> None:
    gives(fake_api, removed, *others)
    page = visitor("amelia").get(f"/relationships/{removed.id}/remove?episode=e-1")
    first = page.select("main ul li")[0].words
    assert (page.heading, said in first) == (heading, True), first


def test_what_stays_is_told_and_only_who_shares_with_the_reader_is_removed(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    embryos = tuple(
        EmbryoStorage(id=code, embryo_code=code, status=status)
        for code, status in (("A1", EmbryoStatus.STORED), ("A2", EmbryoStatus.TRANSFERRED))
    )
    people = (PARTNER, ENDED, FAR_SIDE)
    mine = replace(AMELIA, user_id="amelia")
    treatment = replace(EPISODE, patient=mine, embryos=embryos, relationships=people)
    fake_api.gives(READ_EPISODE, treatment)
    waiting = replace(
        FORM, title="Storage of both", status=ConsentStatus.PENDING, patient_id="p-1", partner_id="p-2"
    )
    fake_api.gives(LIST_CONSENTS, [waiting])
    amelia = visitor("amelia")
    words = amelia.get("/relationships/r-1/remove?episode=e-1").words
    assert "A1" in words and "A2" not in words and "Storage of both" in words
    for ended_or_anothers in ("r-4", "r-5"):
        amelia.get(f"/relationships/{ended_or_anothers}/remove?episode=e-1", status=404)


def test_staff_read_whose_treatments_are_no_longer_seen(visitor: SignIn, fake_api: FakeApi) -> None:
    gives(fake_api, FAR_SIDE, replace(FAR_SIDE, id="r-7", patient_id="p-9"))
    nora = visitor("nora", "nurse")
    page = nora.get("/relationships/r-5/remove?episode=e-1")
    assert "Amelia Hart no longer sees Daniel Hart’s own treatments in the portal." in page.words
    page = nora.get("/relationships/r-7/remove?episode=e-1")
    assert "the treatments of whoever’s record this is on" in page.words


def test_my_details_say_of_each_entry_what_the_person_sees(visitor: SignIn, fake_api: FakeApi) -> None:
    gives(fake_api, PARTNER, CONTACT, ENDED, FAR_SIDE)
    page = visitor("amelia").get("/me")
    assert [person.select("p")[-1].words for person in page.select("aside article")] == [
        "Sees your treatment in the portal.",
        "Sees your treatment in the portal through another entry on your record.",
        "Sees your treatment in the portal through another entry on your record.",
    ]


def test_a_person_is_removed_through_the_newest_treatment(visitor: SignIn, fake_api: FakeApi) -> None:
    gives(fake_api, PARTNER)
    newest = replace(EPISODE, patient=replace(AMELIA, user_id="amelia"), relationships=(PARTNER,))
    fake_api.gives(READ_EPISODE, replace(newest, id="e-0", status=CareStatus.FINISHED), id_="e-0")
    fake_api.gives(LIST_CONSENTS, [replace(FORM, id="f-0", episode_id="e-0"), FORM])
    (link,) = visitor("amelia").get("/me").select("aside article a")
    assert link["href"].endswith("episode=e-1")


def test_only_a_partner_sees_the_treatment_from_the_start_date_on(visitor: SignIn, fake_api: FakeApi) -> None:
    gives(fake_api, LATER, SHARED_CONTACT, NO_RECORD)
    people = visitor("amelia").get("/me").select("aside article")
    assert [person.select("p")[-1].words for person in people[:1]] == [
        "Sees your treatment in the portal through another entry on your record."
    ]
    gives(fake_api, LATER, SHARED_CONTACT)
    people = visitor("amelia").get("/me").select("aside article")
    assert [person.select("p")[-1].words for person in people] == [
        "Will see your treatment in the portal from Mon 1 Jun 2099 on.",
        "Does not see your treatment in the portal.",
    ]
    assert "from 1 June 2099" in people[0].words
    assert "Shares the portal" not in visitor("nora", "nurse").get("/episodes/e-1").words


def test_only_the_last_entry_that_shares_is_said_to_stop_it(visitor: SignIn, fake_api: FakeApi) -> None:
    gives(fake_api, PARTNER, PARENT)
    both = visitor("amelia").get("/me").select("aside article a")
    gives(fake_api, PARTNER, ENDED)
    one = visitor("amelia").get("/me").select("aside article a")
    assert [link.words.split()[0] for link in (*both, *one)] == ["Remove", "Remove", "Stop"]
