"""The document tells senders of webhooks all that the service reads of them, and when to come again."""

from __future__ import annotations

import inspect
import re

import pytest

from portal.careservice.openapi.webhook_operations import webhook_operation
from portal.careservice.webhooks import forms, payloads, senders

FORMS = {
    "/smsinbound": ("application/x-www-form-urlencoded", [payloads.text_message]),
    "/emailinbound": (
        "multipart/form-data",
        [payloads.mail, forms._decode, payloads._envelope, payloads._recipients, senders.of_parse_service],
    ),
}
READ = re.compile(r'(?:form\.(?:fields\.)?get\(|_required\(form, |form\.fields\[|name == )"?([A-Za-z]+)"')


@pytest.mark.parametrize("path", FORMS)
def test_every_field_that_is_read_is_documented(path: str) -> None:
    kind, readers = FORMS[path]
    schema = webhook_operation(path)["requestBody"]["content"][kind]["schema"]
    read = {name for reader in readers for name in READ.findall(inspect.getsource(reader))} - {"spf"}
    assert read - schema["properties"].keys() == set()
    assert len(read) > 3 and set(schema["required"]) <= read


@pytest.mark.parametrize("path", [*FORMS, "/api/payment/webhook/payment-provider"])
def test_a_call_that_was_not_accepted_is_told_when_to_come_again(path: str) -> None:
    operation = webhook_operation(path)
    assert operation["responses"]["503"]["headers"].keys() == {"Retry-After"}
    assert ("X-Twilio-Signature" in operation["description"]) == (path == "/smsinbound")
