"""Runs Debian's LemonLDAP::NG, behind a proxy that signs everyone in at once: python lemonldap_server.py '{…}'."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlencode

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from signing_in import PORT, Proxy, call, cookies_of, serve

given = json.loads(sys.argv[1])
issuer, folder = given["issuer"], Path(__file__).parent


def start():
    """Start the server with a configuration of its own."""
    for name in ("conf", "sessions", "psessions", "cache"):
        (folder / name).mkdir()
        (folder / name / "lock").mkdir()
    key = rsa.generate_private_key(65537, 2048)
    ours = "oidcRPMetaDataOptions"
    options = {
        "ClientID": "portal",
        "ClientSecret": given["secret"],
        "IDTokenSignAlg": "RS256",
        "RedirectUris": given["redirect"],
        "PostLogoutRedirectUris": given["signedOut"],
        "BypassConsent": 1,
        "AllowOffline": 1,
        "RefreshToken": 1,
        "AccessTokenExpiration": 60,
        "IDTokenExpiration": 600,
    }
    storage = {
        name: {
            "Directory": str(folder / name),
            "LockDirectory": str(folder / name / "lock"),
            "generateModule": "Lemonldap::NG::Common::Apache::Session::Generate::SHA256",
        }
        for name in ("sessions", "psessions")
    }
    conf = json.loads(Path("/var/lib/lemonldap-ng/conf/lmConf-1.json").read_text()) | {
        "portal": f"{issuer}/",
        "domain": "127.0.0.1",
        "key": "for tests",
        "requireToken": 0,
        "securedCookie": 0,
        "notification": 0,
        "passwordDB": "Null",
        "registerDB": "Null",
        **{f"captcha_{page}_enabled": 0 for page in ("login", "mail", "register")},
        "portalDisplayRegister": 0,
        "portalDisplayResetPassword": 0,
        "globalStorageOptions": storage["sessions"],
        "persistentStorageOptions": storage["psessions"],
        "macros": {
            "role": '"nurse"',
            "clinic": '"riverside"',
            "_whatToTrace": "$_auth eq 'SAML' ? $_user : $uid",
        },
        "issuerDBOpenIDConnectActivation": 1,
        "oidcServiceMetaDataIssuer": issuer,
        "oidcServicePrivateKeySig": key.private_bytes(
            Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
        ).decode(),
        "oidcServicePublicKeySig": key.public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        .decode(),
        "oidcServiceKeyIdSig": "key-1",
        "oidcServiceAllowAuthorizationCodeFlow": 1,
        ours: {"portal": {f"{ours}{name}": value for name, value in options.items()}},
        "oidcRPMetaDataExportedVars": {"portal": {"name": "cn", "role": "role", "tenantid": "clinic"}},
        "oidcRPMetaDataOptionsExtraClaims": {"portal": {"roles": "role tenantid"}},
    }
    del conf["localSessionStorage"], conf["localSessionStorageOptions"]
    (folder / "conf" / "lmConf-1.json").write_text(json.dumps(conf))
    (folder / "lemonldap-ng.ini").write_text(
        f"[all]\nlogLevel = warn\n[configuration]\ntype = File\ndirName = {folder}/conf\n"
        "[portal]\nstaticPrefix = /static\ntemplateDir = /usr/share/lemonldap-ng/portal/templates\nlanguages = en\n"
    )
    program = folder / "portal.psgi"
    program.write_text("use Lemonldap::NG::Portal::Main;\nLemonldap::NG::Portal::Main->run({});\n")
    environment = {**os.environ, "LLNG_DEFAULTCONFFILE": str(folder / "lemonldap-ng.ini")}
    command = ["plackup", "--host", "127.0.0.1", "--port", str(PORT), str(program)]
    subprocess.Popen(command, env=environment)
    for _ in range(300):
        try:
            return call("GET", "/", {})
        except OSError:
            time.sleep(0.1)
    raise SystemExit("it doesn't start")


class SigningIn(Proxy):
    """Fills in the sign-in form wherever it comes."""

    def entered(self, answer):
        """The answer to the form, with the cookies that came with it."""
        _, headers, page = answer
        if b'name="password"' not in page:
            return answer
        hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.decode())
        cookie = "; ".join(filter(None, [self.headers.get("Cookie"), cookies_of(headers)]))
        sent = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
        form = urlencode([*hidden, ("user", "dwho"), ("password", "dwho")])
        status, more, body = call("POST", self.path, self.headers_sent() | sent, form.encode())
        return status, [*(one for one in headers if one[0].lower() == "set-cookie"), *more], body


start()
serve(issuer, SigningIn)
