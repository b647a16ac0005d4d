"""The command: sign in, walk, judge, report, propose; the portal then remembers which members the API sends."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import get_origin
from urllib.parse import urlsplit

from portal.config.settings import Settings
from portal.config.tenants import Tenant
from portal.connect.answers.observer import Answers
from portal.connect.conform.addresses import find_addresses
from portal.connect.conform.ask import ask_parameters
from portal.connect.conform.judge import judge
from portal.connect.conform.merge import merged
from portal.connect.conform.plausible import doubts
from portal.connect.conform.proposal import Proposal
from portal.connect.conform.propose import propose
from portal.connect.conform.refusal import ask_nowhere, ask_refusal, ask_success
from portal.connect.conform.report import Report
from portal.connect.conform.sealed_summary import summary
from portal.connect.conform.sign_in import CALLBACK, HeldToken, NoSignIn, sign_in
from portal.connect.conform.walk import Visit, act, json_of, rules_of, walk
from portal.connect.dialects.file import DialectError
from portal.connect.dialects.load import load_dialects
from portal.http import transfer
from portal.services.adapter import PLAIN
from portal.services.client import Care
from portal.services.decoding import PagedResult
from portal.signin.dpop import Nonces, Prover
from portal.signin.flow import Finished
from portal.store import StoreDown, open_store
from portal.store.vault import Vault
from portal.values import Value

_SECONDS = 900.0


class Options(Value, frozen=True):
    """The command's options. `acts` is the host of a sandbox whose records may be changed, None for reads only.

    `bases` are base paths to try if the API answers the specification's addresses with 404.
    """

    clinic: str
    redirect_uri: str | None = None
    acts: str | None = None
    json: Path | None = None
    html: Path | None = None
    propose: Path | None = None
    summary: Path | None = None
    with_values: bool = False
    remember: bool = True
    bases: tuple[str, ...] = ()


def run(
    settings: Settings,
    options: Options,
    *,
    say: Callable[[str], None] = print,
    paste: Callable[[], str] = input,
) -> int:
    """Run the command; return 0 if nothing is missing, 1 if something is, 2 if a person must decide or act first."""
    tenant = settings.tenants.by_key.get(options.clinic)
    if tenant is None:
        return _stop(f"There is no clinic {options.clinic}: {', '.join(settings.tenants.by_key)}.")
    files = (options.json, options.html, options.propose, options.summary)
    if nowhere := [str(file) for file in files if file and not file.parent.is_dir()]:
        return _stop(f"There is no folder for {', '.join(nowhere)}.")
    host = urlsplit(tenant.base_url).netloc
    if options.acts is not None and options.acts != host:
        return _stop(
            f"--acts changes records: name the sandbox's host to allow it there. This clinic's API is at {host}."
        )
    if settings.ca_file:
        transfer.trust(settings.ca_file)
    try:
        redirect_uri = options.redirect_uri or _origin(tenant) + CALLBACK
        finished = sign_in(settings, tenant, redirect_uri, say=say, paste=paste)
    except NoSignIn as error:
        return _stop(f"Nobody signed in: {error}.")
    try:
        care = _care(settings, tenant, finished)
    except DialectError as error:
        return _stop("\n".join(error.faults))
    is_patient = finished.person.is_patient
    rules = rules_of(care)
    visits, proposal = _found(care, options, as_patient=is_patient)
    report = Report(
        clinic=tenant.key,
        base_url=tenant.base_url,
        side="a patient" if is_patient else "staff",
        verdicts=judge(visits, as_patient=is_patient, accepted=rules.accepted),
        proposal=proposal,
        with_values=options.with_values,
        doubts=tuple(
            doubt for doubt in doubts(visits, rules, proposal.learned) if doubt.about not in rules.accepted
        ),
        accepted=rules.accepted,
    )
    say(report.text())
    for path, content in (
        (options.json, report.json),
        (options.html, lambda: report.html().encode()),
        (options.propose, lambda: _file(tenant, report.proposal).encode()),
        (options.summary, lambda: summary(report, tenant.dialect, settings.secret_keys[0], time.time())),
    ):
        if path:
            try:
                path.write_bytes(content())
            except OSError as error:
                return _stop(f"{path} can't be written: {error.strerror}.")
            say(f"Written: {path}")
    if options.remember:
        _remember(settings, tenant, visits)
    return report.status


def _file(tenant: Tenant, proposal: Proposal) -> str:
    """The dialect file that is proposed: the clinic's own with what is to be added to it, where it has one."""
    return merged(tenant.dialect.read_text(), proposal.toml()) if tenant.dialect else proposal.toml()


def _origin(tenant: Tenant) -> str:
    """The origin of the clinic's portal; without TLS on the demo's machine."""
    host = tenant.hosts[0]
    is_local = host.partition(":")[0].endswith("localhost")
    return f"{'http' if is_local else 'https'}://{host}"


def _stop(why: str) -> int:
    print(why, file=sys.stderr)
    return 2


def _care(settings: Settings, tenant: Tenant, finished: Finished) -> Care:
    return Care(
        base_url=tenant.base_url,
        bearer=HeldToken(finished.tokens.access_token),
        prover=Prover.of(finished.tokens.dpop_key, Nonces()),
        timeouts=settings.timeouts,
        deadline=time.monotonic() + _SECONDS,
        language=tenant.languages[0],
        correlation_id=secrets.token_hex(8),
        references=None,
        adapter=load_dialects(settings.tenants, os.environ).get(tenant.key, PLAIN),
        partition=(finished.person.issuer, tenant.key, finished.person.sub, ""),
    )


def _found(care: Care, options: Options, *, as_patient: bool) -> tuple[list[Visit], Proposal]:
    """All calls, and the dialect inferred from them.

    If ids have other names, the walk is repeated with the names learned from the first one.
    """
    rules = rules_of(care)
    care, learned = find_addresses(care, options.bases)
    visits = list(walk(care))
    told = propose(visits, as_patient=False, rules=rules)
    if any(ours != theirs for ours, theirs in told.names().items()):
        visits = list(walk(care, told.names()))
        told = propose(visits, as_patient=False, rules=rules)
    ask_parameters(care, visits, learned, told.names(), told.instants, told.truth)
    ask_success(care, visits, learned)
    ask_refusal(care, learned)
    learned.false_empty = ask_nowhere(care, learned)
    if options.acts:
        visits += act(care)
    return visits, propose(visits, as_patient=as_patient, learned=learned, rules=rules)


def _remember(settings: Settings, tenant: Tenant, visits: Iterable[Visit]) -> None:
    """Tell the portal which members the API sends, so that it knows from the first page on."""
    try:
        vault = Vault(open_store(settings.store_url, time.time), settings.secret_keys)
        answers = Answers(vault, time.time).of(tenant.key)
        for visit in visits:
            if visit.is_good and (get_origin(visit.into) is PagedResult or visit.into not in (bytes, object)):
                answers.decoded(visit.endpoint, partial(json_of, visit.body), visit.into, has_unknown=True)
    except StoreDown as error:
        print(f"Not kept for the portal: the store doesn't work ({error}).", file=sys.stderr)
