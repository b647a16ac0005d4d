"""Writes a change over the record as received: what wasn't changed keeps its value, and nothing is erased that never came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from portal.connect.dialects.named_records import family, record_of
from portal.connect.dialects.paths import MISSING, at_path, put, put_over
from portal.connect.dialects.reading import SOURCE, Reading, names_person_once
from portal.connect.dialects.rules import Coded, Rules
from portal.connect.dialects.writing import Writing
from portal.services import decoding
from portal.services.api import AnyEndpoint
from portal.services.changes import Members, members_in
from portal.services.errors import BadResponse
from portal.services.members import Member, members_of


class Overlay:
    """Finds the record that a change is about among the answers that came, and writes the change over it."""

    def __init__(self, rules: Rules, writing: Writing, language: str) -> None:
        self._rules = rules
        self._writing = writing
        self._reading = Reading(rules, keeps_source=True, language=language)

    def body(
        self,
        endpoint: AnyEndpoint,
        body: Members,
        ids: Mapping[str, str],
        received: Sequence[tuple[Any, bytes]],
    ) -> object:
        """The body in the dialect, over the record as it came; None if that isn't among the answers."""
        shape = record_of(endpoint.answer)
        if endpoint.body is None or shape is None:
            return None
        wanted = ids.get("id")
        for answer, content in reversed(received):
            translated = decoding.decode(content, object, self._reading.of(answer))
            for record in _records(translated):
                kind = cast("tuple[type, object]", record[SOURCE])[0]
                if family(shape)[0] in family(kind) and wanted in (None, record.get("id")):
                    return self._over(endpoint.body, body, shape, record)
        return None

    def _over(self, sent: type, body: Members, shape: type, record: Members) -> dict[str, object]:
        """The members of a body, each as it came or as it was changed."""
        raw = cast("tuple[type, object]", record[SOURCE])[1]
        held, written = _held(shape, record), cast("dict[str, object]", self._writing.record(sent)(body))
        members = {field.name: field for field in members_of(shape)}
        kept: dict[str, object] = {}
        for name, value in body.items():
            path = self._rules.name_of(sent, name).split(".")
            received = at_path(raw, path, MISSING)
            member = members.get(name)
            if held is not None and name in held and held[name] == value:
                if received is not MISSING:
                    put_over(kept, path, received, raw)
            elif member is not None and member.nested and received is not MISSING:
                put_over(
                    kept,
                    path,
                    self._within(member, value, record.get(name), received, at_path(written, path)),
                    raw,
                )
            else:
                put_over(kept, path, self._changed_text(received, at_path(written, path), value), raw)
        if self._rules.people and names_person_once(self._rules, sent):
            path = self._rules.name_of(sent, "lastName").split(".")
            if at_path(raw, path) is not None and held is not None:
                is_same = all(held.get(name) == body.get(name) for name in ("firstName", "lastName"))
                put_over(kept, path, at_path(raw if is_same else written, path), raw)
        return kept

    def _within(
        self, member: Member, value: object, held: object, received: object, written: object
    ) -> object:
        """The same for the record, or the rows, within a record."""
        shape = cast("type", member.nested)
        if isinstance(value, dict) and isinstance(held, dict) and SOURCE in held:
            return self._whole(shape, cast("Members", value), cast("Members", held))
        rows, were = _rows_in(cast("object", value)), _rows_in(cast("object", held))
        if rows is None or were is None:
            return written
        each = zip(rows, _befores(shape, rows, were), strict=True)
        return self._in_envelopes(received, [self._row(shape, row, before, were) for row, before in each])

    def _row(self, shape: type, row: Members, before: Members | None, were: list[Members]) -> object:
        if before is not None and SOURCE in before:
            return self._whole(shape, row, before)
        usual = {name for record in were for name in record}
        given = {
            name: value
            for name, value in row.items()
            if value is not None and (name in usual or value not in ("", [], ()))
        }
        return self._writing.record(shape)(given)

    def _whole(self, shape: type, body: Members, record: Members) -> dict[str, object]:
        """A record within another as it came, with what was changed: whatever isn't sent of it would be erased."""
        raw = cast("tuple[type, dict[str, object]]", record[SOURCE])[1]
        return {**raw, **self._over(shape, body, shape, record)}

    def _in_envelopes(self, received: object, rows: list[object]) -> object:
        for name in self._rules.envelopes:
            if isinstance(received, dict) and name in received:
                return {**cast("dict[str, object]", received), name: rows}
        return rows

    def _changed_text(self, received: object, written: object, value: object) -> object:
        """A changed value; of a text by language that came, the reader's is changed, of an object of code and label the code."""
        coded = self._rules.coded
        if coded and at_path(received, coded.code.split("."), MISSING) is not MISSING:
            return coded_anew(coded, cast("dict[str, object]", received), written)
        if not self._rules.by_language or not isinstance(received, dict) or not isinstance(value, str):
            return written
        return {
            **cast("dict[str, object]", received),
            self._language(cast("dict[str, object]", received)): written,
        }

    def _language(self, received: Mapping[str, object]) -> str:
        name = self._reading.language
        return name if name in received else next(iter(received), name)


def coded_anew(coded: Coded, received: dict[str, object], code: object) -> dict[str, object]:
    """An object of code and label with another code: the label is gone, and what stands beside the code within it stays."""
    path = coded.code.split(".")
    if len(path) == 1:
        return {coded.code: code}
    anew = deepcopy(received)
    put(anew, path, code)
    label = (coded.label or "").split(".")
    if isinstance(beside := at_path(anew, label[:-1]), dict):
        cast("dict[str, object]", beside).pop(label[-1], None)
    return anew


def _records(value: object) -> Iterator[Members]:
    """Every record in an answer, outermost first."""
    if isinstance(value, dict):
        given = cast("dict[str, object]", value)
        if SOURCE in given:
            yield given
        for name, inner in given.items():
            if name != SOURCE:
                yield from _records(inner)
    elif isinstance(value, list):
        for item in cast("list[object]", value):
            yield from _records(item)


def _rows_in(value: object) -> list[Members] | None:
    """The records in a list; None for anything else."""
    if not isinstance(value, list | tuple) or not value:
        return None
    rows = list(cast("Sequence[Members]", value))
    return rows if all(isinstance(row, dict) for row in rows) else None


def _befores(shape: type, rows: list[Members], were: list[Members]) -> list[Members | None]:
    """For each row what it was before the change: the row of its id; without ids an equal one, else the likest."""
    held = [_held(shape, record) or {} for record in were]
    places: list[int | None] = []
    for row in rows:
        free = [at for at in range(len(were)) if at not in places]
        id_ = row.get("id")
        same = (at for at in free if (held[at] == row if id_ is None else were[at].get("id") == id_))
        places.append(next(same, None))
    for place, row in enumerate(rows):
        free = [at for at, other in enumerate(were) if at not in places and other.get("id") is None]
        if places[place] is None and row.get("id") is None and free:
            likest = max(free, key=lambda at: (_likeness(row, held[at]), at == place))
            is_in_place = likest == place and len(rows) == len(were)
            places[place] = likest if is_in_place or _likeness(row, held[likest]) >= 0.5 else None
    return [None if at is None else were[at] for at in places]


def _likeness(row: Members, other: Members) -> float:
    """How many of the values that are given are the same, 0 to 1."""
    given = {name: value for name, value in row.items() if value not in (None, "", [])}
    return sum(other.get(name) == value for name, value in given.items()) / max(1, len(given))


def _held(shape: type, record: Members) -> Members | None:
    """A record as the portal reads it, as JSON values; None if it can't be read."""
    try:
        return members_in(cast("object", decoding.read_json(_plain(record), shape)))
    except BadResponse:
        return None


def _plain(value: object) -> object:
    if isinstance(value, dict):
        given = cast("dict[str, object]", value)
        return {name: _plain(inner) for name, inner in given.items() if name != SOURCE}
    return [_plain(item) for item in cast("list[object]", value)] if isinstance(value, list) else value
