"""Notification settings: the channels of each kind, quiet hours and language."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flask import Blueprint, Response, g, url_for

from portal.config.time_zones import zones_offered
from portal.i18n.gettext import _
from portal.services.notifications import NotificationSettings, QuietHours, get_settings, update_settings
from portal.views.notification_fields import (
    CHANNELS,
    HOURS,
    KIND,
    channel_words,
    channels_of,
    check_settings,
    hours_faults,
    hours_in,
    languages_offered,
    settings_fields,
    zone_words,
)
from portal.views.notification_words import kind_words
from portal.web.edit_form import Comparison, Difference, Edit, EditForm, Saved
from portal.web.editing import EDIT_FORM, Editing, open_form, save_edit, tell_saved
from portal.web.handlers import Care, Page, Person, Side, redirect_to, render, signed_in
from portal.web.unsent import typed_text

bp = Blueprint("notification_settings", __name__, url_prefix="/notifications/settings")


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
    languages_offered: list[tuple[str, str]]
    clinic_zone: str


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person) -> Response:
    current = get_settings(care)
    return _page(current, open_form(_editing(care, person), current))


@bp.post("")
@signed_in(Side.PATIENT, Side.STAFF)
@typed_text(*EDIT_FORM, *CHANNELS, *HOURS, "language")
def save(care: Care, person: Person) -> Response:
    """Save the settings, or show what was saved meanwhile."""
    current = get_settings(care)
    result = save_edit(_editing(care, person), current)
    if not isinstance(result, Saved):
        return _page(current, result)
    tell_saved(result, _("Your notification settings are saved."))
    return redirect_to(url_for(".show"))


def _editing(care: Care, person: Person) -> Editing[NotificationSettings]:
    return Editing(
        owner=person.sub,
        event="notification-settings.update",
        fields=settings_fields,
        read=partial(get_settings, care),
        write=lambda settings, _read: update_settings(care, settings),
        check=check_settings,
    )


def _page(current: NotificationSettings, edit: Edit) -> Response:
    """The form, holding what was typed; saving it after a comparison keeps that instead of what was saved meanwhile."""
    if isinstance(edit, Comparison):
        values, differences, note = dict(edit.carried), list(edit.differences), ""
        hidden = [(name, values.pop(name)) for name in ("opened", "seen")]
        hidden += [(f"keep-{name}", "mine") for name in values]
        errors = [] if edit.status == 200 else list(hours_faults(values["quiet_hours"]).items())
    else:
        values, differences, hidden = edit.form.values, None, list(edit.carried)
        errors, note = _errors(edit.form), edit.note
    hours = hours_in(values["quiet_hours"])
    page = SettingsPage(
        settings=current,
        chosen={
            item.type: values[name].split() if (name := f"{KIND}{item.type}") in values else channels_of(item)
            for item in current.items
        },
        chosen_language=values["language"],
        carried=hidden,
        differences=differences,
        errors=errors,
        note=note,
        hours=hours,
        channels=[(channel, channel_words(channel)) for channel in CHANNELS],
        kind_words=kind_words,
        zones=[(name, zone_words(name)) for name in _zones(current, hours)],
        languages_offered=languages_offered(current),
        clinic_zone=str(g.tenant.time_zone),
    )
    return render(page, status=edit.status)


def _zones(current: NotificationSettings, hours: QuietHours) -> list[str]:
    """The zones to choose from, and the one that is set, be there no such zone: a list without it would change it unseen."""
    held = (current.quiet_hours and current.quiet_hours.time_zone) or str(g.tenant.time_zone)
    return list(dict.fromkeys((*zones_offered(g.tenant.time_zone, hours.time_zone or ""), held)))


def _errors(form: EditForm) -> list[tuple[str, str]]:
    """All errors by the id of what they are about, in the order of the page."""
    places = {"quiet_hours": "start", "language": "language"}
    of_fields = [(places.get(field.name, "matrix"), str(words)) for field in form for words in field.errors]
    return [*(("matrix", words) for words in form.form_errors), *form.faults.items(), *of_fields]
