"""A treatment's warnings in words."""

from __future__ import annotations

from portal.i18n.gettext import _
from portal.services.episodes import Alert, Episode
from portal.values import Value
from portal.web.filters import day, in_a_row, moment, now

_TONES = {"Info": "info", "Success": "success", "Warning": "attention", "Urgent": "urgent"}
_ORDER = ("urgent", "attention", "info", "success")


class ClinicAlert(Value, frozen=True):
    """A current alert: its tone, the clinic's text, and when it was written and until when it holds."""

    tone: str
    text: str
    dates: str

    @property
    def is_pressing(self) -> bool:
        return self.tone in ("attention", "urgent")


def alerts_of(*episodes: Episode) -> list[ClinicAlert]:
    """Return the warnings that apply now, each once, gravest first; one whose severity isn't known here may be grave."""
    found = [
        ClinicAlert(_TONES.get(str(alert.severity), "attention"), alert.text, _dates_of(alert))
        for episode in episodes
        for alert in episode.alerts_at(now())
        if alert.text
    ]
    return sorted(dict.fromkeys(found), key=lambda alert: _ORDER.index(alert.tone))


def _dates_of(alert: Alert) -> str:
    """`Written Mon 23 Nov · until Fri 27 Nov, 09:30`, as far as given: an alert may say "tomorrow"."""
    written, until = alert.creation_time, alert.until
    dates = (
        _("written %(day)s", day=day(written)) if written else "",
        _("until %(moment)s", moment=moment(until)) if until else "",
    )
    return in_a_row(filter(None, dates), " · ")
