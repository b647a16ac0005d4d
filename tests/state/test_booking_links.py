"""Signed links by which an enquirer books one appointment."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from portal.state.booking_links import OWNER, BookingLink, BookingLinks
from portal.state.operations import Operations, State
from portal.store import open_store
from portal.store.vault import Vault
from tests.support.clock import Clock
from tests.support.together import at_once

OLD, NEW = "o" * 40, "n" * 40
WEEK = timedelta(days=7)


@pytest.fixture
def vault(tmp_path: Path, clock: Clock) -> Vault:
    return Vault(open_store(f"sqlite:///{tmp_path}/s.db", clock), (NEW, OLD))


@pytest.fixture
def links(clock: Clock) -> BookingLinks:
    return BookingLinks((NEW, OLD), clock)


@pytest.fixture
def operations(vault: Vault, clock: Clock) -> Operations:
    return Operations(vault, clock)


def made(links: BookingLinks, prospect_id: str = "p-1") -> str:
    return links.make(clinic="riverside", prospect_id=prospect_id, lifetime=WEEK)


def begin(operations: Operations, link: BookingLink) -> None:
    operations.begin(
        OWNER, link.purpose, id_=link.id, expires_at=link.receipt_ends_at(link.expires_at).timestamp()
    )


def test_a_link_carries_its_enquiry_and_expiry(links: BookingLinks, clock: Clock) -> None:
    link = links.read(made(links), clinic="riverside")
    assert link is not None
    assert link.prospect_id == "p-1"
    assert link.expires_at == datetime.fromtimestamp(clock.now, UTC) + WEEK


def test_a_links_url_has_four_parts_and_nothing_personal(links: BookingLinks) -> None:
    body = made(links).partition(".")[0]
    assert set(json.loads(base64.urlsafe_b64decode(body + "=="))) == {"i", "c", "p", "e"}


def test_a_link_is_invalid_at_another_clinic(links: BookingLinks) -> None:
    assert links.read(made(links), clinic="harbour") is None


@pytest.mark.parametrize("spoilt", ["", ".", "nonsense", "a.b.c", "é", "x" * 5000])
def test_an_unsigned_link_is_invalid(links: BookingLinks, spoilt: str) -> None:
    assert links.read(spoilt, clinic="riverside") is None


def test_a_changed_link_is_invalid(links: BookingLinks) -> None:
    signed = made(links)
    for place in (3, len(signed) // 2, len(signed) - 2):
        other = "A" if signed[place] != "A" else "B"
        assert links.read(signed[:place] + other + signed[place + 1 :], clinic="riverside") is None


def test_links_survive_a_key_rotation_and_the_first_key_signs(clock: Clock) -> None:
    before = BookingLinks((OLD,), clock)
    after = BookingLinks((NEW, OLD), clock)
    assert after.read(made(before), clinic="riverside") is not None
    assert before.read(made(after), clinic="riverside") is None
    assert BookingLinks((NEW,), clock).read(made(after), clinic="riverside") is not None


def test_another_value_signed_with_the_same_key_is_not_a_link(links: BookingLinks) -> None:
    from itsdangerous import URLSafeSerializer

    assert links.read(str(URLSafeSerializer(NEW).dumps({"c": "riverside"})), clinic="riverside") is None


def test_a_link_expires(links: BookingLinks, clock: Clock) -> None:
    link = links.read(made(links), clinic="riverside")
    assert link and not links.is_expired(link)
    clock.now += WEEK.total_seconds()
    assert links.is_expired(link)


def test_one_of_twenty_posts_by_one_link_may_book(links: BookingLinks, operations: Operations) -> None:
    link = links.read(made(links), clinic="riverside")
    assert link

    def post(number: int) -> bool:
        begin(operations, link)
        return operations.claim(OWNER, link.id, {"window": number})

    claimed = at_once(*(partial(post, number) for number in range(20)))
    assert sorted(claimed) == [False] * 19 + [True]


def test_a_link_that_booked_nothing_can_be_used_again(links: BookingLinks, operations: Operations) -> None:
    link = links.read(made(links), clinic="riverside")
    assert link
    begin(operations, link)
    assert operations.claim(OWNER, link.id)
    operations.reopen(OWNER, link.id)
    begin(operations, link)
    assert operations.claim(OWNER, link.id)


def test_a_used_link_stays_used_and_shows_its_receipt_for_two_more_days(
    links: BookingLinks, operations: Operations, clock: Clock
) -> None:
    link = links.read(made(links), clinic="riverside")
    assert link
    begin(operations, link)
    operations.claim(OWNER, link.id, {"with_whom": "Dr Example"})
    operations.finish(OWNER, link.id)
    clock.now += WEEK.total_seconds() + 47 * 3600
    kept = operations.find(OWNER, link.id, link.purpose)
    assert kept and kept.state is State.DONE and kept.data == {"with_whom": "Dr Example"}
    begin(operations, link)
    assert not operations.claim(OWNER, link.id)
