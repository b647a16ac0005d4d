"""Drafts of forms: from a template, or as a copy of another form."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta

from flask import g

from portal.config.consent_templates import Template
from portal.config.visits import folded_kind
from portal.folding import folded
from portal.services.consents.forms import (
    CLINIC_ROLES,
    NAMING_KINDS,
    Clause,
    ConsentForm,
    ConsentKind,
    Signer,
    SignerRole,
    Statement,
)
from portal.services.episodes import Episode
from portal.services.rules.ending import is_carried_out
from portal.services.rules.signing import same_name
from portal.state.session_records import Person
from portal.views.consents.new_form import Earlier, Embryo, NewForm
from portal.views.consents.signers import (
    Parties,
    candidates,
    parties_of_form,
    rows_as_before,
    rows_for,
    with_usual_signers,
)
from portal.views.embryo_view import told_alone, told_apart
from portal.web.filters import today
from portal.web.labels import EGG_COLLECTIONS
from portal.web.visit_times import place_day

PATIENT_PLACE, PARTNER_PLACE = "{patient}", "{partner}"
"""Where a template's text has their names."""
_PROCEDURES = (
    *EGG_COLLECTIONS,
    *("embryotransfer", "fet", "transferenciadeembri", "transferenciaembri", "نقلالأجنة", "ترجيعالأجنة"),
    *("inseminat", "iui", "inseminaci", "تلقيحاصطناعي", "biops", "thaw", "warming", "descongela"),
)
"""What appointments that need consent are called, or have in their name unless it is an abbreviation, in small letters alone.

A collection or a transfer may be of anything.
"""
_LONGEST_ABBREVIATION = 3


def from_template(
    template: Template, about: Parties, episode: Episode | None, person: Person, forms: Iterable[ConsentForm]
) -> NewForm:
    """A draft from a template, for the people of an episode, or a patient for whom none is known."""
    kind = ConsentKind(template.kind)
    signers = [Signer(role=SignerRole(role), order=order) for order, role in enumerate(template.signers, 1)]
    days = template.expires_after_days
    forms = tuple(forms)
    people = candidates(person, episode, _couple(about), forms, (about.patient_id, about.partner_id))
    return NewForm(
        title=template.title,
        kind=str(kind),
        version=template.version,
        language=template.language or str(g.tenant.languages[0]),
        order=template.order,
        body=tuple(
            Clause(
                id=f"clause-{number}",
                heading=clause.heading,
                text=filled_in(clause.text, about),
                summary=clause.summary and filled_in(clause.summary, about),
            )
            for number, clause in enumerate(template.clauses, start=1)
        ),
        statements=tuple(
            Statement(id=f"statement-{number}", text=filled_in(text, about))
            for number, text in enumerate(template.statements, start=1)
        ),
        rows=with_usual_signers(rows_for(kind, signers, about), people, forms),
        candidates=people,
        embryos=_embryos(kind, episode, about.patient_id) if episode else (),
        gone=_gone(episode),
        procedure_date=_next_procedure(episode) if episode else "",
        expires_on=(today() + timedelta(days=days)).isoformat() if days else "",
        about=about,
    )


def _couple(about: Parties) -> list[Signer]:
    named = (
        (SignerRole.PATIENT, about.patient, about.patient_name),
        (SignerRole.PARTNER, about.partner, about.partner_name),
    )
    return [Signer(role=role, person_id=id_, name=name) for role, id_, name in named if id_]


def filled_in(text: str, about: Parties) -> str:
    """A template's text with the names of the patient and the partner; where one isn't known, its place stays."""
    for place, name in ((PATIENT_PLACE, about.patient_name), (PARTNER_PLACE, about.partner_name)):
        text = text.replace(place, name or place)
    return text


def from_form(
    form: ConsentForm,
    about: Parties | None,
    episode: Episode | None,
    person: Person,
    forms: Iterable[ConsentForm],
) -> NewForm:
    """A draft that copies a form, for other people and their episode if one is known; without them, for the original's."""
    kind = ConsentKind(str(form.kind or ""))
    signers = sorted(form.required_signers, key=lambda signer: signer.order)
    rows = rows_for(kind, signers, about) if about else rows_as_before(form)
    named = _couple(about) if about else signers
    about = about or parties_of_form(form)
    is_same = about.patient_id == form.patient_id
    embryos = _embryos(kind, episode, about.patient_id) if episode else ()
    there = {embryo.id for embryo in embryos}
    upcoming = form.procedure_date and form.procedure_date >= today() and is_same
    return NewForm(
        title=form.title,
        kind=str(kind),
        version=form.version,
        language=form.language,
        order=str(form.signing_order),
        body=form.body or (),
        statements=form.statements or (),
        rows=rows,
        candidates=candidates(person, episode, named, (form, *forms), (about.patient_id, about.partner_id)),
        embryos=embryos,
        embryo_ids=tuple(id_ for id_ in form.embryo_storage_ids or () if id_ in there),
        gone=_gone(episode),
        disposition=str(form.disposition or "") if is_same else "",
        procedure_date=form.procedure_date.isoformat() if form.procedure_date and upcoming else "",
        earlier=Earlier.of(form) if is_same and _is_replaceable(form, episode) else None,
        about=about,
    )


def words_of(form: ConsentForm | NewForm) -> str:
    """Return all that a form says: its title, clauses and statements."""
    clauses = (
        part for clause in form.body or () for part in (clause.heading, clause.text, clause.summary or "")
    )
    return "\n".join((form.title, *clauses, *(statement.text for statement in form.statements or ())))


def names_of_others(form: ConsentForm, about: Parties) -> list[str]:
    """Return the names in a form's text, as a template filled them in, of its people whom a copy for `about` isn't about."""
    people = (signer.name for signer in form.required_signers if signer.role not in CLINIC_ROLES)
    text = _words(words_of(form))
    return [
        name
        for name in dict.fromkeys((form.patient_name, *people))
        if name
        and not any(same_name(name, own) for own in (about.patient_name, about.partner_name))
        and _has_name(text, _words(name))
    ]


def _words(text: str) -> list[str]:
    """The words of a text in small letters without accents, as `same_name` compares them."""
    return re.findall(r"\w+", folded(text))


def _has_name(text: list[str], name: list[str]) -> bool:
    """Whether the words of a name follow each other in a text, in their order or with the last name first."""
    orders = (name, [*name[-1:], *name[:-1]])
    ends = range(len(name), len(text) + 1)
    return bool(name) and any(text[end - len(name) : end] in orders for end in ends)


def _is_replaceable(form: ConsentForm, episode: Episode | None) -> bool:
    return not form.is_ended and not is_carried_out(form, episode)


def _next_procedure(episode: Episode) -> str:
    """The date of the next procedure among the appointments, as YYYY-MM-DD; empty if there is none."""
    days = [
        place_day(visit)
        for visit in episode.appointments
        if not visit.is_cancelled and _is_procedure(folded_kind(visit.kind))
    ]
    first = min((day for day in days if day >= today()), default=None)
    return first.isoformat() if first else ""


def _is_procedure(kind: str) -> bool:
    return any(kind == name or (len(name) > _LONGEST_ABBREVIATION and name in kind) for name in _PROCEDURES)


def _embryos(kind: ConsentKind, episode: Episode, patient_id: str) -> tuple[Embryo, ...]:
    """The embryos of a form's patient that one of this kind can name: those still at the clinic."""
    if kind not in NAMING_KINDS:
        return ()
    views = told_apart((embryo, episode) for embryo in episode.embryos)
    return tuple(
        Embryo(view.embryo.id, told_alone(view).code, view.embryo.consent_form_id)
        for view in views
        if not view.embryo.is_terminal and view.owner and view.owner.id == patient_id
    )


def _gone(episode: Episode | None) -> tuple[str, ...]:
    return tuple(embryo.id for embryo in episode.embryos if embryo.is_terminal) if episode else ()
