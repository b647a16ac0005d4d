"""The dates of stored embryos that are near or have passed."""

from __future__ import annotations

from datetime import date

from portal.i18n.gettext import _
from portal.services.episodes import Episode
from portal.services.storage import EmbryoStorage
from portal.values import Value
from portal.views.consents.list import Due
from portal.views.storage.view import nearness, paid_until, renewal_window

_NEAR_DAYS = 60


class NearDate(Value, frozen=True):
    code: str
    what: str
    on: date
    due: Due
    embryo_id: str
    episode_id: str


def storage_dates(episode: Episode, day: date) -> list[NearDate]:
    """Return the dates of stored embryos that are near on `day`, or have passed: within two months, or for the consent
    within the window in which the law asks to renew it.
    """
    found: list[NearDate] = []
    for embryo in episode.embryos:
        for what, on, near in _dates_of(embryo):
            days = (on - day).days if on else near + 1
            if on and days <= near and not embryo.is_terminal:
                found.append(
                    NearDate(embryo.embryo_code, what, on, Due(*nearness(days)), embryo.id, episode.id)
                )
    return found


def _dates_of(embryo: EmbryoStorage) -> list[tuple[str, date | None, int]]:
    """What each date is, the day, and from how many days before it is near."""
    return [
        (_("Storage is paid until"), paid_until(embryo), _NEAR_DAYS),
        (_("You consented to storage until"), embryo.storage_consented_until, renewal_window(_NEAR_DAYS)),
        (_("The law allows storage until"), embryo.statutory_limit, _NEAR_DAYS),
    ]
