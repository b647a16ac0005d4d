"""Scans and blood tests, drawn and in words."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from portal.i18n.gettext import _, ngettext
from portal.i18n.locale import is_rtl, language
from portal.services.episodes import MonitoringDay
from portal.values import Value
from portal.web.drawings.monitoring import describe, monitoring_chart, monitoring_days
from portal.web.filters import day as write_day
from portal.web.filters import in_a_row, number, short_date, today
from portal.web.not_given import not_given
from portal.web.text_language import with_lang

_GROWING_MM = 13
"""Above this size, in millimetres, a follicle is expected to keep growing."""


class Measurements(Value, frozen=True):
    """The scans and blood tests of a treatment, by date; `caution` is said of what nobody has verified."""

    days: list[MonitoringDay]
    caution: str

    @property
    def chart(self) -> Markup | None:
        return monitoring_chart(
            self.days,
            number=number,
            write=short_date,
            today=today(),
            rtl=is_rtl(),
            caution=self.caution,
            id_="monitoring-chart",
        )

    @property
    def overlay(self) -> Markup | None:
        """The values of each measured day, as an overlay for the chart."""
        return monitoring_days(
            self.days, number=number, write=write_day, today=today(), rtl=is_rtl(), caution=self.caution
        )

    @property
    def words(self) -> str:
        """The last scan's findings in a sentence or two; empty without measurements."""
        days = [day for day in self.days if day.sizes]
        if not days:
            return ""
        last = days[-1]
        counted = ngettext(
            "%(num)s follicle on %(day)s, %(large)s of them over 13 mm.",
            "%(num)s follicles on %(day)s, %(large)s of them over 13 mm.",
            len(last.sizes),
            day=write_day(last.date),
            large=sum(size > _GROWING_MM for size in last.sizes),
        )
        caution = "" if last.verified else self.caution
        return " ".join(filter(None, (counted, describe([last], number), caution)))

    @property
    def by_size(self) -> str:
        """The last scan's follicles by size in a sentence, for staff; empty if the sizes of an ovary never come, or without a scan."""
        last = next((day for day in reversed(self.days) if day.sizes), None)
        counted = _cohorts_in_words(last) if last else ""
        return counted if not (last and counted) or last.verified else _unchecked(counted)

    @property
    def latest(self) -> str:
        """The last scan and the last blood test in one line, for staff; empty without either."""
        past = [day for day in reversed(self.days) if day.date <= today()]
        scan = next((day for day in past if day.sizes or day.endometrium_mm is not None), None)
        blood = next((day for day in past if _hormones(day)), None)
        lines: list[str] = []
        found_on = [day for day in (scan, blood if blood is not scan else None) if day]
        for day in sorted(found_on, key=lambda day: day.date):
            found = [
                (_cohorts_in_words(day) if day.sizes else "") or write_day(day.date),
                *(_lining(day) if day is scan else ()),
                *(_hormones(day) if day is blood else ()),
            ]
            line = in_a_row([part.removesuffix(".") for part in found], " · ")
            lines.append(line if day.verified else _unchecked(line))
        return in_a_row(lines, "; ")

    @property
    def note(self) -> str:
        """What stands above the chart: the caution, if a day in it isn't verified."""
        return "" if all(day.verified for day in self.days) else self.caution

    def sizes(self, sizes: Sequence[float]) -> str:
        """Follicle sizes of one ovary, largest first; Spanish separates them by semicolons, because of decimal commas."""
        between = "; " if language().startswith("es") else ""
        return in_a_row((number(size) for size in sorted(sizes, reverse=True)), between) or "–"


def _cohorts_in_words(day: MonitoringDay) -> str:
    """A scan's follicles by size; empty if the sizes of an ovary never come."""
    members = ("MonitoringDay.follicles", "Follicles.left", "Follicles.right")
    if any(not_given(member) for member in members):
        return ""
    return _(
        "%(day)s: %(middle)s follicles of 14 to 16 mm, %(large)s of 17 mm or more; the largest has %(size)s mm.",
        day=write_day(day.date),
        middle=day.cohorts[2],
        large=day.cohorts[3],
        size=number(max(day.sizes)),
    )


def _lining(day: MonitoringDay) -> list[str]:
    if day.endometrium_mm is None:
        return []
    words = _("Lining: %(size)s mm", size=number(day.endometrium_mm))
    return [in_a_row(filter(None, (words, with_lang(day.endometrium_pattern))), " ")]


def _hormones(day: MonitoringDay) -> list[str]:
    values = (
        (_("Oestradiol"), day.e2, day.e2_unit),
        (_("LH"), day.lh, day.units.lh),
        (_("Progesterone"), day.p4, day.units.p4),
    )
    return [
        f"{name} {number(value)} {unit or _('unit not given')}"
        for name, value, unit in values
        if value is not None
    ]


def _unchecked(line: str) -> str:
    return in_a_row((line, _("Not checked yet")), " · ")
