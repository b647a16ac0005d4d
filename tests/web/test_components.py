"""The usage comment of each component in templates/ui is complete and correct."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest
from flask import Flask, g
from markupsafe import Markup

from portal.views.style_guide import SampleForm
from portal.web import templates
from portal.web.alerts import ClinicAlert
from portal.web.edit_form import Comparison, Difference
from portal.web.filters import breakable, unbroken
from portal.web.patient_banner import PatientBanner
from portal.web.templates import PortalEnvironment

FILES = sorted((templates.FOLDER / "ui").glob("*.html"))
"""Columns that fit a screen beside a tree of files."""


class Component(NamedTuple):
    """A macro: `comment` is what stands right above it."""

    name: str
    signature: str
    comment: str


def components() -> list[Component]:
    found = [
        Component(name, " ".join(signature.split()), comment or "")
        for file in FILES
        for comment, signature, name in re.findall(
            r"(?:\{#((?:(?!#\}).)*)#\}\n)?\{% macro ((\w+)\(.*?\)) -?%\}", file.read_text(), re.DOTALL
        )
    ]
    return [Component(*one) for one in found]


COMPONENTS = components()


def static_address(name: str) -> str:
    return f"/static/1/{name}"


def glossary_word(id_: str) -> SimpleNamespace:
    return SimpleNamespace(id=id_, term=id_, meaning="What it means.")


def opening_hours(_contact: object) -> list[str]:
    return ["Monday to Friday, 08:00 to 18:00"]


@pytest.fixture(scope="module")
def app() -> Iterator[Flask]:
    class App(Flask):
        jinja_environment = PortalEnvironment

    app = App(__name__, template_folder=str(templates.FOLDER))
    templates.init_app(app)
    app.add_url_rule("/help/words", "help.words")
    app.add_url_rule("/notifications", "notifications.index")
    app.add_url_rule("/", "home.show")
    cast("Any", app.jinja_env).globals.update(
        static=static_address,
        csrf_field=lambda: Markup('<input type="hidden" name="csrf_token">'),
        glossary_word=glossary_word,
        explained_terms=lambda: [glossary_word("icsi")],
        line_now=lambda: SimpleNamespace(
            is_out_of_hours=False, number="+441632960100", note=None, other="+441632960199"
        ),
        reply_time=lambda: "Within 24 hours.",
        emergency_number=lambda: "999",
        call_now_signs=lambda: ["heavy bleeding", "fever"],
        opening_hours=opening_hours,
        now=lambda: datetime(2026, 11, 27, 9, 30, tzinfo=UTC),
        reader_is_staff=lambda: False,
        is_this_page=lambda _address: False,
    )
    for name in ("moment", "day", "date", "time", "ago", "telephone", "e164", "counted", "with_lang"):
        app.jinja_env.filters[name] = str
    app.jinja_env.filters.update(breakable=breakable, unbroken=unbroken)
    with app.test_request_context():
        g.language = "en"
        yield app


@pytest.mark.parametrize("component", COMPONENTS, ids=[component.name for component in COMPONENTS])
def test_a_components_comment_matches_its_signature_and_example(app: Flask, component: Component) -> None:
    signature, _, rest = component.comment.strip().partition(":\n")
    assert " ".join(signature.split()) == f"ui.{component.signature}"
    meaning, _, example = rest.partition("\n\n")
    assert meaning.strip()
    assert f"ui.{component.name}(" in example
    shown = templates.environment("en").from_string(example).render(sample())
    assert "<" in shown or component.name in {"href_with", "page_of", "field_target", "field_described_by"}


def sample() -> dict[str, object]:
    form = SampleForm()
    form.reason.errors = ["Write a shorter reason."]
    town = Difference(
        name="town", label="Town", was="Bristol", yours="Bath", now="Cardiff", keep="mine"
    )  # fmt: skip
    contact = SimpleNamespace(
        telephone="+441632960100", hours=True, out_of_hours=None, email="care@clinic.example", address=(), map=None
    )  # fmt: skip
    return {
        "form": form,
        "edit": Comparison(
            differences=(town,), mine_alone=(), carried=(("version", "3"),), changed_at=datetime(2026, 11, 27, tzinfo=UTC)
        ),
        "someone": PatientBanner("Amelia Hart", born="1 March 1990", age="36", alerts=(ClinicAlert("info", "No food.", ""),)),
        "tenant": SimpleNamespace(contact=contact, time_zone="Europe/London"),
    }  # fmt: skip
