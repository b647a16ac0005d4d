"""What every endpoint does before and after its own work: one decorator.

Before: the token, the clinic, the permission, whether the clinic uses this part of the service, the form of
the ids, an answer kept for this idempotency key, and whether the sign-in is fresh enough. After: changes
flushed so that a conflict shows as one, JSON, and for reads a strong ETag with 304.
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
    """What an endpoint said of itself; `answers` is what its function returns."""

    act: Act
    module: str
    idempotent: bool
    answers: Any


declared: dict[str, Declared] = {}
"""By name of the function; the OpenAPI document is made from it."""


def endpoint(
    act: Act, module: str, *, idempotent: bool = False, asks_age: bool = True, cache: str = _READ
) -> Callable[[Callable[Concatenate[Caller, P], Answer]], Callable[P, Response]]:
    """Let a function answer requests that a `Caller` with permission for `act` makes.

    `module` is the resource's group in the care API specification, for clinics that don't use it. A function
    that asks for a fresh sign-in itself says `asks_age=False`. What it returns is the body, a whole response,
    or None for 204.
    """

    def decorate(handler: Callable[Concatenate[Caller, P], Answer]) -> Callable[P, Response]:
        declared[handler.__name__] = Declared(
            act=act,
            module=module,
            idempotent=idempotent,
            answers=get_type_hints(handler)["return"],
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

            def act_now() -> Response:
                if asks_age and act in MAX_AGE:
                    caller.require_sign_in_within(MAX_AGE[act])
                return _respond(handler(caller, *args, **kwargs), cache)

            if not idempotent or "Idempotency-Key" not in request.headers:
                return act_now()
            mark = _mark(caller)
            kept = idempotency.recall(session, mark)
            if kept is not None:
                return _json(kept)
            response = act_now()
            mark.answer = response.get_data()
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


def _mark(caller: Caller) -> idempotency.KeptAnswer:
    key = request.headers["Idempotency-Key"]
    if not _KEY.match(key):
        raise Invalid("A key is 1 to 200 visible ASCII characters.", "Idempotency-Key")
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
def _correlate() -> None:
    given = request.headers.get("X-Correlation-Id", "")
    g.correlation_id = given if _CORRELATION.match(given) else new_id()


@api.after_app_request
def _say_correlation(response: Response) -> Response:
    response.headers["X-Correlation-Id"] = g.get("correlation_id", "")
    return response
