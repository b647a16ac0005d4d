"""Parses webhook payloads: text messages and e-mails as forms, payments as JSON; what is malformed raises Invalid.

Nothing here reads the database, so that no transaction waits for a parser. Of an e-mail or text that reached a clinic,
what can't be read is named in `faults`, and the original kept: sending it again would change nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec
from werkzeug.http import parse_options_header

from portal.careservice.domain.rules import Invalid
from portal.careservice.webhooks import mail_headers, senders
from portal.careservice.webhooks.forms import Form, Upload, form_of, upload
from portal.careservice.webhooks.html_text import text_of
from portal.careservice.webhooks.mail_addresses import MAX_ADDRESSES, addresses_of, is_address
from portal.careservice.webhooks.outside_text import MAX_TEXT, cleaned, json_of, one_line

_MESSAGE_ID = re.compile(r"<([^<>\s]{1,250})>")
_UNIMPORTANT = frozenset({"to", "subject", "html"})
"""Fields of which a part suffices; of `html` it doesn't if there is no other text."""

_MAX_AMOUNT = 2**31 - 1
_MAX_ANSWERS = 50


@dataclass(frozen=True, kw_only=True)
class TextMessage:
    """An SMS; `media` is the number of pictures that came with it, which this service doesn't fetch."""

    sid: str
    sender: str
    to: str
    body: str
    media: int


@dataclass(frozen=True, kw_only=True)
class Mail:
    """An e-mail: addresses in lower case, plain text, `answers` the Message-IDs of the mails that it replies to.

    `sender` is an address, or empty if the mail has none that can be read. `is_verified`: it came from its sender's
    own mail service. `faults` names the fields that couldn't be read; then `original` is what arrived.
    """

    sender: str
    sender_name: str
    is_verified: bool
    to: tuple[str, ...]
    subject: str
    text: str
    message_id: str | None
    answers: tuple[str, ...]
    uploads: tuple[Upload, ...]
    faults: tuple[str, ...] = ()
    original: Upload | None = None


class PaymentObject(msgspec.Struct, kw_only=True):
    """The payment that an event is about; `amount` in the currency's smallest unit."""

    id: str
    amount: int
    currency: str
    status: str
    metadata: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class PaymentData(msgspec.Struct, kw_only=True):
    """The data of an event."""

    object: PaymentObject


class PaymentEvent(msgspec.Struct, kw_only=True):
    """Something that happened to a payment; `created` in seconds since 1970."""

    id: str
    type: str
    created: int
    data: PaymentData
    account: str | None = None


class EventKind(msgspec.Struct, kw_only=True):
    """The id and type of an event, readable whatever the rest of it looks like."""

    id: str
    type: str


class _Envelope(msgspec.Struct):
    to: list[str] = []
    sender: Any = msgspec.field(default="", name="from")


def text_message(form: Form) -> TextMessage:
    """The SMS in a form, in Twilio's fields."""
    media = form.fields.get("NumMedia") or "0"
    if not re.fullmatch(r"[0-9]{1,3}", media):
        raise Invalid("This has to be a whole number.", "NumMedia")
    if "Body" not in form.fields:
        raise Invalid("This is missing.", "Body")
    return TextMessage(
        sid=_required(form, "MessageSid", 64),
        sender=_required(form, "From", 40),
        to=_required(form, "To", 40),
        body=cleaned(form.fields["Body"]),
        media=int(media),
    )


def mail(body: bytes, content_type: str, receiver: str = "") -> Mail:
    """The e-mail in a form, as inbound-parse services send it.

    `receiver` is the authserv-id with which the clinic's mail server writes Authentication-Results (RFC 8601 §2.5).
    """
    form = form_of(body, content_type)
    envelope = _envelope(form)
    if "from" not in form.fields:
        raise Invalid("This is missing.", "from")
    from_field = cleaned(form.fields["from"])
    names = addresses_of(from_field)
    sender_name, sender = names[0] if len(names) == 1 else ("", "")
    if not sender:
        form.faults.add("from")
    headers = mail_headers.read(form.fields.get("headers", ""))
    if headers.is_cut:
        form.faults.add("headers")
    text = cleaned(form.fields.get("text", "")) or cleaned(text_of(form.fields.get("html", "")))
    if len(text) == MAX_TEXT:
        form.faults.add("text")
    unimportant = _UNIMPORTANT - ({"html"} if not form.fields.get("text", "").strip() else set())
    faults = tuple(sorted(form.faults - unimportant))
    results = [
        *senders.of_headers(headers.all("authentication-results"), receiver),
        *senders.of_parse_service(form.fields, cleaned(str(envelope.sender))),
    ]
    return Mail(
        sender=sender.lower(),
        sender_name=one_line(sender_name) or sender or one_line(from_field),
        is_verified=bool(sender) and not faults and senders.is_verified(sender, results),
        to=_recipients(form, envelope),
        subject=one_line(form.fields.get("subject", "")),
        text=text,
        message_id=next(iter(_ids(headers, "message-id")), None),
        answers=(*_ids(headers, "in-reply-to"), *_ids(headers, "references")),
        uploads=tuple(form.uploads),
        faults=faults,
        original=upload("original message.txt", "text/plain", body) if faults else None,
    )


def payment_event(body: bytes, content_type: str) -> PaymentEvent | EventKind:
    """The event in a JSON body: complete if a payment succeeded or failed, else only its id and type."""
    if parse_options_header(content_type)[0] != "application/json":
        raise Invalid("The body has to be application/json.", "Content-Type")
    kind = json_of(body, EventKind)
    if kind is None:
        raise Invalid("This is not the JSON of an event.", "$")
    if kind.type not in ("payment.succeeded", "payment.failed"):
        return kind
    event = json_of(body, PaymentEvent)
    if event is None:
        raise Invalid("This is not the JSON of a payment.", "$")
    paid = event.data.object
    if not 0 <= paid.amount <= _MAX_AMOUNT or len(paid.currency) != 3 or not 0 < len(paid.id) <= 200:
        raise Invalid("An amount, a three-letter currency and an id are required.", "data.object")
    named = [value for value in paid.metadata.values() if isinstance(value, str)]
    if any(cleaned(text) != text.strip() for text in (paid.id, paid.currency, event.account or "", *named)):
        raise Invalid("This holds control characters.", "data.object")
    return event


def _required(form: Form, name: str, most: int) -> str:
    value = cleaned(form.fields.get(name, ""))
    if not value or len(value) > most or not value.isprintable():
        raise Invalid("This is missing or too long.", name)
    return value


def _envelope(form: Form) -> _Envelope:
    if not form.fields.get("envelope"):
        return _Envelope()
    envelope = json_of(form.fields["envelope"], _Envelope)
    if envelope is None:
        form.faults.add("envelope")
    return envelope or _Envelope()


def _recipients(form: Form, envelope: _Envelope) -> tuple[str, ...]:
    """The addresses that the mail was delivered to, then those in its To field, as far as they can be read."""
    if not envelope.to and "to" not in form.fields:
        raise Invalid("This is missing.", "to")
    named = [address for _, address in addresses_of(cleaned(form.fields.get("to", "")))]
    given = [cleaned(address).lower() for address in (*envelope.to[:MAX_ADDRESSES], *named)]
    return tuple(dict.fromkeys(filter(is_address, given)))


def _ids(headers: mail_headers.Headers, name: str) -> list[str]:
    return _MESSAGE_ID.findall(" ".join(headers.all(name)))[:_MAX_ANSWERS]
