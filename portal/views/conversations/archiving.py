"""Archiving messages and threads, and putting them back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from flask import Blueprint, Response, request, url_for

from portal.i18n.gettext import _
from portal.services.conversations import (
    Message,
    archive_conversations,
    archive_message,
    get_conversation,
    restore_message,
)
from portal.services.errors import CareError
from portal.services.gather import attempt
from portal.views.conversations.thread_page import consequences_of_archiving, show_thread
from portal.views.conversations.view import Thread, thread_of
from portal.web.act_once import Attempt, act_once, begin_edit
from portal.web.handlers import Care, Page, Person, Side, audit, redirect_to, render, signed_in, toast, wants

bp = Blueprint("conversations", __name__, url_prefix="/conversations")

_MESSAGE = "/<record:conversation_id>/messages/<record:message_id>"


@bp.post(f"{_MESSAGE}/archive", endpoint="archive_one_message", defaults={"event": "archive"})
@bp.post(f"{_MESSAGE}/restore", endpoint="restore_one_message", defaults={"event": "restore"})
@signed_in(Side.PATIENT, Side.STAFF)
def act_on_message(
    care: Care, person: Person, conversation_id: str, message_id: str, event: Literal["archive", "restore"]
) -> Response:
    """Archive one message for this person, or restore it; Undo does the other."""
    _act_on_message(care, person, event, conversation_id, message_id)
    before = request.args.get("before", "")
    said, opposite = {
        "archive": (_("Message archived."), ".restore_one_message"),
        "restore": (_("Message restored."), ".archive_one_message"),
    }[event]
    undo = url_for(opposite, conversation_id=conversation_id, message_id=message_id, before=before or None)
    toast(said, undo=undo)
    if wants("thread"):  # of a long one, the part in which the message was
        return show_thread(get_conversation(care, conversation_id), person, opened=True, before=before)
    return redirect_to(url_for(".show", conversation_id=conversation_id, before=before or None))


@bp.get("/<record:conversation_id>/archive")
@signed_in(Side.PATIENT, Side.STAFF)
def confirm_archive(care: Care, person: Person, conversation_id: str) -> Response:
    conversation = get_conversation(care, conversation_id)
    audit.shown("conversation.read", "conversation", conversation.id)
    return render(
        ArchivePage(thread=thread_of(conversation, person), consequences=consequences_of_archiving())
    )


@bp.post("/<record:conversation_id>/archive")
@signed_in(Side.PATIENT, Side.STAFF)
def archive(care: Care, person: Person, conversation_id: str) -> Response:
    """Archive the thread for this person; Undo restores it."""
    _act(
        person,
        "conversation.archive",
        conversation_id,
        lambda: archive_conversations(care, [conversation_id]),
    )
    toast(
        _("Conversation archived. You find it under Archived."),
        undo=url_for(".restore", conversation_id=conversation_id),
    )
    return redirect_to(url_for(".inbox"))


@bp.post("/<record:conversation_id>/restore")
@signed_in(Side.PATIENT, Side.STAFF)
def restore(care: Care, person: Person, conversation_id: str) -> Response:
    """Put an archived thread back into the inbox: the care API does so when a message of it is restored.

    No endpoint restores a thread. One that does so only for archived messages leaves it archived, which is said.
    """
    thread = get_conversation(care, conversation_id)
    message_id = thread.latest.id if thread.latest else thread.newest_id
    if not message_id:
        toast(_("It has no message, so it can’t be put back into the inbox."), tone="attention")
        return redirect_to(url_for(".show", conversation_id=conversation_id))
    _act(person, "message.restore", message_id, lambda: restore_message(care, message_id))
    now = attempt(lambda: get_conversation(care, conversation_id))
    if isinstance(now, CareError):
        toast(
            _("It was sent, but right now we can’t tell whether the conversation is back."), tone="attention"
        )
    elif now.is_archived:
        toast(_("The clinic’s system didn’t put it back into the inbox."), tone="attention")
    else:
        toast(_("The conversation is back in your inbox."))
    return redirect_to(url_for(".show", conversation_id=conversation_id))


def _act_on_message(care: Care, person: Person, event: str, conversation_id: str, message_id: str) -> None:
    """Archive a message or restore it; raises `Unconfirmed` if neither the answer nor the conversation shows it."""
    is_archived = event == "archive"

    def look() -> Message | None:
        messages = get_conversation(care, conversation_id).messages
        return next((message for message in messages if message.id == message_id), None)

    act_once(
        Attempt(person.sub, begin_edit(person.sub, f"message.{event}:{message_id}")),
        lambda _key: archive_message(care, message_id) if is_archived else restore_message(care, message_id),
        look=look,
        shows=lambda message: message is not None and message.is_archived is is_archived,
        event=f"message.{event}",
        id_=message_id,
        is_repeatable=True,
    )


def _act(person: Person, event: str, record_id: str, send: Callable[[], object]) -> None:
    """Archive or restore; a repeat is harmless. Raises CareError."""
    once = Attempt(person.sub, begin_edit(person.sub, f"{event}:{record_id}"))
    act_once(once, lambda _key: send(), event=event, id_=record_id, is_repeatable=True)


class ArchivePage(Page, template="conversations/archive.html", about="thread"):
    thread: Thread
    consequences: list[str]
