"""Which forms stay as they are when someone is removed from a record: those of either that name the other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from portal.services.cases import CareStatus
from portal.services.consents.forms import ConsentForm, ConsentStatus, Signer, SignerRole
from portal.services.episodes import Episode
from portal.services.errors import Unavailable
from portal.services.listed import Listed
from portal.services.patients import Patient
from portal.services.relationships import Relationship
from portal.views import relationship_effects
from portal.views.relationship_effects import _forms_of_both

EPISODE = Episode(
    status=CareStatus.ACTIVE,
    id="e",
    patient=Patient(id="p-1", user_id="u-1"),
    partner=Patient(id="p-2", user_id="u-2"),
)
RELATIONSHIP = Relationship(id="r", patient_id="p-1", related_patient_id="p-2")


def form(id_: str, patient_id: str, *signs_as: str, **more: Any) -> ConsentForm:
    signers = tuple(Signer(role=SignerRole.PATIENT, person_id=one, name=one) for one in signs_as)
    members = {"status": ConsentStatus.SIGNED, "patient_id": patient_id, "required_signers": signers, **more}
    return ConsentForm(id=id_, title=id_, **members)


FORMS = {
    "p-1": Listed((
        form("hers", "p-1", "u-1", "u-2"),
        form("names him", "p-1", "u-1", partner_id="p-2"),
        form("hers alone", "p-1", "u-1"),
        form("withdrawn", "p-1", "u-1", "u-2", status=ConsentStatus.REVOKED),
    )),
    "p-2": Listed((form("his", "p-2", "u-2", "u-1"), form("his alone", "p-2", "u-2"))),
}  # fmt: skip


@pytest.mark.parametrize(
    ("unread", "found"),
    [
        ((), ["hers", "names him", "his"]),
        (("p-1",), ["his"]),
        (("p-2",), ["hers", "names him"]),
        (("p-1", "p-2"), []),
    ],
    ids=str,
)
def test_the_forms_of_either_that_name_both_are_told_and_whether_that_is_all(
    monkeypatch: pytest.MonkeyPatch, unread: tuple[str, ...], found: list[str]
) -> None:
    def all_consents(_care: object, *, patient_id: str) -> Listed[ConsentForm]:
        if patient_id in unread:
            raise Unavailable("reset")
        return FORMS[patient_id]

    monkeypatch.setattr(relationship_effects, "all_consents", all_consents)
    care = cast("Any", SimpleNamespace(by_patient=False))
    both = _forms_of_both(care, EPISODE, RELATIONSHIP)
    assert ([one.title for one in both], both.is_whole) == (found, not unread)


@pytest.mark.parametrize(
    "relationship",
    [
        Relationship(id="r", patient_id=None, related_patient_id="p-2"),
        Relationship(id="r", patient_id="p-2", related_patient_id="p-1"),
    ],
    ids=["of the treatment's patient", "of the partner"],
)
def test_whose_record_the_relationship_is_of_is_asked_for_too(
    monkeypatch: pytest.MonkeyPatch, relationship: Relationship
) -> None:
    monkeypatch.setattr(relationship_effects, "all_consents", lambda _care, patient_id: FORMS[patient_id])
    both = _forms_of_both(cast("Any", SimpleNamespace(by_patient=False)), EPISODE, relationship)
    assert {one.title for one in both} == {"hers", "names him", "his"} and both.is_whole


def test_a_patient_is_asked_for_nobodys_forms_but_what_they_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = Listed((*FORMS["p-1"], *FORMS["p-2"]), is_whole=False)
    monkeypatch.setattr(
        relationship_effects, "all_consents", lambda _care, patient_id: {None: given}[patient_id]
    )
    both = _forms_of_both(cast("Any", SimpleNamespace(by_patient=True)), EPISODE, RELATIONSHIP)
    assert ([one.title for one in both], both.is_whole) == (["hers", "names him", "his"], False)
