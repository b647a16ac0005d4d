"""Baseline: Django with httpx, both calls concurrently, its Jinja2 backend, translations from a dictionary.

No session, no middleware, no checks, no audit. Run by uvicorn: `tools.bench.django_app:app`.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import django
import httpx
import orjson
from babel.dates import format_date
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.http import HttpRequest, HttpResponse
from django.urls import path

from tools.bench.baselines import frame, page
from tools.bench.fastapi_app import TOKEN, UPSTREAM, env, gettext, nonce, url_for

settings.configure(
    ALLOWED_HOSTS=["*"],
    DEBUG=False,
    LOGGING_CONFIG=None,
    MIDDLEWARE=[],
    ROOT_URLCONF=__name__,
    SECRET_KEY=os.environ["BENCH_TOKEN"],
)
django.setup()
_clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}


@asynccontextmanager
async def lifespan(_app: object) -> AsyncIterator[None]:
    """Close this loop's connections in the end; Django has no lifespan of its own, so that only tests do."""
    yield
    await _clients.pop(asyncio.get_running_loop()).aclose()


async def consents(request: HttpRequest, episode_id: str) -> HttpResponse:
    nonce.set(secrets.token_urlsafe(18))
    episode, forms = await asyncio.gather(
        read(f"/api/patient-portal/episodes/{episode_id}"),
        read(f"/api/care/consent-forms?EpisodeId={episode_id}&SkipCount=0&MaxResultCount=100"),
    )
    around = frame(request.path, request.build_absolute_uri(), "en", nonce.get, gettext)
    context = {**around, **page(episode, forms, gettext, url_for, format_date)}
    written = env.get_template("episodes/consents.html").render(context).encode()
    return HttpResponse(written, headers={"Content-Length": str(len(written))})


async def read(address: str) -> Any:
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json"}
        _clients[loop] = httpx.AsyncClient(base_url=UPSTREAM, headers=headers)
    return orjson.loads((await _clients[loop].get(address)).content)


urlpatterns = [path("episodes/<str:episode_id>/consents", consents)]
app = get_asgi_application()
