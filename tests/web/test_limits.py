"""Rate limits by address and by person, shared by all workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.careservice.ids import sample_id
from portal.demo.stack import DemoSetup
from portal.signin import tokens
from tests.support.redis_server import RedisServer
from tests.support.stack import CareService, PortalThread, free_port
from tests.support.visitor import Page, Visitor

PROTOCOL = f"/protocols/{sample_id('protocol', 'amelia')}"
FORGED = "/sign-in/callback?state=x&code=y"


@pytest.fixture(params=["sqlite", "redis"])
def pair(
    request: pytest.FixtureRequest, service: CareService, tmp_path: Path
) -> Iterator[tuple[PortalThread, PortalThread]]:
    """Two portals on one store, as two workers are, that let an address sign in three times an hour."""
    redis = RedisServer(tmp_path) if request.param == "redis" else None
    store = redis.url if redis else f"sqlite:///{tmp_path}/shared.db"
    plans = [
        DemoSetup(free_port(), service.plan.service_port, tmp_path, service.plan.secrets) for _ in range(2)
    ]
    both = [PortalThread(one, PORTAL_STORE_URL=store, PORTAL_LIMIT_SIGN_IN="3 per hour") for one in plans]
    yield both[0], both[1]
    for one in both:
        one.stop()
    if redis:
        redis.stop()


@pytest.mark.asvs("2.4.1")
def test_a_limit_applies_across_workers_and_says_when_to_retry(
    pair: tuple[PortalThread, PortalThread],
) -> None:
    first, second = pair
    for portal in (first, second, first):
        portal.visitor().request("GET", FORGED, status=400)
    for portal in pair:
        page = portal.visitor().request("GET", FORGED, status=429)
        assert page.heading == "Too many tries"
        assert 3500 < int(page.headers["Retry-After"]) <= 3600
        assert "You can go on in 60 minutes" in page.words
    for portal in pair:
        portal.clock.advance(-86_400)
    second.visitor().request("GET", FORGED, status=400)  # set back, the clock doesn't lengthen the wait
    for portal in pair:
        portal.clock.advance(3601)
        portal.visitor().request("GET", FORGED, status=400)


@pytest.mark.asvs("16.3.3")
def test_a_rate_limited_request_is_one_audit_line(pair: tuple[PortalThread, PortalThread]) -> None:
    portal, _ = pair
    for _ in range(3):
        portal.visitor().request("GET", FORGED, status=400)
    before = _audited(portal)
    portal.visitor().request("GET", FORGED, status=429)
    after = _audited(portal)
    assert len(after) == len(before) + 1
    assert '"sign_in.callback","outcome":"too-many"' in after[-1]


@pytest.mark.asvs("15.3.4")
def test_an_ipv6_network_counts_as_one_address(pair: tuple[PortalThread, PortalThread]) -> None:
    from portal.web.extensions import address

    app = pair[0].app
    for one, other, same in [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("not an address", "", True),
    ]:
        counted: list[str] = []
        for remote in (one, other):
            with app.test_request_context(environ_base={"REMOTE_ADDR": remote}):
                counted.append(address())
        assert (counted[0] == counted[1]) is same


def _audited(portal: PortalThread) -> list[str]:
    files = sorted((portal.plan.data / "audit").glob("*.jsonl"), key=lambda file: file.stat().st_mtime)
    return [line for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def strict(service: CareService, tmp_path: Path) -> Iterator[PortalThread]:
    """A portal that lets nobody sign or withdraw, and lets each open one booking page and one file an hour."""
    known = service.plan  # the identity server accepts only this port
    running = PortalThread(
        DemoSetup(known.portal_port, known.service_port, tmp_path, known.secrets),
        PORTAL_LIMIT_SIGNING="0 per hour",
        PORTAL_LIMIT_BOOKING="1 per hour",
        PORTAL_LIMIT_FILES="1 per hour",
        PORTAL_LIMIT_FIND="2 per hour",
    )
    yield running
    running.stop()


@pytest.mark.asvs("2.4.1")
def test_searching_too_often_is_reported_among_the_results(strict: PortalThread) -> None:
    nora, victor = strict.sign_in("nora"), strict.sign_in("victor")
    for _ in range(2):
        nora.fragment("/find", "found", data={"q": "amelia"})
    told = nora.fragment("/find", "found", data={"q": "amel"}, status=429)
    assert told.tree.select_one("#found[data-for=amel] .hit-none")
    assert "a lot of looking up in a short time. Go on in" in told.words
    page = nora.post("/find", {"q": "grace ok"}, status=429)
    assert page.tree.select_one("#find")["value"] == "grace ok"
    assert victor.fragment("/find", "found", data={"q": "amelia"}).select(".hit")


@pytest.mark.asvs("2.3.2", "2.4.1", "15.2.2")
def test_a_limited_action_says_when_to_retry_and_is_one_audit_line(strict: PortalThread) -> None:
    amelia, grace, visitor = strict.sign_in("amelia"), strict.sign_in("grace"), strict.visitor()
    file = _a_file(amelia)
    form = next(
        path
        for path in _paths(grace.get("/consents"), "/consents/")
        if grace.get(f"{path}/revoke", status=None).status == 200
    )
    withdrawal = grace.get(f"{form}/revoke").form(f"{form}/revoke")

    amelia.request("GET", file)
    visitor.request("GET", "/book/no-link", status=404)
    for endpoint, too_often in [
        ("files.content", lambda: amelia.request("GET", file, status=429)),
        (
            "files.preview",
            lambda: [
                amelia.request("GET", f"{file}/preview"),
                amelia.request("GET", f"{file}/preview", status=429),
            ][1],
        ),
        ("booking.show", lambda: visitor.request("GET", "/book/no-link", status=429)),
        ("consents.revoke.revoke", lambda: withdrawal.submit(reason="I changed my mind", status=429)),
    ]:
        before = len(_audited(strict))
        page = too_often()
        assert 0 < int(page.headers["Retry-After"]) <= 3600, endpoint
        refused = [line for line in _audited(strict)[before:] if '"too-many"' in line]
        assert len(refused) == 1, endpoint
        assert f'"{endpoint}"' in refused[0]
    assert grace.get(f"{form}/revoke").select("form textarea"), (
        "nothing was withdrawn, so the form is still offered"
    )
    other = _a_file(grace)
    grace.request("GET", other)
    assert strict.sign_in("amelia").request("GET", file, status=429), "counted by person, not by browser"


@pytest.mark.asvs("2.3.2")
def test_calendar_files_are_limited_per_person_like_files(strict: PortalThread) -> None:
    amelia = strict.sign_in("amelia")
    episode = f"/episodes/{sample_id('episode', 'amelia-1')}"
    for path in (
        f"{episode}/appointments.ics",
        f"{episode}/appointments/{sample_id('appointment', 'amelia-scan-5')}.ics",
        f"{PROTOCOL}/schedule.ics",
    ):
        assert amelia.get(path).response.content.startswith(b"BEGIN:VCALENDAR"), path
        assert int(amelia.get(path, status=429).headers["Retry-After"]) > 0, path
        assert strict.sign_in("amelia").get(path, status=429), "counted by person, not by browser"


def _a_file(visitor: Visitor) -> str:
    episode = "/".join(_paths(visitor.get("/episodes"), "/episodes/")[0].split("/")[:3])
    return _paths(visitor.get(f"{episode}/documents"), "/files/")[0].removesuffix("/preview")


def _paths(page: Page, begin: str) -> list[str]:
    found = [str(link["href"]).partition("?")[0] for link in page.select(f'main a[href^="{begin}"]')]
    return [path for path in dict.fromkeys(found) if path.count("/") == 2 or path.endswith("/preview")]


@pytest.mark.asvs("7.3.2")
@pytest.mark.parametrize(("name", "hours"), [("nora", 8), ("amelia", 12)])
def test_a_session_ends_after_its_absolute_lifetime(
    service: CareService, strict: PortalThread, monkeypatch: pytest.MonkeyPatch, name: str, hours: int
) -> None:
    monkeypatch.setattr(tokens, "LEEWAY", 24 * 3600)  # the identity server's clock stays where it is
    visitor = strict.sign_in(name)
    for _ in range(hours * 5 - 1):
        strict.clock.advance(12 * 60)
        visitor.get("/me/devices")
    strict.clock.advance(13 * 60)
    visitor.request("GET", "/me/devices", status=303, follow=False)
