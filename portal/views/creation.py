"""Creating a record: staff fill in a draft, preview it and create it once; handles lost responses.

The draft is stored in an operation, so that people can move between its pages, and repeated submissions are sent only
once. After a lost response, the record is searched for among those that didn't exist before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

import msgspec
from flask import Response, request, url_for
from msgspec.structs import replace

from portal.context import context
from portal.i18n.gettext import _
from portal.services.errors import CareError
from portal.services.gather import Identified
from portal.services.listed import Listed
from portal.state.operations import Operation, State
from portal.values import Value
from portal.web.act_once import Attempt, Done, Reopened, Unconfirmed, act_once, look_again, settled
from portal.web.editing import tell_unlike
from portal.web.handlers import Care, Person, audit, redirect_to, toast


class Content(Protocol):
    """A draft's content: a msgspec struct, with the ids of similar records that existed before it was sent."""

    @property
    def known_ids(self) -> tuple[str, ...]: ...

    def draft(self) -> msgspec.Struct: ...


C = TypeVar("C", bound=Content)
M = TypeVar("M", bound=Identified)


class Draft(Value, Generic[C], frozen=True):
    """One person's draft and its operation; `kind` is the kind of record."""

    kind: str
    person: Person
    operation: Operation
    content: C

    def keep(self, content: C) -> Draft[C]:
        """A copy with this content, saved in the operation."""
        context().operations.keep(self.person.sub, self.operation.id, _data(content))
        return replace(self, content=content)

    def newest(self) -> Draft[C]:
        """A copy with the operation's current state, because another submission may have sent it."""
        sub, kept = self.person.sub, self.operation
        kept = context().operations.find(sub, kept.id, kept.purpose) or kept
        return replace(self, operation=kept, content=msgspec.convert(kept.data, type(self.content)))

    @property
    def attempt(self) -> Attempt:
        sent = msgspec.json.encode(self.content.draft()).decode()
        return Attempt(self.person.sub, self.operation, (sent,))

    @property
    def digest(self) -> str:
        """A digest of what is filled in: a preview with another one shows something else."""
        filled_in = replace(cast("Any", self.content), known_ids=())
        return hashlib.sha256(msgspec.json.encode(filled_in)).hexdigest()[:20]

    @property
    def event(self) -> str:
        return f"{self.kind}.create"


class Search(Value, Generic[C, M], frozen=True):
    """How to find the record created from a draft.

    `alike` reads the candidates (raises CareError), `recognise` picks it from those that are new.
    """

    alike: Callable[[C], Listed[M]]
    recognise: Callable[[Sequence[M], C], M | None]

    def find(self, content: C) -> M | None:
        """Return the record; None if there is none. Raises Unconfirmed where not all candidates could be read."""
        read = self.alike(content)
        found = self.recognise([record for record in read if record.id not in content.known_ids], content)
        if found is None and not read.is_whole:
            raise Unconfirmed(is_readable=False, status=503)
        return found


class Creation(Value, Generic[C, M], frozen=True):
    """How a record is created from a draft: `send` and `search` as in `create_once`, and what is said and shown of it.

    `created` and `not_found` are messages, the latter for a record that isn't there after a lost response; `unconfirmed` and
    `refused` return the pages in its place. `unlike` returns the labels of what the API keeps otherwise than was sent.
    """

    send: Callable[[C, str], M | None]
    search: Search[C, M]
    created: str
    not_found: str
    unconfirmed: Callable[[Draft[C], Unconfirmed], Response]
    refused: Callable[[Draft[C], CareError], Response]
    unlike: Callable[[C, M], Sequence[str]]


Step: TypeAlias = Callable[[Care, Draft[C]], Response]
Handler: TypeAlias = Callable[[Care, Person], Response]


class Drafts(Value, Generic[C], frozen=True):
    """The drafts of one kind of record, and their pages: a blueprint with at least `preview` and `outcome`.

    `kind` is its name in operations and the audit trail, `pages` the blueprint's full name, `first` the endpoint of the
    first page; `address` returns the created record's page by its id.
    """

    kind: str
    shape: type[C]
    pages: str
    first: str
    address: Callable[[str], str]

    def begin(self, person: Person, content: C) -> Draft[C]:
        operation = context().operations.begin(person.sub, self._purpose, _data(content))
        return Draft(self.kind, person, operation, content)

    def open_step(self, step: Step[C]) -> Handler:
        """Pass the step the draft named in the request if it is open; otherwise redirect (`answer`)."""

        @wraps(step)
        def resolved(care: Care, person: Person) -> Response:
            draft = self._find(person)
            if draft is None:
                return self.begin_again()
            draft = replace(draft, operation=settled(person.sub, draft.operation))
            return step(care, draft) if draft.operation.state is State.OPEN else self.answer(draft)

        return resolved

    def shown_step(self, step: Step[C]) -> Handler:
        """As `open_step`, if the draft is still as the page showed it (`shown`); otherwise show it as it is now."""

        @wraps(step)
        def as_shown(care: Care, draft: Draft[C]) -> Response:
            if is_as_shown(draft):
                return step(care, draft)
            toast(changed_since_shown(), tone="attention")
            return self.to_preview(draft)

        return self.open_step(as_shown)

    def sent_step(self, step: Step[C]) -> Handler:
        """Pass the step the draft named in the request if its outcome is unknown; otherwise redirect (`answer`)."""

        @wraps(step)
        def resolved(care: Care, person: Person) -> Response:
            draft = self._find(person)
            if draft is None:
                return self.begin_again()
            is_sent = draft.operation.state in (State.PENDING, State.UNKNOWN)
            return step(care, draft) if is_sent else self.answer(draft)

        return resolved

    def create(self, draft: Draft[C], creation: Creation[C, M]) -> Response:
        """Create the record, once, and show it, or what to do instead."""
        try:
            done = create_once(draft, creation.send, creation.search)
        except Reopened:
            return self.to_preview(draft)
        except Unconfirmed as error:
            return creation.unconfirmed(draft, error)
        except CareError as error:
            return creation.refused(draft, error)
        return self._to_created(draft, done, creation)

    def look_again(self, draft: Draft[C], creation: Creation[C, M]) -> Response:
        """After a lost response, show whether the record exists by now."""
        try:
            done = search_again(draft, creation.search)
        except Reopened:
            toast(creation.not_found, tone="attention")
            return self.to_preview(draft)
        except Unconfirmed as error:
            return creation.unconfirmed(draft, error)
        return self._to_created(draft, done, creation)

    def _to_created(self, draft: Draft[C], done: Done[M | None], creation: Creation[C, M]) -> Response:
        if done.result is not None and (labels := creation.unlike(draft.content, done.result)):
            tell_unlike(labels)
        elif done.is_first:
            toast(creation.created)
        return self.to_record(done.receipt)

    def answer(self, draft: Draft[C]) -> Response:
        """Redirect according to the draft's state: to the preview, the outcome, or the record."""
        match draft.operation.state:
            case State.OPEN:
                return self.to_preview(draft)
            case State.DONE:
                return self.to_record(draft.operation.outcome)
            case State.PENDING | State.UNKNOWN:
                return redirect_to(url_for(f"{self.pages}.outcome", operation=draft.operation.id))

    def to_preview(self, draft: Draft[C]) -> Response:
        return redirect_to(url_for(f"{self.pages}.preview", operation=draft.operation.id))

    def to_record(self, id_: str) -> Response:
        return redirect_to(self.address(id_))

    def _find(self, person: Person) -> Draft[C] | None:
        return self.find(person, request.values.get("operation", ""))

    def find(self, person: Person, id_: str) -> Draft[C] | None:
        """Return the person's draft with this operation, or None."""
        operation = context().operations.find(person.sub, id_, self._purpose)
        if operation is None:
            return None
        if patient_id := operation.data.get("about", operation.data).get("patient_id"):
            audit.note_kept_read(f"{self.kind}.draft", "patient", patient_id)
        return Draft(self.kind, person, operation, msgspec.convert(operation.data, self.shape))

    def begin_again(self) -> Response:
        """Redirect to the first page, because the draft named in the request isn't there any more."""
        toast(
            _("That page was from another visit, so it was not used. Please begin again."), tone="attention"
        )
        return redirect_to(url_for(f"{self.pages}.{self.first}"))

    @property
    def _purpose(self) -> str:
        return f"create-{self.kind}"


def is_as_shown(draft: Draft[C]) -> bool:
    """Whether the draft is still as the submitted page showed it, and wasn't changed in another window."""
    return draft.digest in request.form.getlist("shown")


def changed_since_shown() -> str:
    """What is said of a draft that isn't as it was shown."""
    return _("This was changed after you opened the page, so nothing was sent. Look at it as it is now.")


def create_once(draft: Draft[C], send: Callable[[C, str], M | None], search: Search[C, M]) -> Done[M | None]:
    """Create the draft's record, once; `Done.receipt` is its id. Raises as `act_once` does.

    `send` gets the content and the idempotency key, and returns None if the response doesn't contain the record.
    """
    # Existing similar records are noted first, to tell them from one created by a call with a lost response.
    before = tuple(record.id for record in search.alike(draft.content))
    draft = draft.keep(msgspec.structs.replace(cast("Any", draft.content), known_ids=before))
    return act_once(
        draft.attempt,
        lambda key: send(draft.content, key),
        shows=lambda made: made is not None and made.id not in draft.newest().content.known_ids,
        look=lambda: search.find(draft.newest().content),
        receipt=_id_of,
        event=draft.event,
    )


def search_again(draft: Draft[C], search: Search[C, M]) -> Done[M | None]:
    """Return the record made of a draft that was sent, without sending anything. Raises as `look_again` does."""
    return look_again(draft.attempt, lambda: search.find(draft.content), receipt=_id_of, event=draft.event)


def _id_of(made: Identified | None) -> str:
    return made.id if made else ""


def _data(content: Content) -> dict[str, Any]:
    return msgspec.to_builtins(content)
