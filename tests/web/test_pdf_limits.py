"""Limits on PDFs: how many per person, how long, and that each is made only once."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import json
import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from portal import printing
from portal.careservice.ids import sample_id
from tests.support import forked
from tests.support.signing import change_record, consent, fresh_form
from tests.support.stack import CareService, PortalThread

SIGNED = f"{consent('amelia-treatment-2')}/receipt.pdf"
PLAN = f"/protocols/{sample_id('protocol', 'amelia')}/schedule.pdf"


@pytest.fixture
def strict(service: CareService) -> Iterator[PortalThread]:
    """A portal that makes one document an hour for each person."""
    running = PortalThread(service.plan, PORTAL_LIMIT_PRINTING="1 per hour")
    yield running
    running.stop()


def test_pdfs_are_limited_per_person(strict: PortalThread) -> None:
    amelia, nora = strict.sign_in("amelia"), strict.sign_in("nora")
    amelia.request("GET", PLAN, status=200)
    page = amelia.request("GET", SIGNED, status=429)
    assert page.heading == "Too many tries"
    assert 3500 < int(page.headers["Retry-After"]) <= 3600
    nora.request("GET", PLAN, status=200)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The pages of which documents were made, which here is done in no time."""
    pages: list[str] = []

    def quick(html: str, *_attached: object, **_settings: object) -> bytes:
        pages.append(html)
        return f"%PDF-{len(pages)}".encode()

    monkeypatch.setattr("portal.web.pdf.pdf", quick)
    return pages


def test_a_document_is_made_once_per_session_until_its_record_changes(
    service: CareService, portal: PortalThread, made: list[str]
) -> None:
    amelia, form = portal.sign_in("amelia"), fresh_form(service.plan, signed=True)
    copy = f"{form}/receipt.pdf"
    first = amelia.request("GET", copy).response.content
    assert amelia.request("GET", copy).response.content == first and len(made) == 1
    assert portal.sign_in("amelia").request("GET", copy).response.content != first, (
        "another session has its own"
    )
    change_record(service.plan, form, clause="Another text.")
    assert amelia.request("GET", copy).response.content not in (first, b"")
    portal.clock.advance(301)
    amelia.request("GET", copy)
    portal.clock.advance(-301)
    assert len(made) == 4


def test_kept_pdfs_are_encrypted_and_deleted_with_the_session(
    service: CareService, portal: PortalThread, made: list[str]
) -> None:
    amelia = portal.sign_in("amelia")
    before = kept(portal)
    amelia.request("GET", f"{fresh_form(service.plan, signed=True)}/receipt.pdf")
    (mine,) = kept(portal).keys() - before.keys()
    assert b"%PDF" not in kept(portal)[mine]
    amelia.get("/").form("/sign-out").submit()
    assert mine not in kept(portal)


def kept(portal: PortalThread) -> dict[str, bytes]:
    with closing(sqlite3.connect(portal.plan.data / "store.db")) as store:
        return dict(store.execute("SELECT name, value FROM records WHERE name LIKE 'copy:%'").fetchall())


def test_one_persons_pdfs_do_not_delay_anothers(
    service: CareService, portal: PortalThread, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portal.web.pdf._TURN_SECONDS", 0.2)
    amelia, nora = portal.sign_in("amelia"), portal.sign_in("nora")
    vault, person = (
        portal.context.vault,
        portal.context.sessions.load(amelia.session_id, "riverside", _host(amelia))[0].person,
    )
    turn = vault.name("printing", "riverside", person.issuer, person.sub)
    assert vault.store.lock(turn, "another request", seconds=20)
    page = amelia.request("GET", SIGNED, status=503)
    assert "Many documents are being made" in page.words and page.headers["Retry-After"] == "10"
    nora.request("GET", PLAN, status=200)
    vault.store.unlock(turn, "another request")
    amelia.request("GET", SIGNED, status=200)


def _host(visitor: Any) -> str:
    return str(visitor.origin.removeprefix("http://"))


@pytest.mark.parametrize(("letters", "status"), [(300, 200), (5000, 503)], ids=["as usual", "too long"])
def test_a_form_of_200_clauses_is_printed_in_time_or_refused_at_once(
    service: CareService, portal: PortalThread, letters: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only CPU time is measured: with other tests on the same cores the wall-clock time is longer.
    forked.print_as_deployed(monkeypatch)
    monkeypatch.setattr(printing, "_child", partial(_with_time, printing._child))
    form = fresh_form(service.plan, signed=True)
    lengthen(service, form, clauses=200, letters=letters)
    amelia = portal.sign_in("amelia")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    answer = amelia.request("GET", f"{form}/receipt.pdf", status=status)
    after, took = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < printing.SECONDS
    if status == 503:
        assert took < 3, "refused without trying"
        assert "too long for a PDF" in answer.words and "Retry-After" not in answer.headers
        assert answer.tree.select_one(f'main a[href="{form}/receipt"]') is not None


def _with_time(child: Callable[..., bytes], order: bytes, folder: Path, _: float) -> bytes:
    return child(order, folder, 90)


def lengthen(service: CareService, form: str, *, clauses: int, letters: int) -> None:
    sentence = "This is a clause about the treatment, its risks and what else there is. "
    with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database, database:
        id_ = form.rpartition("/")[2]
        (body,) = database.execute("SELECT body FROM consent_forms WHERE id = ?", (id_,)).fetchone()
        long = [
            {**json.loads(body)[0], "text": (sentence * (letters // 72 + 1))[:letters]}
            for _ in range(clauses)
        ]
        database.execute("UPDATE consent_forms SET body = ? WHERE id = ?", (json.dumps(long), id_))
