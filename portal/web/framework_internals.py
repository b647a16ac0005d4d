"""The only code that depends on undocumented behaviour of frameworks: a code generator for Jinja, when limits are checked, and
how Werkzeug's proxies look something up.

Jinja's `code_generator_class` is documented, but the methods overridden here and the Python that they write aren't. Jinja
calls every macro and function through `Context.call`, which looks up each time whether the callee wants a context, matches a
macro's arguments anew at each call, and wraps every expression in `Markup` only to join it. All of it can be decided at
compile time instead (docs/decisions/0005-template-compiler.md).

Flask-Limiter looks before each request for limits of all views and of blueprints, of which the portal has none: a sixth of what
the bell's refresh costs. A view's own limits are checked by its decorator.

Werkzeug's proxies (`g`, `request`) are asked two hundred times for a page, and make a partial function for each look. An attribute
or a member is looked up in the object itself instead.

`tests/web/test_framework_internals.py` fails if a new version of Jinja changes what this relies on, and if another module
uses private names of a framework.
"""

# Jinja's compiler doesn't annotate its visitor methods.
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import unwrap
from keyword import iskeyword
from typing import Any, cast

from flask.templating import Environment
from flask_limiter import Limiter
from jinja2 import Template, nodes
from jinja2.compiler import CodeGenerator, find_undeclared
from jinja2.runtime import Macro
from werkzeug.local import LocalProxy

from portal.values import Value


class UiEnvironment(Environment):
    """An environment with the macros of `templates/ui` as attributes of `ui`, and the functions behind them of `drawn`."""

    ui: object
    drawn: object

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.found: dict[str, Template] = {}
        for name, function in self.filters.items():
            if hasattr(
                function, "jinja_async_variant"
            ):  # asks at each call whether templates are asynchronous
                self.filters[name] = cast("Any", function).__wrapped__

    def get_template(self, name: Any, parent: str | None = None, globals: Any = None) -> Template:
        """Find a template that was found before by its name alone, unless templates are read again when their files change."""
        try:
            return self.found[name]
        except KeyError:
            template = super().get_template(name, parent, globals)
            if not self.auto_reload:
                self.found[name] = template
            return template


def function_of(macro: Macro) -> Callable[..., str]:
    """Return the function behind a macro: it takes all arguments by position, `missing` where none is given, and returns HTML."""
    return macro._func  # pyright: ignore[reportPrivateUsage]


class TemplateCode(CodeGenerator):
    """Compiles calls to direct Python calls, and includes without a loop of their own.

    Text that is output is escaped by MarkupSafe's C function, anything else by the environment's `escape_output`; operands of `~`
    go through its `join_markup`; what a macro returns is HTML, and output as it is.
    """

    environment: UiEnvironment

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._output_as_it_is: set[int] = set()
        self._own: dict[str, _Callee] = {}

    def visit_Template(self, node: nodes.Template, frame: Any = None) -> None:  # noqa: N802 (Jinja's name)
        self._own = {callee.name: callee for callee in _own_macros(node)}
        self.writeline("from markupsafe import _escape_inner as escape_text")
        super().visit_Template(node, frame)

    def visit_Include(self, node: nodes.Include, frame: Any) -> None:  # noqa: N802 (Jinja's name)
        if not node.with_context or node.ignore_missing or not isinstance(node.template, nodes.Const):
            super().visit_Include(node, frame)
            return
        self.writeline(f"template = environment.get_template({node.template.value!r}, {self.name!r})", node)
        self.writeline(
            f"included = template.new_context(context.get_all(), True, {self.dump_local_context(frame)})"
        )
        self.writeline(f"{frame.buffer}.extend(" if frame.buffer else "yield from (")
        self.write("template.root_render_func(included))")
        self.writeline("included.vars.clear()")  # as templates.render does

    def visit_Call(  # noqa: N802 (Jinja's name)
        self, node: nodes.Call, frame: Any, forward_caller: bool = False
    ) -> None:
        macro = self._macro(node)
        if macro and _escapes(frame) and (macro.is_ui or not forward_caller):
            is_output = forward_caller or id(node) in self._output_as_it_is
            self.write("(" if is_output else "Markup(")
            self._call_macro(macro, node, frame, forward_caller=forward_caller)
            self.write(")")
        elif self._is_plain(node):
            self.visit(node.node, frame)
            self.write("(")
            for argument in (*node.args, *node.kwargs):
                self.visit(argument, frame)
                self.write(", ")
            self.write("caller=caller)" if forward_caller else ")")
        else:
            super().visit_Call(node, frame, forward_caller=forward_caller)

    def visit_Getattr(self, node: nodes.Getattr, frame: Any) -> None:  # noqa: N802 (Jinja's name)
        """What `environment.getattr` does first, without calling it."""
        self.write("(_a if (_a := getattr((_o := ")
        self.visit(node.node, frame)
        self.write(f"), {node.attr!r}, missing)) is not missing else environment.getattr(_o, {node.attr!r}))")

    def visit_Concat(self, node: nodes.Concat, frame: Any) -> None:  # noqa: N802 (Jinja's name)
        if not _escapes(frame):
            super().visit_Concat(node, frame)
            return
        self.write("environment.join_markup((")
        for operand in node.nodes:
            self.visit(operand, frame)
            self.write(", ")
        self.write("))")

    def _output_child_pre(self, node: nodes.Expr, frame: Any, finalize: Any) -> None:
        """Write the call's opening before an output expression; Jinja writes the closing parenthesis."""
        if not _escapes(frame):
            super()._output_child_pre(node, frame, finalize)
        elif (calls := self._html_of(node)) is not None:
            self._output_as_it_is.update(map(id, calls))
            self.write("(")
        else:
            self.write("(escape_text(_t) if type(_t := ")

    def _output_child_post(self, node: nodes.Expr, frame: Any, finalize: Any) -> None:
        if _escapes(frame) and self._html_of(node) is None:
            self.write(") is str else environment.escape_output(_t)")
        super()._output_child_post(node, frame, finalize)

    def _is_plain(self, node: nodes.Call) -> bool:
        """Whether only the arguments are to be passed, each under a name that Python accepts.

        Functions that want Jinja's context are global ones; what views pass, and macros, want none.
        """
        name = node.node.name if isinstance(node.node, nodes.Name) else ""
        wants_more = hasattr(self.environment.globals.get(name), "jinja_pass_arg")
        return not (
            wants_more or node.dyn_args or node.dyn_kwargs or any(iskeyword(one.key) for one in node.kwargs)
        )

    def _html_of(self, node: nodes.Expr | None) -> list[nodes.Call] | None:
        """The calls of macros that this always is, one or the other, or nothing: output as it is; None if it may be text."""
        match node:
            case nodes.CondExpr(expr1=one, expr2=other):
                first, second = self._html_of(one), self._html_of(other)
                return None if first is None or second is None else [*first, *second]
            case nodes.Const(value=""):
                return []
            case nodes.Call() if self._macro(node):
                return [node]
            case _:
                return None

    def _macro(self, node: nodes.Call) -> _Callee | None:
        """The macro that is called, of `ui`, of this template, or a call block's, if its arguments can be matched now."""
        if node.dyn_args or node.dyn_kwargs:
            return None
        match node.node:
            case nodes.Getattr(node=nodes.Name(name="ui"), attr=name):
                macro = unwrap(getattr(self.environment.ui, name, None) or str)
                if not isinstance(macro, Macro) or macro.catch_kwargs or macro.catch_varargs:
                    return None
                return _Callee(name, tuple(macro.arguments), takes_caller=macro.caller, is_ui=True)
            case nodes.Name(name="caller") if not node.kwargs:
                return _Callee("caller", tuple(map(str, range(len(node.args)))))
            case nodes.Name(name=name):
                return self._own.get(name)
            case _:
                return None

    def _call_macro(self, macro: _Callee, node: nodes.Call, frame: Any, *, forward_caller: bool) -> None:
        given: dict[str, nodes.Expr] = dict(zip(macro.arguments, node.args, strict=False))
        named = {argument.key: argument.value for argument in node.kwargs}
        if len(node.args) > len(macro.arguments) or given.keys() & named or named.keys() - {*macro.arguments}:
            self.fail(f"macro {macro.name!r} doesn't take these arguments", node.lineno)
        given |= named
        if macro.is_ui:
            self.write(f"environment.drawn.{macro.name}(")
        else:
            self.visit(node.node, frame)
            self.write("._func(")
        for name in macro.arguments:
            if name == "caller" and forward_caller:
                self.write("caller")
            elif name in given:
                self.visit(given[name], frame)
            else:
                self.write("missing")
            self.write(", ")
        if macro.takes_caller and "caller" not in macro.arguments:
            self.write("caller" if forward_caller else "undefined('No caller defined', name='caller')")
        self.write(")")


class _Callee(Value, frozen=True):
    """A macro whose function is called directly, with the names of its arguments."""

    name: str
    arguments: tuple[str, ...]
    takes_caller: bool = False
    is_ui: bool = False


def _own_macros(template: nodes.Template) -> Iterator[_Callee]:
    """The template's own macros, but those whose name stands for something else too, or that take more than they name."""
    macros = list(template.find_all(nodes.Macro))
    names = [macro.name for macro in macros]
    names += [name.name for name in template.find_all(nodes.Name) if name.ctx != "load"]
    for macro in macros:
        if names.count(macro.name) == 1 and not find_undeclared(macro.body, ("caller", "kwargs", "varargs")):
            yield _Callee(macro.name, tuple(argument.name for argument in macro.args))


def _escapes(frame: Any) -> bool:
    """Whether autoescaping is known at compile time to be on."""
    return frame.eval_ctx.autoescape and not frame.eval_ctx.volatile


class LimitsOfViews(Limiter):
    """Checks the limits of a view when it is called, and nothing before each request."""

    def _check_request_limit(self, callable_name: str | None = None, in_middleware: bool = True) -> None:
        if not in_middleware:
            super()._check_request_limit(callable_name, in_middleware)


def look_through_directly() -> None:
    """Let Werkzeug's proxies look up attributes and members without a function made for each."""
    proxy = cast("Any", LocalProxy)
    proxy.__getattr__, proxy.__setattr__, proxy.__contains__ = _attribute, _set_attribute, _contains


def _attribute(proxy: Any, name: str) -> Any:
    return getattr(proxy._get_current_object(), name)


def _set_attribute(proxy: Any, name: str, value: object) -> None:
    setattr(proxy._get_current_object(), name, value)


def _contains(proxy: Any, member: object) -> bool:
    return member in proxy._get_current_object()
