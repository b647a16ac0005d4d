"""Private names of frameworks are used in one module only, and still work as expected."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from flask import Flask, Request, current_app, g, request
from jinja2 import DictLoader, Environment, TemplateAssertionError, UndefinedError, pass_context
from jinja2.compiler import CodeGenerator
from jinja2.runtime import Context
from werkzeug.local import LocalProxy

from portal.web.framework_internals import TemplateCode, function_of, look_through_directly
from portal.web.templates import PortalEnvironment

PORTAL = Path(__file__).parents[2] / "portal"
MODULES = {"web/framework_internals.py"}
DOCUMENTED = {
    "_exit",
    "_get_current_object",
    "_name_",
    "_value_",
    "_replace",
    "_asdict",
    "_fields",
    "_sa_instance_state",
}
"""Underscored, and in the reference of Python or their frameworks all the same (os, Werkzeug, enum, namedtuple, SQLAlchemy)."""


def files() -> list[Path]:
    return [file for file in PORTAL.rglob("*.py") if str(file.relative_to(PORTAL)) not in MODULES]


def own_names(trees: list[ast.Module]) -> set[str]:
    """What the portal itself calls by an underscored name."""
    names: set[str] = set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name) | ast.Name(id=name):
                names.add(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                names.add(name)
            case _:
                pass
    return names


def foreign(tree: ast.Module, known: set[str]) -> Iterator[tuple[int, str]]:
    """Underscored names that a module takes from somewhere else."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if is_private(name) and name not in known:
                yield node.lineno, name
            case ast.ImportFrom(module=str(module), names=names) if not module.startswith("portal"):
                yield from ((node.lineno, one.name) for one in names if is_private(one.name))
            case _:
                pass


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_" and name not in DOCUMENTED


def test_only_framework_internals_uses_private_names() -> None:
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files()}
    known = own_names(list(trees.values()))
    found = [
        f"{file.relative_to(PORTAL)}:{line}: {name}"
        for file, tree in trees.items()
        for line, name in foreign(tree, known)
    ]
    assert not found, (
        "use what the framework documents; where there is nothing, write it into portal/web/framework_internals.py "
        f"with its reason, and a test here: {found}"
    )


@pytest.mark.parametrize(
    "source",
    [
        "from markupsafe import _escape_inner",
        "from jinja2.utils import Namespace, _PassArg",
        "response._content = b''",
        "macro._func()",
        "super()._parse(source)",
        "def made(self): self._error_response('no')",
    ],
)
def test_uses_of_private_names_are_detected(source: str) -> None:
    tree = ast.parse(source)
    assert list(foreign(tree, own_names([tree])))


def written(source: str) -> str:
    """The Python that a template becomes."""
    env = PortalEnvironment(Flask(__name__))
    env.autoescape = True
    source_of_tag = "{% macro tag(text, tone='neutral') %}{{ text }}{{ caller() }}{% endmacro %}"
    env.ui = SimpleNamespace(tag=env.from_string(source_of_tag).module.tag)
    return str(env.compile(source, raw=True)).partition("def root")[2]


def test_compiled_templates_output_call_and_join_through_our_hooks() -> None:
    """Jinja's own code for it would be ` escape(`, `context.call(` and `markup_join(`."""
    python = written(
        "{{ title }}{{ ui.tag(word, tone='x') }}{{ nonce() }}{{ a ~ b }}{{ [ui.tag(c)] }}{{ d.e(1, f=g) }}"
    )
    assert python.count("(escape_text(") == python.count("environment.escape_output(") == 5, (
        "a macro's HTML isn't"
    )
    assert "'e'))(1, f=(undefined(name='g') if " in python
    assert "yield ((environment.drawn.tag((undefined(name='word')" in python
    assert "Markup(environment.drawn.tag((undefined(name='c')" in python, "it is HTML wherever else it goes"
    assert "'x', undefined('No caller defined', name='caller')))" in python
    assert "environment.join_markup((" in python
    assert not any(theirs in python for theirs in (" escape(", "context.call(", " markup_join("))


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("ui.tag(text) if yes else ui.tag('no')", "<b>&lt;</b>"),
        ("ui.tag(text) if yes else text", "<b>&lt;</b>"),
        ("ui.tag(text) if no else text", "&lt;"),
        ("ui.tag(text) if yes else ''", "<b>&lt;</b>"),
        ("ui.tag(text) ~ text", "<b>&lt;</b>&lt;"),
        ("(no or ui.tag(text))", "<b>&lt;</b>"),
        ("ui.tag(ui.tag(text))", "<b><b>&lt;</b></b>"),
    ],
)
def test_what_a_macro_returns_is_escaped_never_and_other_text_always(expression: str, shown: str) -> None:
    env = PortalEnvironment(Flask(__name__))
    env.autoescape = True
    macro = env.from_string("{% macro tag(text) %}<b>{{ text }}</b>{% endmacro %}").module.tag
    env.ui, env.drawn = SimpleNamespace(tag=macro), SimpleNamespace(tag=function_of(macro))
    assert env.from_string(f"{{{{ {expression} }}}}").render(text="<", yes=True, no=False) == shown


@pytest.mark.parametrize("call", ["ui.tag(1, 2, 3)", "ui.tag(1, text=2)", "ui.tag(1, ton='x')"])
def test_a_macro_is_refused_arguments_that_it_does_not_take_before_anybody_opens_the_page(call: str) -> None:
    with pytest.raises(TemplateAssertionError, match="'tag' doesn't take these arguments"):
        written(f"{{{{ {call} }}}}")


def test_an_attribute_is_found_as_jinja_finds_it() -> None:
    env = PortalEnvironment(Flask(__name__))
    source = "{{ a.b }}{{ c.b }}{{ a.x|default('none') }}{{ (c.d).b }}"
    page = env.from_string(source).render(a=SimpleNamespace(b=1), c={"b": 2, "d": {"b": 3}})
    assert page == "12none3"


def test_functions_that_want_jinjas_context_get_it() -> None:
    env = PortalEnvironment(Flask(__name__))

    @pass_context
    def named(context: Context, word: str) -> str:
        return f"{context['title']} {word}"

    env.globals.update(named=named)  # pyright: ignore[reportCallIssue]
    assert (
        env.from_string("{{ named('b') }}{{ dict(**{'class': 1}) }}").render(title="a") == "a b{'class': 1}"
    )


def test_an_include_sees_what_stands_around_it_and_keeps_its_own() -> None:
    env = PortalEnvironment(Flask(__name__))
    env.loader = DictLoader(
        {
            "page": "{% set a = 1 %}{% with b = 2 %}{% include 'part' %}{% endwith %}{{ a }}"
            "{% set held %}{% include 'part' %}{% endset %}[{{ held }}]{% include 'none' ignore missing %}",
            "part": "{% set a = a + 1 %}<{{ a }}{{ b }}{{ c }}>",
        }
    )
    assert env.get_template("page").render(b=5, c=3) == "<223>1[<253>]"
    assert env.get_template("page") is env.get_template("page")


def test_templates_without_static_autoescape_use_jinjas_own_code() -> None:
    for flag in ("false", "flag"):
        python = written(f"{{% autoescape {flag} %}}{{{{ one ~ two }}}}{{% endautoescape %}}")
        assert "escape_text(" not in python
        assert "environment.escape_output(" not in python
        assert "environment.join_markup(" not in python


def test_a_templates_own_macros_and_call_blocks_are_called_directly_and_are_what_jinja_makes_of_them() -> (
    None
):
    source = (
        "{% macro one(text, tone='a') %}<i {{ tone }}>{{ text }}</i>{% endmacro %}"
        "{% macro two(text) %}{{ caller(text, '>') }}|{{ [caller(text, 1)] }}{% endmacro %}"
        "{% macro more() %}{{ varargs }}{% endmacro %}{% macro taken() %}m{% endmacro %}"
        "{% block part %}{{ one('<', tone='b') }}{{ one(text='x') ~ one() if known else '' }}{% endblock %}"
        "{% call(a, b) two('&') %}{{ one(a) }}{{ b }}{% endcall %}{{ more(1) }}"
        "{% for taken in [one] %}{{ taken('t') }}{% endfor %}{{ [1, 0, 2]|select|join(',') }}"
    )
    env = PortalEnvironment(Flask(__name__))
    env.autoescape = True
    plain = Environment(autoescape=True)
    assert env.from_string(source).render() == plain.from_string(source).render()
    python = written(source.replace("{% block part %}", "").replace("{% endblock %}", ""))
    assert python.count("._func(") == 6
    assert python.count("context.call(") == 0
    with pytest.raises(UndefinedError, match="caller"):
        env.from_string("{% macro two() %}{{ caller() }}{% endmacro %}{{ two() }}").render()


@pytest.mark.parametrize(
    "name",
    [
        "visit_Template",
        "visit_Include",
        "visit_Call",
        "visit_Concat",
        "_output_child_pre",
        "_output_child_post",
    ],
)
def test_overridden_jinja_methods_keep_their_signature(name: str) -> None:
    """A method that is gone, or takes something else, would be overridden in vain."""
    theirs = list(inspect.signature(getattr(CodeGenerator, name)).parameters)
    ours = list(inspect.signature(getattr(TemplateCode, name)).parameters)
    assert ours == theirs


def test_proxies_look_into_the_object_itself() -> None:
    """Werkzeug's own lookup would stand in the trace; unbound they raise as ever."""
    look_through_directly()
    app = Flask(__name__)
    with app.test_request_context("/page", headers={"X-A": "b"}):
        g.held = 1
        assert "held" in g
        assert "other" not in g
        assert (g.held, g.get("other"), request.path, request.headers["X-A"]) == (1, None, "/page", "b")
        assert (getattr(g, "other", 2), hasattr(current_app, "nothing"), isinstance(request, Request)) == (
            2,
            False,
            True,
        )
        with pytest.raises(AttributeError, match="other"):
            g.other  # noqa: B018
        assert not isinstance(vars(LocalProxy)["__getattr__"], type(vars(LocalProxy)["__str__"]))
    for unbound in (lambda: g.held, lambda: "held" in g, lambda: setattr(g, "held", 1), lambda: request.path):
        with pytest.raises(RuntimeError, match="outside of"):
            unbound()
