"""Signed-in devices: a person's active sessions, and signing out of one or all of them.

Ending other sessions needs a fresh sign-in, so that someone with an unlocked device can't lock its owner out of others.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from flask import Blueprint, Response, g, url_for

from portal.context import context, session
from portal.i18n.gettext import _
from portal.signin.logout import revoke
from portal.state.session_records import SessionRecord
from portal.values import Value
from portal.views.sign_in.sign_out import sign_out
from portal.web.guard import is_fresh, to_sign_in
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast

bp = Blueprint("devices", __name__, url_prefix="/me/devices")


class Device(Value, frozen=True):
    """One active session; `handle` identifies it in addresses and reveals neither the cookie nor the record name."""

    handle: str
    name: str
    words: str
    begun_at: datetime
    used_at: datetime
    here: bool


class ListPage(Page, template="devices/index.html"):
    """The signed-in devices; `asks_first` says that signing out another one needs a fresh sign-in."""

    devices: list[Device]
    asks_first: bool


class ConfirmPage(Page, template="devices/one.html"):
    device: Device
    asks_first: bool


class EverywherePage(Page, template="devices/everywhere.html"):
    """Asks for confirmation before signing out everywhere."""

    asks_first: bool


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def index(care: Care, person: Person) -> Response:
    """Show the signed-in devices, this one first, then by last use."""
    devices = _devices(person)
    return render(ListPage(devices=devices, asks_first=_asks_first(person, devices)))


@bp.get("/<handle>/sign-out")
@signed_in(Side.PATIENT, Side.STAFF)
def confirm(care: Care, person: Person, handle: str) -> Response:
    """Ask whether to sign out one device; the fresh sign-in returns here."""
    device = _device_at(person, handle)
    if device is None:
        return _signed_out_already()
    return render(ConfirmPage(device=device, asks_first=_asks_first(person, [device])))


@bp.post("/<handle>/sign-out")
@signed_in(Side.PATIENT, Side.STAFF)
def end(care: Care, person: Person, handle: str) -> Response:
    """Sign out one device, if it is still signed in. Any other than this one needs a fresh sign-in."""
    device = _device_at(person, handle)
    if device is None:
        return _signed_out_already()
    if device.here:
        return sign_out()
    if _asks_first(person, [device]):
        return to_sign_in(next_path=url_for(".confirm", handle=handle), fresh=True)
    _end(device)
    audit.note("device.sign-out", "done")
    toast(_("The device is signed out."))
    return redirect_to(url_for(".index"))


@bp.get("/sign-out")
@signed_in(Side.PATIENT, Side.STAFF)
def confirm_everywhere(care: Care, person: Person) -> Response:
    return render(EverywherePage(asks_first=_asks_first(person, _devices(person))))


@bp.post("/sign-out")
@signed_in(Side.PATIENT, Side.STAFF)
def everywhere(care: Care, person: Person) -> Response:
    """Sign out all devices, this one last; needs a fresh sign-in if there are others."""
    devices = _devices(person)
    if _asks_first(person, devices):
        return to_sign_in(next_path=url_for(".confirm_everywhere"), fresh=True)
    for device in devices:
        if not device.here:
            _end(device)
    audit.note("device.sign-out-everywhere", "done")
    return sign_out()


def _devices(person: Person) -> list[Device]:
    live = context().sessions.of_person(person, g.tenant.key)
    found = [_device(name, record) for name, record in live]
    return sorted(found, key=lambda device: (not device.here, -device.used_at.timestamp()))


def _device_at(person: Person, handle: str) -> Device | None:
    return next((device for device in _devices(person) if device.handle == handle), None)


def _asks_first(person: Person, devices: list[Device]) -> bool:
    """Whether signing out these devices needs a fresh sign-in first."""
    return not is_fresh(person) and any(not device.here for device in devices)


def _signed_out_already() -> Response:
    toast(_("That device is signed out already."), tone="info")
    return redirect_to(url_for(".index"))


def _device(name: str, record: SessionRecord) -> Device:
    return Device(
        handle=hashlib.sha256(f"device:{name}".encode()).hexdigest()[:32],
        name=name,
        words=record.device or _("Unknown device"),
        begun_at=datetime.fromtimestamp(record.created_at, UTC),
        used_at=datetime.fromtimestamp(record.used_at, UTC),
        here=name == session().name,
    )


def _end(device: Device) -> None:
    """End the session here at once, then revoke its refresh token at the identity server."""
    tokens = context().sessions.tokens_of(device.name)
    context().sessions.end_from_elsewhere(device.name)
    provider = context().sign_in.provider(g.tenant)
    revoke(g.tenant, provider, tokens, context().settings.timeouts)
