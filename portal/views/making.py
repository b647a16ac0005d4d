"""A record that staff fill in, look at and make once; and what becomes of it when no answer comes.

What is filled in is kept by an operation, so that the pages of one making go forth and back, and of many posts one
alone is sent. After a lost answer the clinic's record is looked at: what is there now and wasn't before is it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast

import msgspec
from flask import Response, request, url_for

from portal.operations import Operation, State
from portal.parts import parts
from portal.services.client import Care
from portal.services.errors import BadResponse, CareError, Unavailable
from portal.sessions import Person
from portal.web import audit
from portal.web.htmx import redirect_to, toast
from portal.web.once import is_lost, key, settled
from portal.words import _


class Draft(Protocol):
    """What is filled in: a record of msgspec's, which notes what there was before it was sent."""

    @property
    def known_ids(self) -> tuple[str, ...]: ...

    def draft(self) -> msgspec.Struct:
        """Return what is sent."""
        ...


class Made(Protocol):
    """What comes of it."""

    @property
    def id(self) -> str: ...


D = TypeVar("D", bound=Draft)
M = TypeVar("M", bound=Made)


@dataclass(frozen=True, slots=True)
class Drafts(Generic[D]):
    """What is filled in of one kind of record, and its pages: a blueprint's endpoints, `preview` and `look` among them.

    `kind` names it for operations and the audit, `pages` is the blueprint's full name, `first` the endpoint where it
    begins; `address` says by its id where the record that came of it is shown.
    """

    kind: str
    shape: type[D]
    pages: str
    first: str
    address: Callable[[str | None], str]

    def begin(self, person: Person, draft: D) -> Operation:
        """Begin with what is filled in at first."""
        return parts().operations.begin(person.sub, self._purpose, _data(draft))

    def keep(self, person: Person, operation: Operation, draft: D) -> None:
        """Keep what is filled in now."""
        parts().operations.keep(person.sub, operation.id, _data(draft))

    def of(self, operation: Operation) -> D:
        """Return what is filled in."""
        return msgspec.convert(operation.data, self.shape)

    def find(self, person: Person) -> Operation | None:
        """Return the operation that the request names, whatever became of it."""
        return parts().operations.find(person.sub, request.values.get("operation", ""), self._purpose)

    def open_operation(self, person: Person) -> Operation | Response:
        """The operation that is filled in; or where it ended, or the beginning when there is none of that id."""
        operation = self.find(person)
        if operation is None:
            toast(
                _("That page was from another visit, so it was not used. Please begin again."),
                tone="attention",
            )
            return redirect_to(url_for(f"{self.pages}.{self.first}"))
        operation = settled(person, operation)
        if operation.state is State.DONE:
            return redirect_to(self.address(operation.outcome))
        if operation.state is not State.OPEN:
            return redirect_to(url_for(f"{self.pages}.look", operation=operation.id))
        return operation

    def preview_address(self, operation: Operation) -> str:
        """Return where it is shown before it is sent."""
        return url_for(f"{self.pages}.preview", operation=operation.id)

    @property
    def _purpose(self) -> str:
        return f"create-{self.kind}"


class Making(ABC, Generic[D, M]):
    """How one kind of record is sent to the clinic's record, once."""

    drafts: Drafts[D]

    @abstractmethod
    def create(self, care: Care, draft: D, operation: str) -> M | None:
        """Send it; None when the answer doesn't show the record. Raises CareError."""

    @abstractmethod
    def alike(self, care: Care, draft: D) -> Sequence[M]:
        """Return the records that one of this draft would be among. Raises CareError."""

    @abstractmethod
    def recognised(self, candidates: Sequence[M], draft: D) -> M | None:
        """Return the one that came of this draft."""

    @abstractmethod
    def refused(self, care: Care, operation: Operation, draft: D, error: CareError) -> Response:
        """Show the form again with what the API said, or raise the error."""

    @abstractmethod
    def unconfirmed(self, operation: Operation, draft: D, *, is_readable: bool, status: int) -> Response:
        """Show that nobody knows yet; `is_readable` says whether the record could be looked at."""

    @abstractmethod
    def words_done(self) -> str:
        """Return what is said when it is made."""

    @abstractmethod
    def words_gone(self) -> str:
        """Return what is said when it turns out that it wasn't."""

    def send(self, care: Care, person: Person, operation: Operation, draft: D) -> Response:
        """Send it, once, and answer with where it is, or with what became of it."""
        # What is there already looks the same as what a lost answer may have made: it is noted before.
        before = tuple(one.id for one in self.alike(care, draft))
        draft = msgspec.structs.replace(cast("Any", draft), known_ids=before)
        self.drafts.keep(person, operation, draft)
        if not parts().operations.claim(person.sub, operation.id):
            return self._where_it_is(person)
        try:
            sent = msgspec.json.encode(draft.draft()).decode()
            made = self.create(care, draft, key(operation.id, sent))
        except BadResponse:
            made = None
        except Unavailable as error:
            if error.is_undone:
                parts().operations.reopen(person.sub, operation.id)
                audit.note(self._event, "not-sent")
                raise
            made = None
        except CareError as error:
            parts().operations.reopen(person.sub, operation.id)
            audit.note(self._event, "refused")
            return self.refused(care, operation, draft, error)
        if made is None or made.id in draft.known_ids:
            parts().operations.lose(person.sub, operation.id)
            return self._after_no_answer(care, person, operation, draft)
        return self._done(person, operation, made)

    def look_again(self, care: Care, person: Person) -> Response:
        """After a lost answer: look whether it is there by now."""
        operation = self.drafts.find(person)
        if operation is None or operation.state in (State.OPEN, State.DONE):
            return self._where_it_is(person)
        draft = self.drafts.of(operation)
        if made := self._made(care, draft):
            return self._done(person, operation, made)
        if not is_lost(operation):
            return self.unconfirmed(operation, draft, is_readable=True, status=200)
        parts().operations.reopen(person.sub, operation.id)
        toast(self.words_gone(), tone="attention")
        return redirect_to(self.drafts.preview_address(operation))

    @property
    def _event(self) -> str:
        return f"{self.drafts.kind}.create"

    def _where_it_is(self, person: Person) -> Response:
        found = self.drafts.open_operation(person)
        return found if isinstance(found, Response) else redirect_to(self.drafts.preview_address(found))

    def _after_no_answer(self, care: Care, person: Person, operation: Operation, draft: D) -> Response:
        try:
            made, is_readable = self._made(care, draft), True
        except (Unavailable, BadResponse):
            made, is_readable = None, False
        if made:
            return self._done(person, operation, made)
        audit.note(self._event, "unknown")
        return self.unconfirmed(operation, draft, is_readable=is_readable, status=503)

    def _made(self, care: Care, draft: D) -> M | None:
        new = [one for one in self.alike(care, draft) if one.id not in draft.known_ids]
        return self.recognised(new, draft)

    def _done(self, person: Person, operation: Operation, made: M) -> Response:
        parts().operations.finish(person.sub, operation.id, outcome=made.id)
        audit.note(self._event, "done", kind=self.drafts.kind, id_=made.id)
        toast(self.words_done())
        return redirect_to(self.drafts.address(made.id))


def _data(draft: Draft) -> dict[str, object]:
    return msgspec.to_builtins(draft)
