"""Consent forms: whose turn it is, reading, the receipt; signing, withdrawing, creating and printing in
modules of their own.
"""

from __future__ import annotations

from flask import Blueprint, Response, request, url_for

from portal.services.client import Care
from portal.services.consents import all_consents, content_hash, get_consent, list_consents
from portal.services.records import ConsentStatus
from portal.sessions import Person
from portal.tenants import Side
from portal.views.consents import creating, printed, revoking, signing, words
from portal.views.consents.listing import Listing, Table, group
from portal.views.consents.proof import checks, in_order
from portal.views.consents.standing import may_create, standing
from portal.web import audit
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render

bp = Blueprint("consents", __name__, url_prefix="/consents")
words.register(bp)
for part in (signing.bp, revoking.bp, creating.bp, printed.bp):
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
        checks=checks(care, form, person) if "verify" in request.args else None,
        signatures=in_order(form, person),
        is_ended=form.status in (ConsentStatus.REVOKED, ConsentStatus.EXPIRED, ConsentStatus.SUPERSEDED),
    )
