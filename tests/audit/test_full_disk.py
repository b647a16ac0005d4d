"""A full audit disk: accepted acts are written, lost lines are counted, and no act goes unrecorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from portal.audit.checkpoints import Checkpoints
from portal.audit.output import PROMISED
from portal.audit.trail import GAP, Audit, AuditDown
from portal.audit.verify import ChainResult, ChainVerdict, report, verify
from portal.store import open_store
from tests.support.clock import Clock
from tests.support.disk import SmallDisk, small_disk
from tests.support.redis_server import RedisServer
from tests.support.signing import fresh_form, signatures, to_step
from tests.support.stack import CareService, PortalThread

KEY = "a-key-for-tests-a-key-for-tests-a-key-for-tests"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "audit") as made:
        yield made


@pytest.fixture
def checkpoints(redis_server: RedisServer, clock: Clock) -> Checkpoints:
    redis_server.empty()
    return Checkpoints(open_store(redis_server.url, clock), clock)


@pytest.fixture
def audit(disk: SmallDisk, clock: Clock, checkpoints: Checkpoints) -> Iterator[Audit]:
    made = Audit(str(disk.folder), KEY, clock, checkpoints)
    record(made, "before")
    yield made
    made.close()


def record(audit: Audit, event: str, *, is_promised: bool = False) -> None:
    audit.record(event, "done", tenant="riverside", request_id="r", actor="amelia", is_promised=is_promised)


def lines(disk: SmallDisk) -> list[dict[str, Any]]:
    (file,) = disk.folder.glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def use_up(audit: Audit, disk: SmallDisk) -> None:
    """Fill the disk, and read pages until neither their lines nor an act's fit any more."""
    disk.fill()
    while audit._gap is None:
        record(audit, "page.read")
    record(audit, "consent.sign", is_promised=True)
    record(audit, "page.read")


def found(disk: SmallDisk, checkpoints: Checkpoints) -> ChainResult:
    (finding,) = verify([disk.folder], checkpoints.all(), [KEY])
    return finding


def test_accepted_acts_are_audited_after_reads_filled_the_disk(audit: Audit, disk: SmallDisk) -> None:
    audit.assure()
    use_up(audit, disk)
    acts = PROMISED // 1024 - 1
    for _ in range(acts):
        record(audit, "consent.sign", is_promised=True)
    assert audit._gap is None, "each act must be written, the first after the gap"
    events = [line["audit"] for line in lines(disk)]
    assert events[-acts - 1 :] == [GAP, *["consent.sign"] * acts]


def test_an_act_is_refused_before_it_is_sent_while_the_disk_is_full_and_accepted_afterwards(
    audit: Audit, disk: SmallDisk
) -> None:
    use_up(audit, disk)
    for _ in range(3):
        with pytest.raises(AuditDown, match=r"ENOSPC|EFBIG"):
            audit.assure()
            record(audit, "consent.sign", is_promised=True)
            record(audit, "page.read")
    with pytest.raises(AuditDown):
        audit.probe()
    disk.free()
    audit.probe()
    audit.assure()
    record(audit, "consent.sign", is_promised=True)
    assert lines(disk)[-1]["audit"] == "consent.sign"


def test_a_gap_records_how_many_lines_are_missing_since_when_and_does_not_count_as_tampering(
    audit: Audit, disk: SmallDisk, clock: Clock, checkpoints: Checkpoints
) -> None:
    use_up(audit, disk)
    since = clock.now
    for _ in range(4):
        clock.now += 60
        record(audit, "page.read")
    disk.free()
    record(audit, "page.read")
    audit.close()
    *_, gap = [line for line in lines(disk) if line["audit"] == GAP]
    assert (gap["outcome"], gap["lost"]) == ("lost", 5)
    assert gap["since"] < gap["at"] and clock.now - since == 240
    finding = found(disk, checkpoints)
    assert finding.verdict is ChainVerdict.GAP and not finding.is_bad
    assert f"5 lines of {gap['since']} to {gap['at']} couldn't be written" in finding.words
    assert "1 chains: 0 good, 1 with gaps, 0 unvouched, 0 bad." in report([finding])


@pytest.mark.parametrize(
    "tamper",
    [
        lambda text: text.replace('"lost":1,', '"lost":2,'),
        lambda text: "".join(f"{line}\n" for line in text.splitlines() if GAP not in line),
    ],
    ids=["changed", "removed"],
)
def test_a_changed_gap_counts_as_tampering(
    audit: Audit, disk: SmallDisk, checkpoints: Checkpoints, tamper: Callable[[str], str]
) -> None:
    use_up(audit, disk)
    disk.free()
    record(audit, "page.read")
    audit.close()
    (file,) = disk.folder.glob("*.jsonl")
    file.write_text(tamper(file.read_text()))
    assert found(disk, checkpoints).verdict is ChainVerdict.BROKEN


def test_lines_lost_when_a_process_ends_are_counted_in_its_checkpoint(
    audit: Audit, disk: SmallDisk, checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_up(audit, disk)
    with monkeypatch.context() as patched:

        def fails(*_arguments: object) -> int:
            raise OSError(28, "No space left on device")

        patched.setattr("portal.audit.output.os.write", fails)  # writing to the reserved space fails too
        audit.close()
    finding = found(disk, checkpoints)
    assert finding.verdict is ChainVerdict.GAP and "; 1 lines up to" in finding.words


def test_a_process_that_could_write_no_line_at_all_leaves_a_gap(
    disk: SmallDisk, clock: Clock, checkpoints: Checkpoints
) -> None:
    disk.fill()
    audit = Audit(str(disk.folder), KEY, clock, checkpoints)
    record(audit, "page.read")
    audit.close()
    finding = found(disk, checkpoints)
    assert finding.verdict is ChainVerdict.GAP and "1 lines up to" in finding.words


def test_a_partly_written_line_is_truncated(
    audit: Audit, disk: SmallDisk, checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    write = os.write

    def half(file: int, data: Any) -> int:
        if len(data) < 100:
            raise OSError(5, "Input/output error")
        return write(file, bytes(data)[:99])

    with monkeypatch.context() as patched:
        patched.setattr("portal.audit.output.os.write", half)
        patched.setattr("portal.audit.output.os.ftruncate", lambda *_: half(0, b""))  # truncating fails too
        record(audit, "page.read")
        record(audit, "page.read")
    record(audit, "page.read")
    audit.close()
    assert [line["audit"] for line in lines(disk)] == ["before", GAP, "page.read"]
    assert found(disk, checkpoints).verdict is ChainVerdict.GAP


# ── the portal on such a disk ───────────────────────────────────────────────────────────────────────────


@pytest.fixture
def portal(service: CareService, disk: SmallDisk, redis: str) -> Iterator[PortalThread]:
    running = PortalThread(
        service.plan,
        PORTAL_AUDIT=str(disk.folder),
        PORTAL_STORE_URL=redis,
        PORTAL_METRICS_TOKEN="a token for the tests of a full disk",
    )
    yield running
    running.stop()


def test_reading_works_and_acts_are_refused_while_the_audit_disk_is_full(
    service: CareService, portal: PortalThread, disk: SmallDisk
) -> None:
    amelia = portal.sign_in("amelia")
    form = fresh_form(service.plan)
    last = to_step(amelia, form, "Sign this form")
    use_up(portal.context.audit, disk)
    for path in ("/", "/consents", form, f"{form}/sign", "/me"):
        amelia.get(path, status=200)
    refused = last.form(f"{form}/sign").submit(signature="Amelia Hart", status=503)
    assert "Nothing was signed" in refused.words
    assert signatures(amelia, form) == []
    assert portal.sign_in("daniel").get("/").status == 200, "signing in goes on"
    answer = _look_thrice(portal)
    assert answer[0] is False and "the audit trail can't be written" in answer[1]
    disk.free()
    refused.form(f"{form}/sign").submit(signature="Amelia Hart")
    assert signatures(amelia, form) == ["Amelia Hart"]
    portal.context.audit.close()
    (finding,) = verify(
        [disk.folder],
        Checkpoints(portal.context.vault.store, portal.clock).all(),
        portal.context.settings.secret_keys,
    )
    assert finding.verdict is ChainVerdict.GAP
    assert "portal_audit_lost_total" in _metrics(portal) and "portal_audit_refused_acts_total" in _metrics(
        portal
    )


def _look_thrice(portal: PortalThread) -> tuple[bool, str]:
    said = (True, "")
    for _ in range(4):
        said = portal.context.readiness.probe()
        portal.clock.advance(2)
    return said


def _metrics(portal: PortalThread) -> str:
    import requests

    headers = {"Authorization": "Bearer a token for the tests of a full disk"}
    text = requests.get(f"http://127.0.0.1:{portal.port}/metrics", headers=headers, timeout=20).text
    return "\n".join(line for line in text.splitlines() if not line.endswith(" 0.0"))
