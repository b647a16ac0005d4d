"""A draft that would repeat an open or signed form is found."""

from __future__ import annotations

import msgspec
import pytest

from portal.services import consents
from portal.services.records.consents import (
    ConsentForm,
    ConsentKind,
    ConsentStatus,
)
from tests.services.consent_forms import DRAFT, whole

STANDING = ConsentForm(
    id="c-3",
    title=" egg RETRIEVAL",
    status=ConsentStatus.PENDING,
    kind=ConsentKind.TREATMENT,
    patient_id="p",
    episode_id="e",
    embryo_storage_ids=("e1", "e2"),
)
AGAIN = msgspec.structs.replace(DRAFT, embryo_storage_ids=("e2", "e1"))


@pytest.mark.parametrize("status", [*consents.OPEN_STATUSES, ConsentStatus.SIGNED])
def test_a_form_alike_is_found_while_it_is_open_or_signed(status):
    standing = msgspec.structs.replace(STANDING, status=status)
    assert consents.find_alike([whole(), standing], AGAIN) == (standing,)


@pytest.mark.parametrize("status", ["Draft", "Revoked", "Expired", "Superseded"])
def test_a_form_that_does_not_stand_is_not_alike(status):
    assert not consents.find_alike([msgspec.structs.replace(STANDING, status=ConsentStatus(status))], AGAIN)


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Embryo transfer"},
        {"kind": ConsentKind.STORAGE},
        {"patient_id": "q"},
        {"episode_id": "f"},
        {"episode_id": None},
        {"embryo_storage_ids": ("e1",)},
        {"embryo_storage_ids": None},
    ],
)
def test_a_form_about_something_else_is_not_alike(change):
    assert not consents.find_alike([msgspec.structs.replace(STANDING, **change)], AGAIN)


def test_without_an_episode_the_case_tells_forms_apart():
    of_case = {"episode_id": None, "case_id": "k"}
    standing = msgspec.structs.replace(STANDING, **of_case)
    assert consents.find_alike([standing], msgspec.structs.replace(AGAIN, **of_case)) == (standing,)
    for other in ({"episode_id": None, "case_id": "l"}, {"episode_id": "k", "case_id": None}):
        assert not consents.find_alike([standing], msgspec.structs.replace(AGAIN, **other))
    with_episode = msgspec.structs.replace(STANDING, case_id="k")
    assert consents.find_alike([with_episode], msgspec.structs.replace(AGAIN, case_id="l")) == (with_episode,)


def test_forms_about_no_embryo_are_alike():
    standing = msgspec.structs.replace(STANDING, embryo_storage_ids=None)
    assert consents.find_alike([standing], DRAFT) == (standing,)
