"""Working through a list: a form's address says which list it was opened from, which gives the next one."""

from __future__ import annotations

from flask import request

from portal.parse import whole_number
from portal.services.client import Care
from portal.services.consents.forms import ConsentForm
from portal.services.errors import CareError, NotSignedIn
from portal.state.session_records import Person
from portal.views.consents.narrowing import Narrowing
from portal.views.consents.worklist import Place, WorkList, place_of, queue_query, read_work


def asked_list() -> WorkList | None:
    """The work list named in the query."""
    try:
        return WorkList(request.args.get("list", ""))
    except ValueError:
        return None


def with_queue(address: str) -> str:
    """The address with this request's list parameters."""
    which = asked_list()
    if which is None:
        return address
    query = queue_query(which, _done(), Narrowing.read(request.args))
    return f"{address}&{query[1:]}" if "?" in address else address + query


def place_in_list(care: Care, person: Person, form: ConsentForm) -> Place | None:
    """The form's position in the list that it was opened from; None if there is none or it can't be read."""
    which = asked_list() if person.is_staff else None
    if which is None:
        return None
    try:
        return place_of(read_work(care, person, Narrowing.read(request.args)), which, form, _done())
    except NotSignedIn:
        raise
    except CareError:
        return None


def _done() -> int:
    return whole_number(request.args.get("done"), most=999) or 0
