"""The sections that a person's frame shows."""

from __future__ import annotations

from flask import current_app, g, request

from portal.context import context
from portal.i18n.gettext import _, for_each_language
from portal.services.endpoints import ALL
from portal.services.listed import Count
from portal.state.session_records import Person
from portal.values import Value
from portal.web import modules
from portal.web.permissions import may
from portal.web.routing import endpoint_at
from portal.web.section_counts import counts

_NEEDS = {endpoint.page: endpoint.template for endpoint in ALL if endpoint.page}
# The endpoint that each section needs.

_ACTS = {"/storage": "embryo.edit", "/prospects": "prospect.edit", "/clinic-system": "system.see"}
# What staff have to be allowed for a section that isn't for all of them.


class NavItem(Value, frozen=True):
    """One section in the frame: where it is, its word, its icon, and the key after `g` that goes there.

    `count` is how much waits there for the person, as last read; `counts` says of what.
    """

    href: str
    label: str
    icon: str
    key: str
    current: bool
    count: Count | None = None
    counts: str = ""


def navigation(person: Person) -> list[NavItem]:
    """Return the sections that this person's frame shows, without those that the clinic doesn't offer."""
    sections = _staff_sections() if person.is_staff else _patient_sections()
    missing = context().capabilities.missing(g.tenant.key)
    path = request.path
    known = counts(person) if person.is_staff else {}
    words = _counted_words() if known else {}
    is_less = bool(modules.off())
    return [
        NavItem(
            href,
            label,
            icon,
            key,
            current=_is_current(href, path),
            count=known.get(href),
            counts=words.get(href, ""),
        )
        for href, label, icon, key in sections
        if person.is_patient or href not in _ACTS or may(person, _ACTS[href])
        if _NEEDS.get(href) not in missing and not (is_less and endpoint_at(href) is None)
    ]


@for_each_language
def _counted_words() -> dict[str, str]:
    return {
        "/consents": _("for you to sign"),
        "/conversations": _("without an answer"),
        "/prospects": _("new"),
    }


@for_each_language
def _patient_sections() -> list[tuple[str, str, str, str]]:
    return [
        ("/", _("Home"), "home", "h"),
        ("/episodes", _("Treatment"), "treatment", "t"),
        ("/consents", _("Consents"), "consent", "c"),
        ("/conversations", _("Messages"), "message", "m"),
        ("/papers", _("My papers"), "documents", "p"),
        ("/storage", _("Embryo storage"), "storage", "e"),
        ("/care-team", _("Care team"), "people", "a"),
        ("/notifications", _("Notifications"), "bell", "n"),
        ("/notifications/settings", _("Notification settings"), "settings", "s"),
        ("/help", _("Help"), "help", "?"),
    ]


@for_each_language
def _staff_sections() -> list[tuple[str, str, str, str]]:
    return [
        ("/", _("Worklist"), "home", "h"),
        ("/patients", _("Patients"), "people", "a"),
        ("/conversations", _("Messages"), "message", "m"),
        ("/consents", _("Consents"), "consent", "c"),
        ("/protocols", _("Protocols"), "protocol", "p"),
        ("/storage", _("Embryo storage"), "storage", "e"),
        ("/prospects", _("Enquiries"), "prospect", "q"),
        ("/care-team", _("Care team"), "physician", "t"),
        ("/notifications", _("Notifications"), "bell", "n"),
        ("/clinic-system", _("Clinic’s system"), "endpoint", "y"),
        ("/help", _("Help"), "help", "i"),
    ]


def section_names() -> dict[str, str]:
    """Return the sections' words by the modules of `portal.views` that show them."""
    paths = current_app.url_map.bind("")
    return {
        str(paths.match(href)[0]).partition(".")[0]: label
        for href, label, _icon, _key in (*_staff_sections(), *_patient_sections())
    }


def _is_current(href: str, path: str) -> bool:
    if href in ("/", "/notifications/settings"):
        return path == href
    return path == href or (path.startswith(f"{href}/") and path != "/notifications/settings")
