"""Whether an embryo's status change would be allowed, based on the API's records, and what is missing if not.

The API decides; this keeps pages from offering moves that its records show would be refused. Missing data allow nothing:
a form that doesn't say which embryos it is about allows no move.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from portal.services.cases import CareStatus
from portal.services.consents.forms import CLINIC_ROLES, ConsentForm, ConsentKind, Signature, SignerRole
from portal.services.episodes import Episode
from portal.services.rules.signing import same_name
from portal.services.storage import Disposition, EmbryoStatus, EmbryoStorage
from portal.state.session_records import Person
from portal.values import Value

WISHES_OF: Mapping[EmbryoStatus, tuple[Disposition, ...]] = {
    EmbryoStatus.DISCARDED: (Disposition.DISCARD,),
    EmbryoStatus.DONATED: (Disposition.DONATE_RESEARCH, Disposition.DONATE_PATIENT),
    EmbryoStatus.SHIPPED_OUT: (Disposition.TRANSPORT,),
}
"""The dispositions that each final status carries out."""

_UNDER_WAY = (CareStatus.PLANNED, CareStatus.ACTIVE, CareStatus.ON_HOLD)
_SECOND_PERSON = (SignerRole.WITNESS, SignerRole.CLINICIAN)


class _Needed(Value, frozen=True):
    """A signed form of one of the kinds, whose treatment may have to be under way, and a wish on record.

    `decided` are the dispositions of which the form has to contain one. None of either means any.
    """

    kinds: tuple[ConsentKind, ...]
    wishes: tuple[Disposition, ...] = ()
    decided: tuple[Disposition, ...] = ()
    is_under_way: bool = False


_TREATMENT = _Needed(
    kinds=(ConsentKind.TREATMENT,),
    wishes=(Disposition.UNDECIDED, Disposition.CONTINUE_STORAGE),
    is_under_way=True,
)
_LOSS = _Needed(kinds=(ConsentKind.TREATMENT,))
"""An embryo that was thawed and did not survive."""

_NEEDED: Mapping[EmbryoStatus, _Needed] = {
    EmbryoStatus.THAWED: _TREATMENT,
    EmbryoStatus.TRANSFERRED: _TREATMENT,
    **{
        status: _Needed(kinds=(ConsentKind.DISPOSITION, ConsentKind.DONATION), wishes=wishes, decided=wishes)
        for status, wishes in WISHES_OF.items()
    },
}
"""What the moves to these statuses need; the others need nothing."""


class Gap(StrEnum):
    """What may be missing for a move."""

    HELD_BY_PATIENT = "held by patient"
    HELD_BY_CLINIC = "held by clinic"
    FORMS_UNREADABLE = "forms unreadable"
    FORMS_PARTLY_READ = "forms partly read"
    NO_FORM = "no form"
    PATIENT_UNKNOWN = "patient unknown"
    NOT_SIGNED = "not signed"
    NOT_NAMED = "not named"
    PARTY_MISSING = "party missing"
    NOT_IN_FORCE = "not in force"
    TREATMENT_OVER = "treatment over"
    TREATMENT_UNKNOWN = "treatment unknown"
    WISH_DIFFERS = "wish differs"
    SECOND_PERSON = "second person"


class Missing(Value, frozen=True):
    """One missing requirement, the form concerned, and the names of those who haven't signed it."""

    gap: Gap
    form: ConsentForm | None = None
    names: tuple[str, ...] = ()


class Evidence(Value, frozen=True):
    """The basis of the decision: the patient's forms (None if they can't be read), and those of the episodes they are for
    that could be read, as they are `at` a moment; `is_whole` says whether these are all forms.
    """

    forms: tuple[ConsentForm, ...] | None
    episodes: Mapping[str, Episode]
    at: datetime
    is_whole: bool = True


class Move(Value, frozen=True):
    """A change of the embryo's status: the form that allows it, if it needs one, or what is missing."""

    status: EmbryoStatus
    form: ConsentForm | None = None
    missing: tuple[Missing, ...] = ()

    @property
    def is_offered(self) -> bool:
        """Whether nothing is known to be missing."""
        return not self.missing


def moves_of(embryo: EmbryoStorage, episode: Episode, evidence: Evidence, person: Person) -> tuple[Move, ...]:
    """Every move that the embryo's status allows if made by `person`, with what is missing for each."""
    return tuple(_judge(embryo, episode, evidence, person, status) for status in embryo.next_statuses)


def needed_kinds(status: EmbryoStatus) -> tuple[ConsentKind, ...]:
    """The kinds of form of which a move to this status needs one, the usual one first; none if it needs no form."""
    needed = _NEEDED.get(status)
    return needed.kinds if needed else ()


def names_embryo(form: ConsentForm, embryo_id: str) -> bool:
    return embryo_id in (form.embryo_storage_ids or ())


def second_signatures(form: ConsentForm, person: Person) -> tuple[Signature, ...]:
    """The signatures of witnesses and clinicians other than `person`, whom one on paper may tell by name alone."""
    own = form.signature_of(person.sub)
    return tuple(
        s
        for s in form.signatures
        if s.role in _SECOND_PERSON
        and (s.person_id != person.sub if s.person_id else s != own and not same_name(s.name, person.name))
    )


def _judge(
    embryo: EmbryoStorage, episode: Episode, evidence: Evidence, person: Person, status: EmbryoStatus
) -> Move:
    is_loss = embryo.status == EmbryoStatus.THAWED and status == EmbryoStatus.DISCARDED
    needed = _LOSS if is_loss else _NEEDED.get(status)
    missing = _holds(embryo, needs_form=needed is not None)
    if needed is None:
        return Move(status, missing=missing)
    if needed.wishes and embryo.disposition not in needed.wishes:
        missing = (*missing, Missing(Gap.WISH_DIFFERS))
    if evidence.forms is None:
        return Move(status, missing=(*missing, Missing(Gap.FORMS_UNREADABLE)))
    fitting = _fitting(evidence.forms, needed, embryo.disposition)
    allowing = _allowing(embryo, episode, fitting, evidence.at)
    if allowing == Missing(Gap.NO_FORM) and not evidence.is_whole:
        allowing = Missing(Gap.FORMS_PARTLY_READ)
    if not isinstance(allowing, Missing) and needed.is_under_way:
        allowing = _under_way(allowing, evidence)
    if isinstance(allowing, Missing):
        return Move(status, missing=(*missing, allowing))
    seen = next((form for form in allowing if second_signatures(form, person)), None)
    if seen is None:
        missing = (*missing, Missing(Gap.SECOND_PERSON, allowing[0]))
    return Move(status, form=seen or allowing[0], missing=missing)


def _holds(embryo: EmbryoStorage, *, needs_form: bool) -> tuple[Missing, ...]:
    """The hold that stops the embryo; one by the clinic doesn't stop moves that need no form."""
    if embryo.is_held_by_patient and (needs_form or embryo.is_on_hold):
        return (Missing(Gap.HELD_BY_PATIENT),)
    return (Missing(Gap.HELD_BY_CLINIC),) if needs_form and embryo.is_stopped else ()


def _fitting(forms: Iterable[ConsentForm], needed: _Needed, wish: Disposition) -> list[ConsentForm]:
    """The forms of a kind that can allow it: for the wish on record, where the move carries that out."""
    decided = (wish,) if wish in needed.decided else needed.decided
    return [f for f in forms if f.kind in needed.kinds and (not decided or f.disposition in decided)]


def _allowing(
    embryo: EmbryoStorage, episode: Episode, fitting: Iterable[ConsentForm], at: datetime
) -> list[ConsentForm] | Missing:
    """The fully signed forms in force that name the embryo, else what the closest candidate lacks."""
    of_patient = [form for form in fitting if form.patient_id == embryo.patient_id]
    named = [form for form in of_patient if names_embryo(form, embryo.id)]
    signed = [form for form in named if form.is_signed]
    complete = [form for form in signed if not _unsigned(form, episode)]
    if complete:
        ahead = [form for form in complete if form.effective_at is not None and form.effective_at > at]
        in_force = [form for form in complete if form not in ahead]
        return in_force or Missing(Gap.NOT_IN_FORCE, ahead[0])
    if signed:
        return Missing(Gap.PARTY_MISSING, signed[0], _unsigned(signed[0], episode))
    if waiting := next((form for form in named if form.is_open), None):
        return Missing(
            Gap.NOT_SIGNED, waiting, tuple(signer.name for signer in waiting.missing_signers if signer.name)
        )
    if unnamed := next((form for form in of_patient if form.is_signed), None):
        return Missing(Gap.NOT_NAMED, unnamed)
    return Missing(Gap.NO_FORM if embryo.patient_id else Gap.PATIENT_UNKNOWN)


def _unsigned(form: ConsentForm, episode: Episode) -> tuple[str, ...]:
    """The names of the embryo's patient and partner who haven't signed the form."""
    signed = {s.person_id for s in form.signatures if s.role not in CLINIC_ROLES}
    signed |= {signer.person_id for signer in form.patients_side if form.signature_for(signer)}
    couple = (patient for patient in (episode.patient, episode.partner) if patient is not None)
    return tuple(
        patient.full_name
        for patient in couple
        if signed.isdisjoint({patient.id, patient.user_id or patient.id})
    )


def _under_way(forms: list[ConsentForm], evidence: Evidence) -> list[ConsentForm] | Missing:
    """The forms whose treatment is under way."""
    episodes = [evidence.episodes.get(form.episode_id or "") for form in forms]
    found = [f for f, at in zip(forms, episodes, strict=True) if at is not None and at.status in _UNDER_WAY]
    if found:
        return found
    unknown = (f for f, at in zip(forms, episodes, strict=True) if at is None or not at.status.known)
    first = next(unknown, None)
    return Missing(Gap.TREATMENT_UNKNOWN, first) if first else Missing(Gap.TREATMENT_OVER, forms[0])
