"""The dates of stored embryos that are near or have passed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from portal.services.episodes import Episode
from portal.services.storage import EmbryoStorage
from portal.values import Value
from portal.views.consents.list import Due
from portal.views.embryo_view import told_apart


class NearDate(Value, frozen=True):
    code: str
    what: str
    on: date
    due: Due
    embryo_id: str
    episode_id: str


def storage_dates(embryos: Iterable[tuple[EmbryoStorage, Episode]]) -> list[NearDate]:
    """Return the dates of stored embryos that their own pages call near, or passed."""
    return [
        NearDate(view.code, one.term, one.day, Due(one.near, one.tone), view.embryo.id, view.episode.id)
        for view in told_apart(embryos)
        if view.is_stored
        for one in view.dates
        if one.near and one.day
    ]
