"""Acts of many people at once on PostgreSQL: each is done or refused by a rule, and none is given up."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Blueprint, Flask, request
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from portal.careservice import database, transactions
from tests.careservice.api.calls import form
from tests.careservice.api.clinic import clinic_of, settings_for
from tests.careservice.databases.conftest import Place
from tests.support.full import FULL
from tests.support.postgres import copy_of, database_url

ACTS = 10_000 if FULL else 64
PEOPLE = ("amelia", "daniel", "grace", "nora", "elif", "victor", "colin", "nora")
SETTINGS = "/api/app/notification/settings"
CONVERSATIONS = "/api/messaging/getconversations"


@pytest.fixture
def postgresql(seeded: dict[str, str], tmp_path: Path) -> Any:
    """The service over PostgreSQL, whose transactions fail each other where SQLite's wait."""
    url = copy_of(seeded["postgresql"], tmp_path / "unused")
    engine = database.connect(url)
    yield Place("postgresql", clinic_of(settings_for(url), engine), engine)
    engine.dispose()


def act(place: Place, who: str, number: int) -> Any:
    """One of several acts on what others of the clinic read and change at the same time."""
    call, found = place.clinic, place.clinic.get(who, CONVERSATIONS)["items"]
    if number % 3 == 0 and who in ("nora", "elif", "victor"):
        return call(who, "POST", "/api/care/consent-forms", form(title=f"Form {who} {number}"))
    if number % 3 == 1 or not found:
        read = call.get(who, SETTINGS)
        return call(who, "PUT", SETTINGS, {name: read[name] for name in ("items", "concurrencyStamp")})
    return call(who, "POST", "/api/messaging/archive", {"conversationIds": [one["id"] for one in found]})


def test_of_many_acts_of_eight_people_at_once_none_is_given_up(
    postgresql: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is done or refused by a rule; the number of turns taken alone shows that they do get in each other's way."""
    alone, take = list[None](), database.run_alone
    monkeypatch.setattr(database, "run_alone", lambda: (alone.append(None), take())[1])
    each = ACTS // len(PEOPLE)

    def acts_of(who: str) -> Counter[int]:
        return Counter(act(postgresql, who, number).status_code for number in range(each))

    with ThreadPoolExecutor(len(PEOPLE)) as pool:
        told = sum(pool.map(acts_of, PEOPLE), Counter[int]())
    assert told.total() == each * len(PEOPLE)
    assert set(told) <= {200, 403}, told
    assert told[200] > each
    if ACTS > 1000:
        assert alone


class Counting:
    """A service whose only act reads a number, lets `meanwhile` happen, and writes the next one."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.tries = 0
        self.meanwhile: Callable[[], object] = lambda: None
        self.app = Flask(__name__)
        acts = Blueprint("acts", __name__)
        acts.post("/act")(self._act)
        acts.register_error_handler(transactions.Busy, lambda _error: ("", 503))
        self.app.register_blueprint(acts)
        database.init_app(self.app, engine)
        transactions.init_app(self.app, [acts])
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE counter (n integer)")
            connection.exec_driver_sql("INSERT INTO counter VALUES (0)")

    def _act(self) -> str:
        session = database.session()
        found = session.execute(text("SELECT n FROM counter")).scalar_one()
        if request.headers.get("X-Slow"):
            self.tries += 1
            self.meanwhile()
        session.execute(text("UPDATE counter SET n = :next"), {"next": found + 1})
        return str(found + 1)

    def act(self, *, slowly: bool = False) -> int:
        return self.app.test_client().post("/act", headers={"X-Slow": "yes"} if slowly else {}).status_code

    def counted(self, query: str = "SELECT n FROM counter") -> int:
        with self.engine.connect() as connection:
            return connection.exec_driver_sql(query).scalar_one()


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    monkeypatch.setattr(database, "_LOCK_WAIT_MILLISECONDS", 200)
    monkeypatch.setattr(database, "_TURN_WAIT_MILLISECONDS", 5000)
    monkeypatch.setattr(transactions, "PATIENCE_SECONDS", 0.2)
    engine = database.connect(database_url(tmp_path / "unused", "postgresql"))
    yield Counting(engine)
    engine.dispose()


def test_a_long_act_among_short_ones_is_done_at_its_third_try(counting: Counting) -> None:
    others: list[threading.Thread] = []

    def another_acts() -> None:
        others.append(threading.Thread(target=counting.act))
        others[-1].start()
        others[-1].join(timeout=1)

    counting.meanwhile = another_acts
    assert counting.act(slowly=True) == 200
    for other in others:
        other.join()
    assert counting.tries == 3
    assert counting.counted() in (3, 4), "the last other one had to wait, perhaps longer than it would"


@pytest.mark.parametrize("is_read_busy", [False, True])
def test_a_turn_ends_with_its_request_even_if_that_was_given_up(
    counting: Counting, is_read_busy: bool
) -> None:
    mode = "ACCESS EXCLUSIVE" if is_read_busy else "EXCLUSIVE"
    with counting.engine.connect() as other:
        other.execute(text(f"LOCK TABLE counter IN {mode} MODE"))
        assert counting.act() == 503
    assert counting.counted("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'") == 0
    assert counting.counted("SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout'") == 200
    assert counting.act() == 200
    assert counting.counted() == 1


def test_who_waits_for_a_turn_alone_too_long_is_told_to_come_back(
    counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_TURN_WAIT_MILLISECONDS", 200)
    with counting.engine.connect() as other:
        other.exec_driver_sql(f"SELECT pg_advisory_lock({database._WRITE_LOCK})")
        assert counting.act() == 503
        other.exec_driver_sql("SELECT pg_advisory_unlock_all()")
    assert counting.act() == 200


@pytest.mark.parametrize("waits", [0.5, 3])
def test_a_blocked_act_is_retried_for_five_seconds_but_three_times_in_any_case(
    monkeypatch: pytest.MonkeyPatch, waits: float
) -> None:
    now, tries = 1000.0, 0

    def wait(seconds: float) -> None:
        nonlocal now
        now += seconds

    def blocked() -> str:
        nonlocal tries
        tries += 1
        assert tries < 50
        wait(waits)
        busy = sqlite3.OperationalError("database is locked")
        busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
        raise OperationalError("COMMIT", {}, busy)

    monkeypatch.setattr(transactions, "time", SimpleNamespace(monotonic=lambda: now, sleep=wait))
    app, acts = Flask(__name__), Blueprint("acts", __name__)
    acts.post("/act")(blocked)
    acts.register_error_handler(transactions.Busy, lambda error: (str(error.is_conflict), 503))
    app.register_blueprint(acts)
    transactions.init_app(app, [acts])
    answer = app.test_client().post("/act")
    assert (answer.status_code, answer.text) == (503, "False")
    assert tries == 3 if waits == 3 else 3 < tries <= 10
    assert now - 1000 < 5 + 3 * waits
