"""Consent forms: how a lost answer is resolved; what is asked and sent is in `tests/pages/facts/service_calls.txt`."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import msgspec
import pytest

from portal.config.strong_sign_in import Act
from portal.services import consents
from portal.services.consents import READ_CONSENT, REVOKE_CONSENT, SIGN_CONSENT
from portal.services.consents.forms import ConsentStatus, SignerRole
from portal.services.consents.requests import NewSignature
from portal.services.demand import Demand
from portal.services.errors import BadResponse, Invalid
from portal.services.storage import Disposition
from tests.services.consent_forms import DRAFT, FORM, MADE


def test_missing_members_are_distinguished_from_empty_ones(care):
    care.answers.append({**FORM, "embryoStorageIds": None, "seal": None})
    form = consents.get_consent(care, "c-1")
    assert (form.body, form.statements, form.embryo_storage_ids, form.seal) == (None, None, None, None)
    care.answers.append({**FORM, "body": [], "statements": [], "embryoStorageIds": ["e"], "disposition": 2})
    form = consents.get_consent(care, "c-1")
    assert (form.body, form.statements, form.embryo_storage_ids) == ((), (), ("e",))
    assert form.disposition is Disposition.DISCARD


@pytest.mark.parametrize(
    ("status", "seconds", "told"),
    [
        ("Pending", 1, "Pending"), ("Pending", 0, "Expired"), ("PartiallySigned", -1, "Expired"),
        ("Signed", -1, "Signed"), ("Pending", None, "Pending"),
    ],
)  # fmt: skip
def test_a_form_has_expired_once_its_time_to_sign_is_over(care, status, seconds, told):
    now = datetime(2026, 11, 27, 9, 30, tzinfo=UTC)
    care.clock = now.timestamp
    until = None if seconds is None else f"{now + timedelta(seconds=seconds):%FT%TZ}"
    care.answers.append({**FORM, "status": status, "expiresAt": until})
    assert consents.get_consent(care, "c-1").status == ConsentStatus(told)


def test_unset_members_of_a_draft_are_not_sent(care):
    care.answers.append(MADE)
    consents.create_consent(care, DRAFT)
    assert not {"embryoStorageIds", "disposition"} & set(care.calls[0].body)
    care.answers.append(MADE)
    about = {"embryo_storage_ids": ("e1",), "disposition": Disposition.DISCARD}
    consents.create_consent(care, msgspec.structs.replace(DRAFT, **about))
    assert (care.calls[1].body["embryoStorageIds"], care.calls[1].body["disposition"]) == (["e1"], "Discard")


def test_a_list_defaults_to_the_first_twenty_forms(care):
    care.answers.append({"items": []})
    consents.list_consents(care)
    assert (care.calls[0].query["SkipCount"], care.calls[0].query["MaxResultCount"]) == (0, 20)


def test_withdrawn_forms_are_read_back_to_a_day_and_say_if_they_may_not_be_all(care):
    since = datetime(2026, 11, 1, tzinfo=UTC)

    def form(name, at, kind="Treatment", **members):
        return {**FORM, "id": name, "kind": kind, "status": "Revoked", "revokedAt": at, **members}

    late, early = form("late", "2026-11-20T10:00:00Z"), form("early", "2026-10-20T10:00:00Z")
    research, undated = form("research", "2026-11-19T10:00:00Z", "Research"), form("undated", None, "Storage")
    cancelled = form("cancelled", "2026-11-19T10:00:00Z", revokedById="n", signatures=[])
    edge = form("edge", "2026-11-01T00:00:00Z")
    asked = {"role": "Patient", "personId": "p", "order": 1}
    test = form("test", "2026-11-18T10:00:00Z", "GeneticTesting", revokedById="p", requiredSigners=[asked])
    untested = {**test, "id": "untested", "signatures": []}  # declined, so that nothing is tested
    test["signatures"] = [asked]
    for items, ids, is_whole in (
        ([late, cancelled, research, test, untested, edge, early], ["late", "test", "edge"], True),
        ([late, research], ["late"], False),
        ([early, late], ["late"], False),
        ([late, undated, early], ["late", "undated"], False),
        ([], [], False),
    ):
        care.answers.append({"totalCount": 900, "items": items})
        if items:  # the rest is asked for, and doesn't come; then what was signed since
            care.answers += [{"totalCount": 900, "items": []}] * 2
        found = consents.list_withdrawn(care, since)
        assert ([one.id for one in found], found.is_whole) == (ids, is_whole)
    query = {name: value for name, value in care.calls[0].query.items() if value is not None}
    assert query == {
        "SkipCount": 0, "MaxResultCount": 200, "Sorting": "revokedAt desc", "Status": "Revoked",
    }  # fmt: skip


ME = {"requiredSigners": [{"role": "Patient", "personId": "me", "order": 1}], "procedureDate": "2026-12-01"}
ANOTHERS = {
    "requiredSigners": [{"role": "Patient", "personId": "b", "order": 1}],
    "procedureDate": "2026-12-03",
}


@pytest.mark.parametrize("is_by_date", [False, True])
@pytest.mark.parametrize(
    ("total", "narrowed", "asked", "ids", "is_whole"),
    [
        (2, True, [0], "01", True),
        (2, False, [0], "0", True),
        (8, True, [0, 3, 6], "01234567", True),
        (10, True, [0, 3, 6], "012345678", False),
        (8, False, [0], "02", False),
    ],
)
def test_a_narrowed_list_is_read_on_if_the_api_narrowed_it(
    care, monkeypatch, is_by_date, total, narrowed, asked, ids, is_whole
):
    monkeypatch.setattr(consents, "CAP", 3)
    forms = [{**FORM, **(ME if narrowed or n % 2 == 0 else ANOTHERS), "id": str(n)} for n in range(total)]
    care.answers.extend({"totalCount": total, "items": forms[n : n + 3]} for n in (0, 3, 6))
    first, last = date(2026, 12, 1), date(2026, 12, 2)
    if is_by_date:
        found = consents.list_due(care, ConsentStatus.PENDING, first, last)
    else:
        found = consents.list_awaiting(care, ConsentStatus.PENDING, "me")
    assert ("".join(form.id for form in found), found.is_whole) == (ids, is_whole)
    assert [(call.query["SkipCount"], call.query["MaxResultCount"]) for call in care.calls] == [
        (skip, 3) for skip in asked
    ]
    asks = {"DueFrom": "2026-12-01", "DueTo": "2026-12-02"} if is_by_date else {"WaitsFor": "me"}
    for call in care.calls:
        told = {name: value for name, value in call.query.items() if value is not None}
        assert told == {
            **asks, "SkipCount": told["SkipCount"], "MaxResultCount": 3, "Sorting": "procedureDate",
            "Status": "Pending",
        }  # fmt: skip


@pytest.mark.parametrize(
    ("dates", "total", "found", "is_whole"),
    [
        (["2026-12-01", None, None], 3, 2, True),
        (["2026-12-01", "2026-12-02"], 2, 0, True),
        (["2026-12-01", None], 3, 1, False),
        (["2026-12-01", None, "2026-12-02", None], 4, 2, False),
        ([None, None], 2, 2, False),
        (["2026-12-01", "no form", None], 3, 1, False),
        ([], 2, 0, False),
    ],
)
def test_forms_without_a_date_are_the_end_of_the_list(care, dates, total, found, is_whole):
    forms = [{**FORM, "id": str(n), "procedureDate": on} for n, on in enumerate(dates)]
    forms = [{"title": 5} if form["procedureDate"] == "no form" else form for form in forms]
    care.answers.extend([{"totalCount": total, "items": forms}, {"totalCount": total, "items": []}])
    undated = consents.list_undated(care, ConsentStatus.PENDING, total)
    assert (len([*undated]), undated.is_whole) == (found, is_whole)
    assert care.calls[0].query["SkipCount"] == 0


def test_forms_without_a_date_are_looked_for_at_the_end(care):
    care.answers.append({"totalCount": 450, "items": []})
    consents.list_undated(care, ConsentStatus.PENDING, 450)
    assert (care.calls[0].query["SkipCount"], care.calls[0].query["MaxResultCount"]) == (250, 200)


def test_all_forms_are_read_page_by_page(care):
    forms = [{**FORM, "id": str(n)} for n in range(450)]
    care.answers.extend({"totalCount": 450, "items": forms[n : n + 200]} for n in (0, 200, 400))
    assert [f.id for f in consents.all_consents(care, patient_id="p")] == [f["id"] for f in forms]
    assert [(c.query["SkipCount"], c.query["PatientId"]) for c in care.calls] == [
        (0, "p"),
        (200, "p"),
        (400, "p"),
    ]


def sign(care, **others):
    return consents.sign_consent(
        care,
        "c-1",
        NewSignature(
            signer_role=SignerRole.PATIENT,
            signature="Amelia Hart",
            acknowledged_statement_ids=("s1", "s2"),
            content_hash="given by the API",
            language="es",
            concurrency_stamp="s1",
        ),
        operation="op-1",
        **others,
    )


def test_a_signature_is_one_operation(care):
    care.answers.append({**FORM, "status": "PartiallySigned"})
    assert sign(care).status is ConsentStatus.PARTIALLY_SIGNED
    assert [call.operation for call in care.calls] == ["op-1"]


def test_after_an_empty_answer_to_signing_the_form_is_read(care):
    care.answers.extend([None, {**FORM, "status": "Signed"}])
    assert sign(care).is_signed
    assert [c.endpoint for c in care.calls] == [SIGN_CONSENT, READ_CONSENT]


@pytest.mark.parametrize(
    ("role", "seconds"),
    [
        *((role, 1200) for role in (SignerRole.CLINICIAN, SignerRole.WITNESS)),
        *((role, 300) for role in (SignerRole.PATIENT, SignerRole.PARTNER, SignerRole.INTERPRETER)),
    ],
)
def test_clinicians_and_witnesses_may_sign_longer_after_signing_in(role, seconds):
    assert consents.signing_demand(role, "Storage") == Demand(seconds, Act.SIGNING, "Storage")


@pytest.mark.parametrize("answers", [[{**FORM, "status": "Revoked"}], [None, {**FORM, "status": "Revoked"}]])
def test_revoking_ends_with_the_revoked_form(care, answers):
    care.answers.extend(answers)
    form = consents.revoke_consent(care, "c-1", reason="Changed our minds", stamp="s1", operation="op-2")
    assert form.is_revoked
    assert care.calls[0].endpoint == REVOKE_CONSENT
    assert care.calls[0].body == {"reason": "Changed our minds", "concurrencyStamp": "s1"}
    assert care.calls[0].operation == "op-2"


def test_a_reason_is_sent_only_if_given_or_demanded(care):
    revoked = {**FORM, "status": "Revoked"}
    care.answers.extend([revoked, Invalid({"reason": ["invalid"]}), revoked])
    consents.revoke_consent(care, "c-1", reason="", stamp="s1")
    assert care.calls[0].body == {"concurrencyStamp": "s1"}
    consents.revoke_consent(
        care, "c-1", reason="", without_reason="Sin indicar motivo", stamp="s1", operation="op-2"
    )
    assert [call.operation for call in care.calls[1:]] == ["op-2", "op-2-reason"]
    assert care.calls[2].body == {"concurrencyStamp": "s1", "reason": "Sin indicar motivo"}
    care.answers.append(Invalid({"toldAt": ["invalid"]}))
    with pytest.raises(Invalid):
        consents.revoke_consent(care, "c-1", reason="", stamp="s1")


def test_a_new_form_is_one_operation(care):
    care.answers.append(MADE)
    assert consents.create_consent(care, DRAFT, operation="op-3").id == "c-9"
    assert [call.operation for call in care.calls] == ["op-3"]


def test_after_an_empty_answer_the_new_form_is_searched_for(care):
    older = {**MADE, "id": "c-8", "creationTime": "2026-11-26T09:30:00Z"}
    care.answers.extend(
        [None, {"totalCount": 3, "items": [older, MADE, {**MADE, "id": "c-10", "title": "Other"}]}]
    )
    assert consents.create_consent(care, DRAFT).id == "c-9"
    assert care.calls[1].query["PatientId"] == "p"


def test_a_form_without_a_creation_time_counts_as_the_oldest(care):
    unknown = {**MADE, "id": "c-7", "creationTime": None}
    first = {**MADE, "id": "c-8", "creationTime": "1971-01-01T00:00:00Z"}
    for items in ([unknown, first], [first, unknown]):
        care.answers.extend([None, {"items": items}])
        assert consents.create_consent(care, DRAFT).id == "c-8"
    care.answers.extend([None, {"items": [unknown]}])
    assert consents.create_consent(care, DRAFT).id == "c-7"


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Embryo transfer"},
        {"version": "4"},
        {"patientId": "q"},
        {"kind": "Storage"},
        {"episodeId": None},
        {"procedureDate": None},
        {"requiredSigners": []},
        {"requiredSigners": [{"role": "Patient", "personId": "daniel", "name": "D. Hart", "order": 1}]},
        {"requiredSigners": [{"role": "Donor", "personId": "amelia", "name": "A. Hart", "order": 1}]},
        {"status": "Superseded"},
    ],
)
def test_a_form_that_differs_is_not_taken_for_the_new_one(care, change):
    care.answers.extend([None, {"items": [{**MADE, **change}]}])
    assert consents.create_consent(care, DRAFT) is None


def test_an_answer_that_is_no_form_is_a_bad_response(care):
    care.answers.append({"succeeded": True})
    with pytest.raises(BadResponse):
        sign(care)


@pytest.mark.parametrize(("whose", "name"), [("p", "Amelia Hart"), ("another", "")])
def test_a_patients_name_is_taken_from_a_form_of_theirs_alone(care, whose: str, name: str) -> None:
    care.answers.append({"items": [{**FORM, "patientId": whose, "patientName": "Amelia Hart"}]})
    assert consents.name_on_form(care, "p") == name
