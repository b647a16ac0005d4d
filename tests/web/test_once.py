"""Acts happen once, whatever happens to the form that is sent and to the response."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from portal.http import transport
from tests.support.acts import ACTS, People, Ready, over_the_line
from tests.support.hostile import CountingProxy
from tests.support.stack import CareService, PortalThread, free_port

AT_ONCE = 20

Refuse = Callable[[str], None]


@pytest.fixture(scope="module")
def portal(
    service: CareService, line: CountingProxy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PortalThread]:
    tenants: Path = tmp_path_factory.mktemp("once") / "tenants.toml"
    tenants.write_text(over_the_line(service.plan, line))
    running = PortalThread(service.plan, PORTAL_TENANTS=str(tenants))
    yield running
    running.stop()


@pytest.fixture(scope="module")
def people(portal: PortalThread) -> People:
    return People(portal.origin())


@pytest.fixture(params=ACTS)
def ready(request: pytest.FixtureRequest, people: People, service: CareService) -> Ready:
    """Each act at its last step, over records of its own."""
    return ACTS[request.param](people, service.plan)


@pytest.fixture(autouse=True)
def whole_line(line: CountingProxy) -> Iterator[None]:
    line.asked.clear()
    yield
    line.release()


@pytest.fixture
def refuse(line: CountingProxy, monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Let a call of the care API meet a port where nobody listens."""

    def cut(call: str) -> None:
        send, nowhere = transport.send, f"http://127.0.0.1:{free_port()}"

        def sent(asked: transport.Call, **how: bool) -> transport.Answer:
            if f"{asked.method} {urlsplit(asked.url).path}" == call:
                asked = replace(asked, url=asked.url.replace(line.origin, nowhere))
            return send(asked, **how)

        monkeypatch.setattr(transport, "send", sent)

    return cut


@pytest.mark.asvs("2.3.4")
def test_one_of_twenty_concurrent_posts_acts_and_all_end_at_its_page(
    ready: Ready, line: CountingProxy
) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = list(pool.map(lambda _: ready.send(), range(AT_ONCE)))
    assert {(end.status, end.heading) for end in ends} == {(200, ready.end)}
    assert len({end.url for end in ends}) == 1
    # Reloading, and sending the form again after Back, leads to the same page.
    end = ends[0]
    assert end.visitor.get(end.url).heading == ready.end
    if "operation=" in ready.address:  # the page that Back requests
        assert end.visitor.get(ready.address).heading == ready.end
    assert ready.send(200).url == end.url
    assert line.count(ready.call) == 1


def test_a_response_lost_after_the_act_leads_to_the_receipt_or_an_unconfirmed_outcome(
    ready: Ready, line: CountingProxy
) -> None:
    line.lose(ready.call, after=True)
    told = ready.send()
    line.release()
    if ready.is_found:
        assert (told.status, told.heading) == (200, ready.end)
        assert told.visitor.get(told.url).heading == ready.end
    else:
        assert (told.status, told.heading) == (503, ready.unsure)
        assert "window" not in ready.values or "This time is taken or over." in told.words
    assert ready.send().heading == told.heading
    assert line.count(ready.call) == 1


def test_an_act_that_may_have_been_sent_is_unconfirmed_and_not_resent(
    ready: Ready, line: CountingProxy
) -> None:
    line.lose(ready.call, after=False)
    told = ready.send(503)
    line.release()
    assert told.heading == ready.unsure
    assert "window" not in ready.values or "This time is free." in told.words
    again = ready.send()
    assert again.heading == ready.unsure
    assert again.status in (200, 202)
    assert line.count(ready.call) == 1


def test_an_act_that_was_never_sent_is_reported_as_not_done_and_can_be_sent_again(
    ready: Ready, line: CountingProxy, refuse: Refuse, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(ready.call)
    told = ready.send(503)
    assert ready.undone in told.words
    assert "couldn’t confirm" not in told.words and "isn’t confirmed" not in told.words
    assert line.count(ready.call) == 0
    monkeypatch.undo()
    if told.select("a.button") and ready.undone == told.heading:
        told = told.follow("Go back and try again")
    again = told.form(urlsplit(ready.form.action).path)
    assert again.submit(**ready.values).heading == ready.end
    assert line.count(ready.call) == 1
