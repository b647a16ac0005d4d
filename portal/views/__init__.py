"""The pages: one module for each resource, with the same name as in `portal.services` and `templates`."""

from __future__ import annotations

from flask import Blueprint

from portal.views import (
    booking,
    branding,
    care_team,
    cases,
    clinic_system,
    consents,
    conversations,
    devices,
    directories,
    emr_endpoints,
    episodes,
    files,
    find,
    health,
    help,
    home,
    language,
    me,
    notification_settings,
    notifications,
    open_by_id,
    patients,
    pgt_results,
    prospects,
    protocols,
    recent,
    relationships,
    sign_in,
    storage,
    style_guide,
)


def blueprints() -> list[Blueprint]:
    """Return every blueprint."""
    return [
        home.bp,
        sign_in.bp,
        language.bp,
        branding.bp,
        style_guide.bp,
        health.bp,
        consents.bp,
        conversations.bp,
        notifications.bp,
        notification_settings.bp,
        devices.bp,
        episodes.bp,
        files.bp,
        find.bp,
        help.bp,
        open_by_id.bp,
        recent.bp,
        protocols.bp,
        care_team.bp,
        prospects.bp,
        booking.bp,
        emr_endpoints.bp,
        clinic_system.bp,
        directories.bp,
        me.bp,
        storage.bp,
        pgt_results.bp,
        patients.bp,
        cases.bp,
        relationships.bp,
    ]
