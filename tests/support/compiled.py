"""Compiles each template once in a process of tests, however many portals it starts."""

from __future__ import annotations

from typing import Any, cast

import pytest

from portal.i18n import gettext
from portal.web import static
from portal.web.templates import PortalEnvironment

_known: dict[object, Any] = {}


def share(patch: pytest.MonkeyPatch) -> None:
    """Let all portals of this process compile a template once: to compile all that a page needs takes longer than to show it.

    What a template becomes depends on its source, its language's catalogue, the macros known by then, and
    where the static files are.
    """
    compiles = cast("Any", PortalEnvironment).compile

    def compile_once(
        self: Any, source: Any, name: Any = None, filename: Any = None, *args: Any, **options: Any
    ) -> Any:
        is_whole = getattr(self.globals.get("static"), "__module__", "") == static.__name__
        if not (is_whole and isinstance(source, str)):
            return compiles(self, source, name, filename, *args, **options)
        words = self.language and gettext.catalogue_of(self.language)
        files = self.globals["static"]("")
        key = (source, name, filename, words, files, *sorted(vars(self.ui)), args, *options.items())
        if key not in _known:
            _known[key] = compiles(self, source, name, filename, *args, **options)
        return _known[key]

    patch.setattr(PortalEnvironment, "compile", compile_once)
