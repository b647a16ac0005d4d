"""What a session contains, how long it is remembered, and its cookie."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask, Request, Response
from werkzeug.test import EnvironBuilder

from portal import metrics
from portal.config.settings import SessionLimits
from portal.config.tenants import Side, Tenants
from portal.state import copies
from portal.state.session_records import SessionRecord, Tokens, known_people_name, record_name
from portal.state.sessions import Session, Sessions
from portal.store import open_store
from portal.store.vault import Vault
from tests.state.test_sessions import CLINIC, HOST, HOUR, MINUTE, again, begun
from tests.support.builders import person
from tests.support.clock import Clock

DAY = 24 * HOUR
TOKENS = Tokens(access_token="a", refresh_token="r", expires_at=9e9, refresh_at=9e9)


@pytest.fixture
def sessions(tmp_path: Path, clock: Clock) -> Sessions:
    """Over one kind of store: what is tried here is above it."""
    limits = {side: SessionLimits(30 * MINUTE, 12 * HOUR) for side in Side}
    vault = Vault(open_store(f"sqlite:///{tmp_path}/store.db", clock), ("k" * 40,))
    return Sessions(vault, Tenants({}, {}), limits, clock)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the metrics were told."""
    told: list[str] = []
    monkeypatch.setattr(metrics, "session", told.append)
    return told


def version(sessions: Sessions, cookie: str) -> int:
    held = sessions._vault.get(record_name(cookie), SessionRecord)
    assert held is not None
    return held.version


def test_each_session_has_one_side() -> None:
    assert (person(side=Side.STAFF).is_staff, person(side=Side.STAFF).is_patient) == (True, False)
    assert (person(side=Side.PATIENT).is_staff, person(side=Side.PATIENT).is_patient) == (False, True)


@pytest.mark.parametrize(
    ("clinic", "host"), [("harbour", HOST), (CLINIC, "other.localhost"), ("harbour", "other.localhost")]
)
def test_a_session_belongs_to_one_clinic_at_one_host(sessions: Sessions, clinic: str, host: str) -> None:
    cookie = begun(sessions, person())
    assert again(sessions, cookie).tokens is not None
    elsewhere = Session(sessions, cookie, clinic, host)
    assert (elsewhere.record, elsewhere.tokens, elsewhere.whose()) == (None, None, None)


def test_without_a_cookie_nobody_was_signed_in(sessions: Sessions) -> None:
    assert Session(sessions, None, CLINIC, HOST).whose() is None


def test_signing_in_again_leaves_nothing_to_read_or_write(
    sessions: Sessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = again(sessions, begun(sessions, person()))
    here["draft"] = "typed"
    here.end()
    here.sign_in(person(), TOKENS, device="")
    monkeypatch.setattr(sessions, "load", lambda *given: pytest.fail("read again"))
    assert here.person is not None
    assert here.cookie == here.fresh_cookie is not None
    assert (here.ended, here.modified) == (False, False)


def test_a_fresh_sign_in_keeps_the_tag_of_the_same_persons_pages(sessions: Sessions) -> None:
    cookie = begun(sessions, person())
    here = again(sessions, cookie)
    tag, epoch = here.tag, here.record and here.record.epoch
    assert tag and epoch and epoch not in tag
    here.sign_in(person(), TOKENS, device="")
    assert here.cookie != cookie and here.tag == tag
    here.sign_in(person("daniel"), TOKENS, device="")
    assert here.tag not in (None, tag)
    here.end()
    assert here.tag is None
    assert again(sessions, begun(sessions, person())).tag != tag


def test_a_session_can_be_amended_before_it_is_read(sessions: Sessions) -> None:
    cookie = begun(sessions, person())

    def change(record: SessionRecord) -> None:
        record.device = "telephone"

    again(sessions, cookie).amend(change)
    record = again(sessions, cookie).record
    assert record is not None and record.device == "telephone"


def test_a_session_is_over_at_the_second_it_ends(sessions: Sessions, clock: Clock) -> None:
    cookie = begun(sessions, person())
    clock.now += 30 * MINUTE
    assert again(sessions, cookie).person is None
    assert again(sessions, cookie).whose() == (person().issuer, person().sub)


def test_a_session_sealed_with_another_key_is_none(sessions: Sessions) -> None:
    cookie = begun(sessions, person())
    name = record_name(cookie)
    held = sessions._vault.store.get(name)
    assert held is not None
    sessions._vault.store.replace(name, held.value[:-1] + b"x", version=held.version, expires_at=9e9)
    stranger = again(sessions, cookie)
    assert (stranger.person, stranger.whose()) == (None, None)


def test_a_session_ends_with_the_key_that_its_tokens_are_sealed_with(
    sessions: Sessions, clock: Clock
) -> None:
    cookie, store = begun(sessions, person()), sessions._vault.store

    def started_with(*keys: str) -> Sessions:
        vault = Vault(store, keys)
        vault.name("any")  # which seals the key of names anew
        return Sessions(vault, Tenants({}, {}), sessions._limits, clock)

    clock.now += 2 * MINUTE
    here = again(started_with("n" * 40, "k" * 40), cookie)
    here.use()
    assert here.person is not None
    assert again(started_with("n" * 40), cookie).person is None


@pytest.mark.parametrize(
    ("moved", "is_written"), [(59.5, False), (60, True), (-299.5, False), (-300, True), (-1000, True)]
)
def test_last_use_is_written_after_a_minute_or_when_the_clock_went_back_five(
    sessions: Sessions, clock: Clock, moved: float, is_written: bool
) -> None:
    cookie = begun(sessions, person())
    clock.now += moved
    here = again(sessions, cookie)
    assert here.person is not None
    here.use()
    assert version(sessions, cookie) == (2 if is_written else 1)


def test_a_session_begun_by_a_clock_that_was_ahead_lasts_no_longer(sessions: Sessions, clock: Clock) -> None:
    clock.now += 20 * MINUTE
    cookie = begun(sessions, person())
    clock.now -= 20 * MINUTE
    ends_at = clock.now + 12 * HOUR
    while clock.now < ends_at:
        here = again(sessions, cookie)
        assert here.person is not None
        here.use()
        clock.now += 10 * MINUTE
    assert again(sessions, cookie).person is None


def test_a_session_last_used_further_ahead_than_it_lasts_without_use_has_ended(
    sessions: Sessions, clock: Clock
) -> None:
    cookie = begun(sessions, person())
    clock.now -= 30 * MINUTE + 1
    assert again(sessions, cookie).person is None
    assert again(sessions, cookie).whose() == ("https://id.example", "amelia")
    assert sessions.of_person(person(), CLINIC) == []


@pytest.mark.parametrize(
    ("end", "known"),
    [
        (lambda all_, name: all_.end_from_elsewhere(name), HOUR),
        (lambda all_, name: all_.end_unasked(name), HOUR),
        (lambda all_, name: None, 30 * MINUTE + HOUR),
    ],
    ids=["elsewhere", "refused", "unused"],
)
def test_an_ended_sessions_owner_is_remembered_for_a_limited_time(
    sessions: Sessions, clock: Clock, end: Callable[[Sessions, str], None], known: float
) -> None:
    cookie = begun(sessions, person())
    end(sessions, record_name(cookie))
    clock.now += known - 0.5
    assert again(sessions, cookie).whose() == ("https://id.example", "amelia")
    clock.now += 1
    assert again(sessions, cookie).whose() is None


def test_removing_a_value_from_a_session_keeps_the_others(sessions: Sessions) -> None:
    cookie = begun(sessions, person())
    here = again(sessions, cookie)
    here["kept"], here["removed"], here["put back"], here["at once"] = 1, 2, 3, 4
    del here["at once"]
    assert "at once" not in here
    here.save()
    here = again(sessions, cookie)
    del here["removed"]
    del here["put back"]
    here["put back"] = 4
    with pytest.raises(KeyError):
        del here["removed"]
    with pytest.raises(KeyError):
        here["removed"]
    assert sorted(here) == ["kept", "put back"] and len(here) == 2
    here.save()
    here = again(sessions, cookie)
    assert dict(here) == {"kept": 1, "put back": 4}
    del here["kept"]
    here.save()
    assert dict(again(sessions, cookie)) == {"put back": 4}


def test_an_unchanged_session_is_not_written(sessions: Sessions) -> None:
    cookie = begun(sessions, person())
    here = again(sessions, cookie)
    assert here.get("toast") is None
    assert here.accessed
    here.save()
    assert version(sessions, cookie) == 1


def test_episode_ids_are_written_only_when_they_change(sessions: Sessions) -> None:
    cookie = begun(sessions, person())
    for ids, expected in (([], 1), (["e1"], 2), (["e1"], 2), (["e1", "e2"], 3)):
        here = again(sessions, cookie)
        here.remember_episodes(ids)
        assert version(sessions, cookie) == expected
        assert here.record is not None and here.record.episode_ids == ids


@pytest.mark.parametrize(("who", "keeps"), [("nora", True), ("elif", False)])
def test_a_fresh_sign_in_keeps_whom_the_same_person_has_read_about(
    sessions: Sessions, who: str, keeps: bool
) -> None:
    nora, vault = person("nora", side=Side.STAFF), sessions._vault
    cookie = begun(sessions, nora)
    before, known = known_people_name(record_name(cookie)), {"people": ["Amelia"]}
    vault.insert(before, known, expires_at=9e9)
    here = again(sessions, cookie)
    here.sign_in(person(who, side=Side.STAFF), TOKENS, device="")
    assert here.name and vault.get(before, dict) is None
    held = vault.get(known_people_name(here.name), dict)
    assert (held and held.value, held and held.expires_at) == (
        (known, sessions.clock() + here.lasts) if keeps else (None, None)
    )
    here.end()
    assert held is None or vault.get(known_people_name(record_name(here.fresh_cookie or "")), dict) is None


@pytest.mark.parametrize(("who", "keeps"), [("amelia", True), ("daniel", False)])
def test_a_fresh_sign_in_keeps_the_known_episodes_of_the_same_person(
    sessions: Sessions, who: str, keeps: bool
) -> None:
    here = again(sessions, begun(sessions, person()))
    here.remember_episodes(["e1"], are_all=True)
    here.remember_episodes(["e2", "e1"])
    here.sign_in(person(who), TOKENS, device="")
    assert (here.episode_ids, here.knows_all_episodes) == ((["e2", "e1"], True) if keeps else ([], False))


def test_signing_in_again_keeps_the_values_of_the_same_person_only(sessions: Sessions) -> None:
    tokens = Tokens(access_token="b", expires_at=9e9, refresh_at=9e9)
    for who, kept in ((person(), {"opened": "1"}), (person("daniel"), {}), (person(issuer="https://b"), {})):
        here = again(sessions, begun(sessions, person()))
        here["opened"] = "1"
        here.sign_in(who, tokens, device="phone")
        assert here.fresh_cookie is not None
        after = again(sessions, here.fresh_cookie)
        assert dict(after) == kept
        assert (after.person, after.tokens) == (who, tokens)
        assert after.record is not None and after.record.device == "phone"


def test_a_visitors_session_has_no_tokens_and_no_end(sessions: Sessions, clock: Clock) -> None:
    visitor = Session(sessions, None, "riverside", "riverside.localhost")
    assert (visitor.name, visitor.tokens, visitor.lasts) == (None, None, 0)
    assert again(sessions, begun(sessions, person())).lasts == 30 * MINUTE


def test_new_tokens_replace_only_the_ones_that_were_read(sessions: Sessions) -> None:
    name = record_name(begun(sessions, person()))
    before = sessions.tokens_of(name)
    assert before is not None
    after = Tokens(access_token="b", expires_at=9e9, refresh_at=9e9)
    assert sessions.replace_tokens(name, before, after)
    assert not sessions.replace_tokens(name, before, before)
    assert sessions.tokens_of(name) == after


def test_roles_are_written_only_when_they_change(sessions: Sessions) -> None:
    cookie = begun(sessions, person(roles=frozenset({"nurse"})))
    sessions.replace_roles(record_name(cookie), frozenset({"nurse"}))
    assert version(sessions, cookie) == 1
    sessions.replace_roles(record_name(cookie), frozenset({"admin"}))
    held = sessions.person_of(record_name(cookie))
    assert held is not None and held.roles == {"admin"}
    assert sessions.person_of(record_name("nobody's")) is None


def test_a_session_is_counted_once_when_it_begins_and_once_when_it_ends(
    sessions: Sessions, counted: list[str]
) -> None:
    cookie = begun(sessions, person())
    sessions.end_unasked(record_name(cookie))
    assert counted == ["begun", "ended"]
    again(sessions, cookie).end()  # only its owner is still remembered
    assert counted == ["begun", "ended"]


def test_expired_sessions_are_not_listed(sessions: Sessions, clock: Clock) -> None:
    older = begun(sessions, person())
    clock.now += 15 * MINUTE
    newer = begun(sessions, person(sid=None))
    listed = {name for name, _record in sessions.of_person(person(), "riverside")}
    assert listed == {record_name(older), record_name(newer)}
    clock.now += 15 * MINUTE
    assert [name for name, _record in sessions.of_person(person(), "riverside")] == [record_name(newer)]


def test_a_logout_without_session_id_signs_out_by_subject(sessions: Sessions) -> None:
    mine, other = begun(sessions, person(sid=None)), begun(sessions, person("daniel"))
    assert sessions.end_tagged(issuer="https://id.example", tenant="riverside", sub="amelia", sid=None) == 1
    assert again(sessions, mine).person is None
    assert again(sessions, other).person is not None


def test_a_logout_by_subject_counts_where_no_session_is_left(sessions: Sessions) -> None:
    assert sessions.end_tagged(issuer="https://id.example", tenant="riverside", sub="amelia", sid=None) == 0
    assert sessions.sign_outs.last("https://id.example", "riverside", "amelia") is not None


def test_nothing_that_was_kept_for_a_session_outlives_it(sessions: Sessions) -> None:
    name = record_name(begun(sessions, person("nora")))
    kept = [*copies.names_of(name), known_people_name(name)]
    for other in kept:
        sessions._vault.insert(other, 1, expires_at=9e9)
    sessions.end(name)
    assert sessions._vault.get_many(kept) == {}


def test_documents_are_kept_for_their_session_and_source_for_five_minutes(
    sessions: Sessions, clock: Clock
) -> None:
    kept = copies.Copies(sessions._vault, clock)
    name = record_name(begun(sessions, person("nora")))
    for source, content in ((b"1", b"older"), (b"2", b"newer")):
        kept.keep(name, copies.INVENTORY, source, content)
    for number in range(20):
        kept.keep(name, f"form {number}", b"1", b"PDF")
    assert kept.find(name, copies.INVENTORY, b"2") == b"newer", "it has a place of its own"
    assert kept.find(name, copies.INVENTORY, b"1") is None
    assert kept.find(name, "form 19", b"1") == b"PDF"
    assert kept.find("another session", "form 19", b"1") is None
    clock.advance(299)
    assert kept.find(name, "form 19", b"1") == b"PDF"
    clock.advance(1)
    assert kept.find(name, "form 19", b"1") is None
    for size in (2 * 1024 * 1024, 2 * 1024 * 1024 + 1):
        kept.keep(name, f"form {size}", b"1", b"x" * size)
    assert [kept.find(name, f"form {2 * 1024 * 1024 + more}", b"1") is not None for more in (0, 1)] == [
        True,
        False,
    ]
    kept.keep(name, copies.INVENTORY, b"1", b"room")
    kept.drop(name, copies.INVENTORY)
    assert kept.find(name, copies.INVENTORY, b"1") is None
    kept.keep(name, copies.INVENTORY, b"1", b"room")
    sessions.end(name)
    assert kept.find(name, copies.INVENTORY, b"1") is kept.find(name, f"form {2 * 1024 * 1024}", b"1") is None


@pytest.mark.parametrize(
    ("act", "cookies"),
    [
        (lambda here: None, []),
        (
            lambda here: here.sign_in(
                person(), Tokens(access_token="b", expires_at=9e9, refresh_at=9e9), device=""
            ),
            ["__Host-sid={cookie}; Path=/; Secure; HttpOnly; SameSite=Lax"],
        ),
        (lambda here: here.end(), ["__Host-sid=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0"]),
    ],
    ids=["nothing", "sign in", "sign out"],
)
def test_the_cookie_is_set_when_the_session_id_changes(
    sessions: Sessions, act: Callable[[Session], None], cookies: list[str]
) -> None:
    app, response = Flask(__name__), Response()
    builder = EnvironBuilder(headers={"Cookie": f"__Host-sid={begun(sessions, person())}"})
    here = sessions.open_session(app, Request(builder.get_environ()))
    act(here)
    sessions.save_session(app, here, response)
    expected = [line.format(cookie=here.fresh_cookie) for line in cookies]
    assert response.headers.getlist("Set-Cookie") == expected
