"""Responses with a page, a fragment of it or a redirect. The only module that reads or sets `HX-` headers.

A fragment is a named block of the page's template, whose name is also the DOM id and the htmx target. The whole page is
returned unless htmx requests that target, so every address works without JavaScript.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import cast
from urllib.parse import unquote

import msgspec
from flask import Response, g, make_response, request
from markupsafe import Markup, escape
from werkzeug.urls import iri_to_uri

from portal.context import session
from portal.i18n.gettext import _, ngettext
from portal.parse import address_parts, is_local
from portal.request_values import is_seen_by_staff
from portal.web import patient_banner, templates, unsent
from portal.web.headers import nonce
from portal.web.pages import Page
from portal.web.routing import without_sign_in_code

_TOASTS = "toasts"


class Toast(msgspec.Struct, frozen=True):
    """A short message about what was done; `undo` is the address to which a form posts `fields` to undo it."""

    text: str
    tone: str = "success"
    undo: str | None = None
    fields: dict[str, str] = msgspec.field(default_factory=dict)


def is_htmx() -> bool:
    return (
        not is_seen_by_staff()
        and request.headers.get("HX-Request") == "true"
        and request.headers.get("HX-Boosted") != "true"
        and request.headers.get("HX-History-Restore-Request") != "true"
    )


def target() -> str | None:
    """Return the DOM id of htmx's target (htmx 4 sends `tag#id`), or None."""
    if not is_htmx():
        return None
    return unquote(request.headers.get("HX-Target", "").partition("#")[2]) or None


def wants(*fragments: str) -> bool:
    """Return whether htmx requests one of these fragments."""
    return target() in fragments


def current_path() -> str | None:
    """Return path and query of the page that an htmx request was sent from, or None."""
    parts = address_parts(request.headers.get("HX-Current-URL"))
    if not is_htmx() or parts.netloc != request.host:
        return None
    return without_sign_in_code(parts.path + (f"?{parts.query}" if parts.query else ""))


def render(
    page: Page,
    *,
    fragment: str | Iterable[str] = (),
    status: int = 200,
    bell: int | None = None,
    also: Iterable[tuple[str, str, str]] = (),
) -> Response:
    """Return the page, or the block listed in `fragment` that htmx requests.

    A fragment is followed by out-of-band updates: this request's toasts, the bell if its unread count is given in `bell`,
    and the blocks in `also`, each with selector, swap style and block name. The notice that nothing has been sent goes
    once it isn't true.

    Where a form's answers have no address of their own, what it held and isn't sent yet waits on its page.
    """
    if unsent.page_of_form() and not g.get("is_unsent"):
        unsent.keep()
    template, context = page.template, page.context()
    fragments = (fragment,) if isinstance(fragment, str) else tuple(fragment)
    if bell is not None:
        context.update(unread_count=bell, bell_htmx=bell_htmx(bell))
    block = target()
    if block is None or block not in fragments:
        banner = patient_banner.banner_of(page.patient_ref, hides_mrn=page.hides_mrn)
        context.update(banner=banner, is_banner_pinned=page.is_pinned)
        return _vary(make_response(templates.render(template, context), status))
    parts = [templates.render(template, context, block=block)]
    if records := g.get("unreadable", 0):
        toast(
            ngettext("%(num)d record can’t be shown.", "%(num)d records can’t be shown.", records),
            tone="attention",
        )
    elif g.get("lacks_details"):
        toast(_("Some details can’t be shown."), tone="attention")
    if bell is not None:
        parts.append(_partial("#bell", "outerHTML", templates.ui().bell(bell, htmx=bell_htmx(bell))))
    for selector, swap, name in also:
        content = Markup(templates.render(template, context, block=name))  # noqa: S704 (the template has escaped it)
        parts.append(_partial(selector, swap, content))
    if status < 400 and unsent.was_waiting() and not g.get("is_unsent"):
        parts.append(_partial("#given-back", "delete", ""))
    parts += [_partial("#toasts", "beforeend", _rendered(pending)) for pending in toasts()]
    return _vary(make_response("".join(parts), status))


def render_bell(count: int) -> Response:
    """Return the bell alone, with this unread count."""
    return _vary(make_response(str(templates.ui().bell(count, htmx=bell_htmx(count)))))


def redirect_to(location: str) -> Response:
    """Redirect to a page of the portal with 303, or for htmx with `HX-Redirect`.

    htmx would follow a 303 itself and put the next page into the target. An address of another host, such as `//elsewhere`,
    is replaced by the home page. Non-ASCII characters are percent-encoded (RFC 3987 §3.1).
    """
    _save_toasts()
    address = iri_to_uri(location)
    return redirect_outside(address if is_local(address) else "/")


def redirect_outside(address: str) -> Response:
    """Redirect to any address: to the identity server, or one that was checked to be the portal's."""
    if is_htmx():
        return _vary(make_response("", 200, {"HX-Redirect": address}))
    response = make_response("", 303, {"Location": address})
    response.headers.pop("Content-Type", None)
    return _vary(response)


def is_htmx_redirect(response: Response) -> bool:
    """Return whether the response makes htmx load another page."""
    return "HX-Redirect" in response.headers


def hx(
    *,
    get: str | None = None,
    post: str | None = None,
    target: str | None = None,
    swap: str | None = None,
    trigger: str | None = None,
    push_url: bool | str | None = None,
    replace_url: bool | str | None = None,
    include: str | None = None,
    indicator: str | None = None,
    sync: str | None = None,
    disable: str | None = None,
    confirm: str | None = None,
    ptag: str | None = None,
) -> Markup:
    """Return an element's htmx attributes, including the nonce without which htmx ignores them."""
    attributes = _attributes(
        get=get,
        post=post,
        target=target,
        swap=swap,
        trigger=trigger,
        push_url=_flag(push_url),
        replace_url=_flag(replace_url),
        include=include,
        indicator=indicator,
        sync=sync,
        disable=disable,
        confirm=confirm,
        ptag=ptag,
    )
    return Markup(f'{attributes}hx-nonce="{nonce()}"')  # noqa: S704 (each value is escaped)


@lru_cache(maxsize=1024, typed=True)  # typed: Markup and str of the same text are escaped differently
def _attributes(**values: str | None) -> str:
    """The attributes that have a value. Cached, because pages repeat the same ones."""
    return "".join(
        f'hx-{name.replace("_", "-")}="{escape(value)}" '
        for name, value in values.items()
        if value is not None
    )


def toast(
    text: str, *, tone: str = "success", undo: str | None = None, fields: dict[str, str] | None = None
) -> None:
    """Add a toast to this response, or to the page that it redirects to."""
    _pending().append(Toast(str(text), tone, undo, fields or {}))


def toasts() -> list[Toast]:
    """Return and remove the toasts to show in this response."""
    shown = [*_saved(), *_pending()]
    g.toasts = []
    return shown


def bell_htmx(known: int | None, *, at_once: bool = False) -> Markup:
    """Return the htmx attributes with which the bell refreshes the count `known`.

    It does so when scripts/look.js reports that the page is visible, and with `at_once` also right after the page is loaded.
    """
    return hx(
        get="/notifications/bell" + ("" if known is None else f"?known={known}"),
        trigger=("load delay:300ms, " if at_once else "") + "portal:look from:document",
        target="#bell",
    )


def _pending() -> list[Toast]:
    if "toasts" not in g:
        g.toasts = []
    return cast("list[Toast]", g.toasts)


def _saved() -> list[Toast]:
    """Return the toasts that a redirect saved in the session; only whole pages show them."""
    current = session()
    if is_htmx() or _TOASTS not in current:
        return []
    return msgspec.convert(current.pop(_TOASTS), list[Toast])


def _save_toasts() -> None:
    if _pending():
        session()[_TOASTS] = msgspec.to_builtins(_pending())
        g.toasts = []


def _rendered(toast: Toast) -> str:
    return templates.ui().toast(toast.text, toast.tone, undo=toast.undo, fields=toast.fields)


def _partial(target: str, swap: str, content: str) -> str:
    return f'<hx-partial hx-target="{escape(target)}" hx-swap="{escape(swap)}" hx-nonce="{nonce()}">{escape(content)}</hx-partial>'


def _flag(value: bool | str | None) -> str | None:
    return ("true" if value else "false") if isinstance(value, bool) else value


def _vary(response: Response) -> Response:
    response.vary.update(("HX-Request", "HX-Target"))
    return response
