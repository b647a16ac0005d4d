"""Templates compiled for a language render the same as with plain Jinja."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from flask import Flask, g
from jinja2 import UndefinedError
from jinja2.runtime import markup_join
from markupsafe import Markup, escape

from portal.web import templates
from portal.web.templates import PortalEnvironment


class App(Flask):
    jinja_environment = PortalEnvironment


@pytest.fixture
def app() -> Iterator[Flask]:
    app = App(__name__, template_folder=str(templates.FOLDER))
    templates.init_app(app)
    app.jinja_env.globals.update(
        static=lambda name: f"/static/1/{name}", hx=lambda **given: Markup("hx-nonce")
    )
    for name in ("moment", "day", "date", "time", "ago", "consent_status", "telephone", "e164"):
        app.jinja_env.filters[name] = str
    with app.test_request_context():
        yield app


def shown(source: str, language: str = "en", **context: object) -> str:
    g.language = language
    environment = templates.environment(language)
    return environment.from_string(source).render(context)


def test_words_are_those_of_the_language(app: Flask) -> None:
    assert shown("{{ _('Consents') }}") == "Consents"
    assert shown("{{ _('Consents') }}", "es") != "Consents"


def test_what_is_filled_in_is_escaped_and_markup_stays(app: Flask) -> None:
    source = "{{ _('Step %(step)s of %(steps)s', step=step, steps=steps) }}"
    assert shown(source, step="<b>", steps=Markup("<i>4</i>")) == "Step &lt;b&gt; of <i>4</i>"
    assert shown(source, "es", step="<b>", steps=4).count("&lt;b&gt;") == 1


def test_what_is_written_is_escaped_once(app: Flask) -> None:
    assert shown("{{ one }}{{ other }}", one="<a>", other=Markup("<a>")) == "&lt;a&gt;<a>"
    assert shown("{{ ui.tag(word) }}", word="<a>").count("&lt;a&gt;") == 1


def test_macros_take_their_arguments_by_place_and_by_name(app: Flask) -> None:
    by_place = shown("{{ ui.tag('New', 'accent') }}")
    assert by_place == shown("{{ ui.tag(tone='accent', text='New') }}")
    assert 'data-tone="accent"' in by_place


def test_a_call_block_reaches_its_macro(app: Flask) -> None:
    assert "<em>inside</em>" in shown("{% call ui.link_list('All') %}<em>inside</em>{% endcall %}")


def test_icons_are_drawn_the_same_from_a_word_and_from_a_variable(app: Flask) -> None:
    assert shown("{{ ui.icon('bell') }}") == shown("{{ ui.icon(name) }}", name="bell")
    assert "/static/1/icons.svg#bell" in shown("{{ ui.icon('bell') }}")


def test_an_undefined_name_is_an_error(app: Flask) -> None:
    for source in (
        "{{ missing }}",
        "{{ missing() }}",
        "{{ _('Day %(day)s', day=missing) }}",
        "{{ ui.tag() }}",
    ):
        with pytest.raises(UndefinedError):
            shown(source)


class _Drawn:
    def __html__(self) -> str:
        return "<b>drawn</b>"


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_is_written_and_joined_is_escaped_as_jinja_does(count: int) -> None:
    """Whatever stands beside whatever: text of others, markup, numbers, nothing."""
    values = ("<a&'\">", Markup("<b>"), 3, None, _Drawn(), True, ["<x>"])
    for some in product(values, repeat=count):
        joined, theirs = PortalEnvironment.joined(some), markup_join(some)
        assert (joined, type(joined)) == (theirs, type(theirs))
        assert all(PortalEnvironment.written(one) == escape(one) for one in (*some, joined))
