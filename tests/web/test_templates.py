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
    for name in (
        "moment",
        "day",
        "date",
        "time",
        "ago",
        "consent_status",
        "telephone",
        "e164",
        "with_lang",
        "unbroken",
    ):
        app.jinja_env.filters[name] = str
    with app.test_request_context():
        yield app


def shown(source: str, language: str = "en", **context: object) -> str:
    g.language = language
    environment = templates.environment(language)
    return environment.from_string(source).render(context)


def test_texts_are_translated(app: Flask) -> None:
    assert shown("{{ _('Consents') }}") == "Consents"
    assert shown("{{ _('Consents') }}", "es") != "Consents"


def test_placeholders_are_escaped_and_markup_is_kept(app: Flask) -> None:
    source = "{{ _('Step %(step)s of %(steps)s', step=step, steps=steps) }}"
    assert shown(source, step="<b>", steps=Markup("<i>4</i>")) == "Step &lt;b&gt; of <i>4</i>"
    assert shown(source, "es", step="<b>", steps=4).count("&lt;b&gt;") == 1


def test_output_is_escaped_once(app: Flask) -> None:
    assert shown("{{ one }}{{ other }}", one="<a>", other=Markup("<a>")) == "&lt;a&gt;<a>"
    assert shown("{{ ui.tag(word) }}", word="<a>").count("&lt;a&gt;") == 1


def test_macros_take_positional_and_named_arguments(app: Flask) -> None:
    by_place = shown("{{ ui.tag('New', 'accent') }}")
    assert by_place == shown("{{ ui.tag(tone='accent', text='New') }}")
    assert 'data-tone="accent"' in by_place


def test_a_call_block_reaches_its_macro(app: Flask) -> None:
    assert "<em>inside</em>" in shown("{% call ui.link_list('All') %}<em>inside</em>{% endcall %}")


def test_an_icon_is_the_same_from_a_literal_and_a_variable(app: Flask) -> None:
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
def test_output_and_joins_are_escaped_as_in_jinja(count: int) -> None:
    """Whatever stands beside whatever: text of others, markup, numbers, nothing."""
    values = ("<a&'\">", Markup("<b>"), 3, None, _Drawn(), True, ["<x>"])
    for some in product(values, repeat=count):
        joined, theirs = PortalEnvironment.join_markup(some), markup_join(some)
        assert (joined, type(joined)) == (theirs, type(theirs))
        assert all(PortalEnvironment.escape_output(one) == escape(one) for one in (*some, joined))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<dl>\n  {% if True %}\n  <dt>a</dt>\n  {% endif %}\n</dl>", "<dl><dt>a</dt></dl>"),
        (
            "<p class=\"{{ 'x > y'|length }}{% if 2 > 1 %} z{% endif %}\">\n  a\n  b\n</p>",
            '<p class="5 z">a\n  b</p>',
        ),
        ("<b>a</b>\n<i>b</i>", "<b>a</b>\n<i>b</i>"),
        ("<pre>\n a\n</pre>", "<pre>\n a\n</pre>"),
        ("<th> a </th>", "<th> a </th>"),
    ],
)
def test_line_breaks_beside_block_level_elements_are_left_out(app: Flask, source: str, expected: str) -> None:
    assert shown(source) == expected
