"""Exceptions for failed calls to the care API.

They don't contain the API's error message: it may be in another language, expose internals or repeat what a person
typed. Pages explain errors in their own words.
"""

from __future__ import annotations

from collections.abc import Mapping

from portal.services.demand import Demand


class CareError(Exception):
    """Any failed call; pages explain each subclass differently."""


class NotSignedIn(CareError):
    """There is no token to send: nobody is signed in, or the session has ended."""


class TokenRefused(CareError):
    """401 for a token that was just renewed: signing in again wouldn't give a better one, so nobody is asked to."""


class StepUpNeeded(CareError):
    """The person must sign in again for this act: the sign-in is too old, or not strong enough (RFC 9470).

    Raised by the portal before it sends, or for the API's 401 with `insufficient_user_authentication`. The token is
    still valid, and nothing was done.
    """

    def __init__(self, demand: Demand) -> None:
        super().__init__(str(demand))
        self.demand = demand


class NotAllowed(CareError):
    """403 without a rule's code: the person lacks permission."""


class Refused(CareError):
    """403 with a code: one of the clinic's rules forbids it now; `code` is the rule's name, e.g. "OutOfOrder"."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class NotTaken(Refused):
    """405, 406, 411, 415, 428: the API takes no request of this kind, so that sending it again can't help. Nothing was done."""

    def __init__(self) -> None:
        super().__init__("NotTaken")


class SortRefused(Refused):
    """400 or 422 for a list that was to be sorted: the API can't sort it by that."""

    def __init__(self) -> None:
        super().__init__("SortRefused")


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


class ReadOnlyMode(Unavailable):
    """Not sent, because the clinic is in read-only mode (portal.state.read_only)."""

    def __init__(self) -> None:
        super().__init__("read-only mode", retry_after=300)


class NotSetUp(Unavailable):
    """The identity server refuses the portal itself, so that there is no token: only the operator can change that."""


class BadResponse(CareError):
    """A response that can't be decoded: a redirect, an unexpected status, broken or incomplete JSON.

    `field` says where ("$.items[3].id", "status 302"), never the value.
    """

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field
