"""A new form while staff fill it in: where its text comes from, who may sign it, and what is still wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime, time, timedelta
from urllib.parse import unquote

import msgspec
from flask import g

from portal.config.consent_templates import Template
from portal.i18n.gettext import _
from portal.parse import LONGEST_ID, calendar_date, line
from portal.services.records.consents import (
    CLINIC_ROLES,
    Clause,
    ConsentDraft,
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signer,
    SignerRole,
    SigningOrder,
    Statement,
)
from portal.services.records.episodes import Episode
from portal.services.records.patients import Patient
from portal.state.sessions import Person
from portal.views.consents.labels import role_word
from portal.web.filters import today

_LONGEST_TITLE, _LONGEST_VERSION = 300, 32
_LONGEST_TYPED = 10_000
"""Of a field; more than it may hold, so that what is too long can be said and shown."""

LEFT_OUT = "-"
"""Chosen for a signature that this form is to go without."""


class Candidate(msgspec.Struct, frozen=True):
    """Somebody who could sign."""

    person_id: str
    name: str
    is_staff: bool


class Row(msgspec.Struct, frozen=True):
    """A signature that the form asks for, and whose it is to be: None is not chosen yet, `LEFT_OUT` nobody's."""

    role: SignerRole
    order: int
    person_id: str | None = None


class About(msgspec.Struct, frozen=True):
    """Whom a form is about, and which treatment."""

    patient_id: str
    patient_name: str
    partner_id: str | None = None
    case_id: str | None = None
    episode_id: str | None = None


class NewForm(msgspec.Struct, frozen=True, kw_only=True):
    """A new form as filled in so far; dates as they were typed (YYYY-MM-DD, or something that isn't one)."""

    title: str
    kind: str
    version: str
    order: str
    body: tuple[Clause, ...]
    statements: tuple[Statement, ...]
    rows: tuple[Row, ...]
    candidates: tuple[Candidate, ...]
    about: About
    procedure_date: str = ""
    expires_on: str = ""
    replaces_id: str | None = None
    replaces: bool = False
    known_ids: tuple[str, ...] = ()

    def posted(self, fields: Mapping[str, str]) -> NewForm:
        """The same form with what was typed now."""
        rows = tuple(
            msgspec.structs.replace(row, person_id=fields.get(f"signer-{index}") or None)
            for index, row in enumerate(self.rows)
        )
        return msgspec.structs.replace(
            self,
            title=line(fields.get("title"), longest=_LONGEST_TYPED),
            version=line(fields.get("version"), longest=_LONGEST_TYPED),
            procedure_date=line(fields.get("procedure_date"), longest=_LONGEST_TYPED),
            expires_on=line(fields.get("expires_on"), longest=_LONGEST_TYPED),
            replaces=self.replaces_id is not None and "replaces" in fields,
            rows=rows,
        )

    def candidates_for(self, row: Row) -> list[Candidate]:
        """Who could give this signature."""
        is_clinics = row.role in CLINIC_ROLES
        fitting = [c for c in self.candidates if c.is_staff == is_clinics]
        return [*fitting, *(c for c in self.candidates if row.role == SignerRole.WITNESS and not c.is_staff)]

    def faults(self) -> list[tuple[str, str]]:
        """What is wrong, as (field id, sentence) pairs in the order of the page."""
        found: list[tuple[str, str]] = []
        if not self.title or len(self.title) > _LONGEST_TITLE:
            found.append(
                ("title", _("Give the form a title of at most %(num)s characters", num=_LONGEST_TITLE))
            )
        if not self.version or len(self.version) > _LONGEST_VERSION:
            found.append(
                (
                    "version",
                    _("Give a version of at most %(num)s characters, such as 2.1", num=_LONGEST_VERSION),
                )
            )
        if self.procedure_date and calendar_date(self.procedure_date) is None:
            found.append(("procedure_date", _("Give the procedure’s date as a date, such as 2026-11-27")))
        expires = calendar_date(self.expires_on)
        if self.expires_on and expires is None:
            found.append(("expires_on", _("Give the last day for signing as a date, such as 2026-11-27")))
        elif expires and expires < today():
            found.append(("expires_on", _("The last day for signing is over already; choose a later one")))
        return [*found, *self._signer_faults()]

    def draft(self) -> ConsentDraft:
        """What is sent to the care API; only without faults."""
        last = calendar_date(self.expires_on)
        end = datetime.combine(last, time(23, 59, 59), g.tenant.time_zone) if last else None
        return ConsentDraft(
            patient_id=self.about.patient_id,
            partner_id=self.about.partner_id,
            case_id=self.about.case_id,
            episode_id=self.about.episode_id,
            title=self.title,
            kind=ConsentKind(self.kind),
            version=self.version,
            body=self.body,
            statements=self.statements,
            required_signers=self._signers(),
            signing_order=SigningOrder(self.order),
            procedure_date=calendar_date(self.procedure_date),
            supersedes_id=self.replaces_id if self.replaces else None,
            expires_at=end,
        )

    def preview(self) -> ConsentForm:
        """The form as its signers will see it."""
        draft = self.draft()
        return ConsentForm(
            id="preview",
            status=ConsentStatus.PENDING,
            title=draft.title,
            kind=draft.kind,
            version=draft.version,
            patient_name=self.about.patient_name,
            body=draft.body,
            statements=draft.statements,
            required_signers=draft.required_signers,
            signing_order=draft.signing_order,
            procedure_date=draft.procedure_date,
            expires_at=draft.expires_at,
        )

    def _signers(self) -> tuple[Signer, ...]:
        names = {candidate.person_id: candidate.name for candidate in self.candidates}
        return tuple(
            Signer(role=row.role, person_id=row.person_id, name=names[row.person_id], order=row.order)
            for row in self.rows
            if row.person_id and row.person_id != LEFT_OUT
        )

    def _signer_faults(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        taken: set[str] = set()
        for index, row in enumerate(self.rows):
            if row.person_id == LEFT_OUT:
                continue
            if row.person_id is None:
                found.append(
                    (
                        f"signer-{index}",
                        _("Choose who signs as %(role)s, or leave it out", role=role_word(row.role)),
                    )
                )
            elif row.person_id not in {candidate.person_id for candidate in self.candidates_for(row)}:
                found.append((f"signer-{index}", _("Choose one of the people listed")))
            elif row.person_id in taken:
                found.append((f"signer-{index}", _("This person signs already; each person signs once")))
            taken.add(row.person_id or "")
        if not taken and self.rows:
            found.append(("signer-0", _("Choose at least one person who signs")))
        return found


def from_template(
    template: Template, episode: Episode, person: Person, forms: Iterable[ConsentForm]
) -> NewForm:
    """A form of a template, for the people of an episode."""
    candidates = _candidates(person, forms, [episode.patient, episode.partner])
    days = template.expires_after_days
    return NewForm(
        title=template.title,
        kind=template.kind,
        version=template.version,
        order=template.order,
        body=tuple(
            Clause(id=f"clause-{number}", heading=clause.heading, text=clause.text, summary=clause.summary)
            for number, clause in enumerate(template.clauses, start=1)
        ),
        statements=tuple(
            Statement(id=f"statement-{number}", text=text)
            for number, text in enumerate(template.statements, start=1)
        ),
        rows=_rows((SignerRole(role) for role in template.signers), episode),
        candidates=candidates,
        expires_on=(today() + timedelta(days=days)).isoformat() if days else "",
        about=_about(episode),
    )


def from_form(
    form: ConsentForm, episode: Episode | None, person: Person, forms: Iterable[ConsentForm]
) -> NewForm:
    """A copy of a form: for the same patient and signers or, where an episode is given, for its people."""
    signers = sorted(form.required_signers, key=lambda signer: signer.order)
    named = [
        Candidate(s.person_id, s.name, is_staff=False)
        for s in signers
        if s.person_id and s.role not in CLINIC_ROLES
    ]
    rows = tuple(Row(s.role, s.order, s.person_id) for s in signers)
    if episode:
        rows = tuple(
            kept if kept.role in CLINIC_ROLES else usual
            for kept, usual in zip(rows, _rows([s.role for s in signers], episode), strict=True)
        )
    people = _candidates(person, [form, *forms], [episode.patient, episode.partner] if episode else [])
    about = _about(episode) if episode else _about_form(form)
    return NewForm(
        title=form.title,
        kind=str(form.kind or ""),
        version=form.version,
        order=str(form.signing_order),
        body=form.body or (),
        statements=form.statements or (),
        rows=rows,
        candidates=people if episode else (*named, *people),
        procedure_date=form.procedure_date.isoformat() if form.procedure_date and not episode else "",
        replaces_id=form.id if not form.is_ended and about.patient_id == form.patient_id else None,
        about=about,
    )


def episode_id_of(text: str) -> str | None:
    """The id in what someone pasted: an id, or a link to an episode's page; None when it is neither."""
    path = re.split(r"[?#]", text.strip())[0]
    found = re.search(r"/episodes/([^/]+)", path) or re.fullmatch(r"([^/\s]{1,128})", path)
    id_ = unquote(found[1])[:LONGEST_ID] if found else ""
    return id_ if id_.isprintable() and id_.strip(".") else None


def _about(episode: Episode) -> About:
    partner, case = episode.partner, episode.case
    return About(
        episode.patient.id,
        episode.patient.full_name,
        partner.id if partner else None,
        case.id if case else None,
        episode.id,
    )


def _about_form(form: ConsentForm) -> About:
    return About(form.patient_id or "", form.patient_name, form.partner_id, form.case_id, form.episode_id)


def _rows(roles: Iterable[SignerRole], episode: Episode) -> tuple[Row, ...]:
    partner = _sub(episode.partner) if episode.partner else LEFT_OUT
    usual = {SignerRole.PATIENT: _sub(episode.patient), SignerRole.PARTNER: partner}
    return tuple(Row(role, order, usual.get(role)) for order, role in enumerate(roles, start=1))


def _candidates(
    person: Person, forms: Iterable[ConsentForm], patients: Iterable[Patient | None]
) -> tuple[Candidate, ...]:
    """The people of the episode, the person who makes the form, and who has signed for the clinic before."""
    found = {_sub(p): Candidate(_sub(p), p.full_name, is_staff=False) for p in patients if p}
    found[person.sub] = Candidate(person.sub, person.name, is_staff=True)
    for form in forms:
        for signer in form.required_signers:
            if signer.role in CLINIC_ROLES and signer.person_id:
                found.setdefault(signer.person_id, Candidate(signer.person_id, signer.name, is_staff=True))
    return tuple(found.values())


def _sub(patient: Patient) -> str:
    return patient.user_id or patient.id
