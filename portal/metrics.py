"""The portal's metrics for Prometheus (text format 0.0.4), served at `/metrics`.

Under gunicorn each worker writes to its own memory-mapped files, which `/metrics` in any worker adds up. The files are
named after the worker's slot, not its process id: a new worker continues where its predecessor ended, so that neither
the number of files nor the time to add them up grows over the months (`supervisor` assigns the slots).

All label values come from short lists: routes, groups of the care API, the portal's own words; never from what a visitor
sends.
"""

from __future__ import annotations

import hashlib
import os
import resource
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest, values
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from portal import VERSION

MetricT = TypeVar("MetricT", Counter, Histogram)

FOLDER = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
"""Where gunicorn's workers keep their counts; None if this is the only process."""

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@cache
def _slot() -> str:
    return os.environ.get("PORTAL_WORKER_SLOT", str(os.getpid()))


if FOLDER:
    os.register_at_fork(after_in_child=_slot.cache_clear)
    values.ValueClass = values.MultiProcessValue(_slot)  # pyright: ignore[reportUnknownMemberType]

_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH"})
_CLASSES = ("other", "1xx", "2xx", "3xx", "4xx", "5xx")
_NOT_IMPLEMENTED = 501
"""Counted apart: the clinic's API lacks a part, which is no failure."""
_MOST_EVENTS = 500
_MOST_MEMBERS = 500
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_REGISTRY = CollectorRegistry()

_counter = partial(Counter, registry=_REGISTRY)
_histogram = partial(Histogram, buckets=_SECONDS, registry=_REGISTRY)
_gauge = partial(Gauge, multiprocess_mode="livesum", registry=_REGISTRY)


class _Count:
    """A counter: a call with its labels counts one more, or as many `times`; beyond `most` sets of labels, as `other`."""

    def __init__(self, name: str, about: str, labels: Sequence[str] = (), most: int | None = None) -> None:
        self.metric, self._most = _counter(name, about, labels), most

    def __call__(self, *labels: str, times: int = 1) -> None:
        (_at_most(self._most, self.metric, *labels) if labels else self.metric).inc(times)


_requests = _histogram(
    "portal_request_seconds",
    "Responses by route template, method and status (501 or its class); seconds from the complete request to the response.",
    ["route", "method", "status"],
)
_page_speed = {
    "lcp": Histogram(
        "portal_page_paint_seconds",
        "Seconds until a page's largest part was painted (LCP), as browsers report it, by endpoint and clinic.",
        ["page", "tenant"],
        buckets=(0.5, 0.9, 1.2, 1.8, 2.5, 4.0, 8.0),
        registry=_REGISTRY,
    ),
    "inp": Histogram(
        "portal_page_interaction_seconds",
        "Seconds that a page's slowest interaction took (INP), as browsers report it, by endpoint and clinic.",
        ["page", "tenant"],
        buckets=(0.05, 0.1, 0.2, 0.35, 0.5, 1.0),
        registry=_REGISTRY,
    ),
    "cls": Histogram(
        "portal_page_layout_shift",
        "How much a page's layout shifted (CLS), as browsers report it, by endpoint and clinic.",
        ["page", "tenant"],
        buckets=(0.0, 0.01, 0.05, 0.1, 0.25),
        registry=_REGISTRY,
    ),
}
_MOST_PAGES = 2_000
"""Pairs of endpoint and clinic whose figures are kept apart."""
_waits = _histogram("portal_request_wait_seconds", "Seconds that requests waited for a thread.")
_waiting = _gauge("portal_requests_waiting", "Requests waiting for a thread.")
_connections = _gauge("portal_connections", "Open connections of clients.")
_memory = _gauge("portal_worker_resident_bytes", "Resident memory of the worker processes.")
_files = _gauge(
    "portal_worker_open_files",
    "Open file descriptors of the worker process that has most of them.",
    multiprocess_mode="livemax",
)
_starts = _counter(
    "portal_worker_starts_total", "Worker processes that started, also in place of one that ended."
)
worker_stopped = _Count(
    "portal_worker_stops_total",
    "Worker processes that ended in order: told to, or after their number of requests.",
)
_workers = _gauge("portal_workers", "Worker processes that run.")
_upstream = _histogram(
    "portal_upstream_seconds",
    "Calls to the care API and the identity server by group and outcome; seconds until the response was complete.",
    ["group", "outcome"],
)
retried = _Count("portal_upstream_retries_total", "Calls that were retried.", ["group"])
_open = _gauge(
    "portal_breaker_open",
    "Worker processes whose circuit breaker for this group is open after recent failures.",
    ["upstream", "group"],
)
_opened = _counter(
    "portal_breaker_opened_total",
    "How often a worker's circuit breaker for this group opened.",
    ["upstream", "group"],
)
circuit_open = _Count("portal_breaker_held_back_total", "Calls not sent because of it.", ["group"])
reference = _Count(
    "portal_reference_data_total", "Reference data by where it came from: hit, miss, stale.", ["outcome"]
)
refreshed = _Count(
    "portal_token_refreshes_total",
    "Token refreshes: renewed, postponed or client-refused (the session continues), ended (it doesn't).",
    ["outcome"],
)
_sign_ins = _counter(
    "portal_sign_ins_total",
    "Sign-ins by clinic: done, refused (the person, or what their identity server said), failed (nobody was asked).",
    ["tenant", "outcome"],
)
sign_in_begun = _Count(
    "portal_sign_ins_begun_total", "Browsers sent to the identity server to sign in, by clinic.", ["tenant"]
)
_tenant_pages = _counter(
    "portal_tenant_pages_total",
    "Responses by clinic, without checks of health: served, or failed (5xx except 501).",
    ["tenant", "outcome"],
)
session = _Count("portal_sessions_total", "Sessions started and ended.", ["event"])
event = _Count(
    "portal_events_total",
    "Events of the audit trail: sign-ins, acts, views, refusals, rate limits, each by outcome.",
    ["event", "outcome"],
    most=_MOST_EVENTS,
)

_opened_records = _counter(
    "portal_records_opened_total",
    "Records shown individually, including parts of an episode, files and calendar files, by the viewer's role.",
    ["role", "kind"],
)
_listed_records = _counter(
    "portal_records_listed_total",
    "Records shown in lists and search results, by the viewer's role.",
    ["role", "kind"],
)

audit_lost = _Count(
    "portal_audit_lost_total", "Audit lines that couldn't be written, for example because the disk was full."
)

audit_refused = _Count(
    "portal_audit_refused_acts_total", "Acts refused because they couldn't be recorded in the audit trail."
)

act_unknown = _Count(
    "portal_acts_unknown_total",
    "Acts whose end nobody knows: sent to the care API, which didn't say what became of them.",
)
store_emptied = _Count(
    "portal_store_emptied_total",
    "How often the store turned out to be empty though it hadn't been: everybody has to sign in again.",
)

unknown_value = _Count(
    "portal_answers_unknown_values_total",
    "Values from the care API that are in none of the portal's enumerations, by endpoint and member.",
    ["endpoint", "member"],
    most=_MOST_MEMBERS,
)
unreadable_value = _Count(
    "portal_answers_unreadable_values_total",
    "Values from the care API that couldn't be read and were left out of their records, by endpoint and member.",
    ["endpoint", "member"],
    most=_MOST_MEMBERS,
)
left_out = _Count(
    "portal_answers_left_out_total",
    "Records and responses of the care API that couldn't be decoded, by endpoint and offending member.",
    ["endpoint", "member"],
    most=_MOST_MEMBERS,
)

_store = _histogram(
    "portal_store_seconds",
    "Store operations: read or write, by outcome (done, full, failed).",
    ["operation", "outcome"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
)
_threads = _gauge("portal_threads", "Threads for handling requests.")
_busy = _gauge("portal_threads_busy", "Threads that are handling a request.")
_clock_skew = _gauge(
    "portal_clock_skew_seconds",
    "Seconds by which an upstream's clock was ahead of this machine's at its last response.",
    ["upstream"],
    multiprocess_mode="livemostrecent",
)

STORE_OUTCOMES = ("done", "full", "failed")
ROLES = ("patient", "nurse", "physician", "embryologist", "coordinator", "admin", "several", "other")
"""The viewer's role; `several` stands for more than one of those before it, `other` for none."""
RECORDS = (
    *("consent", "conversation", "embryo", "episode", "file", "notification", "patient", "case"),
    *("relationship", "pgt-result", "prospect", "protocol", "other"),
)
"""The kinds of records shown."""

_at_fault: dict[str, str] = {}
_fingerprints: dict[str, str] = {}
_SIGN_INS: Mapping[str, str] = {
    **dict.fromkeys(("done", "fresh"), "done"),
    **dict.fromkeys(("refused", "no-role", "not-strong"), "refused"),
}
_FAILED_SIGN_INS = ("unavailable", "loop", "client-refused", "no-auth-time", "not-fresh")
_sampled: dict[str, tuple[str, Callable[[], float | None]]] = {}
_FROM_ZERO: tuple[tuple[Counter | Histogram, tuple[str, ...]], ...] = (
    *((refreshed.metric, (outcome,)) for outcome in ("renewed", "postponed", "client-refused", "ended")),
    *((session.metric, (event,)) for event in ("begun", "ended")),
    *((reference.metric, (outcome,)) for outcome in ("hit", "miss", "stale")),
    *((event.metric, ("sign-in", outcome)) for outcome in (*_SIGN_INS, *_FAILED_SIGN_INS, "unknown")),
    (event.metric, ("session", "unknown")),
    *((event.metric, ("consent.sign", outcome)) for outcome in ("done", "unknown", "not-sent")),
    *((_upstream, ("identity", outcome)) for outcome in ("2xx", "4xx", "5xx", "client-refused", "timed out")),
    *((_store, (operation, outcome)) for operation in ("read", "write") for outcome in STORE_OUTCOMES),
)
_known: dict[tuple[object, ...], Any] = {}


def request(route: str | None, method: str, status: int, seconds: float) -> None:
    route, method = route or "-", method if method in _METHODS else "other"
    class_ = _status_class(status)
    if (_requests, route, method, class_) not in _known:
        _series(_requests, route, method, "5xx")  # from 0, for its first failure to be seen
    _series(_requests, route, method, class_).observe(seconds)


def waited(seconds: float) -> None:
    _waits.observe(seconds)


def page_speed(figure: str, page: str, tenant: str, value: float) -> None:
    """Record what a browser reports of a page: `figure` is lcp or inp (in seconds), or cls."""
    _at_most(_MOST_PAGES, _page_speed[figure], page, tenant).observe(value)


def worker_started(*, threads: int) -> None:
    """Record that this process is a worker, with so many threads for requests."""
    _starts.inc()
    _workers.set(1)
    _threads.set(threads)


def worker(connections: int, waiting: int) -> None:
    """Record this worker's connections, waiting requests, memory and open files."""
    _connections.set(connections)
    _waiting.set(waiting)
    with suppress(OSError):  # no descriptor is left to look with
        _memory.set(int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize())
        _files.set(sum(1 for _ in Path("/proc/self/fd").iterdir()))


def upstream(group: str, outcome: str, seconds: float) -> None:
    """Count a call; `outcome` is a status class, or a word that says why there was no response."""
    _series(_upstream, group, outcome).observe(seconds)


def answered(group: str, status: int, seconds: float) -> None:
    """Count a call that got a response."""
    upstream(group, _status_class(status), seconds)


def opened(upstream: str, group: str) -> None:
    """Record that this process's circuit breaker for a group opened."""
    _open.labels(upstream, group).set(1)
    _opened.labels(upstream, group).inc()


def closed(upstream: str, group: str) -> None:
    """Record that this process's circuit breaker for a group closed."""
    _open.labels(upstream, group).set(0)


def sign_in(tenant: str, outcome: str) -> None:
    """Count a sign-in by its outcome in the audit trail; one that this portal didn't begin (`unknown`) is no sign-in."""
    if outcome in _FAILED_SIGN_INS or outcome in _SIGN_INS:
        _sign_ins.labels(tenant, _SIGN_INS.get(outcome, "failed")).inc()


def tenant_page(tenant: str, status: int) -> None:
    """Count a response to somebody at a clinic."""
    outcome = "failed" if _status_class(status) == "5xx" else "served"
    _series(_tenant_pages, tenant, outcome).inc()


def store(operation: str, outcome: str, seconds: float) -> None:
    """Count a store operation: read or write; done, full or failed."""
    _series(_store, operation, outcome).observe(seconds)


def thread_taken() -> None:
    """Record that a thread started handling a request."""
    _busy.inc()


def thread_freed() -> None:
    _busy.dec()


def clock_skew(upstream: str, seconds: float) -> None:
    """Record by how many seconds the clock of an upstream (its origin) is ahead of this machine's."""
    _clock_skew.labels(upstream).set(seconds)


def sample(name: str, help_: str, measure: Callable[[], float | None]) -> None:
    """Register a machine-wide gauge that is measured at each scrape; it is omitted when `measure` returns None."""
    _sampled[name] = help_, measure


def record_opened(kind: str, roles: Collection[str]) -> None:
    """Count a record shown individually."""
    _opened_records.labels(_role_of(roles), kind if kind in RECORDS else "other").inc()


def records_listed(kind: str, roles: Collection[str], count: int) -> None:
    _listed_records.labels(_role_of(roles), kind if kind in RECORDS else "other").inc(count)


def exposition() -> bytes:
    """Return all metrics of all workers in Prometheus's text format."""
    _begin()
    sampled = CollectorRegistry()
    sampled.register(_Sampled())
    if not FOLDER:
        return generate_latest(_REGISTRY) + generate_latest(sampled)
    together = CollectorRegistry()
    MultiProcessCollector(together, FOLDER)
    return generate_latest(together) + generate_latest(sampled)


def tenants(keys: Collection[str]) -> None:
    """Start the series of these clinics at 0."""
    for key in keys:
        sign_in_begun.metric.labels(key)
        for outcome in ("done", "refused", "failed"):
            _sign_ins.labels(key, outcome)
        for outcome in ("served", "failed"):
            _tenant_pages.labels(key, outcome)


def files_at_fault(*, left_out: Collection[str], kept: Collection[str]) -> None:
    """Record the tenants files that can't be used: left out with their clinics, or kept as they were before."""
    _at_fault.clear()
    _at_fault.update({**dict.fromkeys(kept, "kept"), **dict.fromkeys(left_out, "left-out")})


def configured(fingerprints: Mapping[str, str]) -> None:
    """Record the fingerprints of what all machines must have in common, by what they are of."""
    _fingerprints.update(fingerprints)


def _begin() -> None:
    """Start the series that alerts use at 0: `increase` misses the first event of a series that starts at 1."""
    for counter in (_opened_records, _listed_records):
        for role in ROLES:
            for kind in RECORDS:
                counter.labels(role, kind)
    for counter, labels in _FROM_ZERO:
        counter.labels(*labels)


class _Sampled(Collector):
    """The gauges that are measured at each scrape."""

    def collect(self) -> Iterator[Metric]:
        for name, (help_, measure) in _sampled.items():
            value = measure()
            if value is not None:
                yield GaugeMetricFamily(name, help_, value)
        yield _facts(
            "portal_tenants_files_at_fault",
            "Tenants files with a fault: left-out with their clinics, or kept as they were before the reload.",
            ("file", "state"),
            _at_fault,
        )
        yield _facts(
            "portal_config_info",
            "Fingerprints of the secret keys, tenants and settings: the same on all machines.",
            ("of", "fingerprint"),
            _fingerprints,
        )
        version = os.environ.get("PORTAL_VERSION") or VERSION
        yield _facts("portal_build_info", "What runs here.", ("version", "code"), {version: code()})


def _facts(name: str, help_: str, labels: tuple[str, str], values: Mapping[str, str]) -> GaugeMetricFamily:
    gauge = GaugeMetricFamily(name, help_, labels=labels)
    for pair in values.items():
        gauge.add_metric(pair, 1)
    return gauge


@lru_cache(1)
def code() -> str:
    """Return a short hash of the portal's code and templates, which shows whether machines run the same version."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for folder, kind in (("portal", "*.py"), ("templates", "*.html")):
        for file in sorted((root / folder).rglob(kind)):
            digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def _status_class(status: int) -> str:
    if status == _NOT_IMPLEMENTED:
        return "501"
    return _CLASSES[status // 100 if 100 <= status < 600 else 0]


def _role_of(roles: Collection[str]) -> str:
    known = [role for role in ROLES if role in roles]
    return "several" if len(known) > 1 else known[0] if known else "other"


def _at_most(most: int | None, metric: MetricT, *labels: str) -> MetricT:
    """The series of these labels, or of `other` where the metric has as many as it may."""
    if (
        most is not None
        and (metric, *labels) not in _known
        and sum(known[0] is metric for known in tuple(_known)) >= most
    ):
        labels = ("other",) * len(labels)
    return _series(metric, *labels)


def _series(metric: MetricT, *labels: str) -> MetricT:
    """The series of these labels: looked up here, since prometheus-client's own way takes a lock each time."""
    child = _known.get((metric, *labels))
    return child if child is not None else _known.setdefault((metric, *labels), metric.labels(*labels))
