"""Messages: the inbox and its archive, one thread, and archiving messages and threads.

Messages can't be sent here, because the care API has no endpoint for it. The page says where to reply instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from urllib.parse import quote

from flask import Blueprint, Response, current_app, make_response, request, url_for

from portal.config.tenants import Side
from portal.i18n.gettext import _, ngettext
from portal.parse import page_number
from portal.services import decoding
from portal.services.client import Care
from portal.services.conversations import (
    archive_conversations,
    archive_message,
    get_conversation,
    get_conversation_and_others,
    list_conversations,
    restore_message,
)
from portal.services.errors import CareError, NotSignedIn, Unavailable
from portal.services.gather import gather
from portal.services.notifications import ids_announcing, list_notifications, set_read
from portal.services.paging import read_every_page
from portal.services.records.conversations import (
    Attachment,
    Channel,
    Conversation,
    Message,
    MessageSide,
    ReplyAddress,
)
from portal.state.sessions import Person
from portal.views.recent import name_opened
from portal.views.waiting_conversations import read_waiting, waiting_since
from portal.web import audit, bell, new_messages
from portal.web.act_once import Attempt, Done, NotSent, Refused, Reopened, Unknown, act_once, begin_edit
from portal.web.filters import day as short_day
from portal.web.filters import in_a_row, isolate, local, today
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render, toast, wants
from portal.web.pages import Page
from portal.web.plain_text import plain_text

bp = Blueprint("conversations", __name__, url_prefix="/conversations")

_PAGE = 20
_PICTURES = ("image/png", "image/jpeg")
_LARGEST_PICTURE = 2_000_000
"""The maximum size in bytes of a picture shown inline; larger ones are only loaded when opened."""


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def inbox(care: Care, person: Person) -> Response:
    """Show the conversations; search, archive and page are in the query.

    Staff start with those waiting for the clinic, longest first; all others are sorted newest first.
    """
    text = request.args.get("q", "").strip()[:200]
    archived = request.args.get("archived") == "1"
    number = page_number(request.args.get("page"))
    if person.is_staff and not (text or archived or request.args.get("all") == "1"):
        return _show_waiting(care, person, number)
    page = _archived(care, text, number) if archived else _current(care, text, number)
    is_first = not (text or archived) and number == 1
    if is_first:
        new_messages.learn(person, page.items)
    act = "search" if text else "list"
    audit.shown(f"conversation.{act}", "conversation", [one.id for one in page.items])
    return render(
        InboxPage(
            rows=[_row(conversation, person) for conversation in page.items],
            found=page.total,
            q=text,
            archived=archived,
            page=number,
            pages=max(1, -(-page.total // _PAGE)),
            is_counted=page.is_counted,
            newest=new_messages.newest_of(page.items) if is_first else None,
            has_news=False,
        ),
        fragment="inbox",
    )


def _show_waiting(care: Care, person: Person, number: int) -> Response:
    waiting = read_waiting(care)
    newest = waiting.newest[:_PAGE]
    found, start = len(waiting.conversations), (number - 1) * _PAGE
    shown = waiting.conversations[start : start + _PAGE]
    if number == 1:
        new_messages.learn(person, newest)
    audit.shown("conversation.list", "conversation", [one.id for one in shown])
    return render(
        InboxPage(
            rows=[_row(one, person, waits_since=_dated(waiting_since(one))) for one in shown],
            found=found,
            q="",
            archived=False,
            page=number,
            pages=max(1, -(-found // _PAGE)),
            is_counted=True,
            newest=new_messages.newest_of(newest) if number == 1 else None,
            has_news=False,
            is_waiting=True,
            covers=waiting.covers,
        ),
        fragment="inbox",
    )


@bp.get("/new")
@signed_in(Side.PATIENT, Side.STAFF, background=True)
def arrived(care: Care, person: Person) -> Response:
    """Return a notice if there is a message newer than `known`, else 204, also after a failure."""
    _ask(care, person)
    newest = new_messages.newest(person)
    if not newest or newest == request.args.get("known"):
        return make_response("", 204)
    if not wants("arrived"):
        return redirect_to(url_for(".inbox"))
    page = InboxPage(
        rows=[],
        found=0,
        q="",
        archived=False,
        page=1,
        pages=1,
        is_counted=True,
        newest=newest,
        has_news=True,
    )
    return render(page, fragment="arrived")


@bp.get("/<record:conversation_id>")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, conversation_id: str) -> Response:
    """Show one thread; staff see the newest conversations beside it."""
    conversation, others = get_conversation_and_others(care, conversation_id)
    current = [one for one in others if not one.is_archived] if person.is_staff else []
    return _thread(conversation, person, beside=current[:_PAGE])


@bp.get("/<record:conversation_id>/new")
@signed_in(Side.PATIENT, Side.STAFF, background=True)
def get_new(care: Care, person: Person, conversation_id: str) -> Response:
    """Return the messages after `known` as a fragment for the end of the thread, else 204.

    `since` is the last message that the reader has seen: later ones are counted. The thread is read only if the portal
    knows of a newer message. Failures also return 204.
    """
    known, since = request.args.get("known", ""), request.args.get("since", "")
    asked = _ask(care, person)
    newest = new_messages.newest(person, conversation_id)
    if newest is None or newest == known:
        return make_response("", 204)
    read = next((one for one in asked if one.id == conversation_id), None)
    try:
        conversation = read or get_conversation(care, conversation_id)
    except NotSignedIn:
        raise
    except CareError as error:
        current_app.logger.info("new messages: %s", type(error).__name__)
        return make_response("", 204)
    added = _after(conversation, person, known)
    unseen = [one for one in _after(conversation, person, since or known) if not one.mine]
    if not added:
        return make_response("", 204)
    if not wants("news"):
        return redirect_to(url_for(".show", conversation_id=conversation_id))
    audit.shown("conversation.read", "conversation", conversation.id)
    news = News(
        known=conversation.newest_id,
        since=since or known,
        count=len(unseen),
        first=unseen[0].id if unseen else "",
    )
    page = _page(conversation, person, news=news, shown=added)
    return render(page, fragment="news", also=[("#messages", "beforeend", "messages")])


@bp.post("/<record:conversation_id>/read")
@signed_in(Side.PATIENT, Side.STAFF)
def read(care: Care, person: Person, conversation_id: str) -> Response:
    """Mark the notifications about this thread, and so its messages, as read; the response includes the new counts."""
    before, news = gather(
        lambda: get_conversation(care, conversation_id),
        lambda: read_every_page(
            lambda skip, limit: list_notifications(care, skip=skip, limit=limit, is_read=False)
        ),
    )
    if isinstance(before, CareError):
        raise before
    if isinstance(news, CareError):
        raise news
    announced = ids_announcing(news, conversation_id)
    unread = _set_read(care, announced, of=len(news))
    bell.learn(person, unread)
    audit.note("conversation.mark-read", "done", kind="conversation", id_=conversation_id)
    if wants("news"):
        news = News(known=request.form.get("known", ""))
        return render(_page(before, person, news=news), fragment="news", bell=unread)
    if not wants("read"):
        toast(
            _("Marked as read.")
            if announced
            else _("There was nothing to mark; the clinic’s system keeps this count itself."),
            tone="success" if announced else "info",
        )
        return redirect_to(url_for(".show", conversation_id=conversation_id))
    after = get_conversation(care, conversation_id) if announced else before
    # The messages aren't replaced, because one of their menus may be open.
    page = _page(after, person, just_read=before.unread_count - after.unread_count)
    return render(page, fragment="read", bell=unread)


@bp.post("/<record:conversation_id>/messages/<record:message_id>/archive")
@signed_in(Side.PATIENT, Side.STAFF)
def archive_one_message(care: Care, person: Person, conversation_id: str, message_id: str) -> Response:
    """Archive one message for this person; Undo restores it."""
    _act(person, "message.archive", message_id, lambda: archive_message(care, message_id))
    back = url_for(".restore_one_message", conversation_id=conversation_id, message_id=message_id)
    toast(_("Message archived."), undo=back)
    return _after_act(care, person, conversation_id)


@bp.post("/<record:conversation_id>/messages/<record:message_id>/restore")
@signed_in(Side.PATIENT, Side.STAFF)
def restore_one_message(care: Care, person: Person, conversation_id: str, message_id: str) -> Response:
    """Restore one archived message for this person; Undo archives it again."""
    _act(person, "message.restore", message_id, lambda: restore_message(care, message_id))
    away = url_for(".archive_one_message", conversation_id=conversation_id, message_id=message_id)
    toast(_("Message restored."), undo=away)
    return _after_act(care, person, conversation_id)


@bp.get("/<record:conversation_id>/archive")
@signed_in(Side.PATIENT, Side.STAFF)
def confirm_archive(care: Care, person: Person, conversation_id: str) -> Response:
    """Show the consequences of archiving the thread, and ask."""
    conversation = get_conversation(care, conversation_id)
    audit.shown("conversation.read", "conversation", conversation.id)
    return render(ArchivePage(thread=_view(conversation, person), consequences=_consequences()))


@bp.post("/<record:conversation_id>/archive")
@signed_in(Side.PATIENT, Side.STAFF)
def archive(care: Care, person: Person, conversation_id: str) -> Response:
    """Archive the thread for this person; the care API can't undo it, so no Undo is offered."""
    _act(
        person,
        "conversation.archive",
        conversation_id,
        lambda: archive_conversations(care, [conversation_id]),
    )
    toast(_("Conversation archived. You find it under Archived."))
    return redirect_to(url_for(".inbox"))


def _act(person: Person, event: str, record_id: str, send: Callable[[], object]) -> None:
    """Archive or restore; a repeat is harmless. Raises CareError."""
    attempt = Attempt(person.sub, begin_edit(person.sub, f"{event}:{record_id}"))
    kind = event.partition(".")[0]
    match act_once(attempt, lambda _key: send(), event=event, kind=kind, id_=record_id, is_repeatable=True):
        case Done():
            return
        case Refused(error) | NotSent(error):
            raise error
        case Unknown() | Reopened():
            raise Unavailable("not confirmed", outcome_known=False)


@dataclass(frozen=True, slots=True)
class Row:
    """One conversation in the inbox."""

    id: str
    subject: str
    who: str
    first: str
    excerpt: str
    at: datetime | None
    channel: str | None
    unread: int
    archived: bool
    waits: bool
    waits_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Bubble:
    """One message in the thread; `mine` if the person's side sent it, `name` for the initials.

    `day` is the date's label if it is the first message of that day.
    """

    id: str
    sender: str
    name: str
    text: str
    at: datetime | None
    channel: str | None
    mine: bool
    unread: bool
    message: Message
    day: str = ""

    def is_shown(self, file: Attachment) -> bool:
        """Whether a file is shown inline as a picture: its size must be known and the sender not in doubt."""
        is_small = file.size is not None and file.size <= _LARGEST_PICTURE
        return file.media_type in _PICTURES and is_small and self.message.sender_verified is not False


@dataclass(frozen=True, slots=True)
class Thread:
    """One conversation, oldest message first."""

    id: str
    subject: str
    who: str
    unread: int
    is_archived: bool
    episode_id: str | None
    bubbles: list[Bubble]
    archived: list[Bubble]
    reply: Reply


@dataclass(frozen=True, slots=True)
class Reply:
    """Where to reply: addresses as text and as links."""

    email: str | None
    mailto: str | None
    number: str | None
    sms: str | None


@dataclass(frozen=True, slots=True)
class News:
    """Messages that arrived while the thread was open: how many since the last one seen, and the first of them.

    `known` is the newest message that the page has.
    """

    known: str
    since: str = ""
    count: int = 0
    first: str = ""


class InboxPage(Page, template="conversations/inbox.html"):
    """One page of the inbox or archive; for staff also the waiting ones (`is_waiting`).

    `newest` is its newest message, after which the page polls for more. `covers` is how many conversations were searched
    for waiting ones, None if all were.
    """

    rows: list[Row]
    found: int
    q: str
    archived: bool
    page: int
    pages: int
    is_counted: bool
    newest: str | None
    has_news: bool
    is_waiting: bool = False
    covers: int | None = None


class ThreadPage(Page, template="conversations/show.html"):
    """One conversation, for staff beside the others; `shown` are its messages, or only the new ones."""

    thread: Thread
    shown: list[Bubble]
    news: News
    opened: bool
    just_read: int
    beside: list[Row]
    consequences: list[str]


class ArchivePage(Page, template="conversations/archive.html"):
    """Asks for confirmation before archiving a conversation."""

    thread: Thread
    consequences: list[str]


def _current(care: Care, text: str, number: int) -> decoding.Page[Conversation]:
    return list_conversations(care, skip=(number - 1) * _PAGE, limit=_PAGE, text=text or None)


def _archived(care: Care, text: str, number: int) -> decoding.Page[Conversation]:
    """One page of only the archived ones, which the API doesn't list separately."""
    everything = read_every_page(
        lambda skip, limit: list_conversations(
            care, skip=skip, limit=limit, text=text or None, include_archived=True
        )
    )
    archived = tuple(conversation for conversation in everything if conversation.is_archived)
    start = (number - 1) * _PAGE
    return decoding.Page(items=archived[start : start + _PAGE], total_count=len(archived))


def _set_read(care: Care, announced: tuple[str, ...], *, of: int) -> int:
    """Mark these notifications read, of `of` unread ones; return how many remain unread."""
    told = set_read(care, announced).unread_count if announced else None
    return of - len(announced) if told is None else told


def _after_act(care: Care, person: Person, conversation_id: str) -> Response:
    if wants("thread"):
        return _thread(get_conversation(care, conversation_id), person, opened=True)
    return redirect_to(url_for(".show", conversation_id=conversation_id))


def _thread(
    conversation: Conversation,
    person: Person,
    *,
    opened: bool = False,
    beside: Sequence[Conversation] = (),
) -> Response:
    """The thread as a page or a fragment; `opened` ones don't request to be marked as read again.

    `beside` are the conversations shown beside it.
    """
    audit.shown("conversation.read", "conversation", conversation.id)
    audit.shown("conversation.list", "conversation", [one.id for one in beside])
    name_opened(next(iter(_others(conversation, person)), ""), _subject(conversation))
    return render(_page(conversation, person, opened=opened, beside=beside), fragment="thread")


def _page(
    conversation: Conversation,
    person: Person,
    *,
    opened: bool = True,
    just_read: int = 0,
    beside: Sequence[Conversation] = (),
    news: News | None = None,
    shown: list[Bubble] | None = None,
) -> ThreadPage:
    thread = _view(conversation, person)
    return ThreadPage(
        thread=thread,
        shown=thread.bubbles if shown is None else shown,
        news=news or News(known=conversation.newest_id),
        opened=opened,
        just_read=just_read,
        beside=[_row(one, person) for one in beside],
        consequences=_consequences(),
    )


def _ask(care: Care, person: Person) -> Sequence[Conversation]:
    """Fetch the newest messages unless another tab or worker did in the last 15 seconds; return the page read."""
    if not new_messages.claim(person):
        return ()
    try:
        asked = list_conversations(care, limit=_PAGE).items
    except NotSignedIn:
        raise
    except CareError as error:
        current_app.logger.info("new messages: %s", type(error).__name__)
        return ()
    new_messages.learn(person, asked)
    return asked


def _after(conversation: Conversation, person: Person, id_: str) -> list[Bubble]:
    """The messages after this one, which may be archived; all if it is empty, none if it is unknown."""
    ids = [one.id for one in conversation.in_order]
    if id_ and id_ not in ids:
        return []
    later = set(ids[ids.index(id_) + 1 :] if id_ else ids)
    return [one for one in _view(conversation, person).bubbles if one.id in later]


def _with_days(bubbles: list[Bubble]) -> list[Bubble]:
    """The messages, the first of each day with the date's label."""
    names = {today(): _("Today"), today() - timedelta(days=1): _("Yesterday")}
    named: list[Bubble] = []
    before: date | None = None
    for one in bubbles:
        on = local(one.at).date() if one.at else before
        named.append(replace(one, day=names.get(on) or short_day(on)) if on and on != before else one)
        before = on
    return named


def _view(conversation: Conversation, person: Person) -> Thread:
    bubbles = [_bubble(message, conversation, person) for message in conversation.in_order]
    return Thread(
        id=conversation.id,
        subject=_subject(conversation),
        who=_who(conversation, person),
        unread=conversation.unread_count,
        is_archived=conversation.is_archived,
        episode_id=conversation.episode_id,
        bubbles=_with_days([bubble for bubble in bubbles if not bubble.message.is_archived]),
        archived=_with_days([bubble for bubble in bubbles if bubble.message.is_archived]),
        reply=_reply(conversation.reply_address),
    )


def _row(conversation: Conversation, person: Person, *, waits_since: datetime | None = None) -> Row:
    latest = conversation.latest
    return Row(
        id=conversation.id,
        subject=_subject(conversation),
        who=_who(conversation, person),
        first=next(iter(_others(conversation, person)), _subject(conversation)),
        excerpt=_excerpt(latest, person) if latest else "",
        at=conversation.last_message_at or (latest.sent_at if latest else None),
        channel=_by_way_of(conversation.channel),
        unread=conversation.unread_count,
        archived=conversation.is_archived,
        waits_since=waits_since,
        waits=person.is_staff and latest is not None and latest.side is MessageSide.INBOUND,
    )


def _dated(since: datetime | None) -> datetime | None:
    """The same, or None if no message has a date."""
    return since if since and since.year > 1 else None


def _bubble(message: Message, conversation: Conversation, person: Person) -> Bubble:
    mine = _is_mine(message, person)
    return Bubble(
        id=message.id,
        sender=_("You") if message.sender_id == person.sub else message.sender_name or _("Unknown sender"),
        name=person.name if message.sender_id == person.sub else message.sender_name or "",
        text=plain_text(message.body),
        at=message.sent_at,
        channel=_by_way_of(message.channel),
        mine=mine,
        unread=not mine and message.read_at is None and conversation.unread_count > 0,
        message=message,
    )


def _is_mine(message: Message, person: Person) -> bool:
    """Whether the person's side sent it: the clinic for staff, the patient's side for others."""
    if message.side in (MessageSide.INBOUND, MessageSide.OUTBOUND):
        return (message.side is MessageSide.OUTBOUND) == person.is_staff
    return message.sender_id == person.sub


def _subject(conversation: Conversation) -> str:
    return conversation.subject or _("Without a subject")


def _who(conversation: Conversation, person: Person) -> str:
    """The others in the thread, at most three by name."""
    names = _others(conversation, person)
    more = len(names) - 3
    shown = in_a_row(names[:3])
    return shown + " " + ngettext("and %(num)s more", "and %(num)s more", more) if more > 0 else shown


def _others(conversation: Conversation, person: Person) -> list[str]:
    return [one.name for one in conversation.participants if one.id != person.sub and one.name]


def _excerpt(message: Message, person: Person) -> str:
    text = " ".join(plain_text(message.body).split())[:160]
    if message.sender_id == person.sub:
        return _("You: %(words)s", words=isolate(text))
    return text


def _by_way_of(channel: Channel | None) -> str | None:
    if channel is None:
        return None
    words: dict[str, str] = {
        Channel.PORTAL: _("Portal"),
        Channel.EMAIL: _("E-mail"),
        Channel.SMS: _("Text message"),
        Channel.PHONE: _("Phone"),
    }
    return words.get(channel, str(channel))


def _reply(address: ReplyAddress) -> Reply:
    email, number = (address.email or "").strip(), (address.sms or "").strip()
    digits = re.sub(r"[^0-9+]", "", number)
    return Reply(
        email=email or None,
        mailto=f"mailto:{quote(email, safe='@+')}" if "@" in email else None,
        number=number or None,
        sms=f"sms:{digits}" if digits else None,
    )


def _consequences() -> list[str]:
    return [
        _("It leaves your inbox. You can still read it under Archived."),
        _("It can’t be put back into the inbox by hand; a new message in it may bring it back."),
        _("Nothing changes for the others in the conversation."),
    ]
