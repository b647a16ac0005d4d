"""Baseline: typical Flask, with Authlib's token in a Flask-Session on disk, `requests` for calls and dictionaries in Jinja.

Run by gunicorn with the portal's settings: `tools.bench.typical_flask:app`. `/sign-in` replaces the code flow, which isn't
part of a page's cost: it puts a token into the session as Authlib's callback would.
"""

from __future__ import annotations

import os
import time
from typing import Any, cast

import requests
from authlib.oauth2.rfc6749.wrappers import OAuth2Token
from cachelib.file import FileSystemCache
from flask import abort, render_template, session
from flask_session import Session

from tools.bench.baselines import make_app, page

UPSTREAM = os.environ["BENCH_UPSTREAM"]
TOKEN = os.environ["BENCH_TOKEN"]
app = make_app(__name__)
app.config.update(SESSION_TYPE="cachelib", SESSION_CACHELIB=FileSystemCache(os.environ["BENCH_SESSIONS"]))
Session(app)


@app.get("/sign-in")
def sign_in() -> str:
    session["token"] = {"access_token": TOKEN, "token_type": "Bearer", "expires_at": int(time.time()) + 3600}
    session["user"] = {"sub": "nora", "name": "Nora Quinn", "roles": ["nurse"]}
    return "signed in"


@app.get("/episodes/<episode_id>/consents")
def consents(episode_id: str) -> str:
    if "user" not in session:
        abort(401)
    episode = read(f"/api/patient-portal/episodes/{episode_id}")
    forms = read(f"/api/care/consent-forms?EpisodeId={episode_id}&SkipCount=0&MaxResultCount=100")
    return render_template("episodes/consents.html", **page(episode, forms))


def read(path: str) -> Any:
    token = OAuth2Token.from_dict(session["token"])
    if cast("Any", token).is_expired():
        abort(401)
    headers = {"Authorization": f"Bearer {token['access_token']}", "Accept": "application/json"}
    answer = requests.get(UPSTREAM + path, headers=headers, timeout=8)
    answer.raise_for_status()
    return answer.json()
