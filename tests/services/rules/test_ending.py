"""Who may end a form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from portal.config.tenants import Side
from portal.services.cases import CareStatus
from portal.services.consents.forms import ConsentKind, ConsentStatus, Signature, Signer, SignerRole
from portal.services.episodes import Episode
from portal.services.patients import Patient
from portal.services.rules.ending import Ending, ending_of, is_carried_out, obstacle_to_ending
from portal.services.storage import EmbryoStatus, EmbryoStorage
from tests.support.builders import AMELIA, DANIEL, VICTOR, consent, person

SENT = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("changes", "sub", "ending"),
    [
        ({}, "amelia", None),
        ({}, "daniel", Ending.WITHDRAW),
        ({"status": ConsentStatus.PENDING, "signatures": ()}, "amelia", None),
        ({"required_signers": (AMELIA, DANIEL)}, "amelia", Ending.WITHDRAW),
        ({"status": ConsentStatus.PARTIALLY_SIGNED, "required_signers": (AMELIA, DANIEL)}, "amelia", Ending.DECLINE),
        ({"required_signers": (replace(DANIEL, person_id=None),)}, "amelia", None),
        ({"required_signers": (replace(DANIEL, person_id=None),), "signatures": ()}, "amelia", Ending.WITHDRAW),
        ({"required_signers": (replace(DANIEL, person_id="(record) 1"),)}, "amelia", Ending.WITHDRAW),
        ({"required_signers": (replace(DANIEL, person_id="p-2"),), "partner_id": "p-2"}, "amelia", Ending.WITHDRAW),
        ({"partner_id": "daniel", "patient_id": "amelia"}, "amelia", None),
        ({"required_signers": (VICTOR,), "signatures": ()}, "amelia", Ending.WITHDRAW),
    ],
    ids=[
        *("another's", "one's own", "asks another", "in force without hers", "asks both", "signed by another", "asks somebody"),
        *("of a record", "of the partner's record", "ids are accounts'", "asks nobody"),
    ],
)  # fmt: skip
def test_nobody_is_offered_to_end_what_only_others_sign(
    changes: dict[str, Any], sub: str, ending: Ending | None
) -> None:
    signed = (Signature(role=SignerRole.PARTNER, person_id="daniel"),)
    named = {"status": ConsentStatus.SIGNED, "required_signers": (DANIEL, VICTOR), "signatures": signed}
    form = consent(**(named | changes))
    assert ending_of(form, person(sub)) == ending
    obstacle = obstacle_to_ending(form, person(sub))
    assert (obstacle and obstacle.code) == (None if ending else "WithdrawalNotYours")


@pytest.mark.parametrize("signed", [(DANIEL, VICTOR), (VICTOR,)])
def test_what_is_in_force_is_withdrawn_though_a_signature_is_not_listed(signed: tuple[Signer, ...]) -> None:
    form = consent(*signed, status=ConsentStatus.SIGNED, required_signers=(AMELIA, DANIEL, VICTOR))
    assert ending_of(form, person("amelia")) is Ending.WITHDRAW
    assert ending_of(form, person("nora", Side.STAFF)) is Ending.RECORD
    for sub in ("amelia", "nora"):
        at = datetime(2026, 11, 20, tzinfo=UTC)
        ended = replace(form, status=ConsentStatus.REVOKED, effective_at=at, revoked_by_id=sub)
        assert ended.is_withdrawn


@pytest.mark.parametrize("effective_at", [None, SENT], ids=["no day", "the day of sending"])
def test_a_form_that_was_never_in_force_is_declined_or_cancelled(effective_at: datetime | None) -> None:
    ended = consent(VICTOR, status=ConsentStatus.REVOKED, required_signers=(AMELIA, VICTOR))
    ended = replace(ended, effective_at=effective_at, sent_at=SENT)
    assert replace(ended, revoked_by_id="amelia").declined_by == AMELIA
    assert replace(ended, revoked_by_id="nora").is_cancelled


def after(seconds: float) -> datetime:
    return SENT + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("changes", "signed_at", "since"),
    [
        ({}, after(900), after(900)),
        ({}, None, None),
        *(({"effective_at": after(seconds)}, None, None) for seconds in (-60, 60)),
        *(({"effective_at": after(seconds)}, None, after(seconds)) for seconds in (-61, 61, 900)),
        ({"effective_at": after(900)}, after(60), after(900)),
        ({"sent_at": None, "creation_time": SENT}, None, None),
        ({"sent_at": None}, None, SENT),
        ({"effective_at": None}, after(900), None),
        ({"required_signers": (AMELIA, DANIEL)}, after(900), None),
        ({"required_signers": (AMELIA, DANIEL), "effective_at": after(900)}, after(60), after(900)),
        *(({"status": ConsentStatus(one)}, after(900), None) for one in ("Pending", "Expired", "Draft")),
        *(({"status": ConsentStatus(one)}, after(900), after(900)) for one in ("Superseded", "Revoked")),
        ({"status": ConsentStatus.REVOKED, "revoked_at": after(899)}, after(900), None),
        ({"status": ConsentStatus.REVOKED, "revoked_at": after(900)}, after(900), after(900)),
    ],
)
def test_since_when_a_form_is_in_force(
    changes: dict[str, Any], signed_at: datetime | None, since: datetime | None
) -> None:
    """From its last signature where its day is that of sending."""
    form = consent(
        AMELIA, **{"status": ConsentStatus.SIGNED, "effective_at": SENT, "sent_at": SENT, **changes}
    )
    form = replace(form, signatures=(replace(form.signatures[0], signed_at=signed_at),))
    assert form.in_force_at == since


GONE, HERE = EmbryoStatus.TRANSFERRED, EmbryoStatus.STORED
STORAGE, TREATMENT = ConsentKind.STORAGE, ConsentKind.TREATMENT


@pytest.mark.parametrize(
    ("kind", "named", "embryos", "episode", "is_over"),
    [
        (TREATMENT, ("s-1",), {"s-1": GONE, "s-2": HERE}, CareStatus.ACTIVE, True),
        (TREATMENT, ("s-1", "s-2"), {"s-1": GONE, "s-2": HERE}, CareStatus.FINISHED, False),
        (TREATMENT, ("s-1", "s-9"), {"s-1": GONE}, CareStatus.FINISHED, False),
        (STORAGE, None, {"under": GONE, "s-2": HERE}, CareStatus.ACTIVE, True),
        (STORAGE, ("s-1",), {"s-1": GONE, "under": HERE}, CareStatus.ACTIVE, False),
        (STORAGE, None, {"s-1": GONE}, CareStatus.FINISHED, False),
        (TREATMENT, None, {"s-1": HERE}, CareStatus.FINISHED, True),
        *((TREATMENT, None, {}, status, True) for status in (CareStatus.CANCELLED, CareStatus.ENTERED_IN_ERROR)),
        (TREATMENT, None, {}, CareStatus.ON_HOLD, False),
        (ConsentKind.RESEARCH, ("s-1",), {"s-1": GONE}, CareStatus.FINISHED, False),
    ],
    ids=[
        *("its own is gone", "one is here", "one isn't known", "those stored under it are gone", "one under it is here"),
        *("storage without embryos", "treatment over", "cancelled", "in error", "treatment on hold", "a kind that holds none"),
    ],
)  # fmt: skip
def test_a_form_is_carried_out_once_nothing_that_it_allows_is_open(
    kind: ConsentKind,
    named: tuple[str, ...] | None,
    embryos: dict[str, EmbryoStatus],
    episode: CareStatus,
    is_over: bool,
) -> None:
    form = consent(AMELIA, id="form", kind=kind, status=ConsentStatus.SIGNED, embryo_storage_ids=named)
    there = tuple(
        EmbryoStorage(
            id=id_, embryo_code=id_, status=status, consent_form_id="form" if id_ == "under" else None
        )
        for id_, status in embryos.items()
    )
    treatment = Episode(id="e", status=episode, patient=Patient(id="p"), embryos=there)
    assert is_carried_out(form, treatment) is is_over
    assert not is_carried_out(replace(form, status=ConsentStatus.PENDING), treatment)
    assert not is_carried_out(form, None)
