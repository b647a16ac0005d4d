"""The API's error responses: ABP's error body, with only the documented codes (care API specification §7).

An empty 401 or 403 means that the token or the permission is missing; a 403 with a code names the rule that refused.
A 401 whose challenge is `insufficient_user_authentication` asks for a fresh sign-in (RFC 9470).
"""

from __future__ import annotations

import re
from datetime import timedelta

import msgspec
from flask import Blueprint, Response, request
from werkzeug.exceptions import HTTPException, InternalServerError, MethodNotAllowed, NotFound

from portal.careservice.domain import translations
from portal.careservice.domain.rules import Invalid, KeptElsewhere, NotThere, Refused, Rule
from portal.careservice.identity.tokens import AUDIENCE
from portal.careservice.transactions import RETRY_AFTER_SECONDS, Busy

PREFIX = "ClientelePortal:"
_API = re.compile(r"^/api/")


class NotSignedIn(Exception):
    """The request has no valid token, or none at all, which gets no error code (RFC 6750 §3.1)."""

    def __init__(self, challenge: str) -> None:
        super().__init__()
        self.challenge = challenge


class OtherScope(Exception):
    """The token is valid, but not for this API (RFC 6750 §3.1)."""


class SignInTooOld(Exception):
    """The act needs a sign-in that is no older than `max_age` (RFC 9470)."""

    def __init__(self, max_age: timedelta) -> None:
        super().__init__()
        self.max_age = max_age


class NotPermitted(Exception):
    """The token's roles don't allow the act, or the token is another clinic's."""


class ValidationError(msgspec.Struct, rename="camel", kw_only=True):
    """One fault of a request, and the members that it is about."""

    message: str
    members: list[str]


class Error(msgspec.Struct, rename="camel", kw_only=True):
    """An error in ABP's format."""

    code: str | None = None
    message: str
    details: str | None = None
    data: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    validation_errors: list[ValidationError] | None = None


class ErrorBody(msgspec.Struct, kw_only=True):
    """The body of every error response that isn't empty."""

    error: Error


def handle(blueprint: Blueprint) -> None:
    """Register the handlers of every failure of `blueprint`'s endpoints."""
    blueprint.register_error_handler(NotSignedIn, _not_signed_in)
    blueprint.register_error_handler(SignInTooOld, _sign_in_too_old)
    blueprint.register_error_handler(OtherScope, _other_scope)
    blueprint.register_error_handler(NotPermitted, _not_permitted)
    blueprint.register_error_handler(Refused, _refused)
    blueprint.register_error_handler(Busy, _busy)
    blueprint.register_error_handler(Invalid, _invalid)
    blueprint.register_error_handler(NotThere, _not_there)
    blueprint.register_error_handler(KeptElsewhere, _kept_elsewhere)
    blueprint.record_once(lambda state: state.app.register_error_handler(HTTPException, _by_status))


def language() -> str:
    """The language of messages, by the request's Accept-Language."""
    return request.accept_languages.best_match(translations.LANGUAGES, "en") or "en"


def _not_signed_in(error: NotSignedIn) -> Response:
    return Response(status=401, headers={"WWW-Authenticate": error.challenge})


def _other_scope(_error: OtherScope) -> Response:
    challenge = f'Bearer error="insufficient_scope", scope="{AUDIENCE}"'
    return Response(status=403, headers={"WWW-Authenticate": challenge})


def _sign_in_too_old(error: SignInTooOld) -> Response:
    challenge = (
        'Bearer error="insufficient_user_authentication", '
        'error_description="This act needs a more recent sign-in", '
        f'max_age="{int(error.max_age.total_seconds())}"'
    )
    return Response(status=401, headers={"WWW-Authenticate": challenge})


def _not_permitted(_error: NotPermitted) -> Response:
    return Response(status=403, mimetype="text/plain")


def _refused(error: Refused) -> Response:
    return _answer(403, error.rule.value, code=PREFIX + error.rule.value)


def _busy(error: Busy) -> Response:
    if error.is_conflict:
        return _refused(Refused(Rule.CONCURRENCY_CONFLICT))
    response = _answer(503, "Busy")
    response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return response


def _invalid(error: Invalid) -> Response:
    fault = ValidationError(message=error.message, members=list(error.members))
    return _answer(400, "Invalid", validation_errors=[fault])


def _not_there(_error: NotThere) -> Response:
    return _answer(404, "NotThere")


def _kept_elsewhere(_error: KeptElsewhere) -> Response:
    return _answer(501, "KeptElsewhere")


def _by_status(error: HTTPException) -> Response | HTTPException:
    if not _API.match(request.path):
        return error
    if isinstance(error, NotFound):
        return _not_there(NotThere())
    if isinstance(error, MethodNotAllowed):
        response = _answer(405, "MethodNotAllowed")
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
        return response
    if isinstance(error, InternalServerError):
        return _answer(500, "Internal")
    if error.response is not None or error.code in (304, 416):
        return error
    return _invalid(Invalid(error.description or "This can't be read.", "$"))


def _answer(
    status: int, name: str, *, code: str | None = None, validation_errors: list[ValidationError] | None = None
) -> Response:
    error = Error(
        code=code, message=translations.error(name, language()), validation_errors=validation_errors
    )
    body = msgspec.json.encode(ErrorBody(error=error))
    response = Response(body, status=status, mimetype="application/json")
    response.headers["Content-Language"] = language()
    return response
