"""The patient by whom staff narrow a list: the parameter `patient` of its address, an id."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from flask import request

from portal.parse import record_id
from portal.services.consents import name_on_form
from portal.services.decoding import PagedResult
from portal.services.gather import Identified, attempt, known
from portal.services.paging import read_every_page
from portal.services.patient_ref import PatientRef
from portal.values import Value
from portal.web.handlers import Care, Person, audit
from portal.web.known_people import KnownPerson, known_people
from portal.web.listing import ListQuery, StatusT, Table

T = TypeVar("T", bound=Identified)


class ChosenPatient(Value, frozen=True):
    """A patient by id; `people` is what this session has read of them, and the name comes from there or from a form."""

    id: str
    name: str
    people: tuple[KnownPerson, ...] = ()

    @property
    def patient_ref(self) -> PatientRef:
        return PatientRef(self.id, self.name, self.people[0].episode_id if self.people else None)

    @property
    def episode_ids(self) -> tuple[str, ...]:
        """The treatments whose patient they are, as far as this session has read them; not those of their partner."""
        return tuple(person.episode_id for person in self.people if person.is_patient)

    def takes_part(self, ids: Iterable[str | None]) -> bool:
        """Whether one of these is the account that they sign in with."""
        return bool({person.account for person in self.people} & set(ids))


def chosen_patient(care: Care, person: Person) -> ChosenPatient | None:
    """Return the patient that the address names; None for patients themselves, and without one."""
    id_ = record_id(request.args.get("patient")) if person.is_staff else None
    if id_ is None:
        return None
    people = tuple(known for known in known_people() if known.patient_id == id_)
    if people:
        return ChosenPatient(id_, people[0].name, people)
    return ChosenPatient(id_, known(attempt(lambda: name_on_form(care, id_))) or "")


def read_table(
    kind: str,
    query: ListQuery[StatusT],
    chosen: ChosenPatient | None,
    read: Callable[..., PagedResult[T]],
    is_theirs: Callable[[T, ChosenPatient], bool],
) -> Table[StatusT, T]:
    """The page of a list of records of this kind, as the query asks for it; `read` is the service's function for the list.

    Says in the audit trail what it shows. Raises CareError.
    """
    asked = partial(read, sorting=query.sorting, text=query.text or None, status=query.status)
    found = read_page_of(
        chosen, lambda skip, limit: asked(skip=skip, limit=limit), is_theirs, query.skip, query.size
    )
    audit.shown(f"{kind}.{'search' if query.text else 'list'}", kind, [record.id for record in found.items])
    return Table(query, found)


def read_page_of(
    chosen: ChosenPatient | None,
    read: Callable[[int, int], PagedResult[T]],
    is_theirs: Callable[[T, ChosenPatient], bool],
    skip: int,
    size: int,
) -> PagedResult[T]:
    """A page of the list that `read(skip, limit)` reads, or of what is the chosen patient's in it.

    For a patient the whole list is read, because an API may know no filter by patient, or ignore it. Raises CareError.
    """
    if chosen is None:
        return read(skip, size)
    found = read_every_page(read).where(lambda record: is_theirs(record, chosen))
    number = len(found.items)
    # One more than was found if there may be more, as for a list without a count, but no page that would be empty.
    return PagedResult(
        items=found.items[skip : skip + size],
        total_count=number + (not found.is_whole and number % size > 0),
        is_counted=found.is_whole,
    )
