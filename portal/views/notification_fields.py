"""The fields of the notification settings: the channels of each kind, quiet hours as a whole, the language."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

import msgspec
from babel.dates import get_timezone_location
from flask import g, request
from msgspec.structs import replace
from werkzeug.datastructures import MultiDict

from portal.config.time_zones import zone_named
from portal.i18n.gettext import _
from portal.i18n.locale import language
from portal.services.notifications import NotificationChoice, NotificationSettings, QuietHours
from portal.views.notification_words import kind_words
from portal.web.edit_form import EditForm
from portal.web.fields import Field, Fields, member
from portal.web.filters import in_a_row
from portal.web.forms import choice, text
from portal.web.locale_selector import NAMES

CHANNELS = ("in_app", "email", "sms", "push")
HOURS = ("start", "end", "time_zone")
KIND = "kind-"


def settings_fields(settings: NotificationSettings) -> Fields[NotificationSettings]:
    """The kinds that can be changed, each as the names of its channels; quiet hours as a whole; the language."""
    languages = [("", _("The portal’s language")), *languages_offered(settings)]
    wrong = _("Choose one of the clinic’s languages.")
    hours = Field(
        "quiet_hours", text(_("Quiet hours")), _hours, _with_hours, sent=_sent_hours, words=_in_words
    )
    return [
        *(_kind(item.type) for item in settings.items if not item.locked),
        hours,
        member("language", choice(_("Language"), languages, wrong=wrong)),
    ]


def languages_offered(settings: NotificationSettings) -> list[tuple[str, str]]:
    """The clinic's languages, and the one that is set, such as `es-MX`: a list without it would change it unseen."""
    codes = dict.fromkeys((*g.tenant.languages, settings.language or ""))
    return [(code, NAMES.get(code, code)) for code in codes if code]


def _kind(type_: str) -> Field[NotificationSettings]:
    def channels(settings: NotificationSettings) -> str:
        return next((" ".join(channels_of(item)) for item in settings.items if item.type == type_), "")

    def with_channels(settings: NotificationSettings, typed: str) -> NotificationSettings:
        chosen = {channel: channel in typed.split() for channel in CHANNELS}
        items = (replace(item, **chosen) if item.type == type_ else item for item in settings.items)
        return replace(settings, items=tuple(items))

    def sent(form: Mapping[str, str]) -> str:
        boxes = cast("MultiDict[str, str]", form)
        return " ".join(channel for channel in CHANNELS if type_ in boxes.getlist(channel))

    def words(typed: str) -> str:
        chosen = [channel_words(channel) for channel in CHANNELS if channel in typed.split()]
        return in_a_row(chosen) or _("Not at all")

    return Field(f"{KIND}{type_}", text(kind_words(type_)), channels, with_channels, sent=sent, words=words)


def channels_of(item: NotificationChoice) -> list[str]:
    return [channel for channel in CHANNELS if getattr(item, channel)]


def _hours(settings: NotificationSettings) -> str:
    quiet = settings.quiet_hours
    return _written(quiet.start[:5], quiet.end[:5], quiet.time_zone) if quiet else ""  # some send seconds


def _sent_hours(form: Mapping[str, str]) -> str:
    start, end = (form.get(name, "").strip()[:5] for name in ("start", "end"))
    return _written(start, end, form.get("time_zone")) if start or end else ""


def _written(start: str, end: str, zone: str | None) -> str:
    return msgspec.json.encode([start, end, zone or str(g.tenant.time_zone)]).decode()


def hours_in(hours: str) -> QuietHours:
    """Quiet hours as they were written; without any, or where a form holds something else, only the clinic's time zone."""
    try:
        start, end, zone = msgspec.json.decode(hours, type=tuple[str, str, str])
    except msgspec.DecodeError:
        return QuietHours(time_zone=str(g.tenant.time_zone))
    return QuietHours(start=start, end=end, time_zone=zone)


def _with_hours(settings: NotificationSettings, hours: str) -> NotificationSettings:
    return replace(settings, quiet_hours=hours_in(hours) if hours else None)


def _in_words(hours: str) -> str:
    if not hours:
        return _("None")
    quiet = hours_in(hours)
    start, end = quiet.start or "–", quiet.end or "–"
    return _("%(start)s to %(end)s, %(zone)s", start=start, end=end, zone=quiet.time_zone)


def check_settings(settings: NotificationSettings, form: EditForm) -> None:
    """Add the errors of kinds that the form doesn't offer, and of quiet hours."""
    for item in settings.items:
        if item.locked and {c for c in CHANNELS if item.type in request.form.getlist(c)} - {
            *channels_of(item)
        }:
            form.faults["matrix"] = _(
                "“%(kind)s” can’t be changed: your clinic always sends these.", kind=kind_words(item.type)
            )
    if (hours := form.value("quiet_hours")) != _hours(settings):
        form.faults |= hours_faults(hours)


def hours_faults(hours: str) -> dict[str, str]:
    """What is wrong with quiet hours, by the id of the input."""
    faults: dict[str, str] = {}
    if not hours:
        return faults
    quiet = hours_in(hours)
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


def channel_words(channel: str) -> str:
    words = {"in_app": _("In the portal"), "email": _("E-mail"), "sms": _("Text message"), "push": _("Push")}
    return words[channel]


def zone_words(name: str) -> str:
    zone = zone_named(name)
    place = zone and get_timezone_location(zone.key, locale=language(), return_city=True)
    return f"{place} ({name})" if place and name != "UTC" else name
