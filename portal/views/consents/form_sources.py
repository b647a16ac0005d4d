"""What a new form is made from: a template or another form, and the treatment that it is for."""

from __future__ import annotations

from urllib.parse import urlencode

from flask import Response, g, request, url_for
from msgspec import field

from portal.config.consent_templates import Check, Templates, load
from portal.context import context
from portal.i18n.gettext import _
from portal.parse import line, record_id
from portal.services import decoding, errors
from portal.services.consents import all_consents, list_consents
from portal.services.consents.forms import ConsentForm, ConsentKind
from portal.services.episodes import Episode, get_episode
from portal.services.errors import CareError
from portal.services.gather import attempt, gather, known
from portal.services.listed import Listed
from portal.values import Value
from portal.views.consents import lawful
from portal.views.consents.signers import (
    NamedPartner,
    Parties,
    named_partners,
    parties_of_episode,
    parties_of_patient,
)
from portal.views.consents.template_states import TemplateState, states_of
from portal.views.episodes.lookup import episode_id_of
from portal.web.handlers import Care, Page, audit, render, wants
from portal.web.listing import Chip

_COPIES = 8
_LONGEST_TEXT, LONGEST_EPISODE = 200, 300


class Subject(Value, frozen=True):
    """Whose new forms will be, `episode` their treatment if one is known; `forms` are what the patient has.

    `partners` sign only if staff choose so.
    """

    about: Parties
    episode: Episode | None
    forms: Listed[ConsentForm] | CareError
    partners: tuple[NamedPartner, ...]


class SourcesPage(Page, template="consents/new.html", about="about"):
    """The choice of a template or a form to copy; `found` are forms to copy, `whose` names in addresses whose the new ones will be.

    `unlawful` says why templates can't be used, by their names; `refused` is the one of them that was chosen.
    Where it is known whose they will be, `about`, several can be chosen at once: `states` is what the patient has of each, by
    the templates' names; None if the patient's forms couldn't be read. `partner_chips` say who can be chosen to sign too.
    `subject_fault` says why it isn't known whose they will be although a treatment or patient was named; trying again may
    help if `is_passing`.
    """

    templates: Templates
    found: decoding.PagedResult[ConsentForm] | errors.CareError
    text: str
    whose: dict[str, str]
    unlawful: dict[str, str]
    refused: str | None
    about: Parties | None = None
    partner_chips: list[Chip] = field(default_factory=list[Chip])
    states: dict[str, list[TemplateState]] | None = None
    fault: str = ""
    subject_fault: str = ""
    is_passing: bool = False


class EpisodePage(Page, template="consents/new_episode.html"):
    """Asks for the episode; `chosen` is the template or form chosen, as in the query."""

    typed: str
    error: str | None
    chosen: dict[str, str]


def episode_at(care: Care, typed: str) -> Episode | str:
    """The episode for an id or link, or the reason why it can't be read."""
    id_ = episode_id_of(typed)
    try:
        return get_episode(care, id_) if id_ else _not_an_episode()
    except errors.NotFound:
        audit.note(request.endpoint or "-", "NotFound", kind="episode", id_=id_)
        return _no_treatment()
    except errors.NotOffered:
        return _kept_elsewhere()


def _not_an_episode() -> str:
    return _("Paste the treatment’s id, or the address of its page")


def _no_treatment() -> str:
    return _("There is no treatment with this id at your clinic")


def _kept_elsewhere() -> str:
    return _("This treatment is kept in another system, so no form can be made for it here")


def episode_of(care: Care, form: ConsentForm | None) -> Episode | None:
    """The episode of the form to be copied; None if it has none or it can't be read."""
    if form is None or form.episode_id is None:
        return None
    try:
        return get_episode(care, form.episode_id)
    except (errors.NotFound, errors.NotOffered):
        return None


def subject_at(
    care: Care, episode_id: str | None, patient_id: str | None, partner_id: str | None
) -> Subject | None:
    """Read whose forms are made: the people of a treatment, or a patient without one; None if neither is named.

    Of a patient without one, a partner is among them if chosen (`partner_id`).

    Raises NotFound if there is no such treatment, and of a patient without one if there is no form.
    """
    if episode_id:
        episode = get_episode(care, episode_id)
        return Subject(
            parties_of_episode(episode), episode, attempt(lambda: _forms_of(care, episode.patient.id)), ()
        )
    if patient_id:
        found = _forms_of(care, patient_id)
        about = parties_of_patient(patient_id, found, partner_id)
        return Subject(about, None, found, named_partners(form for form in found if form.patient_id))
    return None


def _forms_of(care: Care, patient_id: str) -> Listed[ConsentForm]:
    """The patient's forms, none of another from an API that gives them too."""
    return all_consents(care, patient_id=patient_id).where(lambda form: form.patient_id in (None, patient_id))


def sources_page(care: Care, *, refused: str | None = None) -> Response:
    text = line(request.args.get("q"), longest=_LONGEST_TEXT)
    typed = line(request.args.get("episode"), longest=LONGEST_EPISODE)
    patient_id, partner_id = record_id(request.args.get("patient")), record_id(request.args.get("partner"))
    found, subject = gather(
        lambda: list_consents(care, limit=_COPIES, text=text or None),
        lambda: (
            None
            if wants("copies")
            else subject_at(care, episode_id_of(typed) if typed else None, patient_id, partner_id)
        ),
    )
    read = known(subject)
    asked = {"episode": typed} if typed else {"patient": patient_id} if patient_id else {}
    asked |= {"partner": partner_id} if partner_id else {}
    whose = read.about.query if read else asked
    return show_sources(
        found,
        read,
        whose,
        text=text,
        refused=refused,
        subject_fault=_subject_fault(subject, typed),
        is_passing=isinstance(subject, errors.Unavailable | errors.BadResponse),
    )


def _subject_fault(subject: Subject | CareError | None, typed: str) -> str:
    match subject:
        case errors.NotFound():
            return (
                _no_treatment()
                if typed
                else _("No form of this patient is known, and nothing else names them.")
            )
        case errors.NotOffered():
            return _kept_elsewhere()
        case CareError():
            return _("The treatment or patient can’t be read right now.")
        case _:
            return _not_an_episode() if typed and not episode_id_of(typed) else ""


def show_sources(
    found: decoding.PagedResult[ConsentForm] | CareError,
    subject: Subject | None,
    whose: dict[str, str],
    *,
    text: str = "",
    refused: str | None = None,
    fault: str = "",
    subject_fault: str = "",
    is_passing: bool = False,
) -> Response:
    """Show the templates, with what the patient has of each, and forms to copy."""
    templates, forms = templates_in_use(), subject.forms if subject else None
    page = SourcesPage(
        templates=templates,
        found=found,
        text=text,
        whose=whose,
        unlawful=lawful.template_faults(templates),
        refused=refused,
        about=subject.about if subject else None,
        partner_chips=_partner_chips(subject) if subject and subject.partners else [],
        states=states_of(templates, forms, subject.about) if subject and isinstance(forms, Listed) else None,
        fault=fault,
        subject_fault=subject_fault,
        is_passing=is_passing,
    )
    return render(page, fragment="copies", status=422 if refused or fault else 200)


def _partner_chips(subject: Subject) -> list[Chip]:
    """Who may sign besides the patient: nobody, unless a partner is chosen who isn't proposed."""
    about = subject.about
    alone = {name: id_ for name, id_ in about.query.items() if name != "partner"}
    address = f"{url_for('consents.create.choose')}?{urlencode(alone)}"
    chips = [Chip(_("Nobody else"), address, about.partner_id is None)]
    for named in subject.partners:
        words = _("%(name)s, as in “%(form)s”", name=named.name, form=named.title)
        href = f"{address}&{urlencode({'partner': named.id})}"
        chips.append(Chip(words, href, named.id == about.partner_id))
    return chips


def ask_episode(typed: str, *, error: str | None = None) -> Response:
    chosen = {name: request.args[name] for name in ("template", "copy") if name in request.args}
    return render(EpisodePage(typed=typed, error=error, chosen=chosen), status=422 if error else 200)


def address_to_create(kind: ConsentKind, episode_id: str, embryo_id: str) -> str:
    """Return where a form of this kind is begun for an episode: with its template, if the clinic has one alone, and the embryo chosen."""
    fit = [
        name
        for name, template in templates_in_use().by_name.items()
        if ConsentKind(template.kind) == kind and name not in lawful.template_faults(templates_in_use())
    ]
    template = fit[0] if len(fit) == 1 else None
    embryo = embryo_id if template else None
    return url_for("consents.create.choose", episode=episode_id, template=template, embryo=embryo)


def templates_in_use() -> Templates:
    return load(context().settings.consent_templates, g.tenant.country)


def check_question(text: str) -> Check | None:
    """Return the question that the clinic's templates ask about a clause with this text."""
    return templates_in_use().check_of(text)
