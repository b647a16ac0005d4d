"""The generated parts of docs/configuration.md: the table of environment variables and the example of a tenants file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from portal.config.table import Setting, settings_of
from portal.config.tenants import Tenant
from portal.config.variables import DECLARED
from tools.definitions import ROOT

_HEAD = "| Variable | Meaning | Default |\n| --- | --- | --- |\n"
_CLINIC = "tenants.riverside"
_COLUMN = 41
"""Where comments stand, unless the line is longer."""


def written() -> str:
    """The document with its table and its example as the code has them."""
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    text = re.sub(rf"{re.escape(_HEAD)}(\|.*\n)*", lambda _: _HEAD + variables(), text)
    return re.sub(r"(?<=```toml\n)\[care\].*?(?=```)", lambda _: example(), text, flags=re.DOTALL)


def variables() -> str:
    """A row for each variable that operators may set."""
    return "".join(
        f"| `{one.name}` | {one.about} | {_default(one.default, is_required=bool(one.hint))} |\n"
        for one in DECLARED.values()
        if one.about
    )


def _default(value: object, *, is_required: bool) -> str:
    if is_required:
        return "required"
    return "none" if value is None else f"`{value}`"


def example() -> str:
    """A tenants file with every key, each with what it is for."""
    known = settings_of(Tenant)
    lines = [_commented("[care]", "shared by all clinics; a clinic may override each key")]
    lines += [_line(name, one) for name, one in known.items() if one.shared]
    lines += ["", f"[{_CLINIC}]"]
    lines += [_line(name, one) for name, one in known.items() if not one.shared and not one.of]
    for name, one in known.items():
        if one.of:
            lines += ["", *_table(name, one)]
    return "\n".join(lines) + "\n"


def _table(name: str, table: Setting) -> Iterator[str]:
    head = f"[[{_CLINIC}.{name}]]" if table.many else f"[{_CLINIC}.{name}]"
    yield _commented(head, table.about)
    assert table.of
    for key, one in settings_of(table.of).items():
        if not (one.commented and table.example):
            yield _line(key, one, table.example.get(key))


def _line(name: str, one: Setting, value: object = None) -> str:
    line = f"{name} = {_toml(one.example if value is None else value)}"
    return _commented(f"# {line}" if one.commented else line, one.about)


def _commented(line: str, comment: str) -> str:
    if not comment:
        return line
    return f"{line:<{_COLUMN - 1}} # {comment}" if len(line) < _COLUMN else f"{line}    # {comment}"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = (
            f"{name if name.isalnum() or '_' in name else json.dumps(name)} = {_toml(one)}"
            for name, one in value.items()
        )
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
