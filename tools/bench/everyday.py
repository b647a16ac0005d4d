"""What the pages cost that people open on an ordinary day, as a ratio to the measured page, against the sample care API.

Written to docs/profile.md by `python -m tools.bench --keep everyday`. The weights are an assumption, not counted at a
clinic: of a hundred pages opened, how many are of this kind.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from portal.careservice.ids import sample_id
from tools.bench.measures import Row, Size, cost_of, in_turns
from tools.bench.servers import PAGE, Bench

DOCUMENT = Path(__file__).parents[2] / "docs" / "profile.md"
_DEAREST, _MEAN = 2.2, 1.4

_EPISODE = f"/episodes/{sample_id('episode', 'amelia-1')}"
_SCAN = f"/conversations/{sample_id('conversation', 'amelia-scan')}"
_FORM = f"/consents/{sample_id('consent', 'amelia-genetic')}"
_PATIENT = f"/patients/{sample_id('patient', 'amelia')}?episode={sample_id('episode', 'amelia-1')}"


@dataclass(frozen=True, slots=True)
class Opened:
    """A page, who opens it, and its weight."""

    what: str
    name: str
    path: str
    weight: float


EVERYDAY = (
    Opened("Home of a patient in stimulation", "amelia", "/", 12),
    Opened("Home of her partner", "daniel", "/", 3),
    Opened("Home of a patient with frozen embryos", "grace", "/", 3),
    Opened("Treatment: today", "amelia", _EPISODE, 6),
    Opened("Treatment: medicines", "amelia", f"{_EPISODE}/medication", 7),
    Opened("Treatment: monitoring", "amelia", f"{_EPISODE}/monitoring", 6),
    Opened("Treatment: appointments", "amelia", f"{_EPISODE}/appointments", 3),
    Opened("Treatment: timeline", "amelia", f"{_EPISODE}/timeline", 1),
    Opened("Treatment: documents", "amelia", f"{_EPISODE}/documents", 1),
    Opened("Treatment: consents", "amelia", f"{_EPISODE}/consents", 1),
    Opened("Consents", "amelia", "/consents", 2),
    Opened("A consent form", "amelia", _FORM, 1),
    Opened("Signing: read", "amelia", f"{_FORM}/sign", 1),
    Opened("Messages", "amelia", "/conversations", 4),
    Opened("A conversation", "amelia", _SCAN, 4),
    Opened("Notifications", "amelia", "/notifications", 3),
    Opened("Own details", "amelia", "/me", 1),
    Opened("Papers", "amelia", "/papers", 1),
    Opened("Help", "amelia", "/help", 1),
    Opened("Care team of the clinic", "amelia", "/care-team", 1),
    Opened("Stored embryos", "grace", "/storage", 1),
    Opened("Home of a nurse", "nora", "/", 6),
    Opened("Home of a physician", "victor", "/", 3),
    Opened("Home of an embryologist", "elif", "/", 1),
    Opened("Home of a coordinator", "colin", "/", 1),
    Opened("Home of an administrator", "ada", "/", 0.5),
    Opened("Day sheet", "nora", "/day-sheet", 2),
    Opened("List of consents", "nora", "/consents", 3),
    Opened("A consent form", "nora", _FORM, 2),
    Opened("A patient", "nora", _PATIENT, 3),
    Opened("Treatment: today", "nora", _EPISODE, 2),
    Opened("Treatment: monitoring", "victor", f"{_EPISODE}/monitoring", 2.5),
    Opened("Treatment: medicines", "nora", f"{_EPISODE}/medication", 2),
    Opened("Messages", "nora", "/conversations", 3),
    Opened("A conversation", "nora", _SCAN, 3),
    Opened("Notifications", "nora", "/notifications", 2),
    Opened("Care team of the clinic", "nora", "/care-team", 0.5),
    Opened("Protocols", "victor", "/protocols", 0.5),
    Opened("Cryo storage", "elif", "/storage", 1),
)  # fmt: skip


def cost_of_everyday(bench: Bench, size: Size) -> list[Row]:
    """Every page of `EVERYDAY` and the measured page in turns."""
    measured, everyday = bench.portal(), bench.portal_at_sample_api()
    measured.headers.update(bench.sign_in(measured, "nora"))
    people = {name: bench.sign_in(measured, name) for name in {one.name for one in EVERYDAY}}
    pages = [(one, replace(everyday, headers=people[one.name])) for one in EVERYDAY]
    sizes = [len(server.get(one.path).body) for one, server in pages]
    count = 12 if size.long else 6
    costs = in_turns(
        {"": cost_of(measured, PAGE, 4 * count)}
        | {str(place): cost_of(server, one.path, count) for place, (one, server) in enumerate(pages)},
        size.rounds,
    )
    measured.stop()
    everyday.stop()
    base = costs.pop("")
    ratios = [
        statistics.median(cost / page for cost, page in zip(costs[str(place)], base, strict=True))
        for place in range(len(pages))
    ]
    mean = sum(one.weight * ratio for one, ratio in zip(EVERYDAY, ratios, strict=True)) / sum(
        one.weight for one in EVERYDAY
    )
    dearest = max(range(len(ratios)), key=lambda place: ratios[place])
    if size.long:
        _write(sizes, costs, ratios, statistics.median(base), mean)
    return [
        Row(
            "CPU of the dearest everyday page ÷ a page",
            f"≤ {_DEAREST:.2f}",
            f"{ratios[dearest]:.2f}: {EVERYDAY[dearest].what[0].lower()}{EVERYDAY[dearest].what[1:]}, {EVERYDAY[dearest].name}",
            ratios[dearest] <= _DEAREST,
            {"ratio": ratios[dearest]},
        ),
        Row(
            "Mean CPU of everyday pages, weighted (docs/profile.md) ÷ a page",
            f"≤ {_MEAN:.2f}",
            f"{mean:.2f}",
            mean <= _MEAN,
            {"ratio": mean},
        ),
    ]


def _write(
    sizes: Sequence[int], costs: dict[str, list[float]], ratios: Sequence[float], page: float, mean: float
) -> None:
    rows = [
        f"| {one.what} | {one.name} | {one.weight:g} | {statistics.median(costs[str(place)]):.2f} ms | {ratios[place]:.2f} "
        f"| {sizes[place] / 1000:.1f} kB |"
        for place, one in enumerate(EVERYDAY)
    ]
    text = [
        "# Profile of everyday pages",
        "",
        "Written by `.venv/bin/python -m tools.bench --keep everyday`: the workers' CPU for each page against the sample care",
        "API, in turns with [the measured page](performance.md), to which `Ratio` is the median over the rounds. `Weight` is how",
        "many of a hundred opened pages are of this kind: an assumption (`tools/bench/everyday.py`), not a count at a clinic.",
        "",
        f"The measured page took {page:.2f} ms. Weighted mean of the ratios: **{mean:.2f}**; dearest: **{max(ratios):.2f}**.",
        "",
        "| Page | Who | Weight | CPU | Ratio | HTML |",
        "| --- | --- | --- | --- | --- | --- |",
        *rows,
    ]
    DOCUMENT.write_text("\n".join(text) + "\n", encoding="utf-8")
