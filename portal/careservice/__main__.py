"""`python -m portal.careservice`: run the service, or one of its commands for the operator."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from gunicorn.app.base import BaseApplication  # pyright: ignore[reportMissingTypeStubs]
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from portal.careservice import account, database, end_storage
from portal.careservice.app import create_app
from portal.careservice.bootstrap import bootstrap
from portal.careservice.identity import keys
from portal.careservice.migrations import UnusableDatabase
from portal.careservice.sample.people import secrets_from_environment
from portal.careservice.settings import WEBHOOKS, Lifetimes, Settings
from portal.careservice.webhooks import sender
from portal.careservice.webhooks.signature import key_of, new_secret

_COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "account": account.main,
    "end-storage": end_storage.main,
    "send": sender.main,
}
"""Commands that have options of their own."""


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit status."""
    argv = sys.argv[1:] if arguments is None else arguments
    if argv and argv[0] in _COMMANDS:
        return _COMMANDS[argv[0]](argv[1:])
    given = _parser().parse_args(argv)
    if given.command == "rotate-keys":
        return _rotate_keys(given.database)
    if _is_taken(given.host, given.port):
        print(f"Port {given.port} of {given.host} is taken: choose another with --port.", file=sys.stderr)
        return 2
    settings = _settings(given)
    engine = database.connect(settings.database_url)
    try:
        bootstrap(engine, settings)
    except UnusableDatabase as error:
        print(f"{error} (--database {given.database})", file=sys.stderr)
        return 2
    finally:
        engine.dispose()
    _Server(settings, f"{given.host}:{given.port}", given.threads, given.worker_class).run()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m portal.careservice",
        description="The embedded care service. As first argument, `account` shows, disables or changes an account, "
        "`end-storage` ends an embryo's storage without the patients' decision and `send` posts a signed sample webhook.",
    )
    parser.add_argument("command", nargs="?", choices=["run", "rotate-keys"], default="run")
    parser.add_argument("--database", required=True, help="sqlite:///path or postgresql+psycopg://…")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--worker-class", default="gthread", help="gunicorn's worker_class")
    parser.add_argument(
        "--proxy-hops", type=int, default=0, metavar="N",
        help="how many proxies in front set X-Forwarded-For: without it, all browsers behind one share its budgets",
    )  # fmt: skip
    parser.add_argument("--issuer", default=None, help="the service's own address, without a trailing slash")
    parser.add_argument("--sample", choices=["none", "small", "large"], default="none")
    parser.add_argument("--demo", action="store_true", help="list the sample people on the sign-in page")
    parser.add_argument("--portal-origin", action="append", default=[], metavar="TENANT=ORIGIN")
    parser.add_argument(
        "--client-keys", action="append", default=[], metavar="CLIENT=FILE",
        help="the JWK Set of a client that authenticates by private_key_jwt instead of a secret",
    )  # fmt: skip
    parser.add_argument(
        "--sign-with", choices=["RS256", "PS256"], default="RS256", help="FAPI 2.0 demands PS256"
    )
    parser.add_argument("--access-token-seconds", type=int, default=600)
    parser.add_argument("--id-token-seconds", type=int, default=1200)
    parser.add_argument("--code-seconds", type=int, default=60)
    parser.add_argument("--refresh-token-days", type=float, default=14)
    parser.add_argument("--refresh-grace-seconds", type=int, default=30)
    return parser


def _settings(given: argparse.Namespace) -> Settings:
    client_secrets, generated = secrets_from_environment()
    password = os.environ.get("PORTAL_DEMO_PASSWORD", "")
    if given.sample != "none":
        if not password:
            password = secrets.token_urlsafe(9)
            print(f"Password of the sample people: {password}", flush=True)
        for client in generated:
            print(f"Secret of {client}: {client_secrets[client]}", flush=True)
    origins: dict[str, tuple[str, ...]] = {}
    for tenant, origin in _origins(given.portal_origin):
        origins[tenant] = (*origins.get(tenant, ()), origin.rstrip("/"))
    return Settings(
        database_url=given.database,
        issuer=(given.issuer or f"http://{given.host}:{given.port}").rstrip("/"),
        sample=given.sample,
        demo=given.demo,
        sample_password=password,
        client_secrets=client_secrets,
        client_keys=dict(map(_client_keys, given.client_keys)),
        portal_origins=origins,
        webhook_secrets=_webhook_secrets(sample=given.sample != "none"),
        twilio_tokens=_twilio_tokens(),
        proxy_hops=given.proxy_hops,
        metrics_token=os.environ.get("CARE_METRICS_TOKEN", "").strip(),
        mail_receiver=os.environ.get("CARE_MAIL_RECEIVER", "").strip(),
        signing_algorithm=given.sign_with,
        lifetimes=Lifetimes(
            access_token=timedelta(seconds=given.access_token_seconds),
            id_token=timedelta(seconds=given.id_token_seconds),
            code=timedelta(seconds=given.code_seconds),
            refresh_token=timedelta(days=given.refresh_token_days),
            refresh_grace=timedelta(seconds=given.refresh_grace_seconds),
        ),
    )


def _webhook_secrets(*, sample: bool) -> dict[str, tuple[str, ...]]:
    if os.environ.get("CARE_WEBHOOK_SECRETS"):
        raise SystemExit(
            "CARE_WEBHOOK_SECRETS is no longer read; each kind of webhook has its own secrets: "
            + ", ".join(f"CARE_{kind.upper()}_SECRETS" for kind in WEBHOOKS)
        )
    found = {kind: _comma_separated(f"CARE_{kind.upper()}_SECRETS") for kind in WEBHOOKS}
    for kind, given in found.items():
        for secret in given:
            try:
                key_of(secret)
            except ValueError as error:
                raise SystemExit(f"CARE_{kind.upper()}_SECRETS: {error}") from None
    every = [secret for given in found.values() for secret in set(given)]
    if len(every) != len(set(every)):
        raise SystemExit("CARE_…_SECRETS: two of them share a secret, so one sender could pass for another")
    for kind in WEBHOOKS:
        if not found[kind] and sample:
            found[kind] = (new_secret(),)
            print(f"Secret of webhooks ({kind}): {found[kind][0]}", flush=True)
    return found


def _comma_separated(variable: str) -> tuple[str, ...]:
    given = [part.strip() for part in os.environ.get(variable, "").split(",")]
    return tuple(part for part in given if part)


def _twilio_tokens() -> dict[str, tuple[str, ...]]:
    tokens: dict[str, tuple[str, ...]] = {}
    for pair in _comma_separated("CARE_TWILIO_AUTH_TOKENS"):
        tenant, _, token = pair.partition("=")
        if not (tenant and token):
            raise SystemExit("CARE_TWILIO_AUTH_TOKENS: write it as TENANT=TOKEN,TENANT=TOKEN")
        tokens[tenant] = (*tokens.get(tenant, ()), token)
    return tokens


def _origins(given: Iterable[str]) -> list[tuple[str, str]]:
    pairs = [value.partition("=") for value in given]
    for tenant, _, origin in pairs:
        if not (tenant and origin):
            raise SystemExit(f"--portal-origin {tenant}{origin}: write it as TENANT=ORIGIN")
    return [(tenant, origin) for tenant, _, origin in pairs]


def _client_keys(pair: str) -> tuple[str, dict[str, Any]]:
    client_id, _, file = pair.partition("=")
    try:
        keys = json.loads(Path(file).read_text(encoding="utf-8"))
        KeySet.import_key_set(keys)
    except (OSError, ValueError, KeyError, TypeError, JoseError) as error:
        raise SystemExit(
            f"--client-keys {pair}: no JWK Set can be read from the file: {type(error).__name__}"
        ) from None
    return client_id, keys


def _is_taken(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return True
        return False


def _rotate_keys(url: str) -> int:
    engine = database.connect(url)
    with database.new_session(engine) as session:
        kid = keys.rotate(session, overlap=timedelta(hours=2))
        session.commit()
    print(f"New key: {kid}. The old ones stay valid for two more hours.")
    return 0


class _Server(BaseApplication):
    """gunicorn with one worker and threads: enough for a demo and for tests."""

    def __init__(self, settings: Settings, bind: str, threads: int, worker_class: str) -> None:
        self._settings = settings
        self._options: dict[str, Any] = {
            "bind": bind,
            "workers": 1,
            "threads": threads,
            "worker_class": worker_class,
            "timeout": 60,
            "graceful_timeout": 2,
            "keepalive": 30,
            "control_socket_disable": True,
            "loglevel": "warning",
        }
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)  # pyright: ignore[reportUnknownMemberType, reportOptionalMemberAccess]

    def load(self) -> Any:
        return create_app(self._settings)


if __name__ == "__main__":
    os.umask(0o077)  # only the owner may read a database file
    sys.exit(main())
