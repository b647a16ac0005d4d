"""The parts of docs/configuration.md that are generated: the table of environment variables."""

from __future__ import annotations

import re

from portal.config.variables import DECLARED
from tools.definitions import ROOT

_HEAD = "| Variable | Meaning | Default |\n| --- | --- | --- |\n"


def written() -> str:
    """The document with its table as the code has it."""
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    return re.sub(rf"{re.escape(_HEAD)}(\|.*\n)*", lambda _: _HEAD + variables(), text)


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
