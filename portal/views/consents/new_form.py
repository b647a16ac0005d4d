"""A new consent form as filled in so far: its text, its signers, and the form that it replaces."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, time

import msgspec
from flask import g
from werkzeug.datastructures import MultiDict

from portal.parse import calendar_date, line
from portal.services.consents.forms import (
    CLINIC_ROLES,
    Clause,
    ConsentDraft,
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    Signer,
    SigningOrder,
    Statement,
)
from portal.services.patient_ref import PatientRef
from portal.services.storage import Disposition
from portal.views.consents.signers import Candidate, Parties, Row

_DECISIONS: Mapping[ConsentKind, tuple[Disposition, ...]] = {
    ConsentKind.DISPOSITION: tuple(d for d in Disposition if d != Disposition.UNDECIDED),
    ConsentKind.DONATION: (Disposition.DONATE_RESEARCH, Disposition.DONATE_PATIENT),
}
_LONGEST_TYPED = 10_000
"""The limit on a field's input: more than it may hold, so that text that is too long can be shown again."""


class Embryo(msgspec.Struct, frozen=True):
    """An embryo that a form can name; `form_id` is the form that it is stored under, which may not name it."""

    id: str
    code: str
    form_id: str | None = None


class Earlier(msgspec.Struct, frozen=True):
    """A form that the new one can replace."""

    id: str
    title: str
    status: ConsentStatus
    signers: tuple[Signer, ...] = ()
    embryo_ids: tuple[str, ...] = ()

    @classmethod
    def of(cls, form: ConsentForm) -> Earlier:
        return cls(form.id, form.title, form.status, form.required_signers, form.embryo_storage_ids or ())

    @property
    def is_signed(self) -> bool:
        return self.status == ConsentStatus.SIGNED

    def signers_without(self, signing: Iterable[Signer]) -> list[Signer]:
        """Its signers who aren't among `signing`; for the clinic, anybody may sign in the same role."""
        signing = tuple(signing)
        people, roles = {signer.person_id for signer in signing}, {signer.role for signer in signing}
        return [
            signer
            for signer in self.signers
            if (signer.role not in roles if signer.role in CLINIC_ROLES else signer.person_id not in people)
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
    about: Parties
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
    gone: tuple[str, ...] = ()
    """The ids of embryos that nothing can be done with any more."""

    @property
    def patient_ref(self) -> PatientRef:
        return self.about.patient_ref

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

    def naming(self, embryo_id: str | None) -> NewForm:
        """A copy that names this embryo, if it is one of those that can be named."""
        named = tuple(embryo.id for embryo in self.embryos if embryo.id == embryo_id)
        return msgspec.structs.replace(self, embryo_ids=named)

    def beside(self, other: ConsentForm) -> NewForm:
        """A copy that can replace `other`, with its embryos and signers chosen as far as it can name them."""
        earlier = Earlier.of(other)
        rows = tuple(self._as_signed(row, other.patients_side) for row in self.rows)
        chosen = {*self.embryo_ids, *earlier.embryo_ids}
        embryo_ids = tuple(embryo.id for embryo in self.embryos if embryo.id in chosen)
        return msgspec.structs.replace(
            self, earlier=earlier, replaces=False, embryo_ids=embryo_ids, rows=rows
        )

    def _as_signed(self, row: Row, signers: Iterable[Signer]) -> Row:
        """The row with who signed in its role before, where nobody is chosen: each of a couple has some forms of their own."""
        before = {signer.person_id for signer in signers if signer.role == row.role}
        people = [person.person_id for person in self.candidates_for(row) if person.person_id in before]
        is_open = row.person_id is None and not row.is_fixed
        return msgspec.structs.replace(row, person_id=people[0]) if is_open and len(people) == 1 else row

    @property
    def is_sequential(self) -> bool:
        return self.order == SigningOrder.SEQUENTIAL

    @property
    def decisions(self) -> tuple[Disposition, ...]:
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
        waiting = {c.person_id for c in self.candidates if not c.has_account}
        return tuple(signer for signer in self.signers() if signer.person_id in waiting)

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
            required_signers=self.signers(),
            signing_order=SigningOrder(self.order),
            procedure_date=calendar_date(self.procedure_date),
            embryo_storage_ids=self.embryo_ids or msgspec.UNSET,
            disposition=Disposition(self.disposition) if self.disposition else msgspec.UNSET,
            supersedes_id=self.earlier.id if self.earlier and self.replaces else None,
            expires_at=end,
        )

    def left_out(self) -> list[str]:
        """The embryos that only the replaced form is about, which go on hold: their codes, or ids where these aren't known."""
        if self.earlier is None or not self.replaces:
            return []
        under = [embryo.id for embryo in self.embryos if embryo.form_id == self.earlier.id]
        codes = {embryo.id: embryo.code for embryo in self.embryos}
        return [
            codes.get(id_, id_)
            for id_ in dict.fromkeys((*self.earlier.embryo_ids, *under))
            if id_ not in (*self.embryo_ids, *self.gone)
        ]

    def preview(self) -> ConsentForm:
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

    def signers(self) -> tuple[Signer, ...]:
        """Whoever was chosen to sign, in the order of the rows."""
        names = {candidate.person_id: candidate.name for candidate in self.candidates}
        return tuple(
            Signer(role=row.role, person_id=row.person_id, name=names[row.person_id], order=row.order)
            for row in self.rows
            if row.person_id in names
        )
