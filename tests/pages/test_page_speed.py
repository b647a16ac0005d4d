"""What browsers report of pages' speed: counted by kind of page and clinic, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prometheus_client import generate_latest

from portal import metrics
from tests.support.fake_api import FakeApi
from tests.support.in_process import InProcess
from tests.support.visitor import SignIn, Visitor

HOME = {"page": "home.show", "lcp": "812.5", "inp": "48", "cls": "0.0125"}


@pytest.fixture
def asked_for(in_process: InProcess) -> Iterator[None]:
    """The clinic asks for it."""
    with in_process.clinic(page_speed=True):
        yield


def counted() -> dict[str, float]:
    lines = generate_latest(metrics._REGISTRY).decode().splitlines()
    values = (line.rpartition(" ") for line in lines if line.startswith("portal_page_"))
    return {
        name: float(value) for name, _, value in values if not name.partition("{")[0].endswith("_created")
    }


def report(visitor: Visitor, **figures: str) -> int:
    answer = visitor.request(
        "POST", "/page-speed", data=figures, status=None, headers={"Sec-Fetch-Site": "same-origin"}
    )
    return answer.status  # fmt: skip


@pytest.mark.usefixtures("asked_for")
def test_a_page_s_figures_are_counted_by_its_kind_and_clinic_without_the_session(
    visitor: SignIn, fake_api: FakeApi
) -> None:
    amelia = visitor("amelia")
    (script,) = amelia.get("/").select("script[data-page]")
    assert (script["data-page"], script["src"].rpartition("/")[2]) == ("home.show", "page-speed-scripts.js")
    before = counted()
    told = amelia.request(
        "POST", "/page-speed", data=HOME, status=204, headers={"Sec-Fetch-Site": "same-origin"}
    )
    assert "Session-Tag" not in told.headers, "the session was read"
    more = {name: value - before.get(name, 0.0) for name, value in counted().items()}
    of_home = '{page="home.show",tenant="riverside"}'
    assert more[f"portal_page_paint_seconds_sum{of_home}"] == pytest.approx(0.8125)
    assert more['portal_page_paint_seconds_bucket{le="0.9",page="home.show",tenant="riverside"}'] == 1
    assert more['portal_page_paint_seconds_bucket{le="0.5",page="home.show",tenant="riverside"}'] == 0
    assert more[f"portal_page_interaction_seconds_sum{of_home}"] == pytest.approx(0.048)
    assert more[f"portal_page_layout_shift_sum{of_home}"] == pytest.approx(0.0125)
    assert fake_api.calls
    assert not [call for call in fake_api.calls if "speed" in call.path]


@pytest.mark.usefixtures("asked_for")
@pytest.mark.parametrize(
    "wrong",
    [
        {"page": "/patients/p-1"},
        {"lcp": "soon"},
        {"lcp": "nan"},
        {"inp": "-1"},
        {"cls": "1e9"},
        {"lcp": "inf"},
    ],
    ids=lambda wrong: "=".join(*wrong.items()),
)
def test_what_no_browser_reports_is_refused_and_not_counted(visitor: SignIn, wrong: dict[str, str]) -> None:
    before = counted()
    assert report(visitor("amelia"), **{**HOME, **wrong}) == 400
    assert report(visitor("amelia"), page="home.show") == 400
    assert counted() == before


@pytest.mark.usefixtures("asked_for")
def test_another_site_can_t_report(visitor: SignIn) -> None:
    answer = visitor("amelia").request(
        "POST", "/page-speed", data=HOME, status=None, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert answer.status == 404


@pytest.mark.usefixtures("asked_for")
def test_of_too_many_reports_nothing_says_whose_they_were(
    visitor: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[str] = []
    monkeypatch.setattr("portal.web.audit.note_refusal", lambda *event: noted.append(str(event)))
    monkeypatch.setattr("portal.web.extensions.limiter.limiter.hit", lambda *_item, **_cost: False)
    answer = visitor("amelia").request(
        "POST", "/page-speed", data=HOME, status=None, headers={"Sec-Fetch-Site": "same-origin"}
    )
    assert (answer.status, answer.text, noted) == (429, "", [])


def test_a_clinic_that_doesn_t_ask_for_it_gets_nothing(visitor: SignIn, fake_api: FakeApi) -> None:
    amelia = visitor("amelia")
    assert not amelia.get("/").select("script[data-page]")
    assert report(amelia, **HOME) == 404


def test_the_kinds_of_page_that_are_kept_apart_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_MOST_PAGES", 0)
    metrics.page_speed("lcp", "help.show", "nowhere", 0.5)
    assert counted()['portal_page_paint_seconds_count{page="other",tenant="other"}'] >= 1
