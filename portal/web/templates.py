"""Templates, compiled once for each language, with what never changes in it worked out while compiling.

A page says a hundred fixed words and draws dozens of fixed icons; looking each of them up again for every row of a
table costs more than all the rest of the page. So `_('Consents')`, `ui.icon('next')` and `static('styles.css')` become plain
text of the compiled template, and `_('Day %(day)s', day=…)` text with a hole in it. What else is called is called
straight: Jinja's own way through `Context.call` and `Macro.__call__` sorts out anew each time what is known here when
the template is compiled. What a template means doesn't change by any of this.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from functools import lru_cache
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from flask import Flask, current_app
from flask.templating import Environment
from jinja2 import StrictUndefined, nodes
from jinja2.compiler import CodeGenerator, optimizeconst
from jinja2.filters import do_urlencode
from jinja2.runtime import Macro
from jinja2.visitor import NodeTransformer
from markupsafe import Markup, _escape_inner, escape  # pyright: ignore[reportPrivateUsage, reportPrivateImportUsage]

from portal import words

FOLDER = Path(__file__).parents[2] / "templates"
_EXTENSION = "portal.templates"
_WORDS = ("_", "gettext")
_PLAIN = frozenset(
    {"hx", "nonce", "csrf_field", "toasts", "now", "today", "static", "url_for", "ngettext", "caller"}
)
"""What templates call by these names wants no context of Jinja's."""

_compiling = threading.Lock()


def _written(value: object) -> str:
    """What stands on the page for a value: escaped, unless it is markup. It is only joined, so it needn't be Markup."""
    if type(value) is Markup:
        return value
    return _escape_inner(value) if type(value) is str else escape(value)


def _joined(values: Iterable[object]) -> str:
    """Jinja's `~`: markup, with all else escaped, as soon as one of the values is markup."""
    texts = [value if isinstance(value, str) else str(value) for value in values]
    if Markup in map(type, texts):
        return Markup("".join(map(_written, texts)))  # noqa: S704 (each is markup or escaped)
    return "".join(texts)


class _Generator(CodeGenerator):
    """Writes the calls of macros in `ui`, and of functions that want no context, as plain calls of Python."""

    environment: PortalEnvironment
    _to_write: nodes.Node | None = None
    """The expression whose result goes straight onto the page."""

    def visit_Call(  # noqa: N802 (Jinja's name)
        self, node: nodes.Call, frame: Any, forward_caller: bool = False
    ) -> None:
        if (function := self._macro(node, forward_caller)) is not None:
            self.write(f"({function}(" if node is self._to_write else f"Markup({function}(")
            self._write_arguments(node, frame, forward_caller)
            self.write("))")
        elif _is_plain(node.node):
            self.visit(node.node, frame)
            self.write("(*()")  # signature() begins with a comma
            self.signature(node, frame)
            self.write(")")
        else:
            super().visit_Call(node, frame, forward_caller=forward_caller)

    @optimizeconst
    def visit_Concat(self, node: nodes.Concat, frame: Any) -> None:  # noqa: N802 (Jinja's name)
        self.write("environment.joined((")
        for one in node.nodes:
            self.visit(one, frame)
            self.write(", ")
        self.write("))")

    def _output_child_pre(self, node: nodes.Expr, frame: Any, finalize: Any) -> None:
        """What is markup already, as a macro's result always is, needs no escaping; whatever else is written does."""
        if isinstance(node, nodes.Call) and self._macro(node, forward_caller=False):
            self._to_write = node
            self.write("(")
        else:
            self.write("environment.written(")

    def _macro(self, node: nodes.Call, forward_caller: bool) -> str | None:
        """The function of the macro that this call names, if its arguments can be put in order now."""
        if not isinstance(node.node, nodes.Getattr) or not _is_ui(node.node.node):
            return None
        macro = getattr(self.environment.ui, node.node.attr, None)
        if not isinstance(macro, Macro) or macro.catch_kwargs or macro.catch_varargs:
            return None
        named = {one.key for one in node.kwargs}
        fits = len(node.args) <= len(macro.arguments) and named <= {*macro.arguments[len(node.args) :]}
        if node.dyn_args or node.dyn_kwargs or not fits or (forward_caller and not macro.caller):
            return None
        return f"environment.ui.{node.node.attr}._func"

    def _write_arguments(self, node: nodes.Call, frame: Any, forward_caller: bool) -> None:
        macro: Macro = getattr(self.environment.ui, cast("nodes.Getattr", node.node).attr)
        named = {one.key: one.value for one in node.kwargs}
        for place, name in enumerate(macro.arguments):
            given = node.args[place] if place < len(node.args) else named.get(name)
            if given is None:
                self.write("missing")
            else:
                self.visit(given, frame)
            self.write(", ")
        if macro.caller:
            self.write("caller" if forward_caller else 'undefined("No caller defined", name="caller")')


class PortalEnvironment(Environment):
    """Flask's Jinja environment; the one in a language has the words of that language compiled in."""

    code_generator_class = _Generator
    language: str | None = None
    ui = SimpleNamespace()
    """The macros of templates/ui."""
    written, joined = staticmethod(_written), staticmethod(_joined)

    def make_globals(self, d: Any) -> Any:
        """A plain dictionary, which each context copies at once; Jinja's chain of two is copied key by key."""
        return {**self.globals, **d} if d else self.globals

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template = super()._parse(source, name, filename)
        return cast("nodes.Template", _Fixed(self).visit(template)) if self.language else template


def init_app(app: Flask) -> None:
    """Prepare the environment that those of the languages are made from."""
    env = cast("Any", app.jinja_env)
    env.undefined = StrictUndefined
    env.trim_blocks = env.lstrip_blocks = True
    env.add_extension("jinja2.ext.do")
    env.globals.update(_=_said, gettext=_said, ngettext=_counted)
    env.filters["urlencode"] = _quoted
    app.extensions[_EXTENSION] = {}


def prepare(app: Flask, languages: Iterable[str]) -> None:
    """Compile now what all pages of these languages are made of, so that nobody's first page waits for it."""
    with app.app_context():
        for language in languages:
            environment(language)


def render(name: str, context: dict[str, Any]) -> str:
    """Return the whole page."""
    current_app.update_template_context(context)
    return template(name).render(context)


def render_block(name: str, block: str, context: dict[str, Any]) -> str:
    """Return one block of the page."""
    current_app.update_template_context(context)
    page = template(name)
    return "".join(page.blocks[block](page.new_context(context)))


def template(name: str) -> Any:
    """Return the template in the language of this request."""
    return environment(words.language()).get_template(name)


def ui() -> Any:
    """Return the macros of templates/ui as one namespace."""
    return environment(words.language()).ui


def environment(language: str) -> Any:
    """Return Jinja's environment for a language, with its words and icons compiled in."""
    made: dict[str, Any] = current_app.extensions[_EXTENSION]
    if language not in made:
        with _compiling:
            if language not in made:
                made[language] = _in_language(current_app.jinja_env, language)
    return made[language]


def _in_language(shared: Any, language: str) -> Any:
    env = shared.overlay()
    env.language = language
    env.ui = SimpleNamespace()
    env.globals = {**shared.globals, "ui": env.ui}
    _add_macros(env)
    return env


def _add_macros(env: Any) -> None:
    """All macros of templates/ui as one namespace: a block that is rendered alone sees no import."""
    # The icon first: the others have their icons compiled in.
    for file in sorted((FOLDER / "ui").glob("*.html"), key=lambda file: (file.stem != "icon", file.stem)):
        module = env.get_template(f"ui/{file.name}").module
        for name, value in cast("dict[str, object]", vars(module)).items():
            if not name.startswith("_") and callable(value):
                setattr(env.ui, name, lru_cache(maxsize=512)(value) if name == "icon" else value)


class _Fixed(NodeTransformer):
    """Puts the result in the place of calls whose result is always the same in one language."""

    def __init__(self, env: PortalEnvironment) -> None:
        self._env = cast("Any", env)
        self._words = words.catalogue_of(env.language or "en")

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802 (Jinja's name)
        self.generic_visit(node)
        if node.dyn_args or node.dyn_kwargs:
            return node
        if isinstance(node.node, nodes.Name) and node.node.name in _WORDS:
            return self._said(node)
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

    def _said(self, node: nodes.Call) -> nodes.Node:
        """The words of this language; where something is filled in, the pieces with it between them."""
        if len(node.args) != 1 or not isinstance(node.args[0], nodes.Const):
            return node
        text = self._words.gettext(node.args[0].value)
        if not node.kwargs:
            return nodes.Const(Markup(text) % ())  # noqa: S704 (our own words)
        named = {one.key: one.value for one in node.kwargs}
        pieces = re.split(r"%\((\w+)\)s", text)
        if (
            "%" in "".join(pieces[::2])
            or len(set(pieces[1::2])) < len(pieces) // 2
            or {*pieces[1::2]} - {*named}
        ):
            return node
        said: list[nodes.Expr] = [
            named[piece] if is_hole else nodes.Const(Markup(piece))  # noqa: S704 (our own words)
            for is_hole, piece in zip(cycle((False, True)), pieces, strict=False)
        ]
        return nodes.Concat(said)


def _is_ui(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.name == "ui"


def _is_plain(node: nodes.Node) -> bool:
    match node:
        case nodes.Name(name=name):
            return name in _PLAIN
        case nodes.Getattr(node=nodes.Name(name="ui"), attr="icon"):
            return True
        case _:
            return False


def _quoted(value: object) -> str:
    """Jinja's `urlencode`; lists name the same ids again and again."""
    return _quoted_text(value) if isinstance(value, str) else do_urlencode(cast("Any", value))


_quoted_text = lru_cache(maxsize=2048)(do_urlencode)


def _said(text: str, **values: object) -> Markup:
    """`_` in templates: what is filled in is escaped."""
    return Markup(words.catalogue().gettext(text)) % values  # noqa: S704 (our own words)


def _counted(one: str, many: str, num: int, **values: object) -> Markup:
    return Markup(words.catalogue().ngettext(one, many, num)) % {"num": num, **values}  # noqa: S704 (our own words)
