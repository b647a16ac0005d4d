"""Readies a process that care services are forked from: what they run time and again has been run here once, when imported.

Each would compile its SQL statements anew otherwise, and read the same keys: that takes longer than what most tests ask of it.
"""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import tempfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient

from portal.careservice import database
from portal.careservice.bootstrap import bootstrap
from portal.careservice.ids import sample_id
from tests.careservice.api.clinic import clinic_of, settings_for
from tests.support import hashing, made_once
from tests.support.half_hourly import FOLDER

_PORTAL, _VERIFIER = "http://portal.example", "v" * 43
_LISTS = (
    "/api/care/consent-forms",
    "/api/care/fertility-protocols",
    "/api/calendar/resources/physicians",
    "/api/messaging/getconversations",
    "/api/app/notification",
    "/api/app/notification/settings",
)


def _warm(sample: Path, folder: Path) -> None:
    shutil.copy(sample, folder / "care.db")
    origins = {"riverside": (_PORTAL,)}
    settings = settings_for(f"sqlite:///{folder / 'care.db'}", portal_origins=origins)
    engine = database.connect(settings.database_url)
    bootstrap(engine, settings)
    clinic = clinic_of(settings, engine)
    for who, episode in (("amelia", "amelia-1"), ("nora", "grace-2")):
        token = clinic.token(who)
        for path in (f"/api/patient-portal/episodes/{sample_id('episode', episode)}", *_LISTS):
            answer = clinic.call(token, "GET", f"{path}?MaxResultCount=100")
            assert answer.status_code == 200, path
    with clinic.app.test_client() as browser:
        _sign_in(browser, "amelia", settings.sample_password)
    engine.dispose()


def _sign_in(browser: FlaskClient, name: str, password: str) -> None:
    back = f"{_PORTAL}/sign-in/callback"
    challenge = base64.urlsafe_b64encode(hashlib.sha256(_VERIFIER.encode()).digest()).rstrip(b"=").decode()
    query = {
        "client_id": "riverside-portal",
        "redirect_uri": back,
        "response_type": "code",
        "state": "s",
        "nonce": "n",
    }
    query |= {"scope": "openid profile email roles offline_access ClientelePortal"}
    query |= {"code_challenge": challenge, "code_challenge_method": "S256"}
    page = browser.get("/connect/authorize", query_string=query, follow_redirects=True)
    asked = re.search(r'name="request" value="([^"]+)"', page.text)
    assert asked, page.text
    answer = browser.post("/sign-in", data={"request": asked[1], "username": name, "password": password})
    code = parse_qs(urlsplit(answer.location).query)["code"][0]
    given = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": back,
        "code_verifier": _VERIFIER,
    }
    answer = browser.post("/connect/token", data=given, auth=("riverside-portal", "s"))
    assert answer.status_code == 200, answer.text
    for path in ("/.well-known/openid-configuration", "/.well-known/jwks"):
        browser.get(path)


hashing.quicken(pytest.MonkeyPatch())
made_once.share(pytest.MonkeyPatch())
with tempfile.TemporaryDirectory() as made:
    for found in sorted(FOLDER.glob("portal-*/care.db"))[-1:]:
        _warm(found, Path(made))
