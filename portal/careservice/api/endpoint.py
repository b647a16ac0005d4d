"""The decorator that does what all endpoints have in common.

Before the handler it checks the token, the clinic, the permission, whether the clinic uses this module, the format
of ids, the idempotency key (for which it may have a stored answer) and the age of the sign-in. After it, changes
are flushed, so that a conflict is reported as one; the result becomes JSON, and reads get a strong ETag and 304.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, get_type_hints

import msgspec
from flask import Blueprint, Response, g, request

from portal.careservice import database
from portal.careservice.api import errors
from portal.careservice.api.caller import Caller, identify
from portal.careservice.api.payload import identifier, raw_body
from portal.careservice.domain import idempotency, policies
from portal.careservice.domain.permissions import MAX_AGE, Act
from portal.careservice.domain.rules import Invalid, KeptElsewhere
from portal.careservice.ids import new_id

P = ParamSpec("P")
Answer = msgspec.Struct | Response | None

_READ = "private, no-cache"
_CORRELATION = re.compile(r"^[A-Za-z0-9._:-]{1,128}$")
_KEY = re.compile(r"^[\x21-\x7e]{1,200}$")

api = Blueprint("api", __name__)
"""All of the care API; each resource's module adds its endpoints."""

errors.handle(api)


@dataclass(frozen=True, kw_only=True)
class Declared:
    """An endpoint's declaration; `answers` is the return type of its handler."""

    act: Act
    module: str
    idempotent: bool
    answers: Any


declared: dict[str, Declared] = {}
"""By the handler's name; the OpenAPI document is made from it."""


def endpoint(
    act: Act, module: str, *, idempotent: bool = False, checks_sign_in_age: bool = True, cache: str = _READ
) -> Callable[[Callable[Concatenate[Caller, P], Answer]], Callable[P, Response]]:
    """Make a function the handler of requests by callers who are permitted to `act`.

    `module` is the resource's group in the care API specification, which a clinic may have switched off.
    `checks_sign_in_age=False` is for handlers that check the age of the sign-in themselves. A handler returns the
    body, a complete response, or None for 204.
    """

    def decorate(handler: Callable[Concatenate[Caller, P], Answer]) -> Callable[P, Response]:
        declared[handler.__name__] = Declared(
            act=act, module=module, idempotent=idempotent, answers=get_type_hints(handler)["return"]
        )

        @wraps(handler)
        def answer(*args: P.args, **kwargs: P.kwargs) -> Response:
            session = database.session()
            caller = identify(session)
            if not caller.may(act):
                raise errors.NotPermitted
            if module in policies.modules_off(session, caller.tenant_id):
                raise KeptElsewhere
            for name in kwargs:
                kwargs[name] = identifier(str(kwargs[name]), _camel(name))

            def perform() -> Response:
                if checks_sign_in_age and act in MAX_AGE:
                    caller.require_sign_in_within(MAX_AGE[act])
                return _respond(handler(caller, *args, **kwargs), cache)

            if not idempotent or "Idempotency-Key" not in request.headers:
                return perform()
            pending = _kept_answer(caller)
            kept = idempotency.recall(session, pending)
            if kept is not None:
                return _json(kept)
            response = perform()
            pending.answer = response.get_data()
            session.flush()
            return response

        return answer

    return decorate


def _respond(answer: Answer, cache: str) -> Response:
    database.session().flush()
    if isinstance(answer, Response):
        return answer
    if answer is None:
        return Response(status=204)
    response = _json(msgspec.json.encode(answer))
    if request.method in ("GET", "HEAD"):
        response.headers["Cache-Control"] = cache
        response.vary.add("Authorization")
        response.set_etag(hashlib.sha256(response.get_data()).hexdigest()[:32])
        response.make_conditional(request)
    return response


def _json(body: bytes) -> Response:
    response = Response(body, mimetype="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


def _kept_answer(caller: Caller) -> idempotency.KeptAnswer:
    key = request.headers["Idempotency-Key"]
    if not _KEY.match(key):
        raise Invalid("A key has to be 1 to 200 visible ASCII characters.", "Idempotency-Key")
    return idempotency.KeptAnswer(
        owner=caller.owner,
        method=request.method,
        path=request.path,
        key=key,
        body_hash=hashlib.sha256(raw_body()).hexdigest(),
    )


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


@api.before_app_request
def _set_correlation_id() -> None:
    given = request.headers.get("X-Correlation-Id", "")
    g.correlation_id = given if _CORRELATION.match(given) else new_id()


@api.after_app_request
def _return_correlation_id(response: Response) -> Response:
    response.headers["X-Correlation-Id"] = g.get("correlation_id", "")
    return response
