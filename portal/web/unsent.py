"""What was typed into a form that could not be taken, given back to the person who typed it.

A form may be sent after its session ended, or from a page that was made in an earlier one; its answer may be a page without an
address, such as a review; a page that sees its session end, or is left, hands in its form only for that (`ONLY_KEEP`). Then the text
of its known fields waits, encrypted in the store, for an hour: under the person, the clinic and the address of the form or, if its
handler names one, of the form's page, so that nobody else is ever shown it. When that person is signed in and opens the form's page,
also by the browser's Back, the page holds what was typed and says that nothing has been sent. It goes when the form is sent or
left by choice, and when the person signs out.

A form's handler names the fields (`typed_text`); the handler of its page asks for them (`restored_form`). Where the
form's address doesn't say whose record it makes, the form does (`TYPED_FOR`), so that what was typed for one patient is never
shown in the form of another.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TypeVar, cast
from urllib.parse import quote, unquote

import msgspec
from flask import Flask, Response, current_app, g, request, url_for
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from portal.context import context, session
from portal.parse import address_parts
from portal.state.session_records import Person, SessionRecord
from portal.store import StoreDown
from portal.web import csrf

log = logging.getLogger("portal")

View = TypeVar("View", bound=Callable[..., object])

_NAMES, _PAGE = "typed_text", "typed_text_page"
_WAITING = "unsent"
_LIFETIME = 3600
_LARGEST = 128 * 1024
_LONGEST_PURPOSE = 300
_MOST = 5
"""Forms that wait for one person at a time; one more takes the place of the one kept first."""

ONLY_KEEP = "only-keep"
"""A field that says: keep what was typed, and do nothing else with the form (scripts/unsent.js)."""

LEFT = "left"
"""What that field holds for a form that was left by choice: forget what was typed."""

TYPED_FOR = "typed-for"
"""A field that says what the text is for, where the form's address doesn't."""

_LEAVE = "as-saved"
"""In a page's address: show the record as it is, not what was typed."""


class Unsent(msgspec.Struct, frozen=True):
    """The text of one form: its address, with what the text is for; what its fields held; and when it was kept (seconds since 1970)."""

    action: str
    fields: list[tuple[str, str]]
    kept_at: float = 0.0


def typed_text(*names: str, page: str | None = None) -> Callable[[View], View]:
    """Mark a form's handler: what these fields hold is kept (`*` stands for the rest of a name), no others.

    `page` is the endpoint of the form's page, where the form also stands on pages that have no address of their own; what they all
    hold waits as one.
    """

    def mark(view: View) -> View:
        setattr(view, _NAMES, names)
        setattr(view, _PAGE, page)
        return view

    return mark


def names_of(view: object) -> tuple[str, ...]:
    """Return the names of the fields that are kept for this handler's form."""
    return getattr(view, _NAMES, ())


def is_kept(view: object, name: str) -> bool:
    """Whether what this field of the handler's form holds is kept."""
    return any(fnmatchcase(name, known) for known in names_of(view))


def init_app(app: Flask) -> None:
    """Forget the text of a form once the form is taken."""
    app.after_request(_forget_sent)
    app.jinja_env.globals["as_saved_at"] = _as_saved_at  # pyright: ignore[reportArgumentType]


def keep() -> bool:
    """Keep the text of this form for whoever its page was made for, in place of what waited; return whether there is any.

    That is who is signed in here now, or was until the session ended, and the form's own token has to name the same person: the
    page of someone else who used this browser before is not theirs. If the browser has lost its session, the token alone says
    who it is, unless they have signed out since.
    """
    view = current_app.view_functions.get(request.endpoint or "")
    fields = [(name, value) for name, value in request.form.items(multi=True) if is_kept(view, name)]
    if request.method != "POST" or not csrf.is_same_origin():
        return False
    if not any(value.strip() for _name, value in fields):
        return False
    try:
        who = session().whose()
        owner = csrf.owner_of_form() if who is None else _owner(who) if csrf.is_issued_for(*who) else None
        if owner is None or (who is None and context().vault.get(_left(owner), Unsent)):
            return False
        g.is_unsent = _write(owner, Unsent(_sent_form(), fields, context().clock()))
        if g.is_unsent and session().person:
            _mark_waiting(owner)
    except StoreDown as error:
        log.warning("typed text not kept: %s", error)
    return g.get("is_unsent", False)


def forget_left() -> None:
    """Forget the text of this form, whose page was left by choice."""
    who = session().whose()
    if who and csrf.is_same_origin() and csrf.is_issued_for(*who):
        _forget_one(_owner(who), _sent_form())


def page_of_form() -> str | None:
    """Return the address of the page that this request's form stands on, if its handler names one."""
    endpoint = getattr(current_app.view_functions.get(request.endpoint or ""), _PAGE, None)
    return url_for(endpoint, **(request.view_args or {})) if endpoint else None


def await_return(person: Person) -> None:
    """Remember in the session, just begun, which forms of this person wait: other pages then never ask the store."""
    owner = csrf.owner_tag(person.issuer, person.sub)
    context().vault.delete(_left(owner))
    _mark_waiting(owner)


def restored_form(*actions: str, typed_for: str | None = "") -> MultiDict[str, str] | None:
    """Return what the person had typed into the form that posts to one of these addresses, or has its page there; None for nothing.

    Only for a page that is opened (GET), which then says so at its top. `typed_for` is the form's own `TYPED_FOR`, None
    where the page takes over whom the text is for.
    """
    waiting = _waiting()
    if request.method != "GET" or not waiting or _LEAVE in request.args:
        return None
    who = session().whose()
    wanted = [_form_of(unquote(address_parts(action).path), typed_for or "") for action in actions]
    if typed_for is None:
        wanted += [name for name in waiting if name.partition("#")[0] in wanted]
    for action in wanted:
        if who and action in waiting and (held := context().vault.get(_name(_owner(who), action), Unsent)):
            g.is_given_back = True
            return MultiDict(held.value.fields)
    return None


def was_waiting() -> bool:
    """Whether this request sends a form whose text waited, so that its page says that nothing has been sent."""
    if request.method != "POST":
        return False
    try:
        return _sent_form() in _waiting()
    except RequestEntityTooLarge:  # it isn't read, and its text isn't kept
        return False


def forget(person: Person) -> None:
    """Remove whatever waits for this person, who signs out, at this clinic; pages left open keep nothing more for them."""
    vault, owner = context().vault, csrf.owner_tag(person.issuer, person.sub)
    if names := vault.tagged(*_tag(owner)):
        vault.delete(*names)
    vault.insert(_left(owner), Unsent("", []), expires_at=context().clock() + _LIFETIME)


def _as_saved_at() -> str | None:
    """On a page that holds what was typed: the address of the same page without it. Else None."""
    if not g.get("is_given_back"):
        return None
    query = request.query_string.decode("ascii", "replace")
    return f"{quote(request.path)}?{query}{'&' if query else ''}{_LEAVE}=1"


def _owner(who: tuple[str, str]) -> bytes:
    return csrf.owner_tag(*who)


def _write(owner: bytes, unsent: Unsent) -> bool:
    if sum(len(name) + len(value) for name, value in unsent.fields) > _LARGEST:
        return False
    vault, name = context().vault, _name(owner, unsent.action)
    others = [other for other in _held(owner) if other.action != unsent.action]
    if len(others) >= _MOST:
        vault.delete(_name(owner, min(others, key=lambda other: other.kept_at).action))
    written = vault.update(
        name,
        Unsent,
        lambda _before: unsent,
        initial=unsent,
        expires_at=unsent.kept_at + _LIFETIME,
        tags=[vault.tag(*_tag(owner))],
    )
    return written is not None


def _forget_sent(response: Response) -> Response:
    """A form that its handler took is sent, or shown again with what was typed now; a failure of ours is neither."""
    if response.status_code >= 500 or g.get("is_unsent"):
        return response
    try:
        if was_waiting() and (who := session().whose()):
            _forget_one(_owner(who), _sent_form())
    except StoreDown as error:  # the form was accepted all the same
        log.warning("typed text not forgotten: %s", error)
    return response


def _forget_one(owner: bytes, sent: str) -> None:
    context().vault.delete(_name(owner, sent))

    def without_sent(record: SessionRecord) -> None:
        record.data[_WAITING] = [action for action in record.data.get(_WAITING, []) if action != sent]

    session().amend(without_sent)


def _mark_waiting(owner: bytes) -> None:
    """Note in the session which forms wait, as the store has them when the session is written."""

    def mark(record: SessionRecord) -> None:
        record.data[_WAITING] = _actions(owner)

    if _actions(owner) or _waiting():
        session().amend(mark)


def _actions(owner: bytes) -> list[str]:
    return [unsent.action for unsent in _held(owner)]


def _held(owner: bytes) -> list[Unsent]:
    vault = context().vault
    held = (vault.get(name, Unsent) for name in vault.tagged(*_tag(owner)))
    return [record.value for record in held if record]


def _waiting() -> list[str]:
    """The addresses of the forms whose text waits for who is signed in here."""
    return cast("list[str]", session().get(_WAITING, [])) if g.get("person") else []


def _sent_form() -> str:
    return _form_of(unquote(page_of_form() or "") or request.path, request.form.get(TYPED_FOR, ""))


def _form_of(path: str, typed_for: str) -> str:
    return f"{path}#{typed_for[:_LONGEST_PURPOSE]}" if typed_for else path


def _name(owner: bytes, action: str) -> str:
    return context().vault.name("unsent", owner.hex(), g.tenant.key, action)


def _left(owner: bytes) -> str:
    """The name of what says that this person has signed out and not in again."""
    return context().vault.name("left", owner.hex(), g.tenant.key)


def _tag(owner: bytes) -> tuple[str, ...]:
    return ("unsent-of", owner.hex(), g.tenant.key)
