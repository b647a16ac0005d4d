"""Notification settings: the channels of each kind, quiet hours and language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import cast

import msgspec
from babel.dates import get_timezone_location
from flask import Blueprint, Response, g, request, url_for
from msgspec.structs import replace
from werkzeug.datastructures import MultiDict

from portal.config.tenants import Side
from portal.config.time_zones import zone_named, zones_offered
from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.services.client import Care
from portal.services.notifications import (
    NotificationChoice,
    NotificationSettings,
    QuietHours,
    get_settings,
    update_settings,
)
from portal.state.session_records import Person
from portal.views.notification_words import kind_words
from portal.web.edit_form import Comparison, Difference, Edit, EditForm, Saved
from portal.web.editing import EDIT_FORM, Editing, open_form, save_edit
from portal.web.fields import Field, Fields, member
from portal.web.filters import in_a_row
from portal.web.forms import choice, text
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast
from portal.web.locale_selector import NAMES
from portal.web.pages import Page
from portal.web.unsent import typed_text

bp = Blueprint("notification_settings", __name__, url_prefix="/notifications/settings")

_CHANNELS = ("in_app", "email", "sms", "push")
_HOURS = ("start", "end", "time_zone")
_KIND = "kind-"


class SettingsPage(Page, template="notifications/settings.html"):
    """The settings as a form; after a conflict, `differences` from what was saved meanwhile (else None) above it."""

    settings: NotificationSettings
    chosen: dict[str, list[str]]
    chosen_language: str
    carried: list[tuple[str, str]]
    differences: list[Difference] | None
    errors: list[tuple[str, str]]
    note: str
    hours: QuietHours
    channels: list[tuple[str, str]]
    kind_words: Callable[[str], str]
    zones: list[tuple[str, str]]
    languages_offered: list[tuple[str, str | None]]
    clinic_zone: str


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person) -> Response:
    """Show the settings."""
    current = get_settings(care)
    return _page(current, open_form(_editing(care, person), current))


@bp.post("")
@signed_in(Side.PATIENT, Side.STAFF)
@typed_text(*EDIT_FORM, *_CHANNELS, *_HOURS, "language")
def save(care: Care, person: Person) -> Response:
    """Save the settings, or show what was saved meanwhile."""
    current = get_settings(care)
    result = save_edit(_editing(care, person), current)
    if not isinstance(result, Saved):
        return _page(current, result)
    toast(_("Your notification settings are saved."))
    return redirect_to(url_for(".show"))


def _editing(care: Care, person: Person) -> Editing[NotificationSettings]:
    return Editing(
        owner=person.sub,
        event="notification-settings.update",
        kind="notification-settings",
        fields=_fields,
        read=partial(get_settings, care),
        write=lambda settings, _read: update_settings(care, settings),
        check=_check,
    )


def _fields(settings: NotificationSettings) -> Fields[NotificationSettings]:
    """The kinds that can be changed, each as the names of its channels; quiet hours as a whole; the language."""
    codes = sorted({"", *g.tenant.languages, settings.language or ""})
    languages = [(code, NAMES.get(code) or code or _("The portal’s language")) for code in codes]
    wrong = _("Choose one of the clinic’s languages.")
    hours = Field(
        "quiet_hours", text(_("Quiet hours")), _hours, _with_hours, sent=_sent_hours, words=_in_words
    )
    return [
        *(_kind(item.type) for item in settings.items if not item.locked),
        hours,
        member("language", choice(_("Language"), languages, wrong=wrong)),
    ]


def _kind(type_: str) -> Field[NotificationSettings]:
    def channels(settings: NotificationSettings) -> str:
        return next((" ".join(_channels_of(item)) for item in settings.items if item.type == type_), "")

    def with_channels(settings: NotificationSettings, typed: str) -> NotificationSettings:
        chosen = {channel: channel in typed.split() for channel in _CHANNELS}
        items = (replace(item, **chosen) if item.type == type_ else item for item in settings.items)
        return replace(settings, items=tuple(items))

    def sent(form: Mapping[str, str]) -> str:
        boxes = cast("MultiDict[str, str]", form)
        return " ".join(channel for channel in _CHANNELS if type_ in boxes.getlist(channel))

    def words(typed: str) -> str:
        chosen = [_channel_words(channel) for channel in _CHANNELS if channel in typed.split()]
        return in_a_row(chosen) or _("Not at all")

    return Field(f"{_KIND}{type_}", text(kind_words(type_)), channels, with_channels, sent=sent, words=words)


def _channels_of(item: NotificationChoice) -> list[str]:
    return [channel for channel in _CHANNELS if getattr(item, channel)]


def _hours(settings: NotificationSettings) -> str:
    quiet = settings.quiet_hours
    return _written(quiet.start, quiet.end, quiet.time_zone) if quiet else ""


def _sent_hours(form: Mapping[str, str]) -> str:
    start, end = (form.get(name, "").strip()[:5] for name in ("start", "end"))
    return _written(start, end, form.get("time_zone")) if start or end else ""


def _written(start: str, end: str, zone: str | None) -> str:
    return msgspec.json.encode([start, end, zone or str(g.tenant.time_zone)]).decode()


def _read(hours: str) -> QuietHours:
    """Quiet hours as they were written; without any, or where a form holds something else, only the clinic's time zone."""
    try:
        start, end, zone = msgspec.json.decode(hours, type=tuple[str, str, str])
    except msgspec.DecodeError:
        return QuietHours(time_zone=str(g.tenant.time_zone))
    return QuietHours(start=start, end=end, time_zone=zone)


def _with_hours(settings: NotificationSettings, hours: str) -> NotificationSettings:
    return replace(settings, quiet_hours=_read(hours) if hours else None)


def _in_words(hours: str) -> str:
    if not hours:
        return _("None")
    quiet = _read(hours)
    start, end = quiet.start or "–", quiet.end or "–"
    return _("%(start)s to %(end)s, %(zone)s", start=start, end=end, zone=quiet.time_zone)


def _check(settings: NotificationSettings, form: EditForm) -> None:
    """Add the errors of kinds that the form doesn't offer, and of quiet hours."""
    for item in settings.items:
        if item.locked and {c for c in _CHANNELS if item.type in request.form.getlist(c)} - {
            *_channels_of(item)
        }:
            form.faults["matrix"] = _(
                "“%(kind)s” can’t be changed: your clinic always sends these.", kind=kind_words(item.type)
            )
    form.faults |= _faults(form.value("quiet_hours"))


def _faults(hours: str) -> dict[str, str]:
    """What is wrong with quiet hours, by the id of the input."""
    faults: dict[str, str] = {}
    if not hours:
        return faults
    quiet = _read(hours)
    for name, given, missing in (
        ("start", quiet.start, _("Enter when quiet hours begin, or leave both times empty.")),
        ("end", quiet.end, _("Enter when quiet hours end, or leave both times empty.")),
    ):
        if not given:
            faults[name] = missing
        elif not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", given):
            faults[name] = _("Enter a time between 00:00 and 23:59, such as 22:00.")
    if not faults and quiet.start == quiet.end:
        faults["end"] = _("Quiet hours must end at another time than they begin.")
    if not zone_named(quiet.time_zone or ""):
        faults["time_zone"] = _("Choose a time zone from the list.")
    return faults


def _page(current: NotificationSettings, edit: Edit) -> Response:
    """The form, holding what was typed; saving it after a comparison keeps that instead of what was saved meanwhile."""
    if isinstance(edit, Comparison):
        values, differences, note = dict(edit.carried), list(edit.differences), ""
        hidden = [(name, values.pop(name)) for name in ("opened", "seen")]
        hidden += [(f"keep-{name}", "mine") for name in values]
        errors = [] if edit.status == 200 else list(_faults(values["quiet_hours"]).items())
    else:
        values, differences, hidden = edit.form.values, None, list(edit.carried)
        errors, note = _errors(edit.form), edit.note
    hours = _read(values["quiet_hours"])
    page = SettingsPage(
        settings=current,
        chosen={
            item.type: values[name].split()
            if (name := f"{_KIND}{item.type}") in values
            else _channels_of(item)
            for item in current.items
        },
        chosen_language=values["language"],
        carried=hidden,
        differences=differences,
        errors=errors,
        note=note,
        hours=hours,
        channels=[(channel, _channel_words(channel)) for channel in _CHANNELS],
        kind_words=kind_words,
        zones=[
            (name, _zone_words(name)) for name in zones_offered(g.tenant.time_zone, hours.time_zone or "")
        ],
        languages_offered=[(code, NAMES.get(code, code)) for code in g.tenant.languages],
        clinic_zone=str(g.tenant.time_zone),
    )
    return render(page, status=edit.status)


def _errors(form: EditForm) -> list[tuple[str, str]]:
    """All errors by the id of what they are about, in the order of the page."""
    places = {"quiet_hours": "start", "language": "language"}
    of_fields = [(places.get(field.name, "matrix"), str(words)) for field in form for words in field.errors]
    return [*(("matrix", words) for words in form.form_errors), *form.faults.items(), *of_fields]


def _channel_words(channel: str) -> str:
    words = {"in_app": _("In the portal"), "email": _("E-mail"), "sms": _("Text message"), "push": _("Push")}
    return words[channel]


def _zone_words(name: str) -> str:
    zone = zone_named(name)
    place = zone and get_timezone_location(zone.key, locale=language(), return_city=True)
    return f"{place} ({name})" if place and name != "UTC" else name
