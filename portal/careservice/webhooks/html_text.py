"""The text of HTML, read in one pass that never looks back and never fails, whatever the markup.

Reading the tokens suffices for the text, so no tree is built: the rules for trees (HTML, "Tree construction") take
quadratic time on deeply nested elements.
"""

from __future__ import annotations

import html
import re
from collections import Counter

_TOKEN = re.compile(
    r"""
    (?P<text> (?: [^<]++ | <(?![A-Za-z/!?]) )++ )
    | <!-- (?: > | -> | .*?(?:-->|\Z) )
    | <(?P<end>/?)(?P<name>[A-Za-z][^\s/>]*+)
        (?: [^>"'=]++ | =\s*+(?: "[^"]*+(?:"|\Z) | '[^']*+(?:'|\Z) )? | ["'] )*+ (?:>|\Z)
    | <[^>]*+ (?:>|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
"""One token (HTML, "Tokenization"); what isn't closed reaches to the end, so that nothing is read twice."""

_TOO_LONG = re.compile(r"&(?=#(?:[0-9]{8}|[xX][0-9A-Fa-f]{7}))")
_RAW = {
    name: re.compile(rf"</{name}(?=[\s/>])|\Z", re.IGNORECASE)
    for name in ("script", "style", "title", "textarea", "iframe", "xmp", "noembed", "noframes")
}
"""Where the elements end in which nothing else is markup; their text isn't shown."""

_UNSEEN = frozenset({"template", "noscript", "object", "svg"})
_BLOCKS = frozenset({"p", "div", "li", "tr", "br", "h1", "h2", "h3", "h4", "ul", "ol", "table", "blockquote"})


def text_of(markup: str) -> str:
    """The text of `markup`, a line for each block; scripts, styles and all markup are left out."""
    parts: list[str] = []
    hidden: list[str] = []
    depths: Counter[str] = Counter()
    position = 0
    while found := _TOKEN.match(markup, position):
        position = found.end()
        if found["text"]:
            if not hidden:
                parts.append(found["text"].replace("\n", " "))
            continue
        name = (found["name"] or "").lower()
        if name in _BLOCKS:
            parts.append("\n")
        elif name in _RAW and not found["end"]:
            position = _RAW[name].search(markup, position).start()  # pyright: ignore[reportOptionalMemberAccess]
        elif name in _UNSEEN and not found["end"]:
            hidden.append(name)
            depths[name] += 1
        elif depths[name]:
            while depths[name] and (ended := hidden.pop()):
                depths[ended] -= 1
                if ended == name:
                    break
    lines = [" ".join(line.split()) for line in _characters("".join(parts)).split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _characters(text: str) -> str:
    """`text` with its character references read, but for numbers that no character has: Python can't read them all."""
    return html.unescape(_TOO_LONG.sub("&amp;", text))
