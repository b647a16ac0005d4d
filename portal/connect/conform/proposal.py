"""The content of a proposed dialect file and its text: certain rules, and questions (docs/conformance.md)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from portal.connect.conform.codes import Codes
from portal.connect.conform.codes import questions as code_questions
from portal.connect.conform.duties import DUTIES
from portal.connect.conform.learned import Learned
from portal.connect.conform.match import Matches, is_weak
from portal.connect.conform.walk import STAMP
from portal.connect.dialects.named_records import family, record_of, records
from portal.connect.dialects.naming import STYLES, words
from portal.connect.dialects.rules import Code, Rules
from portal.services.endpoints import ALL
from portal.services.members import Member, members_of

TRUTHS: tuple[tuple[Code, Code], ...] = (
    *(("true", "false"), ("Y", "N"), ("y", "n"), ("yes", "no"), ("Yes", "No"), ("YES", "NO")),
    *(("1", "0"), (1, 0), (-1, 0), ("T", "F"), ("t", "f"), ("J", "N"), ("TRUE", "FALSE"), ("True", "False")),
)
MOST_ASKED = 4
_FORMS_OF_DAYS = {"dd MM", "MM dd"}


@dataclass(slots=True)
class Proposal:
    """The content of a dialect file, and what a person must decide first. `rules` are the clinic's existing ones."""

    envelopes: list[str] = field(default_factory=list[str])
    items: dict[str, str] = field(default_factory=dict[str, str])
    record: str | None = None
    total: str | None = None
    totals: list[str] = field(default_factory=list[str])
    counts: list[set[str]] = field(default_factory=list[set[str]])
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
    has_local_times: bool = False
    truths: set[Code] = field(default_factory=set[Code])
    absent: list[str] = field(default_factory=list[str])
    unread: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    learned: Learned = field(default_factory=Learned)
    rules: Rules = field(default_factory=Rules)

    @property
    def undecided(self) -> list[str]:
        """The questions, one per line: what unlocks most comes first."""
        return [*self._other_questions(), *self._numbers(), *code_questions(self.codes.asked)]

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
        asked = self._member_questions(lambda kind, ours: not unlocks(kind, ours) and is_needed(kind, ours))
        asked = [*self._member_questions(unlocks), *self._format_questions(), *asked]
        untold = [parameter for parameter in self._asked_parameters() if parameter in self.learned.untold]
        untried = [
            parameter for parameter in self._asked_parameters() if parameter not in self.learned.untold
        ]
        for names, why in (
            (untold, "No likely name changed an answer"),
            (untried, "The records at hand don't tell"),
        ):
            if names:
                asked.append(f"query.{', '.join(names)}: what is each called? {why}")
        asked += self._questions_on_acts()
        if self.learned.code_at:
            paths = ", ".join(map(json.dumps, self.learned.code_at))
            asked.append(f"errors.code: a refusal's code is at {paths}, or elsewhere?")
        return asked

    def _format_questions(self) -> list[str]:
        """What lists and values of every record depend on."""
        asked: list[str] = []
        if len(self.totals) > 1 and not self.total:
            asked.append(f"lists.total: one of {', '.join(map(json.dumps, self.totals))}?")
        for what in ("instants", "days"):
            form = self._form(what)
            if form is None:
                asked.append(
                    f"times.{what}: day before month, or month before day? No date in the answers tells"
                )
        if self._lacks_zone():
            asked.append(
                "times.zone: times come without a zone, or days as times of one: which (Europe/London, or Etc/UTC)?"
            )
        if self.truths and self._truth() is None:
            found = ", ".join(json.dumps(truth) for truth in sorted(self.truths, key=str))
            asked.append(f"values.booleans: {found} came: which is true, which is false?")
        if self.unread_counts and not self.rules.unread:
            asked.append(
                f"lists.unread: one of {', '.join(map(json.dumps, self.unread_counts))}, or none of them?"
            )
        if self.codes.numbered and not self.rules.enumerations:
            asked.append(
                'names.enumerations: values are numbers: "integers" where they are counted in the order of '
                "docs/api-needs.md (names.first_integer says from where), or codes of their own, a table for each?"
            )
        return asked

    def _questions_on_acts(self) -> list[str]:
        """Members of records that only acts send or bring, which no answer shows, where other records call them otherwise."""
        renamed = self.renamed()
        known: dict[str, dict[str, str]] = {}
        for names in (self.rules.members, renamed):
            for kind, value in names.items():
                for ours, theirs in value.items():
                    known.setdefault(ours, {})[theirs] = kind
        everywhere = {*self.rules.everywhere, *self._everywhere(renamed)}
        unfound = {ours for match in self.matches.values() for ours in (*match.undecided, *match.absent)}
        asked: list[str] = []
        for kind, shape in sorted(_of_acts().items()):
            read = {
                member for record in family(shape) if record in self.matches for member in _members(record)
            }
            for ours in sorted(_used(kind) - read - everywhere - {*self.rules.members.get(kind, {})}):
                guesses = known.get(ours) or ({} if ours in unfound else self._id_like(ours, known))
                for theirs, as_in in list(guesses.items())[:1]:
                    asked.append(f"{kind}.{ours} {json.dumps(theirs)}, as in {as_in}")
        return [f"what only acts send or bring: {'; '.join(asked)}: is each called so?"] if asked else []

    def _id_like(self, ours: str, known: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
        """What an id may be called where at least two others end so ("caseRef" and "fileRef"), and none otherwise."""
        spell = STYLES[self._member_style()]
        *stem, last = words(ours)
        if not stem or last not in ("id", "ids"):
            return {}
        alike = {
            (value, words(theirs)[-1]): kind
            for value, names in known.items()
            for theirs, kind in names.items()
            if words(value)[-1] == last and words(value)[:-1] and words(theirs)
        }
        ends = {end for _one, end in alike}
        if len(alike) < 2 or len(ends) > 1:
            return {}
        return {spell("-".join([*stem, *ends])): next(iter(alike.values()))}

    def _asked_parameters(self) -> list[str]:
        """Parameters that a person must name, where the API calls any otherwise than the portal: those for which no likely
        name worked and, once all members are known, those that the records at hand can't tell."""
        learned, rules = self.learned, self.rules
        has_names = not any(match.undecided for match in self.matches.values())
        differs = bool(rules.query) or rules.query_style != "PascalCase"
        differs = differs or any(ours != theirs for ours, theirs in learned.parameters.items())
        asked = [*learned.untold, *(learned.untried if has_names else ())] if differs else []
        style = learned.style() or (rules.query_style if rules.query_style != "PascalCase" else None)
        return [name for name in asked if name not in rules.query and not (style and name in learned.untried)]

    def _member_questions(self, is_asked: Callable[[str, str], bool]) -> list[str]:
        """Questions about members, of which some are asked; one for a member that occurs in several kinds of record."""
        kinds: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        shared = self._shared()
        for kind, matches in sorted(self.matches.items()):
            for ours, theirs in sorted(matches.undecided.items()):
                kinds.setdefault((ours, shared.get(ours) or tuple(theirs)), []).append(kind)
        return [
            (f"{where[0]}.{ours}" if len(where) == 1 else f"{ours} (in {', '.join(where)})")
            + f": one of {', '.join(map(json.dumps, self._or_unread(where, ours, theirs)))}"
            + (" (by its type alone: no name is like it)" if is_weak(ours, theirs) else "")
            + ", or none of them?"
            for (ours, theirs), where in kinds.items()
            if any(is_asked(kind, ours) for kind in where)
        ]

    def _shared(self) -> dict[str, tuple[str, ...]]:
        """What alone a member may be called in every kind of record in which it is undecided, if nothing else may be called so."""
        found: dict[str, tuple[str, ...]] = {}
        for ours in {ours for match in self.matches.values() for ours in match.undecided}:
            theirs = [set(there) for match in self.matches.values() if (there := match.undecided.get(ours))]
            if len(theirs) > 1 and len(common := theirs[0].intersection(*theirs)) == 1:
                found[ours] = tuple(common)
        times = Counter(found.values())
        return {ours: theirs for ours, theirs in found.items() if times[theirs] == 1}

    def _or_unread(self, kinds: list[str], ours: str, theirs: tuple[str, ...]) -> list[str]:
        """The candidates for a member of one kind, and after them what else it may be, as long as that is little."""
        unread = self.unread.get(f"{kinds[0]}.{ours}", []) if len(kinds) == 1 else []
        return [*theirs, *unread] if len(theirs) + len(unread) <= MOST_ASKED else list(theirs)

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
        if form not in (*_FORMS_OF_DAYS, "either"):
            return form
        by = next(iter(self.separators), "/")
        return form.replace(" ", by) + f"{by}yyyy" + (" HH:mm:ss" if what == "instants" else "")

    def _lacks_zone(self) -> bool:
        """Whether times say no zone, and the clinic's dialect doesn't either."""
        forms = self.forms.get("instants", set()) - {"iso", "epoch_s", "epoch_ms"}
        return bool(forms or self.has_local_times) and self.rules.zone.key == "UTC"

    @property
    def instants(self) -> str | None:
        """How instants are written; None where it can't be told."""
        return self.rules.instants[0] if self.rules.instants != ("iso",) else self._form("instants")

    @property
    def truth(self) -> tuple[Code, Code] | None:
        """What true and false are called; None where they are JSON's own."""
        return self.rules.truth or self._truth()

    def _truth(self) -> tuple[Code, Code] | None:
        kinds = set(map(type, self.truths))
        pairs = (pair for pair in TRUTHS if set(map(type, pair)) == kinds and self.truths <= set(pair))
        return next(pairs, None) if self.truths else None

    def renamed(self) -> dict[str, dict[str, str]]:
        """Members whose name isn't ours in the style, by kind of record."""
        usual = replace(self.rules, member_style=self._member_style())
        found: dict[str, dict[str, str]] = {}
        for kind, matches in sorted(self.matches.items()):
            shape = records().get(kind)
            for ours, theirs in sorted(matches.names.items() if shape else ()):
                is_read = theirs == ours and theirs not in matches.left_unread
                name = self.rules.name_of(shape, ours) if is_read and shape else theirs
                if shape and name != usual.name_of(shape, ours):
                    found.setdefault(kind, {})[ours] = name
        return found

    def _everywhere(self, renamed: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
        """Of what is renamed, the members that have one name in every kind of record in which they were found."""
        kinds: dict[str, set[str]] = {}
        for names in renamed.values():
            for ours, theirs in names.items():
                kinds.setdefault(ours, set()).add(theirs)
        return {
            ours: next(iter(theirs))
            for ours, theirs in sorted(kinds.items())
            if len(theirs) == 1
            and sum(ours in names for names in renamed.values()) > 1
            and all(
                ours in renamed.get(kind, {}) for kind, value in self.matches.items() if ours in value.names
            )
        }

    def _member_style(self) -> str:
        """The style of members: the dialect's, where it says one."""
        return self.style if self.rules.member_style == "camelCase" else self.rules.member_style

    @property
    def is_empty(self) -> bool:
        """Whether the API behaves as the portal expects, or as the clinic's dialect says."""
        return not any(line and not line.startswith("#") for line in self.toml().splitlines())

    def names(self) -> dict[str, str]:
        """What members are called there, of all kinds of record: to find ids by. What ids are called may be a guess."""
        found = {ours: theirs for match in self.matches.values() for ours, theirs in match.names.items()}
        guesses = Counter(name for match in self.matches.values() for name in match.undecided.get("id", ()))
        return {"id": guesses.most_common(1)[0][0] if guesses else "id", **found}

    def toml(self) -> str:
        """The file's text."""
        lines = [
            "# A dialect file, proposed by `python -m portal conform`: read it before you use it (docs/conformance.md)."
        ]
        if self.rules != Rules():
            lines.append("# What the clinic's dialect file says already stands in it too.")
        lines += [f"# decide: {question}" for question in self.undecided]
        if perhaps := self._member_questions(
            lambda kind, ours: not (unlocks(kind, ours) or is_needed(kind, ours))
        ):
            lines += [
                "# Perhaps, for more than pages need to be right:",
                *(f"#   {line}" for line in perhaps),
            ]
        if self.unread:
            lines.append("# Never came by its name. Of a fitting type and unread in the same records:")
            lines += [f"#   {name}: {', '.join(theirs[:8])}" for name, theirs in sorted(self.unread.items())]
        if self.absent:
            lines.append("# Never came, and nothing is like it. Where that means that there is none, say so:")
            lines.append(f"# absent_means_none = {json.dumps(self.absent)}")
        asked, learned = self._asked_parameters(), self.learned
        if left := [name for name in (*learned.untold, *learned.untried) if name not in asked]:
            lines.append(
                "# Parameters that changed no answer by any likely name, for which there were too few records, or whose "
                f"members are to be decided first: {', '.join(left)}"
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
        known = {"instants": self.rules.instants, "days": self.rules.days}
        yield (
            "times",
            [f'{what} = "{form}"' for what, form in forms if form and form not in ("iso", *known[what])],
        )
        truth = self._truth()
        values = ['numbers = "text"'] if self.numbers_as_text and not self.rules.numbers_as_text else []
        values += [f"booleans = {json.dumps(truth)}"] if truth and truth != self.rules.truth else []
        yield "values", values
        statuses = self.learned.statuses.items()
        yield "errors.statuses", [f"{theirs} = {meant}" for theirs, meant in statuses]
        renamed = self.renamed()
        everywhere = self._everywhere(renamed)
        yield "members", [f"{ours} = {json.dumps(theirs)}" for ours, theirs in everywhere.items()]
        for kind, names in renamed.items():
            why = self.matches[kind].why
            yield (
                f"members.{kind}",
                [
                    f"{ours} = {json.dumps(theirs)}" + (f"  # {why[ours]}" if ours in why else "")
                    for ours, theirs in names.items()
                    if ours not in everywhere
                ],
            )
        for name, codes in sorted(self.codes.chosen.items()):
            yield f"enumerations.{name}", [f"{ours} = {json.dumps(code)}" for ours, code in codes.items()]

    def _styles(self) -> list[str]:
        style = self._member_style()
        found = [f'members = "{style}"'] if style != self.rules.member_style else []
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
        named = [("total", self.total), ("unread", self.unread_count)]
        found = [f"{key} = {json.dumps(name)}" for key, name in named if name]
        if names := set(self.items.values()):
            each = ", ".join(f"{record} = {json.dumps(name)}" for record, name in sorted(self.items.items()))
            found.insert(
                0, f"items = {json.dumps(names.pop())}" if len(names) == 1 else f"items = {{ {each} }}"
            )
        if self.record:
            found.append(f"record = {json.dumps(self.record)}")
        learned = self.learned
        if "SkipCount" in learned.parameters and learned.paging != self.rules.paging:
            found.append(f'paging = "{learned.paging}"')
        if learned.next:
            found.append(f"next = {json.dumps(learned.next)}")
        if learned.paging == "page" and learned.first_page != self.rules.first_page:
            found.append(f"first_page = {learned.first_page}")
        if "SkipCount" in learned.parameters and learned.first_record != self.rules.first_record:
            found.append(f"first_record = {learned.first_record}")
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


def unlocks(kind: str, ours: str) -> bool:
    """Whether other records can't be found or read without a member: ids, what holds records, and what is required."""
    member = _member(kind, ours)
    return member is not None and (
        member.is_required or member.nested is not None or ours in ("episodeId", "pgtResultId")
    )


def is_needed(kind: str, ours: str) -> bool:
    """Whether pages can't be right without a member: it is a duty's, or acts send it."""
    return f"{kind}.{ours}" in DUTIES or ours == STAMP


def _member(kind: str, ours: str) -> Member | None:
    shape = records().get(kind)
    return next((member for member in members_of(shape) if member.name == ours), None) if shape else None


def _of_acts() -> dict[str, type]:
    """The records that acts send, or bring back, by name."""
    acts = [endpoint for endpoint in ALL if not endpoint.is_safe]
    shapes = (shape for act in acts for shape in (act.body, record_of(act.answer)) if shape)
    return {shape.__name__: shape for shape in shapes}


def _used(record: str) -> set[str]:
    """The members of a record that acts send, or that the portal uses."""
    shape = records()[record]
    is_sent = any(endpoint.body is shape for endpoint in ALL)
    return {member.name for member in members_of(shape) if is_sent or member.is_required or member.use}


def _members(record: str) -> set[str]:
    return {member.name for member in members_of(records()[record])}
