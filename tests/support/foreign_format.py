"""How another API differs from the care API: names, codes, dates and queries, translated in both directions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from tests.support.dialect import SHAPES

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
DAY = re.compile(r"\d{4}-\d\d-\d\d")
INSTANTS = {"storageExpiresAt", "expiresAt", "start", "end", "From", "To"}
DAYS = {"procedureDate", "startDate", "dateOfBirth"}
NUMBERS = {"order", "day", "startDay", "endDay", "dose", "SkipCount", "MaxResultCount"}
SENT_CHOICES = {
    "signerRole": "Patient Partner GameteProvider Donor Surrogate IntendedParent Witness Interpreter Clinician",
    "method": "TypedName Drawn Paper",
}
TOKYO = ZoneInfo("Asia/Tokyo")


def snake(name: str, glue: str = "_") -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", glue, name).lower()


@dataclass(frozen=True)
class Foreign:
    """How one API differs, and the file that tells the portal so."""

    name: str
    toml: str
    style: str = "camel"
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    codes: Mapping[str, str | int] = field(default_factory=dict[str, Any])
    """Values of enumerations by `member.Value`."""
    upper: bool = False
    base_path: str = ""
    care: str = "/api/care"
    instants: str = "iso"
    days: str = "iso"
    words: tuple[str, str] | None = None
    texts: bool = False
    bom: bool = False
    etag: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    paged: bool = False
    errors: str = "abp"

    def key(self, name: str) -> str:
        if name in self.renamed:
            return self.renamed[name]
        match self.style:
            case "pascal":
                return name[:1].upper() + name[1:]
            case "snake":
                return snake(name)
            case "kebab":
                return snake(name, "-")
            case _:
                return name

    def our_key(self, name: str) -> str:
        for ours, theirs in self.renamed.items():
            if theirs == name:
                return ours
        name = re.sub(r"[_-]([a-z0-9])", lambda found: found[1].upper(), name)
        return name[:1].lower() + name[1:]

    def code(self, member: str, value: str) -> str | int:
        own = self.codes.get(f"{member}.{value}")
        return own if own is not None else snake(value).upper() if self.upper else value

    # ── what the service says, in the other API's words ──────────────────────────────────────────────────

    def said(self, value: Any, shape: Any, member: str = "") -> Any:
        if isinstance(value, list):
            return [self.said(one, shape, member) for one in value]
        if isinstance(value, dict):
            if member == "data":
                return {self.key(name): one for name, one in value.items()}
            inner = shape if isinstance(shape, Mapping) else {}
            return {self.key(name): self.said(one, inner.get(name, {}), name) for name, one in value.items()}
        if isinstance(value, bool):
            return self.words[not value] if self.words else value
        if isinstance(value, int | float):
            return str(value) if self.texts else value
        if isinstance(value, str):
            return self.text(value, shape, member)
        return value

    def text(self, value: str, shape: Any, member: str) -> Any:
        if isinstance(shape, str):
            return self.code(member, value) if value in shape.split() and member != "type" else value
        if INSTANT.fullmatch(value) and self.instants != "iso":
            at = datetime.fromisoformat(value)
            return (
                int(at.timestamp() * 1000)
                if self.instants == "ms"
                else f"{at.astimezone(TOKYO):%d/%m/%Y %H:%M:%S}"
            )
        if DAY.fullmatch(value) and self.days != "iso":
            return f"{date.fromisoformat(value):%d/%m/%Y}"
        return value

    # ── what the portal sends, as the service wants it ───────────────────────────────────────────────────

    def meant(self, value: Any, shape: Any, member: str = "") -> Any:
        if isinstance(value, list):
            return [self.meant(one, shape, member) for one in value]
        if isinstance(value, dict):
            inner = shape if isinstance(shape, Mapping) else {}
            members = ((self.our_key(name), one) for name, one in value.items())
            return {name: self.meant(one, inner.get(name, {}), name) for name, one in members}
        names = shape if isinstance(shape, str) else SENT_CHOICES.get(member)
        if names and member != "type":
            codes = {str(self.code(member, name)): name for name in names.split()}
            assert str(value) in codes or value not in names.split(), (
                f"{member}: {value} is the portal's own word"
            )
            return codes.get(str(value), value)
        if names:
            return value
        return self.value(value, member)

    def value(self, value: Any, member: str) -> Any:
        if self.words and value in self.words:
            return value == self.words[0]
        if self.texts and member in NUMBERS and isinstance(value, str):
            return float(value) if "." in value else int(value)
        if member in INSTANTS and self.instants == "ms" and re.fullmatch(r"-?\d+", str(value)):
            return datetime.fromtimestamp(int(value) / 1000, UTC).isoformat()
        if member in INSTANTS and isinstance(value, str) and re.fullmatch(r"\d\d/\d\d/\d{4} [\d:]{8}", value):
            return datetime.strptime(value, "%d/%m/%Y %H:%M:%S").replace(tzinfo=TOKYO).isoformat()
        if member in DAYS and isinstance(value, str) and re.fullmatch(r"\d\d/\d\d/\d{4}", value):
            return datetime.strptime(value, "%d/%m/%Y").date().isoformat()
        return value

    def query(
        self, pairs: list[tuple[str, str]], path: str, *, is_lenient: bool = False
    ) -> list[tuple[str, str]]:
        """What a query means; parameters that aren't known are passed over by a lenient API."""
        theirs = {name: ours for ours, name in self.parameters.items()}
        given = {theirs.get(name, name): value for name, value in pairs}
        known_names = {*theirs, "id", "__tenant"}
        if theirs and (unknown := {name for name, _ in pairs} - known_names):
            assert is_lenient, f"{path} knows no {unknown}"
            given = {name: value for name, value in given.items() if name not in unknown}
        shape = shape_of(path)
        found: list[tuple[str, str]] = []
        for name, value in given.items():
            member = name[:1].lower() + name[1:]
            meant = self.meant(value, shape.get(member, {}), member)
            plain = str(self.value(meant, name))
            found.append((name, plain.lower() if plain in ("True", "False") else plain))
        known = dict(found)
        if self.paged and "SkipCount" in known:
            known["SkipCount"] = str((int(known["SkipCount"]) - 1) * int(known["MaxResultCount"]))
        if "Sorting" in known and self.name == "kebab":
            down = known["Sorting"].startswith("-")
            known["Sorting"] = self.our_key(known["Sorting"].lstrip("-")) + (" desc" if down else "")
        elif "Sorting" in known:
            member, _, way = known["Sorting"].partition(" ")
            known["Sorting"] = f"{self.our_key(member)} {way}".strip()
        return list(known.items())


def shape_of(path: str) -> Mapping[str, Any]:
    return next((shape for pattern, shape in SHAPES if re.match(pattern, path)), {})
