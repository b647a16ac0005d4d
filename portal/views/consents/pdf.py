"""The signed form as a PDF: its text, the signatures, and an audit page for verifying the copy."""

from __future__ import annotations

from datetime import datetime

import msgspec
from flask import Blueprint, Response, g, url_for

from portal.i18n.gettext import _
from portal.printing import AttachedFile
from portal.services.consents import get_consent
from portal.services.consents.forms import ConsentForm, ConsentStatus, Signature
from portal.services.rules.consent_text import content_hash, signed_text
from portal.values import Value
from portal.views.consents.embryos import embryo_names
from portal.views.consents.ending import recorded_words
from portal.views.consents.labels import in_force_word, is_in_force_later, signer_name, state_word
from portal.views.consents.missing import missing_words
from portal.views.consents.verification import Check, checks, in_order
from portal.web.choice_names import choice_name
from portal.web.filters import day, long_moment, now
from portal.web.handlers import Care, Person, Side, redirect_to, signed_in
from portal.web.pdf import Document, pdf_response

bp = Blueprint("pdf", __name__)

ATTACHMENT = "signed-text.json"


class Event(Value, frozen=True):
    """An event in a form's history; `when` is None if the record doesn't say."""

    what: str
    when: datetime | None
    note: str = ""


class ReceiptDocument(Document, template="print/consent.html"):
    """The signed form with its audit page; `attachment` is the name of the file with the signed text."""

    form: ConsentForm
    own_hash: str
    checks: list[Check]
    signatures: list[Signature]
    events: list[Event]
    embryos: list[str]
    missing: list[str]
    attachment: str


@bp.get("/<record:consent_id>/receipt.pdf")
@signed_in(Side.PATIENT, Side.STAFF, is_file=True)
def receipt(care: Care, person: Person, consent_id: str) -> Response:
    """Return the signed form and its audit page as one PDF."""
    form = get_consent(care, consent_id)
    if not form.signatures:
        return redirect_to(url_for("consents.show", consent_id=form.id))
    return pdf_response(
        ReceiptDocument(
            form=form,
            own_hash=content_hash(form),
            checks=checks(care, form, person),
            signatures=in_order(form, person),
            events=events(form),
            embryos=embryo_names(care, form),
            missing=missing_words(form, person),
            stamp=stamp(form),
            attachment=ATTACHMENT,
        ),
        name=_("%(title)s, signed copy", title=form.title),
        by_hand=url_for("consents.receipt", consent_id=form.id),
        about=("consent.download", "consent", form.id),
        attached=(_attached(form), *_proofs(form, person)),
        sealed_as=_("Copy of a consent form in the records of %(clinic)s", clinic=g.tenant.name),
    )


def stamp(form: ConsentForm) -> str | None:
    """The notice on every page of a form not in force: withdrawn, declined, replaced, not signed by all, or not in force yet."""
    if form.is_revoked and form.revoked_at:
        at = long_moment(form.revoked_at)
        if form.is_cancelled:
            return _("Cancelled %(moment)s", moment=at)
        return (
            _("Declined %(moment)s", moment=at) if form.declined_by else _("Withdrawn %(moment)s", moment=at)
        )
    if form.is_ended:
        return state_word(form)
    if is_in_force_later(form) and form.in_force_at:
        return _("In force from %(day)s", day=day(form.in_force_at))
    return None if form.is_signed else _("Not signed by everyone yet")


def events(form: ConsentForm) -> list[Event]:
    """The form's history as far as the record shows, in order; events without a time come last."""
    told = [
        *_step(_("Written"), form.creation_time),
        *_step(_("Sent to be signed"), form.sent_at),
        *map(_signed, form.signatures),
        *_in_force(form),
        *_ending(form),
    ]
    return sorted(told, key=lambda event: event.when.timestamp() if event.when else float("inf"))


def _attached(form: ConsentForm) -> AttachedFile:
    return AttachedFile(ATTACHMENT, _("The text that the seal is computed from"), signed_text(form), now())


def _proofs(form: ConsentForm, person: Person) -> list[AttachedFile]:
    """What passkeys confirmed, one file for each signature (docs/passkey-signatures.md)."""
    description = _("What a passkey confirmed, and the proof")
    proofs = [signature.passkey for signature in in_order(form, person) if signature.passkey]
    return [
        AttachedFile(f"passkey-{number}.json", description, msgspec.json.encode(proof), now())
        for number, proof in enumerate(proofs, 1)
    ]


def _step(what: str, when: datetime | None) -> list[Event]:
    return [Event(what, when)] if when else []


def _in_force(form: ConsentForm) -> list[Event]:
    if not in_force_word(form):
        return []
    return _step(_("In force from") if is_in_force_later(form) else _("In force"), form.in_force_at)


def _signed(signature: Signature) -> Event:
    role = choice_name(signature.role)
    if not signature.name:
        return Event(_("Signed by %(name)s", name=role), signature.signed_at)
    return Event(_("Signed by %(name)s", name=signature.name), signature.signed_at, role)


def _ending(form: ConsentForm) -> list[Event]:
    match form.status:
        case ConsentStatus.REVOKED if form.declined_by:
            what = _("Declined by %(name)s", name=signer_name(form.declined_by))
            return [Event(what, form.revoked_at, recorded_words(form))]
        case ConsentStatus.REVOKED if form.is_cancelled:
            return [Event(_("Cancelled by the clinic"), form.revoked_at)]
        case ConsentStatus.REVOKED:
            by = form.ended_by.name if form.ended_by else ""
            what = _("Withdrawn by %(name)s", name=by) if by else _("Withdrawn")
            return [Event(what, form.revoked_at, recorded_words(form))]
        case ConsentStatus.EXPIRED:
            return [Event(_("The time to sign it ended"), form.expires_at)]
        case ConsentStatus.SUPERSEDED:
            return [Event(_("Replaced by a newer version"), None)]
        case _:
            return []
