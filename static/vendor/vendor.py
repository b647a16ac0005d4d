"""Rebuild htmx.js from an unpacked npm package of htmx.org, icons.svg from one of lucide-static, web-vitals.js from its own.

    npm pack htmx.org@4.0.1 && tar xzf htmx.org-4.0.1.tgz --one-top-level=htmx
    npm pack lucide-static@1.62.0 && tar xzf lucide-static-1.62.0.tgz --one-top-level=lucide
    npm pack web-vitals@6.2.3 && tar xzf web-vitals-6.2.3.tgz --one-top-level=web-vitals
    python static/vendor/vendor.py htmx/package lucide/package web-vitals/package

Prints the SHA-256 of every source and result, for README.md beside this file.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
HTMX = ("dist/htmx.min.js", "dist/ext/hx-csp.min.js", "dist/ext/hx-ptag.min.js")
ICONS = (HERE / "icons.txt").read_text(encoding="utf-8").split()


def show(path: Path | str, text: str) -> None:
    sys.stdout.write(f"{hashlib.sha256(text.encode()).hexdigest()}  {path}\n")


def htmx(package: Path) -> str:
    """The library and its two extensions as one script, without references to source maps."""
    parts: list[str] = []
    for name in HTMX:
        text = (package / name).read_text(encoding="utf-8")
        show(name, text)
        parts.append(re.sub(r"//# sourceMappingURL=.*", "", text).strip().rstrip(";") + ";\n")
    return "".join(parts)


def web_vitals(package: Path) -> str:
    """The module, without the reference to its source map."""
    text = (package / "dist" / "web-vitals.js").read_text(encoding="utf-8")
    return re.sub(r"//# sourceMappingURL=.*", "", text).strip() + "\n"


def symbol(name: str, svg: str) -> str:
    """One `<symbol>`: the drawing alone; line, colour and width come from styles/base/icon.css."""
    found = re.search(r"<svg[^>]*>(.*)</svg>", svg, re.DOTALL)
    if found is None:
        raise SystemExit(f"{name}: not an SVG")
    body = re.sub(r"\s*\n\s*", "", found.group(1)).replace(" />", "/>")
    return f'<symbol id="{name}" viewBox="0 0 24 24">{body}</symbol>\n'


def icons(package: Path) -> str:
    """The sprite: every icon of icons.txt, in its order (`ours=theirs`, or one word for both)."""
    pairs = [entry.partition("=") for entry in ICONS]
    drawn = "".join(
        symbol(ours, (package / "icons" / f"{theirs or ours}.svg").read_text(encoding="utf-8"))
        for ours, _, theirs in pairs
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg">\n{drawn}</svg>\n'


def main(htmx_package: str, lucide_package: str, vitals_package: str) -> None:
    for path, text in (
        (HERE / "htmx.js", htmx(Path(htmx_package))),
        (HERE.parent / "icons.svg", icons(Path(lucide_package))),
        (HERE / "web-vitals.js", web_vitals(Path(vitals_package))),
    ):
        path.write_text(text, encoding="utf-8")
        show(path.name, text)


if __name__ == "__main__":
    main(*sys.argv[1:4])
