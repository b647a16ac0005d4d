"""Runs django-oauth-toolkit as an identity server that signs everyone in at once: python django_oauth_toolkit.py '{…}'."""

import json
import sys
from pathlib import Path
from socketserver import ThreadingMixIn
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIServer, make_server

import django
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings

given = json.loads(sys.argv[1])
key = rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
settings.configure(
    ALLOWED_HOSTS=["*"],
    DATABASES={
        "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(Path(__file__).with_suffix(".db"))}
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=[f"django.contrib.{one}" for one in ("auth", "contenttypes", "sessions")]
    + ["oauth2_provider"],
    LOGIN_URL="/enter/",
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    OAUTH2_PROVIDER={
        "ACCESS_TOKEN_EXPIRE_SECONDS": 60,
        "OAUTH2_VALIDATOR_CLASS": f"{__name__}.Claims",
        "OIDC_ENABLED": True,
        "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
        "OIDC_RSA_PRIVATE_KEY": key.decode(),
        "SCOPES": {"openid": "", "profile": "", "groups": ""},
    },
    ROOT_URLCONF=__name__,
    SECRET_KEY="for tests",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
    USE_TZ=True,
)
django.setup()

from django.contrib.auth import get_user_model, login  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.shortcuts import redirect  # noqa: E402
from django.urls import include, path  # noqa: E402
from oauth2_provider.models import Application  # noqa: E402
from oauth2_provider.oauth2_validators import OAuth2Validator  # noqa: E402

groups = ["nurse"]


class Claims(OAuth2Validator):
    """What the clinic's server says of people beyond its standard claims."""

    oidc_claim_scope = None

    def get_additional_claims(self, request):
        """The name, the groups and the clinic."""
        return {"name": "Nora Quinn", "groups": groups, "tenantid": "riverside"}


def enter(request):
    """Sign the one person in."""
    login(request, get_user_model().objects.get())
    return redirect(request.GET["next"])


def change(request):
    """Let the person have this role or none, and be enabled or not."""
    groups[:] = [request.GET["role"]] if request.GET["role"] else []
    get_user_model().objects.update(is_active=request.GET["enabled"] == "1")
    return HttpResponse()


urlpatterns = [path("enter/", enter), path("person", change), path("o/", include("oauth2_provider.urls"))]


class Server(ThreadingMixIn, WSGIServer):
    """One thread for each request."""

    daemon_threads = True


call_command("migrate", verbosity=0)
get_user_model().objects.create_user("nora")
Application.objects.create(
    algorithm="RS256",
    authorization_grant_type="authorization-code",
    client_id="portal",
    client_secret=given["secret"],
    client_type="confidential",
    post_logout_redirect_uris=given["signedOut"],
    redirect_uris=given["redirect"],
    skip_authorization=True,
)
make_server("127.0.0.1", urlsplit(given["issuer"]).port, get_wsgi_application(), Server).serve_forever()
