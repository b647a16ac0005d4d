"""Sessions in each store: when they end, what is remembered afterwards, and concurrent writes."""

from __future__ import annotations

import base64
import threading
from functools import partial

import pytest
from flask import Flask, Response

from portal.config.settings import SessionLimits
from portal.config.tenants import Side, Tenants
from portal.state.session_records import Person, SessionRecord, Tokens, record_name, tokens_name
from portal.state.sessions import Session, Sessions
from portal.store import Store, StoreFull, WrongKey
from portal.store.vault import Vault
from tests.support.builders import person
from tests.support.clock import Clock
from tests.support.together import at_once

HOST, CLINIC = "riverside.localhost", "riverside"
MINUTE, HOUR = 60, 3600


@pytest.fixture
def sessions(store: Store, clock: Clock) -> Sessions:
    limits = {
        Side.PATIENT: SessionLimits(30 * MINUTE, 12 * HOUR),
        Side.STAFF: SessionLimits(15 * MINUTE, 8 * HOUR),
    }
    return Sessions(Vault(store, ("k" * 40,)), Tenants({}, {}), limits, clock)


def begun(sessions: Sessions, who: Person) -> str:
    """Sign in, and return the cookie."""
    here = Session(sessions, None, CLINIC, HOST)
    tokens = Tokens(access_token="a", refresh_token="r", expires_at=9e9, refresh_at=9e9)
    here.sign_in(who, tokens, device="")
    assert here.fresh_cookie is not None
    return here.fresh_cookie


def again(sessions: Sessions, cookie: str, host: str = HOST) -> Session:
    return Session(sessions, cookie, CLINIC, host)


@pytest.mark.parametrize(("side", "idle", "absolute"), [(Side.PATIENT, 30, 12), (Side.STAFF, 15, 8)])
def test_a_session_ends_when_idle_or_too_old(
    sessions: Sessions, clock: Clock, side: Side, idle: int, absolute: int
) -> None:
    cookie, began = begun(sessions, person(side=side)), clock.now
    while clock.now < began + absolute * HOUR - idle * MINUTE:
        clock.now += (idle - 1) * MINUTE
        here = again(sessions, cookie)
        assert here.person is not None, "use keeps it"
        here.use()
    clock.now = began + absolute * HOUR - 1
    assert again(sessions, cookie).person is not None
    clock.now += 1
    assert again(sessions, cookie).person is None, "however much it is used"
    other = begun(sessions, person(side=side))
    clock.now += idle * MINUTE
    assert again(sessions, other).person is None


def test_signing_in_again_begins_the_longest_time_anew(sessions: Sessions, clock: Clock) -> None:
    here = again(sessions, begun(sessions, person()))
    here["kept"] = "a value"
    here.save()
    clock.now += 25 * MINUTE
    tokens = Tokens(access_token="a", refresh_token="r", expires_at=9e9, refresh_at=9e9)
    before = here.record
    here.sign_in(person(), tokens, device="")
    assert before and here.record
    assert (here.record.created_at, here.record.used_at) == (clock.now, clock.now)
    assert (here.record.epoch, here["kept"]) == (before.epoch, "a value")
    here.sign_in(person(sub="another"), tokens, device="")
    assert here.record.epoch != before.epoch
    assert "kept" not in here


def test_reading_writes_nothing_and_use_at_most_once_a_minute(sessions: Sessions, clock: Clock) -> None:
    cookie = begun(sessions, person())
    versions: list[int] = []
    for _ in range(6):
        clock.now += 20
        here = again(sessions, cookie)
        here.use()
        here.save()
        held = sessions._vault.get(record_name(cookie), SessionRecord)
        assert held is not None
        versions.append(held.version)
    assert versions == [1, 1, 2, 2, 2, 3]


@pytest.mark.parametrize("ended", ["unused", "elsewhere", "refused", "back-channel"])
def test_the_owner_of_an_expired_session_stays_known(sessions: Sessions, clock: Clock, ended: str) -> None:
    cookie = begun(sessions, person())
    match ended:
        case "unused":
            clock.now += 31 * MINUTE
        case "back-channel":
            assert (
                sessions.end_tagged(issuer="https://id.example", tenant=CLINIC, sub=None, sid="amelia-1") == 1
            )
        case _:
            end = sessions.end_from_elsewhere if ended == "elsewhere" else sessions.end_unasked
            end(record_name(cookie))
    here = again(sessions, cookie)
    assert here.person is None and here.tokens is None
    assert here.whose() == ("https://id.example", "amelia")
    told = sessions.sign_outs.last("https://id.example", CLINIC, "amelia")
    assert told == (clock.now if ended in ("elsewhere", "back-channel") else None)
    assert again(sessions, cookie, "other.localhost").whose() is None
    assert Session(sessions, cookie, "harbour", HOST).whose() is None
    if ended != "unused":
        assert sessions.tokens_of(record_name(cookie)) is None
    clock.now += HOUR + MINUTE
    assert again(sessions, cookie).whose() is None, "for an hour"


def test_the_owner_is_forgotten_after_signing_out(sessions: Sessions, clock: Clock) -> None:
    cookie = begun(sessions, person())
    again(sessions, cookie).end()
    assert again(sessions, cookie).whose() is None
    late = begun(sessions, person())
    clock.now += 31 * MINUTE
    again(sessions, late).end()
    assert again(sessions, late).whose() is None, "the owner of an expired session must be forgotten too"


def test_signing_out_wins_over_late_writes(sessions: Sessions) -> None:
    cookie = begun(sessions, person())
    slow = again(sessions, cookie)
    assert slow.person is not None
    tokens = sessions.tokens_of(record_name(cookie))
    assert tokens is not None
    again(sessions, cookie).end()
    slow["late"] = 1
    slow.remember_episodes(["late"])
    slow.save()
    assert not sessions.replace_tokens(record_name(cookie), tokens, tokens)
    sessions.end_unasked(record_name(cookie))
    assert again(sessions, cookie).record is None
    assert again(sessions, cookie).whose() is None
    assert sessions._vault.store.get_many([record_name(cookie), tokens_name(record_name(cookie))]) == {}


def test_concurrent_writes_of_several_tabs_are_all_kept(sessions: Sessions) -> None:
    cookie, ready = begun(sessions, person()), threading.Barrier(8)

    def write(tab: int) -> None:
        here = again(sessions, cookie)
        assert here.person is not None
        here[f"tab {tab}"] = tab
        ready.wait()
        here.save()

    at_once(*(partial(write, tab) for tab in range(8)))
    assert dict(again(sessions, cookie)) == {f"tab {tab}": tab for tab in range(8)}


def test_flasks_session_of_a_visitor_is_not_stored(sessions: Sessions) -> None:
    here = Session(sessions, None, CLINIC, HOST)
    here["toast"] = "x"
    assert here["toast"] == "x"
    here.save()
    assert here.fresh_cookie is None and here.record is None


def test_a_cookie_has_256_random_bits(sessions: Sessions) -> None:
    cookies = {begun(sessions, person()) for _ in range(3)}
    assert len(cookies) == 3
    assert {len(base64.urlsafe_b64decode(cookie + "=")) for cookie in cookies} == {32}


def test_a_request_reads_its_session_once(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    here, read = again(sessions, begun(sessions, person())), list[str]()
    load = sessions.load
    monkeypatch.setattr(sessions, "load", lambda *given: read.append(given[0]) or load(*given))
    assert here.person is here.person is not None
    assert here.tokens is not None
    assert len(read) == 1


def test_a_store_without_room_keeps_no_page_from_being_shown(
    sessions: Sessions, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreFull("full")

    cookie = begun(sessions, person())
    clock.now += 2 * MINUTE
    here = again(sessions, cookie)
    monkeypatch.setattr(sessions, "amend", full)
    here.use()
    here["toast"] = "said"
    here.save()
    assert here.person is not None


def test_a_machine_with_wrong_secret_keys_ends_no_session_and_lets_none_out_of_reach(
    sessions: Sessions, store: Store, clock: Clock
) -> None:
    """Sign-out everywhere and back-channel logout find sessions as before, also after a restart of the good machines."""
    who = person(sid="s1")
    cookie = begun(sessions, who)
    limits = dict.fromkeys(Side, SessionLimits(30 * MINUTE, 12 * HOUR))
    wrong = Sessions(Vault(store, ("w" * 40,)), Tenants({}, {}), limits, clock)
    for use in (
        lambda: again(wrong, cookie).person,
        lambda: begun(wrong, who),
        lambda: wrong.of_person(who, CLINIC),
        lambda: wrong.end_tagged(issuer=who.issuer, tenant=CLINIC, sub=who.sub, sid=None),
    ):
        with pytest.raises(WrongKey):
            use()
    restarted = Sessions(Vault(store, ("k" * 40,)), Tenants({}, {}), limits, clock)
    assert [name for name, _ in restarted.of_person(who, CLINIC)] == [record_name(cookie)]
    assert restarted.end_tagged(issuer=who.issuer, tenant=CLINIC, sub=who.sub, sid="s1") == 1
    assert again(sessions, cookie).person is None


def test_signing_out_takes_the_cookie_even_if_the_store_takes_no_writes(
    sessions: Sessions, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = again(sessions, begun(sessions, person()))

    def full(*_names: str) -> int:
        raise StoreFull("full")

    monkeypatch.setattr(store, "delete", full)
    with pytest.raises(StoreFull):
        here.end()
    response = Response()
    sessions.save_session(Flask("portal"), here, response)
    assert response.headers["Set-Cookie"].startswith("__Host-sid=; ")


def test_what_a_session_wanted_is_read_with_it_the_next_time(sessions: Sessions) -> None:
    vault = sessions._vault
    cookie, other = begun(sessions, person()), begun(sessions, person(sub="another"))
    name = vault.name("kept", "of this person")
    vault.insert(name, "as it was", expires_at=9e9)
    assert {*again(sessions, cookie).records(name, "absent")} == {name}
    vault.update(name, str, lambda _was: "as it is")
    reads: list[list[str]] = []
    with pytest.MonkeyPatch.context() as patch:
        read = vault.get_many
        patch.setattr(vault, "get_many", lambda names: reads.append([*names]) or read(names))
        mine, anothers = again(sessions, cookie), again(sessions, other)
        assert mine.person is not None and anothers.person is not None
        record = mine.records(name, "absent")[name]
    assert vault.open(name, record, str).value == "as it is", "read anew each time"  # pyright: ignore[reportOptionalMemberAccess]
    assert [name in one for one in reads] == [True, False], "together, and for nobody else's session"
    mine.end()
    assert not sessions._wanted, "forgotten with the session"


def test_a_record_that_changed_since_it_was_read_is_read_again_before_it_is_replaced(
    sessions: Sessions,
) -> None:
    vault = sessions._vault
    cookie, name = begun(sessions, person()), vault.name("kept", "count")
    vault.insert(name, 1, expires_at=9e9)
    here = again(sessions, cookie)
    here.records(name)
    vault.update(name, int, lambda was: was + 1)
    assert vault.update(name, int, lambda was: was + 1, held=here.take(name)) == 3
    assert here.take(name) is ..., "used up"


def test_the_last_sign_out_counts_for_thirty_days(sessions: Sessions, clock: Clock) -> None:
    def last(after: float) -> float | None:
        clock.now += after
        return sessions.sign_outs.last("https://id.example", CLINIC, "amelia")

    for days in (3, 30):
        sessions.sign_outs.note("https://id.example", CLINIC, "amelia")
        at = clock.now
        assert last(days * 24 * 3600 - 1) == at
    assert last(1) is None
