"""A draft that duplicates an open or signed form is detected."""

from __future__ import annotations

import msgspec
import pytest

from portal.services import consents
from portal.services.consents.forms import OPEN_STATUSES, ConsentForm, ConsentKind, ConsentStatus
from portal.services.storage import Disposition
from tests.services.consent_forms import DRAFT, whole

EXISTING = ConsentForm(
    id="c-3",
    title=" egg RETRIEVAL",
    status=ConsentStatus.PENDING,
    kind=ConsentKind.TREATMENT,
    patient_id="p",
    episode_id="e",
    embryo_storage_ids=("e1", "e2"),
)
DUPLICATE = msgspec.structs.replace(DRAFT, embryo_storage_ids=("e2", "e1"))


@pytest.mark.parametrize("status", [*OPEN_STATUSES, ConsentStatus.SIGNED])
def test_a_duplicate_is_found_while_it_is_open_or_signed(status):
    existing = msgspec.structs.replace(EXISTING, status=status)
    assert consents.find_alike([whole(), existing], DUPLICATE) == (existing,)


@pytest.mark.parametrize("status", ["Draft", "Revoked", "Expired", "Superseded"])
def test_a_form_that_is_neither_open_nor_signed_is_no_duplicate(status):
    assert not consents.find_alike(
        [msgspec.structs.replace(EXISTING, status=ConsentStatus(status))], DUPLICATE
    )


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
def test_a_form_about_something_else_is_no_duplicate(change):
    assert not consents.find_alike([msgspec.structs.replace(EXISTING, **change)], DUPLICATE)


def test_without_an_episode_the_case_tells_forms_apart():
    of_case = {"episode_id": None, "case_id": "k"}
    existing = msgspec.structs.replace(EXISTING, **of_case)
    assert consents.find_alike([existing], msgspec.structs.replace(DUPLICATE, **of_case)) == (existing,)
    for other in ({"episode_id": None, "case_id": "l"}, {"episode_id": "k", "case_id": None}):
        assert not consents.find_alike([existing], msgspec.structs.replace(DUPLICATE, **other))
    with_episode = msgspec.structs.replace(EXISTING, case_id="k")
    assert consents.find_alike([with_episode], msgspec.structs.replace(DUPLICATE, case_id="l")) == (
        with_episode,
    )


def test_forms_about_no_embryo_can_be_duplicates():
    existing = msgspec.structs.replace(EXISTING, embryo_storage_ids=None)
    assert consents.find_alike([existing], DRAFT) == (existing,)


DECISION = msgspec.structs.replace(
    DRAFT, embryo_storage_ids=("e1",), disposition=Disposition.DISCARD, supersedes_id="c-1"
)


@pytest.mark.parametrize(
    ("changes", "is_it"),
    [
        ({}, True),
        ({"embryo_storage_ids": None, "disposition": None, "supersedes_id": None}, True),
        ({"embryo_storage_ids": ("e2",)}, False),
        ({"embryo_storage_ids": ("e1", "e2")}, False),
        ({"disposition": Disposition.DONATE_RESEARCH}, False),
        ({"supersedes_id": "c-2"}, False),
    ],
)
def test_a_form_about_something_else_is_not_the_one_that_was_sent(changes, is_it):
    members = {name: getattr(DECISION, name) for name in DECISION.__struct_fields__ if name != "language"}
    there = msgspec.structs.replace(ConsentForm(id="c-9", status=ConsentStatus.PENDING, **members), **changes)
    assert (consents.find_created([there], DECISION) is there) is is_it
