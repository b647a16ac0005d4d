"""Pages before an API that answers strangely: they say what it said, or that they don't know."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from portal.services.consents import LIST_CONSENTS
from portal.services.conversations import LIST_CONVERSATIONS
from portal.services.episodes import READ_EPISODE, Episode
from tests.support.clock import Clock
from tests.support.fake_api import FakeApi, sample
from tests.support.in_process import InProcess
from tests.support.visitor import Visitor

SignIn = Callable[..., Visitor]
URGENT = {"severity": "Urgent", "text": "Stop aspirin now", "creationTime": None}
SOME_DETAILS = "Some details can’t be shown."


@pytest.fixture
def in_process(tmp_path: Path) -> InProcess:
    """A portal that knows nothing yet of this API."""
    return InProcess(tmp_path, Clock(time.time))


@pytest.fixture
def before(tmp_path: Path, fake_api: FakeApi) -> Callable[[str], SignIn]:
    """Sign in before an API with a dialect: `before('bom = true')("grace")`."""

    def portal(toml: str) -> SignIn:
        return InProcess(tmp_path, Clock(time.time), dialect=toml).visitor

    return portal


def episode(**members: Any) -> dict[str, Any]:
    """A treatment of Grace under way, as JSON; members in the API's spelling."""
    plain: dict[str, Any] = msgspec.to_builtins(sample(Episode, id="e-1", status="Active", outcome=None))
    plain["patient"] |= {"id": "p-1", "userId": "grace"}
    return plain | members


def gives(fake_api: FakeApi, treatment: dict[str, Any]) -> None:
    """Let this be the person's treatment, which a conversation names."""
    fake_api.gives(READ_EPISODE, treatment)
    fake_api.gives(LIST_CONSENTS, [])
    fake_api.gives(LIST_CONVERSATIONS, [{"id": "t-1", "episodeId": "e-1", "subject": "x"}])


@pytest.mark.parametrize("until", ["1970-01-01T00:00:00Z", "0001-01-01T00:00:00", "9999-12-31T23:59:59Z", 0])
@pytest.mark.parametrize("path", ["/", "/episodes/e-1"])
def test_a_warning_whose_end_is_no_date_is_shown(
    visitor: SignIn, fake_api: FakeApi, path: str, until: object
) -> None:
    gives(fake_api, episode(alerts=[{**URGENT, "until": until}]))
    assert "Stop aspirin now" in visitor("grace").get(path).words


@pytest.mark.parametrize(
    ("toml", "until"),
    [
        ('[times]\ninstants = "epoch_ms"', 0),
        ('[times]\ninstants = "epoch_ms"\nnone = [0]', 0),
        ('[times]\nnone = ["01.01.0001"]\ninstants = "dd.MM.yyyy HH:mm"', "01.01.0001 00:00"),
        ('[times]\nnone = ["never"]', "NEVER "),
    ],
)
def test_so_it_is_in_a_dialect(
    before: Callable[[str], SignIn], fake_api: FakeApi, toml: str, until: object
) -> None:
    plain = {
        "id": "e-1",
        "status": "Active",
        "patient": {"id": "grace"},
        "alerts": [{**URGENT, "until": until}],
    }
    gives(fake_api, plain)
    page = before(toml)("grace").get("/episodes/e-1")
    assert "Stop aspirin now" in page.words
    assert SOME_DETAILS not in page.words


def test_a_date_that_cannot_be_one_is_not_given_in_its_place(visitor: SignIn, fake_api: FakeApi) -> None:
    embryo = {
        "id": "s-1",
        "embryoCode": "GO-1",
        "status": "Stored",
        "storageExpiresAt": "0001-01-01T00:00:00",
    }
    gives(fake_api, episode(embryos=[embryo]))
    page = visitor("grace").get("/storage")
    assert "Not given by the clinic’s system" in page.words
    assert "1970" not in page.words and SOME_DETAILS not in page.words


@pytest.mark.parametrize(
    ("members", "is_shown"),
    [
        ({"number": {"no": 7}}, "Stop aspirin now"),
        ({"appointments": [{"id": "a-1", "start": "soon"}]}, "Stop aspirin now"),
        ({"alerts": [URGENT, "Call us"]}, "Stop aspirin now"),
        ({"protocol": {"id": "r", "name": "P", "status": "Active", "startDate": "soon"}}, "Stop aspirin now"),
    ],
)
def test_one_unreadable_value_costs_that_value(
    visitor: SignIn, fake_api: FakeApi, members: dict[str, Any], is_shown: str
) -> None:
    gives(fake_api, episode(alerts=[URGENT]) | members)
    page = visitor("grace").get("/episodes/e-1")
    assert is_shown in page.words
    assert SOME_DETAILS in page.words


def test_lost_warnings_are_not_none(visitor: SignIn, fake_api: FakeApi) -> None:
    gives(fake_api, episode(alerts=["Stop aspirin now"]))
    assert "hasn’t told the portal whether there are warnings" in visitor("grace").get("/episodes/e-1").words


def test_a_plan_with_a_row_that_cannot_be_read_is_not_shown_without_it(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    rows = [
        {"drug": "Gonal-f", "startDay": 1, "endDay": 9},
        {"drug": "Cetrotide", "startDay": 5, "endDay": "?"},
    ]
    plan = {"id": "r-1", "name": "Plan", "status": "Active", "startDate": "2026-11-20", "medications": rows}
    gives(fake_api, episode(protocol=plan))
    page = visitor("grace").get("/episodes/e-1/medication")
    assert "hasn’t given the portal this part" in page.words
    assert "Gonal-f" not in page.words
