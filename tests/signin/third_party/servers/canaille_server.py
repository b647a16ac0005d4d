"""Runs Canaille as an identity server that signs everyone in at once: python canaille_server.py '{…}'."""

import json
import sys
from urllib.parse import urlsplit

from canaille import create_app
from canaille.app import models
from canaille.app.session import login_user
from canaille.backends import Backend
from flask import redirect, session

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
