"""Irreversible moves of embryos that one person has sent and that wait for a second one, sealed in the store.

Where the clinic asks for it (`second_person_for_embryos`), nothing is sent to the care API before a second person, with an
account of their own, has sent the same within 15 minutes and over the same version of the record. What was kept is what is
sent then; the second person can change nothing of it.

A move goes on waiting when its first person's session ends: the second may sign in on the same device. It isn't asked
again whether the first may still do it; that is the case for 15 minutes at most, no longer than a token lives.
"""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

import msgspec
from flask import g, url_for

from portal.context import context
from portal.i18n.gettext import _
from portal.i18n.locale import speaking
from portal.services.storage import EmbryoStatus, EmbryoStorage
from portal.state.session_records import Person
from portal.views.embryo_view import EmbryoView
from portal.web import audit
from portal.web.edit_form import version_mark
from portal.web.filters import local
from portal.web.forms import Values
from portal.web.locale_selector import language_of
from portal.web.modules import has_module
from portal.web.permissions import may

_SECONDS = 15 * 60


class PendingMove(msgspec.Struct, frozen=True, kw_only=True):
    """A move as the first person (`sub`, `name`) sent it; `at` in seconds since 1970.

    `values` is what to make of the version of the record that `mark` stands for. `taken_by` is who sends or drops it now.
    """

    id: str
    sub: str
    name: str
    at: float
    embryo_id: str
    episode_id: str
    patient: str
    mark: str
    values: Values
    taken_by: str = ""

    @property
    def wanted(self) -> EmbryoStatus:
        return EmbryoStatus(self.values["status"])

    @property
    def sent_at(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    @property
    def ends_at(self) -> datetime:
        """Until when a second person can send it."""
        return datetime.fromtimestamp(self.at + _SECONDS, UTC)

    @property
    def href(self) -> str:
        return url_for("storage.second_person.show", embryo_id=self.embryo_id, episode=self.episode_id)

    def is_by(self, person: Person) -> bool:
        """Whether this person sent it: whoever has the same `sub`, which is who the care API takes them for."""
        return self.sub == person.sub


def pending_move(embryo: EmbryoStorage) -> PendingMove | None:
    """Return what waits for a second person at this version of the record, if the clinic asks for one."""
    held = context().vault.get(_name(embryo.id), PendingMove) if g.tenant.second_person_for_embryos else None
    return held.value if held and held.value.mark == _mark(embryo) else None


def keep_pending_move(view: EmbryoView, person: Person, values: Values) -> PendingMove:
    """Keep what this person sent and return it; or, of two at the same time, what came first."""
    embryo, vault, now = view.embryo, context().vault, context().clock()
    pending = PendingMove(
        id=secrets.token_urlsafe(12),
        sub=person.sub,
        name=person.name,
        at=now,
        embryo_id=embryo.id,
        episode_id=view.episode.id,
        patient=view.owner_name,
        mark=_mark(embryo),
        values=values,
    )
    before = pending_move(embryo)
    if before and (not before.is_by(person) or before.values == values):
        return before
    forget(embryo.id)  # it was for an earlier version, or its own person sent it anew
    is_kept = vault.insert(_name(embryo.id), pending, expires_at=now + _SECONDS, tags=[vault.tag(*_tag())])
    return pending if is_kept else pending_move(embryo) or pending


def take(pending: PendingMove, person: Person, *, again: bool = False) -> bool:
    """Claim the move, to send or to drop it; False if somebody else has done so. `again`: this person may have."""

    def taken(held: PendingMove) -> PendingMove | None:
        is_free = not held.taken_by or (again and held.taken_by == person.sub)
        return (
            msgspec.structs.replace(held, taken_by=person.sub) if held.id == pending.id and is_free else None
        )

    return context().vault.update(_name(pending.embryo_id), PendingMove, taken) is not None


def release(pending: PendingMove) -> None:
    """Let it be claimed again: it was not sent, or refused."""

    def released(held: PendingMove) -> PendingMove | None:
        return msgspec.structs.replace(held, taken_by="") if held.id == pending.id else None

    context().vault.update(_name(pending.embryo_id), PendingMove, released)


def forget(embryo_id: str) -> None:
    context().vault.delete(_name(embryo_id))


def pending_moves(person: Person) -> list[PendingMove]:
    """Return what waits for a second person at the clinic, oldest first, for those who may make such moves."""
    if not (g.tenant.second_person_for_embryos and has_module("storage") and may(person, "embryo.edit")):
        return []
    vault = context().vault
    held = (vault.get(name, PendingMove) for name in vault.tagged(*_tag()))
    moves = sorted((record.value for record in held if record), key=lambda pending: pending.at)
    for pending in moves:
        audit.note_kept_read("embryo.list", "embryo", pending.embryo_id)
    return moves


def both_names(pending: PendingMove, second: Person) -> str:
    """The record's notes with a line, in the clinic's first language, that says who made the move and when."""
    at = f"{local(pending.sent_at):%Y-%m-%d %H:%M}"
    with speaking(language_of(None)):
        line = _(
            "%(first)s (%(at)s) and %(second)s checked the straw and sent this.",
            first=pending.name,
            at=at,
            second=second.name,
        )
    return f"{pending.values['notes']}\n{line}".lstrip("\n")


def _mark(embryo: EmbryoStorage) -> str:
    """Of what the form changes: a hold that came meanwhile isn't another version, but says why it can't be done."""
    told = msgspec.json.encode([embryo.status, embryo.location, embryo.storage_expires_at, embryo.notes])
    return version_mark({"embryo": told.decode()}, embryo.concurrency_stamp)


def _name(embryo_id: str) -> str:
    return context().vault.name("first-step", g.tenant.key, embryo_id)


def _tag() -> tuple[str, ...]:
    return ("first-steps-at", g.tenant.key)
