"""Opened files and refusals leave one line in the audit record; other pages and acts do so in `tests/pages/facts`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from portal.careservice.ids import sample_id
from tests.support.signing import consent
from tests.support.stack import PortalThread
from tests.support.visitor import SignIn
from tests.web.conftest import Lines
from tests.web.logs_and_audit.output import AMELIAS


@pytest.fixture
def noted(lines: Lines) -> Callable[[], list[tuple[str, str]]]:
    """Return a function that returns event and outcome of each line added since its last call."""
    return lambda: [(line["audit"], line["outcome"]) for line in lines()]


Noted = Callable[[], list[tuple[str, str]]]
LETTERS = sample_id("directory", "amelia-letters")


@pytest.mark.parametrize(
    ("name", "path", "event"),
    [
        ("amelia", f"/files/{sample_id('file', 'amelia-plan')}", "file.read"),
        ("amelia", f"/files/{sample_id('file', 'amelia-plan')}?download=1", "file.download"),
        ("amelia", f"/files/{sample_id('file', 'amelia-plan')}/preview", "file.preview"),
    ],
)
def test_opening_a_file_leaves_one_audit_line(
    person: SignIn, noted: Noted, name: str, path: str, event: str
) -> None:
    visitor = person(name)
    noted()
    visitor.get(path)
    assert noted() == [(event, "done")]


@pytest.mark.parametrize(
    ("name", "path", "outcome"),
    [
        ("grace", f"/episodes/{AMELIAS}", "NotFound"),
        ("grace", consent("amelia-treatment-2"), "NotFound"),
        ("grace", f"/files/{sample_id('file', 'amelia-plan')}", "NotFound"),
        ("grace", f"/conversations/{sample_id('conversation', 'amelia-scan')}", "NotFound"),
        ("grace", f"/storage/{sample_id('embryo', 'GO-3')}?episode={AMELIAS}", "NotFound"),
        ("amelia", "/open", "NotAllowed"),
        ("amelia", "/consents/new", "NotAllowed"),
        ("elif", f"/prospects/{sample_id('prospect', 'ines')}/book", "NotAllowed"),
        ("nora", f"/emr-endpoints/{sample_id('emr-endpoint', 'riverside-main')}/remove", "NotAllowed"),
    ],
)
@pytest.mark.asvs("16.3.2")
def test_a_refusal_leaves_one_audit_line(
    person: SignIn, noted: Noted, name: str, path: str, outcome: str
) -> None:
    visitor = person(name)
    noted()
    visitor.get(path, status=None)
    lines = noted()
    assert [line[1] for line in lines] == [outcome], lines


def test_a_refused_act_leaves_one_audit_line(person: SignIn, portal: PortalThread, noted: Noted) -> None:
    colin, grace, amelia = person("colin"), person("grace"), person("amelia")
    missing = f"/prospects/{sample_id('prospect', 'nobody')}/book"
    form = colin.get(missing).form(missing)
    window = str(form.page.select("input[name=window]")[0]["value"])
    token = grace.csrf_token()
    noted()
    form.submit(window=window, status=404)
    assert noted() == [("prospect.book", "refused")]
    grace.post(f"{consent('amelia-genetic')}/revoke", {"csrf_token": token, "reason": "x"}, status=404)
    assert [outcome for _, outcome in noted()] == ["NotFound"]
    victor = person("victor")
    token = victor.csrf_token()
    noted()
    victor.post(
        f"/relationships/{sample_id('relationship', 'amelia-contact')}/remove?episode={AMELIAS}",
        {"csrf_token": token},
        status=None,
    )
    assert len(noted()) <= 1
    amelia.post("/me", {"csrf_token": "forged"}, status=400)
    assert len(noted()) == 1
