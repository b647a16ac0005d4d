"""A state machine test: no sequence of events shows anyone a copy fetched for someone else."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from portal.services.cases import UPDATE_CASE
from portal.services.client import Care
from portal.services.errors import CareError
from portal.store.sqlite import SqliteStore
from tests.services.reference_cache.care_api import Answer, cache, care_of, read, wait_for_redis
from tests.support.care import untyped
from tests.support.full import examples

HEADERS = st.lists(
    st.sampled_from(
        [
            ("Cache-Control", "private, max-age=300"),
            ("Cache-Control", "public, max-age=3600, stale-if-error=86400"),
            ("Cache-Control", "no-store"),
            ("CACHE-CONTROL", "Private, NO-STORE"),
            ("Cache-Control", "immutable"),
            ("Set-Cookie", "sid=upstream; Path=/"),
            ("Vary", "Accept-Language"),
            ("Vary", "Authorization"),
            ("Vary", "*"),
            ("Last-Modified", "Sat, 21 Nov 2026 09:00:00 GMT"),
            ("ETag", '"the same for all"'),
            ("Expires", "Sat, 21 Nov 2099 09:00:00 GMT"),
            ("Expires", "9" * 5000),
            ("Cache-Control", f"max-age={'9' * 5000}, stale-while-revalidate={'9' * 5000}"),
            ("Age", "9" * 5000),
        ]
    ),
    max_size=3,
    unique=True,
).map(tuple)
ANSWERS = st.lists(st.just(()) | HEADERS, min_size=4, max_size=4)
EVERYONE = [(tenant, sub) for tenant in ("riverside", "harbour") for sub in ("nora", "grace")]
TENANTS, SUBS = st.sampled_from(["riverside", "harbour"]), st.sampled_from(["nora", "grace"])
FAILURES = st.one_of(
    st.sampled_from([400, 401, 403, 404, 409, 429, 500, 501, 502, 503, 504, 204, 206, 304, 302]).map(
        lambda status: Answer(status, (("Location", "/elsewhere"),), b"")
    ),
    st.just(Answer(hang_up=True)),
    st.just(Answer(body=b'{"items": [')),
)


class NobodySeesAnother(RuleBasedStateMachine):
    """Two clinics with two people of the same names: whatever happens, each sees only their own mark."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: dict[tuple[str, str], int] = {}
        self.version_after_write: dict[str, int] = {}

    @initialize(etag=st.booleans(), shared=st.booleans())
    def start(self, etag: bool, shared: bool) -> None:
        self.upstream = type(self).running
        self.upstream.script.clear()
        self.upstream.etag = etag
        type(self).examples += 1
        store = SqliteStore(str(type(self).folder / f"{type(self).examples}.db"), time.time)
        self.references = cache(store, type(self).redis_url if shared else "memory:")

    def care(self, tenant: str, sub: str, language: str = "en") -> Care:
        epoch = f"{type(self).examples}-{self.epochs.get((tenant, sub), 1)}"
        return care_of(
            self.upstream.url,
            self.references,
            tenant=tenant,
            sub=sub,
            epoch=epoch,
            language=language,
            by_patient=sub == "grace",
        )

    @rule(
        order=st.permutations(EVERYONE), language=st.sampled_from(["en", "en", "en", "ar"]), answers=ANSWERS
    )
    def everyone_reads(
        self, order: list[tuple[str, str]], language: str, answers: list[tuple[tuple[str, str], ...]]
    ) -> None:
        for (tenant, sub), headers in zip(order, answers, strict=True):
            self.upstream.script.append(Answer(headers=headers))
            self.sees_own(self.care(tenant, sub, language), tenant, sub, language)

    @rule(tenant=TENANTS, sub=SUBS, failure=FAILURES)
    def reads_while_it_fails(self, tenant: str, sub: str, failure: Answer) -> None:
        self.upstream.script.append(failure)
        self.sees_own(self.care(tenant, sub), tenant, sub, "en")

    @rule(tenant=TENANTS, sub=SUBS)
    def writes(self, tenant: str, sub: str) -> None:
        self.upstream.version += 1
        self.care(tenant, sub).act(untyped(UPDATE_CASE), {}, id="1")
        self.version_after_write[f"{tenant}.{sub}"] = self.upstream.version
        if sub == "nora":
            self.version_after_write[tenant] = self.upstream.version

    @rule(tenant=TENANTS, sub=SUBS)
    def signs_out_and_in(self, tenant: str, sub: str) -> None:
        self.epochs[tenant, sub] = self.epochs.get((tenant, sub), 1) + 1

    @rule(minutes=st.sampled_from([1, 2, 6, 60 * 25]))
    def time_passes(self, minutes: int) -> None:
        type(self).clock.advance(minutes=minutes)

    def sees_own(self, care: Care, tenant: str, sub: str, language: str) -> None:
        try:
            name = read(care)
        except CareError:
            return
        finally:
            self.upstream.script.clear()
        mark, _, version = name.partition(" v")
        assert mark == f"{tenant}.{sub}.{care.partition[3]}.{language}"
        for own in (tenant, f"{tenant}.{sub}"):
            assert int(version) >= self.version_after_write.get(own, 0), "a copy older than their own write"


@pytest.mark.asvs("8.2.2", "14.2.2")
def test_no_sequence_of_events_shows_another_persons_copy(upstream, tmp_path, redis_url, clock):
    from hypothesis.stateful import run_state_machine_as_test

    wait_for_redis(redis_url)
    for name, value in {
        "running": upstream, "folder": tmp_path, "redis_url": redis_url, "clock": clock, "examples": 0
    }.items():  # fmt: skip
        setattr(NobodySeesAnother, name, value)
    run_state_machine_as_test(
        NobodySeesAnother,
        settings=settings(
            max_examples=examples(30),
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
