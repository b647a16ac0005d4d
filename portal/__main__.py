"""`python -m portal COMMAND`: run it, say what is wrong, read its records, say what it needs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from portal.config.errors import ConfigurationError

if TYPE_CHECKING:
    from portal.config.settings import Settings

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Run the command that was asked for; return the exit status (2 when something is to be mended first)."""
    given = _parser().parse_args()
    try:
        return given.run(given)
    except ConfigurationError as error:
        print(*error.faults, sep="\n", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m portal", description="The clinic portal.")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="run portal and care service with sample people")
    demo.set_defaults(run=_demo)
    demo.add_argument("--portal-port", type=int, default=8000)
    demo.add_argument("--service-port", type=int, default=8001)
    kinds = demo.add_mutually_exclusive_group()
    kinds.add_argument("--data", type=Path, default=None, help="a folder that keeps the data")
    kinds.add_argument(
        "--scale", action="store_true", help="two machines behind nginx, with Redis and PostgreSQL"
    )
    demo.add_argument(
        "--reload", action="store_true", help="take each change of code, templates, styles, scripts and words"
    )
    serve = commands.add_parser("serve", help="run the portal under gunicorn, configured by the environment")
    serve.set_defaults(run=_serve)
    check = commands.add_parser("check", help="check settings, store and upstreams, and say what to mend")
    check.set_defaults(run=_check)
    check.add_argument("--settings", action="store_true", help="the settings alone, without the network")
    conform = commands.add_parser(
        "conform", help="say what a clinic's API lacks, and propose a dialect for it"
    )
    conform.set_defaults(run=_conform)
    what = conform.add_mutually_exclusive_group(required=True)
    what.add_argument("--clinic", help="the clinic's key in the tenants file")
    what.add_argument(
        "--verify", type=Path, metavar="FILE", help="say whether a summary is as it was written"
    )
    conform.add_argument(
        "--redirect-uri",
        help="a registered one; a loopback address with a port is listened at (else: paste the answer)",
    )
    conform.add_argument(
        "--acts", metavar="HOST", help="change records too: only against a sandbox, whose API has this host"
    )
    conform.add_argument("--json", type=Path, metavar="FILE", help="write the report for programs")
    conform.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page")
    conform.add_argument("--propose", type=Path, metavar="FILE", help="write a dialect file to begin with")
    conform.add_argument(
        "--with-values", action="store_true", help="let values stand in the report: they may be health data"
    )
    conform.add_argument(
        "--no-remember", action="store_true", help="don't let the portal know which members came"
    )
    conform.add_argument(
        "--base",
        action="append",
        default=[],
        metavar="PATH",
        help="where addresses may begin, such as /fertility/v3 (again for more): tried where ours aren't found",
    )
    conform.add_argument(
        "--summary", type=Path, metavar="FILE", help="write what was found and accepted, sealed, to be filed"
    )
    audit = commands.add_parser("audit", help="the records of who did what")
    of_audit = audit.add_subparsers(dest="what", required=True)
    verify = of_audit.add_parser("verify", help="say whether a record was changed, added or removed")
    verify.set_defaults(run=_audit_verify)
    verify.add_argument(
        "paths", nargs="*", type=Path, help="folders, files or logs, of every machine (else: PORTAL_AUDIT)"
    )
    verify.add_argument(
        "--old-keys",
        type=Path,
        help="a file of secret keys used before, one a line: their lines are verified too",
    )
    actor = of_audit.add_parser("actor", help="say what a person is called in the records")
    actor.set_defaults(run=_audit_actor)
    actor.add_argument("sub", help="the person's id at the identity server (the `sub` claim)")
    sessions = commands.add_parser("sessions", help="people's sessions")
    of_sessions = sessions.add_subparsers(dest="what", required=True)
    end = of_sessions.add_parser("end", help="sign out a person, a clinic's people or everybody")
    end.set_defaults(run=_end_sessions)
    whose = end.add_mutually_exclusive_group(required=True)
    whose.add_argument("--clinic", metavar="KEY", help="the clinic's key in the tenants file")
    whose.add_argument("--all", action="store_true", help="everybody at every clinic")
    end.add_argument(
        "--person", metavar="SUB", help="only this person: their id at the identity server (the `sub` claim)"
    )
    mode = commands.add_parser(
        "read-only",
        help="let people read and change nothing, while the portal or a clinic's system is worked on",
    )
    mode.set_defaults(run=_read_only)
    mode.add_argument("what", choices=("on", "off"))
    where = mode.add_mutually_exclusive_group(required=True)
    where.add_argument("--clinic", metavar="KEY", help="the clinic's key in the tenants file")
    where.add_argument("--all", action="store_true", help="every clinic")
    contract = commands.add_parser("contract", help="print what the portal needs of an API (OpenAPI 3.1)")
    contract.set_defaults(run=_contract)
    contract.add_argument("--page", action="store_true", help="as a page to read, in Markdown")
    dialect = commands.add_parser("dialect", help="files that say how an API differs (docs/dialects.md)")
    of_dialect = dialect.add_subparsers(dest="what", required=True)
    init = of_dialect.add_parser(
        "init", help="print a dialect file to begin with: every key and member, as comments"
    )
    init.set_defaults(run=_dialect)
    acts = of_dialect.add_parser("acts", help="print what each act would send in a dialect; nothing is sent")
    acts.set_defaults(run=_acts)
    acts.add_argument("path", type=Path, help="the dialect file")
    return parser


def _demo(given: argparse.Namespace) -> int:
    if find_spec("portal.demo") is None or find_spec("portal.careservice") is None:
        print(
            "The demo isn't part of the image: run `make demo` in a checkout of the repository.",
            file=sys.stderr,
        )
        return 2
    from portal.demo import scale, stack
    from portal.demo.processes import DemoError

    if given.scale and given.reload:
        print("--reload goes with the demo on one machine: leave out --scale.", file=sys.stderr)
        return 2
    try:
        if given.scale:
            scale.run(portal_port=given.portal_port, service_port=given.service_port)
        else:
            stack.run(
                portal_port=given.portal_port,
                service_port=given.service_port,
                data=given.data,
                reloads=given.reload,
            )
    except DemoError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _contract(given: argparse.Namespace) -> int:
    """Print what the portal needs of a care API."""
    import json

    from portal.connect import needs

    print(needs.page() if given.page else json.dumps(needs.document(), indent=2, ensure_ascii=False))
    return 0


def _dialect(_given: argparse.Namespace) -> int:
    """Print a dialect file to begin with."""
    from portal.connect.dialects.documents import skeleton

    print(skeleton(), end="")
    return 0


def _acts(given: argparse.Namespace) -> int:
    """Print what each act would send."""
    from portal.connect.dialects.acts import acts
    from portal.connect.dialects.dialect import Dialect
    from portal.connect.dialects.file import read_dialect

    print(*acts(Dialect(read_dialect(given.path, os.environ))), sep="\n\n")
    return 0


def _serve(_given: argparse.Namespace) -> NoReturn:
    """Become gunicorn, so that its signals are ours."""
    os.chdir(ROOT)
    os.execv(sys.executable, [sys.executable, "-m", "gunicorn", "wsgi:app"])  # noqa: S606


def _check(given: argparse.Namespace) -> int:
    """Gunicorn waits for the settings' own check at each start and reload, so that it loads nothing else.

    That writes every fault to stderr, and to stdout the names of the tenants files that are left out because of one.
    """
    from portal.config.settings import Settings

    settings = Settings.from_env()
    if any(tenant.dialect for tenant in settings.tenants.by_key.values()):
        from portal.connect.dialects.load import leave_out_unusable

        settings = replace(settings, tenants=leave_out_unusable(settings.tenants, os.environ))
    if given.settings:
        for file, faults in settings.tenants.left_out.items():
            print(file)
            print(*faults, sep="\n", file=sys.stderr)
        return 0
    from portal.operate.check import run
    from portal.operate.settings_files import would_start

    return run(settings) if would_start() else 2


def _conform(given: argparse.Namespace) -> int:
    """Hold a clinic's API against what the portal needs (docs/conformance.md)."""
    from portal.config.settings import Settings
    from portal.connect.conform.command import Options, run

    settings = Settings.from_env()
    if given.verify:
        return _verify_summary(given.verify, settings.secret_keys)
    options = Options(
        clinic=given.clinic,
        redirect_uri=given.redirect_uri,
        acts=given.acts,
        json=given.json,
        html=given.html,
        propose=given.propose,
        summary=given.summary,
        with_values=given.with_values,
        remember=not given.no_remember,
        bases=tuple(path.rstrip("/") for path in given.base),
    )
    return run(settings, options)


def _verify_summary(path: Path, keys: Sequence[str]) -> int:
    """Say whether a summary is as it was written; 1 when it isn't, 2 when it can't be read."""
    from portal.connect.conform.sealed_summary import is_sealed

    try:
        is_whole = is_sealed(path.read_bytes(), keys)
    except OSError as error:
        print(f"{path} can't be read: {error.strerror}.", file=sys.stderr)
        return 2
    print(f"{path} is as it was written." if is_whole else f"{path} isn't what this portal sealed.")
    return 0 if is_whole else 1


def _end_sessions(given: argparse.Namespace) -> int:
    """End sessions at this clinic, else at all; 1 when that failed."""
    from portal.operate.end_sessions import end_sessions

    def end(settings: Settings, clinics: list[str]) -> str:
        return f"{end_sessions(settings, clinics, sub=given.person)} sessions ended."

    return _at_clinics(given.clinic, end)


def _read_only(given: argparse.Namespace) -> int:
    """Begin or end read-only mode at this clinic, else at all; 1 when that failed."""
    from portal.operate.read_only import change_read_only

    def change(settings: Settings, clinics: list[str]) -> str:
        where = sorted(change_read_only(settings, clinics, is_on=given.what == "on"))
        return f"Read-only: {', '.join(where[:20]) or 'no clinic'}{' and others' if where[20:] else ''}."

    return _at_clinics(given.clinic, change)


def _at_clinics(clinic: str | None, do: Callable[[Settings, list[str]], str]) -> int:
    """Do this at this clinic, else at all, and print what it says; 1 when that failed."""
    from portal.audit.trail import AuditDown
    from portal.config.settings import Settings
    from portal.store import StoreDown

    settings = Settings.from_env()
    known = sorted(settings.tenants.by_key)
    left_out = [f"{file} can't be used: {'; '.join(why)}" for file, why in settings.tenants.left_out.items()]
    if clinic is not None and clinic not in known:
        print(f"There is no clinic {clinic}: {', '.join(known[:20])}", *left_out, sep="\n", file=sys.stderr)
        return 2
    try:
        print(do(settings, [clinic] if clinic else known))
    except (StoreDown, AuditDown) as error:
        print(f"Not all was done, run it again: {error or type(error).__name__}", file=sys.stderr)
        return 1
    if clinic is None and left_out:
        print("Not all was done, correct this and run it again:", *left_out, sep="\n", file=sys.stderr)
        return 1
    return 0


def _audit_actor(given: argparse.Namespace) -> int:
    """Print the person's pseudonym under each secret key, the newest first."""
    from portal.audit.trail import pseudonym
    from portal.config.settings import Settings

    print(*(pseudonym(key, given.sub) for key in Settings.from_env().secret_keys), sep="\n")
    return 0


def _audit_verify(given: argparse.Namespace) -> int:
    """Judge the audit records; return 0 when all hold, 1 when one doesn't, 2 when they couldn't be read."""
    import time

    from portal.audit.checkpoints import Checkpoints
    from portal.audit.verify import report, verify
    from portal.config.settings import Settings
    from portal.store import StoreDown, open_store

    settings, paths, old_keys = Settings.from_env(), given.paths, given.old_keys
    try:
        if not paths and settings.audit == "stderr":
            print("PORTAL_AUDIT is stderr: name the files that hold the portal's logs.", file=sys.stderr)
            return 2
        checkpoints = Checkpoints(open_store(settings.store_url, time.time), time.time)
        old = old_keys.read_text("utf-8-sig").split() if old_keys else ()
        keys = [*settings.secret_keys, *old]
        findings = verify(paths or [Path(settings.audit)], checkpoints.all(), keys)
    except UnicodeDecodeError:
        print(f"Nothing could be verified: {old_keys} isn't text in UTF-8.", file=sys.stderr)
        return 2
    except (StoreDown, OSError) as error:
        print(f"Nothing could be verified: {error}", file=sys.stderr)
        return 2
    if not findings:
        print(
            "Nothing could be verified: there is no audit line, and the store knows of none.", file=sys.stderr
        )
        return 2
    print(report(findings))
    return 0 if all(finding.holds for finding in findings) else 1


if __name__ == "__main__":
    sys.exit(main())
