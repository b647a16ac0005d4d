"""A form's choices are shown in their words, and what is typed is checked by its kind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask, g

from portal.web import forms
from portal.web.forms import Form


def test_a_choice_is_shown_in_its_words(app: Flask) -> None:
    with app.test_request_context("/"):
        form = Form({"status": forms.choice("Status", [("a", "Active"), ("b", "Paused")])}, {"status": "a"})
        assert form.words("status", "b") == "Paused"
        assert form.words("status", "zz") == "zz"
        assert form.validate()
        other = Form({"status": forms.choice("Status", [("a", "Active")])}, {"status": "b"})
        assert not other.validate()


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (forms.an_email, "a@b.example", "a@b"),
        (forms.an_email, "a.b+c@b.co.uk", "a b@c.de"),
        (forms.a_phone_number, "+44 7700 900182", "call me"),
        (forms.a_phone_number, "(020) 7946-0000", "12"),
        (forms.a_date, "2026-02-28", "2026-02-30"),
        (forms.a_date, "1991-04-17", "17/04/1991"),
    ],
)
def test_what_is_typed_is_checked_by_its_kind(app: Flask, check: Any, good: str, bad: str) -> None:
    with app.test_request_context("/"):
        g.tenant = SimpleNamespace(country="GB")
        assert check(good) is None
        assert check(bad)
