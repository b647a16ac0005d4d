"""Waiting requests: a tenant that occupies many threads leaves the last ones to the others."""

from __future__ import annotations

from portal.server.fair_queue import FairQueue


def queue(*jobs: tuple[str, int], size: int = 8, reserve: int = 2) -> FairQueue[int]:
    made: FairQueue[int] = FairQueue(size, reserve)
    for tenant, job in jobs:
        made.put(tenant, job)
    return made


def taken(jobs: FairQueue[int]) -> list[tuple[str, int]]:
    """All that may start now."""
    return list(iter(jobs.take, None))


def test_the_oldest_goes_first() -> None:
    jobs = queue(("a", 1), ("b", 2), ("a", 3))
    assert taken(jobs) == [("a", 1), ("b", 2), ("a", 3)]


def test_a_tenant_does_not_get_the_last_threads() -> None:
    jobs = queue(*(("hangs", number) for number in range(10)))
    assert len(taken(jobs)) == 6
    assert len(jobs) == 4
    assert not jobs.has_ready


def test_another_tenant_gets_one_of_them_though_it_came_later() -> None:
    jobs = queue(*(("hangs", number) for number in range(10)))
    taken(jobs)
    jobs.put("other", 10)
    jobs.put("other", 11)
    jobs.put("third", 12)
    assert taken(jobs) == [("other", 10), ("third", 12)]


def test_a_waiting_request_starts_when_another_of_its_tenant_is_done() -> None:
    jobs = queue(*(("hangs", number) for number in range(7)))
    taken(jobs)
    jobs.finish("hangs")
    assert taken(jobs) == [("hangs", 6)]


def test_a_waiting_request_starts_when_enough_threads_are_free_again() -> None:
    jobs = queue(*(("a", number) for number in range(4)), *(("b", number) for number in range(3)))
    assert len(taken(jobs)) == 6
    jobs.finish("a")
    assert taken(jobs) == [("b", 2)]


def test_without_a_reserve_one_tenant_may_take_all() -> None:
    jobs = queue(*(("only", number) for number in range(8)), reserve=0)
    assert len(taken(jobs)) == 8


def test_at_the_end_nothing_is_kept_back() -> None:
    jobs = queue(*(("hangs", number) for number in range(9)))
    taken(jobs)
    jobs.close()
    assert len(taken(jobs)) == 3
