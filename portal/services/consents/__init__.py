"""Consent forms (care API specification §4, group ConsentForm).

If a response is lost, the act isn't sent again: the form is read, and says whether the act took place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import TypeVar

import msgspec
from msgspec import UNSET

from portal.config.strong_sign_in import Act
from portal.services.api import Group
from portal.services.client import Care
from portal.services.consents.accounts import by_number, number_of, with_account, with_accounts
from portal.services.consents.forms import (
    CLINIC_ROLES,
    ONE_PERSON_KINDS,
    STEPS_REST_ON,
    TREATMENT_RESTS_ON,
    ConsentDraft,
    ConsentForm,
    ConsentKind,
    ConsentStatus,
    SignerRole,
    ToldBy,
)
from portal.services.consents.requests import ConsentQuery, NewSignature, Revoking
from portal.services.decoding import PagedResult
from portal.services.demand import FRESH, FRESH_AT_WORK, Demand
from portal.services.errors import Invalid
from portal.services.gather import attempt, gather_all, items_of
from portal.services.listed import Listed
from portal.services.paging import CAP, CHUNK, read_every_page, read_page
from portal.services.responses import read_back

_consents = Group("ConsentForm")
_CONSENTS = "/api/care/consent-forms"
LIST_CONSENTS = _consents.get(
    _CONSENTS, PagedResult[ConsentForm], ConsentQuery, shows="consent", page="/consents"
)
CREATE_CONSENT = _consents.post(_CONSENTS, ConsentForm, ConsentDraft)
READ_CONSENT = _consents.get(f"{_CONSENTS}/{{id}}", ConsentForm, shows="consent")
SIGN_CONSENT = _consents.post(
    f"{_CONSENTS}/{{id}}/sign", ConsentForm, NewSignature, demand=Demand(FRESH, Act.SIGNING)
)
REVOKE_CONSENT = _consents.post(f"{_CONSENTS}/{{id}}/revoke", ConsentForm, Revoking, demand=Demand(FRESH))


_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_OF_A_TREATMENT = 100
_SOONEST = "procedureDate"
_MOST_EXPIRED, _MOST_PATIENTS = 50, 20

DateT = TypeVar("DateT", date, datetime)


class WithdrawalNotice(msgspec.Struct, frozen=True, kw_only=True):
    """The notice of a withdrawal that staff record: who gave it, when and how; `on_behalf_of` is that signer's `person_id`."""

    on_behalf_of: str
    at: datetime
    by: ToldBy


def list_consents(
    care: Care,
    *,
    skip: int = 0,
    limit: int = 20,
    sorting: str | None = None,
    text: str | None = None,
    patient_id: str | None = None,
    case_id: str | None = None,
    episode_id: str | None = None,
    status: ConsentStatus | None = None,
    waits_for: str | None = None,
    due_from: date | None = None,
    due_to: date | None = None,
) -> PagedResult[ConsentForm]:
    """One page of forms without their text; a patient's own and those that name them as a signer.

    `sorting` is a field, or "field desc". `waits_for` (whose signature is missing), `due_from` and `due_to` (bounds
    of the procedure date) may be ignored by an API: the answer has to be looked through.
    """

    def read(at: int, size: int) -> PagedResult[ConsentForm]:
        page = care.read(
            LIST_CONSENTS,
            query=ConsentQuery(
                skip_count=at,
                max_result_count=size,
                sorting=sorting,
                filter=text,
                patient_id=patient_id,
                case_id=case_id,
                episode_id=episode_id,
                status=status,
                waits_for=waits_for and number_of(waits_for, care=care),
                due_from=due_from,
                due_to=due_to,
            ),
        )
        return with_accounts(care, page)

    return read_page(read, skip, limit, care.largest_page)


def name_on_form(care: Care, patient_id: str) -> str:
    """The name of a patient on the first form that the API gives of them; empty without one."""
    page = care.read(
        LIST_CONSENTS, query=ConsentQuery(skip_count=0, max_result_count=1, patient_id=patient_id)
    )
    return next((form.patient_name for form in page.items if form.patient_id == patient_id), "")


def list_forms_of(care: Care, episode_id: str) -> Listed[ConsentForm]:
    """The forms of a treatment, without their text; an API that doesn't narrow its list sends those of others, too."""
    return list_consents(care, episode_id=episode_id, limit=_OF_A_TREATMENT).listed.where(
        lambda form: form.episode_id in (None, episode_id)
    )


def all_consents(care: Care, *, patient_id: str | None = None) -> Listed[ConsentForm]:
    """All forms that the person may see, at most 1000, without their text: for pages that group them.

    Read page by page.
    """

    def read(skip: int, limit: int) -> PagedResult[ConsentForm]:
        return list_consents(care, skip=skip, limit=limit, patient_id=patient_id)

    return read_every_page(read)


def list_open_consents(
    care: Care, status: ConsentStatus, patient_id: str | None = None
) -> PagedResult[ConsentForm]:
    """The forms with one of `forms.OPEN_STATUSES`, of a patient or of all, at most 1000, soonest needed first; without their text."""
    return list_consents(care, status=status, sorting=_SOONEST, limit=CAP, patient_id=patient_id)


def list_withdrawn(care: Care, since: datetime) -> Listed[ConsentForm]:
    """The forms that treatments rest on and that were withdrawn or declined since, the latest first; without their text.

    Of those on which single steps rest, the ones that were withdrawn: to decline such a step is usual. One without the moment of its
    end counts as late. None is told that one of those made last has taken the place of.
    """
    page = list_consents(care, status=ConsentStatus.REVOKED, sorting="revokedAt desc", limit=CHUNK)
    withdrawn = _back_to(page, [form.revoked_at for form in page.items if form.revoked_at], since).where(
        lambda form: _is_told_as_withdrawn(form) and (form.revoked_at is None or form.revoked_at >= since)
    )
    if not withdrawn.items:
        return withdrawn
    signed = items_of(attempt(lambda: _signed_lately(care)))
    return withdrawn.where(lambda form: not any(_is_in_place_of(form, other) for other in signed))


def _is_told_as_withdrawn(form: ConsentForm) -> bool:
    if form.kind in STEPS_REST_ON:
        return form.is_withdrawn
    return form.is_revoked and form.kind in TREATMENT_RESTS_ON and not form.is_cancelled


def _signed_lately(care: Care) -> PagedResult[ConsentForm]:
    return list_consents(care, status=ConsentStatus.SIGNED, sorting="creationTime desc", limit=CHUNK)


def _is_in_place_of(form: ConsentForm, other: ConsentForm) -> bool:
    """Whether `other` was signed since `form` was withdrawn, for the same person's same treatment."""
    return (
        _is_signed_since(form, other)
        and (form.patient_id, form.episode_id) == (other.patient_id, other.episode_id)
        and (form.kind not in ONE_PERSON_KINDS or is_signed_anew(form, other))
    )


def list_expired(care: Care, since: date, *, patient_id: str | None = None) -> Listed[ConsentForm]:
    """The forms that have expired and are needed on that day or later, and more; the latest first, without their text."""
    page = list_consents(
        care,
        status=ConsentStatus.EXPIRED,
        sorting=f"{_SOONEST} desc",
        limit=_MOST_EXPIRED,
        patient_id=patient_id,
    )
    return _back_to(page, [form.procedure_date or date.min for form in page.items], since)


def _back_to(page: PagedResult[ConsentForm], ends: Sequence[DateT], since: DateT) -> Listed[ConsentForm]:
    """The page, whole if the list is, or is in order and goes back further than `since`; `ends` are when its forms ended."""
    is_in_order = len(ends) == page.received and list(ends) == sorted(ends, reverse=True)
    return Listed(page.items, page.listed.is_whole or (is_in_order and bool(ends) and ends[-1] < since))


def list_awaiting(care: Care, status: ConsentStatus, person_id: str) -> Listed[ConsentForm]:
    """Those of `list_open_consents` that lack this person's signature, as far as they can be told apart.

    Asks up to three times.
    """
    return _matching(
        lambda skip, limit: list_consents(
            care, skip=skip, limit=limit, status=status, sorting=_SOONEST, waits_for=person_id
        ),
        lambda form: any(signer.person_id == person_id for signer in form.missing_signers),
    )


def list_due(care: Care, status: ConsentStatus, first: date, last: date) -> Listed[ConsentForm]:
    """Those of `list_open_consents` needed from `first` to `last`, both included, as far as they can be told apart.

    Asks up to three times.
    """
    return _matching(
        lambda skip, limit: list_consents(
            care, skip=skip, limit=limit, status=status, sorting=_SOONEST, due_from=first, due_to=last
        ),
        lambda form: form.procedure_date is not None and first <= form.procedure_date <= last,
    )


def list_undated(care: Care, status: ConsentStatus, total: int) -> Listed[ConsentForm]:
    """Those of `list_open_consents` without a procedure date: the end of the list, which is `total` long."""
    skip = max(total - CHUNK, 0)
    page = list_consents(care, skip=skip, limit=CHUNK, status=status, sorting=_SOONEST)
    dates = [form.procedure_date for form in page.items]
    undated = [form for form in page.items if form.procedure_date is None]
    begins_before = bool(dates) and dates[0] is not None and None not in dates[: len(dates) - len(undated)]
    is_end = page.is_counted and not page.unreadable and skip + page.received >= page.total
    return Listed(tuple(undated), begins_before and is_end)


def _matching(
    read: Callable[[int, int], PagedResult[ConsentForm]], fits: Callable[[ConsentForm], bool]
) -> Listed[ConsentForm]:
    """The forms of a narrowed list; only the first page of one that the API didn't narrow."""
    first = read(0, CAP)
    if first.listed.is_whole or not all(map(fits, first.items)):
        return first.listed.where(fits)
    return read_every_page(
        lambda skip, limit: read(skip, limit) if skip else first, most=3 * CAP, chunk=CAP
    ).where(fits)


def list_of_each(care: Care, patient_ids: Sequence[str]) -> dict[str, Listed[ConsentForm]]:
    """The forms of each of these patients, of at most 20; not of one whose forms couldn't be read."""
    asked = patient_ids[:_MOST_PATIENTS]
    read = gather_all([partial(all_consents, care, patient_id=id_) for id_ in asked])
    return {id_: forms for id_, forms in zip(asked, read, strict=True) if isinstance(forms, Listed)}


def create_consent(care: Care, draft: ConsentDraft, *, operation: str | None = None) -> ConsentForm | None:
    """Create a form and return it, pending; None if the API returns no body and the form can't be found.

    `operation` makes a repeat harmless if the API honours it.
    """
    sent = msgspec.structs.replace(draft, required_signers=by_number(draft.required_signers, care=care))
    form = care.act(CREATE_CONSENT, sent, operation=operation)
    return read_back(
        lambda: (
            with_account(care, form)
            if form
            else find_created(all_consents(care, patient_id=draft.patient_id), draft)
        )
    )


def get_consent(care: Care, consent_id: str) -> ConsentForm:
    """The whole form with its text."""
    return with_account(care, care.read(READ_CONSENT, id=consent_id))


def sign_consent(
    care: Care,
    consent_id: str,
    signature: NewSignature,
    *,
    kind: str | None = None,
    operation: str | None = None,
) -> ConsentForm:
    """Sign the form, which is of this kind, and return it.

    Raises `Refused`, e.g. out of order, already signed, or another version; `Conflict` if the form changed meanwhile.
    """
    demand = signing_demand(signature.signer_role, kind)
    form = care.act(SIGN_CONSENT, signature, operation=operation, demand=demand, id=consent_id)
    return read_back(lambda: with_account(care, form) if form else get_consent(care, consent_id))


def signing_demand(role: SignerRole, kind: str | None) -> Demand:
    """What signing a form of this kind in this role demands of the sign-in."""
    is_at_work = role in (SignerRole.CLINICIAN, SignerRole.WITNESS)
    return Demand(FRESH_AT_WORK if is_at_work else FRESH, Act.SIGNING, kind)


def revoke_consent(
    care: Care,
    consent_id: str,
    *,
    reason: str,
    without_reason: str = "No reason given",
    stamp: str | None,
    told: WithdrawalNotice | None = None,
    operation: str | None = None,
) -> ConsentForm:
    """Revoke the form and return it; what is open under it goes on hold, and its signers are notified.

    An empty `reason` isn't sent; `without_reason` is, to an API that demands one. Staff record a withdrawal that they
    were told of. Raises `Refused` if it isn't theirs, or everything that the form allows has been carried out.
    """
    revoking = Revoking(
        concurrency_stamp=stamp,
        reason=reason or UNSET,
        on_behalf_of=number_of(told.on_behalf_of, care=care) if told else UNSET,
        told_at=told.at if told else UNSET,
        told_by=told.by if told else UNSET,
    )
    try:
        form = care.act(REVOKE_CONSENT, revoking, operation=operation, id=consent_id)
    except Invalid as error:
        if reason or "reason" not in error.fields:
            raise
        revoking = msgspec.structs.replace(revoking, reason=without_reason)
        again = operation and f"{operation}-reason"  # another body, so another key
        form = care.act(REVOKE_CONSENT, revoking, operation=again, id=consent_id)
    return read_back(lambda: with_account(care, form) if form else get_consent(care, consent_id))


def find_created(forms: Iterable[ConsentForm], draft: ConsentDraft) -> ConsentForm | None:
    """The newest active form that may have been made from `draft`, to find out if a creation with a lost response worked.

    Compares patient, title, kind, version, procedure date, episode and signers, since lists omit the text; and embryos, decision
    and the form replaced, unless the list left those out. Older forms may look the same: exclude those already known.
    """
    alike = [form for form in forms if not form.is_ended and _is_made_from(form, draft)]
    return max(alike, key=lambda form: form.creation_time or _LONG_AGO, default=None)


def find_alike(forms: Iterable[ConsentForm], draft: ConsentDraft) -> tuple[ConsentForm, ...]:
    """The active forms that `draft` would duplicate, which the API refuses.

    Compares kind and title (ignoring case and spaces), patient, episode (or case) and embryos; of forms of which each of
    a couple has their own, also the signer.
    """
    live = (form for form in forms if form.is_open or form.is_signed)
    return tuple(form for form in live if _matter(form) == _matter(draft))


def is_replaced(form: ConsentForm, others: Iterable[ConsentForm]) -> bool:
    """Whether an open or signed form is in the place of one that has ended."""
    live = (other for other in others if other.is_open or other.is_signed)
    return form.superseded_by_id is not None or any(
        other.supersedes_id == form.id or _matter(other) == _matter(form) for other in live
    )


def is_signed_anew(form: ConsentForm, other: ConsentForm) -> bool:
    """Whether `other` is what the person who withdrew `form`, of which each of a couple has their own, has signed since.

    Of parenthood the titles may differ.
    """
    return (
        form.kind in ONE_PERSON_KINDS
        and _whose(form) == _whose(other) != frozenset({None})
        and _is_signed_since(form, other)
    )


def _is_signed_since(form: ConsentForm, other: ConsentForm) -> bool:
    """Whether `other` is of the kind and title of `form`, and the patient's side has signed it since that was withdrawn."""
    signed = [one.signed_at for one in other.signatures if not one.is_for_clinic]
    return (
        form.is_revoked
        and other.is_signed
        and form.kind == other.kind
        and (form.kind == ConsentKind.LEGAL_PARENTHOOD or _folded(form.title) == _folded(other.title))
        and form.revoked_at is not None
        and bool(signed)
        and all(at is not None and at > form.revoked_at for at in signed)
    )


def _matter(form: ConsentForm | ConsentDraft) -> tuple[object, ...]:
    kind, title = _folded(str(form.kind or "")), _folded(form.title)
    about = form.episode_id or ("case", form.case_id)
    whose = _whose(form) if form.kind in ONE_PERSON_KINDS else frozenset[str]()
    return kind, title, form.patient_id, about, frozenset(form.embryo_storage_ids or ()), whose


def _folded(text: str) -> str:
    return "".join(text.split()).casefold()


def _whose(form: ConsentForm | ConsentDraft) -> frozenset[str | None]:
    return frozenset(signer.person_id for signer in form.required_signers if signer.role not in CLINIC_ROLES)


def _is_made_from(form: ConsentForm, draft: ConsentDraft) -> bool:
    return (
        _likeness(form) == _likeness(draft)
        and set(form.embryo_storage_ids or ()) in ({*(draft.embryo_storage_ids or ())}, set())
        and form.disposition in (draft.disposition or None, None)
        and form.supersedes_id in (draft.supersedes_id, None)
    )


def _likeness(form: ConsentForm | ConsentDraft) -> tuple[object, ...]:
    signers = sorted((str(s.role), s.person_id or "") for s in form.required_signers)
    named = (form.patient_id, form.title.strip(), form.kind, form.version.strip())
    return (*named, form.procedure_date, form.episode_id, signers)
