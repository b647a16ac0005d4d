"""Messages as plain text: some systems hand over the HTML of an e-mail, which is never shown as HTML.

Anyone can send a mail, so this reads any text whatever in one pass over a bounded part of it, and never fails. An unfinished
tag is shown as it stands: no words are lost for a bracket.
"""

from __future__ import annotations

import html
import re

from portal.http import deadline

LONGEST = 65_536
"""How many characters of a message a page shows."""

LONGEST_EXCERPT = 2048
"""How many characters of a message a list reads for its excerpt."""

_LOOKS_LIKE_HTML = re.compile(r"</(?:p|div|body|html|span|td|li|a|b|i|strong|em)>|<br\s*/?>", re.IGNORECASE)
_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9]{0,15}")
_LINES = frozenset({"br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "blockquote", "/p"})
_SILENT = {
    name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "head", "title", "template")
}
_SPACES = re.compile(r"\s+")
# Python reads any number of digits, and fails with five thousand.
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}(?![0-9])|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?")
# Control characters, surrogates and those that turn the text around them; line breaks, tabs and isolates may stay.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\ud800-\udfff]")
_BREAKS = re.compile(r"\n{3,}")


def plain_text(body: str, longest: int = LONGEST) -> str:
    """Return the words of a message's first `longest` characters, with its line breaks; templates escape them."""
    deadline.check()
    text = body[:longest].replace("\r\n", "\n").replace("\r", "\n")
    if _LOOKS_LIKE_HTML.search(text):
        words = "".join(_words(text))
        text = "\n".join(line.strip() for line in _REFERENCE.sub(_character, words).split("\n"))
    return _BREAKS.sub("\n\n", _UNSEEN.sub("", text)).strip()


def _words(text: str) -> list[str]:
    """The text between tags, and a line break where a browser would begin a line."""
    words: list[str] = []
    # Nothing is searched for that isn't there: each search that fails reads to the end.
    at, last_end, last_comment = 0, text.rfind(">"), text.rfind("-->")
    while (begins := text.find("<", at)) >= 0 and begins < last_end:
        words.append(_SPACES.sub(" ", text[at:begins]))
        if begins < last_comment and text.startswith("<!--", begins):
            at = text.index("-->", begins) + 3
            continue
        name = _NAME.match(text, begins + 1)
        tag = name[0].lower() if name else ""
        if not tag and text[begins + 1] not in "!?/":
            words.append("<")  # no tag: "a < b"
            at = begins + 1
            continue
        at = text.index(">", begins) + 1
        if tag in _LINES:
            words.append("\n")
        elif tag in _SILENT:
            end = _SILENT[tag].search(text, at)
            if end is None:
                return words
            at = end.start()
    words.append(_SPACES.sub(" ", text[at:]))
    return words


def _character(reference: re.Match[str]) -> str:
    return html.unescape(reference[0])
