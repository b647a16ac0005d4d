"""The audit stream: what a line contains, and that every change, addition or removal is detected."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from portal.audit import signature
from portal.audit.checkpoints import Checkpoint, Checkpoints
from portal.audit.output import StderrOutput
from portal.audit.trail import Audit, pseudonym
from portal.audit.verify import ChainResult, ChainVerdict, report, verify
from portal.store import Store, StoreDown, open_store
from tests.support.clock import Clock
from tests.support.redis_server import RedisServer
from tests.support.stack import ROOT

KEY = "a-key-for-tests-a-key-for-tests-a-key-for-tests"


class Stream:
    """An audit stream written to a folder, and its verification."""

    def __init__(self, folder: Path, store: Store, clock: Clock, target: str = "") -> None:
        self.folder = folder
        self.clock = clock
        self.checkpoints = Checkpoints(store, clock)
        self.audit = Audit(target or str(folder), KEY, clock, self.checkpoints)

    def record(self, times: int = 1, event: str = "page") -> None:
        for number in range(times):
            self.clock.now += 1
            self.audit.record(event, "done", tenant="riverside", request_id=f"{number:08}", actor="amelia")

    def file(self) -> Path:
        (file,) = self.folder.glob("*.jsonl")
        return file

    def lines(self) -> list[str]:
        return self.file().read_text().splitlines()

    def write(self, lines: list[str]) -> None:
        self.file().write_text("".join(f"{line}\n" for line in lines))

    def found(self) -> ChainResult:
        (finding,) = verify([self.folder], self.checkpoints.all(), [KEY])
        return finding


@pytest.fixture
def stream(tmp_path: Path, store: Store, clock: Clock) -> Iterator[Stream]:
    made = Stream(tmp_path / "audit", store, clock)
    yield made
    made.audit.close()


@pytest.fixture
def finished(stream: Stream) -> Stream:
    """A process that recorded five events and ended."""
    stream.record(5)
    stream.audit.close()
    return stream


@pytest.mark.asvs("16.2.4")
def test_each_line_has_its_chain_its_number_and_the_hash_of_the_previous_line(finished: Stream) -> None:
    before = "begin"
    for number, line in enumerate(finished.lines(), 1):
        read = json.loads(line)
        assert (read["chain"], read["line"], read["before"]) == (finished.file().stem, number, before)
        before = hashlib.sha256(line.encode()).hexdigest()


def test_a_pseudonym_depends_on_the_secret_key(finished: Stream, tmp_path: Path) -> None:
    assert "amelia" not in finished.file().read_text()
    other = Audit(str(tmp_path), KEY[::-1], finished.clock, finished.checkpoints)
    assert finished.audit.pseudonym("amelia") == json.loads(finished.lines()[0])["actor"]
    assert finished.audit.pseudonym("amelia") != other.pseudonym("amelia")


def test_somebodys_pseudonym_stays_the_same_from_release_to_release() -> None:
    """Lines of years are read together."""
    assert pseudonym("a secret key of thirty-two letters", "amelia") == "b391c3e406816735ff9192a5"


@pytest.mark.parametrize(
    "text", ["a\nb", "a\r\nb", "\u2028", "\x85", '"}\n{"audit":"forged"}', "\x00", "\ud800"[:0]]
)
@pytest.mark.asvs("16.4.1")
def test_a_line_break_in_a_field_does_not_start_another_line(stream: Stream, text: str) -> None:
    stream.audit.record(text, text, tenant=text, request_id=text, actor=text, role=text, kind=text, id_=text)
    stream.record()
    stream.audit.close()
    assert stream.file().read_bytes().count(b"\n") == 2
    assert stream.found().verdict is ChainVerdict.GOOD


def test_an_untouched_file_verifies_up_to_its_last_line(finished: Stream) -> None:
    found = finished.found()
    assert (found.verdict, found.where) == (ChainVerdict.GOOD, str(finished.file()))
    assert "5 lines" in found.words
    assert "fully checkpointed" in found.words
    assert "1 chains: 1 good, 0 unvouched, 0 bad." in report([found])


def changed(lines: list[str]) -> list[str]:
    return [lines[0], lines[1].replace('"done"', '"refused"'), *lines[2:]]


def rewritten(lines: list[str]) -> list[str]:
    """The second line changed, and every hash after it made to fit."""
    made = [lines[0]]
    for line in changed(lines)[1:]:
        before = hashlib.sha256(made[-1].encode()).hexdigest()
        made.append(msgspec.json.encode({**json.loads(line), "before": before}).decode())
    return made


def forged(lines: list[str]) -> list[str]:
    """Lines like those of a portal that signed none, in a chain of which the store knows nothing."""
    made, before = list[str](), "begin"
    for line in lines:
        told = {**json.loads(line), "before": before, "chain": "audit-20261120T100000-7-abcdef01"}
        made.append(msgspec.json.encode({n: v for n, v in told.items() if n not in ("key", "mac")}).decode())
        before = hashlib.sha256(made[-1].encode()).hexdigest()
    return made


def added(lines: list[str]) -> list[str]:
    """A line after the last, with a number and a hash that fit."""
    last = json.loads(lines[-1])
    before = hashlib.sha256(lines[-1].encode()).hexdigest()
    return [*lines, msgspec.json.encode({**last, "line": last["line"] + 1, "before": before}).decode()]


def added_with_the_key(lines: list[str]) -> list[str]:
    """The same, signed as the process would have."""
    told = {name: value for name, value in json.loads(added(lines)[-1]).items() if name != "mac"}
    return [
        *lines,
        signature.signed(msgspec.json.encode(told), signature.keys_of([KEY])[_name(KEY)]).decode(),
    ]


@pytest.mark.parametrize(
    ("tamper", "verdict", "said"),
    [
        (changed, ChainVerdict.BROKEN, "broken at line 2"),
        (rewritten, ChainVerdict.BROKEN, "broken at line 2"),
        (forged, ChainVerdict.UNVOUCHED, "line 1 isn't signed"),
        (
            lambda lines: [*lines[:4], lines[4].replace("page", "home")],
            ChainVerdict.BROKEN,
            "broken at line 5",
        ),
        (lambda lines: [*lines[:2], *lines[3:]], ChainVerdict.BROKEN, "broken at line 3"),
        (lambda lines: lines[1:], ChainVerdict.BROKEN, "broken at line 1"),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], ChainVerdict.BROKEN, "broken at line 3"),
        (lambda lines: [*lines[:2], "not a record", *lines[2:]], ChainVerdict.BROKEN, "broken at line 3"),
        (added, ChainVerdict.BROKEN, "broken at line 6"),
        (added_with_the_key, ChainVerdict.BROKEN, "the process ended with line 5"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], ChainVerdict.BROKEN, "broken at line 2"),
        (lambda lines: lines[:3], ChainVerdict.TRUNCATED, "the last 2 are gone"),
        (lambda lines: [], ChainVerdict.MISSING, "5 lines were written"),
    ],
    ids=[
        *(
            "changed",
            "rewritten",
            "forged",
            "last-changed",
            "removed",
            "first-removed",
            "copied",
            "foreign",
            "added",
            "added-with-the-key",
        ),
        *("reordered", "truncated", "emptied"),
    ],
)
@pytest.mark.asvs("16.4.2")
def test_tampering_is_reported_with_its_line(
    finished: Stream, tamper: Callable[[list[str]], list[str]], verdict: ChainVerdict, said: str
) -> None:
    finished.write(tamper(finished.lines()))
    bad = [one for one in verify([finished.folder], finished.checkpoints.all(), [KEY]) if not one.holds]
    assert bad[0].verdict is verdict
    assert said in bad[0].words


@pytest.mark.asvs("16.4.2")
def test_a_deleted_file_is_reported_by_name(finished: Stream) -> None:
    name = finished.file().stem
    finished.file().unlink()
    found = finished.found()
    assert (found.verdict, found.where) == (ChainVerdict.MISSING, name)
    assert "5 lines were written on host" in found.words
    assert str(finished.folder) in found.words


def test_a_file_that_is_moved_away_while_it_is_written_loses_no_line(stream: Stream, tmp_path: Path) -> None:
    stream.record(3)
    archive = tmp_path / "archive" / stream.file().name
    archive.parent.mkdir()
    archive.write_bytes(stream.file().read_bytes())
    stream.file().unlink()
    stream.audit.probe()
    stream.record()
    stream.audit.assure()
    stream.record()
    stream.audit.close()
    for thread in threading.enumerate():
        if thread.name == "audit":
            thread.join(10)
    assert all(checkpoint.closed for checkpoint in stream.checkpoints.all())
    found = verify([archive.parent, stream.folder], stream.checkpoints.all(), [KEY])
    assert [(chain.verdict, chain.words[:7]) for chain in found] == [
        (ChainVerdict.GOOD, "3 lines"),
        (ChainVerdict.GOOD, "2 lines"),
    ]


def test_two_chains_are_verified_separately(finished: Stream) -> None:
    finished.record(2)
    finished.audit.close()
    one, other = sorted(finished.folder.glob("*.jsonl"))
    assert all(
        found.verdict is ChainVerdict.GOOD
        for found in verify([finished.folder], finished.checkpoints.all(), [KEY])
    )
    other.write_bytes(one.read_bytes())
    verdicts = {found.verdict for found in verify([finished.folder], finished.checkpoints.all(), [KEY])}
    assert verdicts == {ChainVerdict.BROKEN, ChainVerdict.MISSING}


def test_lines_after_the_last_checkpoint_verify(stream: Stream) -> None:
    stream.record(2)
    checkpoint_now(stream)
    stream.record(3)
    assert "checkpointed up to line 2" in stream.found().words
    assert stream.found().verdict is ChainVerdict.GOOD


def test_a_line_that_others_add_to_a_killed_process_s_chain_is_broken(stream: Stream) -> None:
    """With numbers and hashes that fit, a signature under a key of the forger's own, and dated soon after the others."""
    stream.record(2)
    checkpoint_now(stream)
    lines = stream.lines()
    last = json.loads(lines[-1])
    before = hashlib.sha256(lines[-1].encode()).hexdigest()
    added = {**last, "audit": "consent.sign", "line": 3, "before": before}
    for key, verdict in (("f" * 40, ChainVerdict.UNVOUCHED), (KEY, ChainVerdict.BROKEN)):
        ((name, _),) = signature.keys_of([key]).items()
        told = {member: value for member, value in {**added, "key": name}.items() if member != "mac"}
        line = signature.signed(msgspec.json.encode(told), signature.keys_of(["f" * 40])[_name("f" * 40)])
        stream.write([*lines, line.decode()])
        assert stream.found().verdict is verdict


def _name(key: str) -> str:
    ((name, _),) = signature.keys_of([key]).items()
    return name


def test_lines_long_after_the_last_checkpoint_are_unvouched(stream: Stream) -> None:
    """Of a process that was killed while the store was down."""
    stream.record(2)
    checkpoint_now(stream)
    stream.clock.now += 59
    stream.record()
    assert stream.found().verdict is ChainVerdict.GOOD
    stream.record()
    found = stream.found()
    assert found.verdict is ChainVerdict.UNVOUCHED and not found.holds
    assert "line 4 of" in found.words and "by more than a minute" in found.words


def test_a_quiet_chain_is_checkpointed_again_so_that_its_next_line_is_vouched_for(stream: Stream) -> None:
    stream.record()
    checkpoint_now(stream)
    stream.clock.now += 600
    chain = stream.audit._chain
    assert chain is not None
    stream.audit.checkpoint(chain, again=True)
    stream.record()
    assert stream.found().verdict is ChainVerdict.GOOD


def test_lines_of_a_former_key_verify_while_it_is_listed(finished: Stream) -> None:
    newer = "n" * 40
    assert [one.verdict for one in verify([finished.folder], finished.checkpoints.all(), [newer, KEY])] == [
        ChainVerdict.GOOD
    ]
    (found,) = verify([finished.folder], finished.checkpoints.all(), [newer])
    assert found.verdict is ChainVerdict.UNVOUCHED
    assert f"signed under the key {_name(KEY)}, which isn't listed" in found.words


def test_a_chain_is_checkpointed_soon_after_its_first_line(stream: Stream) -> None:
    put = threading.Event()
    stream.checkpoints.put, checkpoint = lambda one: (checkpoint(one), put.set()), stream.checkpoints.put  # type: ignore[method-assign]
    stream.record()
    assert put.wait(10)
    (found,) = stream.checkpoints.all()
    assert (found.lines, found.chain) == (1, stream.file().stem)


def test_a_chain_without_a_checkpoint_is_reported_as_unvouched(finished: Stream) -> None:
    (finding,) = verify([finished.folder], [], [KEY])
    assert finding.verdict is ChainVerdict.UNVOUCHED
    assert "lines may be missing at the end" in report([finding])


def test_checkpoints_are_kept_for_the_configured_time(finished: Stream) -> None:
    finished.clock.now += 399 * 24 * 3600
    assert finished.found().verdict is ChainVerdict.GOOD
    finished.clock.now += 2 * 24 * 3600
    assert finished.found().verdict is ChainVerdict.UNVOUCHED


def test_events_are_written_while_the_store_is_down_and_checkpointed_afterwards(
    finished: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:

        def down(checkpoint: Checkpoint) -> None:
            raise StoreDown("down")

        patched.setattr(finished.checkpoints, "put", down)
        finished.record(3)
        checkpoint_now(finished)
    newest = max(finished.folder.glob("*.jsonl"))
    assert len(newest.read_text().splitlines()) == 3
    assert newest.stem not in [one.chain for one in finished.checkpoints.all()]
    checkpoint_now(finished)
    assert [one.lines for one in finished.checkpoints.all() if one.chain == newest.stem] == [3]


def test_audit_lines_are_written_to_a_stderr_that_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    replaced = io.StringIO()
    monkeypatch.setattr(sys, "stderr", replaced)
    StderrOutput().write(b'{"line":1}\n', is_promised=False)
    assert replaced.getvalue() == '{"line":1}\n'


def test_audit_lines_of_several_processes_are_verified_from_a_mixed_log(
    tmp_path: Path, store: Store, clock: Clock, capfd: pytest.CaptureFixture[str]
) -> None:
    one, other = (Stream(tmp_path, store, clock, target="stderr") for _ in range(2))
    for _ in range(3):
        one.record()
        sys.stderr.write('{"message":"GET"}\n')
        other.record(2)
    one.audit.close()
    other.audit.close()
    log = tmp_path / "portal.log"
    captured = capfd.readouterr().err
    log.write_text("".join(f"Nov 20 10:00:00 host portal[7]: {line}\n" for line in captured.splitlines()))
    found = verify([log], one.checkpoints.all(), [KEY])
    assert [finding.verdict for finding in found] == [ChainVerdict.GOOD, ChainVerdict.GOOD]
    kept = [line for line in log.read_text().splitlines() if '"line":2' not in line]
    log.write_text("".join(f"{line}\n" for line in kept))
    found = verify([log], one.checkpoints.all(), [KEY])
    assert [finding.verdict for finding in found] == [ChainVerdict.BROKEN, ChainVerdict.BROKEN]


def test_a_forked_process_begins_its_own_chain(tmp_path: Path) -> None:
    """Run apart, because the tests' own process has threads that a fork would leave behind."""
    script = f"""
import os, time
from portal.audit.checkpoints import Checkpoints
from portal.audit.trail import Audit
from portal.store import open_store
store = open_store("sqlite:///{tmp_path}/store.db", time.time)
audit = Audit("{tmp_path}/audit", "{KEY}", time.time, Checkpoints(store, time.time))
record = lambda: audit.record("page", "done", tenant="t", request_id="r")
record()
while not audit._chain.checkpointed[0]:
    time.sleep(0.01)
child = os.fork()
record()
if child:
    os.waitpid(child, 0)
    record()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], cwd=ROOT, check=True, timeout=60)
    checkpoints = Checkpoints(open_store(f"sqlite:///{tmp_path}/store.db", _far_behind), _far_behind)
    found = verify([tmp_path / "audit"], checkpoints.all(), [KEY])
    assert sorted(finding.words.partition(",")[0] for finding in found) == ["1 lines", "3 lines"]
    assert all("fully checkpointed" in finding.words for finding in found), (
        "each process must checkpoint its own chain when it ends"
    )


def _far_behind() -> float:
    return 1.0


def checkpoint_now(stream: Stream) -> None:
    """Do what the audit thread does each minute."""
    chain = stream.audit._chain
    assert chain is not None
    stream.audit.checkpoint(chain)


def test_two_portals_on_one_redis_share_checkpoints(redis_server: RedisServer, clock: Clock) -> None:
    """The parametrised `store` covers both kinds; this test checks that two portals on one Redis see each other's checkpoints."""
    redis_server.empty()
    one, other = (Checkpoints(open_store(redis_server.url, clock), clock) for _ in range(2))
    for lines in (1, 2):
        one.put(Checkpoint(chain="audit-x", lines=lines, head="h", host="one", target="stderr", at=clock.now))
    assert [checkpoint.lines for checkpoint in other.all()] == [2]
