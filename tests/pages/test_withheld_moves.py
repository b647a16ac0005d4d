"""Why an embryo's move isn't offered, where not all that it depends on could be read."""

from __future__ import annotations

import msgspec
import pytest
from flask import g
from msgspec.structs import replace

from portal.services.cases import CareStatus
from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentKind, ConsentStatus, Signature, SignerRole
from portal.services.episodes import READ_EPISODE
from portal.services.rules.embryo_moves import Gap, Missing
from portal.services.storage import Disposition
from portal.views.storage.moves import reason
from tests.pages.test_patient_banner import EMBRYO, EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import SignIn

OVER = "The treatment that the form is for isn’t under way."
UNKNOWN = "The portal can’t tell whether the treatment that the form is for is under way."
NONE = "No signed form allows it."
SOME = "None of the patient’s forms that could be read allows it; not all could be read."

TREATMENT = replace(
    FORM,
    kind=ConsentKind.TREATMENT,
    status=ConsentStatus.SIGNED,
    episode_id="e-2",
    embryo_storage_ids=("s-1",),
    signatures=tuple(
        Signature(role=role, person_id=id_, name=id_)
        for role, id_ in (
            (SignerRole.PATIENT, "p-1"),
            (SignerRole.PARTNER, "p-2"),
            (SignerRole.WITNESS, "nora"),
        )
    ),
)


@pytest.mark.parametrize("is_read", [True, False])
def test_a_treatment_that_cannot_be_read_is_not_called_over(
    visitor: SignIn, fake_api: FakeApi, is_read: bool
) -> None:
    fake_api.gives(READ_EPISODE, EPISODE)
    fake_api.gives(LIST_CONSENTS, [TREATMENT])
    if is_read:
        fake_api.gives(READ_EPISODE, replace(EPISODE, id="e-2", status=CareStatus.FINISHED), id_="e-2")
    else:
        fake_api.refuses(READ_EPISODE, 503, id_="e-2")
    words = visitor("elif", "embryologist").get("/storage/s-1?episode=e-1").words
    assert (OVER in words, UNKNOWN in words) == (is_read, not is_read)


@pytest.mark.parametrize("is_whole", [True, False])
def test_no_form_allows_it_is_said_only_where_all_were_read(
    visitor: SignIn, fake_api: FakeApi, is_whole: bool
) -> None:
    storage = msgspec.to_builtins(replace(TREATMENT, kind=ConsentKind.STORAGE))
    items = [storage] if is_whole else [storage, {"id": 1}]
    fake_api.computes(LIST_CONSENTS, lambda _query: {"totalCount": len(items), "items": items})
    fake_api.gives(READ_EPISODE, replace(EPISODE, embryos=(EMBRYO,)))
    words = visitor("elif", "embryologist").get("/storage/s-1?episode=e-1").words
    assert (NONE in words, SOME in words) == (is_whole, not is_whole)


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        (Missing(Gap.HELD_BY_PATIENT), "On hold by the patient’s side. Only a new signed form that names this embryo ends that."),
        (Missing(Gap.HELD_BY_CLINIC), "On hold by the clinic. End the hold first."),
        (Missing(Gap.FORMS_UNREADABLE), "The patient’s forms can’t be read right now."),
        (Missing(Gap.FORMS_PARTLY_READ), SOME),
        (Missing(Gap.NO_FORM), NONE),
        (Missing(Gap.NOT_NAMED), "The signed form doesn’t say which embryos it is about."),
        (Missing(Gap.NOT_NAMED, replace(FORM, embryo_storage_ids=None)), "The signed form doesn’t say which embryos it is about."),
        (Missing(Gap.NOT_NAMED, replace(FORM, embryo_storage_ids=())), "The signed form doesn’t name this embryo."),
        *((Missing(gap, FORM), "The form isn’t signed by everyone yet.") for gap in (Gap.NOT_SIGNED, Gap.PARTY_MISSING)),
        *((Missing(gap, FORM, ("Amelia",)), "Amelia hasn’t signed yet.") for gap in (Gap.NOT_SIGNED, Gap.PARTY_MISSING)),
        (Missing(Gap.NOT_SIGNED, FORM, ("Amelia", "Daniel")), "Amelia and Daniel haven’t signed yet."),
        (Missing(Gap.NOT_IN_FORCE, FORM), "The form is signed, but isn’t in force yet."),
        (Missing(Gap.TREATMENT_OVER, FORM), OVER),
        (Missing(Gap.TREATMENT_UNKNOWN, FORM), UNKNOWN),
        (Missing(Gap.WISH_DIFFERS), "The wish on record is another: Keep in storage."),
        (Missing(Gap.SECOND_PERSON, FORM), "A second person’s signature is missing: a clinician’s or a witness’s, and not your own."),
    ],
    ids=lambda told: told.gap.value if isinstance(told, Missing) else "",
)  # fmt: skip
def test_each_thing_that_a_move_lacks_has_its_words(
    in_process: InProcess, missing: Missing, words: str
) -> None:
    kept = replace(EMBRYO, disposition=Disposition.CONTINUE_STORAGE)
    with in_process.app.test_request_context():
        g.language = "en"
        told = reason(kept, missing)
        href = told.href
    assert (told.words, href) == (words, "/consents/c-1" if missing.form else None)


def test_a_form_is_offered_to_be_made_only_where_one_lacks_or_does_not_name_it(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    fake_api.gives(
        READ_EPISODE, replace(EPISODE, embryos=(replace(EMBRYO, disposition=Disposition.DISCARD),))
    )
    pending = replace(TREATMENT, kind=ConsentKind.DISPOSITION, disposition=Disposition.DISCARD)
    elif_ = visitor("elif", "physician")
    offered: list[int] = []
    for form in (
        replace(pending, embryo_storage_ids=("s-9",)),
        replace(pending, status=ConsentStatus.PENDING),
    ):
        fake_api.gives(LIST_CONSENTS, [form])
        page = elif_.get("/storage/s-1?episode=e-1")
        offered.append(len(page.select("a[href^='/consents/new']")))
        assert ("The signed form doesn’t name this embryo." in page.words) is (len(offered) == 1)
    assert offered[0] == offered[1] + 1 > 1, "a form that waits for signatures is there already"
