"""During an upgrade two versions of the portal share a store: each opens what the other wrote."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from msgspec.inspect import StructType, type_info

from portal.services.capabilities import _Missing
from portal.signin.flow import Browser
from portal.state.operations import Operation, Operations
from portal.state.session_records import Ended, Person, SessionRecord, Tokens, record_name, tokens_name
from portal.state.sessions import Sessions
from portal.store.names import SealedNamingKey, hashed_name
from portal.web.bell import LastCount
from portal.web.unsent import Unsent
from tests.state.test_sessions import CLINIC, HOUR, again, begun, sessions
from tests.support.builders import person
from tests.support.clock import Clock

__all__ = ["sessions"]

SEALED = (Browser, Ended, LastCount, Operation, Person, SessionRecord, Tokens, Unsent, _Missing)
"""What lies in the store, under the seal."""

UNSEALED = (SealedNamingKey,)


@pytest.mark.parametrize("record", SEALED + UNSEALED, ids=lambda record: record.__name__)
def test_a_field_of_a_newer_version_is_ignored(record: type[msgspec.Struct]) -> None:
    known = type_info(record)
    assert isinstance(known, StructType)
    assert not known.array_like, "fields must be stored by name, not by position"
    assert not known.forbid_unknown_fields


def test_a_record_with_a_newer_field_opens() -> None:
    newer = msgspec.msgpack.encode({"version": 2, "at": 1.5})
    older = msgspec.defstruct("Older", [("at", float)])
    assert msgspec.msgpack.decode(newer, type=older).at == 1.5


NewerPerson = msgspec.defstruct(
    "NewerPerson", [("assurance", str, "")], bases=(Person,), frozen=True, kw_only=True
)
NewerSession = msgspec.defstruct(
    "NewerSession",
    [("person", NewerPerson), ("place", dict[str, str], msgspec.field(default_factory=dict))],
    bases=(SessionRecord,),
    kw_only=True,
)
NewerOperation = msgspec.defstruct(
    "NewerOperation", [("state", str), ("witness", str, "")], bases=(Operation,), frozen=True, kw_only=True
)
"""What a later version may write: members and values that this one has never heard of."""


@pytest.fixture
def newer_session(sessions: Sessions, clock: Clock) -> str:
    """The cookie of a session that a newer version began."""
    who = NewerPerson(**msgspec.structs.asdict(person()), assurance="high")
    record = NewerSession(
        tenant=CLINIC,
        host="riverside.localhost",
        created_at=clock.now,
        used_at=clock.now,
        epoch="",
        person=who,
        place={"city": "Leeds"},
        data={"opened": "1", "toast": "x"},
    )
    sessions._vault.insert(record_name("newer"), record, expires_at=clock.now + HOUR)
    tokens = Tokens(access_token="a", expires_at=9e9, refresh_at=9e9)
    sessions._vault.insert(tokens_name(record_name("newer")), tokens, expires_at=clock.now + HOUR)
    return "newer"


def test_a_newer_versions_session_fields_survive_writes_of_this_version(
    sessions: Sessions, newer_session: str, clock: Clock
) -> None:
    clock.advance(120)
    here = again(sessions, newer_session)
    assert here.person is not None and here.person.sub == "amelia"
    here.use()
    here["opened"] = "2"
    del here["toast"]
    here.save()
    sessions.replace_roles(record_name(newer_session), frozenset({"nurse"}))
    held = sessions._vault.get(record_name(newer_session), NewerSession)
    assert held is not None
    assert (held.value.place, held.value.person.assurance) == ({"city": "Leeds"}, "high")
    assert (held.value.used_at, held.value.data) == (clock.now, {"opened": "2"})
    assert held.value.person.roles == {"nurse"}


def test_a_newer_version_can_read_this_versions_records(sessions: Sessions) -> None:
    held = sessions._vault.get(record_name(begun(sessions, person())), NewerSession)
    assert held is not None
    assert (held.value.place, held.value.person.assurance) == ({}, "")


def newer_operation(sessions: Sessions, state: str, clock: Clock) -> str:
    record = NewerOperation(
        id="1", purpose="sign:1", state=state, data={}, changed_at=clock.now, witness="nora"
    )
    name = hashed_name("operation", "", "amelia", "1")
    sessions._vault.insert(name, record, expires_at=clock.now + HOUR)
    return name


def test_an_act_begun_by_a_newer_version_is_finished_and_keeps_its_fields(
    sessions: Sessions, clock: Clock
) -> None:
    name = newer_operation(sessions, "open", clock)
    operations = Operations(sessions._vault, clock)
    assert operations.claim("amelia", "1", {"typed": "x"})
    assert operations.finish("amelia", "1", "receipt")
    held = sessions._vault.get(name, NewerOperation)
    assert held is not None
    assert (held.value.witness, held.value.state, held.value.outcome) == ("nora", "done", "receipt")


def test_an_act_in_an_unknown_state_is_left_unchanged(sessions: Sessions, clock: Clock) -> None:
    name = newer_operation(sessions, "countersigned", clock)
    operations = Operations(sessions._vault, clock)
    before = sessions._vault.store.get(name)
    assert operations.find("amelia", "1", "sign:1") is None
    for change in (operations.claim, operations.reopen, operations.finish, operations.lose):
        assert not change("amelia", "1")
    assert operations.newest("amelia", "sign:1") is None
    assert sessions._vault.store.get(name) == before


def test_an_unreadable_session_counts_as_none_and_is_kept(sessions: Sessions, clock: Clock) -> None:
    """Of a side that isn't known here: whoever it is signs in, rather than being taken for somebody."""
    name = record_name("newer")
    sides = {**msgspec.to_builtins(person()), "side": "auditor"}
    record = {"tenant": CLINIC, "host": "riverside.localhost", "created_at": clock.now, "used_at": clock.now}
    sessions._vault.insert(name, {**record, "epoch": "", "person": sides}, expires_at=clock.now + HOUR)
    before = sessions._vault.store.get(name)
    here = again(sessions, "newer")
    assert here.person is None and here.tokens is None
    here.use()
    here["opened"] = "1"
    here.save()
    sessions.replace_roles(name, frozenset({"nurse"}))
    assert sessions._vault.store.get(name) == before


def test_records_named_by_a_random_value_keep_their_names(sessions: Sessions) -> None:
    assert record_name("cookie").endswith(hashlib.sha256(b"cookie").hexdigest())
    assert hashed_name("operation", "amelia", "1").endswith(hashlib.sha256(b"amelia\x001").hexdigest())
