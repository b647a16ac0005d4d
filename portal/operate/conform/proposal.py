"""The content of a proposed dialect file and its text: certain rules, and questions (docs/conformance.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from portal.operate.conform.ask import Learned
from portal.operate.conform.codes import Codes
from portal.operate.conform.codes import questions as code_questions
from portal.operate.conform.match import Matches
from portal.services.dialects.naming import STYLES
from portal.services.dialects.rules import Rules

TRUTHS = (("true", "false"), ("Y", "N"), ("y", "n"), ("yes", "no"), ("1", "0"), ("J", "N"))
_FORMS_OF_DAYS = {"dd MM", "MM dd"}


@dataclass(slots=True)
class Proposal:
    """The content of a dialect file, and what a person must decide first. `rules` are the clinic's existing ones."""

    envelopes: list[str] = field(default_factory=list[str])
    items: str | None = None
    total: str | None = None
    totals: list[str] = field(default_factory=list[str])
    unread_count: str | None = None
    unread_counts: list[str] = field(default_factory=list[str])
    has_bom: bool = False
    has_etags: bool = False
    style: str = "camelCase"
    matches: dict[str, Matches] = field(default_factory=dict[str, Matches])
    codes: Codes = field(default_factory=Codes)
    forms: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    separators: set[str] = field(default_factory=set[str])
    numbers_as_text: bool = False
    truths: set[str] = field(default_factory=set[str])
    absent: list[str] = field(default_factory=list[str])
    unread: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    learned: Learned = field(default_factory=Learned)
    rules: Rules = field(default_factory=Rules)

    @property
    def undecided(self) -> list[str]:
        """The questions, one per line."""
        codes = [question for _name, question in code_questions(self.codes.asked)]
        return [*self._other_questions(), *self._numbers(), *codes]

    def _numbers(self) -> list[str]:
        """Questions about numeric enumerations that aren't in the dialect's tables yet."""
        if not self.rules.enumerations:
            return []
        return [
            f"enumerations.{name}: {', '.join(map(str, codes))} came: what do they stand for?"
            for name, codes in sorted(self.codes.numbered.items())
        ]

    @property
    def undecided_without_values(self) -> list[str]:
        """The same for a report without values: codes are only counted."""
        asked = self.codes.asked.items()
        return [
            *self._other_questions(),
            *(
                f"enumerations.{name}: {len(codes)} unknown (see the proposal)"
                for name, codes in sorted([*asked, *(self.codes.numbered.items() if self._numbers() else ())])
            ),
        ]

    def _other_questions(self) -> list[str]:
        asked = self._member_questions()
        if len(self.totals) > 1 and not self.total:
            asked.append(f"lists.total: one of {', '.join(map(json.dumps, self.totals))}?")
        for what in ("instants", "days"):
            form = self._form(what)
            if form is None:
                asked.append(
                    f"times.{what}: day before month, or month before day? No date in the answers tells"
                )
        if self.forms.get("instants", set()) & {"either", *_FORMS_OF_DAYS}:
            asked.append("times.zone: times come without a zone: in which one are they (Europe/London)?")
        if self.unread_counts and not self.rules.unread:
            asked.append(
                f"lists.unread: one of {', '.join(map(json.dumps, self.unread_counts))}, or none of them?"
            )
        if self.codes.numbered and not self.rules.enumerations:
            asked.append(
                'names.enumerations: values are numbers: "integers" where they are counted in the order of '
                "docs/api-needs.md (names.first_integer says from where), or codes of their own, a table for each?"
            )
        if self.learned.code_at:
            paths = ", ".join(map(json.dumps, self.learned.code_at))
            asked.append(f"errors.code: a refusal's code is at {paths}, or elsewhere?")
        return asked

    def _member_questions(self) -> list[str]:
        """Questions about members; one for a member that occurs in several kinds of record."""
        kinds: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for kind, one in sorted(self.matches.items()):
            for ours, theirs in sorted(one.undecided.items()):
                others = [there for other in self.matches.values() if (there := other.undecided.get(ours))]
                common = set(theirs).intersection(*others)
                is_shared = len(others) > 1 and len(common) == 1
                kinds.setdefault((ours, tuple(common if is_shared else theirs)), []).append(kind)
        return [
            (f"{where[0]}.{ours}" if len(where) == 1 else f"{ours} (in {', '.join(where)})")
            + f": one of {', '.join(map(json.dumps, theirs))}, or none of them?"
            for (ours, theirs), where in kinds.items()
        ]

    def _form(self, what: str) -> str | None:
        """The format of dates or instants; None if it is ambiguous."""
        forms = self.forms.get(what, set()) - {"iso"}
        if not forms:
            return "iso"
        if "either" in forms and not forms & _FORMS_OF_DAYS:
            other = self.forms.get("days" if what == "instants" else "instants", set()) & _FORMS_OF_DAYS
            forms = other or forms
        forms.discard("either")
        if len(forms) != 1:
            return None
        (form,) = forms
        if form.startswith("epoch"):
            return form
        by = next(iter(self.separators), "/")
        return form.replace(" ", by) + f"{by}yyyy" + (" HH:mm:ss" if what == "instants" else "")

    def renamed(self) -> dict[str, dict[str, str]]:
        """Members whose name isn't the portal's in the API's naming style, by kind of record."""
        spelled = STYLES[self.style]
        return {
            kind: {
                ours: theirs
                for ours, theirs in sorted(one.names.items())
                if theirs not in (ours, spelled(ours))
            }
            for kind, one in sorted(self.matches.items())
            if kind != "Page"
        }

    @property
    def is_empty(self) -> bool:
        """Whether the API behaves as the portal expects, or as the clinic's dialect says."""
        return not any(line and not line.startswith("#") for line in self.toml().splitlines())

    def names(self) -> dict[str, str]:
        """The API's member names in all kinds of record, used to find ids."""
        return {ours: theirs for one in self.matches.values() for ours, theirs in one.names.items()}

    def toml(self) -> str:
        """The file's text."""
        lines = [
            "# A dialect file, proposed by `python -m portal conform`: read it before you use it (docs/conformance.md)."
        ]
        if self.rules != Rules():
            lines.append("# The clinic has a dialect already: this is what is to be added to its file.")
        lines += [f"# decide: {question}" for question in self.undecided]
        if self.unread:
            lines.append("# Never came by its name. Of a fitting type and unread in the same records:")
            lines += [f"#   {name}: {', '.join(theirs[:8])}" for name, theirs in sorted(self.unread.items())]
        if self.absent:
            lines.append("# Never came, and nothing is like it. Where that means that there is none, say so:")
            lines.append(f"# absent_means_none = {json.dumps(self.absent)}")
        if self.learned.untold:
            lines.append(
                "# Parameters that changed no answer by any likely name, or for which there were too few records: "
                + ", ".join(self.learned.untold)
            )
        if self.learned.base_path:
            lines.append(f"base_path = {json.dumps(self.learned.base_path)}")
        if self.has_bom:
            lines.append("bom = true")
        if self.has_etags:
            lines.append('concurrency = "etag"')
        for title, table in self._tables():
            if table:
                lines += ["", f"[{title}]", *table]
        if self.codes.numbered:
            lines += ["", "# Numbers, if they aren't counted in the portal's order:", *self.codes.tables()]
        return "\n".join(lines) + "\n"

    def _tables(self) -> Iterator[tuple[str, list[str]]]:
        yield (
            "addresses",
            [f"{json.dumps(ours)} = {json.dumps(theirs)}" for ours, theirs in self.learned.addresses.items()],
        )
        yield "names", self._styles()
        yield "envelopes", self._envelopes()
        yield "lists", self._lists()
        yield "query", [f"{ours} = {json.dumps(theirs)}" for ours, theirs in self._parameters().items()]
        forms = [(what, self._form(what)) for what in ("instants", "days")]
        yield "times", [f'{what} = "{form}"' for what, form in forms if form and form != "iso"]
        truth = next((one for one in TRUTHS if self.truths and self.truths <= set(one)), None)
        values = ['numbers = "text"'] if self.numbers_as_text else []
        values += [f"booleans = {json.dumps(truth)}"] if truth else []
        yield "values", values
        statuses = self.learned.statuses.items()
        yield "errors.statuses", [f"{theirs} = {meant}" for theirs, meant in statuses]
        for kind, names in self.renamed().items():
            why = self.matches[kind].why
            yield (
                f"members.{kind}",
                [
                    f"{ours} = {json.dumps(theirs)}" + (f"  # {why[ours]}" if ours in why else "")
                    for ours, theirs in names.items()
                ],
            )
        for name, codes in sorted(self.codes.chosen.items()):
            yield f"enumerations.{name}", [f"{ours} = {json.dumps(code)}" for ours, code in codes.items()]

    def _styles(self) -> list[str]:
        found = [f'members = "{self.style}"'] if self.style != "camelCase" else []
        query, values = self._query_style(), self.codes.style()
        found += [f'query = "{query}"'] if query != self.rules.query_style else []
        if values and values != self.rules.enumeration_style:
            found.append(f'enumerations = "{values}"')
        return found

    def _query_style(self) -> str:
        return self.learned.style() or self.rules.query_style

    def _envelopes(self) -> list[str]:
        if not self.envelopes:
            return []
        return [f"answers = {json.dumps(self.envelopes)}", '# sent = "…"  # if bodies are put into one too']

    def _lists(self) -> list[str]:
        named = [("items", self.items), ("total", self.total), ("unread", self.unread_count)]
        found = [f"{key} = {json.dumps(name)}" for key, name in named if name]
        learned = self.learned
        if "SkipCount" in learned.parameters and learned.paging != self.rules.paging:
            found.append(f'paging = "{learned.paging}"')
        if learned.paging == "page" and learned.first_page != self.rules.first_page:
            found.append(f"first_page = {learned.first_page}")
        if learned.largest_page:
            found.append(f"largest_page = {learned.largest_page}")
        if "Sorting" in learned.parameters and learned.sorting != self.rules.sorting:
            found.append(f'sorting = "{learned.sorting}"')
        return found

    def _parameters(self) -> dict[str, str]:
        """Parameters whose name follows neither the naming style nor the dialect."""
        spell = STYLES[self._query_style()]
        return {
            ours: theirs
            for ours, theirs in self.learned.parameters.items()
            if theirs not in (self.rules.parameter(ours), spell(ours))
        }
