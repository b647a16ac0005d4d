"""Fills in the form of a protocol as a browser without scripts does."""

from __future__ import annotations

from portal.careservice.ids import sample_id

AMELIAS = sample_id("protocol", "amelia")
EPISODE = sample_id("episode", "amelia-1")
GANIRELIX = {
    "drug": "Ganirelix",
    "drug_class": "GnRH antagonist",
    "dose": "0,25",
    "unit": "mg",
    "route": "Subcutaneous",
    "start_day": "6",
}
"""A row as it is typed, with a comma in its dose."""


def row(number: int, **columns: str) -> dict[str, str]:
    return {f"medication-{number}-{name}": value for name, value in columns.items()}


def press(page, act: str, status: int | None = 200, **values):
    """Press one of the form's own buttons, as a browser without scripts does."""
    return page.form(form_of(page)).submit(button=("do", act), status=status, **values)


def form_of(page):
    return page.tree.select_one("form:has(button[value=review])")


def make(visitor, name: str):
    """A protocol of the clinic's own, made from an empty form."""
    page = press(visitor.get("/protocols/new"), "add-medication")
    page = press(page, "review", name=name, type="Antagonist", **row(0, **GANIRELIX))
    return page.form("/protocols/new/create").submit()
