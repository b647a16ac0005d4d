"""Signing out, here and at the identity server."""

from __future__ import annotations

import logging
from contextlib import suppress

from flask import Blueprint, Response, g, make_response, request

from portal.context import context, session
from portal.i18n.locale import language
from portal.signin.errors import SignInFailed
from portal.signin.flow import BROWSER_COOKIE
from portal.signin.logout import BackChannel, end_session_address, revoke
from portal.store import StoreDown
from portal.web import audit, unsent
from portal.web.extensions import csrf
from portal.web.htmx import redirect_outside, redirect_to, render
from portal.web.pages import Page

bp = Blueprint("sign_in", __name__)
log = logging.getLogger("portal")


class SignedOutPage(Page, template="sign_in/signed_out.html"):
    """The page after signing out."""


class SignedInPage(Page, template="sign_in/signed_in.html"):
    """The same page for whoever has signed in since and went back to it."""


@bp.post("/sign-out")
@csrf.from_older_pages  # who turns to go doesn't read that the page is too old
def sign_out() -> Response:
    """Sign out here, then at the identity server; the first works even if the server is down."""
    here = session()
    person, tokens = here.person, here.tokens
    provider = context().sign_in.provider(g.tenant)
    try:
        here.end()
    except StoreDown:  # the cookie goes, and with its refresh token revoked the session is soon of no use
        audit.note("sign-out", "cookie-only", person=person)
        revoke(g.tenant, provider, tokens, context().settings.timeouts)
        raise
    context().sign_in.forget(request.cookies.get(BROWSER_COOKIE))
    location = None
    if person:
        with suppress(StoreDown):  # signed out here all the same
            unsent.forget(person)
        with suppress(StoreDown):
            context().sessions.sign_outs.note(person.issuer, g.tenant.key, person.sub)
        audit.note("sign-out", "done", person=person)
        if revoke(g.tenant, provider, tokens, context().settings.timeouts):
            location = end_session_address(
                g.tenant, provider, person, tokens, origin=origin(), language=language()
            )
    response = redirect_outside(location) if location else redirect_to("/signed-out")
    response.headers["Clear-Site-Data"] = '"cache", "storage"'
    return response


@bp.get("/signed-out")
def signed_out() -> Response:
    return render(SignedInPage() if session().person else SignedOutPage())


@bp.post("/sign-out/back-channel")
@csrf.exempt
def back_channel() -> Response:
    """End the sessions that the identity server names (OpenID Connect Back-Channel Logout 1.0 §2.5)."""
    the = context()
    logout = BackChannel(the.vault, the.sessions, the.providers, the.clock)
    try:
        logout.end(g.tenant, request.form.get("logout_token", ""))
    except SignInFailed as error:
        log.warning("back-channel logout refused: %s", error)
        audit.note("sign-out.back-channel", "refused")
        return make_response({"error": "invalid_request"}, 400)
    audit.note("sign-out.back-channel", "done")
    return make_response("", 200)


def origin() -> str:
    return f"{request.scheme}://{request.host}"
