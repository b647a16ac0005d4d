"""Marks every text in the care API's answers, so that a page's source shows which members it contains.

The records' own types say which members there are: a member that the API left out is filled in too, and one that the
portal doesn't know stands beside them. Values that pages count with (`KEPT`, ids, choices, numbers, times) stay.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pypdf
import requests
from msgspec import inspect

from portal.services.decoding import PagedResult, Record
from portal.services.endpoints import ALL
from tests.support.fake_api import shape_of


def _records() -> Iterator[tuple[re.Pattern[str], type]]:
    for endpoint in ALL:
        answer = (
            get_args(endpoint.answer)[0] if get_origin(endpoint.answer) is PagedResult else endpoint.answer
        )
        if endpoint.is_safe and issubclass(answer, Record):
            yield re.compile(re.sub(r"{\w+}", "[^/]+", endpoint.template)), answer


RECORDS = tuple(_records())
"""What each endpoint that reads answers with."""
KEPT = {
    *(
        "Physician.timeZone",
        "Physician.color",
        "WorkingHours.dayOfWeek",
        "WorkingHours.start",
        "WorkingHours.end",
    ),
    *(
        "Appointment.timeZone",
        "Appointment.status",
        "Attachment.mediaType",
        "File.mediaType",
        "Medication.time",
        "Medication.times",
    ),
    *(
        "Notification.type",
        "Notification.entityType",
        "NotificationChoice.type",
        "NotificationSettings.language",
    ),
    *("QuietHours.start", "QuietHours.end", "QuietHours.timeZone"),
    *("patient.language", "partner.language", "patient.address.country", "partner.address.country"),
}
"""Texts that are no words: zones, colours, media types, times of day, kinds that lead to an address."""
UNKNOWN = "unknown member"
_WORD, _NUMBER = re.compile(r"zq([0-9]{3})x"), re.compile(r"(?=790011([0-9]{3})7)")


class Marks:
    """Marks by member: `Clause.text`, or for the two people of an episode `patient.email`, `partner.email`."""

    def __init__(self) -> None:
        self._by_member: dict[str, str] = {}

    def of(self, member: str) -> str:
        """The member's mark: letters, digits, or an address."""
        number = self._by_member.setdefault(member, f"{len(self._by_member):03}")
        name = member.rpartition(".")[2]
        if name in ("phoneNumber", "sms"):
            return f"+44790011{number}7"
        return f"Zq{number}x@marks.example" if name == "email" else f"Zq{number}x"

    def found_in(self, text: str) -> set[str]:
        """The members whose marks stand in the text, in any case and wherever it is broken."""
        bare = re.sub(r"[\s\u2066-\u2069\u200e\u200f=]+|%20", "", text).casefold()
        found = {*_WORD.findall(bare), *_NUMBER.findall(bare.replace("-", ""))}
        return {
            member
            for member, number in self._by_member.items()
            if number in found or self._is_born(member, text)
        }

    def answer(self, method: str, path: str, answer: Any) -> Any:
        """What the API says instead (`tests.support.dialect.Dialect.change`)."""
        record = next((record for pattern, record in RECORDS if pattern.fullmatch(path)), None)
        if method != "GET" or record is None:
            return answer
        shape = shape_of(record)
        if isinstance(answer, dict) and "items" in answer and "totalCount" in answer:
            return {**answer, "items": [self._marked(one, shape, "") for one in answer["items"]]}
        return self._marked(answer, shape, "")

    def _is_born(self, member: str, text: str) -> bool:
        year = BIRTH_YEARS.get(member)
        return year is not None and re.search(rf"\b{year}\b", text) is not None

    def _marked(self, value: Any, shape: inspect.Type, where: str) -> Any:
        match shape:
            case inspect.UnionType(types):
                inner = next(t for t in types if not isinstance(t, inspect.NoneType))
                return self._marked(value, inner, where)
            case inspect.StructType():
                if value is None and any(field.required for field in shape.fields):
                    return None
                return self._struct(value or {}, shape, where)
            case inspect.VarTupleType(item_type=item):
                return [self._marked(one, item, where) for one in value or []]
            case inspect.DictType():
                given = {
                    name: one if name.endswith("Id") else self.of(f"{where}.{name}")
                    for name, one in value.items()
                }
                return {**given, "unheardOf": self.of(f"{where}.unheardOf")}
            case inspect.StrType() if where not in KEPT and not is_id(where):
                return self.of(where)
            case inspect.DateType() if where in BIRTH_YEARS:
                self._by_member.setdefault(where, f"{len(self._by_member):03}")
                return f"{BIRTH_YEARS[where]}-05-06"
            case _:
                return value

    def _struct(self, value: dict[str, Any], shape: inspect.StructType, where: str) -> dict[str, Any]:
        marked = dict(value)
        for field in shape.fields:
            name = member_name(shape, where, field.encode_name)
            made = self._marked(value.get(field.encode_name), field.type, name)
            if made is not None:
                marked[field.encode_name] = made
        return {**marked, "unheardOf": self.of(UNKNOWN)}


BIRTH_YEARS = {"patient.dateOfBirth": 1907, "partner.dateOfBirth": 1908}


def member_name(shape: inspect.StructType, where: str, name: str) -> str:
    """What a member is called: by its record; those of a person and all below by whose they are."""
    top = where.partition(".")[0]
    if where in ("Episode.patient", "Episode.partner"):
        return f"{where[8:]}.{name}"
    return f"{where}.{name}" if top in ("patient", "partner") else f"{shape.cls.__name__}.{name}"


def is_id(member: str) -> bool:
    return bool(re.search(r"(?:\.id|Ids?)$", member))


def unmarked() -> set[str]:
    """The members of all records that can't be marked, because they aren't texts: ids, choices and numbers apart."""
    return {member for _pattern, record in RECORDS for member in _unmarked(shape_of(record), "")}


def _unmarked(shape: inspect.Type, where: str) -> Iterator[str]:
    match shape:
        case inspect.UnionType(types):
            for one in types:
                yield from _unmarked(one, where)
        case inspect.StructType():
            for field in shape.fields:
                if field.encode_name.startswith("(portal)"):  # no API sends it
                    continue
                yield from _unmarked(field.type, member_name(shape, where, field.encode_name))
        case inspect.VarTupleType(item_type=item):
            yield from _unmarked(item, where)
        case inspect.NoneType() | inspect.DictType() | inspect.EnumType() | inspect.BoolType():
            return
        case inspect.StrType():
            if where in KEPT:
                yield where
        case _:
            if where not in BIRTH_YEARS:
                yield where


def source_of(answer: requests.Response) -> str:
    """All that an answer tells: its source and its headers; of a PDF its text, its metadata and what is attached."""
    headers = "\n".join(f"{name}: {value}" for name, value in answer.headers.items())
    if answer.headers.get("Content-Type") != "application/pdf":
        return headers + "\n" + answer.text.replace("\r\n ", "")
    pdf = pypdf.PdfReader(io.BytesIO(answer.content))
    attached = [part.decode("utf-8", "replace") for parts in pdf.attachments.values() for part in parts]
    texts = [page.extract_text() for page in pdf.pages]
    return "\n".join([headers, str(pdf.metadata or ""), *attached, *pdf.attachments, *texts])
