"""The laboratory's record of an embryo: its status, its place, until when it is paid. For staff."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from flask import Blueprint, Response, g, request

from portal.config.tenants import Side
from portal.i18n.gettext import _
from portal.parse import calendar_date, line
from portal.services.client import Care
from portal.services.records.storage import Disposition, EmbryoStatus, EmbryoStorage, StorageLocation
from portal.services.storage import update_embryo_storage
from portal.state.sessions import Person
from portal.views.storage.view import LOCATION, EmbryoView, find_embryo, paid_until
from portal.web import labels
from portal.web.conflicts import EDIT_FORM, Comparison, Editing, Filled, Saved, open_form, save_edit
from portal.web.forms import Fields, Form, Values, a_date, choice, sent, text
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.pages import Page
from portal.web.permissions import EDIT_EMBRYO, may
from portal.web.unsent import typed_text

bp = Blueprint("inventory", __name__)

_LONGEST_CODE = 100


class InventoryPage(Page, template="storage/inventory.html"):
    """The record; `edit` is its form for those who may change it."""

    view: EmbryoView
    edit: Filled | Comparison | None


class FinalStatusPage(Page, template="storage/final.html"):
    """Asks for the embryo's code before a final status; `typed` is what was typed for it, None the first time."""

    view: EmbryoView
    wanted: str
    is_against_wish: bool
    carried: list[tuple[str, str]]
    typed: str | None


def show_inventory(care: Care, person: Person, view: EmbryoView) -> Response:
    """Answer with the record, as a form where this person may change it."""
    may_edit = may(person, "embryo.edit") and not view.embryo.is_terminal
    return _answer(view, open_form(_editing(care, person, view.embryo.id), view.embryo) if may_edit else None)


@bp.post("/<record:embryo_id>")
@signed_in(Side.STAFF, roles=EDIT_EMBRYO)
@typed_text(*EDIT_FORM, "status", "location_*", "storage_expires_at", "notes")
def save(care: Care, person: Person, embryo_id: str) -> Response:
    """Save the record; before a final status the embryo's code is typed once more."""
    view = find_embryo(care, person, embryo_id)
    embryo = view.embryo
    if (asked := _ask_for_code(view)) is not None:
        return asked
    result = save_edit(_editing(care, person, embryo_id), embryo)
    if not isinstance(result, Saved):
        return _answer(view, result)
    toast(
        _("Embryo %(code)s is saved.", code=embryo.embryo_code)
        if result.is_changed
        else _("Nothing was changed.")
    )
    return redirect_to(view.href)


def _answer(view: EmbryoView, edit: Filled | Comparison | None) -> Response:
    return render(InventoryPage(view=view, edit=edit), fragment="edit", status=edit.status if edit else 200)


def _editing(care: Care, person: Person, embryo_id: str) -> Editing[EmbryoStorage]:
    return Editing(
        owner=person.sub,
        event="embryo.update",
        kind="embryo",
        read=lambda: find_embryo(care, person, embryo_id).embryo,
        values=_values,
        fields=_fields,
        write=lambda embryo, values: _write(care, embryo, values),
    )


def _values(embryo: EmbryoStorage) -> Values:
    return {
        "status": str(embryo.status),
        **{f"location_{name}": getattr(embryo.location, name, "") for name in LOCATION},
        "storage_expires_at": day.isoformat() if (day := paid_until(embryo)) else "",
        "notes": embryo.notes or "",
    }


def _fields(embryo: EmbryoStorage) -> Fields:
    moves = [
        (str(status), _status_words(embryo, status)) for status in (embryo.status, *embryo.next_statuses)
    ]
    return {
        "status": choice(
            _("Status"),
            moves,
            radios=True,
            known={str(status): _status_words(embryo, status) for status in EmbryoStatus},
            wrong=_("Its present state doesn’t allow this step."),
        ),
        "location_facility": text(_("Facility"), longest=100),
        "location_tank": text(_("Tank"), longest=40),
        "location_canister": text(_("Canister"), longest=40),
        "location_cane": text(_("Cane"), longest=40),
        "location_position": text(_("Position"), longest=40),
        "storage_expires_at": text(_("Paid until"), kind="date", check=a_date),
        "notes": text(_("Notes"), kind="textarea", longest=10_000),
    }


def _status_words(embryo: EmbryoStorage, status: EmbryoStatus) -> str:
    """The field's own terms; what is final says so."""
    if embryo.status == EmbryoStatus.THAWED and status == EmbryoStatus.STORED:
        return _("Stored (re-cryopreserved)")
    words = labels.embryo_status_term(status)
    return _("%(status)s (final)", status=words) if EmbryoStorage.is_final(status) else words


def _write(care: Care, embryo: EmbryoStorage, values: Values) -> EmbryoStorage | None:
    place = {name: values[f"location_{name}"] for name in LOCATION}
    status = EmbryoStatus(values["status"])
    return update_embryo_storage(
        care,
        embryo.id,
        is_move=status != embryo.status,
        status=status,
        location=StorageLocation(**place) if any(place.values()) else None,
        storage_expires_at=_instant_of(embryo, calendar_date(values["storage_expires_at"])),
        disposition=embryo.disposition,
        notes=values["notes"] or None,
        stamp=embryo.concurrency_stamp,
    )


def _instant_of(embryo: EmbryoStorage, day: date | None) -> datetime | None:
    """The instant to write for a day: the record's own where the day is the same, else the day's start at the clinic."""
    if day is None or day == paid_until(embryo):
        return embryo.storage_expires_at if day else None
    return datetime.combine(day, time(), tzinfo=g.tenant.time_zone).astimezone(UTC)


def _ask_for_code(view: EmbryoView) -> Response | None:
    """The page that asks for the embryo's code before a final status; None once it is typed, or something is wrong."""
    embryo, given = view.embryo, request.form
    wanted = EmbryoStatus(given.get("status") or str(embryo.status))
    is_final = EmbryoStorage.is_final(wanted) and wanted in embryo.next_statuses
    typed = line(given["code"], longest=_LONGEST_CODE) if "code" in given else None
    is_confirmed = typed == line(embryo.embryo_code, longest=_LONGEST_CODE)
    if not is_final or given.get("keep-status") == "now" or is_confirmed:
        return None
    form = Form(_fields(embryo), sent(_values(embryo)))
    if not form.validate():
        return None
    carried = [
        (name, given[name]) for name in given if name in ("opened", "seen") or name.startswith("keep-")
    ]
    wishes = _wishes_for(wanted)
    page = FinalStatusPage(
        view=view,
        wanted=labels.embryo_status_term(wanted),
        is_against_wish=bool(wishes) and embryo.disposition not in wishes,
        carried=[*carried, *((field.name, field.data or "") for field in form)],
        typed=typed,
    )
    return render(page, fragment="edit", status=200 if typed is None else 422)


def _wishes_for(status: EmbryoStatus) -> tuple[Disposition, ...]:
    """The wishes that a final status carries out; none where it doesn't rest on one."""
    carried_out = {
        EmbryoStatus.DISCARDED: (Disposition.DISCARD,),
        EmbryoStatus.DONATED: (Disposition.DONATE_RESEARCH, Disposition.DONATE_PATIENT),
        EmbryoStatus.SHIPPED_OUT: (Disposition.TRANSPORT,),
    }
    return carried_out.get(status, ())
