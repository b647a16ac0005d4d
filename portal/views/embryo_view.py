"""A stored embryo as shown on pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date

from flask import g, url_for
from markupsafe import Markup
from msgspec.structs import replace

from portal.config.consent_templates.law import law_of
from portal.i18n.gettext import _, ngettext
from portal.i18n.locale import is_rtl
from portal.services.episodes import Episode
from portal.services.patient_ref import PatientRef
from portal.services.patients import Patient
from portal.services.storage import EmbryoStatus, EmbryoStorage
from portal.values import Value
from portal.web.drawings.storage import DatedBar, storage_chart
from portal.web.filters import in_a_row, isolate, local, long_date, months, today
from portal.web.labels import place_line, tone_of_days, treatment_name, with_record

LOCATION = ("facility", "tank", "canister", "cane", "position")
"""The parts of a storage location, from the outside in."""

SOON_DAYS = 60
"""From how many days before it a date of storage is near; the law may say otherwise of the consent (`renewal_window`)."""

_PAID = "EmbryoStorage.storageExpiresAt"


class StorageDate(Value, frozen=True):
    """One of the three dates: its label, the day, and how near it is in words (None if it isn't near).

    `member` is its name in the API ("EmbryoStorage.statutoryLimit").
    """

    term: str
    explained: str
    day: date | None
    near: str | None
    tone: str
    member: str

    @property
    def is_payment(self) -> bool:
        """Whether it is the date until which storage is paid."""
        return self.member == _PAID


class EmbryoView(Value, frozen=True):
    """`apart` tells it from the others shown that have its code; see `told_apart`."""

    embryo: EmbryoStorage
    episode: Episode
    apart: str = ""

    @property
    def patient_ref(self) -> PatientRef:
        """Whose it is; an embryo that doesn't say is the episode's patient's."""
        return PatientRef(self.embryo.patient_id, "", self.episode.id)

    @property
    def is_stored(self) -> bool:
        """Whether it is in storage here, or may be: its state isn't known."""
        return self.embryo.is_in_storage or not self.embryo.status.known

    @property
    def has_more_to_say(self) -> bool:
        """Whether its status says more than that it is stored."""
        return self.embryo.status != EmbryoStatus.STORED

    @property
    def code(self) -> str:
        """Its code, for staff with its patient's record number, and what tells it apart."""
        return f"{with_record(self.embryo.embryo_code, self.owner)}{self.apart}"

    @property
    def owner(self) -> Patient | None:
        """Whose it is: of a treatment that uses the partner's embryo, the partner; None if it is known to be another's."""
        return self.episode.owner_of(self.embryo)

    @property
    def owner_name(self) -> str:
        return self.owner.full_name if self.owner else ""

    @property
    def owner_born(self) -> date | None:
        return self.owner.date_of_birth if self.owner else None

    @property
    def record_number(self) -> str:
        """The record number that stands on its straw; empty if it isn't known."""
        return self.owner.mrn if self.owner else ""

    @property
    def test_id(self) -> str | None:
        """The genetic test that its record names, for patients once it is released."""
        id_ = self.embryo.pgt_result_id
        is_readable = g.person.is_staff or any(
            test.id == id_ and not test.is_withheld for test in self.episode.pgt_results
        )
        return id_ if is_readable else None

    @property
    def href(self) -> str:
        return url_for("storage.show", embryo_id=self.embryo.id, episode=self.episode.id)

    @property
    def dates(self) -> list[StorageDate]:
        embryo = self.embryo
        return [
            _storage_date(
                _("Storage agreed until"),
                ""
                if embryo.is_held_by_patient
                else _("Until then the signed consent lets the clinic keep it. A new form can renew it."),
                embryo.storage_consented_until,
                "EmbryoStorage.storageConsentedUntil",
                near_days=renewal_window(),
            ),
            _storage_date(_("Storage is paid until"), _payment_words(), paid_until(embryo), _PAID),
            _storage_date(
                _("The law allows storage until"),
                _("The longest that anybody may store it. Nobody can extend this."),
                embryo.statutory_limit,
                "EmbryoStorage.statutoryLimit",
            ),
        ]

    @property
    def nearest(self) -> StorageDate | None:
        near = [date_ for date_ in self.dates if date_.near and date_.day]
        return min(near, key=lambda date_: date_.day or date.max, default=None)

    @property
    def chart(self) -> Markup | None:
        """The three dates as a chart with a text alternative."""
        bars = [DatedBar(date_.term, date_.day) for date_ in self.dates if date_.day]
        return storage_chart(bars, today=today(), write=long_date, rtl=is_rtl())

    @property
    def location(self) -> str:
        """Its location on one line, for staff: `T4 C2 17 1`."""
        return place_line(self.embryo.location)

    def order(self) -> tuple[date, str]:
        """The sort key: near dates first, then by code."""
        days = (date_.day for date_ in self.dates if date_.day)
        return (min(days, default=date.max), self.embryo.embryo_code)


def told_apart(found: Iterable[tuple[EmbryoStorage, Episode]]) -> list[EmbryoView]:
    """The embryos as shown together: those of one code also by when they were frozen or, where that tells nothing, in which
    treatment and, of a couple's, by whose they are."""
    views = [EmbryoView(embryo, episode) for embryo, episode in found]
    alike: dict[str, dict[str, EmbryoView]] = {}
    for view in views:
        alike.setdefault(view.code, {})[view.embryo.id] = view
    return [replace(view, apart=_apart(view, alike[view.code].values())) for view in views]


def _apart(view: EmbryoView, alike: Collection[EmbryoView]) -> str:
    if len(alike) < 2:
        return ""
    on, name = _frozen(view), view.owner_name
    then = [other.episode.id for other in alike if _frozen(other) == on]
    treatment = "" if then.count(view.episode.id) == len(then) else _treatment(view.episode)
    is_one_persons = len({other.owner_name for other in alike}) < 2
    return _in_a_row(on, treatment, "" if is_one_persons else name)


def _frozen(view: EmbryoView) -> str:
    frozen = view.embryo.cryopreserved_at
    return _("frozen on %(day)s", day=long_date(local(frozen).date())) if frozen else ""


def _treatment(episode: Episode) -> str:
    kind = treatment_name(episode.type) if episode.type else ""
    return in_a_row(filter(None, [kind, months(episode.start_date, episode.end_date)]))


def _in_a_row(*parts: str) -> str:
    return "".join(f" · {part}" for part in parts if part)


def told_alone(view: EmbryoView) -> EmbryoView:
    """The embryo as named where it stands alone: another treatment, not read, may have one of its code."""
    return view if view.apart else replace(view, apart=_in_a_row(_frozen(view) or _treatment(view.episode)))


class SharedDate(Value, frozen=True):
    date: StorageDate
    codes: tuple[str, ...]


def shared_dates(views: Sequence[EmbryoView]) -> list[list[SharedDate]]:
    """Return each of the three dates of these embryos: once where they share it, else each one, the soonest first."""
    return [_grouped(views, which) for which in range(3)]


def _grouped(views: Sequence[EmbryoView], which: int) -> list[SharedDate]:
    dates = [(view.dates[which], view.code) for view in views]
    codes: dict[StorageDate, list[str]] = {}
    for date_, code in sorted(dates, key=lambda pair: (pair[0].day or date.max, pair[1])):
        codes.setdefault(date_, []).append(code)
    return [SharedDate(date_, tuple(named)) for date_, named in codes.items()]


def next_date(views: Iterable[EmbryoView]) -> str:
    """Say which of these embryos' dates is next, and which embryo it concerns; empty if there is none."""
    ahead = [
        (date_.day, which, view.code)
        for view in views
        for which, date_ in enumerate(view.dates)
        if date_.day and date_.day >= today()
    ]
    if not ahead:
        return ""
    on, which, code = min(ahead)
    named = {"day": long_date(on), "code": isolate(code)}
    match which:
        case 0:
            return _("Next date: %(day)s, the consent for %(code)s.", **named)
        case 1:
            return _("Next date: %(day)s, payment for %(code)s.", **named)
        case _:
            return _("Next date: %(day)s, the legal limit of %(code)s.", **named)


def paid_until(embryo: EmbryoStorage) -> date | None:
    """Return the day, in the clinic's time zone, until which its storage is paid."""
    return local(embryo.storage_expires_at).date() if embryo.storage_expires_at else None


def nearness(days: int) -> tuple[str, str]:
    """Return how near a date in so many days is, in words and as a tone."""
    if days < 0:
        return _("This date has passed"), tone_of_days(days)
    words = ngettext("In %(num)s day", "In %(num)s days", days) if days else _("Today")
    return words, tone_of_days(days)


def renewal_window() -> int:
    """From how many days before its end consent to storage is shown as ending: as the law says, else as other dates."""
    law = law_of(g.tenant.country).storage
    return law.renewal_window_days if law else SOON_DAYS


def _payment_words() -> str:
    """What the date of payment means; the clinic's own sentence says what happens when it passes."""
    moves_on = _("This date moves on when a payment arrives.")
    return f"{moves_on} {g.tenant.unpaid_storage}" if g.tenant.unpaid_storage else moves_on


def _storage_date(
    term: str, explained: str, day: date | None, member: str, *, near_days: int = SOON_DAYS
) -> StorageDate:
    days = (day - today()).days if day else near_days + 1
    near, tone = nearness(days) if days <= near_days else (None, "neutral")
    return StorageDate(term, explained, day, near, tone, member)
