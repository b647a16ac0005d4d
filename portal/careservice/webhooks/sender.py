"""`python -m portal.careservice send`: post a signed sample webhook by hand."""

from __future__ import annotations

import argparse
import json
import mimetypes
import os
import sys
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import parseaddr
from pathlib import Path
from urllib.parse import urlencode

from portal.careservice.ids import new_id, sample_id
from portal.careservice.webhooks.signature import key_of, sign

PATHS = {"sms": "/smsinbound", "email": "/emailinbound", "payment": "/api/payment/webhook/payment-provider"}


def main(arguments: list[str]) -> int:
    """Send what the command line asks for and print the response; return 0 if it is 2xx, else 1; 2 without a secret."""
    given = _parser().parse_args(arguments)
    variable = f"CARE_{given.kind.upper()}_SECRETS"
    secret = given.secret or os.environ.get(variable, "").split(",")[0]
    try:
        key_of(secret)
    except ValueError as error:
        sys.stderr.write(f"No valid secret: {error}. Set {variable} or give --secret.\n")
        return 2
    body, content_type = _BODIES[given.kind](given)
    headers = sign(secret, given.id or f"msg_{new_id()}", datetime.now(UTC), body)
    for _ in range(given.times):
        status, answer = _post(given.to.rstrip("/") + PATHS[given.kind], body, content_type, headers)
        sys.stdout.write(f"{status} {answer}".rstrip() + "\n")
        if not 200 <= status < 300:
            return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m portal.careservice send",
        description="Post a signed sample webhook. The secret is the first of CARE_SMS_SECRETS, "
        "CARE_EMAIL_SECRETS or CARE_PAYMENT_SECRETS.",
    )
    parser.add_argument(
        "--to", required=True, metavar="URL", help="the service, such as http://127.0.0.1:8001"
    )
    parser.add_argument("--secret", default="", help="instead of the variable's")
    parser.add_argument("--id", default="", help="the webhook-id; a new one by default")
    parser.add_argument("--times", type=int, default=1, help="deliver the same webhook this many times")
    kinds = parser.add_subparsers(dest="kind", required=True)
    sms = kinds.add_parser("sms", help="a text message")
    sms.add_argument("--from", dest="sender", default="+447700900182")
    sms.add_argument("--recipient", default="+447700900321")
    sms.add_argument("--body", default="May I move tomorrow's scan to 10 o'clock?")
    sms.add_argument("--media", type=int, default=0)
    email = kinds.add_parser("email", help="an e-mail")
    email.add_argument("--from", dest="sender", default="Amelia Hart <amelia@riverside.example>")
    email.add_argument("--recipient", default="hello@riverside.example")
    email.add_argument("--subject", default="A question")
    email.add_argument("--text", default="Is it all right to fly next week?")
    email.add_argument("--html", default="")
    email.add_argument(
        "--forged", action="store_true", help="with a failed SPF check, as if not sent by its sender's server"
    )
    email.add_argument("--in-reply-to", default="", metavar="MESSAGE-ID")
    email.add_argument("--attach", action="append", default=[], type=Path, metavar="FILE")
    payment = kinds.add_parser("payment", help="a payment for storage")
    payment.add_argument("--account", default="acct_riverside")
    payment.add_argument("--patient", default=sample_id("patient", "grace"), metavar="ID")
    payment.add_argument("--embryos", default="", metavar="ID,ID", help="by default all of the patient's")
    payment.add_argument("--months", type=int, default=12)
    payment.add_argument("--amount", type=int, default=36000, help="in the currency's smallest unit")
    payment.add_argument("--currency", default="GBP")
    payment.add_argument("--failed", action="store_true")
    return parser


def _sms(given: argparse.Namespace) -> tuple[bytes, str]:
    form = {
        "MessageSid": f"SM{new_id().replace('-', '')}",
        "From": given.sender,
        "To": given.recipient,
        "Body": given.body,
        "NumMedia": str(given.media),
    }
    return urlencode(form).encode(), "application/x-www-form-urlencoded"


def _email(given: argparse.Namespace) -> tuple[bytes, str]:
    headers = EmailMessage()
    headers["Message-ID"] = f"<{new_id()}@mail.example>"
    if given.in_reply_to:
        headers["In-Reply-To"] = f"<{given.in_reply_to.strip('<>')}>"
    fields = {
        "from": given.sender,
        "to": given.recipient,
        "subject": given.subject,
        "text": given.text,
        "html": given.html,
        "headers": headers.as_string(policy=headers.policy.clone(max_line_length=None)).strip(),
        "envelope": json.dumps({"to": [given.recipient], "from": parseaddr(given.sender)[1]}),
        "SPF": "fail" if given.forged else "pass",
        "attachments": str(len(given.attach)),
    }
    files = [
        (file.name, mimetypes.guess_type(file.name)[0] or "application/octet-stream", file.read_bytes())
        for file in given.attach
    ]
    return multipart({name: value for name, value in fields.items() if value}, files)


def multipart(fields: dict[str, str], files: list[tuple[str, str, bytes]]) -> tuple[bytes, str]:
    """A form of `fields` and of `files` (name, media type, content), and its content type (RFC 7578)."""
    boundary = new_id()
    parts = [
        _part(boundary, f'name="{name}"', "text/plain; charset=utf-8", value.encode())
        for name, value in fields.items()
    ]
    parts += [
        _part(boundary, f'name="attachment{number}"; filename="{_quoted(name)}"', media_type, content)
        for number, (name, media_type, content) in enumerate(files, start=1)
    ]
    return b"".join([*parts, f"--{boundary}--\r\n".encode()]), f"multipart/form-data; boundary={boundary}"


def _part(boundary: str, name: str, media_type: str, content: bytes) -> bytes:
    head = f"--{boundary}\r\nContent-Disposition: form-data; {name}\r\nContent-Type: {media_type}\r\n\r\n"
    return head.encode() + content + b"\r\n"


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _payment(given: argparse.Namespace) -> tuple[bytes, str]:
    metadata = {"purpose": "storage", "patientId": given.patient, "months": str(given.months)}
    if given.embryos:
        metadata["embryoStorageIds"] = given.embryos
    event = {
        "id": f"evt_{new_id()}",
        "type": "payment.failed" if given.failed else "payment.succeeded",
        "created": int(time.time()),
        "account": given.account,
        "data": {
            "object": {
                "id": f"pay_{new_id()}",
                "amount": given.amount,
                "currency": given.currency,
                "status": "failed" if given.failed else "succeeded",
                "metadata": metadata,
            }
        },
    }
    return json.dumps(event).encode(), "application/json"


_BODIES = {"sms": _sms, "email": _email, "payment": _payment}


def _post(address: str, body: bytes, content_type: str, headers: dict[str, str]) -> tuple[int, str]:
    if not address.startswith(("http://", "https://")):
        return 0, f"{address} isn't an http address"
    request = urllib.request.Request(  # noqa: S310 - checked above
        address, data=body, headers={**headers, "Content-Type": content_type}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - checked above
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")
    except urllib.error.URLError as error:
        return 0, f"{address} can't be reached: {error.reason}"
