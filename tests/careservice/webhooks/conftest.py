"""A care service that knows two webhook secrets, and calls signed with them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parseaddr
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
import requests

from portal.careservice.ids import new_id
from portal.careservice.webhooks.sender import multipart
from portal.careservice.webhooks.signature import new_secret, sign
from portal.demo.stack import DemoSetup
from tests.careservice.api.calls import Api
from tests.support.postgres import database_url
from tests.support.stack import SECRETS, CareService, free_port
from tests.support.tokens import TokenMaker

SECRETS_OF = {
    "/smsinbound": (new_secret(), new_secret()),
    "/emailinbound": (new_secret(), new_secret()),
    "/api/payment/webhook/payment-provider": (new_secret(), new_secret()),
}
"""By address, the older one first."""

TWILIO_TOKEN = "a token of Riverside's at Twilio"
RECEIVER = "mx.riverside.example"
"""How the clinic's mail server calls itself in Authentication-Results."""


class Hooks:
    """Signed calls to a running service, and what its people see of them."""

    def __init__(self, service: CareService) -> None:
        self.base_url = service.base_url
        self.api = Api(TokenMaker(service))

    def post(
        self,
        path: str,
        body: bytes,
        content_type: str,
        *,
        webhook_id: str | None = None,
        secret: str | None = None,
        ago: float = 0,
        **headers: str,
    ) -> requests.Response:
        """Post `body`, signed with `secret` (else the address's newer one) as if `ago` seconds ago; `headers` replace those made."""
        moment = datetime.now(UTC) - timedelta(seconds=ago)
        signed = sign(secret or SECRETS_OF[path][-1], webhook_id or f"msg_{new_id()}", moment, body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return requests.post(
            self.base_url + path,
            data=body,
            headers={"Content-Type": content_type, **signed, **named},
            timeout=20,
        )

    def sms(self, *, webhook_id: str | None = None, **fields: str) -> requests.Response:
        form = {
            "MessageSid": f"SM{new_id()}",
            "From": "+447700900182",
            "To": "+447700900321",
            "Body": "Hello",
            "NumMedia": "0",
            **fields,
        }
        return self.post(
            "/smsinbound",
            urlencode(form).encode(),
            "application/x-www-form-urlencoded",
            webhook_id=webhook_id,
        )

    def email(self, files: list[tuple[str, str, bytes]] | None = None, **fields: str) -> requests.Response:
        form = {
            "from": "Amelia Hart <amelia@riverside.example>",
            "to": "Riverside <hello@riverside.example>",
            "subject": "A question",
            "text": "Is it all right?",
            "SPF": "pass",
            **fields,
        }
        sender = parseaddr(form["from"])[1]
        form.setdefault("envelope", msgspec.json.encode({"to": [], "from": sender}).decode())
        return self.post("/emailinbound", *multipart(form, files or []))

    def payment(self, body: dict[str, Any], **more: Any) -> requests.Response:
        encoded = requests.models.complexjson.dumps(body).encode()
        return self.post("/api/payment/webhook/payment-provider", encoded, "application/json", **more)

    def conversations(self, who: str) -> list[dict[str, Any]]:
        path = "/api/messaging/getconversations"
        return self.api.get(who, path, MaxResultCount=1000, IncludeArchived="true")["items"]

    def conversation_of(self, who: str, message_id: str) -> dict[str, Any]:
        return next(
            thread
            for thread in self.conversations(who)
            if any(message["id"] == message_id for message in thread["messages"])
        )

    def message(self, who: str, message_id: str) -> dict[str, Any]:
        thread = self.conversation_of(who, message_id)
        return next(message for message in thread["messages"] if message["id"] == message_id)

    def notifications(self, who: str, kind: str) -> list[dict[str, Any]]:
        found = self.api.get(who, "/api/app/notification", MaxResultCount=1000, Type=kind)
        return found["items"]


@pytest.fixture(scope="session")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hooks]:
    folder = tmp_path_factory.mktemp("webhooks")
    kinds = ("CARE_SMS_SECRETS", "CARE_EMAIL_SECRETS", "CARE_PAYMENT_SECRETS")
    secrets = {
        **SECRETS,
        **{name: ", ".join(both) for name, both in zip(kinds, SECRETS_OF.values(), strict=True)},
        "CARE_TWILIO_AUTH_TOKENS": f"riverside={TWILIO_TOKEN},harbour=a token of Harbour's at Twilio",
        "CARE_MAIL_RECEIVER": RECEIVER,
    }
    where = DemoSetup(free_port(), free_port(), folder, secrets)
    running = CareService(where, "--database", database_url(folder / "care.db"))
    calls = Hooks(running)
    yield calls
    calls.api.close()
    running.stop()
