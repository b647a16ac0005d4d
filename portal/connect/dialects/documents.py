"""A dialect file to begin with, and the tables of docs/dialects.md, made from the declarations that validate such files."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from portal.connect.dialects.keys import DECLARED, Key
from portal.connect.dialects.named_records import choices, query_names, records, use_of_member
from portal.services.members import members_of
from portal.services.refusal_codes import RULES

_WIDTH = 110
_BY_RECORD = {"members", "enumerations", "query", "errors.codes"}
"""Keys whose tables are written out, with a line for each entry."""


def skeleton() -> str:
    """A dialect file that changes nothing: every key, member, value and parameter as a comment, by the portal's names."""
    lines = [
        "# A dialect file: how an API differs from docs/api-needs.md. Each line is a comment, and says what the portal expects:",
        "# take away the # where the API differs, and write its name or form. The keys are explained in docs/dialects.md.",
        "",
    ]
    tables: dict[str, list[Key]] = {}
    for key in DECLARED:
        if key.name not in _BY_RECORD:
            tables.setdefault(key.table, []).append(key)
    for table, keys in tables.items():
        lines += [f"# [{table}]", ""] if table else []
        for key in keys:
            lines += [*_explained(key), f"# {key.name.rpartition('.')[2]} = {key.example}", ""]
    return "\n".join([*lines, *_codes(), *_parameters(), *_members(), *_choices()]) + "\n"


def _explained(key: Key) -> list[str]:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", key.meaning.replace("`", ""))
    said = f"{text[:1].upper()}{text[1:]}. If left out: {key.default.replace('`', '')}."
    return textwrap.wrap(said, _WIDTH, initial_indent="## ", subsequent_indent="## ")


def _codes() -> Iterator[str]:
    yield "## The API's code for each rule: its name is the first part of the line."
    yield "# [errors.codes]"
    yield from (f'# {name} = "{name}"  # {meaning}' for name, meaning in RULES.items())
    yield ""


def _parameters() -> Iterator[str]:
    yield "# [query]"
    yield from (f'# {name} = "{name}"' for name in query_names())
    yield ""


def _members() -> Iterator[str]:
    for record, shape in records().items():
        yield f"# [members.{record}]"
        for member in members_of(shape):
            use = use_of_member(f"{record}.{member.name}")
            must = "required" if member.is_required else ""
            said = "; ".join(filter(None, (must, use.purpose if use else "not shown")))
            yield f'# {member.name} = "{member.name}"  # {said}'
        yield ""


def _choices() -> Iterator[str]:
    for name, choice in choices().items():
        yield f"# [enumerations.{name}]"
        yield from (f'# {member.value} = "{member.value}"' for member in choice)
        yield ""


def page(text: str) -> str:
    """docs/dialects.md with the tables of keys and error codes written anew."""
    keys = [f"| `{key.name}` | {key.meaning} | {key.default} |" for key in DECLARED]
    text = _with_table(text, "## Keys\n", ["| Key | Meaning | Default |", "| --- | --- | --- |", *keys])
    rules = [f"| `{name}` | {meaning} |" for name, meaning in RULES.items()]
    return _with_table(text, "## Error codes\n", ["| Rule | Meaning |", "| --- | --- |", *rules])


def _with_table(text: str, heading: str, rows: list[str]) -> str:
    """The text with the first table after a heading replaced."""
    before, after = text.split(heading, 1)
    found = re.search(r"(?:^\|.*\n)+", after, re.MULTILINE)
    assert found is not None, heading
    table = "\n".join(rows) + "\n"
    return before + heading + after[: found.start()] + table + after[found.end() :]
