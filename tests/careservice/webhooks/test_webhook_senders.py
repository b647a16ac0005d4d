"""Senders of inbound messages: verified or not, charsets, message ids, secrets of each endpoint, Twilio's signature."""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import requests

from portal.careservice.ids import new_id, sample_id
from portal.careservice.webhooks.payloads import mail
from portal.careservice.webhooks.sender import multipart
from portal.careservice.webhooks.senders import is_verified, of_headers, of_parse_service
from tests.careservice.webhooks.conftest import RECEIVER, SECRETS_OF, TWILIO_TOKEN
from tests.careservice.webhooks.test_webhook_effects import payment, reply_address

AMELIA = "amelia@riverside.example"
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("spf", "dkim", "envelope", "verified"),
    [
        ("pass", "", "amelia@riverside.example", True),
        ("pass", "", "bounce@mail.riverside.example", True),
        ("pass", "", "x@evil.example", False),
        ("pass", "", "x@example", False),
        ("pass", "", "x@notriverside.example", False),
        ("softfail", "", "amelia@riverside.example", False),
        ("", "", "amelia@riverside.example", False),
        ("fail", "{@riverside.example : pass}", "x@relay.example", True),
        ("fail", "{@evil.example : pass, @riverside.example : fail}", "x@relay.example", False),
        ("none", "none", "", False),
    ],
)  # fmt: skip
def test_spf_and_dkim_count_only_for_the_senders_domain(
    spf: str, dkim: str, envelope: str, verified: bool
) -> None:
    assert is_verified(AMELIA, of_parse_service({"SPF": spf, "dkim": dkim}, envelope)) is verified


@pytest.mark.parametrize(
    ("header", "verified"),
    [
        (f"{RECEIVER}; dmarc=pass (p=none) header.from=riverside.example", True),
        (f"{RECEIVER} 1; spf=fail smtp.mailfrom=a@b.example; dkim=pass header.d=riverside.example", True),
        (f"{RECEIVER}; dmarc=fail header.from=riverside.example; spf=pass smtp.mailfrom={AMELIA}", False),
        (f"{RECEIVER}; dmarc=pass header.from=evil.example", False),
        (f"{RECEIVER}; dmarc=pass", True),
        (f"{RECEIVER}; dmarc=fail; spf=pass smtp.mailfrom={AMELIA}", False),
        (f"{RECEIVER}; spf=pass smtp.mailfrom=x@evil.example", False),
        (f"other.example; note={RECEIVER}; dmarc=pass header.from=riverside.example", False),
        (f"({RECEIVER};) evil.example; dmarc=pass header.from=riverside.example", False),
        (f"{RECEIVER}; none", False),
        ("", False),
    ],
)
def test_only_the_clinics_own_mail_server_is_trusted(header: str, verified: bool) -> None:
    assert is_verified(AMELIA, of_headers([header], RECEIVER)) is verified
    assert is_verified(AMELIA, of_headers([header], "")) is False


def test_a_forged_email_is_nobodys_and_names_who_it_may_be(hooks: Any) -> None:
    answer = hooks.email(SPF="fail", text="Please discard them").json()
    thread = hooks.conversation_of("nora", answer["id"])
    message = hooks.message("nora", answer["id"])
    assert (message["senderVerified"], message["senderId"], message["senderName"]) == (False, None, AMELIA)
    assert (thread["patientId"], thread["prospectId"]) == (None, None)
    assert [one["name"] for one in thread["possibleSenders"]] == ["Amelia Hart"]
    assert all(one["id"] != thread["id"] for one in hooks.conversations("amelia"))
    again = hooks.email(SPF="fail", text="Really").json()
    assert hooks.conversation_of("nora", again["id"])["id"] == thread["id"]


def seen_by(hooks: Any, who: str, message_id: str) -> bool:
    threads = hooks.conversations(who)
    return any(message["id"] == message_id for thread in threads for message in thread["messages"])


def test_an_unverified_reply_is_matched_only_by_the_reply_address_of_ones_own_conversation(
    hooks: Any,
) -> None:
    wanted = sample_id("conversation", "amelia-injection")
    answer = hooks.email(to=reply_address("amelia-injection"), SPF="fail").json()
    assert hooks.conversation_of("amelia", answer["id"])["id"] == wanted
    message = hooks.message("nora", answer["id"])
    assert (message["senderVerified"], message["senderId"]) == (False, None)
    known = hooks.conversations("amelia")[0]["messages"][0]["id"]
    answer = hooks.email(headers=f"In-Reply-To: <{known}@riverside.example>", SPF="none").json()
    assert not seen_by(hooks, "amelia", answer["id"])
    shared = hooks.email(to=reply_address("amelia-scan"), SPF="fail").json()
    assert not seen_by(hooks, "amelia", shared["id"]) and not seen_by(hooks, "daniel", shared["id"])


def test_an_email_to_nobody_in_particular_is_not_read_by_the_partner(hooks: Any) -> None:
    for sender in (AMELIA, "daniel@riverside.example"):
        answered = hooks.email(to=reply_address("amelia-scan"), **{"from": sender}).json()
        assert seen_by(hooks, "amelia", answered["id"]) and seen_by(hooks, "daniel", answered["id"]), sender
    for message in (hooks.email().json(), hooks.sms().json()):
        assert seen_by(hooks, "amelia", message["id"]) and not seen_by(hooks, "daniel", message["id"])


def test_a_verified_email_is_marked_verified_and_a_text_has_no_mark(hooks: Any) -> None:
    sent = hooks.email(
        SPF="", headers=f"Authentication-Results: {RECEIVER}; dmarc=pass header.from=riverside.example"
    )
    assert hooks.message("amelia", sent.json()["id"])["senderVerified"] is True
    assert hooks.message("amelia", hooks.sms().json()["id"])["senderVerified"] is None


def test_an_email_is_decoded_in_its_declared_charsets(hooks: Any) -> None:
    body, kind = multipart({"to": "hello@riverside.example", "from": AMELIA, "text": "TEXT", "subject": "SUBJECT",
                            "SPF": "pass", "envelope": f'{{"to": [], "from": "{AMELIA}"}}',
                            "charsets": '{"to": "UTF-8", "text": "windows-1251", "subject": "iso-8859-1"}'}, [])  # fmt: skip
    body = body.replace(b"TEXT", "Здравствуйте".encode("windows-1251"))
    answer = hooks.post("/emailinbound", body, kind).json()
    assert hooks.message("amelia", answer["id"])["body"].endswith("\n\nЗдравствуйте")


@pytest.mark.parametrize(
    ("charset", "status"), [('"no-such"', 200), ('"rot13"', 200), ('"idna"', 200), ("[1]", 200)]
)
def test_an_email_with_an_unknown_charset_is_accepted(hooks: Any, charset: str, status: int) -> None:
    assert hooks.email(charsets=f'{{"text": {charset}}}', text="Grüße").status_code == status


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("charsets", "{"),
        ("envelope", "{"),
        ("from", f"{AMELIA}, daniel@riverside.example"),
        ("text", "a" * 100_001),
    ],
)
def test_an_email_that_cannot_be_read_whole_is_nobodys_surely(field: str, value: str) -> None:
    given = {
        "from": AMELIA,
        "to": "hello@riverside.example",
        "text": "Hello",
        "dkim": "{@riverside.example : pass}",
    }
    assert mail(*multipart(given, [])).is_verified
    taken = mail(*multipart(given | {field: value}, []))
    assert (taken.faults, taken.is_verified, taken.original is None) == ((field,), False, False)


def test_an_email_with_unreadable_charsets_is_kept_for_staff(hooks: Any) -> None:
    answer = hooks.email(charsets="{", text="Hello?")
    assert answer.status_code == 200
    message = hooks.message("nora", answer.json()["id"])
    assert message["body"] == "Hello?\n\n[Couldn't be read: charsets. The original is attached.]"
    assert [one["name"] for one in message["attachments"]] == ["original message.txt"]
    assert not seen_by(hooks, "amelia", answer.json()["id"])


def test_a_text_delivered_again_under_another_id_is_one_message(hooks: Any) -> None:
    sid = f"SM{new_id()}"
    first, again = hooks.sms(MessageSid=sid, Body="Once"), hooks.sms(MessageSid=sid, Body="Once")
    assert first.json()["accepted"] is True
    assert again.json() == {"accepted": False, "id": None}


def test_an_email_delivered_again_under_another_id_is_one_message(hooks: Any) -> None:
    headers = f"Message-ID: <{new_id()}@mail.example>"
    forged = hooks.email(headers=headers, SPF="fail").json()
    first, again = hooks.email(headers=headers).json(), hooks.email(headers=headers).json()
    assert (forged["accepted"], first["accepted"], again["accepted"]) == (True, True, False)
    assert hooks.email(headers=headers, SPF="fail").json()["accepted"] is False


@pytest.mark.parametrize("path", SECRETS_OF)
def test_an_endpoints_secret_is_refused_at_another_endpoint(hooks: Any, path: str) -> None:
    body, kind = urlencode({"MessageSid": "x", "From": "+1", "To": "+1", "Body": ""}).encode(), FORM
    for other, both in SECRETS_OF.items():
        answers = {hooks.post(path, body, kind, secret=secret).status_code for secret in both}
        assert (answers == {401}) is (other != path)


def test_one_id_at_two_endpoints_counts_as_two_calls(hooks: Any) -> None:
    webhook_id = f"msg_{new_id()}"
    text = hooks.sms(webhook_id=webhook_id).json()
    paid = hooks.payment(payment(), webhook_id=webhook_id).json()
    assert text["accepted"] is paid["accepted"] is True
    assert text["id"] != paid["id"]


def twilio(hooks: Any, token: str = TWILIO_TOKEN, query: str = "", **fields: str) -> requests.Response:
    """A text as Twilio posts it, signed as https://www.twilio.com/docs/usage/security says."""
    form = {
        "MessageSid": f"SM{new_id()}",
        "From": "+447700900182",
        "To": "+447700900321",
        "Body": "Ça va?",
        **fields,
    }
    url = f"{hooks.base_url}/smsinbound{query}"
    content = url + "".join(name + form[name] for name in sorted(form))
    signature = base64.b64encode(hmac.new(token.encode(), content.encode(), hashlib.sha1).digest()).decode()
    headers = {"X-Twilio-Signature": signature, "Content-Type": FORM}
    return requests.post(url, data=urlencode(form), headers=headers, timeout=10)


def test_twilios_own_signature_is_accepted(hooks: Any) -> None:
    sid = f"SM{new_id()}"
    before = len(hooks.notifications("nora", "MessageReceived"))
    answers = [
        twilio(hooks, MessageSid=sid, AccountSid="AC1", NumMedia="0"),
        twilio(hooks, "", "?a=b&c", MessageSid=sid),
    ]
    assert answers[1].status_code == 401
    assert (answers[0].status_code, answers[0].text) == (200, "<Response/>")
    assert answers[0].headers["Content-Type"].startswith("application/xml")
    assert twilio(hooks, query="?a=b", MessageSid=sid).text == "<Response/>"
    assert len(hooks.notifications("nora", "MessageReceived")) == before + 1


def test_twilios_published_example_has_its_published_signature() -> None:
    from werkzeug.datastructures import MultiDict

    from portal.careservice.webhooks.signature import is_signed_by_twilio

    form = MultiDict(
        {"CallSid": "CA1234567890ABCDE", "Caller": "+14158675310", "Digits": "1234", "From": "+14158675310",
         "To": "+18005551212"}
    )  # fmt: skip
    url = "https://example.com/myapp.php?foo=1&bar=2"
    assert is_signed_by_twilio("12345", url, form, "L/OH5YylLD5NRKLltdqwSvS0BnU=")
    assert not is_signed_by_twilio("12345", url, form, "L/OH5YylLD5NRKLltdqwSvS0BnV=")


def test_a_twilio_signature_counts_only_for_the_clinic_of_its_token(hooks: Any) -> None:
    assert twilio(hooks, "another token").status_code == 401
    sid, other = f"SM{new_id()}", "+447700900322"
    assert twilio(hooks, MessageSid=sid, To=other).status_code == 200
    assert hooks.sms(MessageSid=sid, To=other).json()["id"], (
        "the clinic's own secret brings it: it hadn't come"
    )


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"CARE_WEBHOOK_SECRETS": "whsec_" + "A" * 43 + "="}, "CARE_SMS_SECRETS"),
        ({"CARE_SMS_SECRETS": "short"}, "CARE_SMS_SECRETS: a webhook secret"),
        ({"CARE_SMS_SECRETS": "A" * 44, "CARE_EMAIL_SECRETS": "A" * 44}, "two of them share a secret"),
        ({"CARE_TWILIO_AUTH_TOKENS": "riverside"}, "TENANT=TOKEN"),
    ],
)
def test_invalid_settings_are_reported_at_start(
    tmp_path: Path, variables: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from portal.careservice.__main__ import main

    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match=words):
        main(["--database", f"sqlite:///{tmp_path}/care.db", "--port", "0"])
