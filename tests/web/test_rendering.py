"""What strangers write can't keep a page from being shown, or from ending."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import time
from typing import Any

import pytest

from portal.http import deadline
from portal.views.conversations import view


def test_a_page_that_takes_too_long_to_render_ends_with_503(
    amelia: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def much_later(*_: object) -> str:
        deadline.set_to(time.monotonic() - deadline.RENDERING_SECONDS - 0.1)
        return "words"

    monkeypatch.setattr(view, "plain_text", much_later)
    page = amelia.get("/conversations", status=503)
    assert page.heading == "This can’t be shown right now"
    assert "It took too long to put this page together" in page.words


def test_a_page_may_be_rendered_after_its_calls_have_used_up_the_time(
    amelia: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def later(*_: object) -> str:
        deadline.set_to(time.monotonic() - 0.1)
        return "words"

    monkeypatch.setattr(view, "plain_text", later)
    assert amelia.get("/conversations").heading == "Messages"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("Dear clinic,</p> <![<![ hello", "Dear clinic, <![<![ hello"),
        ("</p>" + "<a " * 16_000, "<a <a"),
        ("<p><style>p{}</style></p>", "This message can’t be shown."),
        ("</p>" + "word " * 20_000, "The rest of this message is too long to be shown."),
    ],
)
def test_a_message_is_shown_as_far_as_it_can_be(body: str, shown: str) -> None:
    began = time.thread_time()
    assert shown in view._text(body).replace("\n", " ")
    assert time.thread_time() - began < 0.5
