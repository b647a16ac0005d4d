"""Reads forms, of a bounded number of fields."""

from __future__ import annotations

import io
from typing import IO, Any

from flask import Request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser

_MOST_FIELDS = 10_000
"""Reading half a million, which fit into what is accepted, would take a second of CPU."""


class BoundedFormParser(FormDataParser):
    """Refuses an urlencoded form of too many fields before it reads them, as Werkzeug does one of too many parts."""

    def parse(self, stream: IO[bytes], mimetype: str, content_length: int | None, options: Any = None) -> Any:
        if mimetype == "application/x-www-form-urlencoded":
            body = stream.read()
            if body.count(b"&") >= _MOST_FIELDS:
                raise RequestEntityTooLarge
            stream = io.BytesIO(body)
        return super().parse(stream, mimetype, content_length, options)


class BoundedRequest(Request):
    form_data_parser_class = BoundedFormParser
