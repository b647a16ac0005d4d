"""The content of a consent form, and the hash that identifies it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import rfc8785

from portal.careservice.domain.enumerations import Disposition
from portal.careservice.domain.texts import ONE_LINE

ShortText = Annotated[str, msgspec.Meta(min_length=1, max_length=300), ONE_LINE]
ClauseText = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
LanguageTag = Annotated[
    str, msgspec.Meta(max_length=35, pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$"), ONE_LINE
]
"""A language as BCP 47 (RFC 5646) writes it, such as `en` or `es-ES`."""


class Clause(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """One part of a form's body, with a summary in plain words where there is one."""

    id: ShortText
    heading: ShortText
    text: ClauseText
    summary: ClauseText | None = None


class Statement(msgspec.Struct, rename="camel", kw_only=True):
    """A statement that a signer acknowledges or agrees to."""

    id: ShortText
    text: ClauseText


def content_hash(
    *,
    title: str,
    kind: str,
    version: str,
    body: Sequence[Clause],
    statements: Sequence[Statement],
    embryo_storage_ids: Sequence[str] | None = None,
    disposition: Disposition | None = None,
) -> str:
    """SHA-256 (lower-case hex) of the canonical JSON (RFC 8785) of what a signer reads.

    The embryos that the form is about, and what it decides about them, are covered if the form has them.
    """
    content: dict[str, Any] = {
        "title": title,
        "kind": kind,
        "version": version,
        "body": msgspec.to_builtins(body),
        "statements": msgspec.to_builtins(statements),
    }
    if embryo_storage_ids:
        content["embryoStorageIds"] = list(embryo_storage_ids)
    if disposition is not None:
        content["disposition"] = disposition.value
    return hashlib.sha256(rfc8785.dumps(content)).hexdigest()
