"""Reads everything one person can reach: lists first, then what they refer to, a few records of each kind."""

from __future__ import annotations

import codecs
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast, get_origin

import msgspec

from portal.connect.answers.comparison import UNREAD
from portal.connect.dialects.dialect import Dialect
from portal.connect.dialects.naming import folded_name
from portal.connect.dialects.rules import Rules
from portal.services import decoding
from portal.services.api import AnyEndpoint, Query
from portal.services.client import Care
from portal.services.conversations import ARCHIVE_MESSAGE, LIST_CONVERSATIONS, RESTORE_MESSAGE
from portal.services.decoding import PagedResult
from portal.services.endpoints import ALL
from portal.services.errors import BadResponse, CareError, CircuitOpen, NotSignedIn, Unavailable
from portal.services.files import READ_FILE_CONTENT
from portal.services.members import members_of
from portal.services.notifications import (
    LIST_NOTIFICATIONS,
    READ_NOTIFICATION_SETTINGS,
    UPDATE_NOTIFICATION_SETTINGS,
    UPDATE_NOTIFICATIONS,
)
from portal.values import Value

LIST_SIZE = 25
_MOST_OF_A_KIND = 5
_ANY_STATUS = tuple(range(200, 600))


class Visit(Value, frozen=True):
    """One call: its endpoint, the status or why there is none, and the body if it is JSON, read as `into`.

    If the clinic has a dialect, the body is the translated response, in which unread members are named "? name". `etag`
    is the response's entity tag; `has_bom` says that it began with a byte order mark. `id` is that of the
    requested record, "" for a list.
    """

    endpoint: AnyEndpoint
    into: Any
    status: int | None
    why: str
    body: bytes
    media_type: str
    seconds: float
    etag: str = ""
    has_bom: bool = False
    id: str = ""

    @property
    def name(self) -> str:
        """The endpoint in the specification's notation."""
        return f"{self.endpoint.method} {self.endpoint.template}"

    @property
    def is_good(self) -> bool:
        """Whether there is a response to examine."""
        return self.status is not None and 200 <= self.status < 300


_PAGE: Query = {"SkipCount": 0, "MaxResultCount": LIST_SIZE}
_READS = tuple(endpoint for endpoint in ALL if endpoint.is_safe)
LISTS = tuple(
    sorted(
        (endpoint for endpoint in _READS if not endpoint.names_record and not endpoint.id_in_query),
        key=lambda endpoint: endpoint is LIST_NOTIFICATIONS,
    )
)
"""The reads that need no id. Notifications, which may name what is no longer there, come last."""
_ITEMS = tuple(endpoint for endpoint in _READS if endpoint.names_record)


def walk(care: Care, names: Mapping[str, str] | None = None) -> Iterator[Visit]:
    """Read the lists and what they refer to. `names` maps the portal's member names ("episodeId") to the API's."""
    ids = _Ids(names or {})
    for endpoint in LISTS:
        visit = call(care, endpoint, query=_PAGE if endpoint.query else None)
        if endpoint.query and (visit.status == 400 or (visit.is_good and not _has_list(json_of(visit.body)))):
            visit = call(care, endpoint)  # its paging parameters may have other names
        ids.learn(visit)
        yield visit
    read: set[tuple[AnyEndpoint, str]] = set()
    for endpoint in (*_ITEMS, *_ITEMS):  # records name others, of kinds that came before
        for id_ in ids.of(endpoint.shows):
            if (endpoint, id_) not in read:
                read.add((endpoint, id_))
                visit = call(care, endpoint, ids={endpoint.ids[0]: id_})
                ids.learn(visit)
                yield visit
    for id_ in ids.of(READ_FILE_CONTENT.shows)[:2]:
        yield call(care, READ_FILE_CONTENT, query={"id": id_})


def act(care: Care) -> Iterator[Visit]:
    """Perform acts that undo themselves: save the settings unchanged, mark a notification read and unread, archive a
    message and restore it. What a record doesn't say in a way that can be read couldn't be undone, so it isn't touched; nor is
    a notification of messages, which become read with it."""
    settings = call(care, READ_NOTIFICATION_SETTINGS)
    body = json_of(settings.body) if settings.is_good else None
    if isinstance(body, dict):
        yield call(care, UPDATE_NOTIFICATION_SETTINGS, sent=cast("object", body))
    news = call(care, LIST_NOTIFICATIONS, query=_PAGE)
    known = [
        (record, was_read)
        for record in records(news)
        if (was_read := _truth(record, "isRead")) is not None and not _is_of_messages(record)
    ]
    for record, was_read in known[:1]:
        for is_read in (not was_read, was_read):
            sent = {"ids": [record.get("id")], "isRead": is_read}
            yield call(care, UPDATE_NOTIFICATIONS, into=object, sent=sent)
    talks = call(care, LIST_CONVERSATIONS, query=_PAGE)
    for talk in records(talks)[:1]:
        messages = _records_in(talk.get("messages"))
        for message in [one for one in messages if _truth(one, "isArchived") is False][:1]:
            for endpoint in (ARCHIVE_MESSAGE, RESTORE_MESSAGE):
                yield call(care, endpoint, into=object, ids={"messageId": str(message.get("id"))}, sent={})


def _is_of_messages(record: Mapping[str, object]) -> bool:
    told = f"{record.get('type')} {record.get('entityType')}".casefold()
    return "message" in told or "conversation" in told


def _truth(record: Mapping[str, object], name: str) -> bool | None:
    """Whether a record says so, in any notation that decoding takes for true or false; None if it can't be read."""
    try:
        return msgspec.convert(record.get(name), bool, strict=False)
    except msgspec.ValidationError:
        return None


class _Ids:
    """The ids found in responses, by kind."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = {folded_name(ours): folded_name(theirs) for ours, theirs in names.items()}
        self._found: dict[str, dict[str, None]] = {}

    def of(self, kind: str | None) -> list[str]:
        """The first ids of a kind, in the order in which they were found."""
        return list(self._found.get(kind or "", {}))[:_MOST_OF_A_KIND]

    def learn(self, visit: Visit) -> None:
        answer = json_of(visit.body) if visit.is_good else None
        if visit.endpoint in LISTS and visit.endpoint.shows in {endpoint.shows for endpoint in _ITEMS}:
            for record in records(visit):
                self._add(visit.endpoint.shows, self._member(record, "id"))
        for found in _objects(answer):
            self._add("episode", self._member(found, "episodeId"))
            self._add("pgt-result", self._member(found, "pgtResultId"))
            self._add("file", self._member(found, "fileId"))
            if str(self._member(found, "entityType") or "").casefold() == "episode":
                self._add("episode", self._member(found, "entityId"))
            if self._member(found, "mediaType") and self._member(found, "size") is not None:
                self._add("file", self._member(found, "id"))
            tests = self._member(found, "pgtResults")
            for test in cast("list[object]", tests) if isinstance(tests, list) else []:
                if isinstance(test, dict):
                    self._add("pgt-result", self._member(cast("dict[str, object]", test), "id"))

    def _member(self, record: Mapping[str, object], ours: str) -> object:
        theirs = self._names.get(folded_name(ours), folded_name(ours))
        given = ((name.removeprefix(UNREAD), value) for name, value in record.items())
        return next((value for name, value in given if folded_name(name) == theirs), None)

    def _add(self, kind: str | None, id_: object) -> None:
        if kind and isinstance(id_, str | int) and not isinstance(id_, bool) and str(id_):
            self._found.setdefault(kind, {}).setdefault(str(id_))


def json_of(body: bytes) -> object:
    """The body's JSON value, or None if it isn't JSON."""
    try:
        return decoding.decode(body, object)
    except BadResponse:
        return None


def records(visit: Visit) -> list[dict[str, Any]]:
    """The records of a list, wherever the list is in the response."""
    answer = json_of(visit.body) if visit.is_good else None
    found = _records_in(cast("object", answer) if isinstance(answer, list) else _longest_list(answer))
    name = enclosed_in(found)
    return [row[name] for row in found] if name else found


def enclosed_in(rows: Sequence[object]) -> str | None:
    """The member of each row of a list that holds the record; None if the rows are the records."""
    given = [cast("dict[str, object]", row) for row in rows if isinstance(row, dict)]
    within = [{name for name, value in row.items() if isinstance(value, dict)} for row in given]
    name = next(iter(within[0])) if within and all(len(names) == 1 for names in within) else None
    if name is None or any(len(cast("dict[str, object]", row.get(name, {}))) <= len(row) for row in given):
        return None
    return name


def _records_in(value: object) -> list[dict[str, Any]]:
    return [cast("dict[str, Any]", item) for item in _items(value) if isinstance(item, dict)]


def is_of_links(rows: object) -> bool:
    """Whether it is a list of links, as those to other pages, and of no records."""
    given = [cast("dict[str, object]", row).keys() for row in _items(rows) if isinstance(row, dict)]
    return bool(given) and all(names <= _OF_LINKS and names & _TARGETS for names in given)


_TARGETS = frozenset({"href", "uri", "url"})
_OF_LINKS = _TARGETS | {"method", "name", "rel", "relation", "title", "type"}


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _has_list(answer: object) -> bool:
    """Whether there is a list in an answer, be it empty: a refusal that is sent as success has none."""
    within = cast("dict[str, object]", answer).values() if isinstance(answer, dict) else ()
    return isinstance(answer, list) or any(map(_has_list, within))


def _longest_list(answer: object) -> list[object]:
    if not isinstance(answer, dict):
        return []
    values = list(cast("dict[str, object]", answer).values())
    found = [_items(value) for value in values if not is_of_links(value)]
    found += [_longest_list(value) for value in values]
    return max(found, key=len) if found else []


def _objects(value: object) -> Iterator[dict[str, object]]:
    if isinstance(value, dict):
        record = cast("dict[str, object]", value)
        yield record
        for inner in record.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _objects(item)


def call(
    care: Care,
    endpoint: AnyEndpoint,
    *,
    into: Any = None,
    query: Query | None = None,
    ids: Mapping[str, str] | None = None,
    sent: object = None,
) -> Visit:
    """Make one call and return the result, read as `into` or as the endpoint answers; raises nothing."""
    into, started = into or endpoint.answer, time.perf_counter()
    status, why, body, media_type, etag, has_bom = None, "", b"", "", "", False
    try:
        answer = care.send(endpoint, query=query, ids=ids, body=sent, accepted=_ANY_STATUS)
        status, body, etag = answer.status, answer.body, answer.headers.get("etag", "")
        has_bom = body.startswith(codecs.BOM_UTF8)
        if into not in (bytes, object) and status in range(200, 300) and is_translated(care):
            read = decoding.decode(body, object, care.adapter.full_translation(into))
            body = msgspec.json.encode(_stamped(read, into, etag, rules_of(care)))
        media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    except NotSignedIn:
        status, why = 401, "the token isn't accepted"
    except CircuitOpen:
        why = "not called after several failures"
    except Unavailable as error:
        why = str(error) or "no answer"
    except (CareError, msgspec.DecodeError) as error:
        why = type(error).__name__
    took = time.perf_counter() - started
    id_ = next(iter((ids or {}).values()), "") or str((query or {}).get("id", ""))
    return Visit(endpoint, into, status, why, body, media_type, took, etag, has_bom, id_)


def is_translated(care: Care) -> bool:
    return isinstance(care.adapter, Dialect)


def rules_of(care: Care) -> Rules:
    """The clinic's dialect rules; without a dialect, rules that change nothing."""
    return care.adapter.rules if isinstance(care.adapter, Dialect) else Rules()


def _stamped(answer: object, into: Any, etag: str, rules: Rules) -> object:
    """A record with its entity tag as its stamp, if the dialect says that stamps are sent as entity tags."""
    is_record = isinstance(answer, dict) and get_origin(into) is not PagedResult
    if etag and is_record and rules.concurrency == "etag" and has_stamp(into):
        return {STAMP: etag, **cast("dict[str, object]", answer)}
    return cast("object", answer)


STAMP = "concurrencyStamp"


def has_stamp(record: type[object]) -> bool:
    return any(member.name == STAMP for member in members_of(record))
