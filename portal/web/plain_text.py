"""Conversion of messages to plain text: some systems deliver the HTML of an e-mail, which is never shown as HTML.

The text is untrusted, so it is converted in one pass over a limited length, and any input is accepted. An unterminated tag
is kept as text, so that no words are lost.
"""

from __future__ import annotations

import html
import re

from portal.http import deadline

LONGEST = 65_536
"""Maximum number of characters of a message that a page shows."""

LONGEST_EXCERPT = 2048
"""Maximum number of characters of a message that a list converts for its excerpt."""

_LOOKS_LIKE_HTML = re.compile(r"</(?:p|div|body|html|span|td|li|a|b|i|strong|em)>|<br\s*/?>", re.IGNORECASE)
_NAME = re.compile(r"/?[A-Za-z][A-Za-z0-9]{0,15}")
_BLOCKS = frozenset({"br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "blockquote", "/p"})
_HIDDEN = {
    name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style", "head", "title", "template")
}
_SPACES = re.compile(r"\s+")
# Limited lengths: html.unescape would parse any number of digits, and int() raises beyond 4,300.
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}(?![0-9])|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?")
# Control characters, surrogates and bidirectional overrides; line breaks, tabs and isolates are kept.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\ud800-\udfff]")
_BREAKS = re.compile(r"\n{3,}")


def plain_text(body: str, longest: int = LONGEST) -> str:
    """Return the message's first `longest` characters as plain text with line breaks; unescaped, as templates escape it."""
    deadline.check()
    text = body[:longest].replace("\r\n", "\n").replace("\r", "\n")
    if _LOOKS_LIKE_HTML.search(text):
        words = "".join(_words(text))
        text = "\n".join(line.strip() for line in _REFERENCE.sub(_character, words).split("\n"))
    return _BREAKS.sub("\n\n", _UNSEEN.sub("", text)).strip()


def _words(text: str) -> list[str]:
    """Return the text between tags, and line breaks where a browser would start a new line."""
    words: list[str] = []
    # Each failing search would read to the end, so only search for what is known to follow.
    at, last_end, last_comment = 0, text.rfind(">"), text.rfind("-->")
    while (begins := text.find("<", at)) >= 0 and begins < last_end:
        words.append(_SPACES.sub(" ", text[at:begins]))
        if begins < last_comment and text.startswith("<!--", begins):
            at = text.index("-->", begins) + 3
            continue
        name = _NAME.match(text, begins + 1)
        tag = name[0].lower() if name else ""
        if not tag and text[begins + 1] not in "!?/":
            words.append("<")  # not a tag: "a < b"
            at = begins + 1
            continue
        at = text.index(">", begins) + 1
        if tag in _BLOCKS:
            words.append("\n")
        elif tag in _HIDDEN:
            end = _HIDDEN[tag].search(text, at)
            if end is None:
                return words
            at = end.start()
    words.append(_SPACES.sub(" ", text[at:]))
    return words


def _character(reference: re.Match[str]) -> str:
    return html.unescape(reference[0])
