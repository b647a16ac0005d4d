"""The script and the sheet that pages load say what their sources say."""

from __future__ import annotations

import pytest

from portal.web import static


@pytest.mark.parametrize("name", ["portal.js", "portal.css"])
def test_what_pages_load_is_shorter_than_its_source(name: str) -> None:
    text = (static.FOLDER / name).read_text(encoding="utf-8")
    shorten = static.short_script if name.endswith(".js") else static.short_sheet
    assert 0.3 * len(text) < len(shorten(text)) < 0.9 * len(text)


@pytest.mark.parametrize(
    "text",
    [
        "`one\n  two\n\n    three`",
        "`\n// no comment\n${1}`",
        "'https://clinic.example'",
        "/[/'\"]\\/\\//g",
        "'/* no comment */'",
    ],
)
def test_the_words_and_patterns_of_a_script_stay_as_they_are(text: str) -> None:
    assert static.short_script(f"// a comment\nconst   value = {text};\n") == f"const value={text};"


def test_the_words_of_a_sheet_stay_as_they_are() -> None:
    sheet = """
    /* a comment */
    @media (width >= 40em) {
      .card:not(.wide) > .title :is(a, b)::before { content: "a  /* no comment */ ; b"; width: calc(100% - 2 * 1rem); }
    }
    """
    assert static.short_sheet(sheet) == (
        '@media (width>=40em){.card:not(.wide)>.title *:is(a,b)::before{content:"a  /* no comment */ ; b";'
        "width:calc(100% - 2 * 1rem)}}"
    )
