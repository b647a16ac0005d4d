"""The clinic's inventory of embryos for staff: by tank, canister and cane, with counted lists of what is urgent."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint, Response, request

from portal.services.errors import CareError
from portal.services.gather import attempt
from portal.services.listed import Count
from portal.views.embryo_view import EmbryoView
from portal.views.storage.places import Shelves
from portal.views.storage.read_inventory import (
    STEP,
    Inventory,
    forget_inventory,
    kept_inventory,
    read_inventory,
    read_on,
)
from portal.views.storage.selection import Selection, StoredList
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, wants

bp = Blueprint("cryo_room", __name__)

_STEPS_BY_THEMSELVES = 10
"""How many steps an open page takes before it asks whether to go on."""


class CryoRoomPage(Page, template="storage/cryo_room.html"):
    """The inventory, None if it can't be read.

    `reads_on` says that the page reads the next step by itself, `is_only_told` that only how far that is is shown.
    """

    shelves: Shelves | None
    inventory: Inventory | None
    selection: Selection
    reads_on: bool
    is_only_told: bool


def show_cryo_room(care: Care) -> Response:
    """Show what was read of the inventory, as selected; with `again` in the query it is read anew."""
    selection = Selection.read(request.args)
    if "again" in request.args:
        forget_inventory()
        return redirect_to(selection.href)
    return render(_page(attempt(lambda: read_inventory(care)), selection), fragment="results")


@bp.get("/read-on")
@signed_in(Side.STAFF)
def go_on(care: Care, person: Person) -> Response:
    """Read another step, and return to the page or tell it how far that is."""
    selection = Selection.read(request.args)
    page = _page(attempt(lambda: read_on(care)), selection, is_only_told=True)
    return render(page, fragment="reading") if wants("reading") else redirect_to(selection.href)


def ending_as_kept() -> Count | None:
    """How many embryos' storage ends within 60 days among those read before; None if none were."""
    inventory = kept_inventory()
    return _ending(inventory) if inventory else None


def count_ending(care: Care) -> Count | None:
    """Read the first of the inventory to count those whose storage ends; None if it can't be read."""
    inventory = attempt(lambda: read_inventory(care))
    _audit_shown(())
    return None if isinstance(inventory, CareError) else _ending(inventory)


def _ending(inventory: Inventory) -> Count:
    return inventory.listed.where(Selection(StoredList.ENDING).fits).count


def _page(known: Inventory | CareError, selection: Selection, *, is_only_told: bool = False) -> CryoRoomPage:
    read = None if isinstance(known, CareError) else known
    shelves = Shelves(read.listed, selection) if read else None
    shown = shelves.on_page if shelves and not is_only_told else ()
    _audit_shown(shown)
    return CryoRoomPage(
        shelves=shelves,
        inventory=read,
        selection=selection,
        reads_on=read is not None and _goes_on_by_itself(read),
        is_only_told=is_only_told,
    )


def _audit_shown(views: Sequence[EmbryoView]) -> None:
    audit.shown("storage.read", "embryo", [view.embryo.id for view in views])
    audit.shown("storage.read", "episode", [view.episode.id for view in views])
    audit.shown("consent.list", "consent", [])


def _goes_on_by_itself(read: Inventory) -> bool:
    return read.is_kept and read.may_go_on and -(-read.asked // STEP) % _STEPS_BY_THEMSELVES != 0
