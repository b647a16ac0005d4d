"""The draft of a new form: its text, its signers, and validation."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, time, timedelta
from urllib.parse import unquote

import msgspec
from flask import g
from werkzeug.datastructures import MultiDict

from portal.config.consent_templates import Template
from portal.i18n.gettext import _
from portal.parse import LONGEST_ID, calendar_date, line
from portal.services.consents.forms import (
    CLINIC_ROLES,
    COUPLE_KINDS,
    EMBRYO_KINDS,
    ONE_PERSON_KINDS,
    PATIENT_ROLES,
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
from portal.services.episodes import Episode
from portal.services.patient_ref import PatientRef
from portal.services.rules.ending import is_carried_out
from portal.services.rules.signing import missing_party
from portal.services.storage import Disposition
from portal.state.session_records import Person
from portal.views.consents.labels import names_of, role_word, text_gap_words
from portal.views.consents.people import (
    LEFT_OUT,
    About,
    Candidate,
    Row,
    about_episode,
    about_form,
    candidates,
    rows_as_before,
    rows_for,
    with_usual_signers,
)
from portal.web.filters import today
from portal.web.labels import with_record
from portal.web.refusals import refusal_message
from portal.web.visit_times import place_day

_LONGEST_TITLE, _LONGEST_VERSION = 300, 32
_DECISIONS: Mapping[ConsentKind, tuple[Disposition, ...]] = {
    ConsentKind.DISPOSITION: tuple(d for d in Disposition if d != Disposition.UNDECIDED),
    ConsentKind.DONATION: (Disposition.DONATE_RESEARCH, Disposition.DONATE_PATIENT),
}
_PROCEDURE = re.compile("retrieval|collection|transfer|insemination|biopsy|thaw|warm", re.IGNORECASE)
"""Recognizes appointments that need consent, by their name."""
_LONGEST_TYPED = 10_000
"""The limit on a field's input: more than it may hold, so that text that is too long can be shown again."""


class Embryo(msgspec.Struct, frozen=True):
    """An embryo that the form may name."""

    id: str
    code: str


class Earlier(msgspec.Struct, frozen=True):
    """A form that the new one can replace."""

    id: str
    title: str
    status: ConsentStatus
    signers: tuple[Signer, ...] = ()
    embryo_ids: tuple[str, ...] = ()

    @classmethod
    def of(cls, form: ConsentForm) -> Earlier:
        """From a form in a list."""
        return cls(form.id, form.title, form.status, form.required_signers, form.embryo_storage_ids or ())

    @property
    def is_signed(self) -> bool:
        """Whether everyone has signed it."""
        return self.status == ConsentStatus.SIGNED

    def signers_without(self, signing: Iterable[Signer]) -> list[Signer]:
        """Its signers who aren't among `signing`; for the clinic, anybody may sign in the same role."""
        signing = tuple(signing)
        people, roles = {one.person_id for one in signing}, {one.role for one in signing}
        return [
            one
            for one in self.signers
            if (one.role not in roles if one.role in CLINIC_ROLES else one.person_id not in people)
        ]


class NewForm(msgspec.Struct, frozen=True, kw_only=True):
    """A new form as filled in so far; dates as typed (YYYY-MM-DD, or invalid)."""

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
    embryos: tuple[Embryo, ...] = ()
    embryo_ids: tuple[str, ...] = ()
    disposition: str = ""
    earlier: Earlier | None = None
    replaces: bool = False
    known_ids: tuple[str, ...] = ()
    language: str | None = None
    is_donated: bool = False

    @property
    def patient_ref(self) -> PatientRef:
        """The patient whom it is about."""
        return PatientRef(self.about.patient_id, self.about.patient_name, self.about.episode_id)

    @property
    def typed_for(self) -> str:
        """What tells it from a form for another patient or treatment, or with another text."""
        fixed = msgspec.json.encode((self.about.patient_id, self.about.episode_id, self.kind, self.body))
        return hashlib.sha256(fixed).hexdigest()

    def posted(self, fields: MultiDict[str, str]) -> NewForm:
        """A copy with the submitted values; fixed values can't be changed."""
        rows = tuple(
            row
            if row.is_fixed
            else msgspec.structs.replace(row, person_id=fields.get(f"signer-{index}") or None)
            for index, row in enumerate(self.rows)
        )
        chosen = fields.getlist("embryo")
        return msgspec.structs.replace(
            self,
            title=line(fields.get("title"), longest=_LONGEST_TYPED),
            version=line(fields.get("version"), longest=_LONGEST_TYPED),
            procedure_date=line(fields.get("procedure_date"), longest=_LONGEST_TYPED),
            expires_on=line(fields.get("expires_on"), longest=_LONGEST_TYPED),
            embryo_ids=tuple(embryo.id for embryo in self.embryos if embryo.id in chosen),
            disposition=fields.get("disposition", "") if self.decisions else "",
            replaces=self.earlier is not None and fields.get("replaces") == self.earlier.id,
            is_donated="donated" in fields,
            rows=rows,
        )

    def beside(self, other: ConsentForm) -> NewForm:
        """A copy that replaces `other`."""
        return msgspec.structs.replace(self, earlier=Earlier.of(other), replaces=False)

    @property
    def is_sequential(self) -> bool:
        """Whether its signers will sign in sequence."""
        return self.order == SigningOrder.SEQUENTIAL

    @property
    def decisions(self) -> tuple[Disposition, ...]:
        """The dispositions that a form of its kind can decide."""
        return _DECISIONS.get(ConsentKind(self.kind), ())

    def candidates_for(self, row: Row) -> list[Candidate]:
        """The candidates for a signature: staff for the clinic's roles, otherwise people not fixed in another row."""
        taken = {fixed.person_id for fixed in self.rows if fixed.is_fixed and fixed != row}
        is_clinics = row.role in CLINIC_ROLES
        return [c for c in self.candidates if c.is_staff == is_clinics and c.person_id not in taken]

    def name_of(self, row: Row) -> str:
        """The name of the person chosen for a signature; empty if nobody is chosen."""
        return next((c.name for c in self.candidates if c.person_id == row.person_id), "")

    def without_account(self) -> tuple[Signer, ...]:
        """The signers who don't have an account yet."""
        waiting = {c.person_id for c in self.candidates if not c.has_account}
        return tuple(signer for signer in self._signers() if signer.person_id in waiting)

    def faults(self) -> list[tuple[str, str]]:
        """The errors as (field id, sentence) pairs, in the order of the page."""
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
        elif (planned := calendar_date(self.procedure_date)) and planned < today():
            found.append(("procedure_date", _("The procedure’s date is over already; choose a later one")))
        expires = calendar_date(self.expires_on)
        if self.expires_on and expires is None:
            found.append(("expires_on", _("Give the last day for signing as a date, such as 2026-11-27")))
        elif expires and expires < today():
            found.append(("expires_on", _("The last day for signing is over already; choose a later one")))
        if self.disposition and self.disposition not in self.decisions:
            found.append(("disposition", _("Choose one of the decisions listed")))
        elif self.decisions and self.embryo_ids and not self.disposition:
            found.append(("disposition", _("Choose what is decided about these embryos")))
        if signer_faults := self._signer_faults():
            return [*found, *signer_faults]
        if self.earlier and self.replaces and (missing := self.earlier.signers_without(self._signers())):
            names = names_of(tuple(missing))
            found.append(
                ("replaces", _("To replace it, this form needs the signature of %(names)s too", names=names))
            )
        gap = self.preview().text_gap if not found else None
        return [("title", text_gap_words(gap))] if gap else found

    def draft(self) -> ConsentDraft:
        """The form as sent to the care API; call only if there are no errors."""
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
            language=self.language or msgspec.UNSET,
            body=self.body,
            statements=self.statements,
            required_signers=self._signers(),
            signing_order=SigningOrder(self.order),
            procedure_date=calendar_date(self.procedure_date),
            embryo_storage_ids=self.embryo_ids or msgspec.UNSET,
            disposition=Disposition(self.disposition) if self.disposition else msgspec.UNSET,
            supersedes_id=self.earlier.id if self.earlier and self.replaces else None,
            expires_at=end,
        )

    def left_out(self) -> list[str]:
        """The codes of the embryos that only the replaced form names, which go on hold."""
        earlier = self.earlier.embryo_ids if self.earlier and self.replaces else ()
        return [one.code for one in self.embryos if one.id in earlier and one.id not in self.embryo_ids]

    def preview(self) -> ConsentForm:
        """The form as a record, for the preview."""
        draft = self.draft()
        return ConsentForm(
            id="preview",
            status=ConsentStatus.PENDING,
            title=draft.title,
            kind=draft.kind,
            version=draft.version,
            language=self.language,
            patient_id=draft.patient_id,
            partner_id=draft.partner_id,
            episode_id=draft.episode_id,
            patient_name=self.about.patient_name,
            embryo_storage_ids=self.embryo_ids or None,
            disposition=draft.disposition or None,
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
            if row.person_id in names
        )

    def _signer_faults(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        taken = {row.person_id for row in self.rows if row.is_fixed}
        for index, row in enumerate(self.rows):
            if row.is_fixed or row.person_id == LEFT_OUT:
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
            taken.add(row.person_id)
        return found or self._party_faults()

    def _party_faults(self) -> list[tuple[str, str]]:
        """Errors about required signatures without a signer."""
        first = next((index for index, row in enumerate(self.rows) if not row.is_fixed), 0)
        if ConsentKind(self.kind) in ONE_PERSON_KINDS:
            return [(f"signer-{first}", words)] if (words := self._own_fault()) else []
        missing = missing_party(self.preview())
        signing = {(signer.role, signer.person_id) for signer in self._signers()}
        if self.about.patient and not any((r, self.about.patient) in signing for r in PATIENT_ROLES):
            missing = "PatientMustSign"
        elif (
            self.about.partner
            and ConsentKind(self.kind) in COUPLE_KINDS
            and not any(id_ == self.about.partner and role not in CLINIC_ROLES for role, id_ in signing)
        ):
            missing = "PartnerMustSign"
        return [(f"signer-{first}", refusal_message(missing))] if missing else []

    def _own_fault(self) -> str:
        """Why a form of which each of the two has their own isn't one person's; empty if it is."""
        people = [signer.person_id for signer in self._signers() if signer.role not in CLINIC_ROLES]
        if len(people) > 1:
            return refusal_message("OnePersonEach")
        couple = {self.about.patient, self.about.partner} - {None}
        if not people or (couple and people[0] not in couple):
            return _("Choose whose form this is: the patient’s or the partner’s.")
        return ""


def from_template(
    template: Template, episode: Episode, person: Person, forms: Iterable[ConsentForm]
) -> NewForm:
    """A draft from a template, for the people of an episode."""
    kind, about = ConsentKind(template.kind), about_episode(episode)
    signers = [Signer(role=SignerRole(role), order=order) for order, role in enumerate(template.signers, 1)]
    days = template.expires_after_days
    forms = tuple(forms)
    people = candidates(person, episode, (), forms)
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
        embryos=_embryos(kind, episode),
        procedure_date=_next_procedure(episode),
        expires_on=(today() + timedelta(days=days)).isoformat() if days else "",
        about=about,
    )


def filled_in(text: str, about: About) -> str:
    """A template's text with the names of the patient and the partner."""
    return text.replace("{patient}", about.patient_name).replace("{partner}", about.partner_name)


def from_form(
    form: ConsentForm, episode: Episode | None, person: Person, forms: Iterable[ConsentForm]
) -> NewForm:
    """A draft that copies a form, for the people of an episode; without one, for the original's people."""
    kind = ConsentKind(str(form.kind or ""))
    signers = sorted(form.required_signers, key=lambda signer: signer.order)
    about = about_episode(episode) if episode else about_form(form)
    is_same = about.patient_id == form.patient_id
    embryos = _embryos(kind, episode) if episode else ()
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
        rows=rows_for(kind, signers, about) if episode else rows_as_before(form),
        candidates=candidates(person, episode, signers, (form, *forms)),
        embryos=embryos,
        embryo_ids=tuple(id_ for id_ in form.embryo_storage_ids or () if id_ in there),
        disposition=str(form.disposition or "") if is_same else "",
        procedure_date=form.procedure_date.isoformat() if form.procedure_date and upcoming else "",
        earlier=Earlier.of(form) if is_same and _is_replaceable(form, episode) else None,
        about=about,
    )


def _is_replaceable(form: ConsentForm, episode: Episode | None) -> bool:
    return not form.is_ended and not is_carried_out(form, episode)


def episode_id_of(text: str) -> str | None:
    """The episode id from a pasted id or link; None if it is neither."""
    path = re.split(r"[?#]", text.strip())[0]
    found = re.search(r"/episodes/([^/]+)", path) or re.fullmatch(r"([^/\s]{1,128})", path)
    id_ = unquote(found[1])[:LONGEST_ID] if found else ""
    return id_ if id_.isprintable() and id_.strip(".") else None


def _next_procedure(episode: Episode) -> str:
    """The date of the next procedure among the appointments, as YYYY-MM-DD; empty if there is none."""
    days = [
        place_day(visit)
        for visit in episode.appointments
        if not visit.is_cancelled and _PROCEDURE.search(visit.kind)
    ]
    first = min((day for day in days if day >= today()), default=None)
    return first.isoformat() if first else ""


def _embryos(kind: ConsentKind, episode: Episode) -> tuple[Embryo, ...]:
    """The patient's embryos that a form of this kind can name: those still at the clinic."""
    if kind not in EMBRYO_KINDS:
        return ()
    return tuple(
        Embryo(embryo.id, with_record(embryo.embryo_code, episode.patient))
        for embryo in episode.embryos
        if not embryo.is_terminal and embryo.patient_id in (None, episode.patient.id)
    )
