"""What a new form is made from: a template or another form, and the treatment that it is for."""

from __future__ import annotations

from flask import Response, g, request, url_for

from portal.config.consent_templates import Check, Templates, load
from portal.context import context
from portal.i18n.gettext import _
from portal.parse import line
from portal.services import decoding, errors
from portal.services.client import Care
from portal.services.consents import (
    all_consents,
    list_consents,
)
from portal.services.consents.forms import ConsentForm, ConsentKind
from portal.services.episodes import Episode, get_episode
from portal.services.errors import CareError
from portal.services.gather import attempt, gather, known
from portal.services.listed import Listed
from portal.views.consents import lawful
from portal.views.consents.template_states import TemplateState, states_of
from portal.views.episodes.lookup import episode_id_of
from portal.web import audit
from portal.web.htmx import render, wants
from portal.web.pages import Page

_COPIES = 8


_LONGEST_TEXT, LONGEST_EPISODE = 200, 300


class SourcesPage(Page, template="consents/new.html", about="about"):
    """The choice of a template or a form to copy; `found` are forms to copy.

    `unlawful` says why templates can't be used, by their names; `refused` is the one of them that was chosen. With an
    `episode`, several can be chosen at once: `about` says whose they will be, `states` what the patient has of each, by the
    templates' names; None if the patient's forms couldn't be read.
    """

    templates: Templates
    found: decoding.PagedResult[ConsentForm] | errors.CareError
    text: str
    episode: str
    unlawful: dict[str, str]
    refused: str | None
    about: Episode | None = None
    states: dict[str, TemplateState] | None = None
    fault: str = ""


class EpisodePage(Page, template="consents/new_episode.html"):
    """Asks for the episode; `chosen` is the template or form chosen, as in the query."""

    typed: str
    error: str | None
    chosen: dict[str, str]


def episode_at(care: Care, typed: str) -> Episode | str:
    """The episode for an id or link, or the reason why it can't be read."""
    id_ = episode_id_of(typed)
    try:
        return get_episode(care, id_) if id_ else _("Paste the treatment’s id, or the address of its page")
    except errors.NotFound:
        audit.note(request.endpoint or "-", "NotFound", kind="episode", id_=id_)
        return _("There is no treatment with this id at your clinic")
    except errors.NotOffered:
        return _("This treatment is kept in another system, so no form can be made for it here")


def episode_of(care: Care, form: ConsentForm | None) -> Episode | None:
    """The episode of the form to be copied; None if it has none or it can't be read."""
    if form is None or form.episode_id is None:
        return None
    try:
        return get_episode(care, form.episode_id)
    except (errors.NotFound, errors.NotOffered):
        return None


def sources_page(care: Care, *, refused: str | None = None) -> Response:
    text = line(request.args.get("q"), longest=_LONGEST_TEXT)
    typed = line(request.args.get("episode"), longest=LONGEST_EPISODE)
    id_ = episode_id_of(typed) if typed and not wants("copies") else None
    found, episode = gather(
        lambda: list_consents(care, limit=_COPIES, text=text or None),
        lambda: get_episode(care, id_) if id_ else None,
    )
    return show_sources(care, found, known(episode), text=text, typed=typed, refused=refused)


def show_sources(
    care: Care,
    found: decoding.PagedResult[ConsentForm] | CareError,
    about: Episode | None,
    *,
    text: str = "",
    typed: str = "",
    refused: str | None = None,
    fault: str = "",
) -> Response:
    """Show the templates, with what the patient of a treatment has of each, and forms to copy."""
    templates = templates_in_use()
    forms = attempt(lambda: all_consents(care, patient_id=about.patient.id)) if about else None
    page = SourcesPage(
        templates=templates,
        found=found,
        text=text,
        episode=typed,
        unlawful=lawful.template_faults(templates),
        refused=refused,
        about=about,
        states=states_of(templates, forms) if isinstance(forms, Listed) else None,
        fault=fault,
    )
    return render(page, fragment="copies", status=422 if refused or fault else 200)


def ask_episode(typed: str, *, error: str | None = None) -> Response:
    chosen = {name: request.args[name] for name in ("template", "copy") if name in request.args}
    return render(EpisodePage(typed=typed, error=error, chosen=chosen), status=422 if error else 200)


def address_to_create(kind: ConsentKind, episode_id: str) -> str:
    """Return where a form of this kind is begun for an episode: with its template, if the clinic has one alone."""
    fit = [
        name
        for name, template in templates_in_use().by_name.items()
        if ConsentKind(template.kind) == kind and name not in lawful.template_faults(templates_in_use())
    ]
    return url_for("consents.create.choose", episode=episode_id, template=fit[0] if len(fit) == 1 else None)


def templates_in_use() -> Templates:
    """Return the templates that this clinic can use."""
    return load(context().settings.consent_templates, g.tenant.country)


def check_question(text: str) -> Check | None:
    """Return the question that the clinic's templates ask about a clause with this text."""
    return templates_in_use().check_of(text)
