"""Baseline: a bare Flask view that makes the page's two calls through a urllib3 pool, one after another.

No session, no checks, no headers, no audit. Run by gunicorn with the portal's own settings: `tools.bench.bare_flask:app`.
"""

from __future__ import annotations

import json
import os
from typing import Any

import urllib3
from flask import render_template

from tools.bench.baselines import make_app, page

UPSTREAM = os.environ["BENCH_UPSTREAM"]
TOKEN = os.environ["BENCH_TOKEN"]
pool = urllib3.PoolManager(maxsize=16)
app = make_app(__name__)


@app.get("/episodes/<episode_id>/consents")
def consents(episode_id: str) -> str:
    episode = read(f"/api/patient-portal/episodes/{episode_id}")
    forms = read(f"/api/care/consent-forms?EpisodeId={episode_id}&SkipCount=0&MaxResultCount=100")
    return render_template("episodes/consents.html", **page(episode, forms))


def read(path: str) -> Any:
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json"}
    return json.loads(pool.request("GET", UPSTREAM + path, headers=headers).data)
