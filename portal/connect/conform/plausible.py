"""What answers say that can't be meant so: values that stand for none, other units, lists that aren't whole, opposites.

Each doubt names the key of a dialect file that settles it. A person decides: nothing here is written into a proposal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast, get_args, get_origin

from portal.connect.answers.comparison import UNREAD
from portal.connect.conform.judge import LIST_OF_FORMS
from portal.connect.conform.learned import Learned
from portal.connect.conform.opposites import is_opposite
from portal.connect.conform.propose import in_every_kind
from portal.connect.conform.walk import LIST_SIZE, LISTS, Visit, json_of
from portal.connect.dialects.formats import folded_code
from portal.connect.dialects.named_records import member_names
from portal.connect.dialects.named_records import records as all_records
from portal.connect.dialects.naming import words
from portal.connect.dialects.rules import Code, Rules
from portal.services.consents import READ_CONSENT
from portal.services.decoding import PagedResult
from portal.services.members import members_of
from portal.services.protocols import Medication, clock
from portal.services.rules.doses import minutes

Record = Mapping[str, object]
_NONE = re.compile(r"(0001|1753|1899|1900|1970|9999)-\d\d-\d\d|\d\d[./-]\d\d[./-](0001|1753|1899|1900|9999)")
_DELETED = re.compile(r"(is|was)?(soft)?deleted(at|on)?|removed(at|on)?|recordstatus", re.IGNORECASE)
_LENGTH = frozenset({"duration", "length", "days"})


_SUCCESS = "a record that doesn't exist is answered with a successful status"
_SHORT = "records may be missing from lists, and nobody told that they wait"


@dataclass(frozen=True, order=True, slots=True)
class Doubt:
    """A member or endpoint whose values can't be meant as they are read, why, and what settles it.

    `duty` is what pages may not keep, if it isn't the member's own (`portal.connect.conform.duties`).
    """

    about: str
    why: str
    settle: str
    duty: str = ""

    @property
    def text(self) -> str:
        return f"{self.about}: {self.why}: {self.settle}"


def doubts(visits: Iterable[Visit], rules: Rules, learned: Learned | None = None) -> list[Doubt]:
    """Every doubt about these answers, and what asking taught, each once."""
    visits = list(visits)
    good = [visit for visit in visits if visit.is_good and visit.into not in (bytes, object)]
    kinds = _records_of(good)
    found: set[Doubt] = set()
    for check in (_dates, _numbers, _units, _days, _names, _deleted, _contradictions):
        found |= set(check(kinds, rules))
    found |= set(_lists(good, rules)) | set(_signers(kinds, rules)) | set(_success(good, rules))
    if learned and learned.success:
        settle = f"is that a refusal? errors.success = {learned.success}"
        found.add(Doubt("errors.success", _SUCCESS, settle, "a refusal may look like success"))
    for ours in learned.untold if learned else ():
        if ours in rules.query:
            why = f"{rules.query[ours]} changed no answer as it should"
            found.add(Doubt(f"query.{ours}", why, "is it called so?", "lists may hold what wasn't asked for"))
    if learned and learned.false_empty:
        found.add(
            Doubt(
                "lists.empty",
                learned.false_empty,
                "name a code that only empty lists have",
                "a failure may look like an empty list",
            )
        )
    found |= {
        Doubt(visit.name, "a list that isn't found", "a wrong address, or an empty list? lists.empty", _SHORT)
        for visit in visits
        if visit.status == 404 and visit.endpoint in LISTS and _has_body(visit)
    }
    return sorted(found)


def _has_body(visit: Visit) -> bool:
    """Whether an answer is an object, as an API's own refusals are, and no web server's page."""
    return isinstance(json_of(visit.body), dict)


def _records_of(visits: Iterable[Visit]) -> dict[str, list[Record]]:
    """All records by kind, also those within others."""
    found: dict[str, list[Record]] = {}

    def add(value: object, kind: type[object]) -> None:
        if isinstance(value, list):
            for item in cast("list[object]", value):
                add(item, kind)
        elif isinstance(value, dict):
            record = cast("dict[str, object]", value)
            found.setdefault(kind.__name__, []).append(record)
            for member in members_of(kind):
                within = member.nested
                if within and isinstance(record.get(member.name), list) is member.is_list:
                    add(record.get(member.name), within)

    for visit in visits:
        add(_rows(visit), _kind(visit))
    return found


def _kind(visit: Visit) -> type[object]:
    is_page = get_origin(visit.into) is PagedResult
    return cast("type[object]", get_args(visit.into)[0] if is_page else visit.into)


def _rows(visit: Visit) -> object:
    answer = json_of(visit.body)
    if get_origin(visit.into) is PagedResult and isinstance(answer, dict):
        return cast("dict[str, object]", answer).get("items")
    return answer


def _values(kinds: Mapping[str, list[Record]], name: str) -> list[float]:
    """The numbers that came for a member, those in lists too."""
    kind, _, member = name.partition(".")
    given = (record.get(member) for record in kinds.get(kind, ()))
    flat = (
        item for value in given for item in (cast("list[Any]", value) if isinstance(value, list) else [value])
    )
    return [
        float(number) for number in flat if isinstance(number, int | float) and not isinstance(number, bool)
    ]


def _dates(kinds: Mapping[str, list[Record]], rules: Rules) -> Iterator[Doubt]:
    for kind, records in kinds.items():
        for name in {name for record in records for name in record if name != "dateOfBirth"}:
            given = [record[name] for record in records if isinstance(record.get(name), str | int)]
            given = [value for value in given if folded_code(cast("Code", value)) not in rules.no_time]
            odd = {str(value) for value in given if _NONE.match(str(value))}
            odd |= {"0"} if 0 in given and name in _TIMES else set()
            if odd:
                told = ", ".join(sorted(odd)[:3])
                why = f"{len([value for value in given if str(value) in odd])} of {len(given)} are {told}"
                yield Doubt(f"{kind}.{name.removeprefix(UNREAD)}", why, "a word for none? times.none")


def _numbers(kinds: Mapping[str, list[Record]], _rules: Rules) -> Iterator[Doubt]:
    for kind, shape in all_records().items():
        for member in members_of(shape) if kind in kinds else ():
            name = f"{kind}.{member.name}"
            given = _values(kinds, name) if member.is_number and member.is_nullable else []
            if odd := [number for number in given if number in _NO_NUMBERS]:
                why = f"{len(odd)} of {len(given)} are {odd[0]:g}"
                yield Doubt(name, why, "a word for none? values.no_number")


_NO_NUMBERS = frozenset({-1, -9, -99, -999, -9999, 9999, 99999, 999999})


def _units(kinds: Mapping[str, list[Record]], rules: Rules) -> Iterator[Doubt]:
    for name, most, why, settle in _UNITS:
        given = [value for value in _values(kinds, name) if value]
        if given and max(given) <= most and name not in rules.conversions:
            yield Doubt(name, f"{len(given)} values, none above {max(given):g}: {why}", settle)


_UNITS: tuple[tuple[str, float, str, str], ...] = tuple(
    (name, most, why, f"convert: {{ times = {factor} }}")
    for name, most, why, factor in (
        ("PgtResult.mosaicPercent", 1, "a fraction, and no per cent?", 100),
        ("Thresholds.euploidBelow", 1, "a fraction, and no per cent?", 100),
        ("Thresholds.aneuploidAbove", 1, "a fraction, and no per cent?", 100),
        ("Follicles.left", 4, "centimetres?", 10),
        ("Follicles.right", 4, "centimetres?", 10),
        ("MonitoringDay.endometriumMm", 2.5, "centimetres?", 10),
        ("File.size", 100, "kilobytes?", 1000),
        ("Attachment.size", 100, "kilobytes?", 1000),
    )
)


def _days(kinds: Mapping[str, list[Record]], rules: Rules) -> Iterator[Doubt]:
    for name in ("Medication.startDay", "Check.day"):
        given = _values(kinds, name)
        if 0 in given and min(given) == 0 and name not in rules.conversions:
            yield Doubt(name, "the first day is 0", "do days count from 0? convert: { plus = 1 }")
    if any(days < 1 for days in _values(kinds, "Medication.everyDays")):
        yield Doubt("Medication.everyDays", "below 1, read as every day", "ask the vendor: daily, or once?")
    rows = kinds.get("Medication", ())
    lengths = {name for row in rows for name in row if _LENGTH & set(words(name.removeprefix(UNREAD)))}
    if rows and not any(row.get("endDay") is not None for row in rows):
        for name in sorted(lengths):
            theirs = name.removeprefix(UNREAD)
            settle = f'a length? endDay = "{theirs}" and convert: {{ length_from = "startDay" }}'
            yield Doubt("Medication.endDay", f"never came, and {theirs} did", settle)
    theirs, is_told = rules.name_of(Medication, "endDay"), "Medication.endDay" in rules.conversions
    if rows and not is_told and (_LENGTH & set(words(theirs)) or any(map(_ends_before, rows))):
        why = f"{theirs} is before the first day, or is called so"
        yield Doubt("Medication.endDay", why, 'a length? convert: { length_from = "startDay" }')
    clocks = {
        name
        for kind, name in (("Medication", "time"), ("QuietHours", "start"), ("WorkingHours", "start"))
        for record in kinds.get(kind, ())
        if re.search(r"[ap]\.?m\b", str(record.get(name, "")), re.IGNORECASE)
    }
    for name in sorted(clocks):
        yield Doubt(name, "half days (AM, PM)", "convert: { clock = 12 }")
    hours = {str(hour) for row in rows for hour in (row.get("time"), *_listed(row.get("times"))) if hour}
    odd = sorted(hour for hour in hours if minutes(clock(hour)) is None)
    if odd and "time" not in clocks:
        yield Doubt(
            "Medication.time", f"{odd[0]} is no hour (HH:MM)", "ask the vendor: such doses have no order"
        )


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _ends_before(row: Record) -> bool:
    first, last = row.get("startDay"), row.get("endDay")
    return isinstance(first, int) and isinstance(last, int) and last < first


def _names(kinds: Mapping[str, list[Record]], rules: Rules) -> Iterator[Doubt]:
    """Members read as true or false whose name in the API says the opposite."""
    given = [(record, names) for record, names in rules.members.items()] + [("", rules.everywhere)]
    for record, names in given:
        for ours, theirs in names.items():
            name = f"{record}.{ours}" if record else ours
            if is_opposite(ours, theirs) and name not in rules.inverted and ours in _TRUTHS:
                yield Doubt(name, f"is called {theirs}", f'the opposite? {ours} = "!{theirs}"')


_TIMES = frozenset(
    field.name for shape in all_records().values() for field in members_of(shape) if field.is_time
)
_TRUTHS = frozenset(
    member.name for shape in all_records().values() for member in members_of(shape) if member.is_truth
)


def _deleted(kinds: Mapping[str, list[Record]], rules: Rules) -> Iterator[Doubt]:
    if rules.deleted is not None:
        return
    for kind, records in kinds.items():
        for name in sorted({name for record in records for name in record}):
            theirs = name.removeprefix(UNREAD)
            told = {repr(record.get(name)) for record in records if record.get(name) is not None}
            if _DELETED.fullmatch(theirs.replace("_", "")) and len(told) > 1:
                yield _of_deleted(f"{kind}.{theirs}", theirs)
    for theirs, values in in_every_kind(kinds).items():
        if len(values) > 1 and theirs not in member_names():
            yield _of_deleted(f"{theirs}, which nearly every record has,", theirs)


def _of_deleted(what: str, theirs: str) -> Doubt:
    return Doubt(
        "lists.deleted",
        f"{what} tells records apart",
        f'deleted ones? {{ path = "{theirs}", … }}',
        "deleted records may be shown",
    )


def _contradictions(kinds: Mapping[str, list[Record]], rules: Rules) -> Iterator[Doubt]:
    for record in kinds.get("ConsentForm", ()):
        if record.get("revokedAt") and str(record.get("status")).casefold() not in ("revoked", "superseded"):
            why = "a withdrawn form has another status; pages show it as withdrawn"
            yield Doubt("ConsentForm.status", why, "ask the vendor which of the two holds")


def _lists(visits: Sequence[Visit], rules: Rules) -> Iterator[Doubt]:
    listed: set[str] = set()
    single: set[str] = set()
    for visit in visits:
        answer = json_of(visit.body)
        if get_origin(visit.into) is PagedResult and isinstance(answer, dict):
            page = cast("dict[str, object]", answer)
            rows, total = page.get("items"), page.get("totalCount")
            count = len(cast("list[object]", rows)) if isinstance(rows, list) else 0
            if isinstance(total, int) and count < min(total, LIST_SIZE) and not rules.largest_page:
                why = f"{count} of {total} rows came, and {LIST_SIZE} were asked for"
                yield Doubt(visit.name, why, f"lists.largest_page = {count}?", _SHORT)
        if visit.name == LIST_OF_FORMS:
            listed |= _names_in(_rows(visit))
        elif visit.endpoint is READ_CONSENT:
            single |= _names_in(cast("object", answer))
    yield from _left_out(visits)
    for name in sorted((single - listed) & {"requiredSigners", "signatures"}) if listed else ():
        why = "comes with single forms, and not in lists"
        yield Doubt(f"ConsentForm.{name}", why, "is there a parameter for it? fixed_query")


def _left_out(visits: Sequence[Visit]) -> Iterator[Doubt]:
    """Forms that treatments name, and that a list which claims to be whole doesn't have: it may hold the open ones only."""
    listed: set[object] = set()
    is_whole = False
    for visit in visits:
        if visit.name == LIST_OF_FORMS and isinstance(answer := json_of(visit.body), dict):
            rows = _rows(visit)
            ids = (
                [row.get("id") for row in cast("list[Record]", rows) if isinstance(row, dict)]
                if isinstance(rows, list)
                else []
            )
            listed |= {str(id_) for id_ in ids}
            total = cast("Record", answer).get("totalCount")
            is_whole = is_whole or (isinstance(total, int) and total <= len(ids))
    named = {
        str(record["id"])
        for record in _records_of(visits).get("ConsentBrief", ())
        if record.get("id") is not None
    }
    if is_whole and (missing := named - listed):
        why = f"{len(missing)} forms that treatments name aren't in the list"
        yield Doubt(LIST_OF_FORMS, why, "does it hold the open ones only? fixed_query", _SHORT)


def _names_in(value: object) -> set[str]:
    rows = cast("list[object]", value) if isinstance(value, list) else [value]
    return {name for row in rows if isinstance(row, dict) for name in cast("dict[str, object]", row)}


def _signers(kinds: Mapping[str, list[Record]], rules: Rules) -> Iterator[Doubt]:
    """Signers that are no account of anybody, and the record of somebody."""
    if rules.signers_by is not None:
        return
    people = {
        str(record.get("id")): record.get("userId")
        for record in kinds.get("Patient", ())
        if record.get("userId")
    }
    signers = {
        str(record.get("personId")) for kind in ("Signer", "Signature") for record in kinds.get(kind, ())
    }
    records = {id_ for id_, account in people.items() if str(account) != id_} & signers
    if records - {str(account) for account in people.values()}:
        why = "is a patient's record, and not the account of it"
        yield Doubt("Signer.personId", why, 'nobody can sign: values.signers = "Patient.id"')


def _success(visits: Iterable[Visit], rules: Rules) -> Iterator[Doubt]:
    if rules.errors.success is not None:
        return
    for visit in visits:
        answer = json_of(visit.body)
        beside = cast("dict[str, object]", answer) if isinstance(answer, dict) else {}
        for name, value in beside.items():
            theirs = name.removeprefix(UNREAD)
            is_flag = isinstance(value, bool) and re.fullmatch(
                r"ok|success(ful)?|succeeded|is_?success(ful)?", theirs, re.IGNORECASE
            )
            if is_flag and get_origin(visit.into) is PagedResult:
                yield Doubt(
                    "errors.success",
                    f"each answer says {theirs}",
                    f'is false a failure? errors.success = "{theirs}"',
                    "a refusal may look like success",
                )
