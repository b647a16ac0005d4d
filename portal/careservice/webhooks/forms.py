"""Reads forms, as webhooks post them, in time proportional to their size and whatever they hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256
from urllib.parse import parse_qsl

from werkzeug.datastructures import MultiDict
from werkzeug.http import parse_options_header

from portal.careservice.domain.rules import Invalid
from portal.careservice.webhooks.outside_text import FIELD_BYTES, decoded, json_of, one_line

MAX_PARTS = 200
"""How many fields and files of a form are read."""

MAX_URLENCODED = 1024 * 1024
"""The largest form that isn't multipart, in bytes."""

_LONG_FIELDS = {"Body": 64 * 1024, "text": 400 * 1024, "html": 256 * 1024, "headers": 256 * 1024}
"""The fields that may be longer than `FIELD_BYTES`, in bytes."""

_MEDIA_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)


class TooLarge(Exception):
    """The form is larger than is accepted."""


@dataclass(frozen=True, kw_only=True)
class Upload:
    """A file that came with an e-mail; `sha256` is in hex."""

    name: str
    media_type: str
    content: bytes
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Form:
    """The fields and files of a form, and which of them couldn't be read whole."""

    fields: MultiDict[str, str] = field(default_factory=MultiDict[str, str])
    uploads: list[Upload] = field(default_factory=list[Upload])
    faults: set[str] = field(default_factory=set[str])

    def add(self, name: str, value: bytes, charset: str = "utf-8") -> None:
        """Add a field, cut to its bound."""
        most = _LONG_FIELDS.get(name, FIELD_BYTES)
        if len(value) > most:
            self.faults.add(one_line(name))
        self.fields.add(name, decoded(value[:most], charset))


def upload(name: str, media_type: str, content: bytes) -> Upload:
    """A file whose name has no folders and whose media type is one."""
    return Upload(
        name=one_line(re.split(r"[/\\]", name)[-1]) or "attachment",
        media_type=media_type if _MEDIA_TYPE.fullmatch(media_type) else "application/octet-stream",
        content=content,
        sha256=sha256(content).hexdigest(),
    )


def form_of(body: bytes, content_type: str) -> Form:
    """The form in `body`; raises Invalid if it isn't one, TooLarge for one that only multipart may be as large as."""
    media_type, options = parse_options_header(content_type[:FIELD_BYTES])
    if media_type == "multipart/form-data":
        return _multipart(body, options.get("boundary", ""))
    if media_type != "application/x-www-form-urlencoded":
        raise Invalid("The body has to be a form.", "Content-Type")
    if len(body) > MAX_URLENCODED:
        raise TooLarge
    try:
        pairs = parse_qsl(decoded(body), keep_blank_values=True, errors="replace", max_num_fields=MAX_PARTS)
    except ValueError:
        raise Invalid("The form has too many fields.", "$") from None
    form = Form()
    for name, value in pairs:
        form.add(name, value.encode("utf-8", "replace"))
    return form


def _multipart(body: bytes, boundary: str) -> Form:
    """The parts of a form (RFC 7578); its field `charsets` gives the charset of each text by name."""
    mark = b"\r\n--" + boundary.encode("utf-8", "replace")
    head, *parts = (b"\r\n" + body).split(mark, MAX_PARTS + 1)
    if not boundary or not parts or head.strip():
        raise Invalid("The form can't be read.", "$")
    form, texts = Form(), list[tuple[str, bytes]]()
    if not parts.pop().startswith(b"--"):
        form.faults.add("parts")
    for part in parts:
        lines, blank, content = part.partition(b"\r\n\r\n")
        headers = _part_headers(lines) if blank and len(lines) <= FIELD_BYTES else {}
        named = parse_options_header(headers.get("content-disposition", ""))[1]
        if "name" not in named:
            form.faults.add("parts")
        elif named.get("filename"):
            kind = parse_options_header(headers.get("content-type", ""))[0]
            form.uploads.append(upload(named["filename"], kind, content))
        else:
            texts.append((named["name"], content))
    _decode(texts, form)
    return form


def _part_headers(lines: bytes) -> dict[str, str]:
    pairs = [line.partition(":") for line in decoded(lines).split("\r\n")]
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _decode(texts: list[tuple[str, bytes]], form: Form) -> None:
    """Add the fields to `form`, each cut to its bound and decoded in the charset that `charsets` gives it."""
    charsets: dict[str, object] | None = {}
    for name, text in texts:
        if name == "charsets":
            charsets = json_of(text[:FIELD_BYTES], dict[str, object])
            if charsets is None:
                form.faults.add("charsets")
    for name, text in texts:
        charset = (charsets or {}).get(name)
        form.add(name, text, charset if isinstance(charset, str) else "utf-8")
