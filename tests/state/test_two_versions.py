"""During an upgrade two versions of the portal share a store: each opens what the other wrote."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from msgspec.inspect import StructType, type_info

from portal.services.capabilities import _Missing
from portal.signin.flow import Browser
from portal.state.operations import Operation
from portal.state.sessions import Ended, Person, SessionRecord, Sessions, Tokens, record_name
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
ISSUER = "https://id.example"


@pytest.mark.parametrize("record", SEALED + UNSEALED, ids=lambda record: record.__name__)
def test_a_field_of_a_newer_version_is_left_aside(record: type[msgspec.Struct]) -> None:
    known = type_info(record)
    assert isinstance(known, StructType)
    assert not known.array_like, "fields go by their names, not by their places"
    assert not known.forbid_unknown_fields


def test_a_record_with_a_newer_field_opens() -> None:
    newer = msgspec.msgpack.encode({"version": 2, "at": 1.5})
    older = msgspec.defstruct("Older", [("at", float)])
    assert msgspec.msgpack.decode(newer, type=older).at == 1.5


OLDER_SUB_TAG = hashed_name("sub", ISSUER, CLINIC, "amelia")
OLDER_SID_TAG = hashed_name("sid", ISSUER, CLINIC, "amelia-1")


@pytest.fixture
def older(sessions: Sessions, clock: Clock) -> str:
    """The cookie of a session that a version without a naming key began, which had written to the audit before."""
    vault = sessions._vault
    vault.store.insert("audit-anchor:a", b"{}", expires_at=clock.now + 9e6, tags=["audit-anchors"])
    record = SessionRecord(
        tenant=CLINIC,
        host="riverside.localhost",
        created_at=clock.now,
        used_at=clock.now,
        epoch="",
        person=person(),
    )
    tags = [OLDER_SUB_TAG, OLDER_SID_TAG]
    vault.insert(record_name("older"), record, expires_at=clock.now + HOUR, tags=tags)
    return "older"


@pytest.mark.parametrize(("sub", "sid"), [("amelia", None), (None, "amelia-1")])
def test_signing_out_at_the_identity_server_ends_sessions_of_both_versions(
    sessions: Sessions, older: str, sub: str | None, sid: str | None
) -> None:
    newer = begun(sessions, person())
    assert sessions.end_tagged(issuer=ISSUER, tenant=CLINIC, sub=sub, sid=sid) == 2
    assert again(sessions, older).person is None
    assert again(sessions, newer).person is None


def test_the_devices_page_lists_sessions_of_both_versions(sessions: Sessions, older: str) -> None:
    newer = begun(sessions, person())
    listed = {name for name, _record in sessions.of_person(person(), CLINIC)}
    assert listed == {record_name(older), record_name(newer)}


def test_a_version_before_finds_sessions_of_this_one(sessions: Sessions, older: str, clock: Clock) -> None:
    """It looks for the plain tags, for as long as both versions may run."""
    newer = begun(sessions, person())
    for tag in (OLDER_SUB_TAG, OLDER_SID_TAG):
        assert set(sessions._vault.store.tagged(tag)) == {record_name(older), record_name(newer)}


def test_records_by_a_random_value_are_named_as_before(sessions: Sessions) -> None:
    assert record_name("cookie").endswith(hashlib.sha256(b"cookie").hexdigest())
    assert hashed_name("operation", "amelia", "1").endswith(hashlib.sha256(b"amelia\x001").hexdigest())
