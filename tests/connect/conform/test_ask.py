"""What probing an API's lists reveals: parameter names, paging, sorting, page size and errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from portal.connect.conform.ask import _next_in, ask_parameters
from portal.connect.conform.learned import Learned
from portal.connect.conform.proposal import Proposal
from portal.connect.conform.refusal import ask_refusal
from portal.connect.conform.walk import Visit, call
from portal.http.transfer import Answer
from portal.services.adapter import PLAIN
from portal.services.api import Endpoint
from portal.services.client import Care
from portal.services.consents import LIST_CONSENTS
from portal.services.physicians import LIST_PHYSICIANS

NAMES = {"procedureDate": "dueDate", "status": "state", "patientId": "subjectRef"}


class Api:
    """An API of one list, whose parameters are called as nobody would expect; others are passed over.

    Orders are asked for as `dueDate:desc`; more than 100 records at a time, and forms by their id, are refused.
    """

    adapter = PLAIN

    def __init__(self) -> None:
        self.forms = [
            {
                "id": f"f{n}",
                "dueDate": f"{1 + n * 7 % 28:02}.01.2027",
                "state": n % 3,
                "subjectRef": f"p{n % 2}",
            }
            for n in range(12)
        ]

    def send(self, endpoint: Endpoint, *, query: Mapping[str, Any] | None = None, **_other: Any) -> Answer:
        if endpoint is not LIST_CONSENTS:
            return Answer(422, {}, b'{"errors": [{"code": "NO_SUCH_FORM", "detail": "There is none."}]}')
        asked = query or {}
        rows = [
            one
            for one in self.forms
            if asked.get("state", one["state"]) == one["state"]
            and asked.get("subjectRef", one["subjectRef"]) == one["subjectRef"]
            and (asked.get("search") or "f") in one["id"]
        ]
        field, _, way = str(asked.get("sort", "id:asc")).partition(":")
        if field in self.forms[0]:
            rows.sort(key=lambda one: str(one[field]), reverse=way == "desc")
        size = int(asked.get("size", 20))
        if size > 100:
            return Answer(422, {}, b"")
        first = int(asked.get("page", 0)) * size
        return Answer(200, {}, json.dumps({"items": rows[first : first + size]}).encode())


def learned_from(api: Api) -> Learned:
    care, learned = cast("Care", api), Learned()
    visits: list[Visit] = [call(care, LIST_CONSENTS)]
    ask_parameters(care, visits, learned, NAMES)
    ask_refusal(care, learned)
    return learned


def test_unusual_parameter_names_are_found_by_probing() -> None:
    learned = learned_from(Api())
    assert learned.parameters == {
        "MaxResultCount": "size",
        "SkipCount": "page",
        "Filter": "search",
        "Sorting": "sort",
        "Status": "state",
        "PatientId": "subjectRef",
    }
    assert (learned.paging, learned.first_page, learned.largest_page) == ("page", 0, 100)
    assert learned.sorting == "field:desc"
    assert learned.statuses == {422: 404}
    assert learned.code_at == ["errors.0.code"]
    text = Proposal(learned=learned).toml()
    for line in ("first_page = 0", "largest_page = 100", 'sorting = "field:desc"', 'Status = "state"'):
        assert f"\n{line}\n" in text


def test_records_counted_from_one_are_told_from_pages() -> None:
    api = Api()
    by_page = Api.send

    def send(endpoint: Endpoint, *, query: Mapping[str, Any] | None = None, **other: Any) -> Answer:
        asked = {name: one for name, one in (query or {}).items() if name not in ("page", "start")}
        whole = json.loads(by_page(api, endpoint, query={**asked, "size": 100}, **other).body)
        begins = max(int((query or {}).get("start", 1)), 1) - 1
        size = int(asked.get("size", 20))
        rows = whole["items"][begins : begins + size] if endpoint is LIST_CONSENTS else []
        return Answer(200, {}, json.dumps({"items": rows}).encode())

    api.send = send
    learned = learned_from(api)
    assert (learned.parameters["SkipCount"], learned.paging, learned.first_record) == ("start", "offset", 1)
    assert "\nfirst_record = 1\n" in Proposal(learned=learned).toml()


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("paging.next_token", lambda cursor: {"paging": {"next_token": cursor, "is_next": True}}),
        (
            "links.rel=next.href",
            lambda cursor: {
                "links": [{"rel": "self"}, {"rel": "next", "href": f"https://x/f?size=2&page_token={cursor}"}]
            },
        ),
    ],
)
def test_a_page_that_names_the_next_one_is_followed(path: str, named: Callable[[str], Any]) -> None:
    """By a cursor, whose parameter has a likely name, or an address that has it."""
    api = Api()
    by_page = Api.send

    def send(endpoint: Endpoint, *, query: Mapping[str, Any] | None = None, **other: Any) -> Answer:
        asked = {name: one for name, one in (query or {}).items() if name != "page"}
        place = int(str(asked.pop("page_token", "at0"))[2:])
        answer = by_page(api, endpoint, query={**asked, "page": place}, **other)
        told = json.loads(answer.body) if answer.status == 200 else {}
        return Answer(answer.status, {}, json.dumps({**told, **named(f"at{place + 1}")}).encode())

    api.send = send
    learned = learned_from(api)
    assert (learned.parameters["SkipCount"], learned.paging, learned.next) == ("page_token", "cursor", path)
    assert f'next = "{path}"' in Proposal(learned=learned).toml()


def test_a_next_page_that_no_path_names_stays_untold() -> None:
    there = {"@odata.nextLink": "https://x/f?skip=2", "paging": {"next": "at2"}}
    assert list(_next_in(there)) == [("paging.next", "at2")]


def test_a_sort_order_ignored_in_one_direction_is_not_accepted() -> None:
    api = Api()
    upwards_only = Api.send

    def send(endpoint: Endpoint, *, query: Mapping[str, Any] | None = None, **other: Any) -> Answer:
        is_down = "desc" in str((query or {}).get("sort"))
        return upwards_only(api, endpoint, query=None if is_down else query, **other)

    api.send = send
    learned = learned_from(api)
    assert "Sorting" not in learned.parameters
    assert "Sorting" in learned.untold


class Calendar:
    """An API whose physicians' busy times and sites are narrowed by parameters of its own; times are epoch seconds."""

    adapter = PLAIN

    def send(self, endpoint: Endpoint, *, query: Mapping[str, Any] | None = None, **_other: Any) -> Answer:
        asked = query or {}
        since, until = int(asked.get("since", 0)), int(asked.get("until", 4e9))
        rows = [
            {
                "id": str(n),
                "name": "Dr",
                "locationId": f"s{n}",
                "busy": [{"start": 1_800_000_000}] if since < 1_800_000_000 < until else [],
            }
            for n in range(2)
            if asked.get("site", f"s{n}") == f"s{n}"
        ]
        return Answer(200, {}, json.dumps({"items": rows}).encode())


def test_span_and_location_parameters_are_learned_in_the_format_of_times() -> None:
    care, learned = cast(Care, Calendar()), Learned()
    visits = [call(care, LIST_PHYSICIANS)]
    ask_parameters(care, visits, learned, {}, "epoch_s")
    assert learned.parameters == {"From": "since", "To": "until", "LocationId": "site"}
    untold = Learned()
    ask_parameters(care, visits, untold, {}, None)
    assert {"From", "To"} <= set(untold.untried)


def test_an_untried_parameter_is_a_question_only_if_other_parameters_differ() -> None:
    def asked(**told: Any) -> list[str]:
        questions = Proposal(learned=Learned(untried=["IsRead"], **told)).undecided
        return [one for one in questions if one.startswith("query.IsRead: ")]

    assert asked(parameters={"Filter": "q"})
    assert not asked(parameters={"Filter": "Filter"})
