"""The audit record of a request: what was done, by whom, to what, and whose records were shown.

No view can show a record unseen. Whatever the care API answers a read with is collected while the request runs, and
written when its answer is a page: one line for each kind, with the ids. A view that knows better what stands on its
page says so with `shown`, and its word replaces what was read of that kind. Redirects and error pages show nothing.

While the trail can't be written, on a full disk for instance, people may read, and the trail says afterwards how many
lines are missing; nothing is changed, for each act is asked about before it is sent (`assure`).
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

from flask import Flask, Response, g, request

from portal import metrics
from portal.audit.trail import AuditDown
from portal.context import context, session
from portal.request_values import request_g
from portal.services.api import AnyEndpoint
from portal.services.decoding import PagedResult
from portal.services.errors import Unavailable
from portal.state.session_records import Person
from portal.store import StoreDown
from portal.web import htmx
from portal.web.lately import Lately

WITHIN_EPISODE = frozenset({"patient", "case", "relationship", "embryo", "directory"})
"""Kinds that are read as parts of an episode: a page about one of them shows it, and not every episode looked through."""

OPENING = frozenset({"read", "receipt", "download", "preview", "calendar", "draft"})
"""The verb of an event that shows one record; other events change it."""

_NAMED_OTHERWISE = {"result_id": "pgt-result", "endpoint_id": "emr-endpoint"}
"""What of an address is the id of another kind than its name says."""

_IN_QUERY = frozenset({"patient", "episode", "case", "consent", "protocol", "prospect", "embryo", "file"})
"""Kinds of which a parameter of this name, with or without `Id`, names a record."""

_ID_SUFFIX = re.compile(r"[_-]?id$", re.IGNORECASE)

_OPAQUE = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26}|[0-9]{1,9}", re.IGNORECASE
)
"""An id that says nothing about anyone: a UUID (RFC 9562), a ULID or a short number."""

_SAME_SECONDS = 5 * 60
"""For so long a part of a page that is fetched again with the same records in it is no news."""

_FULL_SECONDS = 60.0
"""When to try again where the trail can't be written: somebody has to make room."""

log = logging.getLogger("portal")


@dataclass(slots=True)
class _Shown:
    """What was read in this request: the ids by event and kind, and the kinds that a view has told."""

    read: dict[tuple[str, str], dict[str, None]] = field(
        default_factory=dict[tuple[str, str], dict[str, None]]
    )
    told: set[str] = field(default_factory=set[str])
    is_failure: bool = False


def init_app(app: Flask) -> None:
    """Write what each answer shows, once the answer is made."""
    app.after_request(_write_shown)


def assure() -> None:
    """Reserve room for the lines of the next act; raise Unavailable, as nothing has happened yet, if there is none."""
    try:
        context().audit.assure()
    except AuditDown as error:
        log.error("act refused: the audit trail can't be written: %s", error)
        metrics.audit_refused()
        failure = Unavailable("audit", retry_after=_FULL_SECONDS)
        failure.is_undone = True
        raise failure from error
    g.is_assured = True


def note(
    event: str,
    outcome: str,
    *,
    person: Person | None = None,
    kind: str | None = None,
    id_: str | None = None,
    declared: str | None = None,
    reason: str | None = None,
    also: Mapping[str, str] | None = None,
) -> None:
    """Record an event of this request; the person is the signed-in one unless given.

    `declared` names the sentence that was declared, and its language. `reason` says in the portal's words why a sign-in
    failed. The line tells how the person had signed in, as far as that is known. `also` names other people who took part, by pseudonym, or holds
    what a passkey confirmed.

    `id_` is the record's, of the kind before the event's dot unless `kind` names another. An address may name any id,
    so that one of another shape is recorded under a pseudonym. That an answer shows a record is recorded by `shown`.
    """
    who = person or _reader()
    kind = kind or (event.partition(".")[0] if id_ and "." in event else None)
    _record(event, outcome, who, kind, id_, declared, also, reason=reason, tells_sign_in=True)


def pseudonym_of(sub: str) -> str:
    """Return what audit lines call this person."""
    return context().audit.pseudonym(sub)


def shown(event: str, kind: str, ids: str | Iterable[str]) -> None:
    """Record that the answer shows this record, or these, and no others of their kind.

    For none of them nothing is written, but for a search: one without a hit has told something too.
    """
    _shown().told.add(kind)
    all_ids = ids if isinstance(ids, str) else [*dict.fromkeys(ids)]
    if _tells(event, all_ids) and not _is_no_news(event, kind, all_ids):
        _record(event, "done", _reader(), kind, all_ids)


def note_refusal(event: str, outcome: str) -> None:
    """Record that this request was refused, unless the handler has said so itself of what it tried.

    The line names who is signed in, also where that was refused before any handler ran, the record in the address, and
    those in its query.
    """
    if not g.get("is_refusal_noted"):
        records = _records_in_address()
        kind, id_ = records[0] if records else (None, None)
        also = {other: _opaque(value) for other, value in records[1:]}
        _record(event, outcome, _reader() or _signed_in(), kind, id_, also=also or None)


def note_unknown_address() -> None:
    """Record that someone signed in asked for an address that doesn't exist, once in some minutes for each session.

    Such requests by others are noise. The line never holds the address, which anyone may write anything into.
    """
    person = _reader() or _signed_in()
    if person is None:
        return
    line = hashlib.sha256(f"unknown address\0{session().name}".encode()).digest()
    if not _lately.repeats(line, context().clock()):
        _record("address", "unknown", person, None, None)


def note_read(endpoint: AnyEndpoint, query: object, answer: object) -> None:
    """Note that the API answered a read with these records; an `answer` of None is what the query's id names."""
    kind = endpoint.shows
    if kind is None:
        return
    if isinstance(answer, PagedResult):
        items = cast("PagedResult[object]", answer).items
        act, ids = "search" if getattr(query, "filter", None) else "list", [_id_of(item) for item in items]
    else:
        act, ids = "read", [_id_of(query) if answer is None else _id_of(answer)]
    _shown().read.setdefault((f"{kind}.{act}", kind), {}).update(dict.fromkeys(ids))


def note_kept_read(event: str, kind: str, id_: str) -> None:
    """Note that what the portal itself keeps was read, such as a draft: it is about this record."""
    _shown().read.setdefault((event, kind), {})[id_] = None


def nothing_shown() -> None:
    """Mark the answer as an error page: it shows no record, whatever was read for it."""
    _shown().is_failure = True


def _records_in_address() -> list[tuple[str, str]]:
    """Kinds and ids: of the record that the address is of, the first that it names, and of those in its query."""
    in_path = [
        (_NAMED_OTHERWISE.get(name) or name.removesuffix("_id"), str(value))
        for name, value in (request.view_args or {}).items()
        if name.endswith("_id")
    ]
    in_query = [
        (kind, value)
        for name, value in request.args.items()
        if value and (kind := _kind_in_query(_ID_SUFFIX.sub("", name).lower()))
    ]
    return list(dict.fromkeys([*in_path[:1], *in_query]))


def _kind_in_query(name: str) -> str | None:
    match name:
        case "merge":
            return "prospect"
        case "copy":
            return "protocol" if (request.endpoint or "").startswith("protocols.") else "consent"
        case _:
            return name if name in _IN_QUERY else None


def _reader() -> Person | None:
    """Who reads: the person admitted, or the member of staff who sees what they see."""
    return g.get("staff") or g.get("person")


def _signed_in() -> Person | None:
    try:
        return session().person
    except StoreDown:  # a line without a name is better than none
        return None


def _write_shown(response: Response) -> Response:
    person = _reader()
    shown: _Shown | None = g.get("shown")
    if person is None or shown is None or shown.is_failure or not _is_page(response):
        return response
    told = {*shown.told, "episode"} if shown.told & WITHIN_EPISODE else shown.told
    for (event, kind), read in shown.read.items():
        is_list = len(read) != 1 or event.endswith((".list", ".search"))
        ids = [*read] if is_list else next(iter(read))
        if kind not in told and _tells(event, ids) and not _is_no_news(event, kind, ids):
            _record(event, "done", person, kind, ids)
    return response


def _tells(event: str, ids: str | Sequence[str]) -> bool:
    return bool(ids) or _is_search(event)


def _is_search(event: str) -> bool:
    return event.endswith(".search")


def _is_page(response: Response) -> bool:
    """Whether the answer shows anything: no redirect, nothing that the browser has already."""
    is_bare = 300 <= response.status_code < 400 or response.status_code == 204
    return not (is_bare or htmx.is_htmx_redirect(response))


def _record(
    event: str,
    outcome: str,
    actor: Person | None,
    kind: str | None,
    ids: str | Sequence[str] | None,
    declared: str | None = None,
    also: Mapping[str, str] | None = None,
    reason: str | None = None,
    tells_sign_in: bool = False,
) -> None:
    if outcome == "refused":
        g.is_refusal_noted = True
    metrics.event(event, outcome)
    if event == "sign-in" and "tenant" in g:
        metrics.sign_in(g.tenant.key, outcome)
    if actor and kind and outcome == "done":
        _count_records(event, kind, actor, ids)
    context().audit.record(
        event,
        outcome,
        tenant=g.tenant.key if "tenant" in g else "-",
        request_id=g.request_id,
        actor=actor.sub if actor else None,
        role=",".join(sorted(actor.roles)) if actor else None,
        kind=kind,
        id_=_opaque(ids) if isinstance(ids, str) and ids else None,
        ids=None if ids is None or isinstance(ids, str) else [_opaque(id_) for id_ in ids],
        declared=declared,
        reason=reason,
        acr=(actor.acr or None) if actor and tells_sign_in else None,
        amr=actor.amr if actor and tells_sign_in and actor.amr else None,
        also=also,
        is_promised=g.get("is_assured", False),
    )


def _count_records(event: str, kind: str, actor: Person, ids: str | Sequence[str] | None) -> None:
    """Count the records that someone was shown: those opened one by one, and those that stood in a list."""
    if isinstance(ids, str):
        if event.partition(".")[2] in OPENING:
            metrics.record_opened(kind, actor.roles)
    elif ids:
        metrics.records_listed(kind, actor.roles, len(ids))


# ── repeated reads ──────────────────────────────────────────────────────────────────────────────────────


_lately = Lately(_SAME_SECONDS)
"""Hashes of what this process wrote."""


def _is_no_news(event: str, kind: str, ids: str | Sequence[str]) -> bool:
    """Whether this is a part of something that this session was shown with the same records in the last minutes.

    A whole page is always news, and so is a search. Another process may have shown the same: they tell one another of
    parts alone, so a part may be written once more for each of them.
    """
    if _is_search(event):
        return False
    name = getattr(session(), "name", None) or ""
    named = (ids,) if isinstance(ids, str) else ids
    line = hashlib.sha256("\0".join((name, event, kind, *named)).encode()).digest()
    now = context().clock()
    is_known = _lately.repeats(line, now)
    if not (htmx.is_htmx() or "Range" in request.headers):
        return False
    if is_known:
        return True
    vault = context().vault
    try:
        return not vault.store.lock(vault.name("shown", line.hex()), "", seconds=_SAME_SECONDS)
    except StoreDown:
        return False


def _shown() -> _Shown:
    current = request_g()
    shown: _Shown | None = current.get("shown")
    if shown is None:
        shown = current.shown = _Shown()
    return shown


def _id_of(record: object) -> str:
    return str(getattr(record, "id", ""))


def _opaque(id_: str) -> str:
    return id_ if _is_opaque(id_) else f"~{pseudonym_of(id_)}"


@lru_cache(maxsize=4096)
def _is_opaque(id_: str) -> bool:
    return _OPAQUE.fullmatch(id_) is not None
