"""Exceptions for failed calls to the care API.

They don't contain the API's error message: it may be in another language, expose internals or repeat what a person
typed. Pages explain errors in their own words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol, cast

import msgspec

from portal import parse
from portal.services.api import AnyEndpoint


class CareError(Exception):
    """Any failed call; pages explain each subclass differently."""


class NotSignedIn(CareError):
    """There is no token to send: nobody is signed in, or the session has ended."""


class TokenRefused(CareError):
    """401 for a token that was just renewed: signing in again wouldn't give a better one, so nobody is asked to."""


class StepUpNeeded(CareError):
    """The person must sign in again for this act: the sign-in is older than `max_age` seconds (RFC 9470).

    Raised by the portal before it sends, or for the API's 401 with `insufficient_user_authentication`. The token is
    still valid, and nothing was done.
    """

    def __init__(self, max_age: int) -> None:
        super().__init__(f"max_age {max_age}")
        self.max_age = max_age


class NotAllowed(CareError):
    """403 without a rule's code: the person lacks permission."""


class Refused(CareError):
    """403 with a code: one of the clinic's rules forbids it now; `code` is the rule's name, e.g. "OutOfOrder"."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class NotFound(CareError):
    """404, 410, or 400 about an id: absent, someone else's, or not released yet; deliberately not distinguished."""


class Conflict(CareError):
    """409, 412, or 403 with a code ending in ConcurrencyConflict: someone changed the record meanwhile."""


class Invalid(CareError):
    """400 or 422: the API doesn't accept what was sent.

    `fields` has a key for each field that it named, in the portal's spelling ("address.postal_code"); empty if none. The
    values are reasons, currently always "invalid", and not for display.
    """

    def __init__(self, fields: Mapping[str, list[str]] | None = None) -> None:
        self.fields: Mapping[str, list[str]] = fields or {}
        super().__init__(", ".join(self.fields))


class NotOffered(CareError):
    """501: the clinic doesn't use this module, or (`about_record`) keeps this record in another system."""

    def __init__(self, *, about_record: bool) -> None:
        super().__init__("record" if about_record else "module")
        self.about_record = about_record


class Unavailable(CareError):
    """408, 425, 429, any 5xx except 501, no connection, or no time left: the API can't respond now.

    `reason` is a phrase for logs; `retry_after` is in seconds, if known; `outcome_known` is False if a change may have
    been carried out nevertheless; `is_undone` says that it certainly wasn't.
    """

    def __init__(self, reason: str, retry_after: float | None = None, outcome_known: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after
        self.outcome_known = outcome_known
        self.is_undone = False


class CircuitOpen(Unavailable):
    """Not sent, because the circuit breaker is open (portal.http.circuit_breaker)."""

    def __init__(self, retry_after: float) -> None:
        super().__init__("held back", retry_after)


class NotSetUp(Unavailable):
    """The identity server refuses the portal itself, so that there is no token: only the operator can change that."""


class BadResponse(CareError):
    """A response that can't be decoded: a redirect, an unexpected status, broken or incomplete JSON.

    `field` says where ("$.items[3].id", "status 302"), never the value.
    """

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


class FailureForms(Protocol):
    """The form of error responses in an API's dialect (portal.connect.dialects)."""

    def status(self, status: int) -> int:
        """Translate a status."""
        ...

    def code_of(self, answer: object) -> str | None:
        """Return the code as the rule's name; None if the dialect doesn't say where it is."""
        ...

    def rule_of(self, code: str) -> str:
        """Return the rule that the API's `code` stands for."""
        ...

    def is_rule(self, answer: object) -> bool:
        """Return whether the response's code stands for a rule, which takes precedence over its status."""
        ...

    def fields_of(self, answer: object) -> list[str] | None:
        """Return the invalid members; None if the dialect doesn't say where they are."""
        ...

    def our_name(self, endpoint: AnyEndpoint, theirs: str) -> str:
        """Return the portal's name of a member that was sent."""
        ...


def from_answer(
    status: int,
    body: bytes,
    media_type: str,
    *,
    endpoint: AnyEndpoint,
    retry_after: str | None = None,
    challenge: str | None = None,
    forms: FailureForms | None = None,
) -> CareError:
    """The error that an unsuccessful response stands for, in any supported error format.

    Understands ABP errors, problem details (RFC 9457) and OAuth errors (RFC 6750 §3.1); HTML, empty or broken bodies
    count as no body. `retry_after` and `challenge` (WWW-Authenticate) are raw headers. See docs/assumptions.md. `forms` is
    the dialect's error format; what it doesn't specify is looked for in the usual places.
    """
    answer = _json(body, media_type)
    status = forms.status(status) if forms else status
    if status in (408, 425, 429) or (status >= 500 and status != 501):
        outcome_known = endpoint.is_safe or status in (425, 429)
        return Unavailable(f"status {status}", retry_seconds(retry_after), outcome_known)
    if forms and status in (400, 403, 409, 410, 412, 422) and forms.is_rule(answer):
        return _forbidden(answer, forms)
    match status:
        case 400 | 422:
            return _invalid(answer, endpoint, forms)
        case 401:
            max_age = step_up_age(challenge)
            return TokenRefused() if max_age is None else StepUpNeeded(max_age)
        case 403:
            return _forbidden(answer, forms)
        case 404 | 410:
            return NotFound()
        case 409 | 412:
            return Conflict()
        case 501:
            return NotOffered(about_record=endpoint.names_record)
        case _:
            return BadResponse(f"status {status}")


def retry_seconds(header: str | None, now: datetime | None = None) -> float | None:
    """The delay in seconds from a Retry-After header, in seconds or as a date (RFC 9110 §10.2.3), else None."""
    seconds = parse.whole_number(header, most=parse.LARGEST)
    if seconds is not None:
        return float(seconds)
    at = parse.http_date(header)
    return None if at is None else max(0.0, (at - (now or datetime.now(UTC))).total_seconds())


def step_up_age(challenge: str | None) -> int | None:
    """The `max_age` in seconds if a WWW-Authenticate header asks for a newer sign-in (RFC 9470 §3), else None."""
    if not challenge or not _STEP_UP.search(challenge):
        return None
    age = _MAX_AGE.search(challenge)
    return int(age.group(1)) if age else 0


_STEP_UP = re.compile(r'(?:^|[\s,])error\s*=\s*"?insufficient_user_authentication(?=["\s,]|$)', re.I)
_MAX_AGE = re.compile(r'(?:^|[\s,])max_age\s*=\s*"?([0-9]{1,9})(?=["\s,]|$)', re.I)

# OAuth's codes are about the token, and ABP's "Volo.Authorization:…" about a policy that wasn't granted; neither is a rule
# of the clinic.
_PERMISSION_CODES = re.compile(r"insufficient_scope|access_denied|invalid_token|Volo\.Authorization:.*", re.I)


def _forbidden(answer: object, forms: FailureForms | None) -> CareError:
    code = (forms.code_of(answer) if forms else None) or _code(answer)
    code = forms.rule_of(code) if forms and code else code
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


def _invalid(answer: object, endpoint: AnyEndpoint, forms: FailureForms | None) -> CareError:
    by_id = endpoint.names_record or endpoint.id_in_query
    names = forms.fields_of(answer) if forms else None
    names = _named(answer) if names is None else names
    names = [forms.our_name(endpoint, name) for name in names] if forms else names
    fields = {_snake(name): ["invalid"] for name in names if _snake(name)}
    if by_id and endpoint.method in ("GET", "DELETE"):
        return NotFound()
    if fields and set(fields) <= {"id", *map(_snake, endpoint.ids)}:
        return NotFound()
    return Invalid(fields)


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
