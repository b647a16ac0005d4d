"""A draft that duplicates an open or signed form is detected."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from portal.services import consents
from portal.services.consents.forms import (
    OPEN_STATUSES,
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signature,
    Signer,
    SignerRole,
)
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


@pytest.mark.parametrize(
    ("ended", "other", "is_replaced"),
    [
        ({}, {}, True),
        *(
            ({}, {"status": ConsentStatus(status)}, status == "Signed")
            for status in ("Signed", "Draft", "Revoked")
        ),
        ({}, {"title": "Another"}, False),
        ({}, {"title": "Another", "supersedes_id": "c-2"}, True),
        ({"superseded_by_id": "c-1"}, {"title": "Another"}, True),
    ],
)
def test_a_form_is_replaced_by_one_that_says_so_or_is_alike(ended, other, is_replaced):
    revoked = msgspec.structs.replace(EXISTING, id="c-2", status=ConsentStatus.REVOKED, **ended)
    assert consents.is_replaced(revoked, [msgspec.structs.replace(EXISTING, **other)]) is is_replaced


AT = datetime(2026, 11, 20, 9, tzinfo=UTC)
AMELIA = Signer(role=SignerRole.PATIENT, person_id="amelia")
NOBODY = Signer(role=SignerRole.PATIENT, person_id=None)
WITHDRAWN = ConsentForm(
    id="c-4", title="Storage of eggs", status=ConsentStatus.REVOKED, kind=ConsentKind.STORAGE, revoked_at=AT,
    required_signers=(AMELIA, Signer(role=SignerRole.CLINICIAN, person_id="victor")),
)  # fmt: skip


def signed(*hours: float | None) -> tuple[Signature, ...]:
    """Signatures so many hours after the withdrawal, and an older one for the clinic."""
    times = [None if one is None else AT + timedelta(hours=one) for one in hours]
    own = [Signature(role=SignerRole.PATIENT, person_id="amelia", signed_at=at) for at in times]
    return (*own, Signature(role=SignerRole.CLINICIAN, person_id="victor", signed_at=AT - timedelta(days=1)))


@pytest.mark.parametrize(
    ("both", "form", "other", "is_anew"),
    [
        ({}, {}, {}, True),
        ({}, {}, {"title": " STORAGE of  eggs"}, True),
        ({}, {}, {"title": "Storage of sperm"}, False),
        ({"kind": ConsentKind.LEGAL_PARENTHOOD}, {}, {"title": "Another"}, True),
        ({"kind": ConsentKind.TREATMENT}, {}, {}, False),
        ({}, {}, {"kind": ConsentKind.LEGAL_PARENTHOOD}, False),
        ({}, {}, {"status": ConsentStatus.PENDING}, False),
        ({}, {"status": ConsentStatus.EXPIRED}, {}, False),
        ({}, {"revoked_at": None}, {}, False),
        ({}, {}, {"required_signers": (msgspec.structs.replace(AMELIA, person_id="daniel"),)}, False),
        ({"required_signers": (NOBODY,)}, {}, {}, False),
        *(({}, {}, {"signatures": signed(*hours)}, False) for hours in ((), (0,), (None,), (1, -1))),
    ],
)
def test_what_a_person_withdrew_is_signed_anew_by_a_later_form_of_theirs(both, form, other, is_anew):
    withdrawn = msgspec.structs.replace(WITHDRAWN, **both, **form)
    anew = {"status": ConsentStatus.SIGNED, "revoked_at": None, "signatures": signed(1, 2)}
    later = msgspec.structs.replace(WITHDRAWN, **{**anew, **both, **other})
    assert consents.is_signed_anew(withdrawn, later) is is_anew


@pytest.mark.parametrize(
    ("kind", "is_alike"),
    [(ConsentKind.STORAGE, False), (ConsentKind.LEGAL_PARENTHOOD, False), (ConsentKind.TREATMENT, True)],
)
def test_of_what_each_has_their_own_the_others_form_is_no_duplicate(kind, is_alike):
    hers = msgspec.structs.replace(EXISTING, kind=kind, required_signers=(AMELIA,))
    his = (msgspec.structs.replace(AMELIA, person_id="daniel"),)
    for signers, alike in (((AMELIA,), True), (his, is_alike)):
        draft = msgspec.structs.replace(DUPLICATE, kind=kind, required_signers=signers)
        assert bool(consents.find_alike([hers], draft)) is alike
