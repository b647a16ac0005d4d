"""The served scripts and style sheets match their sources."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from portal.web import static

SCRIPTS, STYLES = static.FOLDER / "scripts", static.FOLDER / "styles"


def test_joined_assets_are_minified() -> None:
    script, sheet = static.joined_script(static.SCRIPTS["scripts.js"]), static.joined_sheet("portal.css")
    assert 0.3 * len(script) < len(static.short_script(script)) < 0.9 * len(script)
    assert 0.3 * len(sheet) < len(static.short_sheet(sheet)) < 0.95 * len(sheet)


def test_every_script_source_is_loaded() -> None:
    written = {file.relative_to(SCRIPTS).with_suffix("").as_posix() for file in SCRIPTS.rglob("*.js")}
    assert {part for parts in static.SCRIPTS.values() for part in parts} == written


@pytest.mark.parametrize(
    "file", sorted(SCRIPTS.rglob("*.js")), ids=lambda file: file.relative_to(SCRIPTS).as_posix()
)
def test_a_script_begins_with_what_happens_without_it(file: Path) -> None:
    comment = re.match(r"(//.*\n)+", file.read_text(encoding="utf-8"))
    assert comment, "begin with a comment: what it does, and what happens without it"
    assert file.stem == "shared" or "Without it" in comment[0].replace("\n// ", " ")


def test_every_style_source_is_loaded_once() -> None:
    sheets = static.SHEETS.values()
    imported = [
        part for sheet in sheets for part in re.findall(r'@import "(.+)\.css"', (STYLES / sheet).read_text())
    ]
    written = {file.relative_to(STYLES).with_suffix("").as_posix() for file in STYLES.rglob("*.css")}
    assert sorted(imported) == sorted(written - {Path(sheet).stem for sheet in sheets})
    assert not [sheet for sheet in sheets if "@import" in static.joined_sheet(sheet)]


def test_joined_assets_are_served_compressed_and_their_sources_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = "the same words again and again " * 20
    files = {
        "styles.css",
        "icons.svg",
        "brand/logo.svg",
        "vendor/htmx.js",
        "vendor/README.md",
        "styles/tokens.css",
    }
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(shared)
    (tmp_path / "styles" / "tokens.css.br").write_text("yesterday's")
    monkeypatch.setattr(static, "FOLDER", tmp_path)
    static.compress()
    loaded = {"styles.css", "icons.svg", "brand/logo.svg", "vendor/htmx.js"}
    assert {file.relative_to(tmp_path).as_posix() for file in static.served()} == loaded
    now = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.*")}
    assert now == files | {f"{name}.{ending}" for name in loaded for ending in ("br", "gz")}


def test_the_rules_of_a_layer_are_joined_into_one_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "styles").mkdir()
    for name in "abc":
        (tmp_path / "styles" / f"{name}.css").write_text(f".{name} {{ margin: 0; }}\n")
    imports = '@import "a.css" layer(base);\n\n@import "b.css" layer(base);\n@import "c.css" layer(print);\n'
    (tmp_path / "styles" / "sheet.css").write_text(f"@layer base, print;\n{imports}")
    monkeypatch.setattr(static, "FOLDER", tmp_path)
    assert static.short_sheet(static.joined_sheet("sheet.css")) == (
        "@layer base,print;@layer base{.a{margin:0}.b{margin:0}}@layer print{.c{margin:0}}"
    )


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
def test_strings_and_patterns_of_a_script_are_not_minified(text: str) -> None:
    assert static.short_script(f"// a comment\nconst   value = {text};\n") == f"const value={text};"


def test_strings_of_a_style_sheet_are_not_minified() -> None:
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
