"""The pages: one module for each resource, under the same word as in `portal.services` and `templates`."""

from __future__ import annotations

from flask import Blueprint

from portal.views import (
    booking,
    care_team,
    cases,
    consents,
    conversations,
    devices,
    directories,
    emr_endpoints,
    episodes,
    files,
    health,
    home,
    language,
    look,
    me,
    notification_settings,
    notifications,
    patients,
    pgt_results,
    prospects,
    protocols,
    relationships,
    sign_in,
    storage,
)
from portal.views import open as open_by_id


def blueprints() -> list[Blueprint]:
    """Return every blueprint, in the order of the table of addresses in the README."""
    return [
        home.bp,
        sign_in.bp,
        language.bp,
        look.bp,
        health.bp,
        consents.bp,
        conversations.bp,
        notifications.bp,
        notification_settings.bp,
        devices.bp,
        episodes.bp,
        files.bp,
        open_by_id.bp,
        protocols.bp,
        care_team.bp,
        prospects.bp,
        booking.bp,
        emr_endpoints.bp,
        directories.bp,
        me.bp,
        storage.bp,
        pgt_results.bp,
        patients.bp,
        cases.bp,
        relationships.bp,
    ]
