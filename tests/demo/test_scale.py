"""The portal on two machines behind nginx, without stickiness, as `make demo-scale` runs it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import requests

from portal import __main__
from portal.careservice.ids import sample_id
from portal.demo import programs
from portal.demo.processes import Processes
from portal.demo.scale import Scale, folder_for_all
from portal.demo.stack import DemoSetup, tenants_file
from portal.state.session_records import record_name
from tests.demo.two_machines import MOST, Load, Stack, next_release, sid, until
from tests.support.command_lines import command_lines
from tests.support.hostile import CountingProxy
from tests.support.signing import TREATMENT_OF_AMELIA, consent, signatures, to_step
from tests.support.stack import GENEROUS, ROOT, SECRETS, free_port
from tests.support.visitor import Visitor

TOKEN = "/connect/token"
CREATE_CONSENT = "POST /api/care/consent-forms"
CONVERSATIONS = "/api/messaging/getconversations"


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    service_port = free_port()
    proxy = CountingProxy(service_port)
    processes = Processes()
    with folder_for_all() as folder:
        own = folder / "portal"
        own.mkdir(mode=0o700)
        plan = DemoSetup(free_port(), proxy.port, own, SECRETS)
        scale = Scale(
            plan,
            folder,
            environment={**GENEROUS, "PORTAL_LIMIT_SIGN_IN": f"{MOST} per hour"},
            service_options=("--port", str(service_port), "--refresh-grace-seconds", "0"),
        )
        try:
            scale.start(processes)
            yield Stack(scale, proxy, plan)
        finally:
            processes.stop()
            proxy.stop()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(20) as running:
        yield running


# ── one session on both ─────────────────────────────────────────────────────────────────────────────────


def test_a_sign_in_begun_on_one_machine_finishes_on_the_other_and_is_valid_on_both(stack: Stack) -> None:
    visitor = stack.visitor(0)
    asked_for_password = visitor.get("/notifications")
    stack.lead(visitor, 1)
    page = visitor.fill_sign_in(asked_for_password, "amelia")
    assert page.path == "/notifications"
    for machine in (0, 1, 0):
        stack.lead(visitor, machine)
        assert visitor.get("/").heading == "Hello, Millie"
    left = visitor.sign_out()
    assert left.path == "/signed-out"
    for machine in (1, 0):
        stack.lead(visitor, machine)
        assert (
            visitor.request("GET", "/me", status=303, follow=False).headers["Location"].startswith("/sign-in")
        )


def test_the_proxy_spreads_a_persons_requests_over_both_machines(stack: Stack) -> None:
    visitor = stack.visitor()
    visitor.sign_in("daniel")
    assert {stack.machines(visitor.get("/consents"))[0] for _ in range(6)} == {0, 1}
    sheet = str(visitor.get("/").select("link[rel=stylesheet]")[0]["href"])
    assert stack.visitor().http.get(f"{visitor.origin}{sheet}").status_code == 200


def test_a_refresh_token_is_used_once_across_machines(stack: Stack, pool: ThreadPoolExecutor) -> None:
    visitor = stack.visitor(0)
    visitor.sign_in("grace")
    for _ in range(3):  # each time with the token that the last round brought, on either machine
        stack.let_tokens_run_out(visitor)
        before = stack.proxy.count(TOKEN)
        windows = [stack.copy(visitor, number % 2) for number in range(16)]
        seen = pool.map(
            lambda one: one.request("GET", "/consents", status=None, follow=False).status, windows
        )
        assert list(seen) == [200] * 16
        assert stack.proxy.count(TOKEN) - before == 1


def test_a_back_channel_logout_at_one_machine_signs_out_on_both(stack: Stack) -> None:
    visitor = stack.visitor()
    visitor.sign_in("victor")
    page = visitor.get(f"{stack.plan.service}/connect/endsession")
    form = page.select("form")[0]
    page.form(form).submit()
    windows = [stack.copy(visitor, machine) for machine in (0, 1)]
    until = time.monotonic() + 10  # the identity server tells it in the background
    while _is_signed_in(windows[0]) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(_is_signed_in(window) for window in windows)


def _is_signed_in(window: Visitor) -> bool:
    answer = window.request("GET", "/me", status=None, follow=False)
    assert answer.status == 200 or answer.headers["Location"].startswith("/sign-in")
    return answer.status == 200


# ── what is counted, what happens once ──────────────────────────────────────────────────────────────────


@pytest.mark.asvs("4.1.3", "15.3.4")
def test_a_rate_limit_counts_both_machines_and_trusts_only_the_proxys_address(stack: Stack) -> None:
    forged = "/sign-in/callback?state=x&code=y"
    both = [stack.visitor(machine, "192.0.2.7") for machine in (0, 1)]
    for number in range(MOST):
        both[number % 2].request("GET", forged, status=400)
    for one in both:
        one.request("GET", forged, status=429)
    stack.visitor(0, "192.0.2.8").request("GET", forged, status=400)
    stack.visitor().request("GET", forged, status=400, headers={"X-Forwarded-For": "192.0.2.7"})


def test_a_form_sent_to_both_machines_signs_once(stack: Stack, pool: ThreadPoolExecutor) -> None:
    amelia = stack.visitor()
    amelia.sign_in("amelia")
    form = consent("amelia-genetic")
    last = to_step(amelia, form, "Sign this form").form(f"{form}/sign")
    fields = [(name, value) for name, value in last.fields() if name != "signature"]
    fields.append(("signature", "Amelia Hart"))

    def post(number: int) -> tuple[int, str]:
        window = stack.copy(amelia, number % 2)
        answer = window.request("POST", last.action, data=fields, status=None, follow=False)
        return answer.status, answer.headers.get("Location", "")

    assert set(pool.map(post, range(10))) == {(303, f"{form}/receipt")}
    assert signatures(amelia, form) == ["Amelia Hart"]


# ── a machine dies ──────────────────────────────────────────────────────────────────────────────────────


def test_killing_a_machine_under_load_loses_no_page_and_no_session(
    stack: Stack, pool: ThreadPoolExecutor
) -> None:
    people = [stack.visitor() for _ in range(4)]
    for visitor, name in zip(people, ("amelia", "daniel", "grace", "nora"), strict=True):
        visitor.sign_in(name)
    before = stack.proxy.count(CONVERSATIONS)
    stack.proxy.hold(CONVERSATIONS)
    # Before the load, so that nginx deals them out in turn: half of them wait at each machine.
    waiting = [pool.submit(stack.copy(one).get, "/conversations") for one in people]
    until(lambda: stack.proxy.count(CONVERSATIONS) - before >= len(people), "the pages aren't under way")
    with closing(Load([stack.copy(visitor) for visitor in people])) as load:
        load.everyone_read(2)
        with stack.without(0):
            load.everyone_read(2)
            stack.proxy.release()
            pages = [one.result() for one in waiting]
            assert [page.heading for page in pages] == ["Messages"] * len(people)
            assert [0, 1] in [stack.machines(page) for page in pages], "none was at the machine that died"
            for visitor in people:
                assert visitor.get("/me").path == "/me"
        until(
            lambda: stack.machines(people[0].get("/me")) == [0], "nobody is led to the machine that is back"
        )
        load.everyone_read(3)
    assert load.statuses == {200}
    for visitor in people:
        assert stack.copy(visitor, 0).get("/me").path == "/me"


def test_a_post_to_a_machine_that_dies_is_not_retried_on_the_other(
    stack: Stack, pool: ThreadPoolExecutor
) -> None:
    amelia = stack.visitor()
    amelia.sign_in("amelia")
    conversation = sample_id("conversation", "amelia-sms")
    act = "/api/app/messaging/archive-message/"
    fields = {"csrf_token": amelia.csrf_token()}

    def post(number: int) -> requests.Response:
        window = stack.copy(amelia)
        message = sample_id("message", f"amelia-sms-{number}")
        path = f"{window.origin}/conversations/{conversation}/messages/{message}/archive"
        headers = {"Origin": window.origin, "Referer": window.origin}
        return window.http.post(path, data=fields, headers=headers, allow_redirects=False, timeout=30)

    stack.proxy.hold(act, after=True)
    posts: list[Future[requests.Response]] = []
    for number in (0, 1):
        posts.append(pool.submit(post, number))
        until(lambda number=number: stack.proxy.count(act) == number + 1, "it didn't arrive")
    with stack.without(1):
        stack.proxy.release()
        done, lost = sorted((one.result() for one in posts), key=lambda one: one.status_code)
        assert (done.status_code, lost.status_code) == (303, 502)
        assert stack.machines(lost) == [1]
        assert "check first whether it went through" in lost.text
        assert stack.proxy.count(act) == 2, "each post acted once"
        assert post(2).status_code == 303, "a new post goes to the machine that lives, at once"


def test_a_redis_outage_is_a_503_on_both_machines_and_signs_nobody_out(stack: Stack) -> None:
    visitor = stack.visitor()
    visitor.sign_in("daniel")
    stack.scale.redis.stop()
    for _ in range(4):
        assert visitor.get("/consents", status=503).heading == "The portal can’t be used right now"
    stack.scale.redis.start()
    stack.scale.redis.wait()
    assert {stack.machines(visitor.get("/consents"))[0] for _ in range(6)} == {0, 1}


# ── an upgrade, and back ────────────────────────────────────────────────────────────────────────────────


def test_two_releases_rolled_forth_and_back_under_load_lose_no_session_and_act_once(
    stack: Stack, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    newer = next_release(tmp_path, tenants_file(stack.plan))
    people = [stack.visitor() for _ in range(4)]
    for visitor, name in zip(people, ("amelia", "daniel", "grace", "nora"), strict=True):
        visitor.sign_in(name)
    nora, before = people[-1], stack.proxy.count(CREATE_CONSENT)
    made: list[str] = []

    def act() -> None:
        """Make a form, sent by two windows at once, whichever releases they come to."""
        page = nora.get(f"/consents/new?template=genetic-testing&episode={TREATMENT_OF_AMELIA}")
        last = page.form("/consents/new/fill").submit(title=f"Form {len(made)}").form("/consents/new")

        def send(window: Visitor) -> str:
            answer = window.request("POST", last.action, data=last.fields(), status=303, follow=False)
            return answer.headers["Location"]

        (form,) = set(pool.map(send, [stack.copy(nora), stack.copy(nora)]))
        made.append(form)

    with closing(Load([stack.copy(visitor) for visitor in people])) as load:
        act()
        with stack.of(newer, 0):
            act()
            with stack.of(newer, 1):
                act()
            load.everyone_read(3)
            act()
        act()
        load.everyone_read(3)
    assert load.statuses == {200}
    assert len(set(made)) == len(made) == stack.proxy.count(CREATE_CONSENT) - before
    session = stack.vault.get(record_name(sid(nora)), dict[str, Any])
    assert session is not None
    assert {*newer.members} <= {*session.value}, "a member of the newer release is lost"


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.long_run  # starts once more what the tests above have used, and test_demo.py stops a demo
def test_the_scaled_demo_runs_lists_its_people_and_cleans_up() -> None:
    ports = ("--portal-port", str(free_port()), "--service-port", str(free_port()))
    demo = subprocess.Popen(
        [sys.executable, "-u", "-m", "portal", "demo", "--scale", *ports],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert demo.stdout is not None
    shown = ""
    try:
        while "Stop with Ctrl-C" not in shown:
            line = demo.stdout.readline()
            assert line, shown
            shown += line
        password = re.search(r"Password for everyone: (\S+)", shown)
        assert password
        visitor = Visitor(f"http://localhost:{ports[1]}", password[1])
        assert visitor.sign_in("amelia").heading == "Hello, Millie"
    finally:
        demo.send_signal(signal.SIGINT)
        assert demo.wait(timeout=30) == 0
        demo.stdout.close()
    folder = re.search(r"Data and logs: (\S+)", shown)
    assert folder and not Path(folder[1]).exists()
    left = command_lines()
    assert folder[1] not in left
    for port in re.findall(r"127\.0\.0\.1:(\d+)", shown):
        assert f"127.0.0.1:{port}" not in left


def test_a_missing_server_program_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(programs, "find", lambda program: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    ports = ["--portal-port", str(free_port()), "--service-port", str(free_port())]
    monkeypatch.setattr(sys, "argv", ["portal", "demo", "--scale", *ports])
    assert __main__.main() == 2
    said = capsys.readouterr().err.strip()
    assert said == (
        "nginx and redis-server are needed: install them (apt-get install nginx redis-server) and start this again."
    )
