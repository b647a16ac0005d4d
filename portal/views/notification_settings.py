"""Notification settings: the channels of each kind, quiet hours and language."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from babel.dates import get_timezone_location
from flask import Blueprint, Response, g, request, url_for
from werkzeug.datastructures import MultiDict

from portal.config.tenants import Side
from portal.config.time_zones import zone_named, zones_offered
from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.services.client import Care
from portal.services.errors import Conflict, Invalid
from portal.services.notifications import (
    NotificationChoice,
    NotificationSettings,
    QuietHours,
    get_settings,
    update_settings,
)
from portal.state.session_records import Person
from portal.views.notifications import kind_words
from portal.web import unsent
from portal.web.act_once import Attempt, act_once, begin_edit
from portal.web.filters import in_a_row
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.locale_selector import NAMES
from portal.web.pages import Page

bp = Blueprint("notification_settings", __name__, url_prefix="/notifications/settings")

_CHANNELS = ("in_app", "email", "sms", "push")


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Show the settings."""
    current = get_settings(care)
    given = unsent.restored_form(url_for(".save"))
    if given is None:
        return _settings_page(Filled.of(current))
    filled = Filled.of_form(current, given)
    is_changed = filled.settings.concurrency_stamp != current.concurrency_stamp
    return _settings_page(filled, saved=current if is_changed else None)


@bp.post("")
@signed_in(Side.PATIENT, Side.STAFF)
@unsent.typed_text(*_CHANNELS, "start", "end", "time_zone", "language", "stamp")
def save(care: Care, person: Person) -> Response:
    """Save the settings, unless they are invalid or others were saved meanwhile."""
    current = get_settings(care)
    filled = Filled.of_form(current, request.form)
    if filled.errors:
        return _settings_page(filled, status=422)
    if request.form.get("stamp", "") != (current.concurrency_stamp or ""):
        return _settings_page(filled, saved=current, status=409)
    sent = (current.concurrency_stamp, msgspec.json.encode(filled.settings).decode())
    try:
        act_once(
            Attempt(person.sub, begin_edit(person.sub, "notification-settings", *sent), sent),
            lambda _key: update_settings(care, filled.settings),
            event="notification-settings.update",
            kind="notification-settings",
            is_repeatable=True,
        )
    except Conflict:
        return _settings_page(filled, saved=get_settings(care), status=409)
    except Invalid as error:
        return _settings_page(filled.with_errors(error), status=422)
    toast(_("Your notification settings are saved."))
    return redirect_to(url_for(".show"))


@dataclass(frozen=True, slots=True)
class Filled:
    """The settings as form values, and their errors: (field id, sentence)."""

    settings: NotificationSettings
    start: str
    end: str
    zone: str
    errors: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, saved: NotificationSettings) -> Filled:
        """The form as it is first shown."""
        quiet = saved.quiet_hours or QuietHours()
        return cls(saved, quiet.start, quiet.end, quiet.time_zone or str(g.tenant.time_zone))

    @classmethod
    def of_form(cls, current: NotificationSettings, form: MultiDict[str, str]) -> Filled:
        """The submitted form applied to the current settings; locked ones stay unchanged."""
        chosen = {channel: set(form.getlist(channel)) for channel in _CHANNELS}
        errors = [*_locked_errors(current, chosen)]
        start, end = (form.get(name, "").strip()[:5] for name in ("start", "end"))
        zone = form.get("time_zone", "")
        language = form.get("language", "")
        errors += _quiet_errors(start, end, zone)
        if language and language not in {*g.tenant.languages, current.language}:
            errors.append(("language", _("Choose one of the clinic’s languages.")))
        quiet = QuietHours(start=start, end=end, time_zone=zone) if start or end else None
        settings = msgspec.structs.replace(
            current,
            items=tuple(_chosen(item, chosen) for item in current.items),
            quiet_hours=quiet,
            language=language or None,
            concurrency_stamp=form.get("stamp") or None,
        )
        return cls(settings, start, end, zone, tuple(errors))

    def with_errors(self, error: Invalid) -> Filled:
        """A copy with the care API's errors, in the portal's words."""
        found: list[tuple[str, str]] = []
        for field in error.fields:
            if field.startswith("quiet_hours"):
                found.append(("start", _("The clinic’s system doesn’t accept these quiet hours.")))
            elif field.startswith("language"):
                found.append(("language", _("The clinic’s system doesn’t accept this language.")))
        found = found or [("matrix", _("The clinic’s system doesn’t accept one of these choices."))]
        return Filled(self.settings, self.start, self.end, self.zone, tuple(dict.fromkeys(found)))


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting that was saved meanwhile and differs from the person's choice."""

    what: str
    yours: str
    saved: str


def _chosen(item: NotificationChoice, chosen: dict[str, set[str]]) -> NotificationChoice:
    if item.locked:
        return item
    return msgspec.structs.replace(item, **{channel: item.type in chosen[channel] for channel in _CHANNELS})


def _locked_errors(current: NotificationSettings, chosen: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Reject submitted values for locked kinds, which the form doesn't contain."""
    return [
        (
            "matrix",
            _("“%(kind)s” can’t be changed: your clinic always sends these.", kind=kind_words(item.type)),
        )
        for item in current.items
        if item.locked
        and any(item.type in chosen[channel] and not getattr(item, channel) for channel in _CHANNELS)
    ]


def _quiet_errors(start: str, end: str, zone: str) -> list[tuple[str, str]]:
    if not start and not end:
        return []
    errors: list[tuple[str, str]] = []
    for name, given, missing in (
        ("start", start, _("Enter when quiet hours begin, or leave both times empty.")),
        ("end", end, _("Enter when quiet hours end, or leave both times empty.")),
    ):
        if not given:
            errors.append((name, missing))
        elif not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", given):
            errors.append((name, _("Enter a time between 00:00 and 23:59, such as 22:00.")))
    if not errors and start == end:
        errors.append(("end", _("Quiet hours must end at another time than they begin.")))
    if not zone_named(zone):
        errors.append(("time_zone", _("Choose a time zone from the list.")))
    return errors


class SettingsPage(Page, template="notifications/settings.html"):
    """The form; `saved` are settings saved meanwhile, `differences` how they differ from the input."""

    filled: Filled
    stamp: str
    saved: NotificationSettings | None
    differences: list[Difference]
    channels: list[tuple[str, str]]
    kind_words: Callable[[str], str]
    zones: list[tuple[str, str]]
    languages_offered: list[tuple[str, str | None]]
    clinic_zone: str


def _settings_page(
    filled: Filled, *, saved: NotificationSettings | None = None, status: int = 200
) -> Response:
    """The form; after a conflict, with the settings saved meanwhile beside it, ready to overwrite them."""
    stamp = (saved or filled.settings).concurrency_stamp
    page = SettingsPage(
        filled=filled,
        stamp=stamp or "",
        saved=saved,
        differences=_differences(filled.settings, saved) if saved else [],
        channels=[(channel, _channel_words(channel)) for channel in _CHANNELS],
        kind_words=kind_words,
        zones=[(name, _zone_words(name)) for name in zones_offered(g.tenant.time_zone, filled.zone)],
        languages_offered=[(code, NAMES.get(code, code)) for code in g.tenant.languages],
        clinic_zone=str(g.tenant.time_zone),
    )
    return render(page, status=status)


def _differences(yours: NotificationSettings, saved: NotificationSettings) -> list[Difference]:
    mine = {item.type: item for item in yours.items}
    found = [
        Difference(kind_words(item.type), _ways(mine[item.type]), _ways(item))
        for item in saved.items
        if item.type in mine and _ways(mine[item.type]) != _ways(item)
    ]
    found.append(Difference(_("Quiet hours"), _hours(yours.quiet_hours), _hours(saved.quiet_hours)))
    found.append(Difference(_("Language"), _language(yours.language), _language(saved.language)))
    return [difference for difference in found if difference.yours != difference.saved]


def _ways(item: NotificationChoice) -> str:
    ways = [_channel_words(channel) for channel in _CHANNELS if getattr(item, channel)]
    return in_a_row(ways) or _("Not at all")


def _hours(quiet: QuietHours | None) -> str:
    if quiet is None:
        return _("None")
    return _("%(start)s to %(end)s, %(zone)s", start=quiet.start, end=quiet.end, zone=quiet.time_zone or "–")


def _language(code: str | None) -> str:
    return NAMES.get(code, code) if code else _("The portal’s language")


def _channel_words(channel: str) -> str:
    words = {"in_app": _("In the portal"), "email": _("E-mail"), "sms": _("Text message"), "push": _("Push")}
    return words[channel]


def _zone_words(name: str) -> str:
    zone = zone_named(name)
    place = zone and get_timezone_location(zone.key, locale=language(), return_city=True)
    return f"{place} ({name})" if place and name != "UTC" else name
