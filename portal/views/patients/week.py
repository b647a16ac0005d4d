"""What happened about a patient in the last seven days, as one list by day, the newest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TypeVar

from flask import url_for
from msgspec.structs import replace

from portal.i18n.gettext import _
from portal.services.consents.forms import ConsentForm
from portal.services.conversations import Conversation, Message, MessageSide
from portal.services.episodes import Episode, MonitoringDay
from portal.services.errors import CareError, NotOffered
from portal.services.gather import items_of
from portal.services.listed import Listed
from portal.services.patient_overview import PatientOverview
from portal.services.protocols import Protocol
from portal.services.rules.doses import Course, courses
from portal.values import Value
from portal.views.consents.labels import method_word, state_word
from portal.views.conversations.view import subject_of
from portal.web import modules
from portal.web.doses import amount, every, medicines_of
from portal.web.drawings.monitoring import describe
from portal.web.filters import day as write_day
from portal.web.filters import in_a_row, isolate, local, now, number, today
from portal.web.labels import visit_name
from portal.web.plain_text import LONGEST_EXCERPT, plain_text
from portal.web.record_links import page_of

T = TypeVar("T")

DAYS = 7
_TOLD_BY_RECORDS = ("ConsentForm", "Conversation")
"""What notifications tell that the records themselves tell better."""


class Happening(Value, frozen=True):
    """One thing that happened: on a day and, unless only that is known, `at` a moment.

    `is_checked` is false for a result that nobody has verified, and a visit in doubt; `notification_id` is of the notification that tells of it.
    """

    on: date
    at: datetime | None
    icon: str
    what: str
    more: str = ""
    href: str | None = None
    is_checked: bool = True
    notification_id: str = ""


class HappeningDay(Value, frozen=True):
    on: date
    name: str
    happenings: tuple[Happening, ...]


class Week(Value, frozen=True):
    """The last seven days; `lacks` are sentences that say what may be missing from it."""

    days: tuple[HappeningDay, ...]
    lacks: tuple[str, ...]

    @property
    def notification_ids(self) -> list[str]:
        found = (happening.notification_id for day in self.days for happening in day.happenings)
        return [id_ for id_ in found if id_]


def week_of(overview: PatientOverview) -> Week:
    """Return the last seven days, today included, as far as they could be read."""
    last = today()
    first = last - timedelta(days=DAYS - 1)
    found = [happening for happening in _happenings(overview, first) if first <= happening.on <= last]
    found.sort(key=lambda entry: (entry.on, entry.at.timestamp() if entry.at else 0.0), reverse=True)
    names = {last: _("Today"), last - timedelta(days=1): _("Yesterday")}
    days = [
        HappeningDay(on, names.get(on) or write_day(on), tuple(entry for entry in found if entry.on == on))
        for on in sorted({entry.on for entry in found}, reverse=True)
    ]
    return Week(tuple(days), tuple(_lacks(overview, first)))


def _happenings(overview: PatientOverview, first: date) -> Iterator[Happening]:
    for form in items_of(overview.forms):
        yield from _of_form(form)
    for talk in items_of(overview.conversations):
        yield from _of_conversation(talk)
    for episode in overview.episodes:
        if overview.is_partner_in(episode):
            whose = _("treatment of %(name)s", name=isolate(episode.patient.full_name))
            yield from _with_name(whose, _of_episode(episode))
        else:
            yield from _of_episode(episode)
    for plan in items_of(overview.plans):
        whose = medicines_of(overview.others_plan(plan))
        yield from _with_name(whose, _of_plan(plan, overview.treatment_of(plan), first))
    for item in items_of(overview.notifications):
        if item.creation_time and not any(map(item.is_about, _TOLD_BY_RECORDS)):
            href = page_of(item.entity_type, item.entity_id, item.data)
            yield _at(item.creation_time, "bell", item.title, item.body, href, notification_id=item.id)


def _with_name(whose: str, happenings: Iterable[Happening]) -> Iterator[Happening]:
    """The same, each with the words that say whose it is, if any."""
    for happening in happenings:
        more = in_a_row(filter(None, (whose, happening.more)), " · ") if whose else happening.more
        yield replace(happening, more=more)


def _of_form(form: ConsentForm) -> Iterator[Happening]:
    href = url_for("consents.show", consent_id=form.id)
    if form.sent_at:
        yield _at(form.sent_at, "consent", _("Form sent to its signers"), form.title, href)
    for signature in form.signatures:
        if signature.signed_at:
            what = (
                _("%(name)s signed", name=isolate(signature.name))
                if signature.name
                else method_word(signature.method)
            )
            yield _at(signature.signed_at, "signed", what, form.title, href)
    if form.revoked_at and form.is_revoked:
        yield _at(form.revoked_at, "attention", state_word(form), form.title, href)


def _of_conversation(talk: Conversation) -> Iterator[Happening]:
    href = url_for("conversations.show", conversation_id=talk.id)
    for message in talk.messages:
        if message.sent_at:
            words = " ".join(plain_text(message.body, LONGEST_EXCERPT).split())[:160]
            yield _at(message.sent_at, "message", _wrote(message), f"{subject_of(talk)} · {words}", href)


def _wrote(message: Message) -> str:
    name = message.sender_name and isolate(message.sender_name)
    if message.side is MessageSide.OUTBOUND:
        return _("%(name)s answered for the clinic", name=name) if name else _("The clinic answered")
    return _("%(name)s wrote", name=name) if name else _("Unknown sender")


def _of_episode(episode: Episode) -> Iterator[Happening]:
    href = url_for("episodes.show", episode_id=episode.id)
    for event in episode.timeline:
        if event.occurred_at and event.occurred_at <= now():
            yield _at(
                event.occurred_at, "treatment", event.title, event.note or "", href, is_checked=event.verified
            )
    told = {(local(event.occurred_at).date(), event.title) for event in episode.timeline if event.occurred_at}
    for visit in episode.appointments:
        words = visit_name(visit.kind) or _("Appointment")
        is_over = visit.start <= now() and not visit.is_cancelled
        if is_over and (local(visit.start).date(), words) not in told:
            where = url_for("episodes.appointments", episode_id=episode.id)
            is_sure = not visit.is_tentative
            yield _at(visit.start, "calendar", words, visit.location or "", where, is_checked=is_sure)
    for file in episode.documents.files:
        if file.creation_time:
            where = url_for("episodes.documents", episode_id=episode.id)
            yield _at(file.creation_time, "file", _("A document came"), file.name, where)
    if not modules.is_off("episodes.monitoring"):
        yield from (_of_monitoring(day, episode) for day in episode.monitoring)


def _of_monitoring(day: MonitoringDay, episode: Episode) -> Happening:
    hormones = [
        f"{name} {number(value)} {unit}".strip()
        for name, value, unit in (
            (_("E2"), day.e2, day.e2_unit),
            (_("LH"), day.lh, day.units.lh or ""),
            (_("P4"), day.p4, day.units.p4 or ""),
        )
        if value is not None
    ]
    more = in_a_row([part for part in (describe([day], number), *hormones) if part], " · ")
    href = url_for("episodes.monitoring", episode_id=episode.id)
    return Happening(day.date, None, "laboratory", _("Scan and blood tests"), more, href, day.verified)


def _of_plan(plan: Protocol, treatment: Episode | None, first: date) -> Iterator[Happening]:
    if modules.is_off("protocols.show"):
        return
    href = url_for("protocols.show", protocol_id=plan.id)
    made, changed = plan.creation_time, plan.last_modification_time
    if made:
        yield _at(made, "protocol", _("Plan made"), plan.name, href)
    if changed and changed != made:
        yield _at(changed, "protocol", _("Plan changed"), plan.name, href)
    planned = courses(plan.medications)
    for on, day in _days_followed(plan, treatment, first):
        for course in planned:
            if course.first == course.last == day:
                words = f"{isolate(course.medication.drug)} {isolate(_dose(course))}"
                yield Happening(on, None, "medication", _("Single dose"), words, href)
        for words in _differences(_running(planned, day - 1), _running(planned, day)):
            yield Happening(on, None, "medication", _("Dose from this day"), words, href)


def _days_followed(plan: Protocol, treatment: Episode | None, first: date) -> Iterator[tuple[date, int]]:
    """Those of the last seven days on which the plan was followed, with their numbers in it.

    None of a plan on hold, or of one that ended on a day that isn't known.
    """
    number = plan.day_on(first)
    if number is None or not (plan.is_active or plan.is_ended):
        return
    ends: list[date | None] = []
    if plan.is_ended:
        ends.append(local(plan.last_modification_time).date() if plan.last_modification_time else None)
    if treatment and treatment.is_ended:
        ends.append(treatment.end_date)
    for ahead in range(DAYS):
        on = first + timedelta(days=ahead)
        if all(end is not None and on < end for end in ends):
            yield on, number + ahead


def _running(planned: Sequence[Course], day: int) -> dict[str, str]:
    """How each medicine is taken from day to day around a day of a plan; single doses don't count."""
    found: dict[str, list[Course]] = {}
    for course in sorted(planned, key=lambda course: course.time or ""):
        is_begun = course.first <= day and course.first != course.last
        if is_begun and (course.last is None or day <= course.last):
            found.setdefault(course.medication.drug, []).append(course)
    return {drug: in_a_row(map(_dose, running)) for drug, running in found.items()}


def _dose(course: Course) -> str:
    """`20:00 150 IU`, with the interval unless it is taken daily."""
    interval = "" if course.first == course.last else every(course.every)
    words = (course.time or "", amount(course.medication, is_plain=False), interval)
    return " ".join(filter(None, words))


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for drug in sorted(now.keys() | before.keys()):
        one, other, name = before.get(drug, ""), now.get(drug, ""), isolate(drug)
        if one == other:
            continue
        if not one:
            yield _("%(drug)s %(dose)s begins", drug=name, dose=isolate(other))
        elif not other:
            yield _("%(drug)s ends", drug=name)
        else:
            yield _(
                "%(drug)s %(dose)s instead of %(before)s", drug=name, dose=isolate(other), before=isolate(one)
            )


def _at(
    at: datetime,
    icon: str,
    what: str,
    more: str,
    href: str | None,
    *,
    is_checked: bool = True,
    notification_id: str = "",
) -> Happening:
    return Happening(local(at).date(), at, icon, what, more, href, is_checked, notification_id)


def _lacks(overview: PatientOverview, first: date) -> Iterator[str]:
    """What of these days couldn't be read, or not to its end."""
    if not overview.episodes.is_whole:
        yield _("A treatment can’t be read right now: its visits, results and documents are missing here.")
    if _is_lost(overview.forms):
        yield _("The forms can’t be read right now, so what was sent or signed is missing here.")
    if _is_lost(overview.conversations):
        yield _("The messages can’t be read right now and are missing here.")
    elif not _is_whole_since(
        overview.conversations, first, [talk.last_message_at for talk in items_of(overview.conversations)]
    ):
        yield _("Not all conversations could be read: messages may be missing here.")
    if _is_lost(overview.plans):
        yield _("The plans can’t be read right now, so changed doses are missing here.")
    if _is_lost(overview.notifications):
        yield _("Your notifications can’t be read right now and are missing here.")
    elif not _is_whole_since(
        overview.notifications, first, [item.creation_time for item in items_of(overview.notifications)]
    ):
        yield _("Only your newest notifications could be read: older ones are missing here.")


def _is_lost(part: object) -> bool:
    """Whether it couldn't be read; what a clinic doesn't offer isn't lost."""
    return isinstance(part, CareError) and not isinstance(part, NotOffered)


def _is_whole_since(part: Listed[T] | CareError, first: date, times: Sequence[datetime | None]) -> bool:
    """Whether what is missing from a list, newest first, is older."""
    if isinstance(part, CareError) or part.is_whole:
        return True
    oldest = min((local(at).date() for at in times if at), default=None)
    return oldest is not None and oldest < first
