"""A page's context is a typed value, and its names are never those of the frame."""

from __future__ import annotations

import dataclasses

import pytest

from portal.web.pages import FRAME, Page, refuse_collisions


@pytest.mark.parametrize("name", sorted(FRAME))
def test_a_page_that_takes_a_name_of_the_frame_is_an_error_at_start(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        type("Wrong", (Page,), {"__annotations__": {name: str}}, template="wrong.html")


def test_a_page_that_takes_a_name_which_every_template_knows_is_an_error_at_start() -> None:
    class Fine(Page, template="fine.html"):
        url_for: str

    try:
        with pytest.raises(TypeError, match=r"Fine: url_for means something else"):
            refuse_collisions(["url_for", "nonce"])
    finally:
        Fine.__annotations__.clear()
        Fine.__dataclass_fields__.clear()  # pyright: ignore


def test_a_page_holds_just_its_fields() -> None:
    class Fields(Page, template="fields.html"):
        title: str
        count: int = 0

    page = Fields(title="A")
    assert page.context() == {"title": "A", "count": 0}
    assert page.template == "fields.html"
    with pytest.raises(dataclasses.FrozenInstanceError):
        page.title = "B"  # pyright: ignore
