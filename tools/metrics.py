"""What `/metrics` tells, as a document for operators: `make documents` writes docs/metrics.md from the declarations."""

from __future__ import annotations

from typing import Any, cast

from portal import metrics

_HEAD = """# Metrics

What each portal tells at `/metrics`, besides what is read when it is asked for: build and settings, clinics' files, room of
store and audit, readiness. `make documents` writes this from portal/metrics.py. Counters end in `_total`, histograms in `_bucket`, `_sum` and `_count`. Counts are added up over a machine's
workers; of a gauge it is said how: `livesum` adds up those of workers that run, `livemax` takes the largest, `livemostrecent`
the latest. [Alerts](alerts.yml) and the [runbook](runbook.md) say which to watch.

| Metric | Kind | Labels | What it tells |
| --- | --- | --- | --- |
"""


def written() -> str:
    """Return the document."""
    declared = cast("Any", metrics)._REGISTRY._collector_to_names
    return _HEAD + "".join(_row(metric) for metric in declared if hasattr(metric, "_labelnames"))


def _row(metric: Any) -> str:
    kind, buckets = metric._type, getattr(metric, "_upper_bounds", [])
    how = ", ".join(f"{bound:g}" for bound in buckets[:-1]) or getattr(metric, "_multiprocess_mode", "")
    labels = ", ".join(f"`{label}`" for label in metric._labelnames)
    name = metric._name + ("_total" if kind == "counter" else "")
    return f"| `{name}` | {kind}{f' ({how})' if how else ''} | {labels} | {metric._documentation} |\n"
