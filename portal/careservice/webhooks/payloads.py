"""Parses webhook payloads: text messages and e-mails as forms, payments as JSON; what can't be read raises Invalid."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.errors import MessageError
from email.message import Message
from email.parser import HeaderParser
from email.utils import getaddresses
from html.parser import HTMLParser
from typing import Any

import msgspec
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

from portal.careservice.domain.rules import Invalid
from portal.careservice.webhooks import senders

MAX_TEXT = 100_000
"""The longest text of a message that is stored, in characters."""

_MAX_PARTS = 200
_MAX_NAME = 200
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u2029]")
_MEDIA_TYPE = re.compile(r"^[\w.+-]{1,60}/[\w.+-]{1,60}$", re.ASCII)
_MESSAGE_ID = re.compile(r"<([^<>\s]{1,250})>")
_ADDRESS = re.compile(r"^[^@\s\x00-\x1f]{1,64}@[^@\s\x00-\x1f]{1,190}$")


class TooLarge(Exception):
    """The payload has more or larger parts than are accepted."""


@dataclass(frozen=True, kw_only=True)
class TextMessage:
    """An SMS; `media` is the number of pictures that came with it, which this service doesn't fetch."""

    sid: str
    sender: str
    to: str
    body: str
    media: int


@dataclass(frozen=True, kw_only=True)
class Upload:
    """A file that came with an e-mail."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class Mail:
    """An e-mail: addresses in lower case, plain text, `answers` the Message-IDs of the mails that it replies to.

    `is_verified`: it came from its sender's own mail service.
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


def text_message(body: bytes, content_type: str) -> TextMessage:
    """The SMS in a form, in Twilio's fields."""
    form, _ = _form(body, content_type)
    media = form.get("NumMedia") or "0"
    if not re.fullmatch(r"[0-9]{1,3}", media):
        raise Invalid("This has to be a whole number.", "NumMedia")
    if "Body" not in form:
        raise Invalid("This is missing.", "Body")
    return TextMessage(
        sid=_required(form, "MessageSid", 64),
        sender=_required(form, "From", 40),
        to=_required(form, "To", 40),
        body=clean(form["Body"]),
        media=int(media),
    )


def form_fields(body: bytes, content_type: str) -> MultiDict[str, str]:
    """All fields of a form."""
    return _form(body, content_type)[0]


def mail(body: bytes, content_type: str, receiver: str = "") -> Mail:
    """The e-mail in a form, as inbound-parse services send it.

    `receiver` is the authserv-id with which the clinic's mail server writes Authentication-Results (RFC 8601 §2.5).
    """
    form, files = _form(body, content_type)
    names = getaddresses([_required(form, "from", 500)])
    sender_name, sender = names[0] if len(names) == 1 else ("", "")
    if not _ADDRESS.match(sender):
        raise Invalid("This isn't an e-mail address.", "from")
    envelope = _envelope(form)
    headers = _headers(form.get("headers", ""))
    results = [
        *senders.of_headers(headers.get_all("Authentication-Results", []), receiver),
        *senders.of_parse_service(form, envelope.sender if isinstance(envelope.sender, str) else ""),
    ]
    text = clean(form.get("text", ""))
    return Mail(
        sender=sender.lower(),
        sender_name=line(sender_name) or sender,
        is_verified=senders.is_verified(sender, results),
        to=_recipients(form, envelope),
        subject=line(form.get("subject", "")),
        text=text or clean(plain(form.get("html", ""))),
        message_id=next(iter(_ids(headers, "Message-ID")), None),
        answers=(*_ids(headers, "In-Reply-To"), *reversed(_ids(headers, "References"))),
        uploads=tuple(_upload(file) for _, file in files.items(multi=True) if file.filename),
    )


def payment_event(body: bytes, content_type: str) -> PaymentEvent | EventKind:
    """The event in a JSON body: complete if a payment succeeded or failed, else only its id and type."""
    if parse_options_header(content_type)[0] != "application/json":
        raise Invalid("The body has to be application/json.", "Content-Type")
    try:
        kind = msgspec.json.decode(body, type=EventKind)
        if kind.type not in ("payment.succeeded", "payment.failed"):
            return kind
        return msgspec.json.decode(body, type=PaymentEvent)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Invalid(
            str(error) if isinstance(error, msgspec.ValidationError) else "Not JSON.", "$"
        ) from None


def clean(text: str) -> str:
    """`text` with Unix line ends, without control characters, cut to `MAX_TEXT`."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", unified).strip()[:MAX_TEXT]


def line(text: str) -> str:
    """`text` on one line, cut to the length of a title or name."""
    return " ".join(clean(text).split())[:_MAX_NAME]


def _form(body: bytes, content_type: str) -> tuple[MultiDict[str, str], MultiDict[str, FileStorage]]:
    media_type, options = parse_options_header(content_type)
    if media_type not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        raise Invalid("The body has to be a form.", "Content-Type")
    if media_type == "multipart/form-data":
        return _multipart(body, options.get("boundary", ""))
    parser = FormDataParser(max_form_memory_size=len(body) + 1, max_form_parts=_MAX_PARTS, silent=False)
    try:
        _, form, files = parser.parse(io.BytesIO(body), media_type, len(body), options)
    except RequestEntityTooLarge:
        raise TooLarge from None
    except (ValueError, LookupError):
        raise Invalid("The form can't be read.", "$") from None
    return form, files


def _multipart(body: bytes, boundary: str) -> tuple[MultiDict[str, str], MultiDict[str, FileStorage]]:
    """The parts of a form (RFC 7578); its field `charsets` gives the charset of each text by name."""
    decoder = MultipartDecoder(boundary.encode(), len(body) + 1, max_parts=_MAX_PARTS)
    texts: list[tuple[str, io.BytesIO]] = []
    files: MultiDict[str, FileStorage] = MultiDict()
    content = io.BytesIO()
    try:
        decoder.receive_data(body)
        decoder.receive_data(None)
        while not isinstance(event := decoder.next_event(), (Epilogue, NeedData)):
            if isinstance(event, Field):
                content = io.BytesIO()
                texts.append((event.name, content))
            elif isinstance(event, File):
                content = io.BytesIO()
                files.add(event.name, FileStorage(content, event.filename, event.name, headers=event.headers))
            elif isinstance(event, Data):
                content.write(event.data)
    except RequestEntityTooLarge:
        raise TooLarge from None
    except (ValueError, LookupError):
        raise Invalid("The form can't be read.", "$") from None
    if not isinstance(event, Epilogue):
        raise Invalid("The form can't be read.", "$")
    for file in files.values():
        file.stream.seek(0)
    return _decoded([(name, text.getvalue()) for name, text in texts]), files


def _decoded(texts: Sequence[tuple[str, bytes]]) -> MultiDict[str, str]:
    charsets: dict[str, Any] = {}
    for name, text in texts:
        if name == "charsets":
            try:
                charsets = msgspec.json.decode(text, type=dict[str, Any])
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise Invalid("This is not JSON with the charset of each field.", "charsets") from None
    return MultiDict((name, _in_charset(text, str(charsets.get(name, "utf-8")))) for name, text in texts)


def _in_charset(text: bytes, charset: str) -> str:
    """`text` decoded, as UTF-8 if Python doesn't know the charset; what can't be decoded becomes U+FFFD."""
    try:
        return text.decode(charset, "replace")
    except (LookupError, ValueError):
        return text.decode("utf-8", "replace")


def _required(form: MultiDict[str, str], name: str, most: int) -> str:
    value = form.get(name, "").strip()
    if not value or len(value) > most or not value.isprintable():
        raise Invalid("This is missing or too long.", name)
    return value


class _Envelope(msgspec.Struct):
    to: list[str] = []
    sender: Any = msgspec.field(default="", name="from")


def _envelope(form: MultiDict[str, str]) -> _Envelope:
    if not form.get("envelope"):
        return _Envelope()
    try:
        return msgspec.json.decode(form["envelope"], type=_Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Invalid("This is not JSON with a list of addresses.", "envelope") from None


def _recipients(form: MultiDict[str, str], envelope: _Envelope) -> tuple[str, ...]:
    """The addresses that the mail was delivered to, then those in its To field."""
    named = [address for _, address in getaddresses([form.get("to", "")])]
    found = [address.strip().lower() for address in (*envelope.to, *named) if _ADDRESS.match(address.strip())]
    if not found:
        raise Invalid("This is missing.", "to")
    return tuple(dict.fromkeys(found))


def _headers(text: str) -> Message:
    try:
        return HeaderParser().parsestr(text, headersonly=True)
    except MessageError:
        raise Invalid("The mail's headers can't be read.", "headers") from None


def _ids(headers: Message, name: str) -> tuple[str, ...]:
    return tuple(_MESSAGE_ID.findall(str(headers.get(name, "")))[:50])


def _upload(file: FileStorage) -> Upload:
    media_type = parse_options_header(file.content_type or "")[0]
    return Upload(
        name=line(re.split(r"[/\\]", file.filename or "")[-1]) or "attachment",
        media_type=media_type if _MEDIA_TYPE.match(media_type) else "application/octet-stream",
        content=file.stream.read(),
    )


def plain(html: str) -> str:
    """The text of `html`, a line for each block; scripts, styles and all markup are left out."""
    extractor = _TextExtractor()
    extractor.feed(html)
    extractor.close()
    lines = [" ".join(part.split()) for part in "".join(extractor.parts).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _TextExtractor(HTMLParser):
    _UNSEEN = frozenset({"script", "style", "head", "title", "template", "noscript", "object", "svg"})
    _BLOCKS = frozenset(
        {"p", "div", "li", "tr", "br", "h1", "h2", "h3", "h4", "ul", "ol", "table", "blockquote"}
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag in self._UNSEEN:
            self._hidden.append(tag)
        elif tag in self._BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._UNSEEN:
            if tag in self._hidden:
                while self._hidden.pop() != tag:
                    pass
        elif tag in self._BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data.replace("\n", " "))
