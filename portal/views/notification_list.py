"""The list of notifications: a page of it by day, with its filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from itertools import groupby
from urllib.parse import urlencode

from flask import Response, g, request

from portal.i18n.gettext import _
from portal.parse import page_number
from portal.services import decoding
from portal.services.consents import list_consents
from portal.services.conversations import list_conversations
from portal.services.gather import gather, items_of, needed
from portal.services.notifications import Notification, NotificationCounts, count_unread, list_notifications
from portal.views.notification_words import (
    about,
    conversation_words,
    form_words,
    kind_words,
    known_kinds,
    name_of,
    names_by_record,
)
from portal.web import bell
from portal.web.filters import day as long_day
from portal.web.filters import local, now, today
from portal.web.handlers import Care, Page, Person, render

PAGE = 12
"""How many notifications a page has."""


class ListPage(Page, template="notifications/index.html"):
    """One page of the list; `with_filters` returns an action's address, `kind_words` a kind's label.

    `days` are the notifications by day, with the date's label; `whose` says whom one is about, `subject_of` what: its form's
    title, its conversation's subject, or its own text if that says more than to open the portal. `until` is the moment up to
    which this page tells of notifications.
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
    until: datetime


def chosen_kind() -> str:
    """The kind that the list is filtered by, or empty."""
    return request.args.get("type", "")[:100]


def show_list(care: Care, person: Person, counts: NotificationCounts | None = None) -> Response:
    """The list for the query; after an act, with the unread count from its response."""
    only_unread = request.args.get("unread") == "1"
    kind = chosen_kind()
    number = page_number(request.args.get("page"))
    asked_at = now()
    listed, forms, conversations = gather(
        lambda: list_notifications(
            care,
            skip=(number - 1) * PAGE,
            limit=PAGE,
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
        **{talk.id: conversation_words(talk, person) for talk in items_of(conversations)},
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
        pages=max(1, -(-page.total // PAGE)),
        is_counted=page.is_counted,
        only_unread=only_unread,
        kind=kind,
        kinds=_kinds(kind),
        with_filters=with_filters,
        kind_words=kind_words,
        unread=count,
        until=max([asked_at, *(item.creation_time for item in page.items if item.creation_time)]),
    )
    return render(shown, fragment="results", bell=count)


def _by_day(items: Iterable[Notification]) -> list[tuple[str, list[Notification]]]:
    """Notifications by day in the clinic's time zone, in order; `Today` and `Yesterday` as labels."""
    names = {today(): _("Today"), today() - timedelta(days=1): _("Yesterday")}

    def name(notification: Notification) -> str:
        on = local(notification.creation_time).date() if notification.creation_time else None
        return (names.get(on) or long_day(on)) if on else _("Without a date")

    return [(said, list(those)) for said, those in groupby(items, name)]


def _kinds(chosen: str) -> list[tuple[str, str]]:
    """The list's filters; staff's kinds only for staff."""
    staff_only = {"ProspectReceived", "EmrSyncFailed"}
    known = [
        (kind, words) for kind, words in known_kinds().items() if g.person.is_staff or kind not in staff_only
    ]
    return known if not chosen or chosen in dict(known) else [*known, (chosen, kind_words(chosen))]


def with_filters(address: str) -> str:
    """An action's address with the list's parameters, so that the same list is shown afterwards."""
    kept = {name: request.args[name] for name in ("unread", "type", "page") if request.args.get(name)}
    return f"{address}?{urlencode(kept)}" if kept else address
