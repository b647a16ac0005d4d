"""The only code that depends on undocumented behaviour of frameworks: a code generator for Jinja, and when limits are checked.

Jinja's `code_generator_class` is documented, but the methods overridden here and the Python that they write aren't. Jinja
calls every macro and function through `Context.call`, which looks up each time whether the callee wants a context, and it
wraps every expression in `Markup` only to join it. Both can be decided at compile time instead
(docs/decisions/0005-template-compiler.md).

Flask-Limiter looks before each request for limits of all views and of blueprints, of which the portal has none: a sixth of what
the bell's refresh costs. A view's own limits are checked by its decorator.

`tests/web/test_framework_internals.py` fails if a new version of Jinja changes what this relies on, and if another module
uses private names of a framework.
"""

# Jinja's compiler doesn't annotate its visitor methods.
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Any

from flask.templating import Environment
from flask_limiter import Limiter
from jinja2 import nodes
from jinja2.compiler import CodeGenerator

CONTEXT_FREE = frozenset(
    {"hx", "nonce", "csrf_field", "toasts", "now", "today", "static", "url_for", "ngettext", "caller"}
)
"""Global functions that don't take Jinja's context, so that they can be called directly."""


class UiEnvironment(Environment):
    """An environment with the macros of `templates/ui` as attributes of `ui`."""

    ui: object


class TemplateCode(CodeGenerator):
    """Compiles calls of `ui` macros and of `CONTEXT_FREE` functions to direct Python calls.

    Output expressions go through the environment's `escape_output`, operands of `~` through its `join_markup`.
    """

    environment: UiEnvironment

    def visit_Call(  # noqa: N802 (Jinja's name)
        self, node: nodes.Call, frame: Any, forward_caller: bool = False
    ) -> None:
        name = self._direct_name(node.node)
        if name is None:
            super().visit_Call(node, frame, forward_caller=forward_caller)
            return
        if name:
            self.write(name)
        else:
            self.visit(node.node, frame)
        self.write("(*()")  # `signature` begins with a comma
        self.signature(node, frame, {"caller": "caller"} if forward_caller else None)
        self.write(")")

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
        if _escapes(frame):
            self.write("environment.escape_output(")
        else:
            super()._output_child_pre(node, frame, finalize)

    def _direct_name(self, callee: nodes.Node) -> str | None:
        """Return the Python expression of a `ui` macro, "" for a context-free function, None if Jinja must call it."""
        match callee:
            case nodes.Getattr(node=nodes.Name(name="ui"), attr=name) if hasattr(self.environment.ui, name):
                return f"environment.ui.{name}"
            case nodes.Name(name=name) if name in CONTEXT_FREE:
                return ""
            case _:
                return None


def _escapes(frame: Any) -> bool:
    """Whether autoescaping is known at compile time to be on."""
    return frame.eval_ctx.autoescape and not frame.eval_ctx.volatile


class LimitsOfViews(Limiter):
    """Checks the limits of a view when it is called, and nothing before each request."""

    def _check_request_limit(self, callable_name: str | None = None, in_middleware: bool = True) -> None:
        if not in_middleware:
            super()._check_request_limit(callable_name, in_middleware)
