"""Style sheets use design tokens and have no unused classes or ids."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from portal.web import static, templates

STYLES = static.FOLDER / "styles"
FILES = sorted(file for file in STYLES.rglob("*.css") if file.name not in static.SHEETS.values())
PORTAL = Path(static.__file__).parents[1]
WIDTH = 140
"""Columns that fit a screen beside a tree of files."""

MAY_INSIST = {"utilities/print.css", "utilities/forced_colors.css", "staff/print.css"}
"""Print and forced colours override whatever a page says."""

COLOUR = re.compile(r"#[0-9a-f]{3,8}\b|\b(?:oklch|oklab|rgb|hsl|light-dark)\(|: *(?:white|black)\b")
SPACE = re.compile(r"(?<![\w-])(?:padding|margin|gap|row-gap|column-gap|--flow)(?:-[a-z-]+)?:([^;{}]*)")
MADE_BY_OTHERS = {"htmx-request"}
"""Classes that htmx sets."""


def text_of(file: Path) -> str:
    """The sheet without comments and strings."""
    return re.sub(r'/\*.*?\*/|"[^"]*"', "", file.read_text(encoding="utf-8"), flags=re.DOTALL)


def name_of(file: Path) -> str:
    return file.relative_to(STYLES).as_posix()


def test_colours_use_tokens() -> None:
    raw = [
        f"{name_of(file)}: {declaration}"
        for file in FILES
        for declaration in re.findall(r"(?<=[{;])\s*([\w-]+: *[^;{}]+)", text_of(file))
        if not declaration.startswith("--") and COLOUR.search(declaration)
    ]
    assert not raw, "name the colour in tokens.css"


def test_spacing_uses_a_token_if_one_exists() -> None:
    spaces = re.findall(r"--s\d+: ([\d.]+rem)", (STYLES / "tokens.css").read_text(encoding="utf-8"))
    assert len(spaces) > 9
    raw = [
        f"{name_of(file)}: {value}"
        for file in FILES
        if file.name != "tokens.css"
        for value in SPACE.findall(text_of(file))
        if {*re.findall(r"(?<![\w.])[\d.]+rem", re.sub(r"\w+\(.*\)", "", value))} & {*spaces}
    ]
    assert not raw, "write the token that tokens.css has for it"


def test_only_print_and_forced_colours_use_important() -> None:
    insist = {name_of(file) for file in FILES if "!important" in text_of(file)}
    assert insist <= MAY_INSIST


def given_names() -> Iterator[str]:
    """What may name a class or an id: attributes of templates, words in quotes; sentences don't."""
    for file in templates.FOLDER.rglob("*.html"):
        source = file.read_text(encoding="utf-8")
        yield from re.findall(r'\b(?:class|id)="([^"]*)"', source)
        yield from re.findall(r"(?<!_\()'([a-z][\w -]*)'", source)
    for file in [*(PORTAL / "web").rglob("*.py"), *(PORTAL / "views").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from re.findall(r"""\b(?:class|id)=["']?([^"'>]*)""", node.value)
                yield from re.findall(r"^[a-z0-9][\w -]*$", node.value)
    for file in (static.FOLDER / "scripts").rglob("*.js"):
        yield from re.findall(
            r'"([^"\n]*)"', re.sub(r"^ *//.*", "", file.read_text(encoding="utf-8"), flags=re.M)
        )


def test_every_class_and_id_in_a_style_sheet_is_used() -> None:
    words = {word for names in given_names() for word in re.findall(r"[a-z][\w-]*", names)} | MADE_BY_OTHERS
    unused = {
        f"{name_of(file)}: {selector}"
        for file in FILES
        for selectors in re.findall(r"([^{};]+)\{", text_of(file))
        for selector in re.findall(r"[.#]([a-z][\w-]*)", selectors)
        if selector not in words
    }
    assert not unused, f"no template, macro or script has these: {sorted(unused)}"


def test_style_sheet_lines_keep_to_the_maximum_width() -> None:
    wide = [
        f"{name_of(file)}: {number}"
        for file in FILES
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > WIDTH
    ]
    assert not wide, f"break these lines at {WIDTH} columns"
