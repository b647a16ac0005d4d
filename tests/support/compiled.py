"""Compiles each template once in a run of tests, however many portals and processes it has."""

from __future__ import annotations

import marshal
import os
from hashlib import blake2b
from types import CodeType
from typing import Any, cast

import pytest

from portal.i18n import gettext
from portal.web import static
from portal.web.templates import PortalEnvironment
from tests.support.half_hourly import FOLDER

_known: dict[object, Any] = {}
_catalogue_of = gettext.catalogue_of


def share(patch: pytest.MonkeyPatch) -> None:
    """Let all portals of this run compile a template once: to compile all that a page needs takes longer than to show it.

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
        if key not in _known and gettext.catalogue_of is _catalogue_of:
            told = repr((self.language or "", *key[:3], *key[4:]))  # a catalogue is its language's
            file = FOLDER / f"template-{blake2b(told.encode(), digest_size=16).hexdigest()}"
            if file.exists():
                _known[key] = marshal.loads(file.read_bytes())  # noqa: S302 (written below)
            else:
                code = _known[key] = compiles(self, source, name, filename, *args, **options)
                assert isinstance(code, CodeType), name
                made = file.with_suffix(f".{os.getpid()}")
                made.write_bytes(marshal.dumps(code))
                made.rename(file)
        elif key not in _known:
            _known[key] = compiles(self, source, name, filename, *args, **options)
        return _known[key]

    patch.setattr(PortalEnvironment, "compile", compile_once)
