"""Doses as text: amount, time, last day, and what to do if the plan isn't active.

Amounts have no thousands separator in any language. Units are written out for patients, because "U" and "µg" are misread
(ISMP list of error-prone abbreviations).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache

from babel.dates import format_date
from babel.numbers import format_decimal
from markupsafe import escape

from portal.config.medicines import Medicine, medicine_of
from portal.config.units import INTERNATIONAL_UNITS, MICROGRAMS, folded_unit
from portal.dates import days_after
from portal.i18n.gettext import _, ngettext
from portal.i18n.locale import language
from portal.request_values import clinic
from portal.services.episodes import Episode
from portal.services.protocols import Medication, Protocol
from portal.services.rules.doses import (
    Course,
    Dose,
    Standing,
    courses,
    is_at_night,
    minutes,
    remaining,
    standing,
)
from portal.values import Value
from portal.web import labels
from portal.web.clinic_contact import line_now
from portal.web.filters import date_locale, day, in_a_row, isolate, number, telephone
from portal.web.not_given import not_given
from portal.web.text_language import with_lang


class DoseLine(Value, frozen=True):
    """One dose in a list; `note` has product, route and instructions."""

    time: str
    drug: str
    amount: str
    note: str


@dataclass(frozen=True)
class PlanWords:
    """Formats a plan's rows and doses: in plain words for patients (`is_plain`), in clinical terms for staff."""

    plan: Protocol | None
    is_plain: bool

    def date_of(self, number: int) -> date | None:
        """Return the date of a day of the plan (day 1 is its start); None without a start date."""
        begins = self.plan.start_date if self.plan else None
        return days_after(begins, number - 1) if begins else None

    def amount(self, medication: Medication) -> str:
        """Return `225 units`; for staff `225 IU`; where the clinic's system gives none, that it doesn't."""
        return amount(medication, is_plain=self.is_plain)

    def product(self, medication: Medication) -> str:
        """Return the brand and strength that the clinic dispenses."""
        return product(medication)

    def line(self, dose: Dose) -> DoseLine:
        medication = dose.medication
        route = labels.route_name(medication.route)
        how = (with_lang(product(medication)), route, with_lang(medication.instructions))
        return DoseLine(
            self.hour(dose.time, self.date_of(dose.day)),
            medication.drug,
            self.amount(medication),
            in_a_row((part for part in how if part), " · "),
        )

    def hour(self, time: str | None, on: date | None) -> str:
        """Return a dose's time: `19:00`, with the two weekdays for a night dose, or what to do if none is given."""
        if time is None:
            line = line_now() if self.is_plain else None
            if line:
                return _("Time not given: call %(number)s", number=isolate(telephone(line.number)))
            return _("Time not given: call your clinic") if self.is_plain else _("Time not given")
        if not is_at_night(time):
            return time
        return _night(time, on) if on else _("in the night, %(time)s", time=time)

    def when(self, medication: Medication, *, is_dated: bool = True) -> str:
        """Return a row's times and interval: `08:00, 20:00 · every second day`; weekdays of a night only if `is_dated`."""
        is_single = medication.triggers or medication.end_day == medication.start_day
        on = self.date_of(medication.start_day) if is_single and is_dated else None
        hours = in_a_row(self.hour(time, on) for time in medication.hours)
        return in_a_row(filter(None, (hours, every(max(medication.every_days or 1, 1)))), " · ")

    def last_dose(self, medication: Medication) -> int | None:
        """Return the last day with a dose of this row; None if it is open-ended or has no dose."""
        row = [course for course in self._courses if course.medication is medication]
        if any(course.last is None for course in row):
            return None
        last_days = (course.last for course in row if course.last is not None and course.last >= course.first)
        return max(last_days, default=None)

    def until(self, medication: Medication, *, is_dated: bool = True) -> tuple[str, str]:
        """Return until when a row is taken, and additional text to show less prominently; dates only if `is_dated`."""
        last = self.last_dose(medication)
        rule = with_lang(medication.stop_rule)
        ends = (medication.end_day, medication.last_dose_day)
        if last is not None and (medication.triggers or any(end is not None for end in ends)):
            on = self._day(last) if is_dated else ""
            return _("Day %(day)s", day=number(last)), in_a_row(filter(None, (on, rule)), " · ")
        if not rule:
            rule = _("Until the trigger") if medication.ends_with_trigger else _("Your team says when")
        if last is None:
            return rule, ""
        last_day = (self._day(last) if is_dated else "") or _("day %(day)s", day=number(last))
        return rule, _("last dose: %(day)s", day=last_day)

    def to_come(self, episode: Episode | None, on: date) -> list[str]:
        """Return one sentence for each medicine with doses on that date or later, which nobody is told once the plan has ended."""
        rows = dict.fromkeys(course.medication for course in remaining(self.plan, episode, on))
        words = escape(_("Doses still to come are no longer told to the patient: %(doses)s"))
        return [words % {"doses": self._in_one_line(row)} for row in rows]

    def _in_one_line(self, row: Medication) -> str:
        parts = (f"{row.drug} {self.amount(row)}", self.when(row), *self.until(row))
        return isolate(in_a_row(filter(None, parts), " · "))

    def instructions_to_continue(self, episode: Episode | None, on: date) -> list[str]:
        """Return one sentence for each medicine that must still be taken although the treatment has ended; none otherwise."""
        if standing(self.plan, episode, on) is not Standing.GOES_ON:
            return []
        rows: dict[int, list[Course]] = {}
        for course in remaining(self.plan, episode, on):
            rows.setdefault(id(course.medication), []).append(course)
        return list(dict.fromkeys(map(self._to_continue, rows.values())))

    def _to_continue(self, row: list[Course]) -> str:
        """What is said of one row of the plan, whose courses are at different hours."""
        medication = row[0].medication
        last = None if any(course.last is None for course in row) else max(course.last or 0 for course in row)
        what = f"{medication.drug} {self.amount(medication)}"
        hours = in_a_row(self.hour(course.time, None) for course in row if course.time)
        if when := in_a_row(filter(None, (hours, every(row[0].every))), " · "):
            what = _("%(what)s (%(when)s)", what=what, when=when)
        last_day = None if last is None else self.date_of(last)
        if last_day:
            return _("Go on with %(what)s until %(day)s.", what=what, day=day(last_day))
        if medication.stop_rule:
            return _("Go on with %(what)s: %(rule)s.", what=what, rule=medication.stop_rule)
        return _("Go on with %(what)s until your team tells you to stop.", what=what)

    @cached_property
    def _courses(self) -> list[Course]:
        return courses(self.plan.medications) if self.plan else []

    def _day(self, number: int) -> str:
        on = self.date_of(number)
        return day(on) if on else ""


def product(medication: Medication) -> str:
    """Return the brand and strength that the clinic dispenses, if configured: `Gonal-f 300 IU pen`.

    Shown apart from name and amount, because the strength of a pen isn't a dose.
    """
    told = clinics_medicine(medication)
    return told.product if told else ""


def clinics_medicine(medication: Medication) -> Medicine | None:
    """Return what the clinic tells about this medicine, if anything."""
    tenant = clinic()
    return medicine_of(tenant.medicines, medication.drug) if tenant else None


def amount(medication: Medication, *, is_plain: bool) -> str:
    """Return `225 IU` with a no-break space, or that no amount is given; for patients (`is_plain`) with the unit written out."""
    unit, value = medication.unit.strip(), medication.dose
    if value is None:
        return _("(amount not given: call your clinic)") if is_plain else _("(amount not given)")
    written = dose_number(value)
    folded = folded_unit(unit)
    count = math.ceil(abs(value)) if math.isfinite(value) else 2
    if is_plain and folded in INTERNATIONAL_UNITS:
        return _unbroken(ngettext("%(amount)s unit", "%(amount)s units", count, amount=written))
    if is_plain and folded in MICROGRAMS:
        return _unbroken(ngettext("%(amount)s microgram", "%(amount)s micrograms", count, amount=written))
    return _unbroken(f"{written} {unit}".strip())


def every(days: int) -> str:
    """Return `every second day`; empty for every day."""
    if days == 1:
        return ""
    return _("every second day") if days == 2 else _("every %(num)s days", num=days)


def _unbroken(words: str) -> str:
    """A number at the end of a line, without its unit, is easily read as another amount."""
    return words.replace(" ", "\N{NO-BREAK SPACE}")


def dose_number(value: float) -> str:
    """Return a number without thousands separator: `5000`, `0.25`, in Spanish `0,25`."""
    return _dose_number(value + 0, language())  # -0.0 becomes 0: as keys of a cache they are one


@lru_cache(maxsize=512)  # Babel is slow, and a plan repeats its doses
def _dose_number(value: float, locale: str) -> str:
    return format_decimal(value, format="0.######", locale=locale)


_SAYS = {
    Standing.UNDATED: "Protocol.startDate",
    Standing.EMPTY: "Protocol.medications",
    Standing.NONE: "Episode.protocol",
}
"""Without which member such a plan says nothing."""


def state_words(standing: Standing, *, is_plain: bool) -> tuple[str, str] | None:
    """Return why a plan's doses aren't shown, and what to do; None if they are shown."""
    if standing.has_doses:
        return None
    default_advice = _("Follow the most recent instruction, and call the clinic if you are unsure.")
    if not_given(_SAYS.get(standing, "")):
        title = _("The clinic’s system hasn’t given the portal all of this plan")
        return title, default_advice if is_plain else _("The patient sees no doses, and is asked to call.")
    titles = {
        Standing.DRAFT: _("The medicine plan isn’t active yet"),
        Standing.ON_HOLD: _("The medicine plan is on hold"),
        Standing.COMPLETED: _("The medicine plan was completed"),
        Standing.CANCELLED: _("The medicine plan was cancelled"),
        Standing.UNDATED: _("The medicine plan has no dates yet"),
        Standing.EMPTY: _("The plan lists no medicine"),
        Standing.ENDED: _("The treatment of this plan has ended"),
        Standing.ANOTHERS: _("In the clinic’s system this plan is somebody else’s"),
        Standing.UNKNOWN: _("The portal doesn’t know the state of this plan"),
        Standing.NONE: _("There is no medicine plan here"),
    }
    if not is_plain:
        return titles[standing], _("The patient sees no doses, and is asked to call.")
    advice = {
        Standing.DRAFT: _("The clinic is still preparing it. Call before you begin with anything from it."),
        Standing.ON_HOLD: _(
            "Call the clinic before the next dose: some medicines must go on, and others must stop."
        ),
        Standing.COMPLETED: _(
            "If you still take a medicine, don’t stop it by yourself: call the clinic and ask how long it goes on."
        ),
        Standing.CANCELLED: _("Call the clinic before you take or stop anything that was in it."),
        Standing.UNDATED: _("The clinic hasn’t set its first day. Call the clinic and ask when you begin."),
        Standing.ENDED: _(
            "If you still take a medicine, don’t stop it by yourself: call the clinic and ask how long it goes on."
        ),
        Standing.ANOTHERS: _("Don’t take anything from it before you have called the clinic."),
        Standing.UNKNOWN: _("Call the clinic before the next dose."),
    }
    return titles[standing], advice.get(standing, default_advice)


def medicines_of(name: str) -> str:
    """Return `Daniel’s medicines`; empty without a name."""
    return _("%(name)s’s medicines", name=isolate(name)) if name else ""


def _night(time: str, on: date) -> str:
    """Return `night from Tuesday to Wednesday, 00:30` for a time on this date."""
    at = minutes(time)
    first = on if at is not None and at >= 12 * 60 else days_after(on, -1) or on
    return _(
        "night from %(first)s to %(second)s, %(time)s",
        first=_weekday(first),
        second=_weekday(days_after(first, 1) or first),
        time=time,
    )


def _weekday(on: date) -> str:
    return format_date(on, "EEEE", locale=date_locale())
