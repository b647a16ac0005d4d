"""What a patient enters as a contact detail matches nothing until it is confirmed, by a code or by staff."""

from __future__ import annotations

import re
from typing import Any

import pytest

from portal.careservice.ids import sample_id
from tests.careservice.api.calls import GRACE_EPISODE
from tests.careservice.webhooks.test_webhook_senders import seen_by

AMELIAS = {"email": "amelia@riverside.example", "phoneNumber": "+447700900182"}


def record(hooks: Any, who: str, episode: str = GRACE_EPISODE) -> dict[str, Any]:
    return hooks.api.get(who, f"/api/patient-portal/episodes/{episode}")["patient"]


def save(hooks: Any, who: str, episode: str = GRACE_EPISODE, **changes: Any) -> Any:
    body = {**record(hooks, who, episode), **changes}
    return hooks.api(who, "PUT", f"/api/care/patients/{body['id']}", body)


def newest_code(hooks: Any, who: str = "grace") -> str:
    notices = [
        one for one in hooks.notifications(who, "AccountSecurity") if re.search(r"\d{4} \d{4}", one["body"])
    ]
    assert notices[0]["title"] == "Please confirm a contact detail"
    return re.search(r"\d{4} \d{4}", notices[0]["body"])[0]  # type: ignore[index]


@pytest.fixture(autouse=True)
def _restored(hooks: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
    before = record(hooks, "nora")
    yield
    kept = {name: before[name] for name in ("email", "emailVerified", "phoneNumber", "phoneNumberVerified")}
    save(hooks, "nora", **kept)
    save(hooks, "nora", **kept)


def test_entering_somebody_elses_details_reads_nothing_of_theirs(hooks: Any) -> None:
    answer = save(hooks, "grace", **AMELIAS)
    assert answer.status_code == 200
    changed = answer.json()
    assert (changed["emailVerified"], changed["phoneNumberVerified"]) == (False, False)
    for message in (hooks.email(), hooks.sms()):
        message_id = message.json()["id"]
        assert not seen_by(hooks, "grace", message_id)
        assert hooks.message("amelia", message_id)["senderId"] == sample_id("person", "amelia")


def test_only_staff_learn_that_another_record_has_the_same(hooks: Any) -> None:
    told = len(hooks.notifications("nora", "AccountSecurity"))
    free = save(hooks, "grace", phoneNumber="+447700900577", email="grace2@home.example")
    own = len(hooks.notifications("grace", "AccountSecurity"))
    taken = save(hooks, "grace", **AMELIAS)
    assert len(hooks.notifications("grace", "AccountSecurity")) == own + 2
    differing = {name for name, value in free.json().items() if taken.json()[name] != value}
    assert differing <= {"email", "phoneNumber", "concurrencyStamp", "lastModificationTime"}
    notices = hooks.notifications("nora", "AccountSecurity")
    if told == len(notices):  # told before, today
        notices = [one for one in notices if one["entityId"] == free.json()["id"]]
    assert "Grace Okafor, Amelia Hart" in notices[0]["body"]
    assert not any("Okafor" in one["body"] for one in hooks.notifications("amelia", "AccountSecurity"))


def test_a_text_with_the_code_confirms_the_number_it_comes_from(hooks: Any) -> None:
    number = "+447700900578"
    save(hooks, "grace", phoneNumber="07700 900578")
    before = hooks.sms(From=number, Body="Before").json()["id"]
    assert not seen_by(hooks, "grace", before)
    assert [one["name"] for one in hooks.conversation_of("nora", before)["possibleSenders"]] == [
        "Grace Okafor"
    ]
    hooks.sms(From="+447700900579", Body=newest_code(hooks))
    assert record(hooks, "grace")["phoneNumberVerified"] is False
    hooks.sms(From=number, Body=f"Here it is: {newest_code(hooks)}")
    assert record(hooks, "grace")["phoneNumberVerified"] is True
    after = hooks.sms(From=number, Body="After").json()["id"]
    assert hooks.message("grace", after)["senderId"] == sample_id("person", "grace")
    assert hooks.notifications("grace", "AccountSecurity")[0]["title"] == "A contact detail is confirmed"


def test_only_an_authenticated_email_with_the_code_confirms_an_address(hooks: Any) -> None:
    address = "grace3@home.example"
    save(hooks, "grace", email=address)
    sender = {"from": f"Grace <{address}>"}
    hooks.email(text=newest_code(hooks), SPF="fail", **sender)
    assert record(hooks, "grace")["emailVerified"] is False
    hooks.email(subject=f"Re: {newest_code(hooks).replace(' ', '')}", **sender)
    assert record(hooks, "grace")["emailVerified"] is True


def test_five_texts_with_wrong_codes_end_a_code_and_saving_gives_another(hooks: Any) -> None:
    number = "+447700900580"
    save(hooks, "grace", phoneNumber=number)
    code = newest_code(hooks)
    wrong = [f"{number:08}" for number in range(1, 9) if f"{number:08}" != code.replace(" ", "")][:5]
    for guess in wrong:
        hooks.sms(From=number, Body=guess)
    hooks.sms(From=number, Body=code)
    assert record(hooks, "grace")["phoneNumberVerified"] is False
    save(hooks, "grace", preferredName="G")
    assert newest_code(hooks) != code
    hooks.sms(From=number, Body=newest_code(hooks))
    assert record(hooks, "grace")["phoneNumberVerified"] is True


def test_numbers_in_ordinary_texts_are_one_wrong_code_and_hide_none(hooks: Any) -> None:
    number = "+447700900581"
    save(hooks, "grace", phoneNumber=number)
    code = newest_code(hooks)
    several = "Call me on 2079 4601, 2079 4602, 2079 4603, 2079 4604 or 2079 4605"
    hooks.sms(From=number, Body=several)
    for said in ("From 07700900581: hello", "00900581", "+65 2079 4601", "Card 2079 4601 2079 4602") * 2:
        hooks.sms(From=number, Body=said)
    save(hooks, "grace", preferredName="G")
    assert newest_code(hooks) == code, "it is still good"
    hooks.sms(From=number, Body=f"{several}. The code: {code}")
    assert record(hooks, "grace")["phoneNumberVerified"] is True


def test_patients_cannot_confirm_their_own_details(hooks: Any) -> None:
    save(hooks, "grace", phoneNumber="+447700900581")
    refused = save(hooks, "grace", phoneNumberVerified=True)
    assert refused.json()["error"]["code"] == "ClientelePortal:FieldNotYours"
    changed = save(hooks, "grace", phoneNumber="+447700900582", phoneNumberVerified=True)
    assert changed.json()["phoneNumberVerified"] is False


def test_staff_confirm_a_number_and_a_change_ends_that(hooks: Any) -> None:
    save(hooks, "grace", phoneNumber="+447700900583")
    assert save(hooks, "nora", phoneNumberVerified=True).json()["phoneNumberVerified"] is True
    assert save(hooks, "nora", preferredName="Gracie").json()["phoneNumberVerified"] is True
    changed = save(hooks, "nora", phoneNumber="+447700900584", phoneNumberVerified=None)
    assert changed.json()["phoneNumberVerified"] is False
    assert save(hooks, "nora", phoneNumber=None, phoneNumberVerified=True).status_code == 400


@pytest.mark.parametrize(
    ("contact", "value"), [("phoneNumber", "+447700900585"), ("email", "g5@home.example")]
)
def test_a_record_with_one_contact_detail_alone_gets_its_code(hooks: Any, contact: str, value: str) -> None:
    none = dict.fromkeys(("email", "emailVerified", "phoneNumber", "phoneNumberVerified"))
    assert save(hooks, "nora", **none).status_code == 200
    told = len(hooks.notifications("grace", "AccountSecurity"))
    save(hooks, "grace", **{contact: value})
    assert len(hooks.notifications("grace", "AccountSecurity")) == told + 1


def test_a_number_confirmed_for_two_people_is_nobodys_surely(hooks: Any) -> None:
    save(hooks, "nora", phoneNumber=AMELIAS["phoneNumber"], phoneNumberVerified=True)
    message = hooks.sms(Body="Which of us?").json()["id"]
    assert not seen_by(hooks, "amelia", message) and not seen_by(hooks, "grace", message)
    thread = hooks.conversation_of("nora", message)
    assert {one["name"] for one in thread["possibleSenders"]} == {"Amelia Hart", "Grace Okafor"}
    again = hooks.sms(Body="Hello?").json()["id"]
    assert hooks.conversation_of("nora", again)["id"] == thread["id"]


@pytest.mark.parametrize("number", ["-", "...", "()", " "])
def test_a_sender_without_digits_is_no_patient_without_a_number(hooks: Any, number: str) -> None:
    for empty in ("", " "):
        save(hooks, "grace", phoneNumber=empty)
        answer = hooks.sms(From=number, Body="Who am I?")
        if answer.status_code == 200:
            message = hooks.message("nora", answer.json()["id"])
            assert message["senderId"] != sample_id("person", "grace")
            assert not seen_by(hooks, "grace", answer.json()["id"])
