"""The served scripts and style sheets match their sources."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from portal.web import static

SCRIPTS, STYLES = static.FOLDER / "scripts", static.FOLDER / "styles"


_STRING_OR_COMMENT = re.compile(r"""//.*|"(?:[^"\\\n]|\\.)*\"""")
_NAMES = re.compile(r"^(?:export )?(?:const|let) (\[?[\w$, ]+)", re.M)


def test_joined_assets_are_minified() -> None:
    script, sheet = static.joined_script("portal.js"), static.joined_sheet("portal.css")
    assert 0.3 * len(script) < len(static.short_script(script)) < 0.9 * len(script)
    assert 0.3 * len(sheet) < len(static.short_sheet(sheet)) < 0.95 * len(sheet)


def test_every_script_source_is_loaded() -> None:
    joined = "\n".join(static.joined_script(name) for name in static.SCRIPTS.values())
    for file in SCRIPTS.rglob("*.js"):
        assert file.name in static.SCRIPTS.values() or file.read_text().partition("\n")[0] in joined, (
            file.name
        )


@pytest.mark.parametrize("name", static.SCRIPTS.values())
def test_the_modules_of_a_script_share_no_name(name: str) -> None:
    """They are joined in one function, where a name that two of them give would be an error."""
    text = static.joined_script(name)
    names = [given.strip(" [") for found in _NAMES.findall(text) for given in found.split(",")]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(
    "file", sorted(SCRIPTS.rglob("*.js")), ids=lambda file: file.relative_to(SCRIPTS).as_posix()
)
def test_a_script_imports_exactly_what_it_uses_of_others(file: Path) -> None:
    text = file.read_text()
    imported = {
        name for names in re.findall(r"^import \{ (.+) \} from", text, re.M) for name in names.split(", ")
    }
    body = _STRING_OR_COMMENT.sub("", re.sub(r"^import .*\n", "", text, flags=re.M))
    exported = {
        name
        for other in SCRIPTS.rglob("*.js")
        if other != file
        for name in re.findall(r"^export \w+ ([\w$]+)", other.read_text(), re.M)
    }
    used = {name for name in exported if re.search(rf"(?<![\w.$-]){re.escape(name)}(?![\w$:/-])", body)}
    assert used == imported


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        (
            {"a.js": 'import { x } from "./b.js";\n', "b.js": "export const y = 1;\n"},
            "x, which .* doesn't export",
        ),
        ({"a.js": 'import "./b.js";\n', "b.js": 'import "./a.js";\n'}, "a.js imports .*b.js imports .*a.js"),
        ({"a.js": 'import * as b from "./b.js";\n', "b.js": ""}, "isn't understood"),
    ],
    ids=["unknown name", "cycle", "another form"],
)
def test_a_wrong_import_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, modules: dict[str, str], message: str
) -> None:
    (tmp_path / "scripts").mkdir()
    for name, text in modules.items():
        (tmp_path / "scripts" / name).write_text(text)
    monkeypatch.setattr(static, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match=message):
        static.joined_script("a.js")


@pytest.mark.parametrize(
    "file", sorted(SCRIPTS.rglob("*.js")), ids=lambda file: file.relative_to(SCRIPTS).as_posix()
)
def test_a_script_begins_with_what_happens_without_it(file: Path) -> None:
    comment = re.match(r"(//.*\n)+", file.read_text(encoding="utf-8"))
    assert comment, "begin with a comment: what it does, and what happens without it"
    assert file.stem == "dom" or "Without it" in comment[0].replace("\n// ", " ")


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
