"""A medicine plan as one person sees it: whose it is, whether its doses are taken today, and in which words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property

from markupsafe import Markup

from portal.i18n.locale import is_rtl
from portal.services.episodes import Episode
from portal.services.patients import Patient
from portal.services.protocols import Protocol
from portal.services.rules.doses import NIGHT_ENDS, Standing, doses_on, doses_tonight, standing
from portal.state.session_records import Person
from portal.web.doses import DoseLine, PlanWords, medicines_of, state_words
from portal.web.drawings.schedule import medication_grid
from portal.web.filters import local, now, number, short_date, today
from portal.web.permissions import may


@dataclass(frozen=True)
class PlanView:
    """A plan as one person sees it, or that there is none; `episode` is its treatment, where it is known.

    Made for one request: what it works out stays.
    """

    protocol: Protocol | None
    episode: Episode | None
    person: Person

    @cached_property
    def words(self) -> PlanWords:
        return PlanWords(self.protocol, is_plain=self.person.is_patient)

    @cached_property
    def standing(self) -> Standing:
        """Whether its doses are taken today."""
        return standing(self.protocol, self.episode, today())

    @cached_property
    def is_followed(self) -> bool:
        """Whether the patient follows it now, so that its days are calendar dates."""
        return self.standing is Standing.FOLLOWED

    @cached_property
    def state(self) -> tuple[str, str] | None:
        """Why no doses are shown, and what to do; None while they are."""
        return state_words(self.standing, is_plain=self.person.is_patient)

    @cached_property
    def is_further(self) -> bool:
        """Whether the treatment's record doesn't hold it, but another plan or none."""
        return bool(self.episode and self.protocol and self.episode.is_further_plan(self.protocol))

    @cached_property
    def owner(self) -> Patient | None:
        """Whose plan it is: the patient treated or their partner; None where that isn't known."""
        return self.episode.owner_of(self.protocol) if self.episode and self.protocol else None

    @cached_property
    def is_own(self) -> bool:
        """Whether it is the reader's own."""
        return self.owner is not None and self.owner.is_me(self.person.sub)

    @cached_property
    def whose(self) -> str:
        """Whose it is by name; empty for the reader's own, to staff for that of the patient treated, and where it isn't known."""
        if self.owner is None or self.episode is None:
            return ""
        if self.person.is_patient:
            return "" if self.is_own else self.owner.called
        return "" if self.owner is self.episode.patient else self.owner.full_name

    @cached_property
    def medicines_of(self) -> str:
        """`Daniel’s medicines`, where it is said whose it is; else empty."""
        return medicines_of(self.whose)

    @cached_property
    def may_change(self) -> bool:
        return self.protocol is not None and not self.protocol.is_ended and may(self.person, "protocol.edit")

    def day_on(self, on: date) -> int | None:
        """The day of the plan on that date; None before its first day, or without a dated plan."""
        day = self.protocol.day_on(on) if self.protocol else None
        return day if day is not None and day >= 1 else None

    @cached_property
    def day(self) -> int | None:
        """The day of the plan today, while it is active and its treatment goes on."""
        is_over = self.episode is not None and self.episode.is_ended
        if self.protocol is None or not self.protocol.is_active or is_over:
            return None
        return None if self.standing is Standing.ANOTHERS else self.day_on(today())

    @cached_property
    def doses(self) -> list[DoseLine]:
        """The medicines of today, by time; until 03:00 those of the night that began yesterday come first."""
        at = local(now())  # one moment: it may be midnight while a page is made
        before = doses_tonight(self.protocol, self.episode, at.date()) if at.hour < NIGHT_ENDS else []
        return [
            self.words.line(dose) for dose in (*before, *doses_on(self.protocol, self.episode, at.date()))
        ]

    @cached_property
    def go_on(self) -> list[str]:
        """What of it is still to be taken although the treatment has ended."""
        return self.words.instructions_to_continue(self.episode, today())

    @cached_property
    def grid(self) -> Markup | None:
        """Its days as a chart; None without rows, or if a patient isn't to follow it now."""
        if self.protocol is None or (self.person.is_patient and not self.is_followed):
            return None
        return medication_grid(
            self.protocol.medications,
            self.protocol.monitoring,
            today=self.day,
            name_day=self._short_date_of if self.protocol.start_date else None,
            amount=self.words.amount,
            rtl=is_rtl(),
        )

    def _short_date_of(self, day: int) -> str:
        on = self.words.date_of(day)
        return short_date(on) if on else number(day)
