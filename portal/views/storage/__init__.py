"""Embryos in storage: the list, and one embryo for patients and for the laboratory."""

from __future__ import annotations

from flask import Blueprint, Response

from portal.config.modules import Module
from portal.services.listed import Count
from portal.views.embryo_view import EmbryoView, SharedDate, next_date, shared_dates, told_apart
from portal.views.episodes.lookup import reachable
from portal.views.storage import cryo_room, decide, laboratory_record, second_person
from portal.views.storage.cryo_room import show_cryo_room
from portal.views.storage.decisions import Decision, decisions_about
from portal.views.storage.laboratory_record import show_laboratory_record
from portal.views.storage.lookup import find_embryo
from portal.web.handlers import Care, Page, Person, Side, audit, render, signed_in
from portal.web.modules import whole

bp = whole(Module.STORAGE, Blueprint("storage", __name__, url_prefix="/storage"))
for part in (cryo_room.bp, decide.bp, laboratory_record.bp, second_person.bp):
    bp.register_blueprint(part)


class StoragePage(Page, template="storage/index.html"):
    """The embryos in storage, those no longer stored, and whether an episode couldn't be read or none is available.

    Of those `in_doubt` the portal doesn't know the state. `dates` are those of all in storage; `next_date` is the patient's next
    date in words, empty if none is known.
    """

    stored: list[EmbryoView]
    stored_count: Count
    in_doubt: list[EmbryoView]
    gone: list[EmbryoView]
    is_incomplete: bool
    is_none_left: bool
    dates: list[list[SharedDate]]
    next_date: str


class EmbryoPage(Page, template="storage/show.html", about="view"):
    view: EmbryoView
    decisions: list[Decision]


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def index(care: Care, person: Person) -> Response:
    """List the person's embryos, near dates first; for staff, the clinic's by place."""
    if person.is_staff:
        return show_cryo_room(care)
    found = reachable(care, person)
    views = sorted(told_apart(found.embryos), key=EmbryoView.order)
    audit.shown("storage.read", "embryo", [view.embryo.id for view in views])
    stored = [view for view in views if view.embryo.is_in_storage]
    in_doubt = [view for view in views if not view.embryo.status.known]
    page = StoragePage(
        stored=stored,
        stored_count=Count(len(stored), not (found.is_incomplete or in_doubt)),
        in_doubt=in_doubt,
        gone=[view for view in views if not view.is_stored],
        is_incomplete=found.is_incomplete,
        is_none_left=found.is_none_left,
        dates=shared_dates(stored),
        next_date=next_date(stored),
    )
    return render(page, fragment="results")


@bp.get("/<record:embryo_id>")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, embryo_id: str) -> Response:
    """Show one embryo: for patients with their options, for staff as the laboratory's record."""
    view = find_embryo(care, person, embryo_id)
    audit.shown("embryo.read", "embryo", view.embryo.id)
    if person.is_staff:
        return show_laboratory_record(care, person, view)
    return render(EmbryoPage(view=view, decisions=decisions_about(view.embryo)))
