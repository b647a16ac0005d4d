"""Episodes of treatment: a person's list, and one episode with its tabs, each an address of its own."""

from __future__ import annotations

from flask import Blueprint, Response, g, url_for

from portal.config.modules import Module
from portal.services.consents import list_forms_of
from portal.services.episodes import Episode, get_episode
from portal.services.errors import CareError
from portal.services.gather import gather, ids_of, items_of, needed
from portal.services.listed import Listed
from portal.services.protocols import Protocol
from portal.views.consents.list import group, with_text_in_doubt
from portal.views.episodes import calendar, doses
from portal.views.episodes.further_plans import read_plans, read_plans_of
from portal.views.episodes.lookup import MOST_RECENT, MOST_REMEMBERED, reachable, remembered
from portal.views.episodes.separation import NOT_READ, read_forms
from portal.views.episodes.show import (
    AppointmentsPage,
    ConsentsPage,
    DocumentsPage,
    EmbryosPage,
    MedicationPage,
    MonitoringPage,
    OverviewPage,
    TabPage,
    TeamPage,
    TimelinePage,
    consent_rows,
    show_tab,
)
from portal.views.episodes.view import EpisodeView
from portal.views.follow_up import follow_up_of, read_conversations
from portal.web.handlers import Care, Page, Person, Side, audit, render, signed_in
from portal.web.modules import part_of

bp = Blueprint("episodes", __name__, url_prefix="/episodes")
bp.register_blueprint(calendar.bp)
bp.register_blueprint(doses.bp)


@bp.app_template_global("treatment_address")
def treatment_address(episode_id: str) -> str:
    """Return the address of a record's episode; the list, which can say why, if a patient may no longer have access.

    Patients have access to the episodes in their session: those that were read last.
    """
    if g.person.is_patient and episode_id not in remembered():
        return url_for("episodes.index")
    return url_for("episodes.show", episode_id=episode_id)


class EpisodesPage(Page, template="episodes/index.html"):
    """A person's episodes; `is_incomplete` if one couldn't be read, `is_none_left` if none is available any more."""

    episodes: list[EpisodeView]
    is_incomplete: bool
    is_none_left: bool


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def index(care: Care, person: Person) -> Response:
    """List the person's episodes, newest first; for staff those that they opened last. A patient's only one is opened."""
    found = reachable(care, person, MOST_RECENT if person.is_staff else MOST_REMEMBERED)
    if person.is_patient and found.is_only_one:
        return _overview(found.episodes[0], person, read_plans(care))
    audit.shown("episode.list", "episode", [episode.id for episode in found.episodes])
    page = EpisodesPage(
        episodes=[EpisodeView(episode, person) for episode in found.newest_first],
        is_incomplete=found.is_incomplete,
        is_none_left=found.is_none_left,
    )
    return render(page, fragment="results")


@bp.get("/<record:episode_id>")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, episode_id: str) -> Response:
    """Show the state of the treatment: today, what happened before and what comes next."""
    if person.is_staff:
        episode, others = _with_other_plans(care, episode_id)
        view = EpisodeView(episode, person, read_forms(care, episode), items_of(others))
        return show_tab(view, OverviewPage, are_plans_lost=isinstance(others, CareError))
    read, plans = gather(lambda: get_episode(care, episode_id), lambda: read_plans(care))
    return _overview(needed(read), person, needed(plans))


def _overview(episode: Episode, person: Person, plans: Listed[Protocol]) -> Response:
    further = plans.where(episode.is_further_plan)
    view = EpisodeView(episode, person, further_plans=further.items)
    return show_tab(view, OverviewPage, are_plans_lost=not further.is_whole and not episode.is_ended)


def _declare(tab: type[TabPage]) -> None:
    """Give a tab that needs nothing but the episode its address."""

    @signed_in(Side.PATIENT, Side.STAFF)
    def show(care: Care, person: Person, episode_id: str) -> Response:
        return show_tab(EpisodeView(get_episode(care, episode_id), person), tab)

    view = part_of(tab.module)(show) if tab.module else show
    bp.add_url_rule(f"/<record:episode_id>/{tab.name}", tab.name, view)


for tab in (TimelinePage, AppointmentsPage, EmbryosPage, DocumentsPage, TeamPage):
    _declare(tab)


@bp.get("/<record:episode_id>/medication")
@part_of(Module.MEDICINES)
@signed_in(Side.PATIENT, Side.STAFF)
def medication(care: Care, person: Person, episode_id: str) -> Response:
    """Show the medicines of the plan, and name the treatment's other plans."""
    episode, others = _with_other_plans(care, episode_id)
    return show_tab(
        EpisodeView(episode, person, further_plans=items_of(others)), MedicationPage, others=others
    )


def _with_other_plans(care: Care, episode_id: str) -> tuple[Episode, Listed[Protocol] | CareError]:
    """The treatment and its plans besides the one that its record holds, or why those couldn't be read."""
    read, plans = gather(
        lambda: get_episode(care, episode_id), lambda: needed(read_plans_of(care, episode_id))
    )
    episode = needed(read)
    others = plans if isinstance(plans, CareError) else plans.where(episode.is_further_plan)
    audit.shown("protocol.list", "protocol", ids_of(others))
    return episode, others


@bp.get("/<record:episode_id>/monitoring")
@part_of(Module.CHARTS)
@signed_in(Side.PATIENT, Side.STAFF)
def monitoring(care: Care, person: Person, episode_id: str) -> Response:
    """Show scans and blood tests as a chart and as a table."""
    read, conversations = gather(
        lambda: get_episode(care, episode_id), lambda: read_conversations(care, person)
    )
    episode = needed(read)
    last = max((day.date for day in episode.monitoring), default=None)
    follow_up = follow_up_of(conversations, episode.id, last)
    return show_tab(EpisodeView(episode, person), MonitoringPage, follow_up=follow_up)


@bp.get("/<record:episode_id>/consents")
@signed_in(Side.PATIENT, Side.STAFF)
def consents(care: Care, person: Person, episode_id: str) -> Response:
    episode, forms = gather(lambda: get_episode(care, episode_id), lambda: list_forms_of(care, episode_id))
    episode = needed(episode)
    listed = NOT_READ if isinstance(forms, CareError) else forms
    known = listed.through(lambda them: with_text_in_doubt(care, them, person))
    return show_tab(
        EpisodeView(episode, person, listed),
        ConsentsPage,
        groups=group(known, person) if person.is_patient else None,
        forms=consent_rows(episode, known.items, person),
        is_incomplete=isinstance(forms, CareError),
    )
