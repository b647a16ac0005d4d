"""RP-initiated logout (OpenID Connect RP-Initiated Logout 1.0)."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from authlib.oauth2 import OAuth2Error
from flask import Response, request
from sqlalchemy.orm import Session

from portal.careservice import database
from portal.careservice.identity import sessions
from portal.careservice.identity.authorization_request import RefusedRequest, single_values, with_parameters
from portal.careservice.identity.authorize import refuse
from portal.careservice.identity.pages import bp, drop_cookie, page, see_other
from portal.careservice.identity.tables import Client, SignIn, digest
from portal.careservice.identity.tokens import InvalidToken, id_token_claims


@bp.route("/connect/endsession", methods=["GET", "POST"])
def end_session() -> Response:
    """End this browser's sign-in and redirect to the client's page, or ask for confirmation first.

    An ID token of this sign-in, or its `sid` as the `logout_hint`, proves that the request comes from one of its
    clients. A third party's link can contain neither, so a page asks the person to confirm it (§2, §6).
    """
    session = database.session_for_writing()
    try:
        given = single_values(request.values)
        hint = id_token_claims(session, given["id_token_hint"]) if given.get("id_token_hint") else {}
        client = _client(session, given, hint)
    except OAuth2Error as error:
        return refuse(RefusedRequest(str(error.error), str(error.description or "")))
    except InvalidToken:
        return refuse(RefusedRequest("invalid_request", "The id_token_hint was not issued here."))
    sign_in = sessions.current(session)
    if sign_in is None:
        return _signed_out(given, client)
    if not (_is_named(sign_in, given, hint) or _is_confirmed(given)):
        return _ask_to_confirm(given, client, sign_in)
    sessions.end(session, sign_in)
    return _signed_out(given, client)


def _client(session: Session, given: Mapping[str, str], hint: Mapping[str, Any]) -> Client | None:
    audience = hint.get("aud")
    client_id = given.get("client_id", audience)
    if audience is not None and client_id != audience:
        raise InvalidToken
    return session.get(Client, client_id) if client_id else None


def _is_named(sign_in: SignIn, given: Mapping[str, str], hint: Mapping[str, Any]) -> bool:
    return sign_in.sid == (hint["sid"] if hint else given.get("logout_hint"))


def _is_confirmed(given: Mapping[str, str]) -> bool:
    return request.method == "POST" and secrets.compare_digest(
        given.get("confirm", "").encode(), _confirmation().encode()
    )


def _confirmation() -> str:
    """The CSRF token of the form: only this browser and this server know the cookie that it is made of."""
    return digest("sign out:" + request.cookies.get(sessions.COOKIE, ""))


def _ask_to_confirm(given: Mapping[str, str], client: Client | None, sign_in: SignIn) -> Response:
    names = ("client_id", "post_logout_redirect_uri", "state", "ui_locales")
    return page(
        "sign_out.html",
        tenant=sign_in.person.tenant,
        leads_to=_target(given, client),
        name=sign_in.person.name,
        fields={name: given[name] for name in names if name in given} | {"confirm": _confirmation()},
    )


def _signed_out(given: Mapping[str, str], client: Client | None) -> Response:
    target = _target(given, client)
    if target is None:
        response = page("signed_out.html")
    else:
        state = given.get("state")
        response = see_other(with_parameters(target, {"state": state}) if state else target)
    drop_cookie(response, sessions.COOKIE)
    return response


def _target(given: Mapping[str, str], client: Client | None) -> str | None:
    """The address to redirect to afterwards, if exactly this one is registered for the client."""
    target = given.get("post_logout_redirect_uri")
    return target if client is not None and target in client.post_logout_redirect_uris else None
