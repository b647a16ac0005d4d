"""Consent forms: lists, reading, the receipt; signing, withdrawing, creating and printing have their own modules."""

from __future__ import annotations

from functools import partial

from flask import Blueprint, Response, request, url_for

from portal.i18n.gettext import _
from portal.services.consents import all_consents, get_consent, list_consents
from portal.services.consents.forms import ConsentForm, ConsentStatus, Signature
from portal.services.errors import CareError
from portal.services.gather import gather, needed
from portal.services.listed import Listed
from portal.services.rules.consent_text import content_hash
from portal.services.rules.signing import has_signed
from portal.views.chosen_patient import ChosenPatient, chosen_patient, read_table
from portal.views.consents import (
    bundle,
    contacts,
    create,
    ending,
    labels,
    languages,
    pdf,
    revoke,
    sign,
    sign_in_method,
    verification,
)
from portal.views.consents.eligibility import Eligibility, eligibility_of
from portal.views.consents.form_filter import FormFilter
from portal.views.consents.form_sources import check_question
from portal.views.consents.list import LISTING, Groups, Item, group, with_text_in_doubt
from portal.views.consents.missing import missing_words
from portal.views.consents.queue import Place, place_in_list, with_queue
from portal.views.consents.show import show_form
from portal.views.consents.verification import Check, SealCheck, check_seal, checks, in_order
from portal.views.consents.work_page import show_work
from portal.views.consents.worklist import WorkRow, listed_rows, read_work
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast, wants
from portal.web.listing import Table

bp = Blueprint("consents", __name__, url_prefix="/consents")
labels.register(bp)
languages.register(bp)
sign_in_method.register(bp)
verification.register(bp)
ending.register(bp)
bp.add_app_template_filter(with_queue, "in_queue")
bp.add_app_template_filter(check_question)
for part in (sign.bp, revoke.bp, create.bp, bundle.bp, pdf.bp, contacts.bp):
    bp.register_blueprint(part)


class GroupsPage(Page, template="consents/list.html"):
    """A patient's forms by whose turn it is."""

    groups: Groups


class TablePage(Page, template="consents/table.html", about="chosen"):
    """The clinic's forms as a table, or those of a chosen patient."""

    chosen: ChosenPatient | None
    table: Table[ConsentStatus, ConsentForm]
    rows: list[WorkRow]


class ReceiptPage(Page, template="consents/receipt.html", about="form"):
    """The receipt: who signed what; `checks` is None until verified, `missing` says who hasn't signed yet.

    `place` is its position in the list that it was opened from; `seal_check` is None if there is no seal because not
    everyone has signed or the clinic's system makes none. `waiting` has the next form that a patient has to sign.
    """

    form: ConsentForm
    eligibility: Eligibility
    own_hash: str
    checks: list[Check] | None
    signatures: list[Signature]
    is_ended: bool
    is_mine: bool
    missing: list[str]
    seal_check: SealCheck | None
    waiting: Listed[Item] | CareError
    place: Place | None


@bp.get("", endpoint="list")
@signed_in(Side.PATIENT, Side.STAFF)
def list_(care: Care, person: Person) -> Response:
    """Show a patient their forms by whose turn it is, staff the clinic's as a table."""
    if person.is_patient:
        return render(
            GroupsPage(
                groups=group(
                    all_consents(care).through(lambda forms: with_text_in_doubt(care, forms, person)), person
                )
            )
        )
    chosen = chosen_patient(care, person)
    asked = request.args
    if asked.get("list") != "all" and ("list" in asked or not {"q", "status", "sort"} & asked.keys()):
        return show_work(care, read_work(care, person, FormFilter.read(request.args)), chosen)
    query = LISTING.read(request.args)
    table = read_table(
        "consent",
        query,
        chosen,
        partial(list_consents, care, patient_id=query.patient_id),
        lambda form, chosen: form.patient_id == chosen.id,
    )
    rows = [*listed_rows(table.found.items, person)]
    page = TablePage(chosen=chosen, table=table, rows=rows)
    return render(page, fragment="results")


@bp.get("/<record:consent_id>")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, consent_id: str) -> Response:
    form = get_consent(care, consent_id)
    audit.shown("consent.read", "consent", form.id)
    return show_form(care, form, person, place_in_list(care, person, form))


@bp.get("/<record:consent_id>/receipt")
@signed_in(Side.PATIENT, Side.STAFF)
def receipt(care: Care, person: Person, consent_id: str) -> Response:
    """Show who signed what and when; with `verify`, check that the text is still the one that was signed.

    With `open_next` it shows the list's next form to sign instead, if there is one. The message there names neither this form
    nor its patient, because it stands on another patient's page.
    """
    read, waiting = gather(lambda: get_consent(care, consent_id), lambda: _next_to_sign(care, person))
    form = needed(read)
    is_mine = has_signed(form, person)
    if not form.signatures:
        return redirect_to(url_for("consents.show", consent_id=form.id))
    place = place_in_list(care, person, form)
    if "open_next" in request.args and is_mine and place and place.next_sign:
        toast(_("You’ve signed the form before this one."))
        return redirect_to(place.next_sign)
    audit.shown("consent.receipt", "consent", form.id)
    page = ReceiptPage(
        form=form,
        eligibility=eligibility_of(form, person),
        own_hash=content_hash(form),
        checks=checks(care, form, person) if "verify" in request.args else None,
        signatures=in_order(form, person),
        is_ended=form.is_ended,
        is_mine=person.is_patient and is_mine,
        missing=missing_words(form, person),
        seal_check=check_seal(form),
        waiting=waiting,
        place=place,
    )
    return render(page, fragment="verification")


def _next_to_sign(care: Care, person: Person) -> Listed[Item]:
    """The most urgent of the forms that wait for a patient; none for staff, who have work lists."""
    if person.is_staff or wants("verification"):
        return Listed()
    return group(all_consents(care), person).mine.first(1)
