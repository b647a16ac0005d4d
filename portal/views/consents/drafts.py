"""The drafts of consent forms: their pages, everything that is wrong with one, and how one is sent and found again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from flask import url_for

from portal.i18n.gettext import _
from portal.services.client import Care
from portal.services.consents import all_consents, create_consent, find_alike, find_created, get_consent
from portal.services.consents.forms import Clause, ConsentDraft, ConsentForm, Signer, SigningOrder
from portal.views.consents import draft_faults, lawful
from portal.views.consents.form_sources import templates_in_use
from portal.views.consents.new_form import NewForm
from portal.views.creation import Drafts, Search
from portal.web.editing import compared
from portal.web.fields import Field, member, written
from portal.web.forms import text

drafts = Drafts(
    "consent",
    NewForm,
    pages="consents.create",
    first="choose",
    address=lambda id_: url_for("consents.show", consent_id=id_),
)


def all_faults_of(new_form: NewForm) -> list[tuple[str, str]]:
    """Return the errors of a draft as (field id, sentence) pairs, by the law of the country and by its own rules."""
    return [*lawful.faults(new_form, templates_in_use()), *draft_faults.faults_of(new_form)]


def send_in(care: Care) -> Callable[[NewForm, str], ConsentForm | None]:
    return lambda new_form, key: create_consent(care, new_form.draft(), operation=key)


def search_in(care: Care) -> Search[NewForm, ConsentForm]:
    """Return how a form that was sent is found again."""
    return Search(
        alike=lambda new_form: all_consents(care, patient_id=new_form.about.patient_id),
        recognise=lambda forms, new_form: find_created(forms, new_form.draft()),
    )


class _IfTold(Field[Any], frozen=True):
    """A member that an API may leave out of its answers: only another value was kept otherwise."""

    def unlike(self, sent: Any, kept: Any) -> list[str]:
        return super().unlike(sent, kept) if self.text(kept) else []


def unlike_draft(care: Care, new_form: NewForm, made: ConsentForm) -> tuple[str, ...]:
    """Return the labels of what was sent and the API keeps otherwise."""
    draft = new_form.draft()
    given = [field for field in _draft_fields() if field.text(draft)]
    return compared(given, draft, made, partial(get_consent, care, made.id)).unlike


def _draft_fields() -> list[Field[Any]]:
    """What a new form consists of."""
    return [
        member("title", text(_("Title"))),
        member("kind", text(_("Kind"))),
        member("version", text(_("Version"))),
        member("episode_id", text(_("Treatment"))),
        _IfTold("case_id", text(_("Case")), lambda form: form.case_id or "", _unchanged),
        _IfTold("partner_id", text(_("Partner")), lambda form: form.partner_id or "", _unchanged),
        member("embryo_storage_ids", text(_("Embryos")), text=_listed),
        member("disposition", text(_("Disposition")), text=_given),
        member("procedure_date", text(_("Procedure"))),
        member("supersedes_id", text(_("Earlier version"))),
        Field("signing_order", text(_("Signing order")), _sequence, _unchanged),
        member("required_signers", text(_("Signers")), text=lambda signers: _listed(map(_who, signers))),
        _IfTold("language", text(_("Language of the text")), _language, _unchanged),
        member("body", text(_("Text")), text=lambda clauses: _listed(map(_read_as, clauses or ()))),
        member(
            "statements", text(_("Statements")), text=lambda them: _listed(one.text for one in them or ())
        ),
        member(
            "expires_at",
            text(_("Can be signed until")),
            text=lambda at: str((at and int(at.timestamp())) or ""),
        ),
    ]


def _unchanged(form: Any, _typed: str) -> Any:
    """For fields that are only compared."""
    return form


def _language(form: ConsentDraft | ConsentForm) -> str:
    """The language of its text, without the country."""
    return (form.language or "").split("-")[0].lower()


def _sequence(form: ConsentDraft | ConsentForm) -> str:
    """Who signs before whom, however the places are numbered; empty if anybody may begin."""
    if form.signing_order == SigningOrder.ANY:
        return ""
    places = sorted({signer.order for signer in form.required_signers})
    return _listed(f"{places.index(signer.order)} {_who(signer)}" for signer in form.required_signers)


def _who(signer: Signer) -> str:
    return f"{signer.role} {signer.person_id or ''}"


def _read_as(clause: Clause) -> str:
    return "\n".join((clause.heading, clause.text))


def _given(value: object) -> str:
    return written(value or None)


def _listed(texts: Iterable[str] | None) -> str:
    """These texts, in whatever order they come."""
    return "\n\n".join(sorted(text.strip() for text in texts or ()))


def alike_of(forms: Iterable[ConsentForm], new_form: NewForm) -> list[ConsentForm]:
    """The existing forms that this would duplicate, except the one that it replaces."""
    draft = new_form.draft()
    return [form for form in find_alike(forms, draft) if form.id != draft.supersedes_id]
