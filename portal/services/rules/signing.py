"""Who may sign a consent form, in which role and when, or what keeps them from it."""

from __future__ import annotations

from portal.folding import folded
from portal.services.consents.forms import (
    CLINIC_ROLES,
    COUPLE_KINDS,
    ONE_PERSON_KINDS,
    PATIENT_ROLES,
    ConsentForm,
    ConsentStatus,
    Signer,
    SignerRole,
    TextGap,
)
from portal.services.rules.consent_text import is_known_empty
from portal.state.session_records import Person
from portal.values import Value

_ENDED = {
    ConsentStatus.REVOKED: "FormRevoked",
    ConsentStatus.EXPIRED: "FormExpired",
    ConsentStatus.SUPERSEDED: "FormSuperseded",
}


class Obstacle(Value, frozen=True):
    """What keeps a person from signing or ending a form: the code with which the API refuses, or one of those below.

    `signers` are those who sign first, or who bear the person's name.
    """

    code: str
    signers: tuple[Signer, ...] = ()


CANCELLED, DECLINED, TEXT_MISSING, OTHERS_FIRST, OTHER_ACCOUNT, SIGNERS_UNKNOWN, STATUS_UNKNOWN = (
    "Cancelled",
    "Declined",
    "TextMissing",
    "OthersFirst",
    "OtherAccount",
    "SignersUnknown",
    "StatusUnknown",
)


def open_role(form: ConsentForm, person: Person) -> SignerRole | None:
    """The role in which `person` can now sign a form read individually; None if its text is incomplete."""
    return None if form.text_gap else _role_in_turn(form, person)


def listed_role(form: ConsentForm, person: Person) -> SignerRole | None:
    """The same for a form from a list, which omits the body; None if its text is known to be incomplete."""
    role = _role_in_turn(form, person)
    return None if role is None or listed_gap(form) else role


def listed_gap(form: ConsentForm) -> TextGap | None:
    """What is missing from the text of a form from a list, as far as can be told without the body."""
    if form.body is not None:
        return form.text_gap
    if not is_known_empty(form):
        return None
    return TextGap.ON_FILE if form.file_id else TextGap.EMPTY


def is_awaited(form: ConsentForm, person: Person) -> bool:
    """Whether the form waits for `person`, now or later."""
    return form.is_open and any(_may_sign_as(form, s, person) for s in form.missing_signers)


def has_signed(form: ConsentForm, person: Person, role: SignerRole | None = None) -> bool:
    theirs = (form.signature_of(person.sub), *(s for s in form.signatures if s.person_id == person.sub))
    return any(s is not None and role in (None, s.role) for s in theirs)


def obstacle_to_signing(form: ConsentForm, person: Person) -> Obstacle:
    """What keeps `person` from signing now; ask only where there is no `open_role`."""
    is_signer, is_waited_for = form.is_signer(person.sub), is_awaited(form, person)
    if ended := end_of(form):
        return ended
    if not form.status.known:
        return Obstacle(STATUS_UNKNOWN)
    if form.is_draft:
        return Obstacle("FormNotSent")
    if has_signed(form, person):
        return Obstacle("AlreadySigned")
    if form.text_gap and (is_signer or is_waited_for):
        return Obstacle(TEXT_MISSING)
    if missing := missing_party(form):
        return Obstacle(missing)
    if waiting := form.waiting_for(person.sub) or (form.whose_turn() if is_waited_for else ()):
        return Obstacle(OTHERS_FIRST, waiting)
    if not is_signer and person.is_staff and (namesakes := _namesakes(form, person)):
        return Obstacle(OTHER_ACCOUNT, namesakes)
    if not is_signer and (_may_ask_unsaid(form, person) or not form.required_signers):
        return Obstacle(SIGNERS_UNKNOWN)
    return Obstacle("RoleNotYours" if is_signer else "NotASigner")


def _may_ask_unsaid(form: ConsentForm, person: Person) -> bool:
    """Whether a signer whom the form doesn't identify may be `person`."""
    is_unnamed = any(
        signer.person_id is None and signer.role not in CLINIC_ROLES for signer in form.missing_signers
    )
    return form.has_unknown_signers or (is_unnamed and not person.is_staff)


def end_of(form: ConsentForm) -> Obstacle | None:
    """How the form has ended; None if it hasn't."""
    if form.is_cancelled:
        return Obstacle(CANCELLED)
    if form.declined_by:
        return Obstacle(DECLINED)
    return Obstacle(_ENDED[form.status]) if form.status in _ENDED else None


def missing_party(form: ConsentForm) -> str | None:
    """The code of the rule that the form's signers violate, as far as can be told; then nobody can sign it."""
    people = form.patients_side
    if people and form.kind in ONE_PERSON_KINDS:
        return None
    if form.required_signers and not any(s.role in PATIENT_ROLES or not s.role.known for s in people):
        return "PatientMustSign"
    named = {s.person_id for s in people}
    if people and form.partner_id and form.kind in COUPLE_KINDS and None not in named and len(named) < 2:
        return "PartnerMustSign"
    return None


def others_missing(form: ConsentForm, person: Person) -> tuple[Signer, ...]:
    """Signers with an account, other than `person`, whom an open form is waiting for."""
    if not form.is_open or form.lacks_signatures:
        return ()
    missing, no_account = form.missing_signers, without_account(form, person)
    unidentified = (signer for signer in missing if signer.person_id is None)
    own = next((signer for signer in unidentified if _may_sign_as(form, signer, person)), None)
    others = (signer for signer in missing if signer.person_id != person.sub and signer is not own)
    left_out = (*no_account, *signed_in_another_role(form))
    return tuple(signer for signer in others if signer not in left_out)


def signed_in_another_role(form: ConsentForm) -> tuple[Signer, ...]:
    """Signers whom an open form is waiting for although they have signed: a person signs once, and it asks them in two roles."""
    signed = {signature.person_id for signature in form.signatures} - {None}
    return tuple(signer for signer in form.missing_signers if form.is_open and signer.person_id in signed)


def still_to_sign(form: ConsentForm) -> tuple[Signer, ...]:
    """The missing signers who can still sign, in signing order."""
    twice = signed_in_another_role(form)
    return tuple(signer for signer in form.missing_signers if signer not in twice)


def without_account(form: ConsentForm, person: Person) -> tuple[Signer, ...]:
    """Signers whom an open form is waiting for, but who need an account from the clinic first.

    It names a patient record instead of an account, as it does until one is linked. This can't be told in systems where
    accounts and records share ids, which the reader's own id or a signature reveals.
    """
    return told_without_account(form, person) or ()


def told_without_account(form: ConsentForm, person: Person) -> tuple[Signer, ...] | None:
    """The same; None if it can't be told who of an open form's people has an account."""
    if not form.is_open:
        return ()
    records = _records(form)
    accounts = {person.sub, *(s.person_id for s in form.signatures if s.is_typed)}
    if records & accounts or "Patient.userId" in form.untold or form.has_unknown_signers:
        return None
    return tuple(s for s in form.missing_signers if s.person_id in records and s.role not in CLINIC_ROLES)


def _records(form: ConsentForm) -> set[str]:
    return {id_ for id_ in (form.patient_id, form.partner_id) if id_}


def unseen_by(form: ConsentForm, role: SignerRole) -> tuple[Signer, ...]:
    """Whom on the patient's side a witness hasn't seen sign yet; empty for every other role."""
    if role != SignerRole.WITNESS:
        return ()
    return tuple(signer for signer in form.missing_signers if signer.role not in CLINIC_ROLES)


def expected_name(form: ConsentForm, person: Person, role: SignerRole) -> str:
    """The name of `person` on the form, which they sign with."""
    signer = next((s for s in form.required_signers if s.role == role and s.person_id == person.sub), None)
    return (signer.name if signer else "") or person.name


def same_name(name: str, other: str) -> bool:
    """Whether two names are equal, ignoring case, spaces, accents and punctuation."""
    return _folded(name) == _folded(other) != ""


def _folded(name: str) -> str:
    return "".join(letter for letter in folded(name) if letter.isalnum())


def _namesakes(form: ConsentForm, person: Person) -> tuple[Signer, ...]:
    """Signers of the patient's side with the person's name: possibly the same person's other account."""
    asked = (signer for signer in form.missing_signers if signer.role not in CLINIC_ROLES)
    return tuple(signer for signer in asked if same_name(signer.name, person.name))


def _role_in_turn(form: ConsentForm, person: Person) -> SignerRole | None:
    role = next((s.role for s in form.whose_turn() if _may_sign_as(form, s, person)), None)
    return None if role is None or missing_party(form) else role


def _may_sign_as(form: ConsentForm, signer: Signer, person: Person) -> bool:
    """Whether `person` may sign in this role: only staff sign for the clinic, and a witness in no other role."""
    if person.is_staff != (signer.role in CLINIC_ROLES) or has_signed(form, person):
        return False
    others = {s.role for s in form.required_signers if s.person_id == person.sub and s != signer}
    if signer.role == SignerRole.WITNESS and others:
        return False
    if signer.person_id is not None:
        return signer.person_id == person.sub
    # A signer without a person may be any member of staff, or the patient or partner whose name it is.
    return not form.is_signer(person.sub) and (person.is_staff or _may_be_named(form, signer, person))


def _may_be_named(form: ConsentForm, signer: Signer, person: Person) -> bool:
    """Whether the form's name of a signer fits the person's, which may be a part of it; true if it has none."""
    name = signer.name or (form.patient_name if signer.role == SignerRole.PATIENT else "")
    on_form, own = ({_folded(word) for word in text.split()} - {""} for text in (name, person.name))
    return not on_form or (bool(own) and (own <= on_form or on_form <= own))
