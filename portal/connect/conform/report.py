"""The results as text, JSON or HTML. They contain no values from responses unless requested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec
from markupsafe import Markup

from portal.connect.conform.duties import unkept
from portal.connect.conform.judge import Verdict
from portal.connect.conform.plausible import Doubt
from portal.connect.conform.proposal import Proposal
from portal.values import Value


class Report(Value, frozen=True):
    """The verdicts on one clinic's API, as seen by a person of one side; `with_values` includes examples."""

    clinic: str
    base_url: str
    side: str
    verdicts: list[Verdict]
    proposal: Proposal
    with_values: bool = False
    doubts: tuple[Doubt, ...] = ()
    accepted: frozenset[str] = frozenset()

    @property
    def duties(self) -> list[str]:
        """What the clinic owes people on pages and may not be able to keep."""
        short = [
            loss
            for verdict in self.verdicts
            for loss in (*verdict.missing, *verdict.other_type, *verdict.values)
        ]
        of_lists = dict.fromkeys(f"{doubt.duty} ({doubt.about})" for doubt in self.doubts if doubt.duty)
        return [*unkept([*short, *(doubt.about for doubt in self.doubts)]), *of_lists]

    @property
    def status(self) -> int:
        """The command's exit status: 2 if a person must decide something, 1 if something is missing, else 0."""
        if self.proposal.undecided:
            return 2
        has_gap = any(verdict.has_gap and verdict.endpoint not in self.accepted for verdict in self.verdicts)
        return int(has_gap or bool(self.doubts) or not self.proposal.is_empty)

    def text(self) -> str:
        lines = [f"{self.clinic}: {self.base_url}, as {self.side}", ""]
        for verdict in self.verdicts:
            lines.append(f"{_word(verdict):5} {verdict.endpoint}: {_summary(verdict)}")
            lines += [f"        {line}" for line in self._details(verdict)]
        for title, found in self._findings():
            lines += ["", title, *(f"  {line}" for line in found)]
        lines += ["", *self._ending()]
        return "\n".join(lines) + "\n"

    def json(self) -> bytes:
        """The report for programs, by endpoint."""
        endpoints = [
            {
                "endpoint": verdict.endpoint,
                "verdict": _word(verdict).lower(),
                "notTried": verdict.not_tried or None,
                "statuses": dict(verdict.statuses),
                "decodedStrictly": verdict.strictly,
                "decodedForgivingly": verdict.forgivingly,
                "unreadable": dict(verdict.unreadable),
                "missing": verdict.missing,
                "withoutText": verdict.without_text,
                "unknown": dict(verdict.unknown),
                "otherType": dict(verdict.other_type),
                "unknownValues": dict(verdict.values),
                "losses": verdict.losses,
                "examples": verdict.examples if self.with_values else None,
            }
            for verdict in self.verdicts
        ]
        whole = {
            "clinic": self.clinic,
            "baseUrl": self.base_url,
            "side": self.side,
            "exitStatus": self.status,
            "undecided": self._questions(),
            "doubts": [doubt.text for doubt in self.doubts],
            "duties": self.duties,
            "accepted": sorted(self.accepted),
            "endpoints": endpoints,
        }
        return msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"

    def html(self) -> str:
        """The report as a self-contained page, to pass on."""
        rows = Markup().join(
            Markup(
                "<tr data-verdict='{}'><th scope='row'><code>{}</code></th><td>{}</td><td>{}</td></tr>"
            ).format(
                _word(verdict).lower(),
                verdict.endpoint,
                _summary(verdict),
                Markup().join(Markup("<p>{}</p>").format(line) for line in self._details(verdict)),
            )
            for verdict in self.verdicts
        )
        ending = Markup().join(Markup("<p>{}</p>").format(line) for line in self._ending())
        for title, found in self._findings():
            rows_of = Markup().join(Markup("<li>{}</li>").format(line) for line in found)
            ending += Markup("<h3>{}</h3><ul>{}</ul>").format(title, rows_of)
        return _PAGE.format(
            clinic=self.clinic, base_url=self.base_url, side=self.side, rows=rows, ending=ending
        )

    def _findings(self) -> Iterator[tuple[str, list[str]]]:
        if self.doubts:
            yield "Values that can't be meant as they are read:", [doubt.text for doubt in self.doubts]
        if self.duties:
            yield "Duties that pages may not keep:", self.duties
        if self.accepted:
            yield "Accepted by the dialect file:", sorted(self.accepted)

    def _questions(self) -> list[str]:
        return self.proposal.undecided if self.with_values else self.proposal.undecided_without_values

    def _details(self, verdict: Verdict) -> Iterator[str]:
        if verdict.is_nowhere:
            yield "nothing was found at this address: see --base"
        if verdict.is_never_found:
            yield "none of the records that other answers name was found here: their ids may be in another member"
        if verdict.unreadable:
            yield f"can't be read: {_counted(verdict.unreadable)}"
        if verdict.missing:
            yield f"never came: {', '.join(verdict.missing)}"
        if verdict.without_text:
            yield f"without any text: {verdict.without_text}, which nobody can sign in the portal"
        if verdict.other_type:
            yield f"of another type: {_counted(verdict.other_type)}"
        if verdict.values:
            yield f"unknown values: {_counted(verdict.values)}"
        if verdict.unknown:
            yield f"unknown members: {', '.join(_by_kind(verdict.unknown))}"
        yield from (f"lost: {loss}" for loss in verdict.losses)
        if self.with_values:
            yield from (
                f"such as {name} = {', '.join(found)}" for name, found in sorted(verdict.examples.items())
            )

    def _ending(self) -> list[str]:
        if self.proposal.undecided:
            return [
                "To be decided before a dialect can be used:",
                *(f"  {question}" for question in self._questions()),
            ]
        if not self.proposal.is_empty:
            return [
                "This API speaks a dialect: write its file with --propose, read it, and run this again with it."
            ]
        if self.status:
            return ["Something is missing: see above for what is lost without it."]
        return ["Nothing that this person can reach is missing."]


def _word(verdict: Verdict) -> str:
    if verdict.not_tried:
        return "-"
    return "GAP" if verdict.has_gap else "ok"


def _summary(verdict: Verdict) -> str:
    if verdict.not_tried:
        return f"not tried ({verdict.not_tried})"
    statuses = ", ".join(f"{times} × {status}" for status, times in sorted(verdict.statuses.items()))
    decoded = [f"{verdict.strictly} read strictly"] if verdict.strictly else []
    decoded += [f"{verdict.forgivingly} read forgivingly"] if verdict.forgivingly else []
    return "; ".join([statuses, *decoded, f"slowest {verdict.slowest * 1000:.0f} ms"])


def _by_kind(members: Iterable[str]) -> list[str]:
    """Members by kind of record; those in many kinds by name, with the number of kinds."""
    names = Counter(member.partition(".")[2] for member in members)
    often = {name: times for name, times in names.items() if times >= _MANY_KINDS}
    single = sorted(member for member in members if member.partition(".")[2] not in often)
    return [*single, *(f"{name} (in {times} kinds of record)" for name, times in sorted(often.items()))]


_MANY_KINDS = 4


def _counted(counter: Counter[str]) -> str:
    return ", ".join(f"{name} ({times})" for name, times in sorted(counter.items()))


_PAGE = Markup("""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Conformance of {clinic}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse }} th, td {{ text-align: start; vertical-align: top; padding: .5rem; border-top: 1px solid #ccc }}
tr[data-verdict=gap] th {{ border-inline-start: .3rem solid #b3261e }} p {{ margin: 0 0 .25rem; overflow-wrap: anywhere }}
</style>
<h1>Conformance of {clinic}</h1>
<p>{base_url}, as {side}</p>
<table><thead><tr><th scope="col">Endpoint</th><th scope="col">Answers</th><th scope="col">What differs</th></tr></thead>
<tbody>{rows}</tbody></table>
<section><h2>Overall</h2>{ending}</section>
</html>
""")
