"""A patient's page for staff: who it is, how to reach them, and everything of theirs, with the last seven days as one list."""

from __future__ import annotations

from flask import Blueprint, Response, request, url_for

from portal.config.modules import Module
from portal.i18n.gettext import _
from portal.parse import record_id
from portal.services.episodes import Episode
from portal.services.errors import CareError, NotFound
from portal.services.gather import ids_of
from portal.services.listed import Listed
from portal.services.notifications import Notification
from portal.services.patient_overview import Hint, PatientOverview, read_patient_overview
from portal.views.consents.list import Groups, group
from portal.views.conversations.view import Row, row_of
from portal.views.episodes.lookup import remember_opened
from portal.views.episodes.separation import NOT_READ
from portal.views.episodes.view import EpisodeView
from portal.views.patients.week import Week, week_of
from portal.views.recent import name_opened
from portal.web import modules
from portal.web.doses import medicines_of
from portal.web.filters import in_a_row
from portal.web.handlers import Care, Page, Person, Side, audit, render, signed_in
from portal.web.known_people import known_people
from portal.web.permissions import may
from portal.web.plan_view import PlanView

bp = Blueprint("overview", __name__)

_MOST_UNREAD = 6


class OverviewPage(Page, template="patients/show.html", about="overview"):
    """What was read of a patient; `forms` and `conversations` are its parts as lists, or the errors in their place.

    `plans_today` has each treatment's plans by its id, each with a label of whose or which it is.
    `unread` are the first notifications that this person hasn't read yet.
    `sends_forms` is where forms are made for the patient, empty if they can't be: without a treatment, one form says the name;
    `makes_plan` where a plan is made for their own treatment, empty if there is one.
    """

    overview: PatientOverview
    week: Week
    views: list[EpisodeView]
    plans_today: dict[str, list[tuple[str, PlanView]]]
    forms: Groups | CareError
    conversations: Listed[Row] | CareError
    unread: Listed[Notification] | CareError
    sends_forms: str
    makes_plan: str


@bp.get("/<record:patient_id>/as-seen")
@signed_in(Side.STAFF)
def as_seen(care: Care, person: Person, patient_id: str) -> Response:
    """Stand for the patient's own pages as they see them: `portal.web.as_patient` has them answer at this address."""
    raise NotFound


@bp.get("/<record:patient_id>")
@signed_in(Side.STAFF)
def show(care: Care, person: Person, patient_id: str) -> Response:
    """Show everything of one patient, also of one without a treatment."""
    overview = read_patient_overview(care, patient_id, _hint(patient_id))
    audit.shown("patient.read", "patient", patient_id)
    week = week_of(overview)
    notifications = overview.notifications
    unread = (
        notifications
        if isinstance(notifications, CareError)
        else notifications.where(lambda one: not one.is_read).first(_MOST_UNREAD)
    )
    _note(overview, [*ids_of(unread), *week.notification_ids])
    name_opened(overview.name)
    remember_opened(*(episode.id for episode in overview.episodes.items))
    forms, conversations = overview.forms, overview.conversations
    read = NOT_READ if isinstance(forms, CareError) else forms
    by_plan = [
        [EpisodeView(held, person, read) for held in overview.by_plan(episode)]
        for episode in overview.episodes
    ]
    return render(
        OverviewPage(
            overview=overview,
            week=week,
            views=[views[0] for views in by_plan],
            plans_today={
                views[0].episode.id: _today([view.plan for view in views], overview) for views in by_plan
            },
            forms=forms if isinstance(forms, CareError) else group(forms, person),
            conversations=conversations
            if isinstance(conversations, CareError)
            else conversations.through(lambda found: [row_of(talk, person) for talk in found]),
            unread=unread,
            sends_forms=_sends_forms(overview) if may(person, "consent.create") else "",
            makes_plan=_makes_plan(overview) if may(person, "protocol.edit") else "",
        )
    )


def _today(plans: list[PlanView], overview: PatientOverview) -> list[tuple[str, PlanView]]:
    """The plans of a treatment, which are told apart by name where there are several."""

    def whose(plan: PlanView) -> str:
        return medicines_of((plan.protocol and overview.others_plan(plan.protocol)) or plan.whose)

    is_one = len(plans) == 1
    names = ["" if is_one or plan.protocol is None else plan.protocol.name for plan in plans]
    return [
        (in_a_row(filter(None, (_("Today"), whose(plan), name)), " · "), plan)
        for plan, name in zip(plans, names, strict=True)
    ]


def _sends_forms(overview: PatientOverview) -> str:
    newest = _newest_own(overview) or next(iter(overview.episodes), None)
    if newest:
        return url_for("consents.create.choose", episode=newest.id)
    is_named = not isinstance(overview.forms, CareError) and overview.forms
    return url_for("consents.create.choose", patient=overview.patient_id) if is_named else ""


def _makes_plan(overview: PatientOverview) -> str:
    newest = _newest_own(overview)
    if newest is None or newest.is_ended or Module.MEDICINES in modules.off():
        return ""
    plans = (newest.protocol, *(episode.protocol for episode in overview.by_plan(newest)))
    if any(plan and not overview.others_plan(plan) for plan in plans):
        return ""
    return url_for("protocols.create.begin", episode=newest.id)


def _newest_own(overview: PatientOverview) -> Episode | None:
    """The treatment under way, or the newest, in which they are the patient, not the partner."""
    return next((episode for episode in overview.episodes if not overview.is_partner_in(episode)), None)


def _hint(patient_id: str) -> Hint:
    """The treatment that the address names, and what this session has read of the patient before."""
    known = [person for person in known_people() if person.patient_id == patient_id]
    named = record_id(request.args.get("episode"))
    ids = [*([named] if named else []), *(person.episode_id for person in known)]
    return Hint(tuple(dict.fromkeys(ids)), known[0].name if known else "")


def _note(overview: PatientOverview, notification_ids: list[str]) -> None:
    """Record in the audit trail which of the records read are shown: the patient's."""
    audit.shown("notification.list", "notification", notification_ids)
    for kind, part in (
        ("consent", overview.forms),
        ("conversation", overview.conversations),
        ("protocol", overview.plans),
        ("episode", overview.episodes),
    ):
        ids = [] if isinstance(part, CareError) else [record.id for record in part]
        audit.shown(f"{kind}.list", kind, ids)
