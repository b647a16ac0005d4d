"""During an upgrade two versions of the portal share a store: each opens what the other wrote."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.inspect import StructType, type_info

from portal.booking_links import Use
from portal.operations import Operation
from portal.services.offered import _Missing
from portal.sessions import Ended, Person, SessionRecord, Tokens
from portal.signin.flow import Browser
from portal.web.bell import Known
from portal.web.unsent import Unsent

SEALED = (Browser, Ended, Known, Operation, Person, SessionRecord, Tokens, Unsent, Use, _Missing)
"""What lies in the store, under the seal."""


@pytest.mark.parametrize("record", SEALED, ids=lambda record: record.__name__)
def test_a_field_of_a_newer_version_is_left_aside(record: type[msgspec.Struct]) -> None:
    known = type_info(record)
    assert isinstance(known, StructType)
    assert not known.array_like, "fields go by their names, not by their places"
    assert not known.forbid_unknown_fields


def test_a_record_with_a_newer_field_opens() -> None:
    newer = msgspec.msgpack.encode({"version": 2, "at": 1.5})
    older = msgspec.defstruct("Older", [("at", float)])
    assert msgspec.msgpack.decode(newer, type=older).at == 1.5
