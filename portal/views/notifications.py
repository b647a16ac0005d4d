"""Notifications: the list, opening one, read and unread, and the bell."""

from __future__ import annotations

from flask import Blueprint, Response, current_app, make_response, request, url_for

from portal.i18n.gettext import _
from portal.parse import instant
from portal.services.errors import CareError, Invalid, NotFound, Unavailable
from portal.services.gather import attempt, known
from portal.services.notifications import (
    Notification,
    NotificationCounts,
    count_unread,
    list_notifications,
    set_all_read,
    set_read,
)
from portal.services.paging import read_every_page
from portal.views.notification_list import PAGE, chosen_kind, show_list, with_filters
from portal.views.notification_words import kind_words, text_of, title_of
from portal.web import bell, section_counts
from portal.web.handlers import Care, Person, Side, audit, redirect_to, signed_in, toast, wants
from portal.web.htmx import render_bell
from portal.web.record_links import page_of

bp = Blueprint("notifications", __name__, url_prefix="/notifications")

bp.add_app_template_filter(kind_words, "notification_kind")
bp.add_app_template_filter(title_of, "notification_title")
bp.add_app_template_filter(text_of, "notification_text")


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def index(care: Care, person: Person) -> Response:
    """Show the notifications, newest first; read or unread, kind and page are in the query."""
    return show_list(care, person)


@bp.get("/bell")
@signed_in(Side.PATIENT, Side.STAFF, background=True)
def show_bell(care: Care, person: Person) -> Response:
    """Return the bell if its count isn't `known`, else 204, also after a failure."""
    if bell.claim(person):
        unread = attempt(lambda: count_unread(care))
        if isinstance(unread, CareError):
            current_app.logger.info("bell: %s", type(unread).__name__)
        else:
            bell.learn(person, unread)
    count = bell.count(person)
    if count is None or request.args.get("known") == str(count):
        return make_response("", 204)
    return render_bell(count)


@bp.post("/<record:notification_id>/open")
@signed_in(Side.PATIENT, Side.STAFF)
def open_(care: Care, person: Person, notification_id: str) -> Response:
    """Mark it read and redirect to what it is about; without a page for that which this person may open, show it in the list."""
    place, notification = _find(care, notification_id)  # one that can't be opened stays unread
    counts = attempt(lambda: set_read(care, [notification_id]))
    if not isinstance(counts, CareError):
        _learn(care, person, counts)
    audit.note("notification.open", "done", id_=notification_id)
    here = url_for(".index", page=place // PAGE + 1, _anchor=f"notification-{notification_id}")
    return redirect_to(_record_of(notification) or _place_of(notification) or here)


@bp.post("/<record:notification_id>/read")
@signed_in(Side.PATIENT, Side.STAFF)
def read(care: Care, person: Person, notification_id: str) -> Response:
    return _after(care, person, _mark(care, notification_id, is_read=True))


@bp.post("/<record:notification_id>/unread")
@signed_in(Side.PATIENT, Side.STAFF)
def unread(care: Care, person: Person, notification_id: str) -> Response:
    return _after(care, person, _mark(care, notification_id, is_read=False))


@bp.post("/read")
@signed_in(Side.PATIENT, Side.STAFF)
def read_all(care: Care, person: Person) -> Response:
    kind = chosen_kind()
    counts = set_all_read(care, kind, instant(request.form.get("until")))
    audit.note("notification.read-all", "done")
    if _learn(care, person, counts) == 0:
        toast(_("All notifications are marked as read."))
    return _after(care, person, counts)


def _record_of(notification: Notification) -> str | None:
    """The page of what it is about; of a visit, that of its treatment's appointments."""
    page = page_of(notification.entity_type, notification.entity_id, notification.data)
    is_visit = notification.type == "AppointmentReminder" and page and page.startswith("/episodes/")
    return f"{page}/appointments" if is_visit else page


def _place_of(notification: Notification) -> str | None:
    """The target of a kind of notification that names no record, or a record without a page for its reader.

    One about how to reach the reader is complete in itself: it may hold a code to send.
    """
    kind = notification.type
    if kind == "AccountSecurity" and notification.is_about("Patient"):
        return None
    places = {
        "AccountSecurity": "devices.index",
        "PaymentReceived": "storage.index",
        "PaymentFailed": "storage.index",
        "StorageReminder": "storage.index",
        "MessageReceived": "conversations.inbox",
        "AppointmentReminder": "episodes.index",
        "EpisodeUpdated": "episodes.index",
        "SharingEnded": "episodes.index",
        "ResultReleased": "episodes.index",
        "ConsentRequested": "consents.list",
        "ConsentCompleted": "consents.list",
        "ConsentRevoked": "consents.list",
    }
    return url_for(places[kind]) if kind in places else None


def _learn(care: Care, person: Person, counts: NotificationCounts) -> int | None:
    """Update the bell's count after an act; request it if the act's response doesn't contain it. Return it if it is known."""
    section_counts.forget("notification")
    told = counts.unread_count
    count = told if told is not None else known(attempt(lambda: count_unread(care)))
    bell.learn(person, count)
    return count


def _mark(care: Care, notification_id: str, *, is_read: bool) -> NotificationCounts:
    """Mark it and return the counts; an id that the API rejects as invalid counts as not found."""
    try:
        return set_read(care, [notification_id], is_read=is_read)
    except Invalid:
        raise NotFound from None


def _after(care: Care, person: Person, counts: NotificationCounts) -> Response:
    section_counts.forget("notification")
    bell.learn(person, counts.unread_count)
    if wants("results"):
        return show_list(care, person, counts)
    return redirect_to(with_filters(url_for(".index")))


def _find(care: Care, notification_id: str) -> tuple[int, Notification]:
    """The notification and its position in the list, because no endpoint reads one."""
    everything = read_every_page(lambda skip, limit: list_notifications(care, skip=skip, limit=limit))
    for place, notification in enumerate(everything):
        if notification.id == notification_id:
            return place, notification
    raise NotFound if everything.is_whole else Unavailable("the list wasn't read to its end")
