"""What the client of the care API needs of others, by what they do: tokens, caching, observing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from portal.services.api import AnyEndpoint, Endpoint, Query, Reference
from portal.services.salvage import Lost

T = TypeVar("T")
Caller = TypeVar("Caller", contravariant=True)


class Bearer(Protocol):
    """The source of the access token: a person's session, or the clinic's service client."""

    def token(self) -> str: ...

    def renew(self, refused: str) -> str:
        """Return a new token after the API refused this one; raise NotSignedIn if there is none."""
        ...


class Prover(Protocol):
    """The key that the token is bound to (portal.signin.dpop)."""

    def authorization(
        self, token: str, method: str, url: str, nonce: str | None = None
    ) -> list[tuple[str, str]]:
        """Return the headers that carry the token; for each attempt new ones."""
        ...

    def nonce_demanded(self, url: str, status: int, headers: Mapping[str, str]) -> str | None:
        """Learn from an answer; return the nonce with which the request, which wasn't taken, has to be sent anew."""
        ...


class References(Protocol[Caller]):
    """The source of reference data (portal.services.reference_cache); `Caller` is the client of one person."""

    def get(self, care: Caller, endpoint: Endpoint[T, Any], query: Query) -> Reference[T]:
        """Return the data, from the cache if possible."""
        ...

    def move_on(self, care: Caller) -> None:
        """Invalidate copies that a write by this caller may have changed."""
        ...


class Observer(Protocol):
    """Records how the clinic's API responds (portal.connect.answers)."""

    def called(self, endpoint: AnyEndpoint, seconds: float, *, failed: bool) -> None:
        """Count a call and its duration; `failed`: with a server error, or no response."""
        ...

    def decoded(
        self,
        endpoint: AnyEndpoint,
        answer: Callable[[], object],
        into: type[object],
        *,
        has_unknown: bool,
        lost: tuple[Lost, ...],
    ) -> None:
        """Examine a decoded response, if needed its JSON (`answer()`); `has_unknown`: a value is in no enumeration.

        `lost` are the values that couldn't be read.
        """
        ...

    def left_out(self, endpoint: AnyEndpoint, fields: tuple[str, ...]) -> None:
        """Count records that couldn't be decoded, by the offending field."""
        ...

    def is_not_given(self, member: str) -> bool:
        """Whether the API is known never to send this member ("Patient.userId"), so that its absence says nothing."""
        ...

    def is_given(self, member: str) -> bool:
        """Whether the API is known to send this member; `Patient.userId` only where it isn't the record's own id."""
        ...


def with_fixed(headers: list[tuple[str, str]], fixed: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the headers overridden by those that the API always requires."""
    replaced = {name.lower() for name in fixed}
    return [*((name, value) for name, value in headers if name.lower() not in replaced), *fixed.items()]


class Viewer(Protocol):
    """Decides what is told of the API's answers where somebody else's view is shown (portal.services.as_patient)."""

    def read(
        self, endpoint: Endpoint[T, Any], query: Any, ids: Mapping[str, str], ask: Callable[[Any], T]
    ) -> T:
        """Return what is told; `ask` sends a query. Raises NotFound if that is nothing."""
        ...
