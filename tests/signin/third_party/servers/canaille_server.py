"""Runs Canaille as an identity server that signs everyone in at once: python canaille_server.py '{…}'."""

import json
import sys
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from canaille import create_app
from canaille.app import models
from canaille.app.session import login_user
from canaille.backends import Backend
from flask import redirect, request, session

given = json.loads(sys.argv[1])
address = urlsplit(given["issuer"])
app = create_app(
    config={
        "SECRET_KEY": "for tests",
        "SERVER_NAME": address.netloc,
        "PREFERRED_URL_SCHEME": address.scheme,
        "CANAILLE": {"DATABASE": "memory", "CAPTCHA_ENABLED": False},
        "CANAILLE_OIDC": {"TRUSTED_DOMAINS": [".localhost"]},
    }
)


def enter(**_where):
    """Sign the one person in."""
    login_user(Backend.instance.get(models.User, user_name="nora"))
    return redirect(session.pop("redirect-after-login"))


def change():
    """Let the person have this role or none, and be enabled or not."""
    nora, groups = Backend.instance.get(models.User, user_name="nora"), Backend.instance.query(models.Group)
    nora.groups = [group for group in groups if group.display_name != "nurse" or request.args["role"]]
    nora.lock_date = None if request.args["enabled"] == "1" else datetime.now(UTC) - timedelta(days=1)
    Backend.instance.save(nora)
    return ""


app.add_url_rule("/person", view_func=change)
for endpoint in ("core.auth.login", "core.auth.password.password"):
    app.view_functions[endpoint] = enter

with app.app_context():
    store = Backend.instance
    person = models.User(
        user_name="nora",
        given_name="Nora",
        family_name="Quinn",
        formatted_name="Nora Quinn",
        emails=["nora@clinic.example"],
    )
    store.save(person)
    for name in ("nurse", "riverside"):
        store.save(models.Group(display_name=name, members=[person]))
    client = models.Client(
        client_id="portal",
        client_name="Portal",
        client_secret=given["secret"],
        client_uri=given["redirect"],
        grant_types=["authorization_code", "refresh_token"],
        id_token_signed_response_alg="PS512",
        post_logout_redirect_uris=[given["signedOut"]],
        redirect_uris=[given["redirect"]],
        response_types=["code"],
        scope=["openid", "profile", "email", "groups"],
        token_endpoint_auth_method="client_secret_basic",
    )
    store.save(client)
    client.audience = [client]
    store.save(client)

app.run("127.0.0.1", address.port, threaded=True)
