"""Messages as plain text: some systems hand over the HTML of an e-mail, which is never shown as HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_LOOKS_LIKE_HTML = re.compile(r"</(?:p|div|body|html|span|td|li|a|b|i|strong|em)>|<br\s*/?>", re.IGNORECASE)
_LINES = frozenset({"br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "blockquote"})
_SILENT = frozenset({"script", "style", "head", "title", "template"})
# Control characters and those that turn the text around them; line breaks, tabs and isolates may stay.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]")


def plain_text(body: str) -> str:
    """Return the words of a message with its line breaks; templates escape it like any other text."""
    text = body.replace("\r\n", "\n").replace("\r", "\n")
    if _LOOKS_LIKE_HTML.search(text):
        reader = _Reader()
        reader.feed(text)
        reader.close()
        text = "\n".join(line.strip() for line in "".join(reader.words).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", _UNSEEN.sub("", text)).strip()


class _Reader(HTMLParser):
    """Keeps the text, and a line break where a browser would begin a line."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        elif tag in _LINES:
            self.words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        elif tag == "p":
            self.words.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.append(re.sub(r"\s+", " ", data))
