"""Jinja templates, compiled once per language with constant folding.

Calls whose result is always the same in one language are replaced by it at compile time: `_('Consents')`,
`ui.icon('next')` and `static('styles.css')` become literal text, and `_('Day %(day)s', day=…)` a concatenation of text and
`day`. Other calls of macros and of known global functions are compiled to direct Python calls
(`portal.web.framework_internals`). The output is the same as with plain Jinja, without the line breaks beside block-level
elements.

docs/decisions/0005-template-compiler.md says why, and what it saves.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from graphlib import TopologicalSorter
from itertools import cycle, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from flask import Flask, current_app
from jinja2 import StrictUndefined, nodes
from jinja2.ext import Extension
from jinja2.filters import do_urlencode
from jinja2.runtime import Macro
from jinja2.visitor import NodeTransformer
from markupsafe import Markup, escape

from portal import tracing
from portal.http import deadline
from portal.i18n import gettext
from portal.i18n.locale import language as current_language
from portal.web.framework_internals import TemplateCode, UiEnvironment, function_of

T = TypeVar("T")

FOLDER = Path(__file__).parents[2] / "templates"
_EXTENSION = "portal.templates"
_UNCHECKED = 32
"""The deadline is checked once per this many chunks of output."""

_GETTEXT_NAMES = ("_", "gettext")
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_MACRO = re.compile(r"\{% macro (\w+)\(")
_USE = re.compile(r"\bui\.(\w+)\(")
_BLOCK_LEVEL = (
    "html|head|body|title|meta|link|script|style|header|main|footer|nav|search|section|article|aside|div|p|h[1-6]"
    "|ul|ol|li|dl|dt|dd|table|caption|colgroup|col|thead|tbody|tfoot|tr|th|td|form|fieldset|legend|figure|figcaption"
    "|details|summary|dialog|blockquote|hr|br|select|optgroup|option|datalist|template|svg|g|path|rect|circle|line"
    "|polyline|polygon"
)
_BLOCK_TAG = (
    rf"</?(?:{_BLOCK_LEVEL})(?=[\s/>{{])"
    r"(?:\{\{(?>.*?\}\})|\{%(?>.*?%\})|\{\#(?>.*?\#\})|[^<>{]++|\{(?![{%\#]))*+>"
)
_LINE_BREAK = re.compile(rf"({_BLOCK_TAG})\s*\n\s*|\s*\n\s*(?={_BLOCK_TAG})", re.DOTALL)
_is_special = re.compile("[&<>'\"]").search
_compiling = threading.Lock()


def _escape_output(value: object) -> str:
    """Return the value as HTML, escaped unless it is Markup. Plain `str` will do, because the result is only joined."""
    return value if type(value) is Markup else escape(value)


def _join_markup(values: Sequence[object]) -> str:
    """Implement Jinja's `~`: if any value is Markup, escape the others and return Markup; else return plain text."""
    if [*map(type, values)].count(str) == len(values):
        return "".join(cast("Sequence[str]", values))
    texts = [value if isinstance(value, str) else str(value) for value in values]
    if Markup in map(type, texts):
        return Markup("".join(map(_escape_output, texts)))  # noqa: S704 (each is markup or escaped)
    return "".join(texts)


class _LineBreaks(Extension):
    """Leaves out line breaks beside block-level elements, where browsers show none (CSS Text 3 §4.1.1).

    So that a template needs Jinja's whitespace marks (`{%- … -%}`) only where a space would be seen.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return _LINE_BREAK.sub(lambda found: found[1] or "", source)


class PortalEnvironment(UiEnvironment):
    """Flask's Jinja environment. If `language` is set, that language's translations are compiled into its templates."""

    code_generator_class = TemplateCode
    language: str | None = None
    ui = SimpleNamespace()
    """The macros of templates/ui, by name."""
    drawn = SimpleNamespace()
    """The functions behind them."""
    escape_output, join_markup = staticmethod(_escape_output), staticmethod(_join_markup)

    def make_globals(self, d: Any) -> Any:
        """Return one dict, which is faster to copy for each context than Jinja's ChainMap."""
        return {**self.globals, **d} if d else self.globals

    def compile(self, source: Any, name: Any = None, filename: Any = None, *args: Any, **options: Any) -> Any:
        """Compile as Jinja does, after constant folding for this environment's language."""
        if self.language and isinstance(source, str):
            source = _ConstantFolding(self).visit(self.parse(source, name, filename))
        return cast("Any", super()).compile(source, name, filename, *args, **options)


def init_app(app: Flask) -> None:
    """Configure the application's environment, which each language's environment overlays."""
    env = cast("Any", app.jinja_env)
    env.undefined = StrictUndefined
    env.trim_blocks = env.lstrip_blocks = True
    env.add_extension("jinja2.ext.do")
    env.add_extension(_LineBreaks)
    env.globals.update(_=_translated, gettext=_translated, ngettext=_translated_plural)
    env.filters["urlencode"] = _quoted
    app.extensions[_EXTENSION] = {}


def prepare(app: Flask, languages: Iterable[str]) -> None:
    """Compile the macros for these languages at startup, so that the first request doesn't wait for it."""
    with app.app_context():
        for language in languages:
            environment(language)


def render(name: str, context: dict[str, Any], *, block: str | None = None) -> str:
    with tracing.span("page", template=name, **({"block": block} if block else {})):
        current_app.update_template_context(context)
        page = template(name)
        draw = page.blocks[block] if block else page.root_render_func
        made = page.new_context(context)
        try:
            return _within_deadline(draw(made))
        except Exception:
            page.environment.handle_exception()  # with the lines of the templates
            raise
        finally:
            made.vars.clear()  # its macros hold it: without this, all of the request would wait for the garbage collector


def _within_deadline(chunks: Iterator[str]) -> str:
    """Join the chunks; raise `deadline.Passed` once the request's deadline has passed."""
    drawn: list[str] = []
    while some := list(islice(chunks, _UNCHECKED)):
        drawn += some
        deadline.check()
    return "".join(drawn)


def template(name: str) -> Any:
    """Return the template, compiled for this request's language."""
    return environment(current_language()).get_template(name)


def ui() -> Any:
    """Return the macros of templates/ui, compiled for this request's language, as attributes."""
    return environment(current_language()).ui


def environment(language: str) -> Any:
    """Return the Jinja environment for a language, created on first use."""
    environments: dict[str, Any] = current_app.extensions[_EXTENSION]
    if language not in environments:
        with _compiling:
            if language not in environments:
                environments[language] = _in_language(current_app.jinja_env, language)
    return environments[language]


def _in_language(shared: Any, language: str) -> Any:
    env = shared.overlay()
    env.language = language
    env.ui, env.drawn, env.found = SimpleNamespace(), SimpleNamespace(), {}
    env.globals = {**shared.globals, "ui": env.ui}
    _add_macros(env)
    return env


def _add_macros(env: Any) -> None:
    """Set the macros of templates/ui as attributes of `env.ui`, because a block rendered alone sees no imports."""
    for name in _components():
        module = env.get_template(f"ui/{name}.html").module
        for macro, value in cast("dict[str, object]", vars(module)).items():
            if isinstance(value, Macro) and not macro.startswith("_"):
                kept = lru_cache(maxsize=512) if macro == "icon" else _as_it_is
                setattr(env.ui, macro, kept(value))
                setattr(env.drawn, macro, kept(function_of(value)))


def _as_it_is(function: T) -> T:
    return function


def _components() -> list[str]:
    """Return the files of templates/ui, each after those it uses: only macros already known are called directly."""
    sources = {
        file.stem: _COMMENT.sub("", file.read_text(encoding="utf-8"))
        for file in (FOLDER / "ui").glob("*.html")
    }
    defined_in = {macro: file for file, source in sources.items() for macro in _MACRO.findall(source)}
    uses = {
        file: {defined_in[macro] for macro in sorted(_USE.findall(source)) if macro in defined_in} - {file}
        for file, source in sorted(sources.items())
    }
    return list(TopologicalSorter(uses).static_order())


class _ConstantFolding(NodeTransformer):
    """Replaces calls that always return the same in one language by their result."""

    def __init__(self, env: PortalEnvironment) -> None:
        self._env = cast("Any", env)
        self._catalogue = gettext.catalogue_of(env.language or "en")

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802 (Jinja's name)
        self.generic_visit(node)
        if node.dyn_args or node.dyn_kwargs:
            return node
        if isinstance(node.node, nodes.Name) and node.node.name in _GETTEXT_NAMES:
            return self._translated(node)
        if not all(isinstance(arg, nodes.Const) for arg in (*node.args, *(k.value for k in node.kwargs))):
            return node
        args = [cast("nodes.Const", arg).value for arg in node.args]
        named = {k.key: cast("nodes.Const", k.value).value for k in node.kwargs}
        match node.node:
            case nodes.Name(name="static"):
                return nodes.Const(self._env.globals["static"](*args))
            case nodes.Getattr(node=nodes.Name(name="ui"), attr="icon"):
                return nodes.Const(self._env.ui.icon(*args, **named))
            case _:
                return node

    def _translated(self, node: nodes.Call) -> nodes.Node:
        """Replace a gettext call by its translation; one with placeholders by a concatenation of text and arguments.

        A call is left as it is if its text isn't constant, or if the translation uses a placeholder twice, one that is not
        given, or another format than `%(name)s`.
        """
        if len(node.args) != 1 or not isinstance(node.args[0], nodes.Const):
            return node
        text = self._catalogue.gettext(node.args[0].value)
        if not node.kwargs:
            return _constant(str(Markup(text) % ()))  # noqa: S704 (our own words)
        arguments = {argument.key: argument.value for argument in node.kwargs}
        pieces = re.split(r"%\((\w+)\)s", text)
        if (
            "%" in "".join(pieces[::2])
            or len(set(pieces[1::2])) < len(pieces) // 2
            or {*pieces[1::2]} - {*arguments}
        ):
            return node
        parts: list[nodes.Expr] = [
            arguments[piece] if is_placeholder else _constant(piece)
            for is_placeholder, piece in zip(cycle((False, True)), pieces, strict=False)
        ]
        return nodes.Concat(parts)


def _constant(text: str) -> nodes.Const:
    """Return our own text as a constant: as Markup only if it has characters to escape, because Markup is created anew at each use."""
    return nodes.Const(Markup(text) if _is_special(text) else text)  # noqa: S704 (our own words)


def _quoted(value: object) -> str:
    """Jinja's `urlencode`, cached for text, because lists repeat the same ids."""
    return _quoted_text(value) if isinstance(value, str) else do_urlencode(cast("Any", value))


_quoted_text = lru_cache(maxsize=2048)(do_urlencode)


def _translated(text: str, **values: object) -> Markup:
    """`_` in templates; its arguments are escaped."""
    return Markup(gettext.catalogue().gettext(text)) % values  # noqa: S704 (our own words)


def _translated_plural(one: str, many: str, num: int, **values: object) -> Markup:
    return Markup(gettext.catalogue().ngettext(one, many, num)) % {"num": num, **values}  # noqa: S704 (our own words)
