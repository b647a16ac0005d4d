"""What an unsuccessful response stands for: the errors of `portal.services.errors`, read from any error format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

import msgspec

from portal import parse
from portal.config.strong_sign_in import Strength
from portal.services.adapter import PLAIN, Adapter
from portal.services.api import AnyEndpoint
from portal.services.demand import Demand
from portal.services.errors import (
    BadResponse,
    CareError,
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    NotOffered,
    NotTaken,
    Refused,
    StepUpNeeded,
    TokenRefused,
    Unavailable,
)


def from_answer(
    status: int,
    body: bytes,
    media_type: str,
    *,
    endpoint: AnyEndpoint,
    retry_after: str | None = None,
    challenge: str | None = None,
    adapter: Adapter = PLAIN,
) -> CareError:
    """The error that an unsuccessful response stands for, in any supported error format.

    Understands ABP errors, problem details (RFC 9457) and OAuth errors (RFC 6750 §3.1); HTML, empty or broken bodies
    count as no body. `retry_after` and `challenge` (WWW-Authenticate) are raw headers. See docs/assumptions.md. What the
    `adapter` doesn't specify is looked for in the usual places.
    """
    answer = _json(body, media_type)
    status = adapter.status_of(answer) or adapter.status(status)
    if status in (408, 425, 429) or (status >= 500 and status != 501):
        outcome_known = endpoint.is_safe or status in (425, 429)
        return Unavailable(f"status {status}", retry_seconds(retry_after), outcome_known)
    if status in (400, 403, 409, 410, 412, 422) and adapter.is_rule(answer):
        return _forbidden(answer, adapter)
    match status:
        case 400 | 422:
            return _invalid(answer, endpoint, adapter)
        case 401:
            demand = step_up(challenge)
            return TokenRefused() if demand is None else StepUpNeeded(demand)
        case 403:
            return _forbidden(answer, adapter)
        case 404 | 410 if _names_record(endpoint) or not endpoint.is_safe:
            return NotFound()
        case 409 | 412:
            return Conflict()
        case 405 | 406 | 411 | 415 | 428:
            return NotTaken()
        case 501:
            return NotOffered(about_record=endpoint.names_record)
        case _:
            return BadResponse(f"status {status}")


def from_success(body: bytes, *, endpoint: AnyEndpoint, adapter: Adapter) -> CareError:
    """The error of a response whose status is successful, and which says that it wasn't.

    Its code decides, as an error's does. Without one that is known, an act is refused by a rule of the clinic or, if there is
    no code at all, couldn't be carried out now; what was asked for can't be read now.
    """
    answer = _json(body, "")
    status = adapter.status_of(answer)
    if status is None and adapter.is_rule(answer):
        status = 403
    if status is None and adapter.fields_of(answer):
        status = 400
    if status is None and not endpoint.is_safe and (adapter.code_of(answer) or _code(answer)):
        status = 403
    if status is None or status in (503, 500):
        return Unavailable("refused with a successful status", outcome_known=True)
    return from_answer(status, body, "", endpoint=endpoint, adapter=adapter)


def retry_seconds(header: str | None, now: datetime | None = None) -> float | None:
    """The delay in seconds from a Retry-After header, in seconds or as a date (RFC 9110 §10.2.3), else None."""
    seconds = parse.whole_number(header, most=parse.LARGEST)
    if seconds is not None:
        return float(seconds)
    at = parse.http_date(header)
    return None if at is None else max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


def step_up(challenge: str | None) -> Demand | None:
    """What a WWW-Authenticate header demands of the sign-in, by `max_age` and `acr_values` (RFC 9470 §3); else None.

    Without either, it is to be as new as can be.
    """
    if not challenge or not _STEP_UP.search(challenge):
        return None
    age, classes = _MAX_AGE.search(challenge), _ACR_VALUES.search(challenge)
    values = tuple((classes.group(1) or classes.group(2) or "").split()) if classes else ()
    max_age = int(age.group(1)) if age else None if values else 0
    return Demand(max_age, strength=Strength(acr=values) if values else None)


_STEP_UP = re.compile(r'(?:^|[\s,])error\s*=\s*"?insufficient_user_authentication(?=["\s,]|$)', re.I)
_ACR_VALUES = re.compile(
    r'(?:^|[\s,])acr_values\s*=\s*(?:"([\x21\x23-\x5b\x5d-\x7e ]{1,1000})"|([\x21\x23-\x2b\x2d-\x7e]{1,200}))',
    re.I,
)
_MAX_AGE = re.compile(r'(?:^|[\s,])max_age\s*=\s*"?([0-9]{1,9})(?=["\s,]|$)', re.I)

# OAuth's codes are about the token, and ABP's "Volo.Authorization:…" about a policy that wasn't granted; neither is a rule
# of the clinic.
_PERMISSION_CODES = re.compile(r"insufficient_scope|access_denied|invalid_token|Volo\.Authorization:.*", re.I)


def _forbidden(answer: object, adapter: Adapter) -> CareError:
    code = adapter.code_of(answer) or _code(answer)
    code = adapter.rule_of(code) if code else None
    if not code or _PERMISSION_CODES.fullmatch(code):
        return NotAllowed()
    rule = rule_named(code)
    if rule.lower().endswith("concurrencyconflict"):
        return Conflict()
    return Refused(rule)


def rule_named(code: str) -> str:
    """A rule's name from a code such as "ClientelePortal:OutOfOrder", or OUT_OF_ORDER."""
    name = code.rpartition(":")[2]
    return "".join(map(str.capitalize, name.split("_"))) if _UPPER_CASE.fullmatch(name) else name


_UPPER_CASE = re.compile(r"[A-Z]+(_[A-Z0-9]+)+")


def _invalid(answer: object, endpoint: AnyEndpoint, adapter: Adapter) -> CareError:
    named = adapter.fields_of(answer)
    names = [
        _snake(adapter.our_name(endpoint, name)) for name in (_named(answer) if named is None else named)
    ]
    fields = {name: ["invalid"] for name in names if name}
    if _names_record(endpoint) and endpoint.method in ("GET", "DELETE"):
        return NotFound()
    if fields and set(fields) <= {"id", *map(_snake, endpoint.ids)}:
        return NotFound()
    return Invalid(fields)


def _names_record(endpoint: AnyEndpoint) -> bool:
    """Whether a call is about one record: of a list that isn't found, only the address can be meant."""
    return endpoint.names_record or endpoint.id_in_query


def _code(answer: object) -> str | None:
    """The error's code: ABP's error.code, OAuth's error, or the member `code` of problem details."""
    error = _member(answer, "error")
    for found in (_member(error, "code"), error, _member(answer, "code")):
        if isinstance(found, str) and found.strip():
            return found.strip()[:200]
    return None


def _named(answer: object) -> list[str]:
    """The invalid fields that the response names, in its own spelling."""
    names: list[object] = []
    for fault in _list(_member(_member(answer, "error"), "validationErrors")):
        names.extend(_list(_member(fault, "members")))
    errors = _member(answer, "errors")  # problem details: {"Title": […]} or [{"pointer": "#/title"}]
    names.extend(_mapping(errors))
    names.extend(_member(fault, "pointer") for fault in _list(errors))
    return [name for name in names if isinstance(name, str)]


def _snake(name: str) -> str:
    """A field's name in the portal's spelling, from `RequiredSigners[0].personId` or `#/requiredSigners/0/personId`."""
    path = re.sub(r"[^0-9A-Za-z_]+", ".", name[:200]).strip(".")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", path).lower()


def _json(body: bytes, media_type: str) -> object:
    if "html" in media_type.lower() or not body:
        return None
    try:
        return cast(object, msgspec.json.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _mapping(value: object) -> Mapping[str, object]:
    return cast(Mapping[str, object], value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else []


def _member(value: object, name: str) -> object:
    return _mapping(value).get(name)
