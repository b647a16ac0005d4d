"""Forms as another system may send them: renamed members, incomplete texts, signers in the wrong roles."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from tests.support.dialect import Dialect, DialectProxy, portal_behind
from tests.support.signing import fresh_form, signatures, to_step
from tests.support.stack import CareService, PortalThread

CONSENTS = "/api/care/consent-forms"


@pytest.fixture(scope="module")
def proxy(service: CareService) -> Iterator[DialectProxy]:
    running = DialectProxy(service.base_url, Dialect())
    yield running
    running.stop()


@pytest.fixture(scope="module")
def portal(service: CareService, proxy: DialectProxy) -> Iterator[PortalThread]:
    """The portal, whose care API is the proxy; people sign in at the service itself."""
    running = portal_behind(service, proxy)
    yield running
    running.stop()


def forms(change: Callable[[dict[str, Any]], None]) -> Callable[[str, str, Any], Any]:
    """A change of each form that is read, whole or in a list."""

    def changed(_method: str, path: str, answer: Any) -> Any:
        if path.startswith(CONSENTS) and isinstance(answer, dict):
            for form in answer.get("items", [answer]):
                change(form)
        return answer

    return changed


def renamed(old: str, new: str) -> Callable[[dict[str, Any]], None]:
    def rename(form: dict[str, Any]) -> None:
        if old in form:
            form[new] = form.pop(old)

    return rename


def in_clauses(old: str, new: str) -> Callable[[dict[str, Any]], None]:
    def rename(form: dict[str, Any]) -> None:
        for clause in form.get("body") or []:
            renamed(old, new)(clause)

    return rename


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (renamed("body", "clauses"), "didn’t come"),
        (renamed("statements", "declarations"), "didn’t come"),
        (in_clauses("text", "content"), "part of this form’s text"),
        (lambda form: form.update(body=[]) if "body" in form else None, "has no text"),
        (lambda form: form.update(body=[], fileId="f") if "body" in form else None, "signed at the clinic"),
    ],
    ids=["body", "statements", "clause", "empty", "on-file"],
)
def test_a_form_without_text_cannot_be_signed_at_any_step(
    amelia: Any,
    service: CareService,
    proxy: DialectProxy,
    change: Callable[[dict[str, Any]], None],
    said: str,
) -> None:
    form = fresh_form(service.plan)
    last = to_step(amelia, form, "Sign this form")
    with proxy.speaking(change=forms(change)):
        page = amelia.get(form)
        assert said in page.words and "Read and sign" not in page.words
        for step in ("", "/read", "/statements", "/name"):
            refused = amelia.get(f"{form}/sign{step}", status=403)
            assert said in refused.words
            assert not refused.select(f'form[action^="{form}/sign"]')
        assert said in last.form(f"{form}/sign").submit(signature="Amelia Hart", status=403).words
    assert signatures(amelia, form) == []


def test_a_form_kept_on_file_is_not_listed_to_sign(amelia: Any, service: CareService) -> None:
    form = fresh_form(service.plan)
    id_ = form.rpartition("/")[2]
    link = f'a[href="{form}/sign"]'
    assert amelia.get("/").select(link) and amelia.get("/consents").select(link)
    with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database, database:
        database.execute(
            "UPDATE consent_forms SET body = ?, file_id = (SELECT id FROM files LIMIT 1) WHERE id = ?",
            (json.dumps([]), id_),
        )
    assert not amelia.get("/").select(link)
    listed = amelia.get("/consents")
    assert not listed.select(link) and "This form is signed at the clinic." in listed.words


def test_a_staff_member_named_in_a_patient_role_cannot_sign(
    portal: PortalThread, service: CareService, proxy: DialectProxy
) -> None:
    nora = portal.sign_in("nora")
    form = fresh_form(service.plan)
    sub = nora_sub(service)

    def as_patient(record: dict[str, Any]) -> None:
        for signer in record["requiredSigners"]:
            if signer["role"] == "Patient":
                signer["personId"] = sub

    with proxy.speaking(change=forms(as_patient)):
        refused = nora.get(f"{form}/sign", status=403)
        assert "role that this form gives you" in refused.words
        nora.post(f"{form}/sign/name", {"role": "Patient", "signature": "Nora Lindqvist"}, status=403)
        assert "Read and sign" not in nora.get(form).words


def nora_sub(service: CareService) -> str:
    with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database:
        return str(database.execute("SELECT id FROM people WHERE username = 'nora'").fetchone()[0])
