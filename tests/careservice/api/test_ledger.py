"""What each act writes and answers, as everybody, and what each read answers: whole, in `ledger/`.

On a day of its own, over the sample records: an act's answer, every row that it adds, changes or removes, and who else gets
which refusal; its body with each member left out. Of a read a sum of the answer, by person, query, and day. A rule, a role,
a filter, an order or a column gone or another is a line that differs. After a change that is meant, WRITE_FACTS=1 writes
the files anew, and answers in full under var/ledger: compare those with the ones before.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from portal.careservice import database
from portal.careservice.api import consents, conversations, notifications, physicians, protocols
from portal.careservice.app import create_app
from portal.careservice.bootstrap import bootstrap
from portal.careservice.domain.cases import CaseChange
from portal.careservice.domain.consents.forms import OPEN, ConsentForm
from portal.careservice.domain.enumerations import ConsentStatus, Disposition, EmbryoStatus, ProtocolStatus
from portal.careservice.domain.patients import PatientDetails
from portal.careservice.domain.protocols import ProtocolPlan
from portal.careservice.ids import sample_id
from portal.careservice.sample.people import PEOPLE
from tests.careservice.api.calls import CONSENTS, EPISODES, STAFF_ROLES, form, signer
from tests.careservice.api.clinic import Clinic, settings_for

FOLDER = Path(__file__).parent / "ledger"
FULL_ANSWERS = Path(__file__).parents[3] / "var" / "ledger"
DAY = datetime(2026, 11, 24, 10, 30, tzinfo=UTC)
EVERYBODY = [person.username for person in PEOPLE]
PROTOCOLS = "/api/care/fertility-protocols"
PHYSICIANS = "/api/calendar/resources/physicians"
CONVERSATIONS = "/api/messaging/getconversations"
NOTIFICATIONS = "/api/app/notification"
FILE = "/api/file-management/file-descriptor/content?id="
_BY_CHANCE = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b|\b[\w-]{43}\b"
)
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LONGEST = 300


class Ledger:
    """The service in this process on that day, its database as a file that is put back after each act.

    Triggers note which rows are touched: to read and copy all of them takes longer than most acts.
    """

    def __init__(self, folder: Path) -> None:
        self._file, kept = folder / "care.db", folder / "kept.db"
        settings = settings_for(f"sqlite:///{self._file}")
        engine = database.connect(settings.database_url)
        app = create_app(settings, engine=engine, time=lambda: self.clinic.moment)
        self.clinic = Clinic(app, DAY)
        with app.app_context():
            bootstrap(engine, settings, lambda: DAY)
        self.clinic.change(_end_overdue_just_now)
        self.tokens = {who: self.clinic.token(who) for who in EVERYBODY}
        with closing(sqlite3.connect(kept)) as copy, closing(sqlite3.connect(self._file)) as file:
            file.backup(copy)
        self._own = sqlite3.connect(self._file, isolation_level=None)
        self._own.row_factory = sqlite3.Row
        self._own.execute("ATTACH ? AS kept", (str(kept),))
        names = [
            name for (name,) in self._own.execute("SELECT name FROM kept.sqlite_master WHERE type = 'table'")
        ]
        self._keys, self._columns = dict[str, list[str]](), dict[str, str]()
        for name in names:
            columns = [*self._own.execute(f'PRAGMA table_info("{name}")')]
            self._keys[name] = [one["name"] for one in columns if one["pk"]] or [
                one["name"] for one in columns
            ]
            self._columns[name] = ", ".join(["rowid", *(f'"{one["name"]}"' for one in columns)])
        self._own.execute("CREATE TABLE touched (name, place, UNIQUE (name, place))")
        for name in names:
            for act, row in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("UPDATE", "OLD"), ("DELETE", "OLD")):
                note = f"INSERT OR IGNORE INTO touched VALUES ('{name}', {row}.rowid)"  # noqa: S608
                self._own.execute(
                    f'CREATE TRIGGER "{name} {act} {row}" AFTER {act} ON "{name}" BEGIN {note}; END'
                )
        self._tables = self.tables()

    def __call__(self, who: str, method: str, path: str, body: Any = None) -> Any:
        return self.clinic.call(self.tokens[who], method, path, body)

    def put_back(self) -> None:
        self._own.execute("BEGIN IMMEDIATE")
        for name, place in self._touched():
            self._own.execute(f'DELETE FROM main."{name}" WHERE rowid = ?', (place,))  # noqa: S608
            columns = self._columns[name]
            row = f'SELECT {columns} FROM kept."{name}" WHERE rowid = ?'  # noqa: S608
            self._own.execute(f'INSERT INTO main."{name}" ({columns}) {row}', (place,))
        self._own.execute("DELETE FROM touched")
        self._own.execute("COMMIT")

    def tables(self) -> dict[str, dict[str, Any]]:
        """Every row as it is, by its table and key."""
        return dict(row for name in self._keys for row in self._read("main", name))

    def written(self) -> list[str]:
        """What is different from the sample: columns of rows that were added, changed or removed."""
        before, now = (
            dict(row for name, place in self._touched() for row in self._read(where, name, place))
            for where in ("kept", "main")
        )
        return sorted(
            self._change(key, before.get(key), now.get(key))
            for key in {*now, *before}
            if before.get(key) != now.get(key)
        )

    def close(self) -> None:
        """Fail if something was written past the triggers."""
        assert self.tables() == self._tables
        self._own.close()

    def _touched(self) -> list[tuple[str, int]]:
        return [(name, place) for name, place in self._own.execute("SELECT name, place FROM touched")]

    def _read(self, where: str, name: str, place: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the rows of a table, or the one at this place, of the sample or as it is."""
        at = "" if place is None else f" WHERE rowid = {place}"
        for row in self._own.execute(f'SELECT * FROM {where}."{name}"{at}'):  # noqa: S608
            yield f"{name} {'/'.join(str(row[key]) for key in self._keys[name])}", dict(row)

    @staticmethod
    def _change(key: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> str:
        lines = [f"{'~' if before and after else '+' if after else '-'} {key}"]
        for name, one in (after or {}).items():
            if one is not None if before is None else before[name] != one:
                lines.append(line(f"    {name}: {one}"))
        return plain("\n".join(lines))

    def rows(self, table: str, **where: str) -> list[dict[str, Any]]:
        """The sample's rows of a table, in an order that isn't by chance."""
        found = [row for key, row in self._tables.items() if key.startswith(f"{table} ")]
        found = [row for row in found if all(row[name] == value for name, value in where.items())]
        return sorted(found, key=lambda row: plain(str(row)))

    def stamp_of(self, id_: str) -> str:
        """The concurrency stamp of the record with this id."""
        rows = (
            row for key, row in self._tables.items() if key.endswith(f" {id_}") and "concurrency_stamp" in row
        )
        return str(next(rows)["concurrency_stamp"])


def _end_overdue_just_now(session: Session) -> None:
    """Let forms whose time to be signed is over end this very moment."""
    overdue = ConsentForm.status.in_(OPEN), ConsentForm.expires_at < DAY
    session.execute(update(ConsentForm).where(*overdue).values(expires_at=DAY))


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    made = Ledger(tmp_path_factory.mktemp("ledger"))
    yield made
    made.close()
    with made.clinic.app.app_context():
        database.engine().dispose()


def plain(text: str) -> str:
    """The text without what is made by chance."""
    return _BY_CHANCE.sub("…", text)


def line(text: str) -> str:
    """One line of a ledger: a long one by its beginning and a sum."""
    text = plain(" ".join(text.split("\n")))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 20]}… {sum_of(text)}"


def sum_of(text: str) -> str:
    return blake2b(text.encode(), digest_size=6).hexdigest()


def answer_of(answer: Any) -> str:
    """Status, and the body as JSON; of a file its length."""
    if answer.content_type == "application/json":
        return f"{answer.status_code} {json.dumps(answer.get_json(), sort_keys=True, ensure_ascii=False)}"
    return f"{answer.status_code} {answer.content_type or ''} {len(answer.data)}".strip()


def refusal_of(answer: Any) -> str:
    """Status, the rule's code, and the members that are wrong."""
    error = (answer.get_json(silent=True) or {}).get("error") or {}
    wrong = sorted({name for one in error.get("validationErrors") or () for name in one["members"]})
    return " ".join(filter(None, [str(answer.status_code), error.get("code") or "", *wrong]))


def compare(name: str, told: list[str]) -> None:
    path = FOLDER / f"{name}.txt"
    if os.environ.get("WRITE_FACTS"):
        FOLDER.mkdir(exist_ok=True)
        path.write_text("\n".join(told) + "\n", encoding="utf-8")
    expected = path.read_text(encoding="utf-8").splitlines()
    other = "\n".join(difflib.unified_diff(expected, told, "expected", "now", lineterm="", n=2))
    assert not other, (
        f"{other}\nIf this is meant, run WRITE_FACTS=1 make t F=tests/careservice/api/test_ledger.py"
    )


@dataclass(frozen=True)
class Act:
    """What `who` may try, or everybody does: of the record with the id `of` it sends the stamp."""

    method: str
    path: str
    body: Any = None
    of: str = ""
    who: tuple[str, ...] = tuple(EVERYBODY)
    note: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.method, self.path, self.note)))


def sent(kind: type[Any], row: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A record as a change of it is sent, from its row; what isn't JSON there stands as it is."""
    body: dict[str, Any] = {}
    for one in msgspec.structs.fields(kind):
        if one.name in row:
            value = row[one.name]
            is_json = isinstance(value, str) and value[:1] in "[{"
            body[one.encode_name] = json.loads(value) if is_json else value
    return {**body, **changes}


def one_of_each(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    """The rows of which none before has the same in these columns."""
    return [*{tuple(row[name] for name in names): row for row in reversed(rows)}.values()][::-1]


def signatures(ledger: Ledger) -> Iterator[Act]:
    """A form of each kind is signed, and withdrawn, by everybody: as what they are asked to sign as, else as the patient."""
    accounts = {row["id"] for row in ledger.rows("patients") if row["user_id"]}
    every = [row | {"has": row["patient_id"] in accounts} for row in ledger.rows("consent_forms")]
    for row in one_of_each(every, "tenant_id", "status", "has", "kind"):
        signers = ledger.rows("consent_signers", form_id=row["id"])
        for person in PEOPLE:
            role = next((one["role"] for one in signers if one["person_id"] == person.id), "Patient")
            statements = [] if role in STAFF_ROLES else [one["id"] for one in json.loads(row["statements"])]
            body = {
                "signerRole": role,
                "method": "TypedName",
                "signature": person.name,
                "acknowledgedStatementIds": statements,
                "contentHash": row["content_hash"],
                "language": "en",
            }
            yield Act(
                "POST", f"{CONSENTS}/{row['id']}/sign", body, row["id"], (person.username,), person.username
            )
        yield Act("POST", f"{CONSENTS}/{row['id']}/revoke", {"reason": "Not now."}, row["id"])
        told = {"toldAt": "2026-11-23T15:00:00Z", "toldBy": "Telephone"}
        for one in signers:
            body = {"reason": "Told us.", "onBehalfOf": one["person_id"], **told}
            staff = ("nora", "victor", "ada")
            yield Act("POST", f"{CONSENTS}/{row['id']}/revoke", body, row["id"], staff, f"for {one['role']}")


def forms(_ledger: Ledger) -> Iterator[Act]:
    """A new form by everybody; then by a nurse of each kind and wish, and with each member left out."""
    new = form(title="Consent to a test")
    yield Act("POST", CONSENTS, new)
    nurse = ("nora",)
    embryos = [sample_id("embryo", "GO-3")]
    grace = {"patientId": sample_id("patient", "grace"), "episodeId": sample_id("episode", "grace-2")}
    alone = new | grace | {"partnerId": None, "requiredSigners": [signer("Patient", "grace")]}
    for kind in (
        "Treatment",
        "Disposition",
        "Donation",
        "Storage",
        "StorageRenewal",
        "Research",
        "GeneticTesting",
    ):
        for wish in (None, *Disposition):
            body = alone | {"kind": kind, "embryoStorageIds": embryos, "disposition": wish and wish.value}
            yield Act("POST", CONSENTS, body, who=nurse, note=f"{kind} {wish and wish.value}")
    for member in new:
        yield Act("POST", CONSENTS, {**new, member: None}, who=nurse, note=f"{member} null")
    for member, value in (
        ("requiredSigners", [signer("Patient", "grace")]),
        ("requiredSigners", [signer("Patient", "amelia"), signer("Patient", "amelia")]),
        ("requiredSigners", [signer("Patient", "amelia"), signer("Clinician", "victor", 2)]),
        ("signingOrder", "Sequential"),
        ("expiresAt", "2026-11-24T10:30:00Z"),
        ("expiresAt", "2026-11-24T10:30:01Z"),
        ("procedureDate", "2026-11-23"),
        ("supersedesId", sample_id("consent", "amelia-treatment-2")),
        ("supersedesId", sample_id("consent", "amelia-genetic")),
        ("supersedesId", sample_id("consent", "grace-treatment")),
        ("caseId", sample_id("case", "grace")),
        ("episodeId", sample_id("episode", "grace-2")),
        ("partnerId", sample_id("patient", "grace")),
    ):
        yield Act("POST", CONSENTS, {**new, member: value}, who=nurse, note=f"{member} {json.dumps(value)}")


def embryos(ledger: Ledger) -> Iterator[Act]:
    """Every embryo gets every status from the laboratory, and every wish from the patients."""
    for row in one_of_each(ledger.rows("embryo_storage"), "tenant_id", "status", "disposition"):
        path = f"/api/care/embryo-storage/{row['id']}"
        for status in EmbryoStatus:
            yield Act("PUT", path, {"status": status.value}, row["id"], ("elif",), f"status {status.value}")
        for wish in Disposition:
            people = ("amelia", "grace", "maya")
            yield Act("PUT", path, {"disposition": wish.value}, row["id"], people, f"wish {wish.value}")
    yield Act("PUT", path, {"notes": "Looked at."}, row["id"], note="notes")
    yield Act("PUT", path, {"location": None, "storageExpiresAt": None}, row["id"], note="location")


def records(ledger: Ledger) -> Iterator[Act]:
    """Patients, cases and plans are changed by everybody, by one with each member left out."""
    for table, path, kind, editor, change in (
        ("patients", "/api/care/patients", PatientDetails, "nora", {"preferredName": "Sam"}),
        ("cases", "/api/care/cases", CaseChange, "victor", {"notes": "Seen."}),
        ("protocols", PROTOCOLS, ProtocolPlan, "victor", {"description": "As agreed."}),
    ):
        rows = ledger.rows(table)
        for row in one_of_each(rows, "tenant_id"):
            yield Act("PUT", f"{path}/{row['id']}", sent(kind, row, **change), row["id"])
        for member in (body := sent(kind, rows[0], **change)):
            for value in (None, ""):
                changed = {**body, member: value}
                yield Act(
                    "PUT", f"{path}/{rows[0]['id']}", changed, rows[0]["id"], (editor,), f"{member} {value!r}"
                )
        if kind is ProtocolPlan:
            yield Act("POST", PROTOCOLS, body)
            for status in ProtocolStatus:
                for row in one_of_each(rows, "tenant_id", "status"):
                    changed = sent(kind, row, status=status.value)
                    yield Act("PUT", f"{path}/{row['id']}", changed, row["id"], ("victor",), status.value)
    for row in one_of_each(ledger.rows("relationships"), "tenant_id", "type", "end_date"):
        yield Act("DELETE", f"/api/care/relationships/{row['id']}")
    for row in ledger.rows("emr_endpoints"):
        yield Act("DELETE", f"/api/emr-integration/endpoints/{row['id']}")
    folders = ledger.rows("directories")
    for row in folders:
        for to in (None, *(one["id"] for one in folders)):
            body = {"id": row["id"], "newParentId": to}
            yield Act(
                "POST",
                "/api/document-management/directory-descriptor/move",
                body,
                row["id"],
                ("nora",),
                f"to {to}",
            )


def messages(ledger: Ledger) -> Iterator[Act]:
    """Messages and conversations are archived and restored, notifications read, settings changed."""
    people = ("amelia", "daniel", "grace", "nora", "omar")
    for row in one_of_each(ledger.rows("messages"), "conversation_id", "side"):
        for what in ("archive", "restore"):
            yield Act("POST", f"/api/app/messaging/{what}-message/{row['id']}", who=people)
    for row in ledger.rows("conversations"):
        yield Act(
            "POST", "/api/messaging/archive", {"conversationIds": [row["id"]]}, who=people, note=row["id"]
        )
    for value in (True, False):
        yield Act("PUT", NOTIFICATIONS, {"isRead": value, "all": True}, note=f"all {value}")
        for row in one_of_each(ledger.rows("notifications"), "person_id", "type", "is_read"):
            body = {"isRead": value, "ids": [row["id"]]}
            yield Act(
                "PUT", NOTIFICATIONS, body, who=("amelia", "nora", "colin"), note=f"{row['id']} {value}"
            )
    for person in PEOPLE:
        body = {
            "items": [{"type": "Message", "inApp": True, "email": False, "sms": False, "push": True}],
            "quietHours": {"start": "22:00", "end": "06:30", "timeZone": "Europe/London"},
            "language": "es",
            "concurrencyStamp": person.id,
        }
        yield Act("PUT", f"{NOTIFICATIONS}/settings", body, who=(person.username,), note=person.username)


def prospects(ledger: Ledger) -> Iterator[Act]:
    """Enquiries are merged with one another, and get windows: at work and not, taken and not, of every length."""
    rows = ledger.rows("prospects")
    for row in rows:
        for other in rows:
            path = f"/api/prospect/records/{row['id']}/merge/{other['id']}"
            yield Act("POST", path, {"fieldChoices": {"email": "merged"}}, who=("colin",))
    one = f"/api/prospect/records/{sample_id('prospect', 'tomasz')}/book-window"
    for physician in ledger.rows("physicians"):
        for start, end in (
            ("2026-11-26T10:00:00Z", "2026-11-26T10:30:00Z"),
            ("2026-11-26T10:00:00Z", "2026-11-26T10:09:00Z"),
            ("2026-11-26T10:00:00Z", "2026-11-26T14:00:00Z"),
            ("2026-11-26T10:00:00Z", "2026-11-26T14:01:00Z"),
            ("2026-11-26T04:00:00Z", "2026-11-26T04:30:00Z"),
            ("2026-11-24T10:30:00Z", "2026-11-24T11:00:00Z"),
            ("2026-11-24T10:00:00Z", "2026-11-24T10:30:00Z"),
        ):
            body = {
                "physicianId": physician["id"],
                "locationId": physician["location_id"],
                "start": start,
                "end": end,
                "timeZone": "Europe/London",
                "appointmentType": "Consultation",
            }
            yield Act("POST", one, body, who=("colin",), note=f"{physician['id']} {start} {end}")
    yield Act("POST", one, body)
    for row in rows:
        path = f"/api/prospect/records/{row['id']}/book-window"
        for day in (26, 27, 30):
            begin = {"start": f"2026-11-{day}T11:00:00Z", "end": f"2026-11-{day}T11:30:00Z"}
            yield Act("POST", path, {**body, **begin}, who=("colin", "nora", "omar"), note=str(day))


@pytest.mark.parametrize(
    "made", [signatures, forms, embryos, records, messages, prospects], ids=lambda one: one.__name__
)
def test_an_act_writes_and_answers_what_it_should(
    ledger: Ledger, made: Callable[[Ledger], Iterator[Act]]
) -> None:
    told: list[str] = []
    shown: set[str] = set()
    for act in made(ledger):
        outcomes: dict[str, list[str]] = {}
        for who in act.who:
            body = act.body | {"concurrencyStamp": ledger.stamp_of(act.of)} if act.of else act.body
            answer = ledger(who, act.method, act.path, body)
            if answer.status_code >= 300:
                refusal = refusal_of(answer)
                assert refusal in outcomes or not ledger.written(), (
                    f"{act.name}: {who} is refused, and yet it writes"
                )
                outcomes.setdefault(refusal, []).append(who)
                continue
            lines = [line(answer_of(answer)), *ledger.written()]
            ledger.put_back()
            kind = f"{act.method} {_ID.sub('…', act.path)}"
            if kind in shown:
                lines = [f"{answer.status_code} {len(lines)} {sum_of(chr(10).join(lines))}"]
            shown.add(kind)
            outcomes.setdefault("\n".join(lines), []).append(who)
        told.append(f"== {act.name}")
        told += [
            row
            for outcome, people in outcomes.items()
            for row in f"{' '.join(people)}: {outcome}".split("\n")
        ]
    compare(made.__name__, told)


QUERIES: tuple[tuple[str, str], ...] = (
    *((CONSENTS, f"Status={status.value}") for status in ConsentStatus),
    *((CONSENTS, f"WaitsFor={person.id}") for person in PEOPLE),
    *(
        (CONSENTS, query)
        for query in ("DueFrom=2026-11-24", "DueTo=2026-11-24", "Filter=tre", "Filter=Hart", "Filter=RV")
    ),
    (CONSENTS, f"PatientId={sample_id('patient', 'grace')}"),
    (CONSENTS, f"EpisodeId={sample_id('episode', 'amelia-1')}"),
    (CONSENTS, f"CaseId={sample_id('case', 'grace')}"),
    *(
        (PROTOCOLS, query)
        for query in (
            "Filter=ant",
            "Status=Active",
            "Type=IvfAntagonist",
            f"PatientId={sample_id('patient', 'amelia')}",
        )
    ),
    *(
        (PHYSICIANS, query)
        for query in (
            "From=2026-11-24&To=2026-12-01",
            "Filter=vic",
            f"LocationId={sample_id('location', 'Harbourside')}",
        )
    ),
    *((CONVERSATIONS, query) for query in ("IncludeArchived=true", "Filter=scan")),
    *((NOTIFICATIONS, query) for query in ("IsRead=false", "IsRead=true", "Type=Message", "Filter=form")),
    (f"{NOTIFICATIONS}/settings", ""),
)
SORTINGS = {
    CONSENTS: consents.SORTABLE,
    PROTOCOLS: protocols.SORTABLE,
    CONVERSATIONS: conversations.SORTABLE,
    NOTIFICATIONS: notifications.SORTABLE,
    PHYSICIANS: physicians.SORTABLE,
}


def reads(ledger: Ledger, *, are_all: bool) -> Iterator[tuple[str, Sequence[str]]]:
    """Addresses, and who reads them: every list, filtered; `are_all`: and in every order, and a record of each kind."""
    for path, query in QUERIES:
        yield f"{path}?{query}", EVERYBODY
    for path, names in SORTINGS.items():
        yield path, EVERYBODY
        if not are_all:
            continue
        yield f"{path}?SkipCount=2&MaxResultCount=3", EVERYBODY
        for name in names:
            yield from (
                (f"{path}?Sorting={quote(f'{name} {way}')}", ("nora", "amelia")) for way in ("asc", "desc")
            )
    if not are_all:
        return
    for table, path, *names in (
        ("consent_forms", f"{CONSENTS}/", "tenant_id", "status", "kind"),
        ("protocols", f"{PROTOCOLS}/", "id"),
        ("episodes", f"{EPISODES}/", "tenant_id", "stage", "outcome", "partner_id"),
        ("pgt_results", "/api/care/pgt-results/", "id"),
        ("files", FILE, "directory_id", "media_type"),
    ):
        yield from ((path + row["id"], EVERYBODY) for row in one_of_each(ledger.rows(table), *names))


def answers(ledger: Ledger, moment: datetime, *, are_all: bool) -> Iterator[str]:
    """Yield each address, who reads the same there, and a sum of it."""
    ledger.clinic.moment = moment
    tokens = {who: ledger.clinic.token(who) for who in EVERYBODY}
    for address, people in reads(ledger, are_all=are_all):
        alike: dict[str, list[str]] = {}
        for who in people:
            text = plain(answer_of(ledger.clinic.call(tokens[who], "GET", address)))
            alike.setdefault(text, []).append(who)
        for text, readers in alike.items():
            yield f"{address} {' '.join(readers)}: {text}"
    ledger.clinic.moment = DAY
    ledger.put_back()


def test_a_read_answers_what_each_person_may_see(ledger: Ledger) -> None:
    """On that day; and what of it is different ten years later."""
    told = [*answers(ledger, DAY, are_all=True)]
    then = answers(ledger, DAY + timedelta(days=3700), are_all=False)
    later = [one for one in then if one not in told]
    if os.environ.get("WRITE_FACTS"):
        FULL_ANSWERS.mkdir(parents=True, exist_ok=True)
        (FULL_ANSWERS / "reads.txt").write_text("\n".join([*told, "", *later]), encoding="utf-8")
    compare("reads", [*map(summed, told), "== ten years later", *map(summed, later)])


def summed(answer: str) -> str:
    """An answer by its sum; a refusal as it is."""
    head, _, text = answer.partition(": ")
    return f"{head}: {f'200 {sum_of(text)}' if text.startswith('200') else text}"
