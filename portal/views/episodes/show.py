"""One episode's tabs and their content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from flask import Response, url_for

from portal.config.modules import Module
from portal.i18n.gettext import _, for_each_language
from portal.services.consents.forms import ConsentForm, ConsentStatus
from portal.services.episodes import Episode
from portal.services.errors import CareError
from portal.services.listed import Listed
from portal.services.protocols import Protocol
from portal.services.rules.signing import listed_role
from portal.values import Value
from portal.views.consents.labels import state_word, status_tone
from portal.views.consents.list import Groups, line
from portal.views.episodes.lookup import remember_opened
from portal.views.episodes.view import EpisodeView
from portal.views.follow_up import FollowUp
from portal.views.recent import name_opened
from portal.web.choice_names import choice_name
from portal.web.filters import day, in_a_row
from portal.web.handlers import Page, Person, audit, render, wants
from portal.web.modules import is_off


class Tab(Value, frozen=True):
    """A part of the episode, with its own address; `is_tab` if it stands in the row of tabs.

    The others are named in the first page: always, or if there is something in them. The team has a card of its own there.
    """

    name: str
    label: str
    href: str
    current: bool
    count: int
    is_tab: bool
    is_always: bool


class ConsentRow(Value, frozen=True):
    """A consent form of the episode; `is_mine_to_sign` if it waits for the reader, `about` is whose it is and when it is needed."""

    id: str
    title: str
    status: str
    tone: str
    is_mine_to_sign: bool
    about: str


class TabPage(Page, about="episode"):
    """An episode with one tab selected, whose address ends in `name`; `is_part` if htmx requested only the tab.

    `module` is the module of a clinic that it belongs to.
    """

    name: ClassVar[str]
    module: ClassVar[Module | None] = None
    view: EpisodeView
    episode: Episode
    tabs: list[Tab]
    tab: Tab
    is_part: bool


class OverviewPage(TabPage, template="episodes/overview.html"):
    """The state of the treatment; `are_plans_lost` if its further plans couldn't all be read."""

    name = "overview"
    are_plans_lost: bool = False


class TimelinePage(TabPage, template="episodes/timeline.html"):
    name = "timeline"


class MonitoringPage(TabPage, template="episodes/monitoring.html"):
    """Scans and blood tests; `follow_up` is what the clinic wrote to a patient after the last of them."""

    name = "monitoring"
    module = Module.CHARTS
    follow_up: FollowUp | CareError | None


class MedicationPage(TabPage, template="episodes/medication.html"):
    """The plan's medicines; `others` are the treatment's further plans, or why they couldn't be read."""

    name = "medication"
    module = Module.MEDICINES
    others: Listed[Protocol] | CareError


class AppointmentsPage(TabPage, template="episodes/appointments.html"):
    name = "appointments"


class EmbryosPage(TabPage, template="episodes/embryos.html"):
    name = "embryos"
    module = Module.STORAGE


class DocumentsPage(TabPage, template="episodes/documents.html"):
    name = "documents"


class ConsentsPage(TabPage, template="episodes/consents.html"):
    """The consent forms: a patient's by whose turn it is, in `groups`, and in `forms` those that weren't read.

    `is_incomplete` if it couldn't be read whose turn it is.
    """

    name = "consents"
    groups: Groups | None
    forms: list[ConsentRow]
    is_incomplete: bool


class TeamPage(TabPage, template="episodes/team.html"):
    name = "team"


def show_tab(view: EpisodeView, page: type[TabPage], **more: Any) -> Response:
    """Show a tab; `more` is what its page has besides what every tab has."""
    tabs = _tabs(view, page.name)
    tab = next(tab for tab in tabs if tab.current)
    episode = view.episode
    audit.shown("episode.read", "episode", episode.id)
    if view.person.is_staff:
        remember_opened(episode.id)
        name_opened(episode.patient.full_name, episode.number or view.title)
    shown = page(view=view, episode=episode, tabs=tabs, tab=tab, is_part=wants("tab"), **more)
    return render(shown, fragment="tab")


def consent_rows(episode: Episode, forms: Sequence[ConsentForm], person: Person) -> list[ConsentRow]:
    """Return the episode's forms, those that wait for this person first; for a patient those of which no more was read."""
    read = {form.id: form for form in forms}
    rows: list[ConsentRow] = []
    for brief in episode.consent_forms:
        form = read.get(brief.id)
        status = form.status if form else brief.status
        if person.is_patient and (form or status == ConsentStatus.DRAFT):
            continue
        is_mine = form is not None and listed_role(form, person) is not None
        rows.append(
            ConsentRow(
                brief.id,
                brief.title or _("Consent form"),
                state_word(form) if form else choice_name(status) if status else "",
                status_tone(status) if status else "neutral",
                is_mine,
                _about(form, person, is_mine=is_mine) if form else "",
            )
        )
    return sorted(rows, key=lambda row: not row.is_mine_to_sign)


def _about(form: ConsentForm, person: Person, *, is_mine: bool) -> str:
    procedure = _("Procedure on %(day)s", day=day(form.procedure_date)) if form.procedure_date else ""
    return in_a_row(filter(None, [line(form, person, is_mine=is_mine), procedure]), " · ")


@for_each_language
def _tab_names() -> list[tuple[str, str]]:
    return [
        ("overview", _("Today")),
        ("medication", _("Medicines")),
        ("monitoring", _("Monitoring")),
        ("appointments", _("Appointments")),
        ("embryos", _("Embryos")),
        ("timeline", _("Timeline")),
        ("documents", _("Documents")),
        ("consents", _("Consents")),
        ("team", _("Care team")),
    ]


_PATIENTS_TABS = ("overview", "medication", "monitoring", "appointments", "embryos")
"""What stands in a patient's row of tabs, as it fits on a phone; the first page leads to the rest."""
_COUNTED = ("documents", "consents", "embryos")
"""The parts that the first page names only if there is something in them."""


def _tabs(view: EpisodeView, current: str) -> list[Tab]:
    episode, is_patient = view.episode, view.person.is_patient
    forms = [form for form in episode.consent_forms if form.status != ConsentStatus.DRAFT or not is_patient]
    counts = {
        "appointments": 0 if is_patient else len(view.upcoming),
        "embryos": len(episode.embryos),
        "documents": len(episode.documents.files),
        "consents": len(forms),
    }
    plain = {"overview": _("Summary")} if episode.is_ended else {}
    if is_patient:
        plain["monitoring"] = _("Scans")
    return [
        Tab(
            name,
            plain.get(name, label),
            view.href if name == "overview" else url_for(f"episodes.{name}", episode_id=episode.id),
            name == current,
            counts.get(name, 0),
            is_tab=not is_patient
            or (name in _PATIENTS_TABS and (name != "embryos" or bool(episode.embryos))),
            is_always=name not in _COUNTED and not (name == "team" and episode.care_team),
        )
        for name, label in _tab_names()
        if not is_off(f"episodes.{name}")
    ]
