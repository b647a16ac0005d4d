"""People who asked about treatment: booking a first window, a link to book it themselves, merging two records.

No endpoint reads such a record. What can be shown comes from the notifications and conversations that name it, and
from what staff enter; and after a lost answer nobody can tell, so neither act is ever sent again by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlencode

import msgspec
from flask import Blueprint, Response, g, request, url_for

from portal.operations import Operation, State
from portal.parts import parts
from portal.services.client import Care
from portal.services.conversations import list_conversations
from portal.services.errors import (
    BadResponse,
    CareError,
    NotFound,
    NotOffered,
    NotSignedIn,
    Refused,
    Unavailable,
)
from portal.services.gather import gather, known
from portal.services.notifications import list_notifications
from portal.services.prospects import book_window, merge_prospects
from portal.services.records import Conversation, MessageSide, Notification, Prospect
from portal.sessions import Person
from portal.tenants import Side
from portal.views.booking import links
from portal.views.booking.windows import Week, Window, appointment_types, chosen_day, read_week
from portal.web import audit, unsent
from portal.web.guard import signed_in
from portal.web.htmx import redirect_to, render
from portal.web.once import is_lost, key, settled
from portal.web.rules import said
from portal.words import _

bp = Blueprint("prospects", __name__, url_prefix="/prospects")

ROLES = {"nurse", "coordinator", "admin"}
"""Who sees to enquiries (README: assumptions)."""

_ABOUT_THE_TIME = ("SlotTaken", "OutsideWorkingHours", "SlotInThePast", "PhysicianNotAvailable")
_LINK_DAYS = (2, 7, 14, 30)
_LONGEST_ID = 128
_CHECKED = "checked by hand"
_MERGED = ("firstName", "lastName", "email", "phoneNumber", "source", "interest")


# ── booking a window ────────────────────────────────────────────────────────────────────────────────────


class Booked(msgspec.Struct, frozen=True):
    """What a receipt says of a booking."""

    start: datetime
    end: datetime
    with_whom: str
    where: str
    what: str


@dataclass(frozen=True, slots=True)
class LinkCard:
    """The booking link of a page: whether the clinic has any, how long one is valid, and the one just made."""

    is_offered: bool
    days: int
    choices: tuple[int, ...] = _LINK_DAYS
    address: str = ""
    expires_at: datetime | None = None

    @classmethod
    def empty(cls) -> LinkCard:
        """No link is made yet."""
        return cls(is_offered=g.tenant.service_client is not None, days=7)


@bp.get("/<record:prospect_id>/book")
@signed_in(Side.STAFF, roles=ROLES)
def book(care: Care, person: Person, prospect_id: str) -> Response:
    """Show a physician's week, its free windows to choose from."""
    operation = _operation(person, f"book:{prospect_id}")
    if operation.state is not State.OPEN:
        return _booking_unconfirmed(care, prospect_id, operation)
    return _choose(care, prospect_id, operation)


@bp.post("/<record:prospect_id>/book")
@signed_in(Side.STAFF, roles=ROLES)
@unsent.typed_text("window", "type")
def book_window_(care: Care, person: Person, prospect_id: str) -> Response:
    """Book the chosen window, once."""
    purpose = f"book:{prospect_id}"
    operation = _sent_operation(person, purpose)
    if operation is None:
        return _choose(care, prospect_id, _operation(person, purpose), status=409, note="stale")
    if operation.state is not State.OPEN:
        return _booking_ended(care, person, prospect_id, operation)
    week = _week(care)
    asked = request.form.get("window", "")
    window = week.window(asked)
    if window is None:
        newest = _sent_operation(person, purpose)
        if newest and newest.state is not State.OPEN:  # the post that came first has taken it
            return _booking_ended(care, person, prospect_id, newest)
        note, status = ("SlotTaken", 409) if asked else ("missing", 422)
        return _choose(care, prospect_id, operation, status=status, note=note, week=week)
    booked = Booked(
        window.start,
        window.end,
        window.physician.name,
        window.physician.location_name or "",
        request.form.get("type", "")[:100] or appointment_types()[0][0],
    )
    parts().operations.keep(person.sub, operation.id, {"window": asked, **msgspec.to_builtins(booked)})
    if not parts().operations.claim(person.sub, operation.id):
        return _booking_ended(care, person, prospect_id, operation)
    return _book(care, person, prospect_id, operation, window, booked)


@bp.get("/<record:prospect_id>/book/receipt")
@signed_in(Side.STAFF, roles=ROLES)
def booked(care: Care, person: Person, prospect_id: str) -> Response:
    """Show what was booked."""
    operation = _finished(person, f"book:{prospect_id}")
    if operation is None:
        return redirect_to(url_for(".book", prospect_id=prospect_id))
    receipt = msgspec.json.decode(operation.outcome, type=Booked)
    return render(
        "prospects/booked.html", prospect_id=prospect_id, booked=receipt, types=dict(appointment_types())
    )


@bp.get("/<record:prospect_id>/book-link")
@signed_in(Side.STAFF, roles=ROLES)
def book_link(care: Care, person: Person, prospect_id: str) -> Response:
    """Ask how long a booking link should be valid."""
    return _link_page(prospect_id)


@bp.post("/<record:prospect_id>/book-link")
@signed_in(Side.STAFF, roles=ROLES)
def make_book_link(care: Care, person: Person, prospect_id: str) -> Response:
    """Make a link by which the enquirer books a window without signing in."""
    days = request.form.get("days", "")
    if days not in {str(number) for number in _LINK_DAYS}:
        return _link_page(prospect_id, status=422)
    if g.tenant.service_client is None:
        raise NotOffered(about_record=False)
    lifetime = timedelta(days=int(days))
    signed = links().make(clinic=g.tenant.key, prospect_id=prospect_id, lifetime=lifetime)
    audit.note("booking-link.create", "done", kind="prospect", id_=prospect_id)
    expires_at = datetime.fromtimestamp(parts().clock(), g.tenant.time_zone) + lifetime
    address = url_for("booking.show", signed=signed, _external=True)
    return _link_page(
        prospect_id, LinkCard(is_offered=True, days=int(days), address=address, expires_at=expires_at)
    )


def _book(
    care: Care, person: Person, prospect_id: str, operation: Operation, window: Window, booked: Booked
) -> Response:
    operations = parts().operations
    try:
        book_window(
            care,
            prospect_id,
            physician_id=window.physician.id,
            location_id=window.physician.location_id,
            start=window.start,
            end=window.end,
            time_zone=g.tenant.time_zone.key,
            appointment_type=booked.what,
            operation=key(operation.id, window.value, booked.what),
        )
    except CareError as error:
        if _is_unknown(error):
            operations.lose(person.sub, operation.id)
            audit.note("prospect.book", "unknown", kind="prospect", id_=prospect_id)
            lost = _sent_operation(person, operation.purpose) or operation
            return _booking_unconfirmed(care, prospect_id, lost, status=503)
        operations.reopen(person.sub, operation.id)
        audit.note("prospect.book", "refused", kind="prospect", id_=prospect_id)
        if isinstance(error, Refused) and error.code in _ABOUT_THE_TIME:
            return _choose(care, prospect_id, operation, status=409, note=error.code)
        raise
    operations.finish(person.sub, operation.id, outcome=msgspec.json.encode(booked).decode())
    audit.note("prospect.book", "done", kind="prospect", id_=prospect_id)
    return _to_receipt(".booked", prospect_id, operation)


def _booking_ended(care: Care, person: Person, prospect_id: str, operation: Operation) -> Response:
    """Another post of the same form came first: go where it ended."""
    if request.form.get("checked") and _may_restart(operation):
        parts().operations.finish(person.sub, operation.id, outcome=_CHECKED)
        return redirect_to(url_for(".book", prospect_id=prospect_id))
    ended = _ended(person, operation)
    if ended.state is State.DONE and ended.outcome != _CHECKED:
        return _to_receipt(".booked", prospect_id, ended)
    if ended.state in (State.OPEN, State.DONE):
        return redirect_to(url_for(".book", prospect_id=prospect_id))
    return _booking_unconfirmed(care, prospect_id, ended, status=202)


def _booking_unconfirmed(
    care: Care, prospect_id: str, operation: Operation, *, status: int = 200
) -> Response:
    """No answer came: say so, and what the physicians' calendar says now."""
    asked = msgspec.convert(operation.data, Booked) if "start" in operation.data else None
    is_free: bool | None = None
    if asked:
        physician_id = str(operation.data.get("window", "")).partition("/")[2]
        day = asked.start.astimezone(g.tenant.time_zone).date()
        try:
            week = read_week(care, first_day=day, physician_id=physician_id, anybody=False)
            is_free = week.window(str(operation.data["window"])) is not None
        except NotSignedIn:
            raise
        except CareError:
            is_free = None
    return render(
        "prospects/book_unconfirmed.html",
        status=status,
        prospect_id=prospect_id,
        operation=operation,
        may_restart=_may_restart(operation),
        asked=asked,
        is_free=is_free,
    )


def _choose(
    care: Care,
    prospect_id: str,
    operation: Operation,
    *,
    status: int = 200,
    note: str = "",
    week: Week | None = None,
) -> Response:
    form = unsent.given_back(url_for(".book_window_", prospect_id=prospect_id)) or request.form
    return render(
        "prospects/book.html",
        fragment="week",
        status=status,
        prospect_id=prospect_id,
        operation=operation,
        week=week or _week(care),
        here=url_for(".book", prospect_id=prospect_id),
        note=said(note) if note in _ABOUT_THE_TIME else "",
        is_missing=note == "missing",
        is_stale=note == "stale",
        types=appointment_types(),
        chosen_type=form.get("type", ""),
        chosen_window=form.get("window", ""),
        link=LinkCard.empty(),
    )


def _week(care: Care) -> Week:
    return read_week(
        care, first_day=chosen_day(), physician_id=request.values.get("physician", ""), anybody=False
    )


def _link_page(prospect_id: str, link: LinkCard | None = None, *, status: int = 200) -> Response:
    return render(
        "prospects/book_link.html",
        fragment="link",
        status=status,
        prospect_id=prospect_id,
        link=link or LinkCard.empty(),
    )


# ── merging ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of an enquiry without reading it: values by field, and where it is spoken of."""

    id: str
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    notifications: tuple[Notification, ...] = ()
    conversations: tuple[Conversation, ...] = ()

    @property
    def wrote_as(self) -> str:
        """The name under which the enquirer wrote last."""
        inbound = [m for c in self.conversations for m in c.in_order if m.side == MessageSide.INBOUND]
        return inbound[-1].sender_name if inbound else ""


class Merged(msgspec.Struct, frozen=True):
    """What a receipt says of a merge; `name` is the surviving record's, where the API told it."""

    merge_id: str
    choices: dict[str, str]
    name: str = ""
    status: str = ""


def merge_fields() -> list[tuple[str, str]]:
    """The fields that a merge lets one choose, with their words."""
    return [
        ("firstName", _("First name")),
        ("lastName", _("Last name")),
        ("email", _("E-mail")),
        ("phoneNumber", _("Telephone")),
        ("source", _("Where they heard of us")),
        ("interest", _("Interested in")),
    ]


@bp.get("/<record:prospect_id>/merge")
@signed_in(Side.STAFF, roles=ROLES)
def merge(care: Care, person: Person, prospect_id: str) -> Response:
    """Show the two records side by side, as far as they are known, and ask whose value stays for each field."""
    merge_id = request.args.get("merge", "").strip()
    if not _is_id(merge_id) or merge_id == prospect_id:
        return _ask_for_other(care, prospect_id, merge_id)
    operation = _operation(person, f"merge:{prospect_id}:{merge_id}")
    if operation.state is not State.OPEN:
        return _merge_unconfirmed(prospect_id, merge_id, operation)
    return _compare(care, prospect_id, merge_id, operation)


@bp.post("/<record:prospect_id>/merge")
@signed_in(Side.STAFF, roles=ROLES)
@unsent.typed_text(*_MERGED)
def choose(care: Care, person: Person, prospect_id: str) -> Response:
    """Keep the choices and go on to the confirmation."""
    merge_id = request.form.get("merge", "")
    operation = _sent_operation(person, f"merge:{prospect_id}:{merge_id}")
    if operation is None:
        return redirect_to(url_for(".merge", prospect_id=prospect_id, merge=merge_id or None))
    parts().operations.keep(person.sub, operation.id, {"choices": _chosen(request.form)})
    return redirect_to(url_for(".confirm", prospect_id=prospect_id, merge=merge_id, operation=operation.id))


@bp.get("/<record:prospect_id>/merge/confirm")
@signed_in(Side.STAFF, roles=ROLES)
def confirm(care: Care, person: Person, prospect_id: str) -> Response:
    """Say what follows, and ask once more; Back from the receipt leads to it again."""
    merge_id = request.args.get("merge", "")
    purpose = f"merge:{prospect_id}:{merge_id}"
    if done := _finished(person, purpose):
        return _to_receipt(".merged", prospect_id, done, merge=merge_id)
    operation = _sent_operation(person, purpose)
    if operation is None or operation.state is not State.OPEN:
        return redirect_to(url_for(".merge", prospect_id=prospect_id, merge=merge_id or None))
    return render(
        "prospects/merge_confirm.html",
        prospect_id=prospect_id,
        merge_id=merge_id,
        operation=operation,
        choices=_choices(operation),
        fields=merge_fields(),
    )


@bp.post("/<record:prospect_id>/merge/confirm")
@signed_in(Side.STAFF, roles=ROLES)
def merge_now(care: Care, person: Person, prospect_id: str) -> Response:
    """Merge the two, once."""
    merge_id = request.form.get("merge", "")
    operation = _sent_operation(person, f"merge:{prospect_id}:{merge_id}")
    if operation is None:
        return redirect_to(url_for(".merge", prospect_id=prospect_id, merge=merge_id or None))
    if not parts().operations.claim(person.sub, operation.id):
        return _merge_ended(person, prospect_id, merge_id, operation)
    return _merge(care, person, prospect_id, merge_id, operation)


@bp.get("/<record:prospect_id>/merge/receipt")
@signed_in(Side.STAFF, roles=ROLES)
def merged(care: Care, person: Person, prospect_id: str) -> Response:
    """Show what was merged, and which record lives on."""
    operation = _finished(person, f"merge:{prospect_id}:{request.args.get('merge', '')}")
    if operation is None:
        return redirect_to(url_for(".merge", prospect_id=prospect_id, merge=request.args.get("merge")))
    receipt = msgspec.json.decode(operation.outcome, type=Merged)
    return render(
        "prospects/merged.html", prospect_id=prospect_id, merged=receipt, fields=dict(merge_fields())
    )


def _merge(care: Care, person: Person, prospect_id: str, merge_id: str, operation: Operation) -> Response:
    operations = parts().operations
    choices = _choices(operation)
    ids = {"kept": prospect_id, "merged": merge_id}
    try:
        survivor = merge_prospects(
            care,
            prospect_id,
            merge_id=merge_id,
            field_choices={name: ids[whose] for name, whose in choices.items()},
            operation=key(operation.id, *sorted(f"{name}={whose}" for name, whose in choices.items())),
        )
    except CareError as error:
        if _is_unknown(error):
            operations.lose(person.sub, operation.id)
            audit.note("prospect.merge", "unknown", kind="prospect", id_=prospect_id)
            return _merge_unconfirmed(prospect_id, merge_id, operation, status=503)
        operations.reopen(person.sub, operation.id)
        audit.note("prospect.merge", "refused", kind="prospect", id_=prospect_id)
        if isinstance(error, Refused | NotFound):
            return _merge_refused(prospect_id, merge_id, error)
        raise
    operations.finish(person.sub, operation.id, outcome=_merge_receipt(merge_id, choices, survivor))
    audit.note("prospect.merge", "done", kind="prospect", id_=prospect_id)
    return _to_receipt(".merged", prospect_id, operation, merge=merge_id)


def _merge_receipt(merge_id: str, choices: dict[str, str], survivor: Prospect | None) -> str:
    name = survivor.full_name if survivor else ""
    status = str(survivor.status or "") if survivor else ""
    return msgspec.json.encode(Merged(merge_id, choices, name, status)).decode()


def _merge_refused(prospect_id: str, merge_id: str, error: CareError) -> Response:
    is_refused = isinstance(error, Refused)
    return render(
        "prospects/merge_refused.html",
        status=403 if is_refused else 404,
        prospect_id=prospect_id,
        merge_id=merge_id,
        reason=said(error.code)
        if isinstance(error, Refused)
        else _("One of the two isn’t at this clinic, or isn’t there any more."),
    )


def _merge_ended(person: Person, prospect_id: str, merge_id: str, operation: Operation) -> Response:
    if request.form.get("checked") and _may_restart(operation):
        parts().operations.finish(person.sub, operation.id, outcome=_CHECKED)
        return redirect_to(url_for(".merge", prospect_id=prospect_id, merge=merge_id))
    ended = _ended(person, operation)
    if ended.state is State.DONE and ended.outcome != _CHECKED:
        return _to_receipt(".merged", prospect_id, ended, merge=merge_id)
    if ended.state in (State.OPEN, State.DONE):
        return redirect_to(url_for(".merge", prospect_id=prospect_id, merge=merge_id))
    return _merge_unconfirmed(prospect_id, merge_id, ended, status=202)


def _merge_unconfirmed(
    prospect_id: str, merge_id: str, operation: Operation, *, status: int = 200
) -> Response:
    return render(
        "prospects/merge_unconfirmed.html",
        status=status,
        prospect_id=prospect_id,
        merge_id=merge_id,
        operation=operation,
        may_restart=_may_restart(operation),
    )


def _compare(care: Care, prospect_id: str, merge_id: str, operation: Operation) -> Response:
    news, talks = gather(
        lambda: list_notifications(care, limit=100),
        lambda: list_conversations(care, limit=50, include_archived=True),
    )
    heard = tuple(page.items) if (page := known(news)) else ()
    spoken = tuple(talk.items) if (talk := known(talks)) else ()
    given = unsent.given_back(url_for(".choose", prospect_id=prospect_id))
    return render(
        "prospects/merge.html",
        prospect_id=prospect_id,
        merge_id=merge_id,
        operation=operation,
        kept=_known(prospect_id, heard, spoken),
        merged=_known(merge_id, heard, spoken),
        fields=merge_fields(),
        choices=_chosen(given) if given else _choices(operation),
        is_incomplete=isinstance(news, CareError) or isinstance(talks, CareError),
    )


def _ask_for_other(care: Care, prospect_id: str, given: str) -> Response:
    """Ask which record it should be merged with; those that a notification suggests come as links."""
    (news,) = gather(lambda: list_notifications(care, limit=100))
    heard = page.items if (page := known(news)) else ()
    suggested = [n.datum("mergeId") for n in heard if n.is_about("Prospect", prospect_id)]
    error = ""
    if given == prospect_id:
        error = said("SameRecord")
    elif given:
        error = _("This is no id. Copy it from the record in the clinic’s system.")
    return render(
        "prospects/merge_with.html",
        status=422 if error else 200,
        prospect_id=prospect_id,
        given=given[:_LONGEST_ID],
        error=error,
        suggested=list(dict.fromkeys(id_ for id_ in suggested if id_ and id_ != prospect_id)),
    )


def _known(prospect_id: str, news: tuple[Notification, ...], talks: tuple[Conversation, ...]) -> Known:
    about = tuple(n for n in news if n.is_about("Prospect", prospect_id))
    values = {
        name: value for name, _words in merge_fields() for n in reversed(about) if (value := n.datum(name))
    }
    mentions = tuple(n for n in news if n in about or n.datum("mergeId") == prospect_id)
    spoken = tuple(talk for talk in talks if talk.prospect_id == prospect_id)
    return Known(prospect_id, values, mentions[:3], spoken[:3])


def _chosen(form: Mapping[str, str]) -> dict[str, str]:
    return {name: form[name] for name in _MERGED if form.get(name) in ("kept", "merged")}


def _choices(operation: Operation) -> dict[str, str]:
    return msgspec.convert(operation.data.get("choices", {}), dict[str, str])


def _is_id(text: str) -> bool:
    """Whether it may be an id: opaque, 1 to 128 characters without a slash, and no dot segment."""
    return 0 < len(text) <= _LONGEST_ID and "/" not in text and text.isprintable() and text not in (".", "..")


# ── once ────────────────────────────────────────────────────────────────────────────────────────────────


def _operation(person: Person, purpose: str) -> Operation:
    """The act under way for this purpose; a new one when there is none, or the last one is done."""
    newest = parts().operations.newest(person.sub, purpose)
    if newest is None or newest.state is State.DONE:
        return parts().operations.begin(person.sub, purpose)
    return settled(person, newest)


def _ended(person: Person, operation: Operation) -> Operation:
    """The operation as it ended, however long ago it was read."""
    newest = parts().operations.find(person.sub, operation.id, operation.purpose)
    return settled(person, newest or operation)


def _sent_operation(person: Person, purpose: str) -> Operation | None:
    return parts().operations.find(person.sub, request.values.get("operation", ""), purpose)


def _finished(person: Person, purpose: str) -> Operation | None:
    operation = _sent_operation(person, purpose)
    is_receipt = operation and operation.state is State.DONE and operation.outcome != _CHECKED
    return operation if is_receipt else None


def _to_receipt(endpoint: str, prospect_id: str, operation: Operation, **more: str) -> Response:
    query = urlencode({**more, "operation": operation.id})
    return redirect_to(f"{url_for(endpoint, prospect_id=prospect_id)}?{query}")


def _is_unknown(error: CareError) -> bool:
    """Whether the act may have happened all the same."""
    return isinstance(error, BadResponse) or (isinstance(error, Unavailable) and not error.outcome_known)


def _may_restart(operation: Operation) -> bool:
    """Whether someone who looked in the clinic's own system may start anew."""
    return operation.state is State.UNKNOWN or (operation.state is State.PENDING and is_lost(operation))
