"""Webhook signatures: over the raw body, with a time window and several secrets; and repeated calls."""

from __future__ import annotations

import http.client
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
import requests
from standardwebhooks import Webhook

from portal.careservice.ids import new_id
from portal.careservice.webhooks.signature import new_secret
from tests.careservice.webhooks.conftest import SECRETS_OF
from tests.support.together import at_once

OLD_SECRET, NEW_SECRET = SECRETS_OF["/smsinbound"]

FORM = "application/x-www-form-urlencoded"
ADDRESSES = ("/smsinbound", "/emailinbound", "/api/payment/webhook/payment-provider")


def sms(**fields: str) -> bytes:
    return urlencode(
        {
            "MessageSid": f"SM{new_id()}",
            "From": "+447700900182",
            "To": "+447700900321",
            "Body": "Grüße",
            "NumMedia": "0",
            **fields,
        }
    ).encode()


@pytest.mark.parametrize("path", ADDRESSES)
@pytest.mark.parametrize(
    "changes",
    [
        {"webhook_signature": ""},
        {"webhook_signature": "v1,"},
        {"webhook_signature": "v1"},
        {"webhook_signature": "v1,AAAA"},
        {"webhook_signature": "v1,ÿ"},
        {"webhook_signature": "v1a,AAAA v2,AAAA"},
        {"webhook_timestamp": "0"},
        {"webhook_timestamp": ""},
        {"webhook_timestamp": "nan"},
        {"webhook_timestamp": "1e9"},
        {"webhook_timestamp": "9" * 40},
        {"webhook_id": "another"},
        {"webhook_id": ""},
    ],
)
def test_without_a_valid_signature_the_response_is_401(
    hooks: Any, path: str, changes: dict[str, str]
) -> None:
    body, kind = b"{}", "application/json"
    headers = dict(changes)
    webhook_id = headers.pop("webhook_id", None)
    if webhook_id is not None:
        signed = hooks.post(path, body, kind, **{"webhook-id": webhook_id})
    else:
        encoded = {name: value.encode("latin-1") for name, value in headers.items()}
        signed = hooks.post(path, body, kind, **encoded)
    assert (signed.status_code, signed.content) == (401, b"")


def test_a_bearer_token_does_not_replace_a_signature(hooks: Any) -> None:
    answer = requests.post(
        hooks.base_url + "/smsinbound",
        data=sms(),
        headers={"Authorization": f"Bearer {hooks.api.token('ada')}", "Content-Type": FORM},
        timeout=10,
    )
    assert answer.status_code == 401


def test_a_body_that_does_not_match_its_signature_is_refused(hooks: Any) -> None:
    signed = Webhook(NEW_SECRET).sign("msg_1", datetime.now(UTC), sms().decode())
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(datetime.now(UTC).timestamp())),
        "webhook-signature": signed,
        "Content-Type": FORM,
    }
    changed = sms(Body="other")
    answer = requests.post(hooks.base_url + "/smsinbound", data=changed, headers=headers, timeout=10)
    assert answer.status_code == 401


def test_signatures_match_the_standardwebhooks_package(hooks: Any) -> None:
    moment, body = datetime.now(UTC), sms()
    headers = {
        "webhook-id": f"msg_{new_id()}",
        "webhook-timestamp": str(int(moment.timestamp())),
        "Content-Type": FORM,
    }
    signature = Webhook(NEW_SECRET).sign(headers["webhook-id"], moment, body.decode())
    headers["webhook-signature"] = f"v2,x {signature} v1,AAAA"
    answer = requests.post(hooks.base_url + "/smsinbound", data=body, headers=headers, timeout=10)
    assert answer.json()["accepted"] is True


@pytest.mark.parametrize(("ago", "status"), [(280, 200), (-280, 200), (330, 401), (-330, 401)])
def test_a_timestamp_may_be_off_by_five_minutes_either_way(hooks: Any, ago: float, status: int) -> None:
    assert hooks.post("/smsinbound", sms(), FORM, ago=ago).status_code == status


@pytest.mark.parametrize(
    ("secret", "status"),
    [(OLD_SECRET, 200), (NEW_SECRET, 200), (new_secret(), 401)],
    ids=["older", "newer", "unknown"],
)
def test_each_current_secret_is_accepted(hooks: Any, secret: str, status: int) -> None:
    assert hooks.post("/smsinbound", sms(), FORM, secret=secret).status_code == status


def test_a_repeated_call_has_one_effect_and_the_same_response(hooks: Any) -> None:
    webhook_id = f"msg_{new_id()}"
    first = hooks.sms(webhook_id=webhook_id, Body="Once only, please")
    again = hooks.sms(webhook_id=webhook_id, Body="Once only, please")
    assert (again.status_code, again.content) == (first.status_code, first.content)
    said = [message["body"] for thread in hooks.conversations("amelia") for message in thread["messages"]]
    assert said.count("Once only, please") == 1


def test_concurrent_identical_calls_have_one_effect(hooks: Any) -> None:
    webhook_id = f"msg_{new_id()}"
    answers = at_once(*[partial(hooks.sms, webhook_id=webhook_id, Body="At once", MessageSid="SM")] * 6)
    assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}
    said = [message["body"] for thread in hooks.conversations("amelia") for message in thread["messages"]]
    assert said.count("At once") == 1


@pytest.mark.parametrize(
    ("path", "size"),
    [
        ("/smsinbound", 64 * 1024 + 1),
        ("/api/payment/webhook/payment-provider", 256 * 1024 + 1),
        ("/emailinbound", 25 * 1024 * 1024 + 1),
    ],
)
def test_a_body_that_is_too_large_is_413(hooks: Any, path: str, size: int) -> None:
    address = urlsplit(hooks.base_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)
    connection.request("POST", path, b"x" * size, {"Content-Type": FORM})
    assert connection.getresponse().status == 413
    connection.close()
    chunks = (b"x" * min(65536, size - start) for start in range(0, size, 65536))
    with requests.post(hooks.base_url + path, data=chunks, timeout=20, stream=True) as answer:
        assert answer.status_code == 413


@pytest.mark.parametrize(
    ("path", "kind", "body"),
    [
        ("/smsinbound", FORM, b""),
        ("/smsinbound", "application/json", b"{}"),
        ("/smsinbound", "", sms()),
        ("/smsinbound", FORM, sms(NumMedia="many")),
        ("/smsinbound", FORM, sms(From="")),
        ("/smsinbound", FORM, sms(To="+1\n2")),
        ("/emailinbound", "multipart/form-data", b"x"),
        ("/emailinbound", "multipart/form-data; boundary=x", b"no part"),
        ("/emailinbound", "multipart/form-data; boundary=x", b"--x\r\nbroken"),
        ("/emailinbound", FORM, b"to=a@riverside.example"),
        ("/emailinbound", FORM, b"from=a@b.example"),
        ("/api/payment/webhook/payment-provider", "application/json", b"{"),
        ("/api/payment/webhook/payment-provider", "application/json", b"[]"),
        ("/api/payment/webhook/payment-provider", "application/json", b"[" * 100_000),
        ("/api/payment/webhook/payment-provider", "application/json", b'{"id": 1, "type": "x"}'),
        (
            "/api/payment/webhook/payment-provider",
            "application/json",
            b'{"id": "1", "type": "payment.failed"}',
        ),
        ("/api/payment/webhook/payment-provider", FORM, b'{"id": "1", "type": "x"}'),
    ],
)
def test_a_malformed_body_is_400(hooks: Any, path: str, kind: str, body: bytes) -> None:
    answer = hooks.post(path, body, kind)
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["validationErrors"]
