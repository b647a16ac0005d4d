"""The steps of signing, and forms created for a single test."""

from __future__ import annotations

import json
import sqlite3
import uuid
from contextlib import closing
from typing import Any

from portal.careservice.domain.consents.content import Clause, Statement, content_hash
from portal.careservice.ids import sample_id

TREATMENT_OF_AMELIA = sample_id("episode", "amelia-1")
NAMES = {
    "amelia": "Amelia Hart",
    "daniel": "Daniel Hart",
    "nora": "Nora Lindqvist",
    "victor": "Victor Castellanos",
}


def consent(name: str) -> str:
    """The address of a sample form."""
    return f"/consents/{sample_id('consent', name)}"


def make_form(staff: Any, template: str = "treatment", **fields: Any) -> str:
    """Make a form for Amelia and Daniel from a template and return its address."""
    page = staff.get(f"/consents/new?template={template}&episode={TREATMENT_OF_AMELIA}")
    page = page.form("/consents/new/fill").submit(**fields)
    return page.form("/consents/new").submit().path


def fresh_form(plan: Any, *, signed: bool = False) -> str:
    """Put a form that Amelia, Daniel and Victor may sign in any order into the record, and return its address.

    `signed` when Amelia has.
    """
    id_ = str(uuid.uuid4())
    with closing(sqlite3.connect(plan.data / "care.db", timeout=10)) as database, database:
        database.row_factory = sqlite3.Row
        source = sample_id("consent", "amelia-treatment-2")
        copy_rows(
            database,
            "consent_forms",
            {"id": source},
            {"id": id_, "status": "Pending", "effective_at": None, "supersedes_id": None, "file_id": None},
        )
        copy_rows(database, "consent_signers", {"form_id": source}, {"form_id": id_})
        if signed:
            copy_rows(database, "consent_signatures", {"form_id": source}, {"form_id": id_})
            database.execute("DELETE FROM consent_signatures WHERE form_id = ? AND role <> 'Patient'", (id_,))
            database.execute("UPDATE consent_forms SET status = 'PartiallySigned' WHERE id = ?", (id_,))
    return f"/consents/{id_}"


def copy_rows(
    database: sqlite3.Connection, table: str, which: dict[str, str], changed: dict[str, str | None]
) -> None:
    ((column, value),) = which.items()
    for row in database.execute(f"SELECT * FROM {table} WHERE {column} = ?", (value,)).fetchall():  # noqa: S608
        copy = {**dict(row), "id": str(uuid.uuid4()), **changed}
        names, marks = ", ".join(f'"{name}"' for name in copy), ", ".join("?" * len(copy))
        database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(copy.values()))  # noqa: S608


def to_step(visitor: Any, form: str, heading: str) -> Any:
    """Go through signing until the page of this heading; who signs for the clinic has one page for all steps."""
    page = visitor.get(f"{form}/sign")
    for _ in range(5):
        if page.heading == heading or page.select("#sign #declaration"):
            return page
        page = page.form(f"{form}/sign").submit(check_all=True)
    raise AssertionError(f"{heading!r} didn't come; last {page.heading!r}")


def sign(visitor: Any, form: str, name: str) -> Any:
    """Sign a form from its first step to the receipt."""
    page = to_step(visitor, form, "Sign this form")
    return page.form(f"{form}/sign").submit(check_all=True, signature=name)


def after_a_while(portal: Any, form: Any, ticked: Any = (), **values: str) -> Any:
    """Send a form six minutes later, with boxes ticked, and return the sign-in page that it leads to."""
    fields = [(name, value) for name, value in form.fields() if name not in values]
    fields += [*values.items(), *ticked]
    visitor = form.page.visitor
    portal.clock.advance(6 * 60)
    behind = {"Referer": form.page.url}
    answer = visitor.request("POST", form.action, data=fields, headers=behind, status=303, follow=False)
    portal.clock.advance(-6 * 60)  # the identity server's clock has not moved
    assert "fresh=1" in answer.headers["Location"]
    page = visitor.get(answer.headers["Location"])
    assert not page.url.startswith(portal.origin()), page.url
    return page


def end_session(portal: Any, visitor: Any) -> None:
    """Let this visitor's session be unused for so long that it is over; the identity server still knows them."""
    cookie = visitor.session_id

    def long_ago(record: Any) -> None:
        record.used_at -= 3600

    portal.context.sessions.amend(cookie, long_ago)


def signatures(visitor: Any, form: str) -> list[str]:
    """The names on the receipt; none when there is no receipt yet."""
    page = visitor.get(f"{form}/receipt")
    return [h3.words for h3 in page.select(".receipt .signature h3")]


def change_record(plan: Any, form: str, *, clause: str | None = None, **columns: Any) -> None:
    """Change a form behind the care API, as the clinic's own record system may, with a new mark unless one is given."""
    id_ = form.rpartition("/")[2]
    with closing(sqlite3.connect(plan.data / "care.db", timeout=10)) as database, database:
        title, kind, version, body, statements = database.execute(
            "SELECT title, kind, version, body, statements FROM consent_forms WHERE id = ?", (id_,)
        ).fetchone()
        if clause is not None:
            clauses = json.loads(body)
            clauses[0]["text"] = clause
            columns["body"] = json.dumps(clauses)
            anew = content_hash(
                title=title,
                kind=kind,
                version=version,
                body=[Clause(**one) for one in clauses],
                statements=[Statement(**one) for one in json.loads(statements)],
            )
            columns.setdefault("content_hash", anew)
        columns["concurrency_stamp"] = uuid.uuid4().hex
        names = ", ".join(f"{name} = ?" for name in columns)
        database.execute(f"UPDATE consent_forms SET {names} WHERE id = ?", (*columns.values(), id_))  # noqa: S608


def mark_of(plan: Any, form: str) -> str:
    """The mark that the record holds of a form's text."""
    with closing(sqlite3.connect(plan.data / "care.db", timeout=10)) as database:
        asked = "SELECT content_hash FROM consent_forms WHERE id = ?"
        return str(database.execute(asked, (form.rpartition("/")[2],)).fetchone()[0])


def typed_names(plan: Any, form: str) -> list[str]:
    """What the record holds as typed by those who have signed."""
    with closing(sqlite3.connect(plan.data / "care.db", timeout=10)) as database:
        asked = "SELECT typed FROM consent_signatures WHERE form_id = ?"
        return [str(row[0]) for row in database.execute(asked, (form.rpartition("/")[2],))]


def mark_all_in_another_way(plan: Any, patient_id: str) -> None:
    """Give this patient's forms and their signatures marks as a record system with a way of its own makes them."""
    with closing(sqlite3.connect(plan.data / "care.db", timeout=10)) as database, database:
        for table, which in (
            ("consent_forms", "patient_id = ?"),
            ("consent_signatures", "form_id IN (SELECT id FROM consent_forms WHERE patient_id = ?)"),
        ):
            anew = f"UPDATE {table} SET content_hash = 'v2:' || substr(content_hash, 4) WHERE {which}"  # noqa: S608
            assert database.execute(anew, (patient_id,)).rowcount


def person_id(name: str) -> str:
    """The id that a sample person signs with."""
    return sample_id("person", name)


def transfer_embryos_under(plan: Any, form: str) -> None:
    """Note the embryos stored under this form as transferred."""
    with closing(sqlite3.connect(plan.data / "care.db", timeout=10)) as database, database:
        database.execute(
            "UPDATE embryo_storage SET status = 'Transferred' WHERE consent_form_id = ?",
            (form.rpartition("/")[2],),
        )
