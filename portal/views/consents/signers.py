"""The signers of a new form and their roles: the people of its episode, by the rules of its kind.

The patient always signs, and so does the partner where both decide; this is fixed. Of some kinds each of the two has a form of
their own. For the clinic, staff sign whose accounts are known from forms that they were asked to sign, the episode's care team first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from portal.services.consents.forms import (
    CLINIC_ROLES,
    COUPLE_KINDS,
    ONE_PERSON_KINDS,
    PATIENT_ROLES,
    ConsentForm,
    ConsentKind,
    Signer,
    SignerRole,
)
from portal.services.episodes import Episode
from portal.services.errors import NotFound
from portal.services.patient_ref import PatientRef
from portal.services.patients import Patient
from portal.services.people import happened_at
from portal.services.relationships import RelationshipType
from portal.services.rules.signing import same_name
from portal.state.session_records import Person
from portal.web.not_given import not_given

LEFT_OUT = "-"
"""The choice for a signature that this form doesn't need."""

_MOVES_EMBRYOS = frozenset({ConsentKind.TREATMENT, ConsentKind.DISPOSITION, ConsentKind.DONATION})
"""Kinds that allow embryo moves, which need a second person's signature: a clinician's or a witness's."""

_TAKES_PART = (
    RelationshipType.EGG_DONOR,
    RelationshipType.SPERM_DONOR,
    RelationshipType.EMBRYO_DONOR,
    RelationshipType.GESTATIONAL_CARRIER,
    RelationshipType.INTENDED_PARENT,
)


class Candidate(msgspec.Struct, frozen=True):
    """A possible signer; `has_account` is False for a patient who can't sign in yet."""

    person_id: str
    name: str
    is_staff: bool
    is_in_team: bool = False
    has_account: bool = True


class Row(msgspec.Struct, frozen=True):
    """A signature on the form and its chosen signer: None if not chosen yet, `LEFT_OUT` if not needed.

    A fixed row can't be changed or left out.
    """

    role: SignerRole
    order: int
    person_id: str | None = None
    is_fixed: bool = False


class Parties(msgspec.Struct, frozen=True):
    """The people and treatment that a form is about; `patient` and `partner` are the ids that they sign with.

    Of a form's people without an episode the two are None. `has_donor`: the episode names a donor of sperm or embryos.
    `is_partner_chosen`: no treatment names the partner, and staff chose them (`NamedPartner`).
    """

    patient_id: str
    patient_name: str
    partner_id: str | None = None
    case_id: str | None = None
    episode_id: str | None = None
    patient: str | None = None
    partner: str | None = None
    partner_name: str = ""
    has_donor: bool = False
    is_partner_chosen: bool = False

    @property
    def patient_ref(self) -> PatientRef:
        return PatientRef(self.patient_id, self.patient_name, self.episode_id)

    @property
    def query(self) -> dict[str, str]:
        """What names them in an address: the treatment, or the patient without one, and a partner who was chosen."""
        of = {"episode": self.episode_id} if self.episode_id else {"patient": self.patient_id}
        return of | ({"partner": self.partner_id} if self.partner_id and self.is_partner_chosen else {})


class NamedPartner(msgspec.Struct, frozen=True):
    """A partner whom forms alone name, so that they sign only if staff choose so; `title` is the newest such form's.

    `signs_as` is the id that they sign with.
    """

    id: str
    name: str
    signs_as: str | None
    title: str


def named_partners(forms: Iterable[ConsentForm]) -> tuple[NamedPartner, ...]:
    """The partners whom these forms of a patient without a treatment name, the latest first."""
    found: dict[str, NamedPartner] = {}
    for form in sorted(forms, key=happened_at, reverse=True):
        signer = next((signer for signer in form.required_signers if signer.role is SignerRole.PARTNER), None)
        if form.partner_id and signer:
            named = NamedPartner(form.partner_id, signer.name, signer.person_id, form.title)
            found.setdefault(form.partner_id, named)
    return tuple(found.values())


def parties_of_episode(episode: Episode, patient_id: str | None = None) -> Parties:
    """The people of an episode: both, also after a couple has parted, since the embryos of both need both.

    The patient stands first, or the partner if `patient_id` is theirs, as in a form about their embryo.
    """
    partner, case = episode.partner, episode.case
    about = Parties(
        patient_id=episode.patient.id,
        patient_name=episode.patient.full_name,
        partner_id=partner.id if partner else None,
        case_id=case.id if case else None,
        episode_id=episode.id,
        patient=_signs_as(episode.patient),
        partner=_signs_as(partner) if partner else None,
        partner_name=partner.full_name if partner else "",
        has_donor=any(
            relationship.type in (RelationshipType.SPERM_DONOR, RelationshipType.EMBRYO_DONOR)
            and relationship.end_date is None
            for relationship in episode.relationships
        ),
    )

    if patient_id is None or patient_id != about.partner_id:
        return about
    first = {"patient_id": patient_id, "patient_name": about.partner_name, "patient": about.partner}
    second = {"partner_id": about.patient_id, "partner_name": about.patient_name, "partner": about.patient}
    return msgspec.structs.replace(about, **first, **second)


def parties_of_form(form: ConsentForm) -> Parties:
    """The people that a form is about, as far as it says."""
    return Parties(form.patient_id or "", form.patient_name, form.partner_id, form.case_id, form.episode_id)


def parties_of_patient(
    patient_id: str, forms: Iterable[ConsentForm], partner_id: str | None = None
) -> Parties:
    """A patient for whom no treatment is known, as their forms say; a partner whom one names only if chosen (`partner_id`).

    Raises NotFound if there is no form, as nothing else says the name.
    """
    own = sorted((form for form in forms if form.patient_id == patient_id), key=happened_at, reverse=True)
    if not own:
        raise NotFound
    signers = [signer for form in own for signer in form.required_signers if signer.person_id]
    partner = next((named for named in named_partners(own) if named.id == partner_id), None)
    return Parties(
        patient_id=patient_id,
        patient_name=next((form.patient_name for form in own if form.patient_name), ""),
        partner_id=partner.id if partner else None,
        patient=next(
            (signer.person_id for signer in signers if signer.role is SignerRole.PATIENT), patient_id
        ),
        partner=partner.signs_as if partner else None,
        partner_name=partner.name if partner else "",
        is_partner_chosen=partner is not None,
    )


def rows_for(kind: ConsentKind, signers: Iterable[Signer], about: Parties) -> tuple[Row, ...]:
    """The signature rows for a form of this kind and an episode's people; `signers` give roles and order.

    For the clinic's roles, the previous signers are proposed again.
    """
    rows: list[Row] = []
    for signer in signers:
        role, order = signer.role, signer.order
        match role:
            case SignerRole.PATIENT:
                rows.append(Row(role, order, about.patient, is_fixed=True))
            case SignerRole.PARTNER if about.partner:
                rows.append(Row(role, order, about.partner, is_fixed=kind in COUPLE_KINDS | ONE_PERSON_KINDS))
            case SignerRole.PARTNER:
                pass  # there is no partner
            case SignerRole.GAMETE_PROVIDER if about.partner is None:
                rows.append(Row(role, order, about.patient))
            case SignerRole.INTENDED_PARENT if kind == ConsentKind.DONATION:
                pass  # a donation doesn't name its recipient
            case _:
                rows.append(Row(role, order, signer.person_id if role in CLINIC_ROLES else None))
    roles = {row.role for row in rows}
    first, last = min((r.order for r in rows), default=1), max((r.order for r in rows), default=0)
    is_ones_own = kind in ONE_PERSON_KINDS and bool(roles - CLINIC_ROLES)
    if not roles & PATIENT_ROLES and not is_ones_own:
        rows.insert(0, Row(SignerRole.PATIENT, first, about.patient, is_fixed=True))
    if about.partner and kind in COUPLE_KINDS and SignerRole.PARTNER not in roles:
        rows.insert(1, Row(SignerRole.PARTNER, first, about.partner, is_fixed=True))
    if kind in _MOVES_EMBRYOS and not roles & {SignerRole.CLINICIAN, SignerRole.WITNESS}:
        rows.append(Row(SignerRole.CLINICIAN, last + 1))
    return tuple(rows)


def rows_as_before(form: ConsentForm) -> tuple[Row, ...]:
    """The signature rows of a copy whose episode can't be read: as before, but for the partner, who may be one no more."""
    return tuple(
        Row(signer.role, signer.order)
        if signer.role is SignerRole.PARTNER
        else Row(signer.role, signer.order, signer.person_id, is_fixed=signer.role not in CLINIC_ROLES)
        for signer in sorted(form.required_signers, key=lambda signer: signer.order)
    )


def candidates(
    person: Person,
    episode: Episode | None,
    named: Sequence[Signer],
    forms: Iterable[ConsentForm],
    records: Iterable[str | None] = (),
) -> tuple[Candidate, ...]:
    """The possible signers: the patient's side from the episode, or from the copied form (`named`), and staff.

    Who is named by the id of a record, one of `records` or of the forms', has no account, where that can be told.
    """
    forms = tuple(forms)
    found: dict[str, Candidate] = {}
    shares_ids = _shares_ids(forms)
    if episode:
        for patient in (episode.patient, episode.partner):
            if patient:
                id_ = _signs_as(patient)
                has_account = shares_ids or patient.user_id is not None or not_given("Patient.userId")
                found[id_] = Candidate(id_, patient.full_name, is_staff=False, has_account=has_account)
        for other in episode.relationships:
            if other.related_patient_id and other.type in _TAKES_PART and other.end_date is None:
                id_ = other.related_patient_id
                found.setdefault(id_, Candidate(id_, other.related_name, is_staff=False))
    else:
        known = {*records, *(id_ for form in forms for id_ in (form.patient_id, form.partner_id))}
        is_told = (
            bool(forms) and not shares_ids and not any("Patient.userId" in form.untold for form in forms)
        )
        for signer in named:
            if signer.person_id and signer.role not in CLINIC_ROLES:
                has_account = not is_told or signer.person_id not in known
                found[signer.person_id] = Candidate(
                    signer.person_id, signer.name, is_staff=False, has_account=has_account
                )
    team = [member.name for member in episode.care_team] if episode else []
    staff = {person.sub: person.name}
    for form in forms:
        for signer in form.required_signers:
            if signer.role in CLINIC_ROLES and signer.person_id:
                staff.setdefault(signer.person_id, signer.name)
    for id_, name in staff.items():
        is_in_team = any(
            same_name(name, member.partition(" ")[2]) or same_name(name, member) for member in team
        )
        found.setdefault(id_, Candidate(id_, name, is_staff=True, is_in_team=is_in_team))
    return tuple(sorted(found.values(), key=lambda candidate: not candidate.is_in_team))


def with_usual_signers(
    rows: Iterable[Row], people: Sequence[Candidate], forms: Iterable[ConsentForm]
) -> tuple[Row, ...]:
    """The rows with proposals for the clinic's roles: whoever most often signed in that role, care team first.

    People with the same name as someone on the patient's side are skipped: staff may be patients of their own clinic.
    """
    often = Counter(
        (signer.role, signer.person_id)
        for form in forms
        for signer in form.required_signers
        if signer.role in CLINIC_ROLES
    )
    taken: set[str | None] = {row.person_id for row in rows if row.person_id}
    sides = [person.name for person in people if not person.is_staff]
    chosen: list[Row] = []
    for row in rows:
        usual = [
            person for person in people if often[row.role, person.person_id] and person.person_id not in taken
        ]
        usual = [staff for staff in usual if not any(same_name(staff.name, name) for name in sides)]
        if row.person_id is None and row.role in CLINIC_ROLES and usual:
            best = max(
                usual, key=lambda staff, role=row.role: (staff.is_in_team, often[role, staff.person_id])
            )
            row = msgspec.structs.replace(row, person_id=best.person_id)
            taken.add(best.person_id)
        chosen.append(row)
    return tuple(chosen)


def _signs_as(patient: Patient) -> str:
    """The id that a patient signs with: the account's, or the record's until an account is linked."""
    return patient.user_id or patient.id


def _shares_ids(forms: Iterable[ConsentForm]) -> bool:
    """Whether accounts and records share ids in this system, so that a missing `userId` doesn't mean a missing account."""
    return any(
        signature.person_id in (form.patient_id, form.partner_id)
        for form in forms
        for signature in form.signatures
        if signature.is_typed and signature.person_id
    )
