"""The clinic's advice, from the tenants file, in the language that it has: about medicines, and about visits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from flask import Flask, g

from portal.config.visits import Place, VisitAdvice, folded_kind, place_of
from portal.i18n.locale import language
from portal.services.episodes import Appointment
from portal.values import Value
from portal.web.labels import visit_purpose


class Advice(Value, frozen=True):
    """A text of the clinic in the reader's language, or in the one that it has, which is then named."""

    text: str
    language: str | None = None


def init_app(app: Flask) -> None:
    cast("Any", app.jinja_env).filters.update(
        visit_place=visit_place, visit_advice=visit_advice, advice=advice_in
    )


def advice_in(texts: Mapping[str, str]) -> Advice | None:
    """Return the text in the reader's language; else in the first that the clinic wrote it in."""
    if own := texts.get(language()):
        return Advice(own)
    return next((Advice(text, spoken) for spoken, text in texts.items()), None)


def visit_place(visit: Appointment) -> Place | None:
    return place_of(g.tenant.places, visit.location)


def visit_advice(visit: Appointment) -> VisitAdvice | None:
    """Return how to prepare for a visit, if the clinic said so for its kind; the kind may be in the reader's language."""
    names = {folded_kind(visit.kind), visit_purpose(visit.kind)}
    return next(
        (told for told in g.tenant.visits if names & {folded_kind(told.kind), visit_purpose(told.kind)}), None
    )
