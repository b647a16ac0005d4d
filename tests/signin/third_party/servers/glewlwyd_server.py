"""Runs Debian's Glewlwyd, behind a proxy that signs everyone in at once: python glewlwyd_server.py '{…}'.

Its own sign-in page is a script that calls its API; the proxy makes the same calls for the browser.
"""

import gzip
import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from signing_in import PORT, Proxy, call, cookies_of, serve

given = json.loads(sys.argv[1])
issuer, folder = given["issuer"], Path(__file__).parent
PERSON = {"username": "nora", "password": "password-of-nora"}


def api(method, path, body=None, cookie=""):
    """Call the server's API; return status, headers and body."""
    sent = json.dumps(body).encode() if body else b""
    return call(method, path, {"Content-Type": "application/json", "Cookie": cookie}, sent)


def start():
    """Start the server over a database of its own."""
    with gzip.open("/usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz", "rt") as script:
        sqlite3.connect(folder / "glewlwyd.db").executescript(script.read())
    lines = [
        f"port={PORT}",
        f'external_url="{issuer}"',
        'login_url="login.html"',
        'api_prefix="api"',
        'static_files_path="/usr/share/glewlwyd/webapp/"',
        'log_mode="console"',
        'log_level="ERROR"',
        'cookie_domain="127.0.0.1"',
        "cookie_secure=false",
        "session_expiration=3600",
        'session_key="GLEWLWYD2_SESSION_ID"',
        'admin_scope="g_admin"',
        'profile_scope="g_profile"',
        *(
            f'{kind}_module_path="/usr/lib/glewlwyd/{name}"'
            for kind, name in (
                ("user", "user"),
                ("client", "client"),
                ("user_auth_scheme", "scheme"),
                ("plugin", "plugin"),
            )
        ),
        'user_middleware_module_path="/usr/lib/glewlwyd"',
        'hash_algorithm="SHA512"',
        f'database = {{ type = "sqlite3"; path = "{folder}/glewlwyd.db"; }};',
    ]
    (folder / "glewlwyd.conf").write_text("\n".join(lines) + "\n")
    subprocess.Popen(["glewlwyd", "--config-file", str(folder / "glewlwyd.conf")])
    for _ in range(300):
        try:
            return call("GET", "/config", {})
        except OSError:
            time.sleep(0.1)
    raise SystemExit("it doesn't start")


def configure():
    """Add the OpenID Connect plugin, the person and the client, as its administrator would; return both."""
    admin = cookies_of(api("POST", "/api/auth/", {"username": "admin", "password": "password"})[1])
    key = rsa.generate_private_key(65537, 2048)
    keys = {
        "key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        "cert": key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode(),
    }
    module = json.loads(api("GET", "/api/mod/user/database", cookie=admin)[2])
    plain = {"multiple": False, "read": True, "write": True, "profile-read": True}
    module["parameters"]["data-format"] |= {"role": plain, "clinic": plain}
    plugin = {
        "module": "oidc",
        "name": "oidc",
        "display_name": "oidc",
        "parameters": {
            **keys,
            "iss": f"{issuer}/api/oidc",
            "jwt-type": "rsa",
            "jwt-key-size": "256",
            "access-token-duration": 60,
            "refresh-token-duration": 3600,
            "code-duration": 600,
            "refresh-token-rolling": True,
            "allow-non-oidc": False,
            "auth-type-code-enabled": True,
            "auth-type-token-enabled": False,
            "auth-type-id-token-enabled": True,
            "auth-type-none-enabled": False,
            "auth-type-password-enabled": False,
            "auth-type-client-enabled": False,
            "auth-type-refresh-enabled": True,
            "jwks-show": True,
            "subject-type": "public",
            "pkce-allowed": True,
            "session-management-allowed": True,
            "session-cookie-name": "GLEWLWYD2_OIDC_SESSION",
            "session-cookie-expiration": 3600,
            "introspection-revocation-allowed": True,
            "introspection-revocation-allow-target-client": True,
            "name-claim": "mandatory",
            "claims": [
                {"name": "role", "user-property": "role", "type": "string", "mandatory": True},
                {"name": "tenantid", "user-property": "clinic", "type": "string", "mandatory": True},
            ],
        },
    }
    client = {
        "client_id": "portal",
        "name": "Portal",
        "confidential": True,
        "enabled": True,
        "client_secret": given["secret"],
        "password": given["secret"],
        "redirect_uri": [given["redirect"]],
        "post_logout_redirect_uris": given["signedOut"],
        "authorization_type": ["code", "refresh_token"],
        "token_endpoint_auth_method": ["client_secret_basic", "client_secret_post"],
        "scope": ["openid"],
    }
    person = {
        **PERSON,
        "name": "Nora Quinn",
        "role": "nurse",
        "clinic": "riverside",
        "scope": ["openid"],
        "enabled": True,
    }
    for method, path, body in (
        ("PUT", "/api/mod/user/database", module),
        ("PUT", "/api/mod/user/database/reset/", None),
        ("POST", "/api/mod/plugin/", plugin),
        ("POST", "/api/user/", person),
        ("POST", "/api/client/", client),
    ):
        status, _, said = api(method, path, body, admin)
        if status != 200:
            raise SystemExit(f"{method} {path}: {status} {said!r}")
    return admin, person


class SigningIn(Proxy):
    """Makes the calls of the sign-in page, and goes on where that would."""

    def entered(self, answer):
        """The redirect of a sign-in in place of the page; or let the person have a role or none, and be enabled or not."""
        parts = urlsplit(self.path)
        if parts.path == "/person":
            asked = {
                name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()
            }
            changed = {**person, "role": asked["role"], "enabled": asked["enabled"] == "1"}
            return *api("PUT", "/api/user/nora", changed, admin)[:2], b""
        if parts.path != "/login.html":
            return answer
        _, headers, _ = api("POST", "/api/auth/", PERSON, self.headers.get("Cookie", ""))
        cookie = cookies_of(headers)
        api("PUT", "/api/auth/grant/portal/", {"scope": "openid"}, cookie)
        back = parse_qs(parts.query)["callback_url"][0]
        return 302, [("Location", f"{back}&g_continue"), ("Set-Cookie", f"{cookie}; Path=/")], b""


start()
admin, person = configure()
serve(issuer, SigningIn)
