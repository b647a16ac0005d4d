"""Baseline: FastAPI with aiohttp, both calls concurrently, plain Jinja, translations from a dictionary.

No session, no checks, no headers, no audit. Run by uvicorn, with uvloop and httptools: `tools.bench.fastapi_app:app`.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import aiohttp
import orjson
from babel.dates import format_date
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader

from tools.bench.baselines import ROOT, frame, page, prepare

UPSTREAM = os.environ["BENCH_UPSTREAM"]
TOKEN = os.environ["BENCH_TOKEN"]
_WORDS: dict[str, str] = {}
nonce: ContextVar[str] = ContextVar("nonce", default="")


def gettext(text: str) -> str:
    """The cheapest possible translation."""
    return _WORDS.get(text, text)


def ngettext(one: str, many: str, number: int) -> str:
    return one if number == 1 else many


def url_for(name: str, *, episode_id: str = "", **_: Any) -> str:
    return f"/episodes/{episode_id}/{name}"


env: Any = Environment(
    loader=FileSystemLoader(ROOT / "templates"), autoescape=True, extensions=["jinja2.ext.i18n"]
)
env.install_gettext_callables(gettext, ngettext, newstyle=True)
env.globals.update(url_for=url_for, request=SimpleNamespace(path="/", args={}))
prepare(env, nonce=nonce.get, gettext=gettext, format_date=format_date)


@asynccontextmanager
async def lifespan(application: FastAPI) -> AsyncIterator[None]:
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json"}
    async with aiohttp.ClientSession(headers=headers) as session:
        application.state.session = session
        yield


app = FastAPI(lifespan=lifespan)


@app.get("/episodes/{episode_id}/consents")
async def consents(request: Request, episode_id: str) -> HTMLResponse:
    nonce.set(secrets.token_urlsafe(18))
    session = request.app.state.session
    episode, forms = await asyncio.gather(
        read(session, f"/api/patient-portal/episodes/{episode_id}"),
        read(session, f"/api/care/consent-forms?EpisodeId={episode_id}&SkipCount=0&MaxResultCount=100"),
    )
    around = frame(request.url.path, str(request.url), "en", nonce.get, gettext)
    context = {**around, **page(episode, forms, gettext, url_for, format_date)}
    return HTMLResponse(env.get_template("episodes/consents.html").render(context))


async def read(session: aiohttp.ClientSession, path: str) -> Any:
    async with session.get(UPSTREAM + path) as answer:
        return orjson.loads(await answer.read())
