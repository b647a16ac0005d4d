"""The content of a consent form, and the hash that identifies it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import rfc8785

from portal.careservice.domain.enumerations import Disposition

ShortText = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
ClauseText = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]


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
