"""Tables of the tenants file: each key is declared once, as a field of the class that its table is read into.

A parser gets a key's value and where it is from, and raises ValueError with what the value must be. All faults of a table
are reported together, each with its key. docs/configuration.md's example is made from the same declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from portal.parse import paragraphs

_T = TypeVar("_T")
_REQUIRED = object()
_LONGEST_ADVICE = 1000
_ADVICE = 'must give each language its text, like { en = "Call us." }'


@dataclass(frozen=True, slots=True)
class Source:
    """What surrounds a value: the environment, which holds secrets, the file's folder, the clinic's table and its own."""

    environ: Mapping[str, str]
    folder: Path
    clinic: Mapping[str, Any]
    table: Mapping[str, Any]


NOWHERE = Source({}, Path(), {}, {})


@dataclass(frozen=True, slots=True)
class Setting:
    """A key: `default` is as in the file. `of` is the class of a table, or, with `many`, of a list of tables.

    Without a name, its keys stand in the same table. A `commented` key is another way, and so a comment in the example.
    """

    parse: Callable[[Any, Source], object]
    example: Any
    about: str
    default: object
    name: str | None = None
    shared: bool = False
    commented: bool = False
    of: type | None = None
    many: bool = False


def setting(
    parse: Callable[[Any, Source], _T],
    example: object,
    about: str = "",
    default: object = _REQUIRED,
    *,
    secret: bool = False,
    **more: Any,
) -> _T:
    """A field that is read from the key of its name, or of the name given."""
    metadata = {"setting": Setting(parse, example, about, default, **more)}
    if default is _REQUIRED:
        return cast("_T", field(repr=not secret, metadata=metadata))
    usual = (lambda: None) if default is None else (lambda: parse(default, NOWHERE))
    return cast("_T", field(default_factory=usual, repr=not secret, metadata=metadata))


def table(of: type[_T], what: str, about: str = "", default: object = None, **more: Any) -> _T:
    """A field that is read from a table of its own."""

    def parse(value: Any, source: Source) -> _T:
        return read_table(of, value, source, what)

    return setting(parse, more.pop("example", {}), about, default, of=of, **more)


def tables(
    of: type[_T], must: str, about: str, alike: Callable[[_T], object] = id, name: str | None = None
) -> tuple[_T, ...]:
    """A field that is read from a list of tables. Each must be as it says, and no two may be `alike`."""

    def parse(value: Any, source: Source) -> tuple[_T, ...]:
        if not isinstance(value, list):
            raise ValueError(f"must be a list of tables with {', '.join(settings_of(of))}")
        found, faults = dict[object, _T](), list[str]()
        for number, entry in enumerate(cast("list[object]", value), 1):
            try:
                row = read_table(of, entry, source, what="")
            except ValueError:
                faults.append(f"entry {number} must {must}")
                continue
            if alike(row) in found:
                faults.append(
                    f"entry {number} names {alike(row)} a second time; only one of the two can hold"
                )
            found[alike(row)] = row
        if faults:
            raise ValueError(*faults)
        return tuple(found.values())

    return setting(parse, {}, about, [], of=of, many=True, name=name)


def settings_of(of: type) -> dict[str, Setting]:
    """The settings of a class's table by key, those of a part without a name too."""
    found: dict[str, Setting] = {}
    for name, setting in _by_field(of).values():
        found |= {name: setting} if name else settings_of(cast("type", setting.of))
    return found


def read_table(of: type[_T], given: object, source: Source, what: str, **more: object) -> _T:
    """Return the class with the values of its keys; raise ValueError with each fault as `.key: what is wrong`."""
    if not isinstance(given, dict):
        raise ValueError("must be a table")
    source = replace(source, table=cast("Mapping[str, Any]", given))
    known = settings_of(of)
    faults = [_unknown(name, known, what) for name in sorted(source.table.keys() - known.keys())]
    for field_name, (name, setting) in _by_field(of).items():
        try:
            more[field_name] = _value(name, setting, source)
        except ValueError as error:
            faults += [f".{name}{_said(fault)}" if name else fault for fault in error.args]
    if faults:
        raise ValueError(*faults)
    return of(**more)


def _by_field(of: type) -> dict[str, tuple[str, Setting]]:
    found = {member.name: member.metadata.get("setting") for member in fields(of)}
    return {
        name: (name if setting.name is None else setting.name, setting)
        for name, setting in found.items()
        if setting
    }


def _value(name: str, setting: Setting, source: Source) -> object:
    if not name and setting.of is not None:
        part = {key: value for key, value in source.table.items() if key in settings_of(setting.of)}
        return setting.parse(part, source)
    value = source.table.get(name, setting.default)
    if value is _REQUIRED:
        raise ValueError("is missing")
    return None if value is None else setting.parse(value, source)


def _said(fault: str) -> str:
    return fault if fault.startswith(".") else f": {fault}"


def _unknown(name: str, known: Mapping[str, Setting], what: str) -> str:
    meant = get_close_matches(name, known, 1, 0.75)
    return f".{name}: isn't a setting of {what}" + (f"; is {meant[0]} meant?" if meant else "")


def text(value: Any, source: Source) -> str:
    """A text that isn't empty, without the spaces around it."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a non-empty string")
    return value.strip()


def https_address(value: Any, source: Source) -> str:
    parts = urlsplit(text(value, source))
    if parts.scheme != "https" or not parts.netloc:
        raise ValueError(f"must be an https address (found {value!r})")
    return text(value, source)


def optional_https_address(value: Any, source: Source) -> str:
    return https_address(value, source) if value else ""


def by_language(value: Any, source: Source) -> Mapping[str, str]:
    if not isinstance(value, dict):
        raise ValueError(_ADVICE)
    given = cast("dict[str, Any]", value)
    written = {
        language: words.strip()
        for language, words in given.items()
        if isinstance(words, str)
        and words.strip()
        and paragraphs(words, longest=_LONGEST_ADVICE) == words.strip()
    }
    if written.keys() != given.keys():
        raise ValueError(_ADVICE)
    return written


def texts(value: Any, source: Source) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(item, str) and item for item in cast("list[Any]", value)
    ):
        raise ValueError("must be a list of strings")
    return tuple(cast("Sequence[str]", value))


def words(value: Any, source: Source) -> frozenset[str]:
    return frozenset(texts(value, source))


def flag(value: Any, source: Source) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value
