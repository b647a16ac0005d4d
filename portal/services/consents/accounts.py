"""Whose account each signer of a form is, where an API names signers by a number of their patient record.

The number of the reader's own record may be known from their sign-in; otherwise the forms' treatments are read for it. A signer
whose account isn't known is marked as such, so that no page says that they have none, or that the reader isn't asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from msgspec import structs

from portal.services import episodes
from portal.services.client import Care
from portal.services.consents.forms import (
    CLINIC_ROLES,
    MAY_BE_UNTOLD,
    UNKNOWN_ACCOUNT,
    ConsentForm,
    ConsentStatus,
    Signer,
    SignerRole,
)
from portal.services.decoding import PagedResult
from portal.services.gather import gather_all
from portal.services.salvage import Lost

_MOST = 3
"""For how many treatments accounts are looked for."""


def with_account(care: Care, form: ConsentForm) -> ConsentForm:
    """The form with its signers by their accounts, what the API never says of it, and expired once it is too late to sign."""
    return _told(care, (form,))[0]


def with_accounts(care: Care, page: PagedResult[ConsentForm]) -> PagedResult[ConsentForm]:
    return structs.replace(page, items=_told(care, page.items))


def _told(care: Care, forms: Sequence[ConsentForm]) -> tuple[ConsentForm, ...]:
    named = _with_accounts(care, forms) if care.adapter.signers_by else tuple(forms)
    observer = care.observer
    untold = frozenset(member for member in MAY_BE_UNTOLD if observer and observer.is_not_given(member))
    if observer and not observer.is_given("Patient.userId") and not any(map(_names_account, named)):
        untold |= {"Patient.userId"}
    # The forms were decoded for this page: to copy each would decode it twice.
    for form in named if untold else ():
        structs.force_setattr(form, "untold", untold)
    now = datetime.fromtimestamp(care.clock(), UTC)
    for form in named:
        is_late = form.expires_at is not None and form.expires_at <= now
        if is_late and form.is_open and not form.is_signed_by_all:
            structs.force_setattr(form, "status", ConsentStatus.EXPIRED)
    return named


def _names_account(form: ConsentForm) -> bool:
    """Whether a form names the patient or partner by another id than their record's: ids of accounts are others, then."""
    records = {SignerRole.PATIENT: form.patient_id, SignerRole.PARTNER: form.partner_id}
    people = (*form.required_signers, *form.signatures)
    return any(
        signer.person_id and records.get(signer.role) not in (None, signer.person_id) for signer in people
    )


def number_of(account: str, *, care: Care) -> str:
    """The number by which the API names this person; the account itself if it isn't known, or no number is needed."""
    if care.adapter.signers_by is None:
        return account
    found = next((number for number, known in care.accounts.items() if known == account), account)
    return found.removeprefix(UNKNOWN_ACCOUNT)


def by_number(signers: Iterable[Signer], *, care: Care) -> tuple[Signer, ...]:
    """Signers as the API names them."""
    return tuple(
        structs.replace(signer, person_id=number_of(signer.person_id, care=care))
        if signer.person_id
        else signer
        for signer in signers
    )


def _with_accounts(care: Care, forms: Sequence[ConsentForm]) -> tuple[ConsentForm, ...]:
    wanted = [form for form in forms if not _numbers(form) <= care.accounts.keys()]
    treatments = list(dict.fromkeys(form.episode_id for form in wanted if form.episode_id))
    if not _knows_reader(care) if care.by_patient else len(treatments) <= _MOST:
        gather_all([lambda id_=id_: episodes.read_with_accounts(care, id_) for id_ in treatments[:_MOST]])
    named = tuple(_named(care, form) for form in forms)
    if not _knows_reader(care) and any(form.has_unknown_signers for form in named):
        care.on_unreadable(0, (Lost("ConsentForm.requiredSigners", "$.requiredSigners"),))
    return named


def _knows_reader(care: Care) -> bool:
    """Whether forms can tell that they ask the reader; staff are always named by their accounts."""
    return not care.by_patient or care.partition[2] in care.accounts.values()


def _numbers(form: ConsentForm) -> set[str]:
    """What names people of the patient's side."""
    people = (*form.required_signers, *form.signatures)
    return {person.person_id for person in people if person.person_id and person.role not in CLINIC_ROLES}


def _named(care: Care, form: ConsentForm) -> ConsentForm:
    accounts = {account for account in care.accounts.values() if account}
    known = {number: account for number, account in care.accounts.items() if account}
    unknown = {number: f"{UNKNOWN_ACCOUNT}{number}" for number in _numbers(form) - accounts}

    def account(id_: str | None) -> str | None:
        return None if id_ is None else known.get(id_) or unknown.get(id_) or id_

    return structs.replace(
        form,
        required_signers=tuple(
            structs.replace(signer, person_id=account(signer.person_id)) for signer in form.required_signers
        ),
        signatures=tuple(
            structs.replace(signature, person_id=account(signature.person_id))
            for signature in form.signatures
        ),
        revoked_by_id=account(form.revoked_by_id),
        on_behalf_of=account(form.on_behalf_of),
    )
