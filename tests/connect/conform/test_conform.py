"""`conform` reports exactly what a clinic's API lacks or names differently, without any token or value."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pytest
import requests
from msgspec.structs import replace
from requests.adapters import HTTPAdapter, Retry

from portal import __main__
from portal.config.settings import Settings
from portal.connect.answers.observer import Answers
from portal.connect.conform import command
from portal.connect.conform import sign_in as sign_in_module
from portal.connect.conform.command import Options, run
from portal.connect.conform.judge import Verdict, judge
from portal.connect.conform.propose import propose
from portal.connect.conform.report import Report
from portal.connect.conform.sealed_summary import is_sealed
from portal.connect.conform.sign_in import HeldToken
from portal.connect.conform.walk import Visit, act
from portal.http.transfer import Answer
from portal.services.adapter import PLAIN
from portal.services.api import AnyEndpoint
from portal.services.client import Care
from portal.signin.flow import Started
from portal.store import open_store
from portal.store.vault import Vault
from tests.support.clock import Clock
from tests.support.conforming import AtTheClinic, Outcome
from tests.support.dialect import Dialect, DialectProxy
from tests.support.stack import CareService, free_port

FORMS = "GET /api/care/consent-forms"
FORM = f"{FORMS}/{{id}}"
EPISODE = "GET /api/patient-portal/episodes/{episodeId}"


def reread(visits: list[Visit], change: Any) -> Report:
    """What the same walk would have found before an API that answers otherwise."""
    told = [
        replace(one, body=json.dumps(change("GET", one.endpoint.template, json.loads(one.body))).encode())
        if one.media_type == "application/json"
        else one
        for one in visits
    ]
    return Report("riverside", "", "staff", judge(told, as_patient=False), propose(told, as_patient=False))


def of(report: Report, endpoint: str) -> Verdict:
    return next(one for one in report.verdicts if one.endpoint == endpoint)


class Operator(AtTheClinic):
    """Somebody who runs the command before a proxy that can speak otherwise."""

    def __init__(self, service: CareService, folder: Path) -> None:
        self.proxy = DialectProxy(service.base_url, Dialect())
        super().__init__(service, folder, self.proxy.base_url)

    def conform(self, name: str = "nora", change: Any = None, **options: Any) -> Outcome:
        with self.proxy.speaking(change=change):
            return super().conform(name, **options)


@pytest.fixture(scope="module")
def operator(service: CareService, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    running = Operator(service, tmp_path_factory.mktemp("conform"))
    yield running
    running.proxy.stop()


@pytest.fixture(scope="module")
def visits(operator: Operator) -> list[Visit]:
    """What an embryologist can reach of the service as it is."""
    walked: list[Visit] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "judge", lambda given, **how: (walked.extend(given), judge(given, **how))[1])
        found = operator.conform("elif")
    assert found.status == 0, found.text
    assert "Nothing that this person can reach is missing" in found.text
    assert tomllib.loads(found.proposal) == {}
    reads = [one for one in found.report["endpoints"] if one["endpoint"].startswith("GET ")]
    unread = [one["endpoint"] for one in reads if one["notTried"]]
    assert not unread, f"let walk in portal/connect/conform/walk.py read {unread}"
    assert {one["verdict"] for one in reads} == {"ok"}
    assert all(one["notTried"] for one in found.report["endpoints"] if one not in reads)
    return walked


def everywhere(change: Any) -> Any:
    """`change(record)` for every object of every answer."""

    def walk(method: str, path: str, answer: Any) -> Any:
        if isinstance(answer, list):
            return [walk(method, path, one) for one in answer]
        if isinstance(answer, dict):
            return change({name: walk(method, path, one) for name, one in answer.items()})
        return answer

    return walk


def renamed(**names: str) -> Any:
    """An API that calls some members otherwise, wherever they stand."""
    return everywhere(lambda record: {names.get(name, name): value for name, value in record.items()})


def test_the_embedded_care_service_conforms(operator: Operator, visits: list[Visit]) -> None:
    assert {one.status for one in visits} == {200}
    found = operator.conform("grace")
    assert found.status == 0, found.text


def test_renamed_members_are_reported_and_nothing_else(visits: list[Visit]) -> None:
    names = {"alerts": "warnings", "holdReason": "reasonForHold", "medications": "drugs"}
    found = reread(visits, renamed(**names, statutoryLimit="statutoryLimitDate"))
    assert found.status == 1, found.text()
    assert of(found, EPISODE).missing == [
        *(
            "EmbryoStorage.holdReason",
            "EmbryoStorage.statutoryLimit",
            "Episode.alerts",
            "Protocol.medications",
        )
    ]
    assert {"EmbryoStorage.reasonForHold", "Episode.warnings"} < of(found, EPISODE).unknown.keys()
    assert "Episode.alerts: warnings; without it, none are shown (on episodes, home, storage)" in (
        of(found, EPISODE).losses
    )
    assert not of(found, "GET /api/messaging/getconversations").has_gap
    assert tomllib.loads(found.proposal.toml()) == {
        "members": {
            "EmbryoStorage": {"holdReason": "reasonForHold", "statutoryLimit": "statutoryLimitDate"},
            "Episode": {"alerts": "warnings"},
            "Protocol": {"medications": "drugs"},
        }
    }


def snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def british(value: Any) -> Any:
    if isinstance(value, str) and len(value) == 10 and value[4] == value[7] == "-" and value[:4].isdigit():
        return f"{value[8:]}/{value[5:7]}/{value[:4]}"
    return value


def far(method: str, path: str, answer: Any) -> Any:
    """Snakes in an envelope, days as they are written in Britain."""
    told = everywhere(lambda record: {snake(name): british(value) for name, value in record.items()})(
        method, path, answer
    )
    if isinstance(told, dict) and "total_count" in told:
        told = {"records": told["items"], "total": told["total_count"]}
    return {"data": told} if method == "GET" else told


def test_a_very_different_api_is_read_and_gets_a_proposal(operator: Operator) -> None:
    found = operator.conform("elif", change=far)
    dialect = tomllib.loads(found.proposal)
    assert dialect["names"] == {"members": "snake_case"}
    assert dialect["envelopes"] == {"answers": ["data"]}
    assert dialect["lists"] == {"items": "records", "total": "total"}
    assert dialect["times"] == {"days": "dd/MM/yyyy"}
    assert found.status == 1, found.proposal
    assert found.of(EPISODE)["statuses"]["200"] > 1, (
        "episodes must be found with the member names learned from lists"
    )


def test_an_ambiguous_member_is_a_question_and_not_guessed(visits: list[Visit]) -> None:
    found = reread(visits, renamed(storageConsentedUntil="firstDeadline", statutoryLimit="secondDeadline"))
    assert found.status == 2
    proposal = found.proposal.toml()
    assert "EmbryoStorage" not in tomllib.loads(proposal).get("members", {})
    asked = [line for line in proposal.splitlines() if line.startswith(("# decide: EmbryoS", "#   EmbryoS"))]
    assert [line[:9] for line in asked[:2]] == ["# decide:", "#   Embry"], (
        "what pages can do without isn't asked"
    )
    assert all("firstDeadline" in line and "secondDeadline" in line for line in asked)


def test_an_ambiguous_date_order_is_a_question(visits: list[Visit]) -> None:
    def change(record: dict[str, Any]) -> dict[str, Any]:
        return {n: "03/04/2027" if british(v) != v else v for n, v in record.items()}

    found = reread(visits, everywhere(change))
    assert found.status == 2
    assert "# decide: times.days: day before month, or month before day?" in found.proposal.toml()
    assert "times" not in tomllib.loads(found.proposal.toml())


def test_unexpected_types_formats_and_numbers_are_reported(visits: list[Visit]) -> None:
    def change(record: dict[str, Any]) -> dict[str, Any]:
        told = dict(record)
        for name in ("cryopreservedAt", "storageExpiresAt"):
            if told.get(name):
                told[name] = int(datetime.fromisoformat(told[name]).timestamp() * 1000)
        for name in ("isRead", "isActive", "verified", "isArchived", "sexDisclosed", "isPortalShared"):
            if name in told:
                told[name] = "Y" if told[name] else "N"
        return told

    found = reread(visits, everywhere(change))
    episode = of(found, EPISODE)
    assert {"EmbryoStorage.cryopreservedAt", "Patient.isActive"} <= episode.other_type.keys()
    assert "Episode.startDate" not in episode.other_type
    assert not episode.missing
    assert 'booleans = ["Y", "N"]' in found.proposal.toml()


def test_reports_contain_no_record_value_and_no_token(
    operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[str] = []
    begin = HeldToken.__init__
    monkeypatch.setattr(
        HeldToken, "__init__", lambda self, token: (held.append(token), begin(self, token))[1]
    )

    def change(_method: str, path: str, answer: Any) -> Any:
        if "episodes" not in path:
            return answer
        del answer["alerts"]
        return {**answer, "stage": "Dolores said so"}

    (operator.folder / "store.db").unlink(missing_ok=True)
    found = operator.conform(change=change)
    assert found.status == 1
    assert found.of(EPISODE)["unknownValues"].keys() == {"Episode.stage"}
    written = [
        found.text.encode(),
        *(one.read_bytes() for one in operator.folder.rglob("*") if one.is_file()),
    ]
    (token,) = held
    for one in written:
        assert token.encode() not in one
        assert b"Amelia" not in one
        assert b"Dolores" not in one
    clock = Clock()
    vault = Vault(open_store(operator.settings.store_url, clock), operator.settings.secret_keys, clock)
    members = Answers(vault, clock).members
    assert members.is_not_given("riverside", "Episode.alerts"), (
        "what conform learned must be known to the portal at once"
    )
    assert not members.is_not_given("riverside", "Episode.embryos")


def test_a_summary_is_sealed_and_names_no_value_and_no_token(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    held: list[str] = []
    begin = HeldToken.__init__
    monkeypatch.setattr(
        HeldToken, "__init__", lambda self, token: (held.append(token), begin(self, token))[1]
    )

    def change(_method: str, path: str, answer: Any) -> Any:
        return {**answer, "stage": "Dolores said so"} if "episodes" in path else answer

    path = operator.folder / "summary.json"
    with operator.speaking('accepted = ["Episode.alerts"]\n'):
        found = operator.conform(change=change, summary=path, with_values=True)
    written = path.read_bytes()
    told = json.loads(written)
    assert (told["clinic"], told["side"], told["exitStatus"]) == ("riverside", "staff", found.status)
    assert told["accepted"] == ["Episode.alerts"]
    assert told["dialectSha256"] == sha256(b'accepted = ["Episode.alerts"]\n').hexdigest()
    assert EPISODE in told["gaps"]
    for secret in (*held, *operator.settings.secret_keys, "Amelia", "Dolores"):
        assert secret.encode() not in written

    keys = operator.settings.secret_keys
    assert is_sealed(written, ["another-key", *keys])
    assert not is_sealed(written, ["another-key"])
    for at in range(len(written)):
        other = written[:at] + bytes([written[at] ^ 1]) + written[at + 1 :]
        assert not is_sealed(other, keys), at
    assert not is_sealed(written + b"\n", keys)
    assert not is_sealed(b" " + written, keys)
    assert not is_sealed(b"", keys)

    monkeypatch.setattr(Settings, "from_env", lambda: operator.settings)
    for content, status, said in (
        (written, 0, "is as it was written."),
        (written.replace(b"staff", b"stuff"), 1, "isn't what this portal sealed."),
        (None, 2, "can't be read: No such file or directory."),
    ):
        path.unlink() if content is None else path.write_bytes(content)
        monkeypatch.setattr(sys, "argv", ["portal", "conform", "--verify", str(path)])
        capsys.readouterr()
        assert __main__.main() == status
        assert "".join(capsys.readouterr()) == f"{path} {said}\n"


def test_a_summary_that_cannot_be_written_is_one_line(
    operator: Operator, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = operator.folder / "no-folder" / "summary.json"
    assert run(operator.settings, Options("riverside", summary=nowhere)) == 2
    assert capsys.readouterr().err == f"There is no folder for {nowhere}.\n"
    taken = operator.folder / "taken"
    taken.mkdir()
    assert operator.conform(summary=taken).status == 2
    assert capsys.readouterr().err == f"{taken} can't be written: Is a directory.\n"


def test_with_values_adds_example_values(visits: list[Visit]) -> None:
    def change(_method: str, path: str, answer: Any) -> Any:
        return {**answer, "stage": "DoloresStage"} if "episodes" in path else answer

    found = reread(visits, change)
    assert "DoloresStage" not in found.text() + found.html() + found.json().decode()
    loud = replace(found, with_values=True)
    assert all("DoloresStage" in one for one in (loud.text(), loud.html(), loud.json().decode()))


def test_codes_appear_only_in_the_proposal(visits: list[Visit]) -> None:
    def change(_method: str, path: str, answer: Any) -> Any:
        return (
            {**answer, "stage": "X-17", "status": "STATUS_ENTERED_IN_ERROR"} if "episodes" in path else answer
        )

    found = reread(visits, change)
    assert found.status == 2
    assert "# decide: enumerations.EpisodeStage: 'X-17': each one of " in found.proposal.toml()
    assert "X-17" not in found.text() + found.html() + found.json().decode()
    assert tomllib.loads(found.proposal.toml()) == {
        "enumerations": {"CareStatus": {"EnteredInError": "STATUS_ENTERED_IN_ERROR"}}
    }


@pytest.mark.parametrize("empty", [None, []])
def test_a_form_read_singly_without_text_is_reported(visits: list[Visit], empty: list[object] | None) -> None:
    """A list that brings the text along doesn't make up for it, and one that doesn't is as good."""

    def change(is_left_out: bool) -> Any:
        return lambda _method, path, answer: (
            {**answer, "body": empty, "fileId": None}
            if is_left_out and path.endswith("forms/{id}")
            else answer
        )

    assert of(reread(visits, change(False)), FORM).without_text == 0
    found = reread(visits, change(True))
    assert of(found, FORM).without_text == 5
    assert "without any text: 5" in found.text()
    assert found.status == 1
    assert not of(found, FORMS).has_gap


def test_a_missing_list_is_a_gap(visits: list[Visit]) -> None:
    there = [replace(one, status=404, body=b"") if one.name == FORMS else one for one in visits]
    verdict = next(one for one in judge(there, as_patient=False) if one.endpoint == FORMS)
    assert verdict.is_nowhere
    assert verdict.has_gap


def test_acts_are_tried_only_against_the_named_sandbox(
    operator: Operator, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(operator.settings, Options("riverside", acts="elsewhere.example")) == 2
    assert "name the sandbox's host" in capsys.readouterr().err
    host = operator.proxy.base_url.removeprefix("http://")
    found = operator.conform("amelia", acts=host)
    for endpoint in ("PUT /api/app/notification", "PUT /api/app/notification/settings"):
        assert found.of(endpoint)["statuses"].keys() == {"200"}, found.text
    assert found.of("POST /api/care/consent-forms")["notTried"]


def test_acts_touch_only_what_they_can_leave_as_it_was() -> None:
    sent: list[tuple[str, Any]] = []
    lists = {
        "/api/app/notification": [
            {"id": 1, "isRead": "N"},
            {"id": 6, "isRead": False, "entityType": "conversation"},
            {"id": 7, "isRead": False, "type": "MessageReceived"},
            {"id": 2, "isRead": "false"},
        ],
        "/api/messaging/getconversations": [
            {"messages": [{"id": 3, "isArchived": True}, {"id": 4}, {"id": 5, "isArchived": False}]}
        ],
    }

    class Sandbox:
        adapter = PLAIN

        def send(self, endpoint: AnyEndpoint, *, ids: Any, body: Any, **_more: Any) -> Answer:
            if not endpoint.is_safe:
                sent.append((endpoint.template.rpartition("/")[2], (ids or {}).get("messageId") or body))
            found = lists.get(endpoint.template)
            headers = {"content-type": "application/json"}
            return Answer(200 if found else 404, headers, json.dumps({"items": found}).encode())

    list(act(cast("Care", Sandbox())))
    assert [what for name, what in sent if name == "notification"] == [
        {"ids": [2], "isRead": True},
        {"ids": [2], "isRead": False},
    ]
    assert [what for name, what in sent if name != "notification"] == ["5", "5"]


def test_a_failed_sign_in_is_explained(operator: Operator, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(operator.settings, Options("riverside"), say=lambda _line: None, paste=lambda: "https://x/?a=1")
        == 2
    )
    assert "contains no response (no state)" in capsys.readouterr().err

    def ended() -> str:
        raise EOFError

    assert run(operator.settings, Options("riverside"), say=lambda _line: None, paste=ended) == 2
    assert "no address was pasted" in capsys.readouterr().err
    assert run(operator.settings, Options("nowhere")) == 2
    assert "There is no clinic nowhere" in capsys.readouterr().err


def test_the_sign_in_response_is_received_on_a_loopback_port(
    operator: Operator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port()
    began: list[dict[str, Any]] = []

    class Flow:
        """A sign-in whose browser comes back at once, with an answer that nobody asked for."""

        def __init__(self, *_parts: object, **_named: object) -> None:
            pass

        def start(self, _tenant: object, **given: Any) -> Started:
            began.append(given)
            return Started("https://id.example/authorize", "cookie")

        def finish(self, _tenant: object, *, cookie: str, answer: dict[str, str]) -> None:
            began.append(answer)

    def say(line: str) -> None:
        if line.startswith("Waiting"):
            Thread(target=come_back, daemon=True).start()

    def come_back() -> None:
        session = requests.Session()
        session.mount("http://", HTTPAdapter(max_retries=Retry(connect=20, backoff_factor=0.05)))
        assert session.get(f"http://127.0.0.1:{port}/favicon.ico", timeout=5).status_code == 404
        session.get(f"http://127.0.0.1:{port}/sign-in/callback?code=c&state=s", timeout=5)

    monkeypatch.setattr(sign_in_module, "SignIn", Flow)
    there = f"http://127.0.0.1:{port}/sign-in/callback"
    assert run(operator.settings, Options("riverside", redirect_uri=there), say=say) == 2
    assert began[0]["redirect_uri"] == there
    assert began[1] == {"code": "c", "state": "s"}
    assert "its state is different" in capsys.readouterr().err


def test_a_proposed_dialect_closes_all_gaps(operator: Operator) -> None:
    found = operator.conform("elif", change=far)
    with operator.speaking(found.proposal):
        again = operator.conform("elif", change=far)
    assert again.status == 0, again.text + again.proposal
