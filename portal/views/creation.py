"""A record that staff fill in, look at and make once; and what becomes of it when no answer comes.

What is filled in is a draft kept by an operation, so that the pages of one making go forth and back, and of many posts
one alone is sent. After a lost answer the clinic's record is searched: what is there now and wasn't before is it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

import msgspec
from flask import Response, request, url_for

from portal.context import context
from portal.i18n.gettext import _
from portal.services.client import Care
from portal.state.operations import Operation, State
from portal.state.sessions import Person
from portal.web import audit
from portal.web.act_once import Attempt, Done, Outcome, Reopened, Unknown, act_once, look_again, settled
from portal.web.htmx import redirect_to, toast


class Content(Protocol):
    """What is filled in: a msgspec struct, which holds the ids of the like records that were there before it was sent."""

    @property
    def known_ids(self) -> tuple[str, ...]: ...

    def draft(self) -> msgspec.Struct:
        """Return what is sent."""
        ...


class Made(Protocol):
    """What comes of it."""

    @property
    def id(self) -> str: ...


C = TypeVar("C", bound=Content)
M = TypeVar("M", bound=Made)


@dataclass(frozen=True, slots=True)
class Draft(Generic[C]):
    """What one person has filled in, and the operation that keeps it; `kind` names what is made of it."""

    kind: str
    person: Person
    operation: Operation
    content: C

    def keep(self, content: C) -> Draft[C]:
        """The same with this content, kept in its operation."""
        context().operations.keep(self.person.sub, self.operation.id, _data(content))
        return replace(self, content=content)

    def newest(self) -> Draft[C]:
        """The same as its operation keeps it by now, because another post may have sent it."""
        sub, kept = self.person.sub, self.operation
        kept = context().operations.find(sub, kept.id, kept.purpose) or kept
        return replace(self, operation=kept, content=msgspec.convert(kept.data, type(self.content)))

    @property
    def attempt(self) -> Attempt:
        """The record as it is sent."""
        sent = msgspec.json.encode(self.content.draft()).decode()
        return Attempt(self.person.sub, self.operation, (sent,))

    @property
    def event(self) -> str:
        """What the audit record calls making it."""
        return f"{self.kind}.create"


Step: TypeAlias = Callable[[Care, Draft[C]], Response]
Handler: TypeAlias = Callable[[Care, Person], Response]


@dataclass(frozen=True, slots=True)
class Drafts(Generic[C]):
    """The drafts of one kind of record, and their pages: a blueprint's endpoints, `preview` and `outcome` among them.

    `kind` names it for operations and the audit, `pages` is the blueprint's full name, `first` the endpoint where it
    begins; `address` says by its id where the record that came of it is shown.
    """

    kind: str
    shape: type[C]
    pages: str
    first: str
    address: Callable[[str], str]

    def begin(self, person: Person, content: C) -> Draft[C]:
        """Begin with what is filled in at first."""
        operation = context().operations.begin(person.sub, self._purpose, _data(content))
        return Draft(self.kind, person, operation, content)

    def open_step(self, step: Step[C]) -> Handler:
        """Pass the draft that the request names while it is open, or answer with where it ended."""

        @wraps(step)
        def resolved(care: Care, person: Person) -> Response:
            draft = self._find(person)
            if draft is None:
                return self._begin_again()
            draft = replace(draft, operation=settled(person.sub, draft.operation))
            return step(care, draft) if draft.operation.state is State.OPEN else self.answer(draft)

        return resolved

    def sent_step(self, step: Step[C]) -> Handler:
        """Pass the draft that the request names while nobody knows what became of it, or answer with where it is."""

        @wraps(step)
        def resolved(care: Care, person: Person) -> Response:
            draft = self._find(person)
            if draft is None:
                return self._begin_again()
            is_sent = draft.operation.state in (State.PENDING, State.UNKNOWN)
            return step(care, draft) if is_sent else self.answer(draft)

        return resolved

    def answer(self, draft: Draft[C]) -> Response:
        """Lead to where the draft is: its preview, what became of it, or the record."""
        match draft.operation.state:
            case State.OPEN:
                return self.to_preview(draft)
            case State.DONE:
                return self.to_record(draft.operation.outcome)
            case State.PENDING | State.UNKNOWN:
                return redirect_to(url_for(f"{self.pages}.outcome", operation=draft.operation.id))

    def to_preview(self, draft: Draft[C]) -> Response:
        """Lead to where it is shown before it is sent."""
        return redirect_to(url_for(f"{self.pages}.preview", operation=draft.operation.id))

    def to_record(self, id_: str) -> Response:
        """Lead to the record that came of it."""
        return redirect_to(self.address(id_))

    def _find(self, person: Person) -> Draft[C] | None:
        operation = context().operations.find(person.sub, request.values.get("operation", ""), self._purpose)
        if operation is None:
            return None
        if patient_id := _patient_of(operation.data):
            audit.has_kept(f"{self.kind}.draft", "patient", patient_id)
        return Draft(self.kind, person, operation, msgspec.convert(operation.data, self.shape))

    def _begin_again(self) -> Response:
        toast(
            _("That page was from another visit, so it was not used. Please begin again."), tone="attention"
        )
        return redirect_to(url_for(f"{self.pages}.{self.first}"))

    @property
    def _purpose(self) -> str:
        return f"create-{self.kind}"


@dataclass(frozen=True, slots=True)
class Search(Generic[C, M]):
    """How the record that came of a draft is found again.

    `alike` reads the records that it would be among (raises CareError), `recognise` picks it out of those that are new.
    """

    alike: Callable[[C], Sequence[M]]
    recognise: Callable[[Sequence[M], C], M | None]

    def find(self, content: C) -> M | None:
        """Return the record, if it is there."""
        new = [one for one in self.alike(content) if one.id not in content.known_ids]
        return self.recognise(new, content)


def create_once(
    draft: Draft[C], send: Callable[[C, str], M | None], search: Search[C, M]
) -> Outcome[M | None]:
    """Make the record of the draft, once; `Done.receipt` is its id.

    `send` gets the content and the idempotency key, and returns None when the answer doesn't show the record.
    """
    # What is there already looks the same as what a lost answer may have made: it is noted before.
    before = tuple(one.id for one in search.alike(draft.content))
    draft = draft.keep(msgspec.structs.replace(cast("Any", draft.content), known_ids=before))
    return act_once(
        draft.attempt,
        lambda key: send(draft.content, key),
        shows=lambda made: made is not None and made.id not in before,
        look=lambda: search.find(draft.newest().content),
        receipt=_id_of,
        event=draft.event,
        kind=draft.kind,
    )


def search_again(draft: Draft[C], search: Search[C, M]) -> Done[M | None] | Unknown | Reopened:
    """Return what became of a draft that was sent, without sending anything. Raises CareError."""
    return look_again(
        draft.attempt,
        lambda: search.find(draft.content),
        receipt=_id_of,
        event=draft.event,
        kind=draft.kind,
    )


def _id_of(made: Made | None) -> str:
    return made.id if made else ""


def _patient_of(data: Mapping[str, Any]) -> str | None:
    """The patient whose record is filled in, as the operation keeps it."""
    return data.get("about", data).get("patient_id")


def _data(content: Content) -> dict[str, Any]:
    return msgspec.to_builtins(content)
