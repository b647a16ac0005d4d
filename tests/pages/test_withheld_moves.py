"""Why an embryo's move isn't offered, where not all that it depends on could be read."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from msgspec.structs import replace

from portal.services.cases import CareStatus
from portal.services.consents import LIST_CONSENTS
from portal.services.consents.forms import ConsentKind, ConsentStatus, Signature, SignerRole
from portal.services.episodes import READ_EPISODE
from tests.pages.test_patient_banner import EMBRYO, EPISODE, FORM
from tests.support.fake_api import FakeApi
from tests.support.visitor import Visitor

SignIn = Callable[..., Visitor]

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
