"""What a page states, in lines: each value by the member of the API's answers that it came from, under its label.

`Born: {patient.dateOfBirth}` says more than `Born: 24 January 1990`: a reader sees that label and value belong together,
and a new member, which shifts the samples, changes no line. Pairs of definition lists, rows of tables, items, paragraphs
and fields are lines of their own; kept are pairs, rows, tags and what holds a value, and the headings over them.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from lxml.etree import _Element as Element
from pypdf import PdfReader

from tests.support.elements import parsed

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY = re.compile(
    r"(?:\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?\b(?P<day>\d{1,2}) (?P<month>"
    + "|".join(_MONTHS)
    + r")[a-z]*(?: (?P<year>\d{4}))?(?:,? (?:at )?(?P<time>\d\d:\d\d))?"
)
_ISO_DAY = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_CALENDAR_TIME = re.compile(r"\b(\d{8}T\d{4})00(Z?)")
_BEGINNING = re.compile(r"(?<![\w.])(?=(..?))")
"""The first two characters from each place where a value may begin."""
_PHONE = re.compile(r"\b0\d[\d ]{8,11}\d\b")
_HEADING = re.compile(r"h[1-6]|legend|caption")
_INLINE = frozenset(
    ("a", "abbr", "b", "bdi", "bdo", "button", "em", "i", "label", "mark", "small", "span", "strong", "time")
)
_UNSEEN = frozenset(("nav", "script", "svg", "template"))
_UNDER_TABLES = 7
_FACT = "\0"
"""Marks lines that are kept without a value too: they state a choice, as a status."""


class Answers:
    """The values that an API answered with, by the path of their member; `zone` is the clinic's."""

    def __init__(self, told: Iterable[Any], zone: ZoneInfo) -> None:
        self._texts: dict[str, str] = {}
        self._days: list[tuple[str, date, str]] = []
        self._times: dict[str, str] = {}
        for answer in told:
            for path, value in _leaves(answer, ""):
                written = _written(value, zone)
                for text in written.texts:
                    self._texts.setdefault(text, path)
                for day, at in written.days:
                    self._days.append((path, day, at))
                for time in written.times:
                    self._times.setdefault(time, path)
        self._by_beginning: dict[str, list[str]] = {}
        for known in self._texts:
            self._by_beginning.setdefault(known[:2], []).append(known)

    def named_id(self, written: str, pseudonym: Callable[[str], str]) -> str:
        """Return which member's value the audit record wrote like this."""
        told = (path for text, path in self._texts.items() if written in (text, f"~{pseudonym(text)}"))
        return f"{{{next(told, '?')}}}"

    def named(self, text: str) -> str:
        """Return the text with each of these values replaced by its path in braces."""
        text = _ISO_DAY.sub(self._iso_day, " ".join(text.split()))
        text = _DAY.sub(self._day, text)
        text = _CALENDAR_TIME.sub(self._calendar_time, text)
        text = _PHONE.sub(self._phone, text)
        begun = {word[:length] for word in _BEGINNING.findall(text) for length in (1, 2)}
        held = {known for two in begun for known in self._by_beginning.get(two, ()) if known in text}
        if not held:
            return text
        longest_first = sorted(held, key=len, reverse=True)
        known = rf"(?<![\w.])(?:{'|'.join(map(re.escape, longest_first))})(?![\w]|\.\d)"
        return re.sub(known, lambda found: f"{{{self._texts[found[0]]}}}", text)

    def _iso_day(self, found: re.Match[str]) -> str:
        day = date.fromisoformat(found[0])
        return next((f"{{{path}}}" for path, told, _ in self._days if told == day), found[0])

    def _day(self, found: re.Match[str]) -> str:
        day, month = int(found["day"]), _MONTHS.index(found["month"]) + 1
        for path, told, at in self._days:
            is_day = (told.day, told.month) == (day, month)
            if is_day and found["year"] in (None, str(told.year)) and found["time"] in (None, at):
                return f"{{{path}}}" + (" at {time}" if found["time"] else "")
        return found[0]

    def _calendar_time(self, found: re.Match[str]) -> str:
        path = self._times.get(found[1] + found[2])
        return f"{{{path}}}" if path else found[0]

    def _phone(self, found: re.Match[str]) -> str:
        path = self._texts.get("+44" + found[0].replace(" ", "")[1:])
        return f"{{{path}}}" if path else found[0]


def lines(html: str, answers: Answers) -> list[str]:
    """Return what the main part of a page states, in its order."""
    return stated(main_text(html, answers), answers)


def document_lines(pdf: bytes, answers: Answers) -> list[str]:
    """Return all that a PDF document says, line by line as it is set."""
    pages = [page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages]
    return [answers.named(line).strip() for line in "\n".join(pages).splitlines() if line.strip()]


def calendar_lines(text: str, answers: Answers) -> list[str]:
    """Return all lines of a calendar file (RFC 5545), unfolded, without its table of the zone's changes."""
    unfolded = re.sub(r"\r?\n[ \t]", "", text)
    told = re.sub(r"(?s)BEGIN:VTIMEZONE.*?END:VTIMEZONE\s*", "", unfolded)
    return [answers.named(line) for line in told.splitlines()]


def stated(text: str, answers: Answers) -> list[str]:
    """Return the lines of this text that hold a value, under the headings that lead to them."""
    kept: list[str] = []
    heads: list[tuple[int, str]] = []
    for line in text.splitlines():
        named = answers.named(line.replace(_FACT, "")).strip(" |")
        if level := len(line) - len(line.lstrip("#")):
            heads = [head for head in heads if head[0] < level]
            heads.append((level, named))
        elif "{" in named or _FACT in line:
            kept += [head for _, head in heads]
            heads = []
            kept.append(named)
    return kept


def main_text(html: str, answers: Answers) -> str:
    """Return what a person reads of a page's main part, or of all of it if it has none: a line for each block."""
    root = parsed(html)
    if root is None:
        return ""
    main = root.find(".//main")
    return _element(root, answers) if main is None else _text(main, answers)


def _text(element: Element, answers: Answers) -> str:
    parts = [_plain(element.text)]
    for child in element:
        if isinstance(child.tag, str):
            parts.append(_element(child, answers))
        parts.append(_plain(child.tail))
    return "".join(parts)


def _plain(text: str | None) -> str:
    return " ".join(f" {text} ".split("\n")) if text else ""


def _element(element: Element, answers: Answers) -> str:
    name = element.tag
    if name in _UNSEEN or element.get("type") == "hidden" or element.get("aria-hidden") == "true":
        return ""
    if name in ("input", "textarea", "select"):
        return _field(element)
    inner = _text(element, answers)
    if _HEADING.fullmatch(name):
        level = int(name[1]) if name[1].isdigit() else _UNDER_TABLES - 1
        return f"\n{'#' * level} {_one_line(inner)}\n"
    match name:
        case "a":
            to = answers.named(unquote(str(element.get("href") or "")))
            return f" {inner} ({to}) " if "{" in to else inner
        case "dt":
            return f"\n{_FACT}{_one_line(inner)}: "
        case "dd":
            is_last = next(element.itersiblings("dt", "dd"), None) is None
            return _one_line(inner) if is_last else f"{_one_line(inner)} / "
        case "td" | "th":
            return f"{_one_line(inner)} | "
        case "tr":
            return f"\n{_FACT if element.find('.//td') is not None else '#' * _UNDER_TABLES + ' '}{inner}\n"
        case _:
            mark = _FACT if "tag" in (element.get("class") or "").split() else ""
            return f" {mark}{inner} " if name in _INLINE else f"\n{inner}\n"


def _field(field: Element) -> str:
    """A field with what it holds; a choice only if it is taken."""
    held = str(field.get("value") or "")
    if field.tag == "textarea":
        held = "".join(field.itertext())
    elif field.tag == "select":
        held = ", ".join(" ".join(option.itertext()) for option in field.iterfind(".//option[@selected]"))
    elif field.get("type") in ("checkbox", "radio") and "checked" not in field.attrib:
        return ""
    return f" [{field.get('name')}: {_one_line(held)}] " if held else ""


def _one_line(text: str) -> str:
    return " ".join(text.replace("#", "").replace(_FACT, "").split())


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every value of an answer that isn't a list or an object, with its path; the first of a list goes without a number."""
    if isinstance(value, dict):
        for name, member in value.items():
            below = path if name == "items" and not path else f"{path}.{name}".lstrip(".")
            yield from _leaves(member, below)
    elif isinstance(value, list):
        for number, member in enumerate(value, start=1):
            yield from _leaves(member, path if number == 1 else f"{path} {number}".strip())
    else:
        yield path, value


class _Written(NamedTuple):
    """How pages and files may write a value."""

    texts: tuple[str, ...] = ()
    days: tuple[tuple[date, str], ...] = ()
    times: tuple[str, ...] = ()


@lru_cache(maxsize=None, typed=True)
def _written(value: Any, zone: ZoneInfo) -> _Written:
    match _instant(value):
        case datetime() as at:
            local = at.astimezone(zone)
            times = (f"{local:%Y%m%dT%H%M}", f"{at.astimezone(UTC):%Y%m%dT%H%M}Z")
            return _Written(days=((local.date(), f"{local:%H:%M}"),), times=times)
        case date() as day:
            return _Written(days=((day, ""),))
        case _:
            return _Written(texts=tuple(_forms(value)))


def _instant(value: Any) -> date | datetime | None:
    if not isinstance(value, str) or not re.fullmatch(r"\d{4}-\d\d-\d\d(T.*)?", value):
        return None
    return datetime.fromisoformat(value) if "T" in value else date.fromisoformat(value)


def _forms(value: Any) -> Iterator[str]:
    """How a page may write this value, if nothing else looks like it: a text with a digit, or a number of three digits."""
    if isinstance(value, str):
        if any(character.isdigit() for character in value) and len(value) > 2:
            yield from (value, value[:1].upper() + value[1:])
    elif isinstance(value, int | float) and not isinstance(value, bool) and value > 99:
        yield from (str(value), f"{value:,}")
