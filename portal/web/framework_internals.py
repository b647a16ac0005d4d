"""What leans on a framework beyond what it promises: all of it is here, each with its reason.

`tests/web/test_framework_internals.py` fails when a new version changes what this leans on, and when such a thing is
written anywhere else.

▲ Jinja: `code_generator_class` is public, what its class writes isn't. Jinja calls every macro and function through
`Context.call`, which sorts out anew each time whether it wants a context, and makes a `Markup` of every expression only
to join it. What is known when a template is compiled needs none of this; `portal.web.templates` says what that saves.
"""

# Jinja's compiler has no types for what a visitor is given.
# pyright: reportIncompatibleMethodOverride=false

from __future__ import annotations

from typing import Any

from flask.templating import Environment
from jinja2 import nodes
from jinja2.compiler import CodeGenerator

CONTEXT_FREE = frozenset(
    {"hx", "nonce", "csrf_field", "toasts", "now", "today", "static", "url_for", "ngettext", "caller"}
)
"""What templates call by these names wants no context of Jinja's."""


class UiEnvironment(Environment):
    """An environment with the macros of `templates/ui`."""

    ui: object


class TemplateCode(CodeGenerator):
    """Writes calls of the macros in `ui`, and of functions that want no context, as plain calls of Python.

    What stands on the page goes through the environment's `written`, what is joined by `~` through `joined`.
    """

    environment: UiEnvironment

    def visit_Call(  # noqa: N802 (Jinja's name)
        self, node: nodes.Call, frame: Any, forward_caller: bool = False
    ) -> None:
        name = self._plain(node.node)
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
        for one in node.nodes:
            self.visit(one, frame)
            self.write(", ")
        self.write("))")

    def _output_child_pre(self, node: nodes.Expr, frame: Any, finalize: Any) -> None:
        """Write what comes before an expression in the output; Jinja writes the closing bracket."""
        if _escapes(frame):
            self.write("environment.escape_output(")
        else:
            super()._output_child_pre(node, frame, finalize)

    def _plain(self, called: nodes.Node) -> str | None:
        """The Python of a macro in `ui`; empty for a function that is called as it is; None for what else is called."""
        match called:
            case nodes.Getattr(node=nodes.Name(name="ui"), attr=name) if hasattr(self.environment.ui, name):
                return f"environment.ui.{name}"
            case nodes.Name(name=name) if name in CONTEXT_FREE:
                return ""
            case _:
                return None


def _escapes(frame: Any) -> bool:
    """Whether it is known at compile time that output here is escaped."""
    return frame.eval_ctx.autoescape and not frame.eval_ctx.volatile
