"""Accounts: changes apply to existing tokens at once."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.orm import Session

from portal.careservice.domain import notifications
from portal.careservice.domain.consents.forms import ConsentForm
from portal.careservice.domain.enumerations import ConsentStatus
from portal.careservice.domain.inbound.sms import take_text_message
from portal.careservice.domain.patients import Patient
from portal.careservice.identity.tables import Person
from portal.careservice.ids import new_id, sample_id
from portal.careservice.webhooks.payloads import TextMessage
from tests.careservice.api.calls import CONSENTS, EPISODES, GRACE_EPISODE, form, patient, person, signature
from tests.careservice.api.clinic import Clinic

JOSEPH = patient("joseph")
PATH = f"/api/care/patients/{JOSEPH}"
ACCOUNT = sample_id("person", "joseph")


def set_account(clinic: Clinic, who: str, **changes: Any) -> None:
    def change(session: Session) -> None:
        for name, value in changes.items():
            setattr(session.get_one(Person, sample_id("person", who)), name, value)

    clinic.change(change)


@pytest.mark.parametrize("who", ["amelia", "nora"])
def test_a_disabled_accounts_tokens_are_refused_at_once(clinic: Clinic, who: str) -> None:
    token = clinic.token(who)
    assert clinic.call(token, "GET", CONSENTS).status_code == 200
    set_account(clinic, who, is_active=False)
    refused = clinic.call(token, "GET", CONSENTS)
    assert (refused.status_code, refused.data) == (401, b"")
    assert refused.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'


def test_a_removed_role_ends_the_tokens_that_name_it(clinic: Clinic) -> None:
    token = clinic.token("nora")
    assert clinic.call(token, "GET", CONSENTS).json["totalCount"] > 10
    for roles in (["lab"], ["patient"], []):
        set_account(clinic, "nora", roles=roles)
        refused = clinic.call(token, "GET", CONSENTS)
        assert (refused.status_code, refused.data) == (401, b"")
        assert refused.headers["WWW-Authenticate"] == 'Bearer error="invalid_token"'
    assert clinic("nora", "GET", CONSENTS).status_code == 403, "a newer one of no role"
    set_account(clinic, "nora", roles=["patient"])
    assert clinic.get("nora", CONSENTS)["totalCount"] < 10
    answer = clinic("nora", "POST", CONSENTS, form())
    assert (answer.status_code, answer.data) == (403, b"")


def test_one_of_two_roles_removed_ends_the_tokens_that_name_it(clinic: Clinic) -> None:
    set_account(clinic, "elif", roles=["embryologist", "nurse"])
    token = clinic.token("elif")
    assert clinic.call(token, "GET", CONSENTS).status_code == 200
    set_account(clinic, "elif", roles=["embryologist"])
    assert clinic.call(token, "GET", CONSENTS).status_code == 401


def test_an_added_role_counts_for_existing_tokens(clinic: Clinic) -> None:
    token = clinic.token("elif")
    assert clinic.call(token, "POST", CONSENTS, form()).status_code == 403
    set_account(clinic, "elif", roles=["embryologist", "nurse"])
    assert clinic.call(token, "POST", CONSENTS, form()).status_code == 200


# Binding a record to an account


@pytest.fixture
def bindable(clinic: Clinic) -> Clinic:
    """Joseph has a record, and since today an account with the same e-mail."""

    def add(session: Session) -> None:
        session.add(account())

    clinic.change(add)
    return clinic


def account(**changes: Any) -> Person:
    details: dict[str, Any] = {
        "id": ACCOUNT, "tenant_id": sample_id("tenant", "riverside"), "username": "joseph",
        "password_hash": "-", "given_name": "Joseph", "family_name": "Okafor-D'Angelo",
        "email": "Joseph@Riverside.example", "email_verified": True, "locale": "en", "roles": ["patient"],
    }  # fmt: skip
    return Person(**(details | changes))


def put(clinic: Clinic, who: str, **changes: Any) -> Any:
    record = clinic.get("nora", f"{EPISODES}/{GRACE_EPISODE}")["partner"]
    return clinic(who, "PUT", PATH, {**record, **changes})


def refusal(answer: Any) -> str:
    assert answer.status_code == 403, answer.text
    return str(answer.json["error"]["code"])


def test_an_administrator_binds_a_record_once(bindable: Clinic) -> None:
    assert refusal(put(bindable, "nora", userId=ACCOUNT)) == "ClientelePortal:FieldNotYours"
    assert bindable("joseph", "GET", f"{EPISODES}/{GRACE_EPISODE}").status_code == 404
    bound = put(bindable, "ada", userId=ACCOUNT)
    assert (bound.status_code, bound.json["userId"]) == (200, ACCOUNT)
    for other in (None, sample_id("person", "grace"), new_id()):
        for who in ("ada", "nora"):
            assert refusal(put(bindable, who, userId=other)) == "ClientelePortal:AccountBound"
    assert put(bindable, "nora", preferredName="Joe").json["userId"] == ACCOUNT
    record = bindable.get("nora", f"{EPISODES}/{GRACE_EPISODE}")["partner"]
    del record["userId"]
    kept = bindable("nora", "PUT", PATH, {**record, "preferredName": "Joss"})
    assert (kept.json["userId"], kept.json["preferredName"]) == (ACCOUNT, "Joss")


def test_the_person_who_changed_the_email_may_not_bind_the_record(bindable: Clinic) -> None:
    def code(**changes: Any) -> str:
        return refusal(put(bindable, "ada", **changes))

    assert code(userId=ACCOUNT, email="joseph@riverside.EXAMPLE") == "ClientelePortal:EmailChangedByYou"
    assert put(bindable, "ada", email="joseph@riverside.EXAMPLE").status_code == 200
    assert code(userId=ACCOUNT) == "ClientelePortal:EmailChangedByYou"
    assert put(bindable, "ada", preferredName="Joe").status_code == 200
    assert code(userId=ACCOUNT) == "ClientelePortal:EmailChangedByYou"
    assert put(bindable, "nora", email="joseph@riverside.example").status_code == 200
    assert put(bindable, "ada", userId=ACCOUNT).status_code == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"tenant_id": sample_id("tenant", "harbour")},
        {"roles": ["patient", "nurse"]},
        {"roles": ["nurse"]},
        {"roles": []},
        {"email_verified": False},
        {"email": "somebody@riverside.example"},
        {"is_active": False},
    ],
)
def test_a_record_is_bound_only_to_an_account_with_its_verified_email(
    bindable: Clinic, changes: dict[str, Any]
) -> None:
    set_account(bindable, "joseph", **changes)
    answer = put(bindable, "ada", userId=ACCOUNT)
    assert answer.status_code == 400
    assert answer.json["error"]["validationErrors"][0]["members"] == ["userId"]


def test_an_unknown_account_or_one_of_another_record_is_not_bound(bindable: Clinic) -> None:
    assert put(bindable, "ada", userId=new_id()).status_code == 400

    def take(session: Session) -> None:
        session.get_one(Patient, patient("background-3")).user_id = ACCOUNT

    bindable.change(take)
    assert put(bindable, "ada", userId=ACCOUNT).status_code == 400


def test_a_record_without_an_email_cannot_be_bound(bindable: Clinic) -> None:
    set_account(bindable, "joseph", email="")
    assert put(bindable, "nora", email=None).status_code == 200
    assert put(bindable, "ada", userId=ACCOUNT).status_code == 400


def test_a_patient_may_not_bind_a_record(clinic: Clinic) -> None:
    record = clinic.get("amelia", f"{EPISODES}/{sample_id('episode', 'amelia-1')}")["patient"]
    path = f"/api/care/patients/{record['id']}"
    assert (
        refusal(clinic("amelia", "PUT", path, {**record, "userId": None})) == "ClientelePortal:AccountBound"
    )


def test_binding_replaces_the_record_by_the_account_among_signers_and_in_no_signature(
    bindable: Clinic,
) -> None:
    def signers(form: Any) -> list[str]:
        return [one["personId"] for one in form["requiredSigners"]]

    signed_path = f"{CONSENTS}/{sample_id('consent', 'grace-disposition')}"
    waiting_path = f"{CONSENTS}/{sample_id('consent', 'grace-renewal')}"
    half_path = f"{CONSENTS}/{sample_id('consent', 'joseph-storage')}"

    def lack_a_signature(session: Session) -> None:
        waits = session.get_one(ConsentForm, sample_id("consent", "joseph-storage"))
        waits.status = ConsentStatus.PARTIALLY_SIGNED

    bindable.change(lack_a_signature)
    before = bindable.get("nora", waiting_path)
    assert signers(before) == [person("grace"), JOSEPH]
    half = bindable("grace", "POST", f"{waiting_path}/sign", signature(before)).json
    assert half["status"] == "PartiallySigned"
    kept = {path: bindable.get("nora", path) for path in (signed_path, half_path)}
    assert all(JOSEPH in signers(one) for one in kept.values())
    assert put(bindable, "ada", userId=ACCOUNT).status_code == 200
    for path, before in kept.items():
        after = bindable.get("nora", path)
        assert ACCOUNT in signers(after) and JOSEPH not in signers(after)
        assert (after["signatures"], after.get("seal")) == (before["signatures"], before.get("seal"))
        assert JOSEPH in [one["personId"] for one in after["signatures"]]
    waiting = bindable.get("joseph", waiting_path)
    assert signers(waiting) == [person("grace"), ACCOUNT]
    assert waiting["signatures"] == half["signatures"]
    assert waiting["concurrencyStamp"] != half["concurrencyStamp"]
    body = signature(waiting, "Partner", signature="joseph okafor dangelo")
    done = bindable("joseph", "POST", f"{waiting_path}/sign", body)
    assert (done.status_code, done.json["status"]) == (200, "Signed"), done.text


def test_who_signed_on_paper_sees_and_withdraws_it_by_the_account_of_later(bindable: Clinic) -> None:
    path = f"{CONSENTS}/{sample_id('consent', 'joseph-storage')}"
    assert put(bindable, "ada", userId=ACCOUNT).status_code == 200
    kept = bindable.get("joseph", path)
    assert kept["status"] == "Signed"
    again = bindable("joseph", "POST", f"{path}/sign", signature(kept, "GameteProvider"))
    assert refusal(again) == "ClientelePortal:AlreadySigned"
    revoked = bindable("joseph", "POST", f"{path}/revoke", {"concurrencyStamp": kept["concurrencyStamp"]})
    assert (revoked.status_code, revoked.json["status"]) == (200, "Revoked"), revoked.text
    assert revoked.json["revokedById"] == ACCOUNT


@pytest.mark.parametrize("name", ["Joseph Okafor-D'Angelo", "Joseph the Other"])
def test_what_was_signed_on_paper_is_not_asked_for_again(bindable: Clinic, name: str) -> None:
    """One of the record's signature and name, in the record's role; not another's who is no signer of it."""

    def lack_a_signature(session: Session) -> None:
        waits = session.get_one(ConsentForm, sample_id("consent", "joseph-storage"))
        waits.status = ConsentStatus.PARTIALLY_SIGNED
        for given in waits.signatures:
            given.name = name if given.person_id == JOSEPH else given.name

    bindable.change(lack_a_signature)
    assert put(bindable, "ada", userId=ACCOUNT).status_code == 200
    waiting = bindable.get("joseph", f"{CONSENTS}?WaitsFor={ACCOUNT}")["items"]
    is_asked = sample_id("consent", "joseph-storage") in [one["id"] for one in waiting]
    assert is_asked == (name != "Joseph Okafor-D'Angelo")


def test_the_account_has_what_the_record_was_told_and_wrote(bindable: Clinic) -> None:
    number = "+447700900777"

    def write(session: Session) -> None:
        joseph = session.get_one(Patient, JOSEPH)
        joseph.phone_number, joseph.phone_number_verified = number, True
        joseph.language = "es-ES"
        session.flush()
        text = TextMessage(sid="SM1", sender=number, to="+447700900321", body="May I come along?", media=0)
        take_text_message(session, text)
        about = ("ConsentForm", sample_id("consent", "grace-renewal"))
        notifications.announce(
            session, tenant_id=joseph.tenant_id, who=[JOSEPH], kind="ConsentRequested", entity=about
        )

    bindable.change(write)
    assert put(bindable, "ada", userId=ACCOUNT).status_code == 200
    (talk,) = bindable.get("joseph", "/api/messaging/getconversations")["items"]
    assert (talk["unreadCount"], talk["messages"][0]["senderId"]) == (0, ACCOUNT), "it is his own"
    assert ACCOUNT in [one["id"] for one in talk["participants"]]
    told = bindable.get("joseph", "/api/app/notification")["items"]
    titles = {one["type"]: one["title"] for one in told}
    assert titles["ConsentRequested"] == "Tienes un formulario disponible", "in the language of his letters"


def test_a_withdrawal_recorded_before_stays_the_persons(bindable: Clinic) -> None:
    path = f"{CONSENTS}/{sample_id('consent', 'joseph-storage')}"
    stamp = bindable.get("nora", path)["concurrencyStamp"]
    told = {"concurrencyStamp": stamp, "onBehalfOf": JOSEPH, "reason": "He said so."}
    assert bindable("nora", "POST", f"{path}/revoke", told).status_code == 200
    assert put(bindable, "ada", userId=ACCOUNT).status_code == 200
    assert bindable.get("nora", path)["onBehalfOf"] == ACCOUNT


def test_binding_changes_only_the_forms_that_name_the_record(bindable: Clinic) -> None:
    alone = form(
        patientId=JOSEPH,
        partnerId=None,
        episodeId=None,
        kind="Other",
        requiredSigners=[{"role": "Patient", "personId": JOSEPH, "order": 1}],
    )
    made = bindable("nora", "POST", CONSENTS, alone)
    assert made.status_code == 200, made.text

    def stamps() -> dict[str, str]:
        forms = bindable.get("nora", f"{CONSENTS}?MaxResultCount=200")["items"]
        return {one["id"]: one["concurrencyStamp"] for one in forms}

    before = stamps()
    assert put(bindable, "ada", userId=ACCOUNT).status_code == 200
    after = stamps()
    assert {id_ for id_, stamp in after.items() if before[id_] != stamp} == {
        made.json["id"],
        *(sample_id("consent", key) for key in ("grace-renewal", "grace-treatment", "grace-disposition")),
        sample_id("consent", "joseph-storage"),
    }
    (signer,) = bindable.get("joseph", f"{CONSENTS}/{made.json['id']}")["requiredSigners"]
    assert signer["personId"] == ACCOUNT


def test_people_sign_by_the_name_on_their_record_or_on_their_account(clinic: Clinic) -> None:
    set_account(clinic, "amelia", given_name="Millicent", family_name="Stone")
    for typed in ("Amelia Hart", "Millicent Stone"):
        made = clinic("nora", "POST", CONSENTS, form()).json
        body = signature(made, signature=typed)
        assert clinic("amelia", "POST", f"{CONSENTS}/{made['id']}/sign", body).status_code == 200
    made = clinic("nora", "POST", CONSENTS, form()).json
    body = signature(made, signature="Millicent Hart")
    assert clinic("amelia", "POST", f"{CONSENTS}/{made['id']}/sign", body).status_code == 400
