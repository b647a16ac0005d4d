"""Messages: the inbox and its archive, and one thread; archiving has a module of its own.

Messages can't be sent here, because the care API has no endpoint for it. The page says where to reply instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response, current_app, make_response, request, url_for

from portal.i18n.gettext import _
from portal.parse import page_number
from portal.services.conversations import (
    Conversation,
    get_conversation,
    get_conversation_and_others,
    list_conversations,
)
from portal.services.errors import CareError
from portal.services.gather import attempt, gather, needed
from portal.services.listed import Count
from portal.services.notifications import ids_announcing, list_notifications, set_read
from portal.services.paging import read_every_page
from portal.views.chosen_patient import chosen_patient
from portal.views.conversations.archiving import bp
from portal.views.conversations.inbox import (
    PAGE,
    InboxPage,
    archived_page,
    current_page,
    page_of_patient,
    show_waiting,
)
from portal.views.conversations.thread_page import News, bubbles_after, page_of, show_thread
from portal.views.conversations.view import row_of
from portal.web import bell, new_messages
from portal.web.handlers import Care, Person, Side, audit, redirect_to, render, signed_in, toast, wants


@bp.get("")
@signed_in(Side.PATIENT, Side.STAFF)
def inbox(care: Care, person: Person) -> Response:
    """Show the conversations; search, archive and page are in the query.

    Staff start with those waiting for the clinic, longest first; all others are sorted newest first.
    """
    text = request.args.get("q", "").strip()[:200]
    archived = request.args.get("archived") == "1"
    number = page_number(request.args.get("page"))
    chosen = chosen_patient(care, person)
    if person.is_staff and not (text or archived or chosen or request.args.get("all") == "1"):
        return show_waiting(care, person, number)
    if chosen:
        page = page_of_patient(care, chosen, text, number)
    else:
        page = archived_page(care, text, number) if archived else current_page(care, text, number)
    is_first = not (text or archived or chosen) and number == 1
    if is_first:
        new_messages.learn(person, page.items)
    act = "search" if text else "list"
    audit.shown(f"conversation.{act}", "conversation", [item.id for item in page.items])
    return render(
        InboxPage(
            rows=[row_of(conversation, person) for conversation in page.items],
            found=page.count,
            q=text,
            archived=archived,
            page=number,
            pages=max(1, -(-page.total // PAGE)),
            newest=new_messages.newest_of(page.items) if is_first else None,
            has_news=False,
            chosen=chosen,
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
        rows=[], found=Count(0), q="", archived=False, page=1, pages=1, newest=newest, has_news=True
    )
    return render(page, fragment="arrived")


@bp.get("/<record:conversation_id>")
@signed_in(Side.PATIENT, Side.STAFF)
def show(care: Care, person: Person, conversation_id: str) -> Response:
    """Show one thread, of a long one the messages `before` another; staff see the newest conversations beside it."""
    conversation, others = get_conversation_and_others(care, conversation_id)
    current = [other for other in others if not other.is_archived] if person.is_staff else []
    return show_thread(conversation, person, beside=current[:PAGE], before=request.args.get("before", ""))


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
    read = next((talk for talk in asked if talk.id == conversation_id), None)
    conversation = read or attempt(lambda: get_conversation(care, conversation_id))
    if isinstance(conversation, CareError):
        current_app.logger.info("new messages: %s", type(conversation).__name__)
        return make_response("", 204)
    added = bubbles_after(conversation, person, known)
    unseen = [bubble for bubble in bubbles_after(conversation, person, since or known) if not bubble.mine]
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
    page = page_of(conversation, person, news=news, shown=added)
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
    before, news = needed(before), needed(news)
    came_later = before.first_after(request.form.get("known", ""))
    announced = ids_announcing(news, conversation_id, before=came_later)
    unread = _set_read(care, announced, of=news.count)
    bell.learn(person, unread)
    audit.note("conversation.mark-read", "done", id_=conversation_id)
    if wants("news"):
        news = News(known=request.form.get("known", ""))
        return render(page_of(before, person, news=news), fragment="news", bell=unread)
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
    page = page_of(after, person, just_read=before.unread_count - after.unread_count)
    return render(page, fragment="read", bell=unread)


def _set_read(care: Care, announced: tuple[str, ...], *, of: Count) -> int | None:
    """Mark these notifications read, of `of` unread ones; return how many remain unread, None if that isn't known."""
    told = set_read(care, announced).unread_count if announced else None
    if told is None and of.is_whole:
        return of.number - len(announced)
    return told


def _ask(care: Care, person: Person) -> Sequence[Conversation]:
    """Fetch the newest messages unless another tab or worker did in the last 15 seconds; return the page read."""
    if not new_messages.claim(person):
        return ()
    asked = attempt(lambda: list_conversations(care, limit=PAGE).items)
    if isinstance(asked, CareError):
        current_app.logger.info("new messages: %s", type(asked).__name__)
        return ()
    new_messages.learn(person, asked)
    return asked
