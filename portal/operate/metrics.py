"""What a portal process counts of its work, for Prometheus (text format 0.0.4); `/metrics` shows it.

Under gunicorn each worker writes into memory-mapped files of its own, which `/metrics` of any worker adds up. They are
named by the worker's slot, not by its process id: a renewed worker goes on where the one before it ended, so that
neither the files nor the time to add them up grow with the months (`supervisor` gives out the slots).

Every label comes from a short list: routes, groups of the care API, words of our own. Nothing that a visitor sends
is one. Children are looked up in plain dictionaries, which is quicker than prometheus-client's own look-up.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest, values
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

FOLDER = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
"""Where the workers of one gunicorn keep their counts; None where this process is alone."""

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

if FOLDER:
    _slot = os.environ.get("PORTAL_WORKER_SLOT", str(os.getpid()))
    values.ValueClass = values.MultiProcessValue(lambda: _slot)  # pyright: ignore[reportUnknownMemberType]

_METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH"})
_CLASSES = ("other", "1xx", "2xx", "3xx", "4xx", "5xx")
_MOST_EVENTS = 500
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

_REGISTRY = CollectorRegistry()

_requests = Histogram(
    "portal_request_seconds",
    "Answers by route template, method and class of status; seconds until the answer was made.",
    ["route", "method", "status"],
    buckets=_SECONDS,
    registry=_REGISTRY,
)
_upstream = Histogram(
    "portal_upstream_seconds",
    "Calls of the care API and the identity server by group and outcome; seconds until the whole answer was here.",
    ["group", "outcome"],
    buckets=_SECONDS,
    registry=_REGISTRY,
)
_retries = Counter(
    "portal_upstream_retries_total", "Calls that were sent once more.", ["group"], registry=_REGISTRY
)
_open = Gauge(
    "portal_breaker_open",
    "How many worker processes hold calls of this group back now, because they failed lately.",
    ["upstream", "group"],
    multiprocess_mode="livesum",
    registry=_REGISTRY,
)
_opened = Counter(
    "portal_breaker_opened_total",
    "How often a worker began to hold calls of this group back.",
    ["upstream", "group"],
    registry=_REGISTRY,
)
_held_back = Counter(
    "portal_breaker_held_back_total", "Calls that were not sent for it.", ["group"], registry=_REGISTRY
)
_references = Counter(
    "portal_reference_data_total",
    "Reference data by where it came from: hit, miss, stale.",
    ["outcome"],
    registry=_REGISTRY,
)
_refreshes = Counter(
    "portal_token_refreshes_total",
    "Token refreshes: renewed, postponed or client-refused (the session goes on), ended (it doesn't).",
    ["outcome"],
    registry=_REGISTRY,
)
_sessions = Counter("portal_sessions_total", "Sessions begun and ended.", ["event"], registry=_REGISTRY)
_events = Counter(
    "portal_events_total",
    "What the audit stream records: sign-ins, acts, views, refusals, too many tries, each by outcome.",
    ["event", "outcome"],
    registry=_REGISTRY,
)

_opened_records = Counter(
    "portal_records_opened_total",
    "Records shown one by one, by the role of who looked: what of an episode, a file, a calendar file too.",
    ["role", "kind"],
    registry=_REGISTRY,
)
_listed_records = Counter(
    "portal_records_listed_total",
    "Records that stood in lists and search results, by the role of who looked.",
    ["role", "kind"],
    registry=_REGISTRY,
)

_audit_lost = Counter(
    "portal_audit_lost_total",
    "Audit lines that couldn't be written, such as on a full disk.",
    registry=_REGISTRY,
)

_audit_refused = Counter(
    "portal_audit_refused_acts_total",
    "Acts that were refused because they couldn't be written down.",
    registry=_REGISTRY,
)

_unknown_values = Counter(
    "portal_answers_unknown_values_total",
    "Values of the care API that are in no enumeration of the portal's, by endpoint and member.",
    ["endpoint", "member"],
    registry=_REGISTRY,
)
_left_out = Counter(
    "portal_answers_left_out_total",
    "Records and answers of the care API that couldn't be read, by endpoint and the member that doesn't fit.",
    ["endpoint", "member"],
    registry=_REGISTRY,
)

_store = Histogram(
    "portal_store_seconds",
    "What was asked of the store: read or write, by outcome (done, full, failed).",
    ["operation", "outcome"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5),
    registry=_REGISTRY,
)
_threads = Gauge(
    "portal_threads", "Threads that answer requests.", multiprocess_mode="livesum", registry=_REGISTRY
)
_busy = Gauge(
    "portal_threads_busy",
    "Threads that are making an answer now.",
    multiprocess_mode="livesum",
    registry=_REGISTRY,
)
_clock_skew = Gauge(
    "portal_clock_skew_seconds",
    "By how much the clock of an upstream was ahead of this machine's, when it answered last.",
    ["upstream"],
    multiprocess_mode="livemostrecent",
    registry=_REGISTRY,
)

STORE_OUTCOMES = ("done", "full", "failed")
ROLES = ("patient", "nurse", "physician", "embryologist", "coordinator", "admin", "several", "other")
"""Who looks; `several` has more than one of the roles before it, `other` none."""
RECORDS = (
    *("consent", "conversation", "embryo", "episode", "file", "notification", "patient", "case"),
    *("relationship", "pgt-result", "prospect", "protocol", "other"),
)
"""What is looked at."""

_requests_by: dict[tuple[str, str, int], Histogram] = {}
_upstream_by: dict[tuple[str, str], Histogram] = {}
_events_by: dict[tuple[str, str], Counter] = {}
_store_by: dict[tuple[str, str], Histogram] = {}
_sampled: dict[str, tuple[str, Callable[[], float | None]]] = {}
_FROM_ZERO: tuple[tuple[Counter | Histogram, tuple[str, ...]], ...] = (
    *((_refreshes, (outcome,)) for outcome in ("renewed", "postponed", "client-refused", "ended")),
    *((_sessions, (event,)) for event in ("begun", "ended")),
    *((_references, (outcome,)) for outcome in ("hit", "miss", "stale")),
    *(
        (_events, ("sign-in", outcome))
        for outcome in ("done", "fresh", "refused", "unknown", "unavailable", "loop", "client-refused")
    ),
    *((_upstream, ("identity", outcome)) for outcome in ("2xx", "4xx", "5xx", "client-refused", "timed out")),
    *((_store, (operation, outcome)) for operation in ("read", "write") for outcome in STORE_OUTCOMES),
)
_members_by: dict[tuple[Counter, str, str], Counter] = {}
_MOST_MEMBERS = 500
_few_by: dict[tuple[Counter, str], Counter] = {}


def request(route: str | None, method: str, status: int, seconds: float) -> None:
    """Count an answer; `route` is the template of its route, None where there is none."""
    key = (route or "-", method if method in _METHODS else "other", status // 100)
    child = _requests_by.get(key)
    if child is None:
        class_ = _CLASSES[key[2]] if 0 < key[2] < len(_CLASSES) else _CLASSES[0]
        child = _requests_by.setdefault(key, _requests.labels(key[0], key[1], class_))
    child.observe(seconds)


def upstream(group: str, outcome: str, seconds: float) -> None:
    """Count a call; `outcome` is a class of status or the word for why there was no answer."""
    child = _upstream_by.get((group, outcome))
    if child is None:
        child = _upstream_by.setdefault((group, outcome), _upstream.labels(group, outcome))
    child.observe(seconds)


def answered(group: str, status: int, seconds: float) -> None:
    """Count a call that was answered; a 501 apart, because it is no failure."""
    outcome = "501" if status == 501 else _CLASSES[status // 100 if 100 <= status < 600 else 0]
    upstream(group, outcome, seconds)


def retried(group: str) -> None:
    """Count a call that is sent once more."""
    _few(_retries, group).inc()


def opened(upstream: str, group: str) -> None:
    """Say that this process begins to hold calls of a group back."""
    _open.labels(upstream, group).set(1)
    _opened.labels(upstream, group).inc()


def closed(upstream: str, group: str) -> None:
    """Say that it no longer does."""
    _open.labels(upstream, group).set(0)


def circuit_open(group: str) -> None:
    """Count a call that was not sent."""
    _few(_held_back, group).inc()


def reference(outcome: str) -> None:
    """Count reference data shown: hit, miss or stale."""
    _few(_references, outcome).inc()


def refreshed(outcome: str) -> None:
    """Count a token refresh: renewed, postponed, client-refused or ended."""
    _few(_refreshes, outcome).inc()


def session(event: str) -> None:
    """Count a session: begun or ended."""
    _few(_sessions, event).inc()


def event(name: str, outcome: str) -> None:
    """Count what the audit stream records. Both words are the code's own; should they not be, they end at a number."""
    child = _events_by.get((name, outcome))
    if child is None:
        if len(_events_by) >= _MOST_EVENTS:
            name, outcome = "other", "other"
        child = _events_by.setdefault((name, outcome), _events.labels(name, outcome))
    child.inc()


def audit_lost() -> None:
    """Count an audit line that couldn't be written."""
    _audit_lost.inc()


def audit_refused() -> None:
    """Count an act that was refused because it couldn't be written down."""
    _audit_refused.inc()


def unknown_value(endpoint: str, member: str, times: int = 1) -> None:
    """Count values that are in no enumeration; both labels are the portal's own words."""
    _of_member(_unknown_values, endpoint, member).inc(times)


def left_out(endpoint: str, member: str) -> None:
    """Count a record that couldn't be read."""
    _of_member(_left_out, endpoint, member).inc()


def store(operation: str, outcome: str, seconds: float) -> None:
    """Count something that was asked of the store: read or write; done, full or failed."""
    child = _store_by.get((operation, outcome))
    if child is None:
        child = _store_by.setdefault((operation, outcome), _store.labels(operation, outcome))
    child.observe(seconds)


def threads(count: int) -> None:
    """Say how many threads this process has for requests."""
    _threads.set(count)


def thread_taken() -> None:
    """Count a thread that begins to make an answer."""
    _busy.inc()


def thread_freed() -> None:
    """Say that it is free again."""
    _busy.dec()


def clock_skew(upstream: str, seconds: float) -> None:
    """Take down by how much the clock of an upstream (its origin) is ahead of ours."""
    _clock_skew.labels(upstream).set(seconds)


def sample(name: str, help_: str, measure: Callable[[], float | None]) -> None:
    """Have a gauge of the whole machine measured whenever somebody asks; one whose measure is None is left out."""
    _sampled[name] = help_, measure


def record_opened(kind: str, roles: Collection[str]) -> None:
    """Count a record that was shown by itself."""
    _opened_records.labels(_role_of(roles), kind if kind in RECORDS else "other").inc()


def records_listed(kind: str, roles: Collection[str], count: int) -> None:
    """Count records that stood in a list."""
    _listed_records.labels(_role_of(roles), kind if kind in RECORDS else "other").inc(count)


def exposition() -> bytes:
    """Return everything in Prometheus's text format, of all workers where there are several."""
    _begin()
    sampled = CollectorRegistry()
    sampled.register(_Sampled())
    if not FOLDER:
        return generate_latest(_REGISTRY) + generate_latest(sampled)
    together = CollectorRegistry()
    MultiProcessCollector(together, FOLDER)
    return generate_latest(together) + generate_latest(sampled)


def _begin() -> None:
    """Let what alerts look at begin at 0: `increase` doesn't see the first of a series that begins with it."""
    for counter in (_opened_records, _listed_records):
        for role in ROLES:
            for kind in RECORDS:
                counter.labels(role, kind)
    for counter, labels in _FROM_ZERO:
        counter.labels(*labels)


class _Sampled(Collector):
    """The gauges that are measured when they are asked for."""

    def collect(self) -> Iterator[Metric]:
        for name, (help_, measure) in _sampled.items():
            value = measure()
            if value is not None:
                yield GaugeMetricFamily(name, help_, value)
        build = GaugeMetricFamily("portal_build_info", "What runs here.", labels=("version", "code"))
        build.add_metric((os.environ.get("PORTAL_VERSION") or "unknown", code()), 1)
        yield build


@lru_cache(1)
def code() -> str:
    """Return a short hash of the portal's own code and templates, by which machines that differ are told apart."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for folder, kind in (("portal", "*.py"), ("templates", "*.html")):
        for file in sorted((root / folder).rglob(kind)):
            digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def _role_of(roles: Collection[str]) -> str:
    known = [role for role in ROLES if role in roles]
    return "several" if len(known) > 1 else known[0] if known else "other"


def _of_member(metric: Counter, endpoint: str, member: str) -> Counter:
    child = _members_by.get((metric, endpoint, member))
    if child is None:
        if len(_members_by) >= _MOST_MEMBERS:
            endpoint, member = "other", "other"
        child = _members_by.setdefault((metric, endpoint, member), metric.labels(endpoint, member))
    return child


def _few(metric: Counter, label: str) -> Counter:
    child = _few_by.get((metric, label))
    return child if child is not None else _few_by.setdefault((metric, label), metric.labels(label))
