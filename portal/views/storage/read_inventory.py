"""Reading the embryos in storage step by step, and keeping with the session what was read."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial

import msgspec
from msgspec.structs import replace

from portal.context import context, session
from portal.services.client import Care
from portal.services.consents import list_consents
from portal.services.consents.forms import EMBRYO_KINDS, ConsentForm
from portal.services.episodes import Episode, get_episode
from portal.services.errors import CareError, NotAllowed, NotFound
from portal.services.gather import gather_all
from portal.services.paging import CAP
from portal.state.copies import INVENTORY
from portal.store import StoreDown
from portal.views.episodes.lookup import remembered
from portal.views.storage.inventory import MOST, Inventory, kept_of, once

STEP = 48
"""How many episodes one step reads."""


_AT_ONCE = 12
"""How many of them the API is asked for at the same time."""


_SECONDS = 15 * 60


def read_inventory(care: Care) -> Inventory:
    """Return what is kept, or read the first step; raises CareError if the forms can't be read."""
    return kept_inventory() or read_on(care)


def read_on(care: Care) -> Inventory:
    """Read another step and return all that was read; when nothing is left, what failed is tried again.

    Raises CareError if the forms can't be read.
    """
    known = kept_inventory() or Inventory(begun_at=context().clock(), named=tuple(remembered()))
    if known.is_full:
        return known
    if not known.is_last_form and len(known.named) - known.asked < STEP:
        known = _with_forms(care, known)
    known = _with_episodes(care, known)
    return replace(known, is_kept=_keep(known))


@contextmanager
def forgetting_inventory() -> Generator[None]:
    """Around a change of an embryo: afterwards the inventory is read anew, also if nobody knows whether the change happened."""
    try:
        yield
    finally:
        forget_inventory()


def forget_inventory() -> None:
    if name := session().name:
        try:
            context().copies.drop(name, INVENTORY)
        except StoreDown:
            return


def _with_forms(care: Care, known: Inventory) -> Inventory:
    """Look through the next page of forms, the oldest first, so that new ones don't move the others."""
    page = list_consents(care, skip=known.forms, limit=CAP, sorting="sentAt")
    about_embryos = [form for form in page.items if _is_about_embryos(form)]
    ids = (form.episode_id for form in about_embryos if form.episode_id)
    forms = known.forms + page.received
    return replace(
        known,
        named=tuple(dict.fromkeys((*known.named, *ids))),
        forms=forms,
        is_last_form=not page.received or (page.is_counted and forms >= page.total),
        unnamed=known.unnamed + sum(map(_leads_nowhere, about_embryos)) + len(page.unreadable),
    )


def _is_about_embryos(form: ConsentForm) -> bool:
    return form.kind in EMBRYO_KINDS or bool(form.embryo_storage_ids)


def _leads_nowhere(form: ConsentForm) -> bool:
    """Whether it names no episode, and isn't one for embryos that are yet to be frozen, which nobody has signed."""
    return not form.episode_id and bool(form.embryo_storage_ids or form.signatures)


def _with_episodes(care: Care, known: Inventory) -> Inventory:
    """Read the next episodes; an API that answers none of some is asked for no more."""
    ids = known.named[known.asked :][:STEP]
    is_again = not ids and not known.may_go_on
    ids = known.failed[:STEP] if is_again else ids
    read: dict[str, Episode | CareError] = {}
    for first in range(0, len(ids), _AT_ONCE):
        some = ids[first : first + _AT_ONCE]
        answers = gather_all([partial(get_episode, care, id_) for id_ in some])
        read |= zip(some, answers, strict=True)
        if not any(isinstance(answer, Episode | NotFound | NotAllowed) for answer in answers):
            break
    failed = [id_ for id_, answer in read.items() if not isinstance(answer, Episode)]
    found = [answer for answer in read.values() if isinstance(answer, Episode)]
    return replace(
        known,
        asked=known.asked + (0 if is_again else len(read)),
        failed=tuple(dict.fromkeys((*(id_ for id_ in known.failed if id_ not in read), *failed))),
        embryos=once((*known.embryos, *kept_of(found)))[:MOST],
    )


def kept_inventory() -> Inventory | None:
    """What this session keeps, unless it began too long ago."""
    name = session().name
    try:
        held = context().copies.find(name, INVENTORY, b"") if name else None
    except StoreDown:
        return None
    try:
        known = msgspec.msgpack.decode(held, type=Inventory) if held else None
    except msgspec.DecodeError:  # of another version of the portal
        return None
    return known if known and 0 <= context().clock() - known.begun_at < _SECONDS else None


def _keep(known: Inventory) -> bool:
    """Keep it, and say whether the store took it; if not, each page reads the first step."""
    name = session().name
    if name is None:
        return False
    try:
        context().copies.keep(name, INVENTORY, b"", msgspec.msgpack.encode(known), seconds=_SECONDS)
    except StoreDown:
        return False
    return True
