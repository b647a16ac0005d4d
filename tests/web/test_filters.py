"""Filters of templates that are more than a format."""

from __future__ import annotations

import pytest

from portal.web.filters import breakable


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("", ""),
        ("rFSH (follitropin alfa)", "rFSH (follitropin alfa)"),
        ("x" * 24, "x" * 24),
        ("x" * 25, "xxxxxxxxxxxx<wbr>xxxxxxxxxxxx<wbr>x"),
        ("ines.g@mail.example", "ines.<wbr>g<wbr>@mail.<wbr>example"),
        ("/api/care/fertility-protocols/{id}", "/<wbr>api/<wbr>care/<wbr>fertility-<wbr>protocols/<wbr>{id}"),
        ("a <b> " + "<" * 25, "a &lt;b&gt; " + "<wbr>".join(("&lt;" * 12, "&lt;" * 12, "&lt;"))),
    ],
)
def test_only_words_that_are_too_long_for_a_column_may_break(text: str, written: str) -> None:
    assert breakable(text) == written
