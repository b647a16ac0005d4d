"""Consent forms: whose turn it is, reading, the receipt; signing, withdrawing and creating in modules of their own."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, Response, request, url_for

from portal.services.client import Care
from portal.services.consents import all_consents, content_hash, get_consent, list_consents
from portal.services.records import ConsentForm, ConsentStatus, Signature
from portal.sessions import Person
from portal.tenants import Side
from portal.views.consents import creating, revoking, signing, words
from portal.views.consents.listing import Listing, Table, group
from portal.views.consents.standing import may_create, standing
from portal.web import audit
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render

bp = Blueprint("consents", __name__, url_prefix="/consents")
words.register(bp)
for part in (signing.bp, revoking.bp, creating.bp):
    bp.register_blueprint(part)


@bp.get("", endpoint="list")
@signed_in(Side.PATIENT, Side.STAFF)
def list_(care: Care, person: Person) -> Response:
    """Show a patient their forms by whose turn it is, staff the clinic's as a table."""
    if person.is_patient:
        return render("consents/list.html", groups=group(all_consents(care), person))
    asked = Listing.asked(request.args)
    page = list_consents(
        care,
        skip=asked.skip,
        limit=asked.size,
        sorting=asked.sorting,
        text=asked.text or None,
        status=asked.status,
    )
    table = Table(asked, page, may_create=may_create(person))
    return render("consents/table.html", fragment="results", table=table)


@bp.get("/<record:consent_id>")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, consent_id: str) -> Response:
    """Show the form to read, who signs it, and what this person can do with it."""
    form = get_consent(care, consent_id)
    audit.note("consent.read", "done", kind="consent", id_=form.id)
    return render("consents/show.html", form=form, standing=standing(form, person), refusal=None)


@bp.get("/<record:consent_id>/receipt")
@signed_in(Side.PATIENT, Side.STAFF)
def receipt(care: Care, person: Person, consent_id: str) -> Response:
    """Show who signed what and when; with `verify`, say whether the text is still the one that was signed."""
    form = get_consent(care, consent_id)
    if not form.signatures:
        return redirect_to(url_for("consents.show", consent_id=form.id))
    audit.note("consent.receipt", "done", kind="consent", id_=form.id)
    return render(
        "consents/receipt.html",
        fragment="proof",
        form=form,
        own_hash=content_hash(form),
        checks=checks(form, person) if "verify" in request.args else None,
        signatures=in_order(form, person),
        is_ended=form.status in (ConsentStatus.REVOKED, ConsentStatus.EXPIRED, ConsentStatus.SUPERSEDED),
    )


@dataclass(frozen=True, slots=True)
class Check:
    """What comparing one signature with the text of now gave.

    `matches` is None when the clinic's system makes its mark in a way of its own: it is unchanged by that
    system's word, and the portal cannot recompute it.
    """

    signature: Signature
    matches: bool | None


def checks(form: ConsentForm, person: Person) -> list[Check]:
    """Compare each signature's mark with one made anew from the form as it is in the record now."""
    now = content_hash(form)
    return [Check(signature, _matches(signature, form, now)) for signature in in_order(form, person)]


def in_order(form: ConsentForm, person: Person) -> list[Signature]:
    """The signatures, the reader's own first, then as they were given."""
    return sorted(
        form.signatures,
        key=lambda s: (s.person_id != person.sub, s.signed_at.timestamp() if s.signed_at else 0),
    )


def _matches(signature: Signature, form: ConsentForm, now: str) -> bool | None:
    if signature.content_hash == now:
        return True
    ways_of_its_own = form.content_hash != now and signature.content_hash == form.content_hash
    return None if ways_of_its_own else False
