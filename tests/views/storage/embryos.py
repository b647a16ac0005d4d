"""Grace's embryos: their pages, their records, and the forms about them."""

from __future__ import annotations

import json
import sqlite3
import uuid
from contextlib import closing
from typing import Any

from portal.careservice.ids import sample_id
from tests.support.signing import copy_rows
from tests.support.stack import CareService, PortalThread
from tests.support.visitor import Page

EPISODE = sample_id("episode", "grace-2")


def embryo(code: str) -> str:
    return sample_id("embryo", code)


def address(code: str, decision: str = "") -> str:
    return f"/storage/{embryo(code)}{decision and '/' + decision}?episode={EPISODE}"


def stored(service: CareService, code: str, column: str) -> Any:
    with sqlite3.connect(service.plan.data / "care.db") as database:
        found = database.execute(f"SELECT {column} FROM embryo_storage WHERE id = ?", (embryo(code),))  # noqa: S608
        return found.fetchone()[0]


def change(service: CareService | PortalThread, table: str, assignment: str, id_: str) -> None:
    with sqlite3.connect(service.plan.data / "care.db", timeout=10) as database:
        database.execute(f"UPDATE {table} SET {assignment} WHERE id = ?", (id_,))  # noqa: S608


def put_form(
    service: CareService | PortalThread, source: str, code: str | None, **changed: str | None
) -> str:
    """Put a copy of a sample form with its signatures into the record, about the embryo; return its id."""
    id_ = str(uuid.uuid4())
    about = json.dumps([embryo(code)]) if code else None
    with closing(sqlite3.connect(service.plan.data / "care.db", timeout=10)) as database, database:
        database.row_factory = sqlite3.Row
        copied: dict[str, str | None] = {"id": id_, "embryo_storage_ids": about, **changed}
        copy_rows(database, "consent_forms", {"id": sample_id("consent", source)}, copied)
        for table in ("consent_signers", "consent_signatures"):
            copy_rows(database, table, {"form_id": sample_id("consent", source)}, {"form_id": id_})
    return id_


def to_discard(service: CareService | PortalThread, code: str) -> str:
    """Record a signed form in which the embryo's people decide to discard it; return the form's id."""
    change(service, "embryo_storage", "disposition = 'Discard'", embryo(code))
    return put_form(service, "grace-disposition", code, disposition="Discard")


def unsign(service: CareService, form: str, role: str) -> None:
    with sqlite3.connect(service.plan.data / "care.db", timeout=10) as database:
        database.execute("DELETE FROM consent_signatures WHERE form_id = ? AND role = ?", (form, role))


def withheld(page: Page) -> dict[str, str]:
    """Return the moves that the page says aren't possible, each with its reason."""
    card = next(one for one in page.select("main .card") if "Not possible now" in one.text_content())
    names, words = card.select("dt"), card.select("dd")
    return {name.words: word.words for name, word in zip(names, words, strict=True)}


def offered(page: Page) -> list[str]:
    return [str(one["value"]) for one in page.select("input[name=status]")]


def send(page: Page, where: str, *, expect: int | None = 200, **fields: str) -> Page:
    given = {**dict(page.form(where.partition("?")[0]).fields()), **fields}
    return page.visitor.post(where, given, status=expect)
