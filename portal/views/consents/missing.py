"""Sentences about missing signatures: who hasn't signed yet, and who can't because they have no account."""

from __future__ import annotations

from portal.i18n.gettext import ngettext
from portal.services.records.consents import CLINIC_ROLES, ConsentForm, Signer, SignerRole
from portal.state.session_records import Person
from portal.views.consents.labels import names_of


def missing_words(form: ConsentForm, person: Person) -> list[str]:
    """What keeps an open form from being signed, apart from the reader's own signature."""
    if not form.is_open:
        return []
    others = [signer for signer in form.missing_signers if signer.person_id != person.sub]
    waiting = tuple(signer for signer in others if not _has_no_account(form, signer, person))
    words = [
        ngettext(
            "%(names)s hasn’t signed yet",
            "%(names)s haven’t signed yet",
            len(waiting),
            names=names_of(waiting),
        )
    ]
    return [*(words if waiting else []), *account_words(without_account(form, person))]


def unseen_words(form: ConsentForm, role: SignerRole) -> str:
    """Tell a witness who on the patient's side hasn't signed; empty for everyone else, and once all have."""
    waiting = tuple(signer for signer in form.missing_signers if signer.role not in CLINIC_ROLES)
    if role != SignerRole.WITNESS or not waiting:
        return ""
    return ngettext(
        "%(names)s hasn’t signed yet. A witness signs after seeing it done.",
        "%(names)s haven’t signed yet. A witness signs after seeing it done.",
        len(waiting),
        names=names_of(waiting),
    )


def without_account(form: ConsentForm, person: Person) -> tuple[Signer, ...]:
    """Signers whom an open form is waiting for, but who need an account from the clinic first."""
    if not form.is_open:
        return ()
    return tuple(signer for signer in form.missing_signers if _has_no_account(form, signer, person))


def account_words(signers: tuple[Signer, ...]) -> list[str]:
    """Say that these signers have no account."""
    words = ngettext(
        "%(names)s has no account yet: the form waits",
        "%(names)s have no account yet: the form waits",
        len(signers),
        names=names_of(signers),
    )
    return [words] if signers else []


def _has_no_account(form: ConsentForm, signer: Signer, person: Person) -> bool:
    """Whether the form names a patient record instead of an account, as it does until one is linked.

    This can't be told in systems where accounts and records share ids, which the reader's own id or a signature reveals.
    """
    records = {form.patient_id, form.partner_id} - {None}
    typed = (s.person_id for s in form.signatures if s.is_typed)
    accounts = {person.sub, *typed}
    return signer.role not in CLINIC_ROLES and signer.person_id in records and not records & accounts
