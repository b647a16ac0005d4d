"""Notifications: the list, opening one, read and unread, and the bell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import groupby
from urllib.parse import urlencode

from flask import Blueprint, Response, current_app, g, make_response, request, url_for

from portal.i18n.gettext import _
from portal.parse import page_number
from portal.services import decoding
from portal.services.consents import list_consents
from portal.services.conversations import list_conversations
from portal.services.errors import CareError, Invalid, NotFound
from portal.services.gather import attempt, gather, items_of, needed
from portal.services.notifications import (
    Notification,
    NotificationCounts,
    count_unread,
    list_notifications,
    set_all_read,
    set_read,
)
from portal.services.paging import read_every_page
from portal.views.notification_words import (
    about,
    form_words,
    kind_words,
    known_kinds,
    name_of,
    names_by_record,
    talk_words,
    text_of,
    title_of,
)
from portal.web import bell, section_counts
from portal.web.filters import day as long_day
from portal.web.filters import local, today
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast, wants
from portal.web.htmx import render_bell
from portal.web.record_links import address_of

bp = Blueprint("notifications", __name__, url_prefix="/notifications")

bp.add_app_template_filter(kind_words, "notification_kind")
bp.add_app_template_filter(title_of, "notification_title")
bp.add_app_template_filter(text_of, "notification_text")

_PAGE = 12


class ListPage(Page, template="notifications/index.html"):
    """One page of the list; `with_filters` returns an action's address, `kind_words` a kind's label.

    `days` are the notifications by day, with the date's label; `whose` says whom one is about, `subject_of` what: its form's
    title, its conversation's subject, or its own text if that says more than to open the portal.
    """

    days: list[tuple[str, list[Notification]]]
    subject_of: Callable[[Notification], str]
    whose: Callable[[Notification], str]
    page: decoding.PagedResult[Notification]
    number: int
    pages: int
    is_counted: bool
    only_unread: bool
    kind: str
    kinds: list[tuple[str, str]]
    with_filters: Callable[[str], str]
    kind_words: Callable[[str], str]
    unread: int


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def index(care: Care, person: Person) -> Response:
    """Show the notifications, newest first; read or unread, kind and page are in the query."""
    return _list(care, person)


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
    """Mark it read and redirect to what it is about; without a page for that, show it in the list."""
    found, counts = gather(
        lambda: _find(care, notification_id),
        lambda: set_read(care, [notification_id]),
    )
    place, notification = needed(found)
    if not isinstance(counts, CareError):
        _learn(care, person, counts)
    audit.note("notification.open", "done", id_=notification_id)
    here = url_for(".index", page=place // _PAGE + 1, _anchor=f"notification-{notification_id}")
    return redirect_to(_record_of(notification) or _place_of(notification.type) or here)


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
    counts = set_all_read(care)
    audit.note("notification.read-all", "done")
    if not counts.unread_count:
        toast(_("All notifications are marked as read."))
    return _after(care, person, counts)


def _record_of(notification: Notification) -> str | None:
    """The page of what it is about; of a visit, that of its treatment's appointments."""
    page = address_of(notification.entity_type or "", notification.entity_id, data=notification.data)
    is_visit = notification.type == "AppointmentReminder" and page and page.startswith("/episodes/")
    return f"{page}/appointments" if is_visit else page


def _place_of(kind: str) -> str | None:
    """The target of a kind of notification that names no record, or a record without a page."""
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


def _list(care: Care, person: Person, counts: NotificationCounts | None = None) -> Response:
    """The list for the query; after an act, with the unread count from its response."""
    only_unread = request.args.get("unread") == "1"
    kind = request.args.get("type", "")[:100]
    number = page_number(request.args.get("page"))
    listed, forms, talks = gather(
        lambda: list_notifications(
            care,
            skip=(number - 1) * _PAGE,
            limit=_PAGE,
            is_read=False if only_unread else None,
            type=kind or None,
        ),
        lambda: list_consents(care, limit=100),
        lambda: list_conversations(care, limit=50),
    )
    page = needed(listed)
    told = counts.unread_count if counts and page.unread is None else page.unread
    count = count_unread(care) if told is None else told
    count = max(count, sum(not item.is_read for item in page.items))  # an API may count fewer than it sends
    bell.learn(person, count)
    subjects = {
        **{form.id: form_words(form, person) for form in items_of(forms)},
        **{talk.id: talk_words(talk, person) for talk in items_of(talks)},
    }
    names = names_by_record(items_of(forms)) if person.is_staff else {}
    said = Counter(item.body for item in page.items)
    repeated = {body for body, times in said.items() if times > 1}
    shown = ListPage(
        days=_by_day(page.items),
        subject_of=lambda notification: about(notification, subjects, repeated),
        whose=lambda notification: name_of(notification, names, about(notification, subjects, repeated)),
        page=page,
        number=number,
        pages=max(1, -(-page.total // _PAGE)),
        is_counted=page.is_counted,
        only_unread=only_unread,
        kind=kind,
        kinds=_kinds(kind),
        with_filters=_with_filters,
        kind_words=kind_words,
        unread=count,
    )
    return render(shown, fragment="results", bell=count)


def _by_day(items: Iterable[Notification]) -> list[tuple[str, list[Notification]]]:
    """Notifications by day in the clinic's time zone, in order; `Today` and `Yesterday` as labels."""
    names = {today(): _("Today"), today() - timedelta(days=1): _("Yesterday")}

    def name(notification: Notification) -> str:
        on = local(notification.creation_time).date() if notification.creation_time else None
        return (names.get(on) or long_day(on)) if on else _("Without a date")

    return [(said, list(those)) for said, those in groupby(items, name)]


def _learn(care: Care, person: Person, counts: NotificationCounts) -> None:
    """Update the bell's count after an act; request it if the act's response doesn't contain it."""
    section_counts.forget("notification")
    told = counts.unread_count
    count = told if told is not None else attempt(lambda: count_unread(care))
    bell.learn(person, None if isinstance(count, CareError) else count)


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
        return _list(care, person, counts)
    return redirect_to(_with_filters(url_for(".index")))


def _with_filters(address: str) -> str:
    """An action's address with the list's parameters, so that the same list is shown afterwards."""
    kept = {name: request.args[name] for name in ("unread", "type", "page") if request.args.get(name)}
    return f"{address}?{urlencode(kept)}" if kept else address


def _find(care: Care, notification_id: str) -> tuple[int, Notification]:
    """The notification and its position in the list, because no endpoint reads one."""
    everything = read_every_page(lambda skip, limit: list_notifications(care, skip=skip, limit=limit))
    for place, notification in enumerate(everything):
        if notification.id == notification_id:
            return place, notification
    raise NotFound


def _kinds(chosen: str) -> list[tuple[str, str]]:
    """The list's filters; staff's kinds only for staff."""
    staff_only = {"ProspectReceived", "EmrSyncFailed"}
    known = [
        (kind, words) for kind, words in known_kinds().items() if g.person.is_staff or kind not in staff_only
    ]
    return known if not chosen or chosen in dict(known) else [*known, (chosen, kind_words(chosen))]
