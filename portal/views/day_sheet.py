"""A day on one sheet of paper: the clinic's visits and procedures by hour, what is missing for them, and the doses of the day.

No endpoint lists a day. Its treatments are those that active plans and forms needed soon name, and those opened before; the
sheet says how many were read, and that others may be missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from flask import Blueprint, Response, request, url_for

from portal.config.modules import Module
from portal.dates import days_after
from portal.i18n.gettext import _
from portal.parse import calendar_date
from portal.services.consents import list_due
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.episodes import Appointment, ConsentBrief, Episode
from portal.services.errors import CareError
from portal.services.found_episodes import Found, read_episodes
from portal.services.gather import gather, items_of, merged
from portal.services.listed import Listed
from portal.services.patients import Patient
from portal.services.protocols import Protocol, ProtocolStatus, list_protocols
from portal.services.rules.doses import doses_on
from portal.values import Value
from portal.views.consents.labels import brief_name
from portal.views.episodes.lookup import remembered
from portal.web import modules
from portal.web.choice_names import choice_name
from portal.web.doses import DoseLine, PlanWords
from portal.web.filters import in_a_row, today
from portal.web.handlers import Care, Page, Person, Side, audit, render, signed_in
from portal.web.not_given import not_given
from portal.web.permissions import SEE_DAY_SHEET
from portal.web.visit_times import place_day

bp = Blueprint("day_sheet", __name__, url_prefix="/day-sheet")

_MOST = 40
"""How many treatments are read; those with doses or forms of the day come first."""
_PLANS = 100
_DAYS_AHEAD = 14
"""How long before a procedure its form may lead to a treatment whose visits count."""


class SheetPerson(Value, frozen=True):
    """A person of the sheet; `born` and `mrn` aren't known of one whose treatment isn't, `href` leads to what is.

    `withdrawn` are the names of the forms that the treatment rests on and that were withdrawn or declined.
    """

    name: str
    href: str
    born: date | None = None
    mrn: str = ""
    withdrawn: tuple[str, ...] = ()

    @classmethod
    def of(cls, episode: Episode, patient: Patient) -> SheetPerson:
        """This person of a treatment, the patient or the partner."""
        withdrawn = tuple(map(brief_name, episode.withdrawn))
        return cls(patient.full_name, _address(episode), patient.date_of_birth, patient.mrn, withdrawn)


class Visit(Value, frozen=True):
    """A visit of the day, or without `at` a procedure that forms are needed for; `missing` are titles of unsigned forms."""

    who: SheetPerson
    at: Appointment | None
    missing: list[str]

    @property
    def nothing_missing(self) -> str:
        """What stands where nothing is missing, or where the API doesn't say which forms there are; empty otherwise."""
        if self.missing or self.who.withdrawn:
            return ""
        return _("Not given by the clinic’s system") if not_given("Episode.consentForms") else "–"


class SheetDose(Value, frozen=True):
    """A dose of the day; `moment` is how many days after it, in the night, and when: those without an hour come last."""

    who: SheetPerson
    moment: tuple[int, int]
    line: DoseLine
    plan_id: str


class DaySheetPage(Page, template="day_sheet.html"):
    """The day; `left_out` are treatments that weren't read, `failed` lists that couldn't be; `doses` None without medicines."""

    day: date
    day_before: date
    day_after: date
    visits: list[Visit]
    doses: list[SheetDose] | None
    read: int
    left_out: int
    is_whole: bool


@bp.get("")
@signed_in(Side.STAFF, roles=SEE_DAY_SHEET)
def show(care: Care, person: Person) -> Response:
    """Show the sheet of today, or of the date in the query."""
    day = calendar_date(request.args.get("day", "")) or today()
    soon = days_after(day, _DAYS_AHEAD) or date.max
    has_plans = Module.MEDICINES not in modules.off()
    pending, partial, plans = gather(
        lambda: list_due(care, ConsentStatus.PENDING, day, soon),
        lambda: list_due(care, ConsentStatus.PARTIALLY_SIGNED, day, soon),
        lambda: _active_plans(care) if has_plans else Listed[Protocol](),
    )
    has_read_plans = has_plans and not isinstance(plans, CareError)
    if isinstance(pending, CareError) and isinstance(partial, CareError) and not has_read_plans:
        raise pending
    due = merged([pending, partial])
    active = items_of(plans)
    named = list(_named(due, active, day, soon))
    found = read_episodes(care, named[:_MOST])
    visits = sorted(_visits(found.episodes, due, day), key=_moment)
    doses = sorted(_doses(found, active, day), key=lambda dose: (dose.moment, dose.who.name.casefold()))
    shown = {row.who.href for row in (*visits, *doses)}
    audit.shown("episode.list", "episode", [one.id for one in found.episodes if _address(one) in shown])
    audit.shown("consent.list", "consent", [form.id for form in due if form.procedure_date == day])
    dosed = {dose.plan_id for dose in doses}
    audit.shown("protocol.list", "protocol", [plan.id for plan in active if plan.id in dosed])
    page = DaySheetPage(
        day=day,
        day_before=days_after(day, -1) or day,
        day_after=days_after(day, 1) or day,
        visits=visits,
        doses=doses if has_plans else None,
        read=len(found.episodes),
        left_out=len(named) - len(found.episodes) - len(found.absent),
        is_whole=due.is_whole and not isinstance(plans, CareError) and plans.is_whole,
    )
    return render(page)


def _active_plans(care: Care) -> Listed[Protocol]:
    return list_protocols(care, limit=_PLANS, sorting="startDate desc", status=ProtocolStatus.ACTIVE).listed


def _named(forms: Iterable[ConsentForm], plans: Iterable[Protocol], day: date, until: date) -> Iterable[str]:
    """The ids of the treatments that the day may be about: of the day itself first, then of those soon, then others.

    A day without a dose, after the trigger, may have the egg collection.
    """
    by_plan = [plan.episode_id for plan in plans if doses_on(plan, None, day)]
    of_day = [form.episode_id for form in forms if form.procedure_date == day]
    soon = [form.episode_id for form in forms if form.procedure_date and day < form.procedure_date <= until]
    active = [plan.episode_id for plan in plans]
    return dict.fromkeys(id_ for id_ in (*of_day, *by_plan, *soon, *remembered(), *active) if id_)


def _visits(episodes: Iterable[Episode], forms: Iterable[ConsentForm], day: date) -> Iterable[Visit]:
    """The visits of the day, and the procedures that forms are needed for without a visit."""
    needed = [form for form in forms if form.procedure_date == day]
    told: set[str] = set()
    for episode in episodes:
        visits = [
            appointment
            for appointment in episode.appointments
            if not appointment.is_cancelled and place_day(appointment) == day
        ]
        is_named = any(form.episode_id == episode.id for form in needed)
        if not visits and not is_named:
            continue
        others = [form for form in needed if _may_be_for(form, episode)]
        told.update(form.id for form in needed if form.episode_id == episode.id or form in others)
        missing = [*dict.fromkeys(_title(form) for form in (*episode.unsigned, *others))]
        who = SheetPerson.of(episode, episode.patient)
        yield from (Visit(who, visit, missing) for visit in visits or [None])
    alone: dict[str, list[ConsentForm]] = {}
    for form in needed:
        if form.id not in told:
            alone.setdefault(form.episode_id or form.patient_id or form.id, []).append(form)
    for of_one in alone.values():
        who = SheetPerson(of_one[0].patient_name, url_for("consents.show", consent_id=of_one[0].id))
        yield Visit(who, None, [_title(form) for form in of_one])


def _may_be_for(form: ConsentForm, episode: Episode) -> bool:
    """Whether a form that names no treatment may be for this one: of its patient or partner, and of no other case."""
    people = {person.id for person in (episode.patient, episode.partner) if person}
    cases = {form.case_id, episode.case.id if episode.case else None} - {None}
    return form.episode_id is None and form.patient_id in people and len(cases) < 2


def _title(form: ConsentForm | ConsentBrief) -> str:
    """Its title, whose it is where that was read, and that it has expired if it has."""
    title = brief_name(form) if isinstance(form, ConsentBrief) else form.title
    is_late = form.status == ConsentStatus.EXPIRED
    return in_a_row((title, choice_name(ConsentStatus.EXPIRED)), " · ") if is_late else title


def _doses(found: Found, plans: Iterable[Protocol], day: date) -> Iterable[SheetDose]:
    """The doses of the day of every plan that was read: a treatment may have several, and holds only one of them.

    A plan stands with its treatment's person whose it is. Whether one is still followed whose treatment couldn't be read isn't
    known; one that names none, or none that there is, and one of neither person stands by itself.
    """
    holders = {episode.protocol.id: episode for episode in found.episodes if episode.protocol}
    treatments = {episode.id: episode for episode in found.episodes}
    held = {plan.id: plan for episode in found.episodes if (plan := episode.protocol)}
    for plan in ({plan.id: plan for plan in plans if plan.patient_id or plan.episode_id} | held).values():
        treatment = holders.get(plan.id) or treatments.get(plan.episode_id or "")
        if treatment is None and plan.episode_id and plan.episode_id not in found.absent:
            continue
        patient = treatment.owner_of(plan) if treatment else None
        if treatment and patient:
            who = SheetPerson.of(treatment, patient)
        else:
            who, treatment = SheetPerson(plan.patient_name or "", _address(plan)), None
        words = PlanWords(plan, is_plain=False)
        first = plan.day_on(day) or 0
        for dose in doses_on(plan, treatment, day):
            on, minute, _drug = dose.moment
            yield SheetDose(who, (on - first, minute), words.line(dose), plan.id)


def _address(record: Episode | Protocol) -> str:
    if isinstance(record, Episode):
        return url_for("episodes.show", episode_id=record.id)
    return url_for("protocols.show", protocol_id=record.id)


def _moment(visit: Visit) -> tuple[bool, float, str]:
    return visit.at is None, visit.at.start.timestamp() if visit.at else 0, visit.who.name.casefold()
