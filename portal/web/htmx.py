"""A page or a part of it, and where to go next. The only module that names an `HX-` header.

A fragment is a named block of the page's own template: block name, DOM id and htmx target are one word. The whole
page is sent unless the request comes from htmx for that very target, so every address works without JavaScript.
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
from portal.i18n.gettext import ngettext
from portal.parse import address_parts, is_local
from portal.web import templates
from portal.web.headers import nonce
from portal.web.pages import Page
from portal.web.routing import without_sign_in_code

_KEPT_TOASTS = "toasts"


class Toast(msgspec.Struct, frozen=True):
    """One line that tells what was done; `undo` is the address that a form posts to, to take it back."""

    text: str
    tone: str = "success"
    undo: str | None = None
    fields: dict[str, str] = msgspec.field(default_factory=dict)


def is_htmx() -> bool:
    """Whether htmx sent this request for a part of a page."""
    return (
        request.headers.get("HX-Request") == "true"
        and request.headers.get("HX-Boosted") != "true"
        and request.headers.get("HX-History-Restore-Request") != "true"
    )


def target() -> str | None:
    """Return the DOM id that htmx will put the answer into (htmx 4 sends `tag#id`), or None."""
    if not is_htmx():
        return None
    return unquote(request.headers.get("HX-Target", "").partition("#")[2]) or None


def wants(*fragments: str) -> bool:
    """Whether the answer may be one of these fragments instead of a page or a redirect."""
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
    """Answer with the page, or with the one of its blocks in `fragment` that htmx asks for.

    A fragment brings along the toasts of this request and, where `bell` is given, the new unread count. `also` are
    further blocks for places elsewhere on the page: a selector, how it is swapped, the block's name.
    """
    template, context = page.template, page.context()
    fragments = (fragment,) if isinstance(fragment, str) else tuple(fragment)
    if bell is not None:
        context.update(unread_count=bell, bell_htmx=bell_htmx(bell))
    block = target()
    if block is None or block not in fragments:
        return _vary(make_response(templates.render(template, context), status))
    parts = [templates.render_block(template, block, context)]
    if records := g.get("unreadable", 0):
        toast(
            ngettext("%(num)d record can’t be shown.", "%(num)d records can’t be shown.", records),
            tone="attention",
        )
    if bell is not None:
        parts.append(_partial("#bell", "outerHTML", templates.ui().bell(bell, htmx=bell_htmx(bell))))
    for place, swap, name in also:
        content = Markup(templates.render_block(template, name, context))  # noqa: S704 (a template escaped it)
        parts.append(_partial(place, swap, content))
    parts += [_partial("#toasts", "beforeend", _toast(toast)) for toast in toasts()]
    return _vary(make_response("".join(parts), status))


def render_bell(count: int) -> Response:
    """Answer with only the bell."""
    return _vary(make_response(str(templates.ui().bell(count, htmx=bell_htmx(count)))))


def redirect_to(location: str) -> Response:
    """Send the browser to a page of the portal by GET: 303, or for htmx a header that makes it leave this page.

    An address that isn't one of this host, such as `//elsewhere`, becomes the home page.
    (A script's request follows a 303 by itself, and the next page would land inside this one.) Characters that a header
    can't hold are percent-encoded (RFC 3987 §3.1).
    """
    _keep_toasts()
    address = iri_to_uri(location)
    return redirect_outside(address if is_local(address) else "/")


def redirect_outside(address: str) -> Response:
    """Send the browser to the identity server, whose address its discovery document gives."""
    if is_htmx():
        return _vary(make_response("", 200, {"HX-Redirect": address}))
    response = make_response("", 303, {"Location": address})
    response.headers.pop("Content-Type", None)
    return _vary(response)


def is_htmx_redirect(response: Response) -> bool:
    """Whether the answer only sends htmx to another page."""
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
    """Return an element's htmx attributes, with the nonce without which htmx ignores them."""
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
    """Tell the person what was done, on this answer or on the page that a redirect leads to."""
    _pending().append(Toast(str(text), tone, undo, fields or {}))


def toasts() -> list[Toast]:
    """Return the toasts to show now, and forget them."""
    shown = [*_kept(), *_pending()]
    g.toasts = []
    return shown


def bell_htmx(known: int | None, *, at_once: bool = False) -> Markup:
    """Return how the bell that shows `known` refreshes itself: when scripts/look.js says that someone is looking.

    `at_once` asks soon after the page came, too.
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


def _kept() -> list[Toast]:
    """The toasts of the request that redirected here; a fragment leaves them to the page."""
    here = session()
    if is_htmx() or _KEPT_TOASTS not in here:
        return []
    return msgspec.convert(here.pop(_KEPT_TOASTS), list[Toast])


def _keep_toasts() -> None:
    if _pending():
        session()[_KEPT_TOASTS] = msgspec.to_builtins(_pending())
        g.toasts = []


def _toast(one: Toast) -> str:
    return templates.ui().toast(one.text, one.tone, undo=one.undo, fields=one.fields)


def _partial(target: str, swap: str, content: str) -> str:
    return f'<hx-partial hx-target="{escape(target)}" hx-swap="{escape(swap)}" hx-nonce="{nonce()}">{escape(content)}</hx-partial>'


def _flag(value: bool | str | None) -> str | None:
    return ("true" if value else "false") if isinstance(value, bool) else value


def _vary(response: Response) -> Response:
    response.vary.update(("HX-Request", "HX-Target"))
    return response
