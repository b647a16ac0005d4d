"""Plants a unique mark in every text of every record, and finds which marks each reading endpoint returns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote

from msgspec import inspect
from sqlalchemy import JSON, Column, Enum, String, Table, select, update
from sqlalchemy.orm import Session

from portal.careservice.database import Base
from portal.careservice.domain.columns import Structs
from portal.connect.dialects.shapes import record_of
from portal.services.api import AnyEndpoint
from portal.services.endpoints import ALL
from portal.services.members import members_of
from tests.careservice.api.clinic import Clinic
from tests.careservice.api.seen_members import name_of

NEEDED = {
    ("signing_keys", "private_pem"),
    ("people", "roles"),
    ("physicians", "time_zone"),
    ("tenants", "country"),
    ("tenants", "time_zone"),
    ("clinic_policies", "modules_off"),
    ("pgt_results", "abnormalities"),
}
"""What the service itself works with, so that another text would stop it.

Of abnormalities the words are planted apart: those that are allowed through are tried one by one elsewhere.
"""
_MARK = re.compile(r"~(\d+)~")
_FORMED = ("08:00", "GB", "en", "monday@example.org")


@dataclass
class Planted:
    """Where each mark stands: its column or, in JSON, its member, and the record's key."""

    places: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def mark(self, place: str, key: str) -> str:
        """A new mark for a member of a record."""
        self.places.append((place, key))
        return f"~{len(self.places) - 1}~"

    def found_in(self, text: str) -> set[tuple[str, str]]:
        """The places whose marks a text holds."""
        return {self.places[int(number)] for number in _MARK.findall(text)}


def plant(session: Session) -> Planted:
    """Put a mark into every text of every row, as the schema has them."""
    planted = Planted()
    for table in Base.metadata.sorted_tables:
        columns = [column for column in table.columns if _holds_text(table, column)]
        if not columns:
            continue
        keys = list(table.primary_key.columns)
        for row in session.execute(select(*keys)).all():
            key = "/".join(map(str, row))
            values = {
                column.name: _planted(planted, f"{table.name}.{column.name}", key, column)
                for column in columns
            }
            same = [column == value for column, value in zip(keys, row, strict=True)]
            session.execute(update(table).where(*same).values(values))
    return planted


def _holds_text(table: Table, column: Column[Any]) -> bool:
    if (table.name, column.name) in NEEDED or column.primary_key or column.foreign_keys:
        return False
    if isinstance(column.type, Structs | JSON):
        return True
    if not isinstance(column.type, String) or isinstance(column.type, Enum):
        return False
    return column.type.length not in (3, 36)  # a currency or an id


def _planted(planted: Planted, place: str, key: str, column: Column[Any]) -> Any:
    if isinstance(column.type, Structs):
        return _built(planted, place, key, inspect.type_info(column.type.shape))
    if isinstance(column.type, JSON):
        mark = planted.mark(place, key)
        return {"canary": mark} if column.name in ("data", "parameters") else [mark]
    return planted.mark(place, key)


def _built(planted: Planted, place: str, key: str, kind: inspect.Type) -> Any:
    """A value of a shape, every text in it a mark."""
    match kind:
        case inspect.StructType():
            return kind.cls(
                **{one.name: _built(planted, f"{place}.{one.name}", key, one.type) for one in kind.fields}
            )
        case inspect.UnionType():
            some = next(one for one in kind.types if not isinstance(one, inspect.NoneType))
            return _built(planted, place, key, some)
        case inspect.Metadata():
            return _built(planted, place, key, kind.type)
        case inspect.ListType():
            return [_built(planted, place, key, kind.item_type)]
        case inspect.StrType() if kind.pattern is None:
            return planted.mark(place, key)
        case inspect.StrType():
            return next(text for text in _FORMED if re.search(str(kind.pattern), text))
        case inspect.EnumType():
            return next(iter(cast("Any", kind.cls)))
        case inspect.BoolType():
            return True
        case inspect.IntType() | inspect.FloatType():
            return 1
        case _:
            raise AssertionError(f"say here how to build {kind}")


@dataclass
class Seen:
    """What one person got: the members of the answers, the places whose marks were in them."""

    members: set[str] = field(default_factory=set[str])
    places: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


READS = tuple(row for row in ALL if row.is_safe)
BY_ID = {
    row: row.template if row.ids else f"{row.template}?id={{id}}"
    for row in READS
    if row.ids or row.answer is bytes
}


def read_all(clinic: Clinic, who: str, planted: Planted, ids: dict[str, list[str]]) -> Seen:
    """All that a person gets from every address that reads, by every id that there is."""
    seen = Seen()
    token = clinic.token(who)

    def read(row: AnyEndpoint, path: str) -> None:
        answer = clinic.call(token, "GET", path)
        assert answer.status_code in (200, 403, 404, 501), (path, answer.text)
        seen.places.update(planted.found_in(unquote(str(answer.headers))))
        if answer.is_json:
            seen.places.update(planted.found_in(json.dumps(answer.json, ensure_ascii=False)))
        if answer.is_json and answer.status_code == 200:
            record = record_of(row.answer)
            assert record
            for one in answer.json["items"] if record is not row.answer else [answer.json]:
                seen.members.update(_members(one, record, record.__name__))

    for row in READS:
        if row not in BY_ID:
            read(row, f"{row.template}?MaxResultCount=1000&IncludeArchived=true")
        else:
            for record_id in ids[_table_of(row)]:
                read(row, re.sub(r"{\w+}", record_id, BY_ID[row]))
    return seen


def ids_of(session: Session) -> dict[str, list[str]]:
    """The ids of all records that can be asked for by id, of every clinic."""
    tables = Base.metadata.tables
    return {
        table: list(session.scalars(select(tables[table].c.id).order_by(tables[table].c.id)))
        for table in map(_table_of, BY_ID)
    }


def _table_of(row: AnyEndpoint) -> str:
    """The table of the records that an endpoint reads by id: its class has the name of the portal's record, or a longer one."""
    name = "File" if row.answer is bytes else row.answer.__name__
    return next(
        mapper.class_.__tablename__
        for mapper in Base.registry.mappers
        if mapper.class_.__name__.endswith(name)
    )


def _members(value: dict[str, Any], record: type, where: str) -> Iterator[str]:
    """The members of an answer, by record, those among them that the portal's record doesn't declare."""
    declared = {one.name: one.nested for one in members_of(record)}
    for name, inner in value.items():
        yield f"{where}.{name}"
        if nested := declared.get(name):
            for one in inner if isinstance(inner, list) else [inner] if inner else []:
                yield from _members(cast("dict[str, Any]", one), nested, name_of(where, name, nested))
